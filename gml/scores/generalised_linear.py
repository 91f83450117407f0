"""A BIC of any DAG of numbers and labels, by the model of each family that suits it best.

bic-dg and bic-cg are about different densities, and neither is one of all columns in all DAGs: by
dg labels are normal, by cg no label depends on a number. Here every family has a density of its own
kind, whatever its parents are, so that any two DAGs over the same columns can be compared:

- a number is linear in its parents, labels as indicators (a family of bic-dg), or linear in the
  numbers within each configuration of the labels (one of bic-cg);
- a label has a table (if all its parents are labels), or log odds that are linear in its parents,
  labels as indicators (`gml.scores.logits`), with (r − 1)·(columns + 1) parameters.

Of the models of a family the one with the higher BIC counts, that with fewer parameters where they
are equal. Levels that occur in no row count in tables alone, as in bic. On numbers alone this is
bic-g. Equivalent DAGs may have different scores: a logit is not the reverse of a regression, which
is what tells them apart. Rows are sorted by what is in them before anything is summed.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, Family
from gml.errors import parameter, quote
from gml.kernel.blas import one_blas_thread
from gml.resources import require_memory
from gml.scores.base import FamilyScore, rounded
from gml.scores.logits import logit_likelihood
from gml.scores.options import PENALTY, RIDGE
from gml.scores.penalised import BicPrice
from gml.scores.registry import SCORES, KnownScore

Numbers = NDArray[np.float64]


class _Worth(NamedTuple):
    score: float
    parameters: float


class BicGlm(FamilyScore):
    """The BIC of the best of some models of each family."""

    def __init__(self, facts: KnownScore, counter: Counter, **options: Any) -> None:
        super().__init__(facts, counter, **options)
        penalty: float = self._options[PENALTY.name]
        ridge: float = self._options[RIDGE.name]
        self._linear = SCORES["bic-dg"](counter, penalty=penalty, ridge=ridge)
        self._by_group = SCORES["bic-cg"](counter, penalty=penalty)
        assert isinstance(self._linear, BicPrice)
        self._price = self._linear._price
        self._is_number = [variable.is_continuous for variable in counter.variables]
        self._known: dict[Family, _Worth] = {}
        self._constant = frozenset(self.constants())
        counter.require_rows(parameter("score", self.name))

    def batch(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Score many families."""
        with one_blas_thread():
            return np.array([self._worth(*family).score for family in families], dtype=np.float64)

    def dimension(self, child: int, parents: Sequence[int]) -> float:
        """Free parameters of the model that counts."""
        return self._worth(child, parents).parameters

    def dimensions(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """The same for many families."""
        return np.array([self.dimension(*family) for family in families], dtype=np.float64)

    def _worth(self, child: int, parents: Sequence[int]) -> _Worth:
        family = (int(child), self._counter.order.sorted(int(j) for j in parents))
        if family not in self._known:
            self._known[family] = max(
                self._models(*family), key=lambda one: (rounded(one.score), -one.parameters)
            )
        return self._known[family]

    def _models(self, child: int, parents: tuple[int, ...]) -> list[_Worth]:
        """What each model of a family is worth."""
        if self._is_number[child]:
            return [_of(self._linear, child, parents), _of(self._by_group, child, parents)]
        useful = tuple(j for j in parents if j not in self._constant)
        has_numbers = any(self._is_number[j] for j in useful)
        found = [] if has_numbers else [_of(self._by_group, child, parents)]
        if child not in self._constant and (has_numbers or len(useful) > 1):
            found.append(self._logit(child, useful))
        return found or [_Worth(0.0, 0.0)]

    def _logit(self, child: int, parents: tuple[int, ...]) -> _Worth:
        at, first = self._equal_rows(parents)
        codes, levels = self._codes(child)
        blocks = [self._block(j)[first] for j in parents]
        width = 1 + sum(block.shape[1] for block in blocks)
        require_memory(
            8 * len(first) * (width + 6 * levels) + 8 * width * (width + 6 * levels),
            None,
            f"the logit of {quote(self.names[child])}",
        )
        place = at * levels + codes
        counted = np.bincount(place, self._weights, minlength=len(first) * levels)
        cells: Numbers = counted.astype(np.float64)
        design = np.hstack([np.ones((len(first), 1)), *blocks])
        likelihood = logit_likelihood(np.reshape(cells, (-1, levels)), design)
        parameters = float((levels - 1) * width)
        return _Worth(likelihood - self._price * parameters, parameters)

    def _equal_rows(self, columns: tuple[int, ...]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Number the different cells of some columns: of each row, and a row that has each."""
        cells = [self._sorted[0][j] for j in columns]
        order = np.lexsort(cells[::-1])
        is_new = np.zeros(len(order), dtype=bool)
        is_new[:1] = True
        for column in cells:
            is_new[1:] |= column[order][1:] != column[order][:-1]
        numbers = np.empty(len(order), dtype=np.intp)
        numbers[order] = np.cumsum(is_new) - 1
        return numbers, order[is_new]

    @functools.cached_property
    def _sorted(self) -> tuple[list[NDArray[Any]], Numbers]:
        """The columns, and what rows weigh, sorted by the cells in order of the names."""
        rows = self._counter.require_rows(parameter("score", self.name))
        order = np.lexsort(
            [rows.columns[j] for j in reversed(self._counter.order.positions.tolist())]
        )
        weights = np.ones(len(order)) if rows.weights is None else rows.weights[order]
        columns = [column[order] for column in rows.columns]
        return columns, weights.astype(np.float64) * self._counter.unit

    @property
    def _weights(self) -> Numbers:
        return self._sorted[1]

    def _codes(self, column: int) -> tuple[NDArray[np.intp], int]:
        """The levels that occur, as 0, 1, …, and how many there are."""
        levels, codes = np.unique(self._sorted[0][column], return_inverse=True)
        return codes.reshape(-1), len(levels)

    def _block(self, column: int) -> Numbers:
        """The columns of a design that stand for a parent."""
        if self._is_number[column]:
            values = self._sorted[0][column].astype(np.float64)
            return _in_common_units(values, self._weights)[:, None]
        codes, levels = self._codes(column)
        indicators: Numbers = (codes[:, None] == np.arange(1, levels)).astype(np.float64)
        return indicators


def _in_common_units(values: Numbers, weights: NDArray[Any]) -> Numbers:
    """Numbers about their median, in units of the median distance of those that differ from it.

    Their logit is that of the numbers themselves. One that lies far off does not make the others
    small, as it would in units of the standard deviation, and the units of the table do not matter.
    """
    away = values - _median(values, weights)
    largest = float(np.abs(away).max())
    if largest == 0:
        return away
    away /= largest
    differs = away != 0
    found: Numbers = away / _median(np.abs(away[differs]), weights[differs])
    return found


def _median(values: Numbers, weights: NDArray[Any]) -> float:
    """The lower median of rows that count so often."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(below, below[-1] / 2)])


def _of(score: FamilyScore, child: int, parents: tuple[int, ...]) -> _Worth:
    return _Worth(score.local(child, parents), score.dimension(child, parents))
