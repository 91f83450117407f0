/**
 * Tables over discrete variables, and the two things that inference does with them.
 *
 * All files of this folder are one script in the page, in the order of the list in assets.py. What
 * one file offers to the others is a property of the object `gml`, which is made here.
 *
 * A factor has a scope (numbers of variables, in the order of its axes, the last one fastest), the
 * sizes of its axes, and its values, one per cell.
 *
 * @typedef {{scope: number[], sizes: number[], values: Float64Array}} Factor
 */
"use strict";

const gml = {};

(() => {
  /** Return how many cells a table with such axes has. */
  function cellCount(sizes) {
    return sizes.reduce((product, size) => product * size, 1);
  }

  /**
   * Return a factor that is 1 everywhere.
   * @param {number[]} scope
   * @param {number[]} allSizes of all variables, by their numbers
   * @returns {Factor}
   */
  function ones(scope, allSizes) {
    const sizes = scope.map((variable) => allSizes[variable]);
    return { scope, sizes, values: new Float64Array(cellCount(sizes)).fill(1) };
  }

  /** Return the number of cells to step over in `factor` when each of these variables moves on. */
  function stridesIn(factor, variables) {
    const strides = new Map();
    let stride = 1;
    for (let axis = factor.scope.length - 1; axis >= 0; axis--) {
      strides.set(factor.scope[axis], stride);
      stride *= factor.sizes[axis];
    }
    return variables.map((variable) => strides.get(variable) ?? 0);
  }

  /** Join neighbouring axes along which a walk goes on with the same step, into longer ones. */
  function joinAxes(sizes, strides) {
    const axes = [];
    for (let axis = sizes.length - 1; axis >= 0; axis--) {
      const inner = axes[0];
      if (inner && strides[axis] === inner.stride * inner.size) inner.size *= sizes[axis];
      else axes.unshift({ size: sizes[axis], stride: strides[axis] });
    }
    return axes.length ? axes : [{ size: 1, stride: 0 }];
  }

  /**
   * Walk through all cells of a table, and along through those of one over some of its variables.
   *
   * What is reported are runs of cells, in each of which the cell of the small table moves on by
   * the same number of cells at each step.
   *
   * @param {Factor} large
   * @param {Factor} small its scope is part of that of the large one
   * @param {(start: number, end: number, place: number, stride: number) => void} visit
   */
  function eachRun(large, small, visit) {
    const axes = joinAxes(large.sizes, stridesIn(small, large.scope));
    const { size: run, stride } = axes.pop();
    const digits = new Int32Array(axes.length);
    const count = large.values.length;
    let place = 0;
    for (let start = 0; start < count; start += run) {
      visit(start, start + run, place, stride);
      for (let axis = axes.length - 1; axis >= 0; axis--) {
        place += axes[axis].stride;
        if (++digits[axis] < axes[axis].size) break;
        digits[axis] = 0;
        place -= axes[axis].stride * axes[axis].size;
      }
    }
  }

  /** Multiply a table, in place, by one over some of its variables. */
  function multiplyBy(large, small) {
    const [into, by] = [large.values, small.values];
    eachRun(large, small, (start, end, place, stride) => {
      for (let cell = start; cell < end; cell++, place += stride) into[cell] *= by[place];
    });
  }

  /** Return the sums of a table over all variables but those of `scope`, which it has. */
  function sumOnto(large, scope) {
    const sizes = scope.map((variable) => large.sizes[large.scope.indexOf(variable)]);
    const sums = { scope, sizes, values: new Float64Array(cellCount(sizes)) };
    const [from, into] = [large.values, sums.values];
    eachRun(large, sums, (start, end, place, stride) => {
      for (let cell = start; cell < end; cell++, place += stride) into[place] += from[cell];
    });
    return sums;
  }

  /** Divide the values by their sum, in place, and return it; nothing happens to zeros. */
  function normalise(values) {
    let sum = 0;
    for (let k = 0; k < values.length; k++) sum += values[k];
    if (sum > 0) for (let k = 0; k < values.length; k++) values[k] /= sum;
    return sum;
  }

  /**
   * Return which string is first: by code points, as Python has it, whatever the language.
   */
  function compareNames(a, b) {
    const [left, right] = [Array.from(a), Array.from(b)];
    for (let k = 0; k < Math.min(left.length, right.length); k++) {
      const difference = left[k].codePointAt(0) - right[k].codePointAt(0);
      if (difference) return difference;
    }
    return left.length - right.length;
  }

  Object.assign(gml, { cellCount, ones, multiplyBy, sumOnto, normalise, compareNames });
})();

if (typeof module !== "undefined") module.exports = gml;
