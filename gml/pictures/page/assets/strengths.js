/**
 * How certain each edge is: a list, and a threshold below which edges of the graph fade.
 */
"use strict";

(() => {
  /** Return edges, the strongest first; ties are in the order of their names. */
  function byStrength(edges) {
    const byName = (a, b) =>
      gml.compareNames(a.source, b.source) || gml.compareNames(a.target, b.target);
    return [...edges].sort((a, b) => b.strength - a.strength || byName(a, b));
  }

  /**
   * Return whether an edge falls below a threshold; one of unknown strength does not, unless it is
   * known to be weaker than all that were kept.
   */
  function isWeak({ strength, below }, threshold) {
    return strength == null ? Boolean(below) : strength < threshold;
  }

  /**
   * Return the thresholds to choose from: the least that the graph can answer, round ones, and 1.
   * @param {number | null} threshold that of the averaged graph, if it says it
   */
  function thresholds({ threshold, edges }) {
    const least = Math.min(threshold ?? 1, ...edges.map(({ strength }) => strength));
    const parts = least < 0.8 ? 100 : 1000;
    const found = [least];
    for (let k = Math.floor(least * parts); k <= parts; k++) {
      if (k / parts > least) found.push(k / parts);
    }
    return found;
  }

  /** The slider, the list of edges, and what they do to the graph. */
  class StrengthsView {
    /**
     * @param {Element} root
     * @param {object} payload the data of the page
     * @param {{group: Element}[]} drawn the edges of the graph, in its order
     */
    constructor(root, { strengths, graph }, drawn) {
      Object.assign(this, { edges: graph.edges, drawn });
      // The slider counts the thresholds, so that each is met exactly.
      const choices = thresholds(strengths);
      const range = { type: "range", min: 0, max: choices.length - 1, step: 1, value: 0 };
      const slider = gml.html("input", { id: "strength-threshold", ...range });
      this.output = gml.html("output", { for: "strength-threshold" });
      this.count = gml.html("p", { class: "count" });
      const label = gml.html(
        "label",
        { for: "strength-threshold" },
        "Show edges of strength at least",
      );
      const joined = new Set(
        graph.edges.flatMap(({ source, target }) => [
          JSON.stringify([source, target]),
          JSON.stringify([target, source]),
        ]),
      );
      this.rows = byStrength(strengths.edges).map((edge) => {
        const there = joined.has(JSON.stringify([edge.source, edge.target]));
        const shares = [edge.strength, edge.forward, edge.undirected, edge.backward].map((share) =>
          gml.number(share == null ? "–" : gml.fraction(share)),
        );
        const row = gml.html(
          "tr",
          {},
          gml.html("th", { scope: "row" }, gml.edgeName(edge)),
          ...shares,
          gml.html("td", {}, gml.bar(edge.strength)),
          gml.html("td", {}, there ? "edge" : "no edge"),
        );
        return { edge, row };
      });
      const columns = ["strength", "this way", "no direction", "other way"].map((text) => ({
        number: text,
      }));
      const headings = ["edge", ...columns, "", "in the model"];
      const table = gml.table(
        "Edges by strength",
        headings,
        this.rows.map(({ row }) => row),
      );
      root.replaceChildren(
        gml.html("div", { class: "controls" }, label, slider, this.output),
        this.count,
        gml.scrolling("Edges by strength", table),
      );
      const show = () => {
        const chosen = choices[Number(slider.value)];
        this.output.textContent = gml.fraction(chosen);
        slider.setAttribute("aria-valuetext", gml.fraction(chosen));
        this.show(chosen);
      };
      slider.addEventListener("input", show);
      show();
    }

    /** Hide the rows, and fade the edges, that are below the threshold. */
    show(threshold) {
      for (const { edge, row } of this.rows) row.hidden = isWeak(edge, threshold);
      const kept = this.rows.filter(({ row }) => !row.hidden).length;
      this.count.textContent = `${kept} of the ${this.rows.length} edges of the averaged graph are this strong.`;
      this.edges.forEach((edge, k) => {
        this.drawn[k].group.classList.toggle("weak", isWeak(edge, threshold));
      });
    }
  }

  Object.assign(gml, { byStrength, isWeak, thresholds, StrengthsView });
})();

if (typeof module !== "undefined") module.exports = gml;
