"""How far apart the numbers of tables are, and whether their products fit into doubles.

The kernel of elimination multiplies numbers of at most 1 into tables that begin at 2^500, and
scales messages so that their largest number is near 1. So nothing possible is lost while what is
multiplied in one step spans less than a message can hold. A message is the sum of a product over
what was eliminated; where no cell is impossible, it changes with its axes by no more than the
factors that have one of them do. An impossible cell may carry a change through the whole tree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.model.factor import Factor

WIDEST = 650.0
"""What a step may span, in logarithms: the smallest double of full precision is exp(−708)."""


def log_span(factor: Factor) -> float:
    """Return by how much the logarithms of the possible cells differ.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> log_span(Factor((Variable("a", ("x", "y", "z")),), np.array([1.0, 0.0, math.e])))
    1.0
    """
    if factor.log_table is not None:
        possible = factor.log_table[factor.log_table > -math.inf]
        return float(np.ptp(possible)) if possible.size else 0.0
    positive = factor.table[factor.table > 0]
    if not positive.size:
        return 0.0
    return math.log(float(positive.max())) - math.log(float(positive.min()))


def excludes(factor: Factor) -> bool:
    """Whether a cell is impossible."""
    if factor.log_table is not None:
        return bool(np.isneginf(factor.log_table).any())
    return not factor.table.all()


def is_beyond_doubles(
    spans: NDArray[np.float64],
    scopes: Sequence[Sequence[int]],
    cliques: Sequence[Sequence[int]],
    *,
    excludes: bool,
) -> bool:
    """Whether an elimination may lose what is possible, by the span of each of its factors.

    `excludes` says whether a factor has an impossible cell.
    """
    if spans.sum() <= WIDEST:
        return False
    if excludes:
        return True
    at: dict[int, list[int]] = {}
    for k, scope in enumerate(scopes):
        for node in scope:
            at.setdefault(node, []).append(k)
    return any(
        spans[sorted({k for node in clique for k in at.get(node, ())})].sum() > WIDEST
        for clique in cliques
    )
