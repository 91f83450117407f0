// What the page does with views, keys, names, edges and numbers, without a document.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { FILES, gml } from "./assets.mjs";
import { randomSource } from "./networks.mjs";

const box = (id, x, y) => ({ id, x, y, width: 40, height: 20 });
// a and b above, c and d below them, e at the bottom, joined to a alone.
const graph = {
  width: 200,
  height: 200,
  nodes: [
    box("a", 20, 10),
    box("b", 180, 10),
    box("c", 20, 100),
    box("d", 180, 100),
    box("e", 100, 190),
  ],
  edges: [
    { source: "a", target: "d" },
    { source: "b", target: "d" },
    { source: "a", target: "e" },
  ],
};

function seen(view, x, y) {
  return [view.x + view.scale * x, view.y + view.scale * y];
}

function assertNear(actual, expected) {
  actual.forEach((value, k) => assert.ok(Math.abs(value - expected[k]) < 1e-9, `${actual}`));
}

test("fitting shows the whole graph, in the middle", () => {
  for (const [width, height] of [
    [100, 400],
    [400, 100],
    [1000, 1000],
  ]) {
    const view = gml.fitView(graph, width, height);
    assertNear(seen(view, 100, 100), [width / 2, height / 2]);
    const [left, top] = seen(view, 0, 0);
    assert.ok(left >= 16 - 1e-9 && top >= 16 - 1e-9);
    assert.ok(view.scale <= 1.5);
  }
});

test("a zoom keeps the point under the pointer, also at its limits", () => {
  const random = randomSource(1);
  for (let trial = 0; trial < 100; trial++) {
    const view = { x: 500 * random(), y: 500 * random(), scale: 0.05 + 4 * random() };
    const [x, y] = [900 * random(), 900 * random()];
    const under = [(x - view.x) / view.scale, (y - view.y) / view.scale];
    const zoomed = gml.zoomAt(view, 10 ** (4 * random() - 2), x, y);
    assertNear(seen(zoomed, ...under), [x, y]);
    assert.ok(zoomed.scale >= 0.02 && zoomed.scale <= 8);
  }
});

test("one finger moves the picture by as much, two fingers keep what is under them", () => {
  const view = { x: 10, y: 20, scale: 1 };
  assert.deepEqual(gml.dragView(view, [[5, 5]], [[8, 3]]), { x: 13, y: 18, scale: 1 });
  const zoomed = gml.dragView(
    view,
    [
      [0, 0],
      [100, 0],
    ],
    [
      [50, 10],
      [250, 10],
    ],
  );
  assert.equal(zoomed.scale, 2);
  assertNear(seen(zoomed, -10, -20), [50, 10]);
  assertNear(seen(zoomed, 90, -20), [250, 10]);
});

test("a node out of sight is brought into it, one in sight stays", () => {
  const view = { x: 0, y: 0, scale: 1 };
  assert.deepEqual(gml.reveal(view, graph.nodes[4], 300, 300), view);
  const moved = gml.reveal(view, box("far", 500, -40), 300, 200);
  assert.deepEqual(moved, { x: 300 - 16 - 520, y: 50 + 16, scale: 1 });
});

test("arrow keys lead along rows and edges", () => {
  const walk = (id, key) => gml.nextNode(graph, id, key);
  assert.equal(walk("a", "ArrowRight"), "b");
  assert.equal(walk("b", "ArrowLeft"), "a");
  assert.equal(walk("a", "ArrowLeft"), "a");
  assert.equal(walk("a", "ArrowDown"), "d", "along an edge, not to c below");
  assert.equal(walk("e", "ArrowUp"), "a", "along an edge, not to the nearest row");
  assert.equal(walk("c", "ArrowDown"), "e", "without an edge to the nearest row");
  assert.equal(walk("d", "Home"), "a");
  assert.equal(walk("a", "End"), "e");
});

test("every node can be reached with arrow keys", () => {
  const random = randomSource(8);
  for (let trial = 0; trial < 50; trial++) {
    const nodes = Array.from({ length: 20 }, (_, k) => {
      return box(`n${k}`, Math.floor(10 * random()) * 60 + k / 100, Math.floor(4 * random()) * 80);
    });
    const edges = Array.from({ length: 15 }, () => ({
      source: nodes[Math.floor(20 * random())].id,
      target: nodes[Math.floor(20 * random())].id,
    }));
    const reached = new Set(["n0"]);
    for (const id of reached) {
      for (const key of ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End"]) {
        reached.add(gml.nextNode({ nodes, edges }, id, key));
      }
    }
    assert.equal(reached.size, 20);
  }
});

test("keys have their deeds, and those with Ctrl are left to the browser", () => {
  assert.deepEqual(gml.keyDeed({ key: "ArrowLeft" }, false), ["pan", 60, 0]);
  assert.deepEqual(gml.keyDeed({ key: "ArrowLeft" }, true), ["walk", "ArrowLeft"]);
  assert.deepEqual(gml.keyDeed({ key: "ArrowDown", shiftKey: true }, true), ["pan", 0, -60]);
  assert.deepEqual(gml.keyDeed({ key: " " }, true), ["choose"]);
  assert.deepEqual(gml.keyDeed({ key: "Enter" }, true), ["choose"]);
  assert.equal(gml.keyDeed({ key: "Enter" }, false), null);
  assert.deepEqual(gml.keyDeed({ key: "Escape" }, false), ["leave"]);
  assert.equal(gml.keyDeed({ key: "Tab" }, true), null);
  assert.equal(gml.keyDeed({ key: "+", ctrlKey: true }, true), null);
});

test("a search finds parts of names, beginnings first", () => {
  const names = ["Lung", "either", "prolonged", "asia"];
  assert.deepEqual(gml.matches(names, " LON "), ["prolonged"]);
  assert.deepEqual(gml.matches(names, "l"), ["Lung", "prolonged"]);
  assert.deepEqual(gml.matches(names, "  "), []);
});

test("bars show all levels, or the most probable and the rest", () => {
  assert.deepEqual(gml.barRows(["n", "y"], [0.2, 0.8]), [
    { level: "n", places: [0], share: 0.2 },
    { level: "y", places: [1], share: 0.8 },
  ]);
  const rows = gml.barRows(["a", "b", "c", "d", "e", "f"], [0.25, 0, 0.125, 0.25, 0.25, 0.125]);
  assert.deepEqual(
    rows.map(({ level, share }) => [level, share]),
    [
      ["a", 0.25],
      ["c", 0.125],
      ["d", 0.25],
      ["e", 0.25],
      ["2 more", 0.125],
    ],
  );
});

test("marks stand at the ends that an edge type says", () => {
  const path = "M0,0 C0,10 0,20 0,30 0,50 0,80 0,100";
  const shapes = (type) => gml.edgeShapes(path, type, 10);
  const arrow = shapes("-->");
  assert.deepEqual(
    arrow.marks.map(({ kind }) => kind),
    ["arrow"],
  );
  assert.deepEqual(arrow.marks[0].points[0], [0, 100]);
  assert.equal(arrow.marks[0].points[1][1], 90);
  assert.match(arrow.line, /^M0,0 C0,10 0,20 0,30 0,[\d.]+ 0,[\d.]+ 0,90\.75$/);
  assert.deepEqual(shapes("---"), { line: path, marks: [] });
  assert.deepEqual(
    shapes("<->").marks.map(({ points }) => points[0]),
    [
      [0, 0],
      [0, 100],
    ],
  );
  const kinds = (type) => shapes(type).marks.map(({ kind }) => kind);
  assert.deepEqual(kinds("o->"), ["circle", "arrow"]);
  assert.deepEqual(kinds("o-o"), ["circle", "circle"]);
  assert.deepEqual(kinds("o--"), ["circle"]);
  assert.deepEqual(shapes("o--").marks[0].points, [[0, 4.5]]);
});

function pointsOf(path) {
  const numbers = path.match(/-?[\d.]+/g).map(Number);
  return numbers.filter((_, k) => k % 2 === 0).map((x, k) => [x, numbers[2 * k + 1]]);
}

test("a line goes on along its curve and enters a head through the middle of its base", () => {
  // Comes from the left and turns down only within the length of the head.
  const path = "M0,0 C80,0 100,90 100,100";
  for (const [type, mark] of [
    ["-->", 0],
    ["<->", 1],
  ]) {
    const { line, marks } = gml.edgeShapes(path, type, 30);
    const [tip, left, right] = marks[mark].points;
    const [bx, by] = [(left[0] + right[0]) / 2, (left[1] + right[1]) / 2];
    const end = pointsOf(line).at(-1);
    assert.deepEqual(tip, [100, 100]);
    // The end of the line, the middle of the base and the tip are on one line.
    const [dx, dy] = [tip[0] - bx, tip[1] - by];
    const aside = ((end[0] - bx) * dy - (end[1] - by) * dx) / Math.hypot(dx, dy);
    assert.ok(Math.abs(aside) < 0.01, `${aside}`);
    assert.ok(Math.abs(Math.hypot(end[0] - bx, end[1] - by) - 0.75) < 0.02);
    // And that line is the one on which the curve was going: not straight down.
    assert.ok(dx > 2, `${dx}`);
  }
});

test("an edge shorter than its marks keeps them within it", () => {
  const { line, marks } = gml.edgeShapes("M0,0 C0,1 0,2 0,3", "<->", 10);
  assert.ok(pointsOf(line).flat().every(Number.isFinite));
  assert.ok(marks.flatMap(({ points }) => points.flat()).every(Number.isFinite));
});

test("what changed most comes first, names in order where all is equal", () => {
  const shares = (...values) => ({ shares: values });
  const prior = new Map([
    ["c", shares(0.5, 0.5)],
    ["b", shares(0.5, 0.5)],
    ["a", shares(0.5, 0.5)],
    ["same", shares(0.1, 0.9)],
    ["gone", shares(1, 0)],
  ]);
  const after = new Map([
    ["c", shares(0.4, 0.6)],
    ["b", shares(1, 0)],
    ["a", shares(0.6, 0.4)],
    ["same", shares(0.1, 0.9)],
  ]);
  const moved = gml.changedNodes(prior, after, prior);
  assert.deepEqual(
    moved.map(({ id }) => id),
    ["b", "a", "c"],
  );
  assert.equal(moved[0].size, 0.5);
  assert.equal(gml.changeSize({ mean: 3, sd: 1 }, { mean: 1, sd: 2 }, 4), 0.5);
  const node = { id: "a", levels: ["n", "y"] };
  assert.equal(gml.changeWords(node, shares(0.5, 0.5), shares(0.4, 0.6)), `n ${gml.percent(0.5)} → ${gml.percent(0.4)}`);
  const words = gml.changeWords({ id: "x" }, { mean: 1, sd: 1 }, { mean: -2, sd: 1 });
  assert.equal(words, "mean 1 → −2");
});

test("strips hold all shares one after another, or the mean within the prior", () => {
  assert.deepEqual(gml.stacked([0.25, 0.5, 0.25]), [
    { start: 0, share: 0.25 },
    { start: 0.25, share: 0.5 },
    { start: 0.75, share: 0.25 },
  ]);
  const prior = { mean: 10, sd: 2 };
  const { start, share } = gml.momentsPiece(prior, prior);
  assertNear([start, share], [0.5 - 1 / 7, 2 / 7]);
  for (const mean of [-1e9, 10, 1e9]) {
    const piece = gml.momentsPiece({ mean, sd: 0 }, prior);
    assert.ok(piece.start >= 0 && piece.share > 0 && piece.start + piece.share <= 1 + 1e-12);
  }
});

test("the wheel is the page's, until Ctrl is held or the graph has the focus", () => {
  const plain = { ctrlKey: false, metaKey: false };
  assert.equal(gml.wheelZooms(plain, false), false);
  assert.equal(gml.wheelZooms(plain, true), true);
  assert.equal(gml.wheelZooms({ ...plain, ctrlKey: true }, false), true);
  assert.equal(gml.wheelZooms({ ...plain, metaKey: true }, false), true);
});

test("a tap beside a small node means the nearest", () => {
  const view = { x: 10, y: 10, scale: 0.1 };
  // a is seen at 10…14 × 10…12.
  assert.equal(gml.nodeNear(graph, view, 13, 11, 12), "a");
  assert.equal(gml.nodeNear(graph, view, 10, 1, 12), "a");
  assert.equal(gml.nodeNear(graph, view, 20, 22, 12), "e");
  assert.equal(gml.nodeNear(graph, view, 100, 100, 12), null);
});

test("a frame on paper has the shape of the graph, within what a page holds", () => {
  assert.deepEqual(gml.paperSize({ width: 100, height: 100 }), [720, 720]);
  assert.deepEqual(gml.paperSize({ width: 100, height: 1000 }), [720, 900]);
  assert.deepEqual(gml.paperSize({ width: 1000, height: 10 }), [720, 420]);
});

test("labels of levels take as much room as they need, and half of it at most", () => {
  const short = gml.rowRooms(112, 10);
  assert.deepEqual(short, { room: 15, bar: 112 - 15 - 42 });
  const long = gml.rowRooms(112, 300);
  assert.deepEqual(long, { room: 35, bar: 35 });
});

test("a node says its levels as they are seen, then what they were", () => {
  const node = { id: "x", levels: ["n", "y"] };
  const [now, was] = [{ shares: [0.442, 0.558] }, { shares: [0.3, 0.7] }];
  const said = (...shares) => shares.map((share, k) => `${"ny"[k]} ${gml.percent(share)}`).join(", ");
  assert.equal(gml.nodeLabel(node, now, null), `x: ${said(0.442, 0.558)}`);
  assert.equal(gml.nodeLabel(node, now, was), `x: ${said(0.442, 0.558)}; was ${said(0.3, 0.7)}`);
  const known = { kind: "observed", value: "n" };
  const seen = gml.nodeLabel(node, { shares: [1, 0] }, was, known);
  assert.equal(seen, `x: ${said(1, 0)}, seen; was ${said(0.3, 0.7)}`);
  assert.equal(gml.nodeLabel(node, undefined, null), "x: n –, y –");
  assert.equal(gml.nodeLabel({ id: "z" }, undefined, null), "z: –");
  const moments = { mean: 2, sd: 0.5 };
  assert.equal(gml.nodeLabel({ id: "z" }, moments, null), "z: 2 ± 0.5");
  const many = { id: "m", levels: ["a", "b", "c", "d", "e", "f", "g"] };
  const label = gml.nodeLabel(many, { shares: [0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1] }, null);
  const tenth = gml.percent(0.1);
  const few = `a ${gml.percent(0.4)}, b ${tenth}, c ${tenth}, d ${tenth}`;
  assert.equal(label, `m: ${few}, 3 more ${gml.percent(0.3)}`);
});

test("widths show strengths, else mutual information, else nothing", () => {
  const both = [
    { strength: 1, mi: 0.1 },
    { strength: 0.5, mi: 0.2 },
    { strength: null, mi: 0.3 },
  ];
  assert.deepEqual(gml.edgeWidths(both).widths, [5, 3, 1]);
  const mi = [{ mi: 0.2 }, { mi: 0.1 }, { mi: 0 }];
  assert.deepEqual(gml.edgeWidths(mi).widths, [5, 3, 1]);
  assert.deepEqual(gml.edgeWidths([{ mi: null }]), { quantity: null, most: 0, widths: [1.5] });
  assert.deepEqual(gml.edgeWidths([]).widths, []);
});

test("infinite information is the most, none at all is said, unknown is no number", () => {
  const mi = [{ mi: "infinite" }, { mi: 0.2 }, { mi: 0.1 }, { mi: "no rows in common" }];
  assert.deepEqual(gml.edgeWidths(mi).widths, [5, 5, 3, 1]);
  assert.equal(gml.widthLegend(mi), "Width of edges: mutual information, up to ∞ nats");
  assert.deepEqual(gml.edgeWidths([{ mi: "infinite" }, { mi: 0 }]).widths, [5, 1]);
  assert.equal(gml.widthLegend([{ mi: 0 }]), "The mutual information along every edge is 0");
  assert.equal(gml.widthLegend([{ mi: "no rows in common" }]), "");
  assert.deepEqual(gml.edgeFacts(mi[0]), ["mutual information ∞ nats"]);
  assert.deepEqual(gml.edgeFacts(mi[3]), ["mutual information unknown: no rows in common"]);
});

test("edges of an undirected model are as wide as their couplings are large", () => {
  const edges = [{ coupling: -0.8 }, { coupling: 0.4, mi: 3 }, { coupling: 0 }];
  assert.deepEqual(gml.edgeWidths(edges).widths, [5, 3, 1]);
  const legend = "Width of edges: size of coupling, up to 0.8";
  assert.equal(gml.widthLegend(edges), `${legend}; negative couplings are dashed`);
  assert.equal(gml.widthLegend([{ coupling: 0.8 }]), legend);
  assert.equal(gml.widthLegend([{ coupling: 0 }]), "The coupling of every edge is 0");
  assert.deepEqual(gml.edgeFacts(edges[0]), ["coupling −0.8"]);
  const averaged = [{ coupling: -0.8, strength: 0.5 }];
  assert.deepEqual(gml.edgeWidths(averaged).widths, [3]);
  assert.match(gml.widthLegend(averaged), /strength, from 0 to 1; negative couplings are dashed/);
});

test("an edge says in how many graphs it points which way", () => {
  const facts = (forward, undirected, backward) =>
    gml.edgeFacts({ strength: 0.99999996, forward, undirected, backward });
  assert.deepEqual(facts(0.02, 0.62, 0.36), [
    "strength >0.9999",
    "points this way in 2.0\u00a0% of the graphs that have it, has no direction in 62.0\u00a0%, " +
      "points the other way in 36.0\u00a0%",
  ]);
  assert.equal(facts(1, 0, 0)[1], "points this way in 100\u00a0% of the graphs that have it");
  assert.deepEqual(gml.edgeFacts({ below: true }), ["weaker than the edges of the averaged graph"]);
});

test("what is set rests on the open arrows between it and the nodes that are not set", () => {
  const edge = (source, target, open) => ({ source, target, type: "-->", open });
  const edges = [edge("a", "b", true), edge("b", "c", true), edge("b", "d", false)];
  const known = (...ids) => new Map(ids.map((id) => [id, { kind: "set", value: "x" }]));
  const rest = "the data leave open which way";
  const another = "and another way gives another answer.";
  assert.equal(
    gml.openText(edges, known("b")),
    `This rests on a → b, b → c: ${rest} they point, ${another}`,
  );
  assert.equal(
    gml.openText(edges, known("a", "b")),
    `This rests on b → c: ${rest} it points, ${another}`,
  );
  assert.equal(gml.openText(edges, known("d")), "");
  assert.equal(gml.openText(edges, known("a", "b", "c")), "");
  assert.equal(gml.openText(edges, new Map([["b", { kind: "observed", value: "x" }]])), "");
  const star = Array.from({ length: 9 }, (_, k) => edge("m", `n${k}`, true));
  assert.match(gml.openText(star, known("m")), /m → n5 and 3 more: /);
  assert.deepEqual(gml.edgeFacts(edges[0]), ["the data leave open which way it points"]);
  assert.deepEqual(gml.edgeFacts(edges[2]), []);
});

test("edges into a node that is set are cut, not those out of it or of one that is seen", () => {
  const edge = { source: "a", target: "b" };
  const known = (id, kind) => new Map([[id, { kind, value: "x" }]]);
  assert.equal(gml.isCut(edge, known("b", "set")), true);
  assert.equal(gml.isCut(edge, known("a", "set")), false);
  assert.equal(gml.isCut(edge, known("b", "observed")), false);
  assert.equal(gml.isCut(edge, new Map()), false);
});

test("edges below the threshold are weak, those of unknown strength are not", () => {
  assert.equal(gml.isWeak({ strength: 0.49 }, 0.5), true);
  assert.equal(gml.isWeak({ strength: 0.5 }, 0.5), false);
  assert.equal(gml.isWeak({ strength: null, below: false }, 1), false);
  assert.equal(gml.isWeak({ strength: null, below: true }, 0.5), true);
  const edge = (source, target, strength) => ({ source, target, strength });
  const sorted = gml.byStrength([edge("b", "a", 0.5), edge("a", "c", 0.5), edge("x", "y", 1)]);
  assert.deepEqual(
    sorted.map(({ source }) => source),
    ["x", "a", "b"],
  );
});

test("thresholds begin with that of the graph, are round, and end with 1", () => {
  const found = (threshold, ...strengths) =>
    gml.thresholds({ threshold, edges: strengths.map((strength) => ({ strength })) });
  const fine = found(0.945, 0.945, 1);
  assert.deepEqual(fine.slice(0, 3), [0.945, 0.946, 0.947]);
  assert.equal(fine.length, 56);
  assert.equal(fine.at(-1), 1);
  assert.deepEqual(found(0.5, 0.75).slice(0, 2), [0.5, 0.51]);
  assert.deepEqual(found(null, 0.333, 0.7).slice(0, 2), [0.333, 0.34]);
  assert.deepEqual(found(0.5, 0.4999999).slice(0, 2), [0.4999999, 0.5]);
  assert.deepEqual(found(0.99999, 1), [0.99999, 1]);
  assert.deepEqual(found(1, 1), [1]);
});

test("new evidence about a node takes the place of the old", () => {
  const none = new Map();
  const one = gml.withEvidence(none, false, "observed", "a", "y");
  assert.equal(none.size, 0);
  const two = gml.withEvidence(one, false, "set", "b", "n");
  assert.equal(two.size, 2);
  const other = gml.withEvidence(two, false, "set", "a", "n");
  assert.deepEqual(other.get("a"), { kind: "set", value: "n" });
  assert.deepEqual([...gml.withEvidence(other, false, "set", "a", null).keys()], ["b"]);
  assert.deepEqual([...gml.withEvidence(two, true, "set", "c", "n").keys()], ["c"]);
});

test("observing tells about causes, setting does not", () => {
  const nodes = [
    { id: "cause", levels: ["n", "y"], parents: [], cpt: [[0.5, 0.5]] },
    {
      id: "x",
      levels: ["n", "y"],
      parents: ["cause"],
      cpt: [
        [0.9, 0.1],
        [0.1, 0.9],
      ],
    },
    {
      id: "effect",
      levels: ["n", "y"],
      parents: ["x"],
      cpt: [
        [0.8, 0.2],
        [0.3, 0.7],
      ],
    },
  ];
  assert.equal(gml.firstChoice(nodes).id, "x");
  const engine = gml.makeEngine({ model: { nodes }, inference: { mode: "exact" } });
  const { nodes: differing, seen: observed, done } = gml.compareDoing(engine, new Map(), "x", "y");
  assert.deepEqual(
    differing.map(({ id }) => id),
    ["cause"],
  );
  assert.ok(Math.abs(differing[0].size - 0.4) < 1e-12);
  assert.ok(Math.abs(observed.posteriors.get("cause").shares[1] - 0.9) < 1e-12);
  assert.ok(Math.abs(done.posteriors.get("cause").shares[1] - 0.5) < 1e-12);
});

test("differences come with the largest first", () => {
  const table = (p) => [
    [0.5 + p, 0.5 - p],
    [0.5 - p, 0.5 + p],
  ];
  const nodes = [
    { id: "u", levels: ["n", "y"], parents: [], cpt: [[0.5, 0.5]] },
    { id: "x", levels: ["n", "y"], parents: ["u"], cpt: table(0.4) },
    { id: "little", levels: ["n", "y"], parents: ["u"], cpt: table(0.1) },
    { id: "much", levels: ["n", "y"], parents: ["u"], cpt: table(0.3) },
  ];
  const engine = gml.makeEngine({ model: { nodes }, inference: { mode: "exact" } });
  const { nodes: differing } = gml.compareDoing(engine, new Map(), "x", "y");
  assert.deepEqual(
    differing.map(({ id }) => id),
    ["u", "much", "little"],
  );
});

test("numbers and names are written for people", () => {
  assert.deepEqual([0, 1, 0.5, 0.9896, 1e-9, 0.0005, 0.9995, 0.99999].map(gml.percent), [
    "0\u00a0%",
    "100\u00a0%",
    "50.0\u00a0%",
    "99.0\u00a0%",
    "<0.1\u00a0%",
    "0.1\u00a0%",
    ">99.9\u00a0%",
    ">99.9\u00a0%",
  ]);
  assert.equal(gml.brief(-1234.5678), "−1235");
  assert.equal(gml.brief(1.5e-12), "1.5e−12");
  assert.deepEqual([123456, 12345.678, 0.12345, Infinity].map(gml.brief), [
    "123456",
    "12346",
    "0.1235",
    "∞",
  ]);
  assert.deepEqual([0, 1e-9, 0.945, 0.99999996, 1].map(gml.fraction), [
    "0",
    "1e−9",
    "0.945",
    ">0.9999",
    "1",
  ]);
  assert.deepEqual([1, -0.9995, -0.104, -0.0004, 0.0000234, 1e-16, 0].map(gml.points), [
    "+100",
    "−>99.9",
    "−10.4",
    "−0.04",
    "+0.002",
    "0",
    "0",
  ]);
  assert.equal(gml.shown("a\u202eb\n<script>"), "a\\u202eb\\x0a<script>");
});

test("numbers have the digits that their deviations give them", () => {
  assert.equal(gml.spread({ mean: 12000.4, sd: 500 }), "12000 ± 500");
  assert.equal(gml.spread({ mean: 2019.5, sd: 2.5 }), "2019.5 ± 2.5");
  assert.equal(gml.spread({ mean: -123.45678, sd: 0.0123 }), "−123.4568 ± 0.0123");
  assert.equal(gml.spread({ mean: 12345.678, sd: 0 }), "12345.678");
  assert.equal(gml.spread({ mean: 0.1 + 0.2, sd: 0 }), "0.3");
  assert.equal(gml.worthAsking({ mean: 12000, sd: 0.5 }), 12000.5);
  const known = { kind: "observed", value: 12345.678901 };
  assert.equal(gml.valueText(known), "12345.678901");
  assert.equal(gml.describe({ id: "a" }, null, known), "a: observed to be 12345.678901");
});

test("what was, what is and the change add up", () => {
  assert.deepEqual(gml.momentTexts({ mean: 1.264, sd: 2 }, { mean: 2.546, sd: 1.5 }), [
    "1.26",
    "2",
    "2.55",
    "1.5",
    "+1.29",
  ]);
  assert.deepEqual(gml.momentTexts({ mean: 12000.25, sd: 500 }, { mean: 12345.678, sd: 0 }), [
    "12000.25",
    "500",
    "12345.678",
    "0",
    "+345.428",
  ]);
  const random = randomSource(3);
  const read = (text) => Number(text.replace("−", "-"));
  for (let trial = 0; trial < 500; trial++) {
    const moments = () => ({ mean: 1e4 * (random() - 0.5), sd: 10 ** (6 * random() - 4) });
    const [before, , after, , change] = gml.momentTexts(moments(), moments()).map(read);
    assert.ok(Math.abs(before + change - after) < 1e-9, `${before} ${change} ${after}`);
  }
  const small = gml.momentTexts({ mean: 1, sd: 2 }, { mean: 1.0001, sd: 2 });
  assert.equal(small.at(-1), "+0.0001");
  assert.equal(gml.momentTexts({ mean: 1, sd: 2 }, { mean: 1 + 1e-15, sd: 2 }).at(-1), "0");
  assert.deepEqual(gml.momentTexts({ mean: 1, sd: 2 }, undefined), ["1", "2", "–", "–", "–"]);
});

test("bells stay within their box, wherever they move", () => {
  const prior = { mean: 0, sd: 1 };
  for (const now of [prior, { mean: 40, sd: 0.1 }, { mean: -9, sd: 0 }, { mean: 2, sd: 30 }]) {
    const range = gml.bellRange([prior, now]);
    for (const known of [prior, now]) {
      const path = gml.bellPath(known, prior, range, 10, 0, 100, 30);
      const places = path.match(/[-\d.]+(?=,)/g).map(Number);
      assert.ok(Math.min(...places) > 10 && Math.max(...places) < 110, path);
      const middle = places[Math.floor(places.length / 2)];
      const expected = 10 + (100 * (known.mean - range[0])) / (range[1] - range[0]);
      assert.ok(Math.abs(middle - expected) <= 0.05 + 1e-9, path);
    }
  }
  const [low, high] = gml.bellRange([{ mean: 7, sd: 0 }]);
  assert.equal(low + high, 14);
  assert.ok(high > low);
});

test("most names have one size from afar, and only longer ones are smaller", () => {
  assert.deepEqual(
    gml.farSizes([27, 14, 20, 22, 10, 18, 25, 27]),
    [18, 14, 18, 18, 10, 18, 18, 18],
  );
  assert.deepEqual(gml.farSizes([12]), [12]);
  assert.deepEqual(gml.farSizes([]), []);
});

test("what is known is said with its probability", () => {
  const evidence = new Map([
    ["a", { kind: "observed", value: "y" }],
    ["b", { kind: "set", value: "n" }],
  ]);
  const answer = { why: null, logEvidence: Math.log(0.25), posteriors: new Map() };
  assert.equal(
    gml.statusText(answer, evidence, false),
    "Known: a = y, do(b = n). P(evidence) given what is set = 0.25, ln P = −1.386.",
  );
  const impossible = { ...answer, why: "The evidence has probability 0.", logEvidence: -Infinity };
  assert.match(
    gml.statusText(impossible, evidence, false),
    /^a = y, do\(b = n\): The evidence has probability 0\./,
  );
  const small = { ...answer, logEvidence: -1000 };
  const one = new Map([["a", evidence.get("a")]]);
  assert.equal(gml.evidenceText(small, one, false), "P(evidence) ln P = −1000");
  assert.equal(gml.statusText(answer, new Map(), false), "Nothing is observed or set.");
  assert.equal(gml.statusText(answer, new Map(), false, ["observed"]), "Nothing is observed.");
});

test("a node is described by its most probable level, or by what is known", () => {
  const node = { id: "x", levels: ["n", "y"] };
  assert.equal(gml.describe(node, { shares: [0.3, 0.7] }), "x: most probable y, 70.0\u00a0%");
  const tied = (...shares) => gml.describe({ id: "x", levels: [..."abcdef"] }, { shares });
  assert.equal(tied(0.50001, 0.49999, 0), "x: most probable a and b, 50.0\u00a0% each");
  assert.equal(tied(0, 0.3, 0.3, 0.3, 0.1), "x: most probable b, c and d, 30.0\u00a0% each");
  assert.equal(tied(0.2, 0.2, 0.2, 0.2, 0.2), "x: most probable a, b and 3 more, 20.0\u00a0% each");
  const known = { kind: "observed", value: "n" };
  assert.equal(gml.describe(node, { shares: [1, 0] }, known), "x: observed to be n");
  assert.equal(gml.describe(node, undefined), "x: no posterior");
  const moments = { mean: 2, sd: 0.5 };
  assert.equal(gml.describe({ id: "z" }, moments), "z: mean 2, standard deviation 0.5");
});

// ---------------------------------------------------------------------- the files

const page = new URL("../../gml/pictures/page/", import.meta.url);

test("all scripts are tested", () => {
  const found = readdirSync(new URL("assets/", page)).filter((name) => name.endsWith(".js"));
  assert.deepEqual(found.sort(), [...FILES].sort());
});

test("the page joins the scripts in the order of the tests", () => {
  const list = readFileSync(new URL("scripts.py", page), "utf8");
  const [, names] = list.match(/^ASSETS = \(([^)]*)\)/m);
  assert.deepEqual(
    [...names.matchAll(/"([^"]+)"/g)].map(([, name]) => name),
    FILES,
  );
});

// ---------------------------------------------------------------------- the style sheet

function luminance(colour) {
  const [r, g, b] = [1, 3, 5].map((k) => {
    const share = parseInt(colour.slice(k, k + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Return a colour with some of another mixed in, as color-mix does it. */
function mixed(one, other, share) {
  const parts = [1, 3, 5].map((k) => {
    const [a, b] = [one, other].map((colour) => parseInt(colour.slice(k, k + 2), 16));
    return Math.round(a + (b - a) * share);
  });
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

test("text has a contrast of 4.5 to 1, and what is drawn 3 to 1, in every theme", () => {
  const sheet = readFileSync(new URL("assets/report.css", page), "utf8");
  const themes = [...sheet.matchAll(/color-scheme: \w+;\s*((?:--[\w-]+: #\w{6};\s*)+)/g)].map(
    ([, text]) =>
      Object.fromEntries(
        [...text.matchAll(/--([\w-]+): (#\w{6});/g)].map(([, name, value]) => [name, value]),
      ),
  );
  const tints = [...sheet.matchAll(/--tint: (\d+)%/g)].map(([, percent]) => percent / 100);
  assert.equal(tints.length, themes.length);
  themes.forEach((colours, k) => {
    const tinted = mixed(colours.raised, colours.evidence, tints[k]);
    assert.ok(contrast(colours.ink, tinted) >= 4.5, `${k}: ink on ${tinted}`);
  });
  assert.equal(themes.length, 3, "light, dark and print");
  for (const colours of themes) {
    for (const name of ["ink", "muted", "link", "bad", "line", "focus"]) {
      for (const behind of ["background", "raised"]) {
        const found = contrast(colours[name], colours[behind]);
        assert.ok(found >= 4.5, `${name} on ${behind}: ${found.toFixed(2)}`);
      }
    }
    for (const name of ["bar", "evidence", "set"]) {
      for (const behind of ["background", "raised"]) {
        const found = contrast(colours[name], colours[behind]);
        assert.ok(found >= 3, `${name} on ${behind}: ${found.toFixed(2)}`);
      }
    }
    assert.ok(contrast(colours["on-evidence"], colours.evidence) >= 4.5);
    assert.ok(contrast(colours["on-set"], colours.set) >= 4.5);
  }
});
