"""Refuse tables that reveal few rows, and so perhaps single people.

That means a cell that stands for few rows, and a small difference between two numbers of a file:
rows that one of two tables leaves out for missing values are revealed by subtraction. Bounds that
follow from several tables together are not looked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from gml.counts.countfile import DECLARED, CountFile
from gml.data.resampling import sorted_equal_cells
from gml.errors import CannotAnswer, agreeing, counted, listing, parameter, quote

_SHOWN_SETS = 4


def require_large_cells(counts: CountFile, least: int) -> None:
    """Refuse tables that reveal few rows, by a cell or by subtraction."""
    what = parameter("min_cell")
    _require_levels_with_rows(counts, what)
    _require_cells(counts, least, what)
    _require_many_missing(counts, least, what)
    _require_differences(counts, least, what)


def _require_cells(counts: CountFile, least: int, what: str) -> None:
    """Refuse cells that stand for few rows."""
    small = np.flatnonzero(counts.counts < least)
    if len(small) == 0:
        return
    of_set = np.searchsorted(counts.starts, small, side="right") - 1
    found = np.unique(of_set).tolist()
    shown = "; ".join(
        f"{listing(counts.names_of(k))} has {int(counts.cells(k)[1].min())}"
        for k in found[:_SHOWN_SETS]
    )
    more = f" and {len(found) - _SHOWN_SETS} more" if len(found) > _SHOWN_SETS else ""
    have = agreeing(len(found), "has", "have")
    raise CannotAnswer(
        f"{len(found)} of {len(counts.sets)} tables {have} a cell below {what} {least}: {shown}"
        f"{more}; nothing was written; count smaller sets, fewer columns or coarser levels "
        f"({parameter('cut')})"
    )


def _require_levels_with_rows(counts: CountFile, what: str) -> None:
    """Refuse labels that occur only in rows that were left out: there may be very few of these."""
    first_with = {j: k for k in reversed(range(len(counts.sets))) for j in counts.axes[k]}
    for j, k in first_with.items():
        column = counts.columns[j]
        seen = np.unique(counts.cells(k)[0][:, counts.axes[k].index(j)])
        if column.source != DECLARED and len(seen) < len(column.levels):
            bare = sorted(set(range(len(column.levels))) - set(seen.tolist()))
            raise CannotAnswer(
                f"{what}: only rows that were left out have the values "
                f"{listing(column.levels[code] for code in bare)} of column {quote(column.name)}, "
                f"so nothing was written; declare the {parameter('levels')}, or leave no rows out"
            )


def _require_many_missing(counts: CountFile, least: int, what: str) -> None:
    """Refuse to reveal that a value is missing in few rows, or that few rows were dropped."""
    # Besides what was noted: a table with gaps has fewer rows, whoever made it.
    lacking = zip(counts.sets, (counts.n - counts.rows).tolist(), strict=True)
    missing = {counts.names[members[0]]: n for members, n in lacking if len(members) == 1}
    numbers = {"rows dropped": counts.dropped}
    for name, n in (missing | dict(counts.missing)).items():
        numbers[f"missing values of {quote(name)}"] = n
        numbers[f"rows dropped that have a value of {quote(name)}"] = counts.dropped - n
    for whose, n in numbers.items():
        if 0 < n < least:
            raise CannotAnswer(
                f"{whose}: {n}, below {what} {least}; nothing was written; take rows with missing "
                "values out of the data before counting, or leave out columns"
            )


def _require_differences(counts: CountFile, least: int, what: str) -> None:
    """Refuse two tables if a cell of the columns they share differs between them by few rows.

    A table has the rows that are complete in those of its columns that have gaps. So the cells of
    the columns that two tables share are comparable if one table has no gaps in its others.
    """
    sets = [frozenset(members) for members in counts.sets]
    gaps = {
        members[0]
        for members, rows in zip(counts.sets, counts.rows.tolist(), strict=True)
        if len(members) == 1 and rows < counts.n
    }
    if not gaps:
        return
    parts = [_parts(members, sets) for members in sets]
    whole = {
        part: k for k in reversed(range(len(sets))) for part in parts[k] if sets[k] & gaps <= part
    }
    for k in range(len(sets)):
        for part in sorted(sorted(map(sorted, parts[k])), key=len):
            j = whole.get(frozenset(part))
            if j is None or counts.rows[j] == counts.rows[k]:
                continue
            difference = _least_difference(counts, j, k, part)
            if difference < least:
                names = [listing(counts.names_of(i)) for i in (j, k)]
                raise CannotAnswer(
                    f"the tables of {names[0]} and of {names[1]} differ by "
                    f"{counted(difference, 'row')} in a cell, below {what} {least}; nothing was "
                    f"written; count complete rows only ({parameter('missing', 'drop')}), or leave "
                    "out columns"
                )


def _parts(members: frozenset[int], sets: Sequence[frozenset[int]]) -> set[frozenset[int]]:
    """The columns that a set has, or may have, in common with others."""
    if 1 << len(members) > len(sets):
        found = {members & other for other in sets}
    else:
        sizes = range(1, len(members) + 1)
        found = set(map(frozenset, chain.from_iterable(combinations(members, s) for s in sizes)))
    return found - {frozenset()}


def _least_difference(counts: CountFile, j: int, k: int, part: list[int]) -> int:
    """The fewest rows, if any, in a cell of some columns that table j has and table k lacks."""
    if all(counts.columns[column].is_numeric for column in part):
        return int(abs(counts.rows[j] - counts.rows[k]))
    columns: list[NDArray[np.uint16]] = []
    (mine, my_counts), (theirs, their_counts) = counts.cells(j), counts.cells(k)
    for column in part:
        if counts.columns[column].is_numeric:
            continue
        here, there = counts.axes[j].index(column), counts.axes[k].index(column)
        columns.append(np.concatenate([mine[:, here], theirs[:, there]]))
    _, differences = sorted_equal_cells(columns, np.concatenate([my_counts, -their_counts]))
    return int(differences.min())
