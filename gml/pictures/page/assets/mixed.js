/**
 * Posteriors of models of labels and numbers: labels by a junction tree, numbers as mixtures.
 *
 * Numbers that edges between numbers connect are a group. Given the labels that are parents of any
 * of them, the numbers of a group are jointly normal, whatever the other groups are; so what is
 * observed of a group has a density for each configuration of its labels. These densities are one
 * more factor in the tree of the labels, which becomes a strong one by them (Lauritzen & Jensen
 * 2001): each group has all its labels in one clique. The posterior of that clique weighs the
 * normal distributions of each configuration, and a number is the mixture of them: exact.
 *
 * Densities may be very small or very large: each group has its largest one taken out, whose
 * logarithm is added to that of the evidence.
 */
"use strict";

(() => {
  /** Return the numbers in groups that edges connect, with the labels that each depends on. */
  function groupNumbers(nodes) {
    const numbers = nodes.filter(({ levels }) => !levels);
    const groupOf = new Map(numbers.map(({ id }) => [id, new Set([id])]));
    for (const { id, parents } of numbers) {
      for (const parent of parents) {
        const [one, other] = [groupOf.get(id), groupOf.get(parent)];
        if (!other || one === other) continue;
        for (const member of other) groupOf.set(member, one.add(member));
      }
    }
    const levelsOf = new Map(nodes.map(({ id, levels }) => [id, levels]));
    return [...new Set(groupOf.values())].map((members) => {
      const inside = numbers.filter(({ id }) => members.has(id));
      const parents = inside.flatMap((node) => node.parents.filter((id) => levelsOf.get(id)));
      const labels = [...new Set(parents)].sort(gml.compareNames);
      return { nodes: inside, labels, sizes: labels.map((id) => levelsOf.get(id).length) };
    });
  }

  /** Return the numbers of the levels in a configuration, the last label being the fastest. */
  function levelsAt(sizes, place) {
    const found = new Array(sizes.length);
    for (let axis = sizes.length - 1; axis >= 0; axis--) {
      found[axis] = place % sizes[axis];
      place = Math.floor(place / sizes[axis]);
    }
    return found;
  }

  /** Return a mixture of normal distributions, with its mean and standard deviation. */
  function mixture(parts) {
    const mean = parts.reduce((sum, part) => sum + part.weight * part.mean, 0);
    const spread = parts.map((part) => Math.hypot(part.sd, part.mean - mean));
    const largest = Math.max(...spread);
    if (!(largest > 0)) return { mean, sd: 0 };
    const share = parts.reduce((sum, { weight }, k) => sum + weight * (spread[k] / largest) ** 2, 0);
    const sd = largest * Math.sqrt(share);
    return parts.length > 1 ? { mean, sd, parts } : { mean: parts[0].mean, sd: parts[0].sd };
  }

  /** Numbers of a model that edges connect: jointly normal for each configuration of labels. */
  class NumberGroup {
    constructor(group, levelsOf) {
      Object.assign(this, group, { levelsOf, nets: new Map() });
      this.count = gml.cellCount(this.sizes);
    }

    /** Return the network of the numbers in a configuration. */
    netAt(place) {
      if (!this.nets.has(place)) {
        const levels = levelsAt(this.sizes, place);
        const known = new Map(this.labels.map((id, k) => [id, levels[k]]));
        this.nets.set(place, new gml.GaussianNet(this.nodes.map((node) => this.line(node, known))));
      }
      return this.nets.get(place);
    }

    /** Return a number with its regression where its labels have these levels. */
    line({ id, parents, gaussian, regressions }, known) {
      const numbers = parents.filter((parent) => !this.levelsOf.get(parent));
      if (gaussian) return { id, parents: numbers, gaussian };
      const row = parents
        .filter((parent) => this.levelsOf.get(parent))
        .reduce((at, parent) => at * this.levelsOf.get(parent).length + known.get(parent), 0);
      return { id, parents: numbers, gaussian: regressions[row] };
    }

    /**
     * Return what is known of the numbers in each configuration that is possible.
     *
     * @param {Float64Array} shares of the configurations before the numbers were observed
     * @returns {{why: ?string, answers: Map<number, Answer>}}
     */
    ask(evidence, shares) {
      const answers = new Map();
      for (let place = 0; place < this.count; place++) {
        if (!(shares[place] > 0)) continue;
        const answer = this.netAt(place).ask(evidence);
        if (answer.why) return { why: answer.why, answers };
        answers.set(place, answer);
      }
      return { why: null, answers };
    }

    /** Return the mixture of each number; configurations that do not tell are one part of it. */
    mixtures(answers, shares) {
      const found = new Map();
      for (const { id } of this.nodes) {
        const parts = new Map();
        for (const [place, { posteriors }] of answers) {
          if (!(shares[place] > 0)) continue;
          const { mean, sd } = posteriors.get(id);
          const part = parts.get(`${mean} ${sd}`) ?? { weight: 0, mean, sd };
          part.weight += shares[place];
          parts.set(`${mean} ${sd}`, part);
        }
        found.set(id, mixture([...parts.values()]));
      }
      return found;
    }
  }

  /** Return the densities of a group over its configurations, and the logarithm of the largest. */
  function densities(answers, count) {
    const logs = [...answers.values()].map(({ logEvidence }) => logEvidence);
    const top = Math.max(...logs);
    // What is impossible anyway may have any weight.
    const weights = new Float64Array(count).fill(1);
    for (const [place, { logEvidence }] of answers) weights[place] = Math.exp(logEvidence - top);
    return { top, weights };
  }

  /** A conditional linear Gaussian network. */
  class MixedNet {
    /** @param {object[]} nodes with id, parents, and levels and cpt, or gaussian or regressions */
    constructor(nodes) {
      const levelsOf = new Map(nodes.map(({ id, levels }) => [id, levels]));
      this.levelsOf = levelsOf;
      this.groups = groupNumbers(nodes).map((group) => new NumberGroup(group, levelsOf));
      this.dependent = this.groups.filter(({ labels }) => labels.length);
      this.tree = new gml.JunctionTree(
        nodes.filter(({ levels }) => levels),
        undefined,
        this.dependent.map(({ labels }) => labels),
      );
    }

    /**
     * @param {Evidence} evidence
     * @returns {Answer} `logEvidence` is that of a density if numbers are observed
     */
    ask(evidence) {
      const ofLabels = new Map([...evidence].filter(([id]) => this.levelsOf.get(id)));
      const ofNumbers = new Map([...evidence].filter(([id]) => !this.levelsOf.get(id)));
      const before = this.tree.ask(ofLabels);
      if (before.why) return before;
      const asked = this.groups.map((group) => {
        const at = this.dependent.indexOf(group);
        const inside = new Map(group.nodes.map(({ id }) => [id, ofNumbers.get(id)]));
        const known = new Map([...inside].filter(([, value]) => value));
        const shares = at < 0 ? Float64Array.of(1) : before.joints[at];
        return { group, at, observed: isAnyObserved(known), shares, ...group.ask(known, shares) };
      });
      const refused = asked.find(({ why }) => why);
      if (refused) return gml.refusal(refused.why);
      let logDensity = 0;
      const weights = this.dependent.map(({ count }) => new Float64Array(count).fill(1));
      for (const { group, at, answers, observed } of asked) {
        if (!observed) continue;
        const { top, weights: found } = densities(answers, group.count);
        logDensity += top;
        if (at >= 0) weights[at] = found;
      }
      const after = asked.some(({ observed }) => observed) ? this.tree.ask(ofLabels, weights) : before;
      if (after.why) return after;
      const posteriors = new Map(after.posteriors);
      for (const { group, at, answers, shares } of asked) {
        const now = at < 0 ? shares : after.joints[at];
        for (const [id, found] of group.mixtures(answers, now)) posteriors.set(id, found);
      }
      return { why: null, logEvidence: after.logEvidence + logDensity, posteriors };
    }
  }

  function isAnyObserved(evidence) {
    return [...evidence.values()].some(({ kind }) => kind === "observed");
  }

  Object.assign(gml, { groupNumbers, mixture, MixedNet });
})();

if (typeof module !== "undefined") module.exports = gml;
