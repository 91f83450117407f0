// Inference in the page: against sums over all cells, and against answers of `gml query`.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { gml } from "./assets.mjs";
import {
  enumerate,
  enumerateFactors,
  randomEvidence,
  randomFactors,
  randomSource,
  randomTables,
  shuffled,
} from "./networks.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));

function assertClose(actual, expected, within, what) {
  const near = Math.abs(actual - expected) <= within * Math.max(1, Math.abs(expected));
  assert.ok(near, `${what}: ${actual}, not ${expected}`);
}

function assertAnswer(answer, expected, what) {
  assertClose(answer.logEvidence, Math.log(expected.total), 1e-10, `${what}: ln P(evidence)`);
  for (const [id, shares] of expected.shares) {
    const found = answer.posteriors.get(id).shares;
    assert.equal(found.length, shares.length);
    shares.forEach((share, k) => assertClose(found[k], share, 1e-11, `${what}: ${id}[${k}]`));
  }
}

function knownFrom(evidence, set) {
  const all = (values, kind) => Object.entries(values).map(([id, value]) => [id, { kind, value }]);
  return new Map([...all(evidence, "observed"), ...all(set, "set")]);
}

test("posteriors of random networks are those of the joint distribution", () => {
  const random = randomSource(17);
  let impossible = 0;
  for (let trial = 0; trial < 400; trial++) {
    const nodes = randomTables(random, 1 + Math.floor(random() * 7));
    const tree = new gml.JunctionTree(nodes);
    for (let k = 0; k < 3; k++) {
      const evidence = randomEvidence(random, nodes, ({ levels }) => {
        return levels[Math.floor(random() * levels.length)];
      });
      const expected = enumerate(nodes, evidence);
      const answer = tree.ask(evidence);
      if (expected.total === 0) {
        impossible++;
        assert.equal(answer.why, "The evidence has probability 0.");
        assert.equal(answer.logEvidence, -Infinity);
        assert.equal(answer.posteriors.size, 0);
      } else {
        assert.equal(answer.why, null);
        assertAnswer(answer, expected, `trial ${trial}`);
      }
    }
  }
  assert.ok(impossible > 50);
});

test("posteriors of random undirected models are those of the joint distribution", () => {
  const random = randomSource(23);
  const seen = { possible: 0, impossible: 0 };
  for (let trial = 0; trial < 300; trial++) {
    const { nodes, factors } = randomFactors(random, 1 + Math.floor(random() * 6));
    if (enumerateFactors(nodes, factors, new Map()).all === 0) continue;
    const tree = new gml.JunctionTree(nodes, factors);
    for (let k = 0; k < 3; k++) {
      const evidence = randomEvidence(random, nodes, ({ levels }) => {
        return levels[Math.floor(random() * levels.length)];
      });
      for (const known of evidence.values()) known.kind = "observed";
      const expected = enumerateFactors(nodes, factors, evidence);
      const answer = tree.ask(evidence);
      if (expected.total === 0) {
        seen.impossible++;
        assert.equal(answer.why, "The evidence has probability 0.");
      } else {
        seen.possible++;
        assert.equal(answer.why, null);
        assertAnswer(answer, expected, `trial ${trial}`);
      }
    }
  }
  assert.ok(seen.possible > 500 && seen.impossible > 10);
});

test("an undirected model can be observed, and nothing in it can be set", () => {
  const { nodes, factors } = randomFactors(randomSource(2), 4);
  const inference = { mode: "exact", prior: {}, given: null, do: null };
  assert.deepEqual(gml.makeEngine({ model: { nodes, factors }, inference }).kinds, ["observed"]);
  const given = { v0: {} };
  const prior = Object.fromEntries(nodes.map(({ id, levels }) => [id, levels.map(() => 1)]));
  const lookup = { mode: "precomputed", prior, given, do: null };
  const engine = gml.makeEngine({ model: { nodes, factors: [] }, inference: lookup });
  assert.deepEqual(engine.kinds, ["observed"]);
});

test("tables beyond the arithmetic of the page are said to be so", () => {
  const nodes = ["a", "b"].map((id) => ({ id, levels: ["n", "y"], parents: [] }));
  const factors = [1e-200, 1e-200].map((value) => ({ scope: ["a", "b"], table: Array(4).fill(value) }));
  const { why } = new gml.JunctionTree(nodes, factors).ask(new Map());
  assert.match(why, /too improbable for the arithmetic/);
});

test("the order of the nodes does not change a bit", () => {
  const random = randomSource(3);
  for (let trial = 0; trial < 30; trial++) {
    const nodes = randomTables(random, 7);
    const one = new gml.JunctionTree(nodes).ask(new Map());
    const other = new gml.JunctionTree(shuffled(random, nodes)).ask(new Map());
    assert.deepEqual(one, other);
  }
});

test("cliques hold all families, and those with a variable hang together", () => {
  const random = randomSource(5);
  for (let trial = 0; trial < 200; trial++) {
    const count = 1 + Math.floor(random() * 12);
    const scopes = Array.from({ length: count }, (_, k) => {
      return [k, ...Array(k).keys()].filter((j) => j === k || random() < 0.3);
    });
    const cliques = gml.buildForest(count, scopes);
    for (const scope of scopes) {
      assert.ok(cliques.some(({ members }) => scope.every((k) => members.includes(k))));
    }
    cliques.forEach(({ members, parent, separator }, c) => {
      assert.ok(parent < c);
      const shared = parent < 0 ? [] : cliques[parent].members.filter((k) => members.includes(k));
      assert.deepEqual(separator, shared);
      assert.ok(
        cliques.every((other, d) => c === d || !members.every((k) => other.members.includes(k))),
      );
    });
    for (let variable = 0; variable < count; variable++) {
      const holding = cliques.filter(({ members }) => members.includes(variable));
      const tops = holding.filter(({ separator }) => !separator.includes(variable));
      assert.equal(tops.length, 1);
    }
  }
});

/** Return the cliques of min-fill by its definition: every count is made anew at every step. */
function minFillCliques(count, scopes) {
  const joined = (a, b) => edges.has(`${Math.min(a, b)} ${Math.max(a, b)}`);
  const edges = new Set();
  const join = (members) => {
    for (const a of members) for (const b of members) if (a < b) edges.add(`${a} ${b}`);
  };
  scopes.forEach(join);
  const left = [...Array(count).keys()];
  const cliques = [];
  while (left.length) {
    const around = (v) => left.filter((other) => other !== v && joined(v, other));
    const missing = (v) =>
      around(v).flatMap((a) => around(v).filter((b) => a < b && !joined(a, b))).length;
    const fills = left.map(missing);
    const best = left[fills.indexOf(Math.min(...fills))];
    const clique = [best, ...around(best)].sort((a, b) => a - b);
    if (!cliques.some((other) => clique.every((k) => other.includes(k)))) cliques.push(clique);
    join(clique);
    left.splice(left.indexOf(best), 1);
  }
  return cliques;
}

test("the cliques are those of min-fill, ties going to the first name", () => {
  const random = randomSource(11);
  for (let trial = 0; trial < 100; trial++) {
    const count = 2 + Math.floor(random() * 14);
    const scopes = Array.from({ length: count }, (_, k) => {
      return [k, ...Array(k).keys()].filter((j) => j === k || random() < 2 / count);
    });
    const sorted = (cliques) => cliques.map((members) => members.join()).sort();
    const found = gml.buildForest(count, scopes).map(({ members }) => members);
    assert.deepEqual(sorted(found), sorted(minFillCliques(count, scopes)));
  }
});

test("many improbable observations do not vanish", () => {
  const causes = { id: "cause", levels: ["n", "y"], parents: [], cpt: [[0.5, 0.5]] };
  const effects = Array.from({ length: 3000 }, (_, k) => ({
    id: `e${k}`,
    levels: ["n", "y"],
    parents: ["cause"],
    cpt:
      k % 2
        ? [
            [0.9999, 0.0001],
            [0.9998, 0.0002],
          ]
        : [
            [0.9998, 0.0002],
            [0.9999, 0.0001],
          ],
  }));
  const tree = new gml.JunctionTree([causes, ...effects]);
  const evidence = new Map(effects.map(({ id }) => [id, { kind: "observed", value: "y" }]));
  const answer = tree.ask(evidence);
  assertClose(answer.logEvidence, 1500 * (Math.log(0.0001) + Math.log(0.0002)), 1e-9, "ln P");
  assertClose(answer.posteriors.get("cause").shares[0], 0.5, 1e-9, "cause");
});

test("what is too improbable for numbers is not called impossible", () => {
  const tiny = 1e-200;
  const nodes = [
    { id: "a", levels: ["n", "y"], parents: [], cpt: [[1, tiny]] },
    {
      id: "b",
      levels: ["n", "y"],
      parents: ["a"],
      cpt: [
        [1, 0],
        [1 - tiny, tiny],
      ],
    },
  ];
  const evidence = new Map([["b", { kind: "observed", value: "y" }]]);
  const { why } = new gml.JunctionTree(nodes).ask(evidence);
  assert.equal(why, "The evidence is too improbable for the arithmetic of this page.");
});

test("answers are those of gml query on the asia network", () => {
  const { nodes, answers } = JSON.parse(readFileSync(new URL("asia.json", import.meta.url)));
  const tree = new gml.JunctionTree(nodes);
  for (const { evidence, do: set, log, shares } of answers) {
    const expected = { total: Math.exp(log), shares: new Map(Object.entries(shares)) };
    assertAnswer(tree.ask(knownFrom(evidence, set)), expected, JSON.stringify({ evidence, set }));
  }
});

const shared = `${root}../shared/`;
const alarm = `${shared}data/networks/alarm.bif`;

test("answers are those of gml query on the alarm network", { skip: !existsSync(shared) }, () => {
  const run = (...words) =>
    execFileSync(`${root}.venv/bin/gml`, words, { encoding: "utf8", maxBuffer: 1 << 26 });
  const { nodes } = JSON.parse(run("convert", alarm, "-", "-f", "json"));
  const tree = new gml.JunctionTree(nodes);
  const cases = [
    [{}, {}],
    [{ HRBP: "HIGH", CVP: "LOW", PRESS: "ZERO" }, {}],
    [
      { HRBP: "LOW", EXPCO2: "ZERO" },
      { VENTLUNG: "HIGH", CATECHOL: "NORMAL" },
    ],
  ];
  for (const [evidence, set] of cases) {
    const given = (flag, values) => {
      const written = Object.entries(values).map(([id, value]) => `${id}=${value}`);
      return written.length ? [flag, written.join()] : [];
    };
    const words = [...given("--evidence", evidence), ...given("--do", set)];
    const { results } = JSON.parse(run("query", alarm, "-f", "json", ...words));
    assert.ok(results.length > 80);
    const { posteriors } = tree.ask(knownFrom(evidence, set));
    for (const { node, level, probability } of results) {
      const place = nodes.find(({ id }) => id === node).levels.indexOf(level);
      assertClose(posteriors.get(node).shares[place], probability, 1e-12, `${node}=${level}`);
    }
  }
});

test("answers that were computed beforehand are for one piece of evidence", () => {
  const nodes = [
    { id: "a", levels: ["n", "y"], parents: [] },
    { id: "b", levels: ["n", "y"], parents: ["a"] },
  ];
  const inference = {
    mode: "precomputed",
    prior: { a: [0.5, 0.5], b: [1, 0] },
    given: { a: { n: { b: [0.9, 0.1] }, y: { b: [0.2, 0.8] } }, b: { n: { a: [1, 0] }, y: null } },
    do: null,
  };
  const engine = gml.makeEngine({ model: { nodes }, inference });
  assert.deepEqual(engine.kinds, ["observed"]);
  assert.equal(engine.single, true);
  assert.deepEqual(engine.ask(new Map()).posteriors.get("b"), { shares: [1, 0] });
  const one = engine.ask(new Map([["a", { kind: "observed", value: "y" }]]));
  assert.deepEqual(one.posteriors.get("b"), { shares: [0.2, 0.8] });
  assert.deepEqual(one.posteriors.get("a"), { shares: [0, 1] });
  assert.equal(one.logEvidence, Math.log(0.5));
  const never = engine.ask(new Map([["b", { kind: "observed", value: "y" }]]));
  assert.equal(never.why, "The evidence has probability 0.");
  const two = engine.ask(
    new Map([
      ["a", { kind: "observed", value: "y" }],
      ["b", { kind: "observed", value: "n" }],
    ]),
  );
  assert.match(two.why, /one observation at a time/);
});

test("an answer that is not there is not taken from elsewhere", () => {
  const nodes = [{ id: "constructor", levels: ["toString", "b"], parents: [] }];
  const inference = { mode: "precomputed", prior: { constructor: [0.5, 0.5] }, given: {}, do: {} };
  const engine = gml.makeEngine({ model: { nodes }, inference });
  const { why } = engine.ask(new Map([["constructor", { kind: "set", value: "toString" }]]));
  assert.match(why, /not computed beforehand/);
});
