"""Tables that a pass has counted, kept as long as there is room: the next question may need none.

A table is kept by its columns, in ascending order, with every cell; whoever asks for it gets it in
the order of the question. The table of fewer columns is a margin of one of more, if the rows that
count are the same, that is, where the column summed over has no missing values.
"""

from __future__ import annotations

import math
from collections import Counter as Multiset
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from gml.counts.answers import Counts, counts_of_cells
from gml.counts.questions import TableSet

Table = NDArray[np.int64]

# What a table costs besides its cells.
_BYTES_PER_TABLE = 300


def bits_of_columns(columns: Iterable[int]) -> int:
    """A set of columns as the bits of a number.

    Examples
    --------
    >>> bits_of_columns([2, 0])
    5
    """
    bits = 0
    for j in columns:
        bits |= 1 << j
    return bits


class KnownTables:
    """Keeps tables of columns that have gaps or not, in so many bytes."""

    def __init__(self, gaps: Sequence[bool], most_bytes: int) -> None:
        self._whole = [1 << j for j, has_gaps in enumerate(gaps) if not has_gaps]
        self._most_bytes = most_bytes
        self._held = 0
        self._tables: dict[int, Table] = {}
        self._sizes: Multiset[int] = Multiset()

    @property
    def most_bytes(self) -> int:
        """What all tables may take together."""
        return self._most_bytes

    def get(self, key: int) -> Table | None:
        """A table with an axis per column, in ascending order; margins are found and kept."""
        table = self._tables.pop(key, None)
        if table is not None:
            # The last one asked for is the last one to be forgotten.
            self._tables[key] = table
            return table
        if not self._sizes[key.bit_count() + 1]:
            return None
        for extra in self._whole:
            larger = None if key & extra else self._tables.get(key | extra)
            if larger is not None:
                margin: Table = larger.sum(axis=(key & (extra - 1)).bit_count())
                self.keep(key, margin)
                return margin
        return None

    def keep(self, key: int, table: Table) -> None:
        """Keep a table; those that nobody asked for longest make room for it."""
        size = n_bytes(table.size)
        if size > self._most_bytes or key in self._tables:
            return
        while self._held + size > self._most_bytes:
            oldest = next(iter(self._tables))
            self._sizes[oldest.bit_count()] -= 1
            self._held -= n_bytes(self._tables.pop(oldest).size)
        self._tables[key] = table
        self._sizes[key.bit_count()] += 1
        self._held += size


def n_bytes(cells: int) -> int:
    """What a table of so many cells takes."""
    return _BYTES_PER_TABLE + 8 * cells


def answered(table: Table, wanted: TableSet) -> Counts:
    """Answer a question by the table of its columns, which has them in ascending order."""
    members = (*wanted.given, *wanted.axes)
    ascending = sorted(members)
    turned = table.transpose([ascending.index(j) for j in members])
    split = len(wanted.given)
    flat = np.ascontiguousarray(turned).reshape(math.prod(turned.shape))
    return counts_of_cells(flat, turned.shape[:split], turned.shape[split:])
