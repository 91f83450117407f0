"""Tables that were counted for a batch of questions, and what follows from all of them at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.answers import Counts, counts_of_cells, every_configuration, statistics_of
from gml.counts.known_tables import cells_of, steps_of, unsummed
from gml.counts.table_batch import TableBatch
from gml.kernel.layout import FamilyRule, FamilyWorths, TableStatistics

Integers = NDArray[np.int64]


class HeldTables(NamedTuple):
    """Tables with every cell, of as many columns each, in the order of the questions.

    `places` are those of the questions in their batch; table k begins at starts[k] of the cells and
    has levels[k] levels of its columns.
    """

    places: NDArray[np.intp]
    levels: NDArray[np.int32]
    cells: Integers
    starts: Integers


def turned(
    places: NDArray[np.intp],
    rows: NDArray[np.int32],
    n_levels: NDArray[np.int32],
    cells: Integers,
    starts: Integers,
) -> HeldTables:
    """Put tables whose columns are in ascending order, at `starts`, in the order of each row."""
    levels = n_levels[rows]
    order = np.argsort(rows, axis=1)
    ascending = np.take_along_axis(levels, order, axis=1)
    steps = np.empty(rows.shape, dtype=np.int64)
    np.put_along_axis(steps, order, steps_of(ascending), axis=1)
    found = kernel.active().turned_tables(cells, starts, levels, steps, unsummed(len(rows)))
    sizes = cells_of(levels)
    return HeldTables(places, levels, found, np.cumsum(sizes) - sizes)


class AnsweredTables:
    """The answers to a batch: small tables with every cell, and large ones one by one.

    `large` finds each large table of the batch, or returns None for one that was given up: then the
    batch is answered up to there.
    """

    def __init__(
        self,
        batch: TableBatch,
        n_levels: NDArray[np.int32],
        small: Sequence[HeldTables],
        large: dict[int, Callable[[], Counts] | None],
    ) -> None:
        given_up = [place for place, table in large.items() if table is None]
        self.n_tables = min(given_up, default=batch.n_tables)
        """How many questions are answered, from the first on."""
        self._batch, self._n_levels = batch, n_levels
        self._small = small if not given_up else [_before(held, self.n_tables) for held in small]
        self._large = {
            place: table
            for place, table in large.items()
            if table is not None and place < self.n_tables
        }

    def counts(self) -> Iterator[Counts]:
        """The tables in order, without configurations that have no rows."""
        for place, (held, k) in enumerate(self._by_place()):
            if held is None:
                yield self._large[place]()
                continue
            shape = held.levels[k].tolist()
            split = len(shape) - int(self._batch.n_axes[place])
            yield counts_of_cells(_flat(held, k, shape), shape[:split], shape[split:])

    def every_cell(self) -> Iterator[Integers]:
        """Tables of one axis with one row per configuration, in order."""
        for place, (held, k) in enumerate(self._by_place()):
            if held is None:
                yield every_configuration(self._large[place](), self._levels_of(place))
                continue
            shape = held.levels[k].tolist()
            # A copy, as one table that is kept would keep all of them.
            yield _flat(held, k, shape).reshape(-1, shape[-1]).copy()

    def statistics(self) -> TableStatistics:
        """The statistics of the tables of tests."""
        out = TableStatistics.zeros(self.n_tables)
        for held in self._small:
            found = kernel.active().held_statistics(held.cells, held.starts, held.levels)
            out.floats[held.places], out.ints[held.places] = found.floats, found.ints
        for place, table in self._large.items():
            one = statistics_of(table())
            out.floats[place], out.ints[place] = one.floats[0], one.ints[0]
        return out

    def worths(self, rule: FamilyRule, cell_prior: float | None) -> FamilyWorths:
        """Values of families, and ceilings with a prior."""
        out = FamilyWorths(np.zeros(self.n_tables), np.zeros(self.n_tables))
        active = kernel.active()
        for held in self._small:
            found = active.held_families(held.cells, held.starts, held.levels, rule, cell_prior)
            out.values[held.places], out.ceilings[held.places] = found
        for place, table in self._large.items():
            strata = np.ascontiguousarray(table().table)
            # Rounded as the kernel does it where it is very large.
            cells = math.prod(map(float, self._levels_of(place)))
            if cell_prior is None:
                out.values[place] = active.family_value(strata, cells, rule)
            else:
                worth = active.family_ceiling(strata, cells, rule, cell_prior)
                out.values[place], out.ceilings[place] = worth
        return out

    def _levels_of(self, place: int) -> list[int]:
        members = self._batch.members[self._batch.starts[place] : self._batch.starts[place + 1]]
        levels: list[int] = self._n_levels[members].tolist()
        return levels

    def _by_place(self) -> list[tuple[HeldTables | None, int]]:
        """Where each table is; large ones are nowhere here."""
        where: list[tuple[HeldTables | None, int]] = [(None, 0)] * self.n_tables
        for held in self._small:
            for k, place in enumerate(held.places.tolist()):
                where[place] = (held, k)
        return where


def _flat(held: HeldTables, k: int, shape: Sequence[int]) -> Integers:
    start = held.starts[k]
    return held.cells[start : start + math.prod(shape)]


def _before(held: HeldTables, n_tables: int) -> HeldTables:
    """Those of the first questions."""
    some = held.places < n_tables
    return HeldTables(held.places[some], held.levels[some], held.cells, held.starts[some])
