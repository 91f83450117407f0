"""Families that a learner is going to ask for: what an engine may count ahead of time.

Where rows are read again for every batch of questions, a few large batches are faster than many
small ones. So learners say what they expect to ask for (`DecomposableScore.expect`); a pass that is
needed anyway then counts the tables of that too, as far as there is room, the first ones first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Family
from gml.scores.base import Score, as_score

# Sets of one size that are counted ahead, needed or not.
_FEW_SETS = 256


def expect_pairs(score: Score) -> None:
    """Say that a search will want to know each column given each other one."""
    nodes = range(len(score.names))
    as_score(score).expect(lambda: ((y, (x,)) for y in nodes for x in range(y)))


def families_of_all_sets(columns: NDArray[np.int32], most: int) -> Iterator[Family]:
    """One family of each set of columns, small sets first, with so many parents at most.

    Examples
    --------
    >>> list(families_of_all_sets(np.array([0, 1, 2]), 1))
    [(0, ()), (1, ()), (2, ()), (0, (1,)), (0, (2,)), (1, (2,))]
    """
    for size in range(1, most + 2):
        for child, *parents in itertools.combinations(columns.tolist(), size):
            yield child, tuple(parents)


def families_of_few_sets(columns: NDArray[np.int32]) -> Iterator[Family]:
    """The same for as long as sets of a size are few."""
    n = len(columns)
    sizes = itertools.takewhile(lambda k: math.comb(n, k) <= _FEW_SETS, range(1, n + 1))
    return families_of_all_sets(columns, max(sizes, default=1) - 1)


def families_of_candidates(
    columns: NDArray[np.int32], candidates: Sequence[Sequence[int]], most: int
) -> Iterator[Family]:
    """Each child with its candidates, small sets first; all pairs if none are chosen yet."""
    if not candidates:
        yield from families_of_all_sets(columns, 1)
    column = columns.tolist()
    for size in range(1, most + 1):
        for x, some in enumerate(candidates):
            for parents in itertools.combinations(some, size):
                yield column[x], tuple(column[y] for y in parents)
