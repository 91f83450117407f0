"""One matrix for numbers and labels (`gml.counts.expanded_moments`), by two passes over chunks.

The first finds ranges of numbers and levels that occur, the second adds up products. Numbers are
added up with all their bits; those that turn out to be unused in all rows are dropped from the
sums, so that these are the same as if they had been known before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gml.counts.exact_moments import FIXED_POINT_BITS, Frame
from gml.counts.expanded_moments import ExpandedMoments, bytes_of_matrix
from gml.counts.integer_gram import limbs_needed
from gml.counts.pass_work import Entry, Gram, GramPart, Seen, gram_of

if TYPE_CHECKING:
    from gml.counts.passes import PassCounter


def expanded_in_passes(
    counter: PassCounter, sets: Sequence[Sequence[int]]
) -> list[ExpandedMoments]:
    """Return the moments of sets of columns, over the rows complete in each set."""
    if not sets:
        return []
    variables = counter.variables
    for columns in sets:
        n_numbers = sum(variables[j].is_continuous for j in columns)
        needed = bytes_of_matrix(n_numbers, n_numbers, n_numbers, 0)
        counter.require(needed, f"the correlations of {len(columns)} columns")
    members = [j for columns in sets for j in columns]

    entries = [_entries(*asked) for asked in zip(sets, counter.seen_in(sets), strict=True)]
    for of_set in entries:
        n_limbs = sum(1 if e.level >= 0 else limbs_needed(1 << FIXED_POINT_BITS) for e in of_set)
        needed = bytes_of_matrix(len(of_set), n_limbs, 0, 0)
        counter.require(
            needed, f"the correlations of {len(of_set)} numbers and indicators of levels"
        )

    def gram_on(place: Mapping[int, int]) -> Gram:
        return Gram(
            [[place[j] for j in columns] for columns in sets],
            [[e._replace(column=place[e.column]) for e in of_set] for of_set in entries],
            FIXED_POINT_BITS,
        )

    found = counter.ask(members, gram_on)
    return [_expanded(*asked) for asked in zip(sets, entries, found, strict=True)]


def _entries(columns: Sequence[int], seen: Sequence[Seen]) -> list[Entry]:
    """The rows of the matrix: numbers that vary, and all levels that occur but the first."""
    found: list[Entry] = []
    for j, of_column in zip(columns, seen, strict=True):
        if of_column.levels is None:
            if of_column.low < of_column.high:
                found.append(Entry(j, -1, Frame.between(of_column.low, of_column.high)))
            continue
        for level in np.flatnonzero(of_column.levels)[1:].tolist():
            found.append(Entry(j, level, Frame(0.0, 0)))
    return found


def _expanded(columns: Sequence[int], entries: Sequence[Entry], part: GramPart) -> ExpandedMoments:
    gram, spare = gram_of(part, entries)
    owners = np.array([entry.column for entry in entries], dtype=np.int32)
    return ExpandedMoments(
        part.n,
        owners,
        np.array([entry.level for entry in entries], dtype=np.int32),
        {j: np.flatnonzero(owners == j).astype(np.int32) for j in columns},
        tuple(entry.frame.centre for entry in entries),
        tuple(entry.frame.scale - bits for entry, bits in zip(entries, spare, strict=True)),
        gram,
    )
