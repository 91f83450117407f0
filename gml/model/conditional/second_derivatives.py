"""The second derivatives of the log-likelihood of a part of a field, where it is small.

With g the indicators of levels of targets, and of pairs of levels of joined targets, and X the
features of the inputs that go with each (a constant and, for single targets, one for each level of
an input, or the number itself), the derivatives are minus

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
    products = levels * (levels + 1) // 2
    of_pairs = sum(sizes[i] * sizes[j] for i, j in terms.pairs)
    numbers = max(rows.n_distinct * max(cells, products), cells * max(products, of_pairs))
    for_gradient = rows.n_distinct * (cells + levels * most_read)
    return (
        numbers <= _MOST_NUMBERS
        and levels * most_read <= _MOST_FOR_MATRIX
        and terms.size**3 <= _MOST_FOR_INVERSE * for_gradient
    )


def curvature(rows: PartRows, counted: Statistics, weights: Vector) -> Table:
    """Return minus the second derivatives of the log-likelihood."""
    terms, times = rows.terms, counted.times[:, None]
    p = _joint(rows, weights)
    single, paired = _indicators(terms)
    found = np.zeros((terms.size, terms.size))
    cells = np.column_stack([one.cells for one in single])
    means = p @ cells
    _fill_single(found, rows, single, times * _covariances(p, cells, means))
    if paired:
        joined = _Pairs(paired, times, p)
        for a in sorted({a for one in single for a in one.inputs}):
            readers = [k for k, one in enumerate(single) if a in one.places]
            at = np.array([single[k].places[a] for k in readers])
            for k, (chosen, values) in enumerate(_features(rows, a)):
                sums = joined.with_single(cells[:, readers], means[:, readers], chosen, values)
                _put(found, at[:, k], joined.places, sums)
        found[np.ix_(joined.places, joined.places)] = joined.with_each_other()
    return found


def _covariances(p: Table, cells: Table, means: Table) -> Table:
    """Cov(g_j, g_k | x) of single targets: rows × pairs j ≥ k, as `tril_indices` has them."""
    j, k = np.tril_indices(cells.shape[1])
    covariances: Table = p @ (cells[:, j] * cells[:, k]) - means[:, j] * means[:, k]
    return covariances


class _Pairs:
    """The derivatives along weights of two targets, which no input decides.

    Rows with the same level of an input are added up before anything is multiplied.
    """

    def __init__(self, paired: list[_Indicator], times: Table, p: Table) -> None:
        self.places: Index = np.array([one.places[-1][0] for one in paired])
        self._cells = np.column_stack([one.cells for one in paired])
        self._means = p @ self._cells
        self._times = times
        self._p = p

    def with_single(
        self, cells: Table, means: Table, chosen: Index, values: Table | float
    ) -> Table:
        """Return Σ n·Cov·value over some rows: indicators of single targets × those of pairs."""
        return self._summed(cells, means[chosen], chosen, values)

    def with_each_other(self) -> Table:
        """Return Σ n·Cov over all rows: indicators of pairs × the same."""
        return self._summed(self._cells, self._means, np.arange(len(self._p)), 1.0)

    def _summed(self, cells: Table, means: Table, chosen: Index, values: Table | float) -> Table:
        times = self._times[chosen] * values
        expected = (times * self._p[chosen]).sum(axis=0)
        together = (cells * expected[:, None]).T @ self._cells
        summed: Table = together - (times * means).T @ self._means[chosen]
        return summed


def _fill_single(
    found: Table, rows: PartRows, single: list[_Indicator], covariances: Table
) -> None:
    """Write the derivatives along weights of single targets and inputs."""
    j, k = np.tril_indices(len(single))
    read = sorted({a for one in single for a in one.inputs})
    reads = {a: np.array([a in one.places for one in single]) for a in read}
    for n, a in enumerate(read):
        for b in read[: n + 1]:
            sums = _summed_by_levels(rows, a, b, covariances)
            for one, other, turned in ((a, b, sums), (b, a, sums.transpose(1, 0, 2))):
                chosen = np.flatnonzero(reads[one][j] & reads[other][k])
                at = np.array([single[i].places[one] for i in j[chosen]])
                beside = np.array([single[i].places[other] for i in k[chosen]])
                if len(chosen):
                    values = turned[:, :, chosen].transpose(2, 0, 1)
                    found[at[:, :, None], beside[:, None, :]] = values
                    found[beside[:, None, :], at[:, :, None]] = values


def _put(found: Table, at: Index, beside: Index, sums: Table) -> None:
    found[np.ix_(at, beside)] = sums
    found[np.ix_(beside, at)] = sums.T


def _summed_by_levels(rows: PartRows, a: int, b: int, numbers: Table) -> Table:
    """Add up rows of numbers by the levels of two inputs, which are the first axes then.

    Numeric inputs multiply them.
    """
    shape = (_size(rows, a), _size(rows, b))
    cells = np.zeros(rows.n_distinct, dtype=np.intp)
    for k, size in ((a, shape[1]), (b, 1)):
        if _is_number(rows, k):
            numbers = numbers * rows.inputs[k][:, None]
        elif k >= 0:
            cells += np.asarray(rows.inputs[k], dtype=np.intp) * size
    order = np.argsort(cells, kind="stable")
    present, first = np.unique(cells[order], return_index=True)
    found = np.zeros((shape[0] * shape[1], numbers.shape[1]))
    found[present] = np.add.reduceat(numbers[order], first, axis=0)
    return found.reshape(*shape, -1)


def _size(rows: PartRows, a: int) -> int:
    return 1 if a < 0 else rows.terms.width(rows.terms.inputs[a])


def _is_number(rows: PartRows, a: int) -> bool:
    return a >= 0 and rows.terms.inputs[a].is_continuous


def _features(rows: PartRows, a: int) -> list[tuple[Index, Table | float]]:
    """The features of an input: which rows have each, and its values there.

    The constant and a number have one, which all rows have.
    """
    if a < 0:
        return [(np.arange(rows.n_distinct), 1.0)]
    if _is_number(rows, a):
        return [(np.arange(rows.n_distinct), rows.inputs[a][:, None])]
    return [(np.flatnonzero(rows.inputs[a] == level), 1.0) for level in range(_size(rows, a))]


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
                size = terms.width(terms.inputs[k])
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
