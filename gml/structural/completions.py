"""Incomplete rows as complete ones with weights: what a model expects of them.

Every row becomes the ways in which it may be complete, each with its probability given what was
seen, so that counts over these rows are expected counts (Friedman 1997, ICML, section 3), of any
family, whatever the graph of the model. That is exact where the holes of a row have at most
`most_points` states, those of probability below 1e-9 left out. A row of more states is as many
draws from their joint distribution, systematic for each group of nodes that hang together given
the row, so that the shares of such a group are exact but for one draw (`complete_rows` of the
kernel). Where such a group has too many states to look at, the draws come from eliminating nodes.

Numbers that are missing have a normal distribution given those of the row. They become 2r points at
μ ± √r·Fᵢ, for the r columns of a factor with F Fᵀ = Σ: their mean and covariance are μ and Σ, and
Gaussian scores ask for no more (the sigma points of Julier & Uhlmann 1997). Rows of labels and
numbers together are those of mixed_completions.py.

Rows are taken in the order of their values: draws depend on the seed and on these alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.dataset import Dataset, Variable, code_type, fractional_weights, missing_mask
from gml.data.name_keys import keys_of_names
from gml.data.resampling import sorted_equal_cells
from gml.data.row_groups import distinct_patterns, rows_by_group
from gml.errors import CannotAnswer
from gml.kernel.family_layout import DRAWN, IMPOSSIBLE, TOO_LARGE
from gml.model.em.table_layout import layout_of, table_vector
from gml.model.gaussian import condition, means_of_rows
from gml.model.network import Network
from gml.name_order import NameOrder
from gml.progress import Deadline, reporter
from gml.resources import budget_in_force, require_memory
from gml.stopping import check_stopped
from gml.structural.mixed_completions import completed_rows
from gml.structural.row_draws import LabelDraws, Points, RowDraws

MOST_POINTS = 64
"""Complete rows that an incomplete one becomes, at the most, where it has labels missing."""
# Beyond this many states, a group of missing nodes is drawn by eliminating the others.
_MOST_STATES = 1 << 16
# Rows that the kernel completes at a time.
_BLOCK = 256


class Completion(NamedTuple):
    """Complete rows with weights, and how many rows of the table are draws, not all states."""

    rows: Dataset
    drawn: int | float


class OutOfTime(Exception):
    """There was no time to complete all rows."""


class _Distinct(NamedTuple):
    """The different rows of a table, how often each counts, and which cells it lacks."""

    names: list[str]
    columns: list[NDArray[Any]]
    counts: NDArray[np.int64]
    gaps: NDArray[np.bool_]


class _Block(NamedTuple):
    """Some complete rows, their weights, and how many rows of the table are draws."""

    cells: NDArray[Any]
    weights: NDArray[np.float64]
    drawn: int


def completed(
    net: Network,
    rows: Dataset,
    *,
    most_points: int = MOST_POINTS,
    seed: int = 0,
    deadline: Deadline | None = None,
) -> Completion:
    """Complete the rows of a table by a network over its columns, fitted to it.

    Raises OutOfTime after the deadline: a part of the rows would say something else.

    Examples
    --------
    >>> import gml
    >>> import pandas as pd
    >>> table = pd.DataFrame({"a": ["x", "x", "y", None], "b": ["u", "u", "v", "v"]})
    >>> graph = gml.Graph.from_edges(["a", "b"], [("a", "-->", "b")])
    >>> net = gml.fit(table.dropna(), graph, method="bayes")
    >>> rows = completed(net, gml.read(table, missing="available")).rows
    >>> rows.n_rows, round(rows.n * rows.unit, 9)
    (3, 4.0)
    """
    names = [net.names[j] for j in NameOrder(net.names).positions.tolist()]
    variables = [net.variables[net.index(name)] for name in names]
    columns = [rows.columns[rows.index(name)] for name in names]
    firsts, counts = sorted_equal_cells(columns, rows.weights)
    columns = [column[firsts] for column in columns]
    gaps = np.column_stack([missing_mask(column) for column in columns])
    distinct = _Distinct(names, columns, counts, gaps)
    if net.is_mixed:
        blocks = _mixed(net, distinct, most_points, seed)
    elif net.is_gaussian:
        blocks = _numbers(net, distinct)
    else:
        blocks = _labels(net, distinct, most_points, seed)
    kept: list[_Block] = []
    room, budget = 0, budget_in_force()
    limit = deadline or Deadline()
    for block in blocks:
        if limit.passed:
            raise OutOfTime
        kept.append(block)
        room += block.cells.nbytes + block.weights.nbytes
        require_memory(2 * room, budget, "the ways in which incomplete rows may be complete")
    table = np.concatenate([block.cells for block in kept])
    units, unit = fractional_weights(np.concatenate([block.weights for block in kept]))
    found = [_column(variable, table[:, k]) for k, variable in enumerate(variables)]
    # Many draws are equal: those of one row, and those of rows that are alike.
    chosen, weights = sorted_equal_cells(found, units)
    dataset = Dataset(
        tuple(variables),
        tuple(column[chosen] for column in found),
        weights,
        unit=unit * rows.unit,
    )
    return Completion(dataset.select(net.names), rows.in_rows(sum(block.drawn for block in kept)))


def _column(variable: Variable, values: NDArray[Any]) -> NDArray[Any]:
    if variable.levels is None:
        return np.ascontiguousarray(values)
    return values.astype(code_type(len(variable.levels)))


def _labels(net: Network, rows: _Distinct, most_points: int, seed: int) -> Iterator[_Block]:
    """Complete the rows of a network of labels."""
    counts = rows.counts
    layout = layout_of(net.graph, {variable.name: variable for variable in net.variables}, {})
    tables = table_vector(net, layout)
    key = keys_of_names([""], seed, f"completions of {len(counts)} rows")[0]
    cells = np.column_stack(rows.columns).astype(np.float64)
    by_elimination = LabelDraws(net, rows.names, cells, most_points, seed)
    for first in range(0, len(counts), _BLOCK):
        check_stopped()
        last = min(first + _BLOCK, len(counts))
        found = kernel.active().complete_rows(
            layout.kernel, rows.columns, first, last, tables, key, most_points, _MOST_STATES
        )
        if (found.became == IMPOSSIBLE).any():
            raise CannotAnswer("a row has probability 0 in the model that completes it")
        own = counts[first:last]
        drawn = int(own[found.became == DRAWN].sum())
        yield _Block(found.points, found.weights * np.repeat(own, found.n_points), drawn)
        large = first + np.flatnonzero(found.became == TOO_LARGE)
        if len(large):
            weights = np.repeat(counts[large] / most_points, most_points)
            points = by_elimination(large, rows.gaps[large])
            yield _Block(points, weights, int(counts[large].sum()))
        reporter().advance("completing rows", last, len(counts))


def _numbers(net: Network, rows: _Distinct) -> Iterator[_Block]:
    """Complete the rows of a network of numbers, one by one."""
    cells = np.column_stack(rows.columns)
    yield _whole(cells, rows)
    points_of = _SigmaPoints(net, rows.names, cells, rows.gaps)
    incomplete = np.flatnonzero(rows.gaps.any(axis=1)).tolist()
    for done, row in enumerate(incomplete, start=1):
        check_stopped()
        holes = np.flatnonzero(rows.gaps[row])
        yield _filled(cells[row], holes, points_of(row, holes), rows.counts[row])
        reporter().advance("completing rows", done, len(incomplete))


def _mixed(net: Network, rows: _Distinct, most_points: int, seed: int) -> Iterator[_Block]:
    """Complete the rows of a network of labels and numbers."""
    cells = np.column_stack([column.astype(np.float64) for column in rows.columns])
    yield _whole(cells, rows)
    variables = [net.variables[net.index(name)] for name in rows.names]
    by_elimination = RowDraws(net, rows.names, cells, most_points, seed)
    how: dict[str, Any] = {"most_points": most_points, "seed": seed}
    for one in completed_rows(net, variables, rows.columns, rows.counts, by_elimination, **how):
        count = int(rows.counts[one.row])
        yield _Block(one.cells, one.shares * float(count), count if one.is_drawn else 0)


def _whole(cells: NDArray[Any], rows: _Distinct) -> _Block:
    """The rows that lack nothing, as they are."""
    whole = ~rows.gaps.any(axis=1)
    return _Block(cells[whole], rows.counts[whole].astype(np.float64), 0)


def _filled(row: NDArray[Any], holes: NDArray[np.int64], points: Points, count: int) -> _Block:
    values, shares = points
    own = np.repeat(row[None], len(values), axis=0)
    own[:, holes] = values
    return _Block(own, shares * float(count), 0)


class _SigmaPoints:
    """Points with the means and covariances of numbers that are missing."""

    def __init__(
        self,
        net: Network,
        names: Sequence[str],
        cells: NDArray[np.float64],
        gaps: NDArray[np.bool_],
    ) -> None:
        self._means = np.full(cells.shape, np.nan)
        self._factors: dict[bytes, NDArray[np.float64]] = {}
        patterns, of_row = distinct_patterns(gaps)
        by_pattern = rows_by_group(of_row, len(patterns))
        for pattern, rows in zip(patterns, by_pattern, strict=True):
            if not pattern.any():
                continue
            holes, known = np.flatnonzero(pattern), np.flatnonzero(~pattern)
            targets = [names[k] for k in holes.tolist()]
            observed = [names[k] for k in known.tolist()]
            values = cells[np.ix_(rows, known)]
            evidence = dict(zip(map(net.index, observed), values[0].tolist(), strict=True))
            found = condition(net, evidence)
            order = [found.names.index(name) for name in targets]
            self._factors[pattern.tobytes()] = found.factor[order]
            if observed:
                self._means[np.ix_(rows, holes)] = means_of_rows(net, targets, observed, values)[0]
            else:
                self._means[np.ix_(rows, holes)] = found.mean[order]
        self._gaps = gaps

    def __call__(self, row: int, holes: NDArray[np.int64]) -> Points:
        factor = self._factors[self._gaps[row].tobytes()]
        away = math.sqrt(factor.shape[1]) * factor.T
        mean = self._means[row, holes]
        points = np.concatenate([mean + away, mean - away])
        return points, np.full(len(points), 1.0 / len(points))
