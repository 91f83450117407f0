/**
 * Posteriors of models of numbers, all nodes jointly normal.
 *
 * Each node is a sum over independent standard normal errors, x = μ + A ε. Observing nodes fixes ε
 * along the rows of A that belong to them. Those rows are made orthogonal, Q R = A_Oᵀ, so that
 *
 *     u = R⁻ᵀ (x_O − μ_O),   E(x) = μ + A Q u,   and x keeps A (I − Q Qᵀ) ε.
 *
 * No variance is subtracted from another, so small standard deviations keep their digits. A node
 * that is set by hand has its value as mean, no parents and no error of its own.
 */
"use strict";

(() => {
  // The share of a length below which what is left of it is rounding.
  const ROUNDING = 1e-13;

  function dot(a, b) {
    let sum = 0;
    for (let k = 0; k < a.length; k++) sum += a[k] * b[k];
    return sum;
  }

  /** Return the Euclidean length of a vector, of whatever magnitude. */
  function length(vector) {
    let largest = 0;
    for (const value of vector) largest = Math.max(largest, Math.abs(value));
    if (!(largest > 0)) return 0;
    return (
      largest *
      Math.sqrt(
        dot(
          vector,
          vector.map((value) => value / largest),
        ) / largest,
      )
    );
  }

  /**
   * Take from a vector, in place, what lies along orthonormal ones, and return the coefficients.
   *
   * Twice, as rounding leaves a little the first time: "twice is enough" (Parlett 1998, 6.9).
   */
  function project(vector, basis) {
    const along = basis.map(() => 0);
    for (let pass = 0; pass < 2; pass++) {
      basis.forEach((q, j) => {
        const part = dot(vector, q);
        along[j] += part;
        for (let k = 0; k < vector.length; k++) vector[k] -= part * q[k];
      });
    }
    return along;
  }

  /** Return the nodes in an order in which parents go before their children. */
  function parentsFirst(nodes) {
    const byId = new Map(nodes.map((node) => [node.id, node]));
    const done = new Set();
    const order = [];
    for (const start of nodes) {
      const stack = [start];
      while (stack.length) {
        const node = stack[stack.length - 1];
        const waiting = node.parents.filter((parent) => !done.has(parent));
        if (waiting.length) {
          stack.push(...waiting.map((parent) => byId.get(parent)));
        } else {
          stack.pop();
          if (!done.has(node.id)) order.push(node);
          done.add(node.id);
        }
      }
    }
    return order;
  }

  /** A network of linear regressions with normal errors. */
  class GaussianNet {
    /** @param {object[]} nodes with id, parents and gaussian, as in model JSON */
    constructor(nodes) {
      this.nodes = parentsFirst([...nodes].sort((a, b) => gml.compareNames(a.id, b.id)));
    }

    /** Return mean and errors of each node by its name, nodes that are set being cut off. */
    errors(evidence) {
      const found = new Map();
      this.nodes.forEach(({ id, parents, gaussian }, column) => {
        const errors = new Float64Array(this.nodes.length);
        const known = evidence.get(id);
        if (known?.kind === "set") {
          found.set(id, { mean: known.value, errors });
          return;
        }
        let mean = gaussian.intercept;
        errors[column] = gaussian.sd;
        parents.forEach((parent, k) => {
          const above = found.get(parent);
          mean += gaussian.coefficients[k] * above.mean;
          above.errors.forEach((value, j) => (errors[j] += gaussian.coefficients[k] * value));
        });
        found.set(id, { mean, errors });
      });
      return found;
    }

    /**
     * @param {Evidence} evidence
     * @returns {Answer} `logEvidence` is that of a density
     */
    ask(evidence) {
      const prior = this.errors(evidence);
      const basis = [];
      const u = [];
      let logEvidence = 0;
      for (const { id } of this.nodes) {
        const known = evidence.get(id);
        if (known?.kind !== "observed") continue;
        const { mean, errors } = prior.get(id);
        const size = length(errors);
        const q = errors.map((value) => value / (size || 1));
        const along = project(q, basis);
        const rest = length(q);
        if (!(rest > ROUNDING)) return gml.refusal(followsExactly(id));
        u.push(((known.value - mean) / size - dot(along, u)) / rest);
        basis.push(q.map((value) => value / rest));
        logEvidence -= Math.log(size) + Math.log(rest) + Math.log(2 * Math.PI) / 2;
      }
      logEvidence -= dot(u, u) / 2;
      const posteriors = new Map();
      for (const [id, { mean, errors }] of prior) {
        const size = length(errors);
        const along = project(errors, basis);
        const sd = length(errors);
        posteriors.set(id, { mean: mean + dot(along, u), sd: sd > ROUNDING * size ? sd : 0 });
      }
      for (const [id, { value }] of evidence) posteriors.set(id, { mean: value, sd: 0 });
      const finite = [...posteriors.values()].every(({ mean, sd }) => Number.isFinite(mean + sd));
      if (!finite) return gml.refusal("Some means or deviations are beyond 1.8e308.");
      return { why: null, logEvidence, posteriors };
    }
  }

  function followsExactly(id) {
    return `${id} follows exactly from what is known, so there is no density to condition on.`;
  }

  Object.assign(gml, { GaussianNet, parentsFirst });
})();

if (typeof module !== "undefined") module.exports = gml;
