"""The second derivatives of the log-likelihood of a part of a field, where it is small.

With g the indicators of levels of targets, and of pairs of levels of joined targets, and X the
features of the inputs that go with each (a constant and, for single targets, one for each level of
an input), the derivatives are minus

    Σ_rows n · Cov(g_j, g_k | x) · X_a X_b.

The covariances come from the joint table of all targets given each distinct row of inputs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.model.conditional.likelihood import unary_weights
from gml.model.conditional.rows import PartRows, Statistics
from gml.model.conditional.terms import FieldTerms, Table, Vector

Index = NDArray[np.int64]

_MOST_WEIGHTS = 1500
_MOST_TARGETS = 20
_MOST_NUMBERS = 1 << 23
# The matrix, and its inverse, must not take longer than some dozens of gradients do.
_MOST_FOR_MATRIX = 1000
_MOST_FOR_INVERSE = 4096


class _Indicator(NamedTuple):
    """A level of a target, or levels of two: in which cells it is 1, and the inputs it meets."""

    cells: Vector
    inputs: tuple[int, ...]
    """-1 for the constant."""
    places: dict[int, Index]
    """Where its weights lie, by input."""


def is_small(rows: PartRows) -> bool:
    """Whether the matrix is worth its while."""
    terms = rows.terms
    sizes = [len(target.levels or ()) for target in terms.targets]
    if terms.size > _MOST_WEIGHTS or len(sizes) > _MOST_TARGETS:
        return False
    cells = int(np.prod(sizes, dtype=object))
    levels, most_read = sum(sizes), max(len(read) for read in terms.reads)
    numbers = rows.n_distinct * max(cells, levels * (levels + 1) // 2)
    for_gradient = rows.n_distinct * (cells + levels * most_read)
    return (
        numbers <= _MOST_NUMBERS
        and levels * most_read <= _MOST_FOR_MATRIX
        and terms.size**3 <= _MOST_FOR_INVERSE * for_gradient
    )


def curvature(rows: PartRows, counted: Statistics, weights: Vector) -> Table:
    """Return minus the second derivatives of the log-likelihood."""
    terms = rows.terms
    p = _joint(rows, weights)
    single, paired = _indicators(terms)
    found = np.zeros((terms.size, terms.size))
    means = p @ np.column_stack([one.cells for one in (*single, *paired)])
    times = counted.times
    covariances = {}
    for j, one in enumerate(single):
        for k, other in enumerate(single[: j + 1]):
            together = p @ (one.cells * other.cells)
            covariances[j, k] = times * (together - means[:, j] * means[:, k])
    _fill_single(found, rows, single, covariances)
    for j, one in enumerate(paired):
        at = one.places[-1][0]
        mean = means[:, len(single) + j]
        for k, other in enumerate(single):
            spread = times * (p @ (one.cells * other.cells) - mean * means[:, k])
            for a in other.inputs:
                found[at, other.places[a]] = _crossed(rows, spread, a)
                found[other.places[a], at] = found[at, other.places[a]]
        for k, other in enumerate(paired[: j + 1]):
            beside = other.places[-1][0]
            spread = times * (p @ (one.cells * other.cells) - mean * means[:, len(single) + k])
            found[at, beside] = found[beside, at] = spread.sum()
    return found


def _fill_single(
    found: Table,
    rows: PartRows,
    single: list[_Indicator],
    covariances: dict[tuple[int, int], Vector],
) -> None:
    """Write the derivatives along weights of single targets and inputs."""
    read = sorted({a for one in single for a in one.inputs})
    for n, a in enumerate(read):
        for b in read[: n + 1]:
            cells, shape = _cells(rows, a, b)
            for (j, k), spread in covariances.items():
                one, other = single[j], single[k]
                forth = a in one.places and b in other.places
                back = b in one.places and a in other.places
                if not (forth or back):
                    continue
                flat = np.bincount(cells, weights=spread, minlength=shape[0] * shape[1])
                sums = flat.astype(np.float64).reshape(shape)
                if forth:
                    _put(found, one.places[a], other.places[b], sums)
                if back:
                    _put(found, one.places[b], other.places[a], sums.T)


def _put(found: Table, at: Index, beside: Index, sums: Table) -> None:
    found[np.ix_(at, beside)] = sums
    found[np.ix_(beside, at)] = sums.T


def _cells(rows: PartRows, a: int, b: int) -> tuple[NDArray[np.intp], tuple[int, int]]:
    """Which pair of levels of two inputs each row has; the constant has one level."""
    shape = (_size(rows, a), _size(rows, b))
    found = np.zeros(rows.n_distinct, dtype=np.intp)
    if a >= 0:
        found += rows.inputs[a] * shape[1]
    if b >= 0:
        found += rows.inputs[b]
    return found, shape


def _size(rows: PartRows, a: int) -> int:
    return 1 if a < 0 else len(rows.terms.inputs[a].levels or ())


def _crossed(rows: PartRows, weights: Vector, a: int) -> Vector:
    if a < 0:
        return np.array([weights.sum()])
    return np.bincount(rows.inputs[a], weights=weights, minlength=_size(rows, a)).astype(np.float64)


def _joint(rows: PartRows, weights: Vector) -> Table:
    """p(y | x) of each distinct row of inputs, one column per value of all targets."""
    terms = rows.terms
    tables = terms.tables(weights)
    sizes = [len(target.levels or ()) for target in terms.targets]
    logs = np.zeros((rows.n_distinct, *sizes))
    for t, table in enumerate(unary_weights(terms, tables, rows.inputs)):
        logs += table.reshape(len(table), *(size if k == t else 1 for k, size in enumerate(sizes)))
    for i, j in terms.pairs:
        table = tables[terms.targets[i].name, terms.targets[j].name]
        logs += table.reshape([size if k in (i, j) else 1 for k, size in enumerate(sizes)])
    flat = logs.reshape(rows.n_distinct, -1)
    flat -= flat.max(axis=1, keepdims=True)
    np.exp(flat, out=flat)
    flat /= flat.sum(axis=1, keepdims=True)
    return flat


def _indicators(terms: FieldTerms) -> tuple[list[_Indicator], list[_Indicator]]:
    sizes = [len(target.levels or ()) for target in terms.targets]
    levels = np.indices(sizes).reshape(len(sizes), -1)
    single = []
    for t, target in enumerate(terms.targets):
        for y in range(sizes[t]):
            places = {-1: np.array([terms.places[target.name,].start + y])}
            for k in terms.reads[t]:
                size = len(terms.inputs[k].levels or ())
                start = terms.places[target.name, terms.inputs[k].name].start + y * size
                places[k] = np.arange(start, start + size)
            single.append(_Indicator((levels[t] == y).astype(float), (-1, *terms.reads[t]), places))
    paired = []
    for i, j in terms.pairs:
        start = terms.places[terms.targets[i].name, terms.targets[j].name].start
        for cell, (y, z) in enumerate(np.ndindex(sizes[i], sizes[j])):
            inside = ((levels[i] == y) & (levels[j] == z)).astype(float)
            paired.append(_Indicator(inside, (-1,), {-1: np.array([start + cell])}))
    return single, paired
