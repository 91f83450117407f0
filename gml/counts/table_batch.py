"""Batches of tables to count as arrays, so that many are handled as fast as few.

A batch may have a table for each of a hundred thousand pairs: what is done for every table in
Python takes longer than counting it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.counts.questions import Family, FamilyArray, TableSet, Triple, TripleArray
from gml.name_order import NameOrder


class TableBatch(NamedTuple):
    """Tables: members[starts[k]:starts[k + 1]] are *given, *axes of table k, of which n_axes[k]."""

    members: NDArray[np.int32]
    starts: NDArray[np.int64]
    n_axes: NDArray[np.int64]

    @classmethod
    def of_sets(cls, sets: Sequence[TableSet]) -> TableBatch:
        """Tables one by one.

        Examples
        --------
        >>> TableBatch.of_sets([TableSet((0, 2), (1,)), TableSet((3,))]).members.tolist()
        [1, 0, 2, 3]
        """
        both = chain.from_iterable((wanted.given, wanted.axes) for wanted in sets)
        members = np.fromiter(chain.from_iterable(both), dtype=np.int32)
        n_axes = np.array([len(wanted.axes) for wanted in sets], dtype=np.int64)
        n_given = np.array([len(wanted.given) for wanted in sets], dtype=np.int64)
        return cls(members, _starts(n_given + n_axes), n_axes)

    @classmethod
    def of_tests(cls, order: NameOrder, triples: Sequence[Triple]) -> TableBatch:
        """The tables of tests, x and y and Z in order of their names."""
        if isinstance(triples, TripleArray):
            rows = triples.rows
            return cls._of_rows(np.hstack([order.rows(rows[:, 2:]), order.rows(rows[:, :2])]), 2)
        return cls.of_sets(
            [TableSet(order.sorted((x, y)), order.sorted(given)) for x, y, given in triples]
        )

    @classmethod
    def of_families(cls, order: NameOrder, families: Sequence[Family]) -> TableBatch:
        """The tables of families, parents in order of their names."""
        if isinstance(families, FamilyArray):
            rows = families.rows
            return cls._of_rows(np.hstack([order.rows(rows[:, 1:]), rows[:, :1]]), 1)
        return cls.of_sets(
            [TableSet((child,), order.sorted(parents)) for child, parents in families]
        )

    @classmethod
    def _of_rows(cls, rows: NDArray[np.int32], n_axes: int) -> TableBatch:
        n, size = rows.shape
        members = np.ascontiguousarray(rows, dtype=np.int32).reshape(-1)
        return cls(members, _starts(np.full(n, size)), np.full(n, n_axes))

    @property
    def n_tables(self) -> int:
        """How many tables there are."""
        return len(self.n_axes)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many columns each table has."""
        return np.diff(self.starts)

    def table_set(self, k: int) -> TableSet:
        """One of the tables."""
        members = self.members[self.starts[k] : self.starts[k + 1]].tolist()
        split = len(members) - int(self.n_axes[k])
        return TableSet(tuple(members[split:]), tuple(members[:split]))

    def part(self, start: int, stop: int) -> TableBatch:
        """Some of the tables."""
        first, last = self.starts[start], self.starts[stop]
        return TableBatch(
            self.members[first:last],
            self.starts[start : stop + 1] - first,
            self.n_axes[start:stop],
        )

    def at(self, positions: Sequence[int]) -> TableBatch:
        """The same tables where column j is at positions[j]."""
        moved = np.array(positions, dtype=np.int32)
        return self._replace(members=moved[self.members])

    def cells(self, n_levels: NDArray[np.int32]) -> NDArray[np.float64]:
        """How many cells each table has, rounded where that is beyond counting."""
        if not self.n_tables:
            return np.zeros(0)
        levels = n_levels[self.members].astype(np.float64)
        with np.errstate(over="ignore"):
            return np.multiply.reduceat(levels, self.starts[:-1])

    def by_size(
        self, chosen: NDArray[np.bool_]
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.int32]]]:
        """The places of the chosen tables of as many columns each, and these columns as rows.

        Those of most columns come first, as others may be margins of them.
        """
        sizes = self.sizes
        for size in np.unique(sizes[chosen])[::-1].tolist():
            places = np.flatnonzero(chosen & (sizes == size))
            yield places, self.members[self.starts[places][:, None] + np.arange(size)]


def _starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    starts: NDArray[np.int64] = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return starts
