/**
 * Edges: their lines with a mark at each end, their widths, and what is known of them.
 */
"use strict";

(() => {
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  /**
   * Return an edge's line, cut where marks stand at its ends, and the marks as shapes.
   *
   * @param {string} path a chain of cubic curves, from border to border
   * @param {string} type such as "-->" or "o-o"
   * @returns {{line: string, marks: {kind: string, points: number[][]}[]}} an arrow by its three
   *   corners, a circle by its centre
   */
  function edgeShapes(path, type, size = 10) {
    const numbers = path.match(/-?[\d.]+(?:e[-+]?\d+)?/gi).map(Number);
    const points = [];
    for (let k = 0; k + 1 < numbers.length; k += 2) points.push([numbers[k], numbers[k + 1]]);
    const marks = [];
    const cut = (end, next, after, letter) => {
      const [x, y] = points[end];
      const from = points[next].every((value, k) => value === points[end][k]) ? after : next;
      const [dx, dy] = [points[from][0] - x, points[from][1] - y];
      const far = Math.hypot(dx, dy) || 1;
      const [ux, uy] = [dx / far, dy / far];
      if (letter === ">" || letter === "<") {
        const [bx, by, half] = [x + size * ux, y + size * uy, size * 0.42];
        const corners = [
          [x, y],
          [bx - half * uy, by + half * ux],
          [bx + half * uy, by - half * ux],
        ];
        marks.push({ kind: "arrow", points: corners });
        points[end] = [x + 0.8 * size * ux, y + 0.8 * size * uy];
      } else if (letter === "o") {
        marks.push({ kind: "circle", points: [[x + 0.45 * size * ux, y + 0.45 * size * uy]] });
        points[end] = [x + 0.9 * size * ux, y + 0.9 * size * uy];
      }
    };
    const last = points.length - 1;
    cut(0, 1, Math.min(2, last), type[0]);
    cut(last, last - 1, Math.max(last - 2, 0), type[type.length - 1]);
    const shown = points.map(([x, y]) => `${+x.toFixed(2)},${+y.toFixed(2)}`);
    return { line: `M${shown[0]} C${shown.slice(1).join(" ")}`, marks };
  }

  /** Return what the widths of edges show, if anything, and the width of each. */
  function edgeWidths(edges) {
    const quantity = ["strength", "mi"].find((name) => edges.some((edge) => edge[name] != null));
    const most = edges.reduce((top, edge) => Math.max(top, Math.abs(edge[quantity] ?? 0)), 1e-300);
    const scale = quantity === "strength" ? 1 : most;
    const widths = edges.map((edge) =>
      quantity ? 1 + 4 * clamp(Math.abs(edge[quantity] ?? 0) / scale, 0, 1) : 1.5,
    );
    return { quantity: quantity ?? null, most, widths };
  }

  /**
   * Draw edges; each has a wide line that cannot be seen, for a pointer to hit. One without a path
   * has no line.
   * @returns {{group: SVGGElement}[]}
   */
  function drawEdges(edges) {
    const { widths } = edgeWidths(edges);
    return edges.map((edge, k) => {
      if (edge.path == null) return { group: gml.svg("g", { class: "edge" }) };
      const { line, marks } = edgeShapes(edge.path, edge.type, 8 + 1.5 * widths[k]);
      const drawn = marks.map(({ kind, points }) => {
        if (kind === "arrow") return gml.svg("path", { class: kind, d: `M${points.join(" L")} Z` });
        const [[cx, cy]] = points;
        return gml.svg("circle", { class: kind, cx, cy, r: 0.45 * (8 + 1.5 * widths[k]) });
      });
      const group = gml.svg(
        "g",
        { class: "edge", "data-edge": k, style: `--width: ${widths[k]}px` },
        gml.svg("path", { class: "hit", d: edge.path }),
        gml.svg("path", { class: "line", d: line }),
        ...drawn,
      );
      return { group };
    });
  }

  /** Say what the widths of the edges show, for a legend. */
  function widthLegend(edges) {
    const { quantity, most } = edgeWidths(edges);
    if (quantity === "strength") return "Width of edges: strength, from 0 to 1";
    if (quantity === "mi")
      return `Width of edges: mutual information, up to ${gml.brief(most)} nats`;
    return "";
  }

  /** Return an edge as people write it: A → B, A — B, A ○→ B. */
  function edgeName({ source, target, type }) {
    const signs = { "-->": "→", "---": "—", "<->": "↔", "o->": "○→", "o-o": "○—○", "o--": "○—" };
    return `${gml.shown(source)} ${signs[type] ?? "—"} ${gml.shown(target)}`;
  }

  /** Return what is known of an edge, one line each. */
  function edgeFacts(edge, tests) {
    const facts = [];
    if (edge.strength != null) facts.push(`strength ${gml.brief(edge.strength)}`);
    if (edge.direction != null) facts.push(`points this way in ${gml.percent(edge.direction)}`);
    if (edge.mi != null) facts.push(`mutual information ${gml.brief(edge.mi)} nats`);
    if (edge.coefficient != null) facts.push(`coefficient ${gml.brief(edge.coefficient)}`);
    const pair = edge.tests == null ? null : tests?.pairs[edge.tests];
    if (pair) facts.push(gml.shown(pair.why));
    return facts;
  }

  Object.assign(gml, { edgeShapes, edgeWidths, drawEdges, widthLegend, edgeName, edgeFacts });
})();

if (typeof module !== "undefined") module.exports = gml;
