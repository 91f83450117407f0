/**
 * Posteriors of models of labels: a junction tree, through which evidence is passed.
 *
 * The moral graph is triangulated by elimination in the order of min-fill, ties by name, and its
 * cliques make a tree (Lauritzen & Spiegelhalter 1988). Evidence goes in as zeros; one pass to the
 * roots and one back turn each clique's table into its posterior, each table between two cliques
 * being divided by what it was before (Jensen, Lauritzen & Olesen 1990). A node that is set by hand
 * loses its own table first: nothing flows from it to its parents. The factors of an undirected
 * model are of no node, so that nothing can be set in it; their product is P(x) up to a constant,
 * by which the probability of evidence is divided.
 *
 * Tables are scaled to sum to 1 whenever something is multiplied in, and the logarithms of the
 * sums add up to that of the probability of the evidence, which may be very small. If shares within
 * one table are further apart than a number can tell, that is said; it is no probability of 0.
 *
 * What is known of a node is {kind: "observed" | "set", value}; an answer says what follows.
 *
 * @typedef {Map<string, {kind: string, value: string | number}>} Evidence
 * @typedef {{shares: number[]} | {mean: number, sd: number, parts?: object[]}} Posterior
 *   `parts` are those of a mixture of normal distributions, each {weight, mean, sd}
 * @typedef {{why: string | null, logEvidence: number, posteriors: Map<string, Posterior>}} Answer
 *   `why` says why there are no posteriors
 */
"use strict";

(() => {
  const IMPOSSIBLE = "The evidence has probability 0.";
  const TOO_SMALL = "The evidence is too improbable for the arithmetic of this page.";

  function refusal(why, logEvidence = NaN) {
    return { why, logEvidence, posteriors: new Map() };
  }

  /** Return the neighbours of each variable: those with which it shares a scope. */
  function moralGraph(count, scopes) {
    const neighbours = Array.from({ length: count }, () => new Set());
    for (const scope of scopes) {
      for (const a of scope) for (const b of scope) if (a !== b) neighbours[a].add(b);
    }
    return neighbours;
  }

  /** Return how many pairs of neighbours of a variable are not neighbours themselves. */
  function missingEdges(neighbours, variable) {
    const around = [...neighbours[variable]];
    let missing = 0;
    for (let i = 0; i < around.length; i++) {
      for (let j = 0; j < i; j++) if (!neighbours[around[i]].has(around[j])) missing++;
    }
    return missing;
  }

  /** Make all these variables neighbours of one another, and count missing edges anew. */
  function joinAll(neighbours, around, fill) {
    const stale = new Set(around);
    for (const a of around) for (const b of around) if (a !== b) neighbours[a].add(b);
    for (const a of around) for (const b of neighbours[a]) stale.add(b);
    for (const variable of stale) fill[variable] = missingEdges(neighbours, variable);
  }

  /**
   * Eliminate all variables, always one that adds the fewest edges, and return them in this order,
   * each with the neighbours that it had when it went. Ties go to the smallest number.
   */
  function eliminate(neighbours) {
    const fill = neighbours.map((_, variable) => missingEdges(neighbours, variable));
    const left = new Set(neighbours.keys());
    const steps = [];
    while (left.size) {
      let best = -1;
      for (const variable of left) {
        if (best < 0 || fill[variable] < fill[best]) best = variable;
      }
      const around = [...neighbours[best]].sort((a, b) => a - b);
      left.delete(best);
      for (const a of around) {
        // All neighbours of `a` but those around `best` lacked the edge to it.
        fill[a] -= neighbours[a].size - around.length;
        neighbours[a].delete(best);
      }
      if (fill[best] > 0) joinAll(neighbours, around, fill);
      steps.push({ variable: best, around });
    }
    return steps;
  }

  /**
   * Return the cliques of a triangulation as a forest, each after the one that it hangs on.
   *
   * Each step of elimination makes a clique, which hangs on that of the neighbour that goes next. A
   * clique that has all its members in one that hangs on it is merged into that one.
   *
   * @param {number} count of variables, which are numbered by name
   * @param {number[][]} scopes of the factors; each will be inside a clique
   * @returns {{members: number[], parent: number, separator: number[]}[]} parents are numbers of
   *   cliques, -1 for a root; a separator is what a clique shares with its parent
   */
  function buildForest(count, scopes) {
    const steps = eliminate(moralGraph(count, scopes));
    const when = new Array(count);
    steps.forEach(({ variable }, step) => (when[variable] = step));
    const above = steps.map(({ around }) =>
      around.reduce((first, variable) => Math.min(first, when[variable]), Infinity),
    );
    const host = steps.map((_, step) => step);
    steps.forEach(({ around }, step) => {
      const up = above[step];
      if (host[up] === up && steps[up].around.length + 1 === around.length) host[up] = host[step];
    });
    const cliques = [];
    const numberOf = new Map();
    for (let step = steps.length - 1; step >= 0; step--) {
      if (numberOf.has(host[step])) continue;
      const { variable, around } = steps[host[step]];
      numberOf.set(host[step], cliques.length);
      cliques.push({
        members: [variable, ...around].sort((a, b) => a - b),
        parent: numberOf.get(host[above[step]]) ?? -1,
        separator: steps[step].around,
      });
    }
    return cliques;
  }

  /** Return, for each scope, the clique with the fewest cells that contains it. */
  function smallestHomes(cliques, scopes, sizes) {
    const cells = cliques.map(({ members }) => gml.cellCount(members.map((k) => sizes[k])));
    const containing = sizes.map(() => []);
    cliques.forEach(({ members }, c) =>
      members.forEach((variable) => containing[variable].push(c)),
    );
    return scopes.map((scope) => {
      const holds = (c) => scope.every((variable) => cliques[c].members.includes(variable));
      const able = containing[scope[0]].filter(holds);
      return able.reduce((best, c) => (cells[c] < cells[best] ? c : best));
    });
  }

  /** The junction tree of a model of labels, ready to take evidence. */
  class JunctionTree {
    /**
     * @param {object[]} nodes with id, levels, parents and cpt, as in model JSON
     * @param {{scope: string[], table: number[]}[] | undefined} factors in place of the tables of
     *   nodes; the last variable of a scope is the fastest
     * @param {string[][]} scopes of further factors, which `ask` takes; each is inside a clique
     */
    constructor(nodes, factors, scopes = []) {
      this.nodes = [...nodes].sort((a, b) => gml.compareNames(a.id, b.id));
      this.numberOf = new Map(this.nodes.map((node, variable) => [node.id, variable]));
      this.sizes = this.nodes.map((node) => node.levels.length);
      const given = factors ?? this.nodes.map(({ id, parents, cpt }) => {
        return { scope: [...parents, id], table: cpt.flat(Infinity) };
      });
      this.tables = given.map(({ scope: names, table }) => {
        const scope = names.map((name) => this.numberOf.get(name));
        const sizes = scope.map((k) => this.sizes[k]);
        return { scope, sizes, values: Float64Array.from(table) };
      });
      this.further = this.tables.length;
      const asked = scopes.map((names) => names.map((name) => this.numberOf.get(name)));
      this.tables.push(...asked.map((scope) => gml.ones(scope, this.sizes)));
      const all = this.tables.map((table) => table.scope);
      this.cliques = buildForest(this.nodes.length, all);
      this.tableHome = smallestHomes(this.cliques, all, this.sizes);
      this.tenants = this.cliques.map(() => []);
      this.tableHome.forEach((c, table) => this.tenants[c].push(table));
      this.home = smallestHomes(
        this.cliques,
        [...this.nodes.keys()].map((k) => [k]),
        this.sizes,
      );
      this.whole = this.cliques.map((_, c) => this.product(c, this.tables, new Set()));
      // The tables of a network are shares of 1.
      this.logTotal = factors ? this.calibrate(this.initial(new Map())) : 0;
    }

    /** Return the product of the tables that live in a clique, but for those that are cut. */
    product(c, tables, cut) {
      const product = gml.ones(this.cliques[c].members, this.sizes);
      for (const table of this.tenants[c]) {
        if (!cut.has(table)) gml.multiplyBy(product, tables[table]);
      }
      return product;
    }

    /** Return the tables of the cliques with the evidence in them. */
    initial(evidence, tables = this.tables) {
      const cut = new Set();
      for (const [id, { kind }] of evidence) if (kind === "set") cut.add(this.numberOf.get(id));
      const changed = new Set([...cut].map((variable) => this.tableHome[variable]));
      const products = this.whole.map((whole, c) =>
        tables !== this.tables || changed.has(c)
          ? this.product(c, tables, cut)
          : { ...whole, values: whole.values.slice() },
      );
      for (const [id, { value }] of evidence) {
        const variable = this.numberOf.get(id);
        const values = new Float64Array(this.sizes[variable]);
        values[this.nodes[variable].levels.indexOf(value)] = 1;
        const known = { scope: [variable], sizes: [values.length], values };
        gml.multiplyBy(products[this.home[variable]], known);
      }
      return products;
    }

    /** Tell evidence that cannot be from evidence whose shares were too small to be numbers. */
    refuse(evidence) {
      const supports = this.tables.map((table) => {
        return { ...table, values: table.values.map((value) => (value > 0 ? 1 : 0)) };
      });
      const possible = this.calibrate(this.initial(evidence, supports)) > -Infinity;
      return possible ? refusal(TOO_SMALL) : refusal(IMPOSSIBLE, -Infinity);
    }

    /** Pass all messages; return ln P(evidence), and the posteriors of the cliques in `tables`. */
    calibrate(tables) {
      let logEvidence = 0;
      const messages = this.cliques.map(() => null);
      for (let c = tables.length - 1; c >= 0; c--) {
        logEvidence += Math.log(gml.normalise(tables[c].values));
        const { parent, separator } = this.cliques[c];
        if (parent < 0) continue;
        messages[c] = gml.sumOnto(tables[c], separator);
        gml.multiplyBy(tables[parent], messages[c]);
        logEvidence += Math.log(gml.normalise(tables[parent].values));
      }
      if (logEvidence === -Infinity) return logEvidence;
      this.cliques.forEach(({ parent, separator }, c) => {
        if (parent < 0) return;
        const update = gml.sumOnto(tables[parent], separator);
        const before = messages[c].values;
        // What was impossible before still is: 0/0 is 0 here.
        update.values.forEach((value, k, all) => (all[k] = value > 0 ? value / before[k] : 0));
        gml.multiplyBy(tables[c], update);
        if (!Number.isFinite(Math.log(gml.normalise(tables[c].values)))) logEvidence = -Infinity;
      });
      return logEvidence;
    }

    /**
     * @param {Evidence} evidence
     * @param {?Float64Array[]} weights the values of the further factors, densities above 0; none
     *   if they are 1
     * @returns {Answer} with `joints`, the posterior of the scope of each further factor
     */
    ask(evidence, weights = null) {
      const weighted = this.tables.map((table, k) => {
        return k < this.further ? table : { ...table, values: weights?.[k - this.further] };
      });
      const tables = this.initial(evidence, weights ? weighted : this.tables);
      const logEvidence = this.calibrate(tables) - this.logTotal;
      // Neither a number nor a limit where the tables by themselves are beyond the arithmetic.
      if (!(logEvidence > -Infinity)) return this.refuse(evidence);
      const posteriors = new Map();
      this.nodes.forEach(({ id }, variable) => {
        const shares = gml.sumOnto(tables[this.home[variable]], [variable]).values;
        gml.normalise(shares);
        posteriors.set(id, { shares: Array.from(shares) });
      });
      const joints = this.tables.slice(this.further).map(({ scope }, k) => {
        const { values } = gml.sumOnto(tables[this.tableHome[this.further + k]], scope);
        gml.normalise(values);
        return values;
      });
      return { why: null, logEvidence, posteriors, joints };
    }
  }

  /** Answers that were computed beforehand, to no or to a single piece of evidence. */
  class Lookup {
    /** @param {{prior: object, given: object | null, do: object | null}} inference */
    constructor({ prior, given, do: set }, nodes) {
      this.prior = new Map(nodes.map(({ id }) => [id, posterior(prior[id])]));
      this.levels = new Map(nodes.map(({ id, levels }) => [id, levels]));
      this.found = { observed: given, set };
    }

    /**
     * @param {Evidence} evidence
     * @returns {Answer}
     */
    ask(evidence) {
      if (!evidence.size) return { why: null, logEvidence: 0, posteriors: this.prior };
      if (evidence.size > 1) return refusal("This page answers to one observation at a time.");
      const [[id, { kind, value }]] = evidence;
      const place = this.levels.get(id)?.indexOf(value);
      const logEvidence = kind === "set" ? 0 : Math.log(this.prior.get(id)?.shares?.[place] ?? NaN);
      if (logEvidence === -Infinity) return refusal(IMPOSSIBLE, logEvidence);
      const found = own(own(this.found[kind], id), value);
      if (!found) return refusal("This answer was not computed beforehand.", logEvidence);
      const posteriors = new Map();
      for (const name of this.prior.keys()) {
        if (own(found, name)) posteriors.set(name, posterior(found[name]));
      }
      const known = this.levels.get(id).map((_, k) => (k === place ? 1 : 0));
      posteriors.set(id, { shares: known });
      return { why: null, logEvidence, posteriors };
    }
  }

  /** Return a property of an object from JSON; a node or a level may be called "constructor". */
  function own(object, key) {
    return object && Object.hasOwn(object, key) ? object[key] : undefined;
  }

  function posterior(written) {
    return Array.isArray(written) ? { shares: written } : written;
  }

  /** Return what computes posteriors for a model: of labels, of numbers, or of both. */
  function exactEngine({ nodes, factors }) {
    if (nodes.every(({ levels }) => levels)) return new JunctionTree(nodes, factors);
    if (nodes.some(({ levels }) => levels)) return new gml.MixedNet(nodes);
    return new gml.GaussianNet(nodes);
  }

  /**
   * Return what answers for a model.
   *
   * @param {object} payload the data of the page
   * @returns {{ask: (evidence: Evidence) => Answer, kinds: string[], single: boolean}} `kinds` are
   *   the kinds of evidence that it takes; `single`: one piece of it at a time
   */
  function makeEngine({ model, inference }) {
    if (inference.mode === "exact") {
      const exact = exactEngine(model);
      const kinds = model.factors ? ["observed"] : ["observed", "set"];
      return { ask: (evidence) => exact.ask(evidence), kinds, single: false };
    }
    const lookup = new Lookup(inference, model.nodes);
    const kinds = ["observed", "set"].filter((kind) => lookup.found[kind]);
    return { ask: (evidence) => lookup.ask(evidence), kinds, single: true };
  }

  Object.assign(gml, { buildForest, JunctionTree, Lookup, makeEngine, refusal });
})();

if (typeof module !== "undefined") module.exports = gml;
