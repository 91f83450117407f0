"""Incomplete rows as complete ones with weights: what a model expects of them.

Every row becomes the ways in which it may be complete, each with its probability given what was
seen, so that counts over these rows are expected counts (Friedman 1997, ICML, section 3), of any
family, whatever the graph of the model. That is exact where the holes of a row have at most
`most_points` states, those of probability below 1e-9 left out. A row of more states is as many
draws from their joint distribution, systematic for each group of nodes that hang together given
the row, so that the shares of such a group are exact but for one draw.

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

from gml.data.dataset import Dataset, Variable, code_type, fractional_weights, missing_mask
from gml.data.resampling import distinct_cells
from gml.errors import CannotAnswer
from gml.kernel.reference.missing_parts import RowSplitter
from gml.model.em.table_layout import TableLayout, layout_of
from gml.model.gaussian import condition, means_of_rows
from gml.model.network import CPT, Network
from gml.model.posterior import posterior_rows
from gml.name_order import NameOrder
from gml.progress import Deadline, reporter
from gml.resources import budget_in_force, require_memory
from gml.stopping import check_stopped
from gml.structural.mixed_completions import CompletedRow, completed_rows

MOST_POINTS = 64
"""Complete rows that an incomplete one becomes, at the most, where it has labels missing."""
_NEGLIGIBLE = 1e-9
# Beyond this many states, a group of missing nodes is drawn by eliminating the others.
_MOST_STATES = 1 << 14

Points = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Values of the missing nodes, points × nodes, and the weights of the points, which add up to 1."""


class Completion(NamedTuple):
    """Complete rows with weights, and how many rows of the table are draws, not all states."""

    rows: Dataset
    drawn: int | float


class OutOfTime(Exception):
    """There was no time to complete all rows."""


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
    (4, 4.0)
    """
    names = [net.names[j] for j in NameOrder(net.names).positions.tolist()]
    variables = [net.variables[net.index(name)] for name in names]
    columns = [rows.columns[rows.index(name)] for name in names]
    firsts, counts = distinct_cells(columns, rows.weights)
    gaps = np.column_stack([missing_mask(column[firsts]) for column in columns])
    whole = ~gaps.any(axis=1)
    cells = np.column_stack([column[firsts].astype(np.float64) for column in columns])
    blocks, weights = [cells[whole]], [counts[whole].astype(np.float64)]
    if net.is_mixed:
        by_elimination = _Draws(net, names, cells, most_points, seed)
        found = completed_rows(
            net,
            variables,
            [column[firsts] for column in columns],
            counts,
            lambda row, holes: by_elimination(row, holes)[0],
            most_points=most_points,
            seed=seed,
        )
    else:
        found = _one_by_one(net, names, cells, gaps, most_points, seed)
    drawn, room, budget = 0, 0, budget_in_force()
    limit = deadline or Deadline()
    for one in found:
        if limit.passed:
            raise OutOfTime
        room += one.cells.nbytes
        require_memory(2 * room, budget, "the ways in which incomplete rows may be complete")
        blocks.append(one.cells)
        weights.append(one.shares * float(counts[one.row]))
        drawn += int(counts[one.row]) if one.is_drawn else 0
    table = np.concatenate(blocks)
    units, unit = fractional_weights(np.concatenate(weights))
    dataset = Dataset(
        tuple(variables),
        tuple(_column(v, table[:, k]) for k, v in enumerate(variables)),
        units,
        unit=unit * rows.unit,
    )
    return Completion(dataset.select(net.names), rows.in_rows(drawn))


def _column(variable: Variable, values: NDArray[np.float64]) -> NDArray[Any]:
    if variable.levels is None:
        return np.ascontiguousarray(values)
    return values.astype(code_type(len(variable.levels)))


def _one_by_one(
    net: Network,
    names: Sequence[str],
    cells: NDArray[np.float64],
    gaps: NDArray[np.bool_],
    most_points: int,
    seed: int,
) -> Iterator[CompletedRow]:
    """Complete the rows that lack something."""
    points_of = _points_of(net, names, cells, gaps, most_points, seed)
    incomplete = np.flatnonzero(gaps.any(axis=1)).tolist()
    for done, row in enumerate(incomplete, start=1):
        check_stopped()
        holes = np.flatnonzero(gaps[row])
        (values, shares), is_drawn = points_of(row, holes)
        own = np.repeat(cells[row][None], len(values), axis=0)
        own[:, holes] = values
        yield CompletedRow(row, own, shares, is_drawn)
        reporter().advance("completing rows", done, len(incomplete))


def _points_of(
    net: Network,
    names: Sequence[str],
    cells: NDArray[np.float64],
    gaps: NDArray[np.bool_],
    most_points: int,
    seed: int,
) -> Any:
    """What completes a row, given its number and its holes."""
    if net.is_gaussian:
        return _SigmaPoints(net, names, cells, gaps)
    return _States(net, names, cells, gaps, most_points, seed)


class _Draws:
    """Rows drawn from the distribution of what is missing."""

    def __init__(
        self,
        net: Network,
        names: Sequence[str],
        cells: NDArray[np.float64],
        n_points: int,
        seed: int,
    ) -> None:
        self._net, self._names, self._cells = net, names, cells
        self._n_points, self._seed = n_points, seed
        self._nodes = [net.index(name) for name in names]

    def __call__(self, row: int, holes: NDArray[np.int64]) -> tuple[Points, bool]:
        known = [k for k in range(len(self._names)) if k not in set(holes.tolist())]
        evidence: dict[str, str | float] = {}
        for k in known:
            value = float(self._cells[row, k])
            levels = self._net.variables[self._nodes[k]].levels
            evidence[self._names[k]] = value if levels is None else levels[int(value)]
        rows = posterior_rows(self._net, evidence, seed=self._seed)
        columns = rows.new_columns(self._n_points)
        rows.drawer()(row * self._n_points, columns)
        drawn = np.column_stack([columns[self._nodes[k]].astype(np.float64) for k in holes])
        return (drawn, np.full(len(drawn), 1.0 / len(drawn))), True


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
        patterns, of_row = np.unique(gaps, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            if not pattern.any():
                continue
            rows = np.flatnonzero(of_row.reshape(-1) == number)
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

    def __call__(self, row: int, holes: NDArray[np.int64]) -> tuple[Points, bool]:
        factor = self._factors[self._gaps[row].tobytes()]
        away = math.sqrt(factor.shape[1]) * factor.T
        mean = self._means[row, holes]
        points = np.concatenate([mean + away, mean - away])
        return (points, np.full(len(points), 1.0 / len(points))), False


class _States:
    """All states of labels that are missing, or draws of them."""

    def __init__(
        self,
        net: Network,
        names: Sequence[str],
        cells: NDArray[np.float64],
        gaps: NDArray[np.bool_],
        most_points: int,
        seed: int,
    ) -> None:
        self._most_points = most_points
        self._rng = np.random.default_rng([seed, len(cells)])
        variables = {variable.name: variable for variable in net.variables}
        self._layout = layout_of(net.graph, variables, {})
        self._tables = _table_vector(net, self._layout)
        codes = np.where(gaps, np.iinfo(np.int32).max, cells).astype(np.int32)
        self._rows = RowSplitter(self._layout.kernel, [codes[:, k] for k in range(codes.shape[1])])
        self._known: dict[Any, Points] = {}
        self._by_elimination = _Draws(net, names, cells, most_points, seed)

    def __call__(self, row: int, holes: NDArray[np.int64]) -> tuple[Points, bool]:
        place = {int(node): k for k, node in enumerate(holes)}
        parts: list[tuple[list[int], Points]] = []
        for (nodes, families), bases in self._rows.parts(row, keep_barren=True):
            if math.prod(self._layout.sizes[node] for node in nodes) > _MOST_STATES:
                return self._by_elimination(row, holes)
            key = nodes, families, bases
            if key not in self._known:
                self._known[key] = self._states(nodes, families, bases)
            parts.append(([place[node] for node in nodes], self._known[key]))
        n_states = math.prod(len(shares) for _, (_, shares) in parts)
        if n_states <= self._most_points:
            return _crossed(parts, len(holes)), False
        return self._drawn(parts, len(holes)), True

    def _states(
        self, nodes: Sequence[int], families: Sequence[int], bases: Sequence[int]
    ) -> Points:
        """The states of nodes that hang together, and their probabilities given the row."""
        layout = self._layout.kernel
        sizes = [self._layout.sizes[node] for node in nodes]
        states = np.indices(sizes).reshape(len(sizes), -1)
        log_p = np.zeros(states.shape[1])
        with np.errstate(divide="ignore"):
            for family, base in zip(families, bases, strict=True):
                run = slice(
                    int(layout.member_starts[family]), int(layout.member_starts[family + 1])
                )
                at = np.full(states.shape[1], base, dtype=np.int64)
                for member, stride in zip(
                    layout.members[run].tolist(), layout.strides[run].tolist(), strict=True
                ):
                    if member in nodes:
                        at += stride * states[nodes.index(member)]
                log_p += np.log(self._tables[at])
        top = float(log_p.max())
        if top == -math.inf:
            raise CannotAnswer("a row has probability 0 in the model that completes it")
        shares = np.exp(log_p - top)
        shares /= shares.sum()
        kept = shares >= _NEGLIGIBLE
        shares = shares[kept] / shares[kept].sum()
        return states.T[kept].astype(np.float64), shares

    def _drawn(self, parts: Sequence[tuple[list[int], Points]], n_holes: int) -> Points:
        """Systematic draws from each part, put together at random."""
        n = self._most_points
        values = np.empty((n, n_holes))
        for places, (states, shares) in parts:
            ends = np.cumsum(shares)
            at = np.searchsorted(ends / ends[-1], (np.arange(n) + self._rng.random()) / n)
            chosen = self._rng.permutation(np.minimum(at, len(states) - 1))
            values[:, places] = states[chosen]
        return values, np.full(n, 1.0 / n)


def _crossed(parts: Sequence[tuple[list[int], Points]], n_holes: int) -> Points:
    """All combinations of the states of independent parts."""
    values, shares = np.empty((1, n_holes)), np.ones(1)
    for places, (states, own) in parts:
        before = len(shares)
        values = np.repeat(values, len(own), axis=0)
        values[:, places] = np.tile(states, (before, 1))
        shares = np.repeat(shares, len(own)) * np.tile(own, before)
    return values, shares


def _table_vector(net: Network, layout: TableLayout) -> NDArray[np.float64]:
    """The tables of a network in one vector."""
    return np.concatenate(list(_tables(net, layout)))


def _tables(net: Network, layout: TableLayout) -> Iterator[NDArray[np.float64]]:
    for node, name in enumerate(layout.names):
        cpd = net.cpd(name)
        assert isinstance(cpd, CPT)
        yield layout.in_name_order(node, cpd.table).reshape(-1)
