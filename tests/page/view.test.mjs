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
  assert.equal(arrow.line, "M0,0 C0,10 0,20 0,30 0,50 0,80 0,92");
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

test("widths show strengths, else mutual information, else nothing", () => {
  const both = [
    { strength: 1, mi: 0.1 },
    { strength: 0.5, mi: 0.2 },
    { strength: null, mi: 0.3 },
  ];
  assert.deepEqual(gml.edgeWidths(both).widths, [5, 3, 1]);
  const mi = [{ mi: 0.2 }, { mi: 0.1 }, { mi: 0 }];
  assert.deepEqual(gml.edgeWidths(mi).widths, [5, 3, 1]);
  assert.deepEqual(gml.edgeWidths([{ mi: null }]), { quantity: null, most: 1e-300, widths: [1.5] });
  assert.deepEqual(gml.edgeWidths([]).widths, []);
});

test("edges below the threshold are weak, those of unknown strength are not", () => {
  assert.equal(gml.isWeak({ strength: 0.49 }, 0.5), true);
  assert.equal(gml.isWeak({ strength: 0.5 }, 0.5), false);
  assert.equal(gml.isWeak({ strength: null }, 1), false);
  const edge = (source, target, strength) => ({ source, target, strength });
  const sorted = gml.byStrength([edge("b", "a", 0.5), edge("a", "c", 0.5), edge("x", "y", 1)]);
  assert.deepEqual(
    sorted.map(({ source }) => source),
    ["x", "a", "b"],
  );
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
  assert.deepEqual([0, 1, 0.5, 0.9896, 1e-9, 0.99999].map(gml.percent), [
    "0%",
    "100%",
    "50.0%",
    "99.0%",
    "<0.1%",
    ">99.9%",
  ]);
  assert.equal(gml.brief(-1234.5678), "−1235");
  assert.equal(gml.brief(1.5e-12), "1.5e−12");
  assert.equal(gml.changeText(-0.0004, true), "0");
  assert.equal(gml.changeText(-0.104, true), "−10.4");
  assert.equal(gml.shown("a\u202eb\n<script>"), "a\\u202eb\\x0a<script>");
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
});

test("a node is described by its most probable level, or by what is known", () => {
  const node = { id: "x", levels: ["n", "y"] };
  assert.equal(gml.describe(node, { shares: [0.3, 0.7] }), "x: most probable y, 70.0%");
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

function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

test("text has a contrast of 4.5 to 1 in the light, the dark and the print theme", () => {
  const sheet = readFileSync(new URL("assets/report.css", page), "utf8");
  const themes = [...sheet.matchAll(/color-scheme: \w+;\s*((?:--[\w-]+: #\w{6};\s*)+)/g)].map(
    ([, text]) =>
      Object.fromEntries(
        [...text.matchAll(/--([\w-]+): (#\w{6});/g)].map(([, name, value]) => [name, value]),
      ),
  );
  const [light, dark, chosenDark, print] = themes;
  assert.deepEqual(dark, chosenDark);
  for (const colours of [light, dark, print]) {
    for (const name of ["ink", "muted", "link", "bad", "line", "focus"]) {
      for (const behind of ["background", "raised"]) {
        const found = contrast(colours[name], colours[behind]);
        assert.ok(found >= 4.5, `${name} on ${behind}: ${found.toFixed(2)}`);
      }
    }
    assert.ok(contrast(colours["on-evidence"], colours.evidence) >= 4.5);
    assert.ok(contrast(colours["on-set"], colours.set) >= 4.5);
  }
});
