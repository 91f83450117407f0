/**
 * Interventions beside observations: what changes if a value is seen, and if it is set by hand.
 */
"use strict";

(() => {
  const MOST_NODES = 30;

  /**
   * Compare P(· | id = value) with P(· | do(id = value)), nothing else being known.
   *
   * @returns {{seen: Answer, done: Answer, nodes: {id: string, size: number}[]}} the nodes on which
   *   the two differ, most first: the largest difference of a share, or of a mean in prior sds
   */
  function compareDoing(engine, prior, id, value) {
    const [seen, done] = ["observed", "set"].map((kind) =>
      engine.ask(new Map([[id, { kind, value }]])),
    );
    const moved = gml.changedNodes(seen.posteriors, done.posteriors, prior);
    const nodes = moved.filter(({ id: name }) => name !== id);
    return { seen, done, nodes };
  }

  /** Return the node to begin with: the first, in the order of names, between two others. */
  function firstChoice(nodes) {
    const isParent = new Set(nodes.flatMap(({ parents }) => parents));
    const sorted = [...nodes].sort((a, b) => gml.compareNames(a.id, b.id));
    const between = sorted.find(({ id, parents }) => parents.length && isParent.has(id));
    return between ?? sorted[0];
  }

  /** Return a value worth asking about: one standard deviation above the mean, in few digits. */
  function worthAsking(prior) {
    return Number((prior.mean + prior.sd).toFixed(gml.decimalsOf([prior])));
  }

  /** The choice of a node and a value, and the table of both answers. */
  class InterventionsView {
    constructor(root, { model, graph }, engine, prior) {
      Object.assign(this, { engine, prior, edges: graph.edges });
      this.nodes = new Map(model.nodes.map((node) => [node.id, node]));
      this.names = [...this.nodes.keys()].sort(gml.compareNames);
      if (engine.kinds.length < 2 || !this.names.length) {
        const said = "The answers that this needs are not in this page: the model is too large.";
        root.replaceChildren(gml.html("p", { class: "note" }, said));
        return;
      }
      const options = this.names.map((name) => gml.html("option", {}, gml.shown(name)));
      this.nodeChoice = gml.html("select", { id: "intervene-node" }, ...options);
      this.value = gml.html("span");
      this.result = gml.html("div");
      root.replaceChildren(
        gml.html(
          "div",
          { class: "controls" },
          gml.html("label", { for: "intervene-node" }, "Node"),
          this.nodeChoice,
          gml.html("label", { for: "intervene-value" }, "value"),
          this.value,
        ),
        this.result,
      );
      this.nodeChoice.addEventListener("change", () => {
        this.choose(this.names[this.nodeChoice.selectedIndex]);
      });
      this.choose(firstChoice(model.nodes).id);
    }

    /** Show a node, at its second level if it has one: the first often says that nothing is. */
    choose(id) {
      if (!this.nodeChoice || !this.nodes.has(id)) return;
      const { levels } = this.nodes.get(id);
      this.nodeChoice.selectedIndex = this.names.indexOf(id);
      const prior = this.prior.get(id);
      const choice = levels
        ? gml.html("select", {}, ...levels.map((level) => gml.html("option", {}, gml.shown(level))))
        : gml.html("input", { type: "number", step: "any", value: worthAsking(prior) });
      choice.id = "intervene-value";
      if (levels) choice.selectedIndex = Math.min(1, levels.length - 1);
      const show = () => {
        const value = levels ? levels[choice.selectedIndex] : choice.valueAsNumber;
        if (levels || Number.isFinite(value)) this.show(id, value);
      };
      choice.addEventListener("change", show);
      this.value.replaceChildren(choice);
      show();
    }

    show(id, value) {
      const { seen, done, nodes } = compareDoing(this.engine, this.prior, id, value);
      const what = `${gml.shown(id)} = ${gml.valueText({ value })}`;
      const refused = seen.why ?? done.why;
      if (refused) {
        const text = `${what} cannot be compared. ${refused}`;
        this.result.replaceChildren(gml.html("p", { class: "refusal" }, text));
        return;
      }
      const open = gml.openText(this.edges, new Map([[id, { kind: "set" }]]));
      const note = open ? [gml.html("p", { class: "refusal" }, open)] : [];
      if (!nodes.length) {
        const text = `To observe ${what} and to set it say the same about all other nodes.`;
        this.result.replaceChildren(gml.html("p", {}, text), ...note);
        return;
      }
      const rows = nodes.slice(0, MOST_NODES).flatMap(({ id: name }) => {
        const [one, other] = [seen.posteriors.get(name), done.posteriors.get(name)];
        return one.shares ? this.shareRows(name, one, other) : momentRows(name, one, other);
      });
      const unit = differenceUnit([...this.nodes.values()]);
      const answers = ["observed", "set", `difference${unit}`];
      const headings = ["node", "", ...answers.map((text) => ({ number: text }))];
      const caption = `What differs between observing ${what} and setting it, most first`;
      const table = gml.table(caption, headings, rows);
      this.result.replaceChildren(...note, gml.scrolling(caption, table), this.rest(nodes.length));
    }

    rest(count) {
      const others = this.names.length - 1 - count;
      const left = Math.max(count - MOST_NODES, 0);
      const texts = [];
      if (left) texts.push(`${left} more nodes differ by less.`);
      if (others) texts.push(`On ${others} other ${others === 1 ? "node" : "nodes"} both agree.`);
      return gml.html("p", { class: "note" }, texts.join(" "));
    }

    shareRows(name, seen, done) {
      const { levels } = this.nodes.get(name);
      return levels.map((level, k) => {
        const [a, b] = [seen.shares[k], done.shares[k]];
        const value = (share) => gml.html("span", { class: "value" }, gml.percent(share));
        const cell = (share, kind) =>
          gml.html("td", { class: "number" }, gml.bar(share, kind), value(share));
        const attributes = { scope: "rowgroup", rowspan: levels.length };
        return gml.html(
          "tr",
          { class: k ? null : "first" },
          ...(k ? [] : [gml.html("th", attributes, gml.shown(name))]),
          gml.heading(level),
          cell(a, "observed"),
          cell(b, "set"),
          gml.number(gml.points(b - a)),
        );
      });
    }
  }

  /** Return what the differences of shares are in, where there are any. */
  function differenceUnit(nodes) {
    const labels = nodes.filter(({ levels }) => levels);
    if (!labels.length) return "";
    return labels.length === nodes.length
      ? ", percentage points"
      : " (of shares: percentage points)";
  }

  function momentRows(name, seen, done) {
    const decimals = gml.decimalsOf([seen, done]);
    const scale = Math.max(seen.sd, done.sd);
    return ["mean", "sd"].map((key, k) =>
      gml.html(
        "tr",
        { class: k ? null : "first" },
        ...(k ? [] : [gml.html("th", { scope: "rowgroup", rowspan: 2 }, gml.shown(name))]),
        gml.heading(key),
        gml.number(gml.decimal(seen[key], decimals)),
        gml.number(gml.decimal(done[key], decimals)),
        gml.number(gml.shift(seen[key], done[key], decimals, scale)),
      ),
    );
  }

  Object.assign(gml, { compareDoing, differenceUnit, firstChoice, worthAsking, InterventionsView });
})();

if (typeof module !== "undefined") module.exports = gml;
