"""What a path of penalised regressions is asked for, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


class GroupedColumns(NamedTuple):
    """Indicator columns as bits, in groups, and an orthonormal basis of each group.

    A row's value in dimension m of a group is Σ_j (its bit in column j − mean of j) · basis[j, m].
    """

    masks: NDArray[np.uint8]
    """Columns × bytes; row i is bit i % 8 of byte i // 8."""
    starts: NDArray[np.int64]
    """Group g has the columns from starts[g] up to starts[g + 1]."""
    means: Numbers
    ranks: NDArray[np.int32]
    """Dimensions of the groups; one of 0 is left out."""
    bases: Numbers
    """By group: columns × dimensions, end to end."""
    base_starts: NDArray[np.int64]
    group_weights: Numbers


class Response(NamedTuple):
    """The classes of the rows, the weights by which they are fitted, and those to be predicted."""

    classes: NDArray[np.int32]
    n_classes: int
    weights: Numbers
    """They add up to 1; every class has some."""
    held_out: Numbers | None = None


class PathRule(NamedTuple):
    """Which penalties are looked at, and how closely."""

    n_penalties: int
    ratio: float
    """The last penalty in shares of the first, at which no group has coefficients."""
    penalties: Numbers | None = None
    """The penalties, the largest first, where they are not to be chosen."""
    cost: float = 0.0
    """What a parameter costs in −2 ln L per row; with 0 the path is not cut short."""
    tolerance: float = 1e-7
    """By how much the conditions of a minimum may be missed, in shares of the penalty."""
    room: int = 1 << 40
    """The most numbers that the Hessian may have."""
    watch: Callable[[float], bool] | None = None
    """Asked now and then, with the share of the path that is done, whether to go on."""


class PenaltyPath(NamedTuple):
    """The penalties that were looked at, and what was found at each."""

    penalties: Numbers
    losses: Numbers
    """The mean of −ln p over the rows."""
    held_out: Numbers
    """The same of the rows to be predicted, times their weight."""
    gaps: Numbers
    """By how much the conditions of a minimum are missed, in shares of the penalty."""
    parameters: NDArray[np.int64]
    norms: Numbers
    """Penalties × groups."""
    needed: int = 0
    """Numbers that a Hessian would have had that was too large; 0 where none was."""
    is_wanted: bool = True
    """Whether the one who watched let it go on to its end."""
