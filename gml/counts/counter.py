"""What an engine promises: the types of its answers, and the Counter protocol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.kernel.layout import FamilyRule, TableStatistics

__all__ = [
    "Counter",
    "Counts",
    "Family",
    "FamilyArray",
    "FamilyRule",
    "Moments",
    "TableSet",
    "TableStatistics",
    "Triple",
    "TripleArray",
]


class TableSet(NamedTuple):
    """A table to count: one or two axes, given a conditioning set (column positions)."""

    axes: tuple[int, ...]
    given: tuple[int, ...] = ()


Family = tuple[int, tuple[int, ...]]
"""A child and its parents."""

Triple = tuple[int, int, tuple[int, ...]]
"""x, y and the conditioning set of a test."""


class TripleArray(Sequence[Triple]):
    """Triples with conditioning sets of one size, as rows (x, y, *Z) of an integer matrix."""

    def __init__(self, rows: NDArray[np.int32]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return TripleArray(self.rows[k])
        x, y, *given = self.rows[k].tolist()
        return x, y, tuple(given)


class FamilyArray(Sequence[Family]):
    """Families with as many parents each, as rows (child, *parents) of an integer matrix."""

    def __init__(self, rows: NDArray[np.int32]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return FamilyArray(self.rows[k])
        child, *parents = self.rows[k].tolist()
        return child, tuple(parents)


def pair_block(n_nodes: int, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return i and j of some of all pairs i < j of nodes, which are ordered by i and then by j.

    Examples
    --------
    >>> [part.tolist() for part in pair_block(4, 2, 5)]
    [[0, 1, 1], [3, 2, 3]]
    """
    # Pairs before those of i: i·(2n − i − 1)/2.
    i = np.arange(n_nodes, dtype=np.int64)
    firsts = i * (2 * n_nodes - i - 1) // 2
    places = np.arange(start, stop, dtype=np.int64)
    rows = np.searchsorted(firsts, places, side="right") - 1
    return rows, places - firsts[rows] + rows + 1


def tables_of(variables: Sequence[Variable], triples: Sequence[Triple]) -> list[TableSet]:
    """Return the tables of tests, x and y and Z in order of their names."""

    def by_name(members: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted(members, key=lambda j: variables[j].name))

    return [TableSet(by_name((x, y)), by_name(given)) for x, y, given in triples]


@dataclass(frozen=True)
class Counts:
    """A contingency table whose conditioning set is collapsed into one axis.

    `table` has shape (observed configurations, levels of the first axis, …); row s of `configs`
    holds the level codes of configuration s, in lexicographic order; `n_configs` counts the
    possible configurations, observed or not.
    """

    table: NDArray[np.int64]
    configs: NDArray[np.int64]
    n_configs: int
    n: int


def every_configuration(counts: Counts, n_levels: Sequence[int]) -> NDArray[np.int64]:
    """Return a table of one axis with a row for every configuration; its own levels come last."""
    cells = np.zeros((counts.n_configs, n_levels[-1]), dtype=np.int64)
    rows = np.zeros(len(counts.configs), dtype=np.int64)
    for codes, size in zip(counts.configs.T, n_levels[:-1], strict=True):
        rows = rows * size + codes
    cells[rows] = counts.table
    return cells


@dataclass(frozen=True)
class Moments:
    """Means and exact cross-products about the mean of numeric columns.

    `cross[i][j]` is the integer n·Σ(qᵢ−q̄ᵢ)(qⱼ−q̄ⱼ) of the fixed-point columns qᵢ = xᵢ·2^scale[i]
    (less a centre), exact.
    """

    n: int
    means: tuple[float, ...]
    cross: tuple[tuple[int, ...], ...]
    scales: tuple[int, ...]


def rows_counted(counter: Counter) -> int | float:
    """Return the number of rows with their weights, a whole number unless these are fractions."""
    return counter.n if counter.unit == 1 else counter.n * counter.unit


class Counter(Protocol):
    """The engine: what scans rows."""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The columns that can be counted."""

    @property
    def n(self) -> int:
        """Rows counted with their weights."""

    @property
    def unit(self) -> float:
        """What one of the counts stands for; 1 unless rows have fractional weights."""

    @property
    def missing(self) -> bool:
        """Whether some tables leave rows out because a value is missing."""

    @property
    def digest(self) -> str | None:
        """SHA-256 of the input, if it was asked for."""

    def tables(self, sets: Iterable[TableSet]) -> Iterator[Counts]:
        """Count a batch of tables; answers come in the order of the questions."""

    def family_tables(self, families: Sequence[Family]) -> Iterator[NDArray[np.int64]]:
        """Count each child given its parents, a row for every configuration, seen or not."""

    def family_values(self, families: Sequence[Family], rule: FamilyRule) -> NDArray[np.float64]:
        """What each child is worth given its parents (`FamilyRule`)."""

    def family_ceilings(
        self, families: Sequence[Family], rule: FamilyRule, cell_prior: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same, and what each would be worth were every cell a configuration of its own.

        That is for DIRICHLET, the prior of these configurations being `cell_prior` a cell; with 0
        each is worth −ln r, its limit.
        """

    def statistics(self, triples: Sequence[Triple]) -> TableStatistics:
        """Count a batch of tests and return their statistics without handing out the tables."""

    def pair_statistics(self, pairs: NDArray[np.int32]) -> TableStatistics:
        """Statistics of many pairs (pairs × 2 column positions)."""

    def moments(self, columns: Sequence[int]) -> Moments:
        """Moments of numeric columns over the rows complete in all of them."""
