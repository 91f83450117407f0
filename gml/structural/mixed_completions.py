"""Incomplete rows of labels and numbers as complete ones with weights, by E-steps of EM.

What a row lacks falls into parts that are independent given what it has (`number_components` of
EM). The labels of a part are enumerated, and given these its numbers are normal, for many rows at a
time. A row whose labels have s states and which lacks r numbers becomes s · 2r points: in each
state the numbers are at μ ± √r·Fᵢ, so that means and covariances given the labels are exact, and
with them all that scores of conditional Gaussian families ask for. Where that is more than
`most_points`, the row is as many draws: systematic from the states of each part, put together at
random, with numbers from their normal distribution.

A part of more than 2¹⁴ states is not enumerated: its rows are drawn by eliminating nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, Variable, missing_mask
from gml.errors import CannotAnswer
from gml.kernel.blas import one_blas_thread
from gml.model.em.number_blocks import Block
from gml.model.em.number_expectations import Expectation, Filled, log_weights
from gml.model.em.number_families import Families, Parameters
from gml.model.em.number_network import parameters_of
from gml.model.em.number_rows import MISSING, number_rows
from gml.model.network import Network
from gml.progress import reporter
from gml.resources import budget_in_force, require_memory
from gml.stopping import check_stopped
from gml.structural.row_draws import Points

Array = NDArray[np.float64]

_NEGLIGIBLE = 1e-9
# Beyond this many states, what a row lacks together is drawn by eliminating nodes.
_MOST_STATES = 1 << 14


class CompletedRow(NamedTuple):
    """The ways in which one row may be complete: all its nodes, points × nodes."""

    row: int
    cells: Array
    shares: Array
    is_drawn: bool


class _Part(NamedTuple):
    """Nodes that a row lacks together: their states, and given each the moments of numbers."""

    labels: NDArray[np.int64]
    states: NDArray[np.int64]
    shares: Array
    numbers: NDArray[np.int64]
    means: Array
    factors: Array
    """F with F Fᵀ = Σ, for each regression."""
    of_state: NDArray[np.int64]
    """Which of these a state has."""


def completed_rows(
    net: Network,
    variables: Sequence[Variable],
    columns: Sequence[NDArray[Any]],
    counts: NDArray[np.int64],
    by_elimination: Callable[[int, NDArray[np.int64]], Points],
    *,
    most_points: int,
    seed: int,
) -> Iterator[CompletedRow]:
    """Complete the rows of a table that lack something; `variables` are in order of names."""
    with one_blas_thread():
        mixed = _Rows(net, variables, columns, counts, most_points, seed)
        incomplete = mixed.incomplete().tolist()
        mixed.work_out()
        for done, at in enumerate(incomplete, start=1):
            check_stopped()
            yield mixed.completed(at, by_elimination)
            reporter().advance("completing rows", done, len(incomplete))


class _Rows:
    """Rows in the order of what they hold, and the parts of what each of them lacks."""

    def __init__(
        self,
        net: Network,
        variables: Sequence[Variable],
        columns: Sequence[NDArray[Any]],
        counts: NDArray[np.int64],
        most_points: int,
        seed: int,
    ) -> None:
        values = {
            v.name: np.where(missing_mask(column), np.nan, column.astype(np.float64))
            for v, column in zip(variables, columns, strict=True)
        }
        table = Dataset(tuple(variables), tuple(columns), counts)
        self._data = number_rows([v.name for v in variables], table)
        assert self._data.places is not None
        self._order = self._data.places
        self._cells = np.column_stack([values[v.name][self._order] for v in variables])
        self._families = Families.of(net.graph, self._data)
        self._at = parameters_of(net, self._families, self._data)
        self._most_points = most_points
        self._rng = np.random.default_rng([seed, len(counts)])
        is_number = np.array([v.is_continuous for v in variables], dtype=bool)
        self._number_columns = np.flatnonzero(is_number)
        self._label_columns = np.flatnonzero(~is_number)
        self._parts: dict[int, list[_Part]] = {}
        self._left_out: frozenset[int] = frozenset()

    def incomplete(self) -> NDArray[np.int64]:
        """The rows that lack something."""
        return np.flatnonzero(np.isnan(self._cells).any(axis=1))

    def work_out(self) -> None:
        """Find the states of all parts of all rows, and the moments of numbers."""
        budget = budget_in_force()
        expectation = Expectation(
            self._families,
            self._data,
            keep_barren=True,
            leaves_apart=False,
            most_configs=_MOST_STATES,
            max_memory=budget,
        )
        self._left_out = frozenset(expectation.left_out.tolist())
        room = 0
        for block in expectation.blocks:
            check_stopped()
            room += self._add(block, expectation, self._at)
            require_memory(room, budget, "the states of what rows lack")

    def _add(self, block: Block, expectation: Expectation, at: Parameters) -> int:
        """Find the parts of the rows of a block, and return the bytes that they take."""
        with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
            filled = [expectation.filled(block, at, config) for config in block.regressions]
            logs = log_weights(block, at, [one.log_density for one in filled])
            shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        if not np.isfinite(shares).all():
            raise CannotAnswer("a row has probability 0 in the model that completes it")
        shares /= shares.sum(axis=1, keepdims=True)
        lacking = self._data.codes[block.rows[0]] == MISSING
        tables = [(j, level) for j, _, level in block.tables if lacking[j]]
        labels = np.array([j for j, _ in tables], dtype=np.int64)
        states = np.array([level for _, level in tables], dtype=np.int64)
        states = states.reshape(len(tables), len(block.of_config)).T
        holes = _holes(block, filled)
        size = 0
        for k, row in enumerate(block.rows.tolist()):
            if row in self._left_out:
                continue
            kept, own = self._kept(shares[k])
            numbers, means, factors = holes.get(k, _NO_NUMBERS)
            part = _Part(
                labels,
                states[kept],
                own,
                block.columns[numbers],
                means[block.of_config[kept]] if len(numbers) else np.zeros((len(kept), 0)),
                factors,
                block.of_config[kept],
            )
            size += part.states.nbytes + part.means.nbytes + own.nbytes
            self._parts.setdefault(row, []).append(part)
        return size

    def _kept(self, shares: Array) -> tuple[NDArray[np.int64], Array]:
        """The states that matter, or draws where these are too many for a row."""
        kept = np.flatnonzero(shares >= _NEGLIGIBLE)
        if len(kept) <= self._most_points:
            return kept, shares[kept] / shares[kept].sum()
        n = self._most_points
        return self._drawn_states(shares), np.full(n, 1.0 / n)

    def _drawn_states(self, shares: Array) -> NDArray[np.int64]:
        """Systematic draws in random order."""
        n = self._most_points
        ends = np.cumsum(shares)
        at = np.searchsorted(ends / ends[-1], (np.arange(n) + self._rng.random()) / n)
        return self._rng.permutation(np.minimum(at, len(shares) - 1))

    def completed(
        self, at: int, by_elimination: Callable[[int, NDArray[np.int64]], Points]
    ) -> CompletedRow:
        """Complete a row; what draws rows by elimination knows them by where they stood."""
        row = int(self._order[at])
        if at in self._left_out:
            holes = np.flatnonzero(np.isnan(self._cells[at]))
            values, shares = by_elimination(row, holes)
            cells = np.repeat(self._cells[at][None], len(values), axis=0)
            cells[:, holes] = values
            return CompletedRow(row, cells, shares, is_drawn=True)
        parts = self._parts.pop(at)
        n_numbers = sum(len(part.numbers) for part in parts)
        n_points = math.prod(len(part.shares) for part in parts) * max(1, 2 * n_numbers)
        is_drawn = n_points > self._most_points
        chosen, shares = self._draws(parts) if is_drawn else _crossed(parts)
        cells = np.repeat(self._cells[at][None], len(shares), axis=0)
        for part, states in zip(parts, chosen, strict=True):
            cells[:, self._label_columns[part.labels]] = part.states[states]
        if not n_numbers:
            return CompletedRow(row, cells, shares, is_drawn)
        numbers = np.concatenate([part.numbers for part in parts])
        means = np.hstack([part.means[s] for part, s in zip(parts, chosen, strict=True)])
        factors = _factors(parts, chosen, n_numbers)
        if is_drawn:
            errors = self._rng.standard_normal(means.shape)
            z = means + np.einsum("pij,pj->pi", factors, errors)
        else:
            away = math.sqrt(n_numbers) * factors.transpose(0, 2, 1)
            z = np.concatenate([means[:, None] + away, means[:, None] - away], axis=1)
            z = z.reshape(-1, n_numbers)
            cells = np.repeat(cells, 2 * n_numbers, axis=0)
            shares = np.repeat(shares, 2 * n_numbers) / (2 * n_numbers)
        scales, shifts = np.array(self._data.scales), np.array(self._data.shifts)
        cells[:, self._number_columns[numbers]] = shifts[numbers] + scales[numbers] * z
        return CompletedRow(row, cells, shares, is_drawn)

    def _draws(self, parts: Sequence[_Part]) -> tuple[list[NDArray[np.int64]], Array]:
        """States of each part, put together at random."""
        n = self._most_points
        return [self._drawn_states(part.shares) for part in parts], np.full(n, 1.0 / n)


_NO_NUMBERS = np.zeros(0, dtype=np.int64), np.zeros((0, 0)), np.zeros((0, 0, 0))


def _holes(
    block: Block, filled: Sequence[Filled]
) -> dict[int, tuple[NDArray[np.int64], Array, Array]]:
    """For rows that lack numbers: which, their means and factors for each of the regressions."""
    found = {}
    for number, (rows, patterns, of_row) in enumerate(block.holes):
        covariances = np.stack([one.covariances[number] for one in filled])
        # Half of an eigendecomposition, which rounding cannot refuse.
        values, vectors = np.linalg.eigh(covariances)
        factors = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
        x = np.stack([one.x[rows[:, None], patterns[of_row]] for one in filled])
        for k, (row, which) in enumerate(zip(rows.tolist(), of_row.tolist(), strict=True)):
            found[row] = patterns[which], x[:, k], factors[:, which]
    return found


def _crossed(parts: Sequence[_Part]) -> tuple[list[NDArray[np.int64]], Array]:
    """All combinations of the states of independent parts."""
    sizes = [len(part.shares) for part in parts]
    chosen = list(np.indices(sizes).reshape(len(sizes), -1))
    shares = np.ones(math.prod(sizes))
    for part, states in zip(parts, chosen, strict=True):
        shares = shares * part.shares[states]
    return chosen, shares


def _factors(parts: Sequence[_Part], chosen: Sequence[NDArray[np.int64]], n_numbers: int) -> Array:
    """The factors of all numbers together, which are independent between parts."""
    found = np.zeros((len(chosen[0]), n_numbers, n_numbers))
    at = 0
    for part, states in zip(parts, chosen, strict=True):
        if len(part.numbers):
            own = slice(at, at + len(part.numbers))
            found[:, own, own] = part.factors[part.of_state[states]]
            at += len(part.numbers)
    return found
