"""What fits of all methods take and return.

Penalties are on the strength of the terms with two or more variables: with s_c the root mean square
of λ_c over its cells (|J| for two levels each), the maximum is that of

    ln P(data) − l1 · Σ_c s_c − l2 · Σ_c s_c²,

a group lasso and a ridge; terms of one variable are free. Smoothing adds its number of rows to the
data, spread evenly over the full joint table, so that every margin gets its share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, UsageError, parameter
from gml.model.undirected.terms import Scope

Table = NDArray[np.float64]

# Beyond these, squares and quotients leave the range of doubles.
_LEAST, _MOST = 1e-30, 1e30


class OutOfTime(CannotAnswer):
    """The deadline passed before there was an estimate."""


class NoPseudoMaximum(CannotAnswer):
    """The pseudo-likelihood has no maximum, or smoothing needs too many configurations for it."""


@dataclass(frozen=True)
class Penalty:
    """l1 and l2 by which strengths of terms are penalised, and the rows of smoothing."""

    l1: float = 0.0
    l2: float = 0.0
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        for name in ("l1", "l2", "smoothing"):
            value = getattr(self, name)
            if value != 0 and not _LEAST <= value <= _MOST:
                raise UsageError(
                    f"{parameter(name)} must be 0, or between {_LEAST:g} and {_MOST:.0e}, not "
                    f"{value}".replace("e+", "e")
                )

    @property
    def is_likelihood(self) -> bool:
        """Whether what is maximised is the likelihood of the data alone."""
        return self.l1 == 0 and self.l2 == 0 and self.smoothing == 0


NO_PENALTY = Penalty()
FEWEST_CHAINS = 2
"""Chains of contrastive divergence: Monte Carlo errors come from differences between them."""

TOLERANCE = 1e-9
"""At which a fit has converged: a gap in probabilities, or a derivative per row."""


@dataclass(frozen=True)
class Support:
    """The cells of some variables that are possible; all others have probability 0."""

    scope: Scope
    possible: NDArray[np.bool_]

    @property
    def wall(self) -> Table:
        """The log-potential that excludes the others: 0 or −∞."""
        return np.where(self.possible, 0.0, -math.inf)


@dataclass(frozen=True)
class Fitted:
    """The terms of a fitted model in the sum-to-zero gauge, and how the fit went."""

    tables: Sequence[Table]
    """One per term, in the order of `Terms.all`; finite."""
    method: str
    algorithm: str
    converged: bool
    iterations: int
    gap: float | None
    """The largest difference of a margin of a generator from the observed one, in probabilities."""
    log_z: float | None
    """Exact; None where it is not computed."""
    supports: tuple[Support, ...] = ()
    """What else is impossible, where the maximum lies at infinity."""
    pseudo_log_likelihood: float | None = None
    gradient: float | None = None
    """The largest derivative per row where the fit ended, of what pseudo-likelihood maximises."""
    notes: tuple[str, ...] = field(default=())
    """What the user should be told, one sentence each."""
