"""What an engine answers: tables, without configurations that occur in no row, and moments."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.dataset import Dataset, Origin
from gml.data.missing import missing_as_read
from gml.data.row_groups import configurations_at
from gml.kernel.layout import TableStatistics


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

    @property
    def levels_seen(self) -> float:
        """The product, over the conditioning columns, of the number of levels that occur."""
        return math.prod(float(len(set(column.tolist()))) for column in self.configs.T)


def statistics_of(counts: Counts) -> TableStatistics:
    """Return the statistics of the table of one test."""
    found = kernel.active().table_statistics_of(np.ascontiguousarray(counts.table))
    found.seen_z[0] = counts.levels_seen
    return found


def counts_of_cells(flat: NDArray[np.int64], given: Sequence[int], axes: Sequence[int]) -> Counts:
    """Return the table of all cells, of so many levels each, without configurations unseen."""
    n_configs = math.prod(given)
    table = flat.reshape(n_configs, *axes)
    seen = np.flatnonzero(table.reshape(n_configs, -1).any(axis=1))
    configs = np.zeros((len(seen), 0), dtype=np.int64)
    if given:
        configs = np.column_stack(np.unravel_index(seen, tuple(given))).astype(np.int64)
    return Counts(np.ascontiguousarray(table[seen]), configs, n_configs, int(flat.sum()))


def every_configuration(counts: Counts, n_levels: Sequence[int]) -> NDArray[np.int64]:
    """Return a table of one axis with one row per configuration; its own levels come last."""
    cells = np.zeros((counts.n_configs, n_levels[-1]), dtype=np.int64)
    rows = configurations_at(n_levels[:-1], list(counts.configs.T), len(counts.configs))
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


@dataclass(frozen=True)
class StratifiedMoments:
    """Moments within each configuration of label columns that occurs in the rows.

    Row s of `configs` holds the level codes of configuration s, in lexicographic order, and
    `moments[s]` are those of its rows alone; `n_configs` counts the possible configurations.
    """

    moments: tuple[Moments, ...]
    configs: NDArray[np.int64]
    n_configs: int


class MissingTreatment(NamedTuple):
    """How missing values were treated when rows were read or counted.

    `rows` counts all rows, dropped ones included, and `cells` the missing cells of columns that
    had some, both weighted (in units of the engine).
    """

    policy: str
    rows: int
    cells: Mapping[str, int]
    na: tuple[str, ...] | None = None
    """The tokens that meant missing, if that is known."""
    dialect: Mapping[str, Any] | None = None
    """How else the table was read, as far as that is not the default."""

    @classmethod
    def of(cls, origin: Origin | None) -> MissingTreatment | None:
        """Return what is known of a table that was read; None if nothing is."""
        if origin is None:
            return None
        return cls(origin.policy, origin.n, origin.missing, origin.na, origin.dialect)

    @classmethod
    def of_rows(cls, rows: Dataset) -> MissingTreatment | None:
        """Return the same of rows in memory, which may have been chosen from a table."""
        origin = rows.origin
        if origin is None:
            return None
        return cls(origin.policy, *missing_as_read(rows), origin.na, origin.dialect)
