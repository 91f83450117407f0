// Models of numbers in the page: against Σ and Schur's complement, written out.
import assert from "node:assert/strict";
import { test } from "node:test";

import { gml } from "./assets.mjs";
import { randomEvidence, randomSource, shuffled } from "./networks.mjs";

function randomRegressions(random, count) {
  const names = Array.from({ length: count }, (_, k) => `x${k}`);
  const nodes = names.map((id, k) => {
    const parents = names.slice(0, k).filter(() => random() < 0.5);
    const coefficients = parents.map(() => 4 * random() - 2);
    return {
      id,
      parents,
      gaussian: { intercept: 10 * random(), coefficients, sd: 0.3 + random() },
    };
  });
  return shuffled(random, nodes);
}

/** Return the solution of a linear system, with the determinant, by Gauss–Jordan elimination. */
function solve(matrix, columns) {
  const rows = matrix.map((row, i) => [...row, ...columns[i]]);
  let determinant = 1;
  for (let k = 0; k < rows.length; k++) {
    let best = k;
    for (let i = k; i < rows.length; i++)
      if (Math.abs(rows[i][k]) > Math.abs(rows[best][k])) best = i;
    if (best !== k) determinant = -determinant;
    [rows[k], rows[best]] = [rows[best], rows[k]];
    const pivot = rows[k][k];
    determinant *= pivot;
    rows[k] = rows[k].map((value) => value / pivot);
    rows.forEach((row, i) => {
      if (i !== k) rows[i] = row.map((value, j) => value - row[k] * rows[k][j]);
    });
  }
  return { solution: rows.map((row) => row.slice(matrix.length)), determinant };
}

/** Return means, variances and ln density by μ and Σ of the whole network. */
function bySchur(nodes, evidence) {
  const mean = new Map();
  const covariance = new Map();
  const at = (a, b) => covariance.get(`${a} ${b}`);
  const put = (a, b, value) => covariance.set(`${a} ${b}`, value).set(`${b} ${a}`, value);
  for (const { id, parents, gaussian } of [...nodes].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    const known = evidence.get(id);
    const cut = known?.kind === "set";
    const from = cut ? [] : parents;
    const through = (other) =>
      from.reduce((sum, parent, k) => sum + gaussian.coefficients[k] * at(parent, other), 0);
    const before = [...mean.keys()];
    mean.set(
      id,
      cut
        ? known.value
        : from.reduce((s, p, k) => s + gaussian.coefficients[k] * mean.get(p), gaussian.intercept),
    );
    before.forEach((other) => put(id, other, through(other)));
    put(id, id, cut ? 0 : through(id) + gaussian.sd ** 2 || gaussian.sd ** 2);
    if (!cut) {
      const variance = from.reduce((s, p, k) => s + gaussian.coefficients[k] * at(id, p), 0);
      put(id, id, variance + gaussian.sd ** 2);
    }
  }
  const observed = [...evidence].filter(([, { kind }]) => kind === "observed").map(([id]) => id);
  const away = observed.map((id) => [evidence.get(id).value - mean.get(id)]);
  const sigma = observed.map((a) => observed.map((b) => at(a, b)));
  const { solution, determinant } = solve(sigma, away);
  const answer = new Map();
  for (const { id } of nodes) {
    const across = observed.map((other) => at(id, other));
    const shift = across.reduce((sum, value, k) => sum + value * solution[k][0], 0);
    const gain = solve(
      sigma,
      across.map((value) => [value]),
    ).solution;
    const explained = across.reduce((sum, value, k) => sum + value * gain[k][0], 0);
    answer.set(id, { mean: mean.get(id) + shift, variance: at(id, id) - explained });
  }
  const square = away.reduce((sum, [value], k) => sum + value * solution[k][0], 0);
  const logDensity =
    -0.5 * (square + Math.log(determinant) + observed.length * Math.log(2 * Math.PI));
  return { answer, logDensity };
}

test("means and deviations of random networks are those of the joint normal distribution", () => {
  const random = randomSource(29);
  for (let trial = 0; trial < 300; trial++) {
    const nodes = randomRegressions(random, 1 + Math.floor(random() * 7));
    const evidence = randomEvidence(random, nodes, () => 20 * random() - 5);
    const found = new gml.GaussianNet(nodes).ask(evidence);
    const { answer, logDensity } = bySchur(nodes, evidence);
    assert.equal(found.why, null);
    const near = (a, b) => Math.abs(a - b) <= 1e-8 * Math.max(1, Math.abs(b));
    assert.ok(near(found.logEvidence, logDensity), `${found.logEvidence}, not ${logDensity}`);
    for (const [id, { mean, variance }] of answer) {
      const { mean: foundMean, sd } = found.posteriors.get(id);
      assert.ok(near(foundMean, mean), `mean of ${id}: ${foundMean}, not ${mean}`);
      assert.ok(near(sd ** 2, variance), `variance of ${id}: ${sd ** 2}, not ${variance}`);
    }
  }
});

const cause = { id: "cause", parents: [], gaussian: { intercept: 1, coefficients: [], sd: 2 } };
const twice = {
  id: "twice",
  parents: ["cause"],
  gaussian: { intercept: 0, coefficients: [2], sd: 0 },
};
const effect = {
  id: "effect",
  parents: ["twice"],
  gaussian: { intercept: 0, coefficients: [1], sd: 1 },
};

test("a node without an error of its own follows exactly, both ways", () => {
  const net = new gml.GaussianNet([effect, twice, cause]);
  const down = net.ask(new Map([["cause", { kind: "observed", value: 3 }]]));
  assert.deepEqual(down.posteriors.get("twice"), { mean: 6, sd: 0 });
  assert.deepEqual(down.posteriors.get("effect"), { mean: 6, sd: 1 });
  const up = net.ask(new Map([["twice", { kind: "observed", value: 8 }]]));
  assert.deepEqual(up.posteriors.get("cause"), { mean: 4, sd: 0 });
});

test("two observations of the same thing have no density, and that is said", () => {
  const net = new gml.GaussianNet([cause, twice, effect]);
  const both = net.ask(
    new Map([
      ["cause", { kind: "observed", value: 3 }],
      ["twice", { kind: "observed", value: 6 }],
    ]),
  );
  assert.match(both.why, /^twice follows exactly from what is known/);
  assert.equal(both.posteriors.size, 0);
});

test("a node that is set tells its children, not its parents", () => {
  const net = new gml.GaussianNet([cause, twice, effect]);
  const { posteriors, logEvidence } = net.ask(new Map([["twice", { kind: "set", value: 9 }]]));
  assert.deepEqual(posteriors.get("cause"), { mean: 1, sd: 2 });
  assert.deepEqual(posteriors.get("twice"), { mean: 9, sd: 0 });
  assert.deepEqual(posteriors.get("effect"), { mean: 9, sd: 1 });
  assert.equal(logEvidence, 0);
});

test("deviations keep their digits where variances would lose them", () => {
  const copy = {
    id: "copy",
    parents: ["cause"],
    gaussian: { intercept: 0, coefficients: [1], sd: 1e-9 },
  };
  const net = new gml.GaussianNet([cause, copy]);
  const { sd } = net
    .ask(new Map([["copy", { kind: "observed", value: 1 }]]))
    .posteriors.get("cause");
  assert.ok(Math.abs(sd / 1e-9 - 1) < 1e-6, `${sd}`);
});

/** Return some independent nodes of variance 1, and exact sums of them with random weights. */
function sumsOfRoots(random, roots, sums, weight) {
  const names = Array.from({ length: roots }, (_, k) => `root${k}`);
  const base = names.map(() => random() - 0.5);
  const gaussian = { intercept: 0, coefficients: [], sd: 1 };
  return [
    ...names.map((id) => ({ id, parents: [], gaussian })),
    ...Array.from({ length: sums }, (_, k) => {
      const coefficients = base.map((value) => weight(value));
      return { id: `sum${k}`, parents: names, gaussian: { intercept: 0, coefficients, sd: 0 } };
    }),
  ];
}

function observeSums(nodes) {
  const sums = nodes.filter(({ id }) => id.startsWith("sum"));
  const evidence = new Map(sums.map(({ id }) => [id, { kind: "observed", value: 1 }]));
  const { posteriors } = new gml.GaussianNet(nodes).ask(evidence);
  return nodes.filter(({ parents }) => !parents.length).map(({ id }) => posteriors.get(id).sd);
}

test("what follows exactly from what is observed does not vary at all", () => {
  const random = randomSource(41);
  for (let trial = 0; trial < 50; trial++) {
    const nodes = sumsOfRoots(random, 4, 4, () => random() - 0.5);
    assert.deepEqual(observeSums(nodes), [0, 0, 0, 0]);
  }
});

test("sums that are almost the same fix as many directions as there are sums", () => {
  const random = randomSource(43);
  for (let trial = 0; trial < 50; trial++) {
    const nodes = sumsOfRoots(random, 5, 4, (value) => value + 1e-8 * (random() - 0.5));
    const left = observeSums(nodes).reduce((sum, sd) => sum + sd * sd, 0);
    assert.ok(Math.abs(left - 1) < 2e-15, `variance left in one direction: ${left}`);
  }
});
