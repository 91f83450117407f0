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

  /** Return whether an edge falls below a threshold; one of unknown strength does not. */
  function isWeak({ strength }, threshold) {
    return strength != null && strength < threshold;
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
      const start = Math.min(Math.max(strengths.threshold, 0), 1);
      const range = { type: "range", min: 0, max: 1, step: 0.01, value: start };
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
        const type = edge.direction == null ? "---" : "-->";
        const there = joined.has(JSON.stringify([edge.source, edge.target]));
        const shares = [edge.strength, edge.direction].map((share) =>
          gml.html("td", { class: "number" }, share == null ? "–" : share.toFixed(3)),
        );
        const row = gml.html(
          "tr",
          {},
          gml.html("th", { scope: "row" }, gml.edgeName({ ...edge, type })),
          ...shares,
          gml.html("td", {}, gml.bar(edge.strength)),
          gml.html("td", {}, there ? "edge" : "no edge"),
        );
        return { edge, row };
      });
      const columns = [{ number: "strength" }, { number: "direction" }];
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
      slider.addEventListener("input", () => this.show(Number(slider.value)));
      this.show(start);
    }

    /** Hide the rows, and fade the edges, that are below the threshold. */
    show(threshold) {
      this.output.textContent = threshold.toFixed(2);
      for (const { edge, row } of this.rows) row.hidden = isWeak(edge, threshold);
      const kept = this.rows.filter(({ row }) => !row.hidden).length;
      this.count.textContent = `${kept} of ${this.rows.length} edges are this strong.`;
      this.edges.forEach((edge, k) => {
        this.drawn[k].group.classList.toggle("weak", isWeak(edge, threshold));
      });
    }
  }

  Object.assign(gml, { byStrength, isWeak, StrengthsView });
})();

if (typeof module !== "undefined") module.exports = gml;
