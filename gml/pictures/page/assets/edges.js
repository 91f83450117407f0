/**
 * Edges: their lines with a mark at each end, their widths, and what is known of them.
 */
"use strict";

(() => {
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  const HALVINGS = 24;
  // Neighbouring shapes whose borders only touch show a hairline of what is behind them.
  const OVERLAP = 0.75;
  const MOST_OPEN = 6;

  const apart = ([ax, ay], [bx, by]) => Math.hypot(ax - bx, ay - by);

  /** Return the part of a Bézier curve before a parameter, by de Casteljau's construction. */
  function splitCurve(curve, at) {
    const kept = [curve[0]];
    for (let points = curve; points.length > 1; kept.push(points[0])) {
      const next = points.slice(1);
      points = next.map(([x, y], k) => {
        const [fromX, fromY] = points[k];
        return [fromX + (x - fromX) * at, fromY + (y - fromY) * at];
      });
    }
    return kept;
  }

  /**
   * Return a chain of cubic curves without its last stretch of this length as the crow flies; one
   * that is shorter is cut to its start.
   */
  function cutRoute(route, length) {
    if (length <= 0) return route;
    const end = route[route.length - 1];
    for (let first = route.length - 4; first >= 0; first -= 3) {
      if (apart(route[first], end) <= length) continue;
      const curve = route.slice(first, first + 4);
      let [low, high] = [0, 1];
      for (let k = 0; k < HALVINGS; k++) {
        const middle = (low + high) / 2;
        if (apart(splitCurve(curve, middle)[3], end) <= length) high = middle;
        else low = middle;
      }
      return [...route.slice(0, first), ...splitCurve(curve, low)];
    }
    return Array(4).fill(route[0]);
  }

  /** Return the mark from where a line was cut to its end; none if nothing was left of it. */
  function markShape(letter, start, end, size) {
    const far = apart(start, end);
    if (!far) return [];
    const [ux, uy] = [(end[0] - start[0]) / far, (end[1] - start[1]) / far];
    const back = (by, aside = 0) => [end[0] - by * ux - aside * uy, end[1] - by * uy + aside * ux];
    if (letter === "o") return [{ kind: "circle", points: [back(0.45 * size)] }];
    const half = 0.42 * size;
    return [{ kind: "arrow", points: [end, back(size, half), back(size, -half)] }];
  }

  /**
   * Return an edge's line, cut where marks stand at its ends, and the marks as shapes.
   *
   * A mark lies along the last stretch of the line, from where it was cut to the border of the
   * node, so that the line enters a head through the middle of its base.
   *
   * @param {string} path a chain of cubic curves, from border to border
   * @param {string} type such as "-->" or "o-o"
   * @returns {{line: string, marks: {kind: string, points: number[][]}[]}} an arrow by its three
   *   corners, a circle by its centre
   */
  function edgeShapes(path, type, size = 10) {
    const numbers = path.match(/-?[\d.]+(?:e[-+]?\d+)?/gi).map(Number);
    const route = [];
    for (let k = 0; k + 1 < numbers.length; k += 2) route.push([numbers[k], numbers[k + 1]]);
    const taken = (letter) => ({ ">": size - OVERLAP, "<": size - OVERLAP, o: 0.9 * size })[letter];
    const [first, last] = [type[0], type[type.length - 1]];
    const [toTarget, toSource] = [taken(last) ?? 0, taken(first) ?? 0];
    const tip = cutRoute(route, toTarget);
    const kept = cutRoute([...tip].reverse(), toSource).reverse();
    const marks = [
      ...(toSource ? markShape(first, kept[0], route[0], size) : []),
      ...(toTarget ? markShape(last, tip[tip.length - 1], route[route.length - 1], size) : []),
    ];
    const shown = kept.map(([x, y]) => `${+x.toFixed(2)},${+y.toFixed(2)}`);
    return { line: `M${shown[0]} C${shown.slice(1).join(" ")}`, marks };
  }

  /** Return a quantity of an edge; null where it is not known. */
  function quantityOf(edge, name) {
    if (edge[name] === "infinite") return Infinity;
    return typeof edge[name] === "number" ? edge[name] : null;
  }

  /** Return what the widths of edges show, if anything, the most of it, and the width of each. */
  function edgeWidths(edges) {
    const quantity = ["strength", "coupling", "mi"].find((name) =>
      edges.some((edge) => quantityOf(edge, name) !== null),
    );
    if (!quantity) return { quantity: null, most: 0, widths: edges.map(() => 1.5) };
    const values = edges.map((edge) => Math.abs(quantityOf(edge, quantity) ?? 0));
    const most = Math.max(...values);
    const scale = quantity === "strength" ? 1 : Math.max(...values.filter(Number.isFinite), 0) || 1;
    return { quantity, most, widths: values.map((value) => 1 + 4 * clamp(value / scale, 0, 1)) };
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
        {
          class: edge.coupling < 0 ? "edge negative" : "edge",
          "data-edge": k,
          style: `--width: ${widths[k]}px`,
        },
        gml.svg("path", { class: "hit", d: edge.path }),
        gml.svg("path", { class: "line", d: line }),
        ...drawn,
      );
      return { group };
    });
  }

  /** Return whether an edge leads into a node that is set, and so tells it nothing. */
  function isCut({ target }, evidence) {
    return evidence.get(target)?.kind === "set";
  }

  /**
   * Say which arrows decide what follows from the nodes that are set, though the data leave open
   * which way they point: those between a node that is set and one that is not. Beyond it, an
   * effect is that of every graph of the class.
   * @returns {string} nothing if there is no such arrow
   */
  function openText(edges, evidence) {
    const isSet = (id) => evidence.get(id)?.kind === "set";
    const names = edges
      .filter(({ open, source, target }) => open && isSet(source) !== isSet(target))
      .map(edgeName);
    if (!names.length) return "";
    const list = names.length > MOST_OPEN ? names.slice(0, MOST_OPEN) : names;
    const more = names.length - list.length;
    const points = names.length > 1 ? "they point" : "it points";
    return (
      `This rests on ${list.join(", ")}${more ? ` and ${more} more` : ""}: the data leave open ` +
      `which way ${points}, and another way gives another answer.`
    );
  }

  /** Say what the widths of the edges show, for a legend. */
  function widthLegend(edges) {
    const { quantity, most } = edgeWidths(edges);
    const negative = edges.some((edge) => edge.coupling < 0) ? "negative couplings are dashed" : "";
    if (quantity === "strength") {
      return `Width of edges: strength, from 0 to 1${negative && `; ${negative}`}`;
    }
    if (quantity === "coupling") {
      if (most === 0) return "The coupling of every edge is 0";
      return `Width of edges: size of coupling, up to ${gml.brief(most)}${negative && `; ${negative}`}`;
    }
    if (quantity !== "mi") return "";
    if (most === 0) return "The mutual information along every edge is 0";
    return `Width of edges: mutual information, up to ${gml.brief(most)} nats`;
  }

  /** Return an edge as people write it: A → B, A — B, A ○→ B. */
  function edgeName({ source, target, type }) {
    const signs = { "-->": "→", "---": "—", "<->": "↔", "o->": "○→", "o-o": "○—○", "o--": "○—" };
    return `${gml.shown(source)} ${signs[type] ?? "—"} ${gml.shown(target)}`;
  }

  /** Say in how many of the graphs with an edge it points which way; the three add up to all. */
  function directionText({ forward, undirected, backward }) {
    const parts = [`points this way in ${gml.percent(forward)} of the graphs that have it`];
    if (undirected) parts.push(`has no direction in ${gml.percent(undirected)}`);
    if (backward) parts.push(`points the other way in ${gml.percent(backward)}`);
    return parts.join(", ");
  }

  /** Return what is known of an edge, one line each. */
  function edgeFacts(edge, tests) {
    const facts = [];
    if (edge.open) facts.push("the data leave open which way it points");
    if (edge.strength != null) facts.push(`strength ${gml.fraction(edge.strength)}`);
    if (edge.forward != null) facts.push(directionText(edge));
    if (edge.below) facts.push("weaker than the edges of the averaged graph");
    const nats = quantityOf(edge, "mi");
    if (nats !== null) facts.push(`mutual information ${gml.brief(nats)} nats`);
    else if (edge.mi) facts.push(`mutual information unknown: ${edge.mi}`);
    if (edge.coupling != null) facts.push(`coupling ${gml.brief(edge.coupling)}`);
    if (edge.coefficient != null) facts.push(`coefficient ${gml.brief(edge.coefficient)}`);
    if (edge.coefficients) {
      const [low, high] = edge.coefficients.map(gml.brief);
      facts.push(`coefficients from ${low} to ${high}, by the labels`);
    }
    const pair = edge.tests == null ? null : tests?.pairs[edge.tests];
    if (pair) facts.push(gml.shown(pair.why));
    return facts;
  }

  Object.assign(gml, { edgeShapes, edgeWidths, drawEdges, isCut });
  Object.assign(gml, { widthLegend, edgeName, edgeFacts, openText });
})();

if (typeof module !== "undefined") module.exports = gml;
