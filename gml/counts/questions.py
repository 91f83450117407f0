"""What an engine is asked for: tables, families and tests, as positions of columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.name_order import NameOrder


class TableSet(NamedTuple):
    """A table to count: one or two axes, given a conditioning set (column positions)."""

    axes: tuple[int, ...]
    given: tuple[int, ...] = ()


class Question(NamedTuple):
    """Moments to find: of columns of numbers, within configurations of labels, if there are any."""

    columns: tuple[int, ...]
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
    """Families with the same number of parents, as rows (child, *parents) of an integer matrix."""

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
    """Return i and j of some of the pairs i < j of nodes, which are ordered by i and then by j.

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


def tables_of(order: NameOrder, triples: Iterable[Triple]) -> list[TableSet]:
    """Return the tables of tests, x and y and Z in order of their names."""
    return [TableSet(order.sorted((x, y)), order.sorted(given)) for x, y, given in triples]


def family_set(order: NameOrder, family: Family) -> TableSet:
    """Return the table of a family, the parents in order of their names."""
    child, parents = family
    return TableSet((child,), order.sorted(parents))


def family_sets(order: NameOrder, families: Iterable[Family]) -> list[TableSet]:
    """Return the tables of families."""
    return [family_set(order, family) for family in families]
