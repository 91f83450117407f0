// Models of labels and numbers in the page: against sums over all configurations of the labels, and
// against answers of `gml query`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { gml } from "./assets.mjs";
import { randomEvidence, randomSource, randomTables, shuffled } from "./networks.mjs";

/** Return a network of labels, and numbers given some of them and each other. */
function randomMixed(random, labelCount, numberCount) {
  const labels = randomTables(random, labelCount);
  const levelsOf = new Map(labels.map(({ id, levels }) => [id, levels]));
  const names = Array.from({ length: numberCount }, (_, k) => `x${k}`);
  const numbers = names.map((id, k) => {
    const above = names.slice(0, k).filter(() => random() < 0.4);
    const groups = [...levelsOf.keys()].filter(() => random() < 0.35);
    const parents = shuffled(random, [...above, ...groups]);
    const line = () => ({
      intercept: 10 * random(),
      coefficients: above.map(() => 4 * random() - 2),
      sd: 0.3 + random(),
    });
    const inOrder = parents.filter((parent) => !levelsOf.has(parent));
    const rows = groups.reduce((n, name) => n * levelsOf.get(name).length, 1);
    if (!groups.length) return { id, parents: inOrder, gaussian: line() };
    return { id, parents, regressions: Array.from({ length: rows }, line) };
  });
  return shuffled(random, [...labels, ...numbers]);
}

/** Return ln density of the evidence and all posteriors, configuration by configuration. */
function enumerateMixed(nodes, evidence) {
  const labels = nodes.filter(({ levels }) => levels);
  const numbers = nodes.filter(({ levels }) => !levels);
  const levelsOf = new Map(labels.map(({ id, levels }) => [id, levels]));
  const cells = labels.reduce((n, { levels }) => n * levels.length, 1);
  const of = (isLabel) => new Map([...evidence].filter(([id]) => levelsOf.has(id) === isLabel));
  const found = [];
  for (let number = 0; number < cells; number++) {
    const at = new Map();
    let rest = number;
    for (const { id, levels } of labels) {
      at.set(id, rest % levels.length);
      rest = Math.floor(rest / levels.length);
    }
    const rowOf = (parents) =>
      parents
        .filter((id) => levelsOf.has(id))
        .reduce((row, id) => row * levelsOf.get(id).length + at.get(id), 0);
    let weight = 1;
    for (const { id, parents, levels, cpt } of labels) {
      const known = evidence.get(id);
      if (known && levels[at.get(id)] !== known.value) weight = 0;
      if (known?.kind !== "set") weight *= cpt[rowOf(parents)][at.get(id)];
    }
    if (!weight) continue;
    const net = new gml.GaussianNet(
      numbers.map(({ id, parents, gaussian, regressions }) => ({
        id,
        parents: parents.filter((parent) => !levelsOf.has(parent)),
        gaussian: gaussian ?? regressions[rowOf(parents)],
      })),
    );
    const answer = net.ask(of(false));
    assert.equal(answer.why, null);
    found.push({ at, log: Math.log(weight) + answer.logEvidence, numbers: answer.posteriors });
  }
  if (!found.length) return null;
  const top = Math.max(...found.map(({ log }) => log));
  const total = found.reduce((sum, { log }) => sum + Math.exp(log - top), 0);
  const posteriors = new Map();
  for (const { id, levels } of labels) posteriors.set(id, { shares: levels.map(() => 0) });
  for (const { id } of numbers) posteriors.set(id, { mean: 0, square: 0 });
  for (const each of found) {
    const share = Math.exp(each.log - top) / total;
    for (const { id } of labels) posteriors.get(id).shares[each.at.get(id)] += share;
    for (const { id } of numbers) {
      const { mean, sd } = each.numbers.get(id);
      posteriors.get(id).mean += share * mean;
      posteriors.get(id).square += share * (mean ** 2 + sd ** 2);
    }
  }
  return { log: top + Math.log(total), posteriors };
}

function near(actual, expected, within, what) {
  const fits = Math.abs(actual - expected) <= within * Math.max(1, Math.abs(expected));
  assert.ok(fits, `${what}: ${actual}, not ${expected}`);
}

test("posteriors of random networks are sums over all configurations of labels", () => {
  const random = randomSource(41);
  let [impossible, mixtures] = [0, 0];
  for (let trial = 0; trial < 300; trial++) {
    const nodes = randomMixed(random, 1 + Math.floor(random() * 4), 1 + Math.floor(random() * 4));
    const net = new gml.MixedNet(nodes);
    for (let k = 0; k < 3; k++) {
      const evidence = randomEvidence(random, nodes, ({ levels }) => {
        return levels ? levels[Math.floor(random() * levels.length)] : 16 * random() - 4;
      });
      const expected = enumerateMixed(nodes, evidence);
      const answer = net.ask(evidence);
      if (!expected) {
        impossible++;
        assert.equal(answer.why, "The evidence has probability 0.");
        continue;
      }
      assert.equal(answer.why, null);
      near(answer.logEvidence, expected.log, 1e-9, `trial ${trial}: ln density`);
      for (const [id, wanted] of expected.posteriors) {
        const found = answer.posteriors.get(id);
        wanted.shares?.forEach((share, j) => near(found.shares[j], share, 1e-9, `${trial}: ${id}`));
        if (wanted.shares) continue;
        near(found.mean, wanted.mean, 1e-8, `${trial}: mean of ${id}`);
        near(found.sd ** 2, wanted.square - wanted.mean ** 2, 1e-7, `${trial}: variance of ${id}`);
        if (found.parts) {
          mixtures++;
          near(found.parts.reduce((sum, { weight }) => sum + weight, 0), 1, 1e-12, "weights");
        }
      }
    }
  }
  assert.ok(impossible > 20 && mixtures > 300, `${impossible} impossible, ${mixtures} mixtures`);
});

test("the order of the nodes does not change a bit", () => {
  const random = randomSource(5);
  for (let trial = 0; trial < 30; trial++) {
    const nodes = randomMixed(random, 4, 4);
    const evidence = new Map([["x1", { kind: "observed", value: 3 }]]);
    const one = new gml.MixedNet(nodes).ask(evidence);
    const two = new gml.MixedNet(shuffled(random, nodes)).ask(evidence);
    assert.equal(one.logEvidence, two.logEvidence);
    for (const [id, found] of one.posteriors) {
      const { parts, ...rest } = found;
      const { parts: others, ...same } = two.posteriors.get(id);
      assert.deepEqual(rest, same);
      assert.equal(parts?.length, others?.length);
    }
  }
});

test("answers are those of gml query", () => {
  const { nodes, answers } = JSON.parse(readFileSync(new URL("mixed.json", import.meta.url)));
  const net = new gml.MixedNet(nodes);
  for (const { evidence, do: set, log, shares, moments } of answers) {
    const all = (values, kind) => Object.entries(values).map(([id, value]) => [id, { kind, value }]);
    const answer = net.ask(new Map([...all(evidence, "observed"), ...all(set, "set")]));
    near(answer.logEvidence, log, 1e-10, "ln density");
    for (const [id, wanted] of Object.entries(shares)) {
      wanted.forEach((share, k) => near(answer.posteriors.get(id).shares[k], share, 1e-10, id));
    }
    for (const [id, [mean, sd]] of Object.entries(moments)) {
      near(answer.posteriors.get(id).mean, mean, 1e-10, `mean of ${id}`);
      near(answer.posteriors.get(id).sd, sd, 1e-10, `sd of ${id}`);
    }
  }
});

const sex = { id: "sex", parents: [], levels: ["f", "m"], cpt: [[0.5, 0.5]] };
const height = {
  id: "height",
  parents: ["sex"],
  regressions: [
    { intercept: 160, coefficients: [], sd: 6 },
    { intercept: 180, coefficients: [], sd: 6 },
  ],
};

test("what lies far from all configurations is still weighed", () => {
  const net = new gml.MixedNet([height, sex]);
  const far = net.ask(new Map([["height", { kind: "observed", value: 1160 }]]));
  // A normal density 166 deviations out against one 163 out.
  const ratio = Math.exp(((1160 - 180) / 6) ** 2 / 2 - ((1160 - 160) / 6) ** 2 / 2);
  near(far.posteriors.get("sex").shares[0] / ratio, 1, 1e-10, "share of the less likely");
  // Half the normal density, far out in its tail.
  const expected = Math.log(0.5) - ((1160 - 180) / 6) ** 2 / 2 - Math.log(6 * Math.sqrt(2 * Math.PI));
  near(far.logEvidence, expected, 1e-12, "ln density");
});

test("a number that is set says nothing about labels above it", () => {
  const net = new gml.MixedNet([height, sex]);
  const answer = net.ask(new Map([["height", { kind: "set", value: 200 }]]));
  assert.deepEqual(answer.posteriors.get("sex").shares, [0.5, 0.5]);
  assert.deepEqual(answer.posteriors.get("height"), { mean: 200, sd: 0 });
  assert.equal(answer.logEvidence, 0);
});

test("exact numbers have no density, and that is said only where they are possible", () => {
  const code = {
    id: "code",
    parents: ["sex"],
    regressions: [
      { intercept: 1, coefficients: [], sd: 0 },
      { intercept: 2, coefficients: [], sd: 1 },
    ],
  };
  const net = new gml.MixedNet([sex, code]);
  const seen = ["code", { kind: "observed", value: 1.5 }];
  assert.match(net.ask(new Map([seen])).why, /^code follows exactly from what is known/);
  const given = net.ask(new Map([["sex", { kind: "observed", value: "m" }], seen]));
  assert.equal(given.why, null);
  assert.deepEqual(given.posteriors.get("sex").shares, [0, 1]);
});

test("numbers are grouped by the edges between them", () => {
  const number = (id, parents) => ({ id, parents });
  const label = (id) => ({ id, parents: [], levels: ["a", "b"] });
  const nodes = [label("p"), label("q"), number("x", ["p"]), number("y", []), number("z", ["x", "q"])];
  const groups = gml.groupNumbers(nodes).map(({ nodes: own, labels }) => [own.map(({ id }) => id), labels]);
  assert.deepEqual(groups, [
    [["x", "z"], ["p", "q"]],
    [["y"], []],
  ]);
});

test("a mixture of two far parts is drawn with two peaks, within its box", () => {
  const parts = [
    { weight: 0.5, mean: 0, sd: 1 },
    { weight: 0.5, mean: 20, sd: 1 },
  ];
  const known = { ...gml.mixture(parts) };
  near(known.sd, Math.sqrt(101), 1e-12, "sd");
  const path = gml.bellPath(known, known, gml.bellRange([known]), 0, 0, 100, 40);
  const points = path.slice(1).split(" L").map((pair) => pair.split(",").map(Number));
  assert.ok(points.every(([x, y]) => x >= 0 && x <= 100 && y >= 0 && y <= 40));
  const heights = points.map(([, y]) => 40 - y);
  const peaks = heights.filter((h, k) => h > 1 && h >= (heights[k - 1] ?? 0) && h > (heights[k + 1] ?? 0));
  assert.equal(peaks.length, 2);
});
