"""Whether parameters match the observed moments: by the junction tree, or by chains.

A gap that chains cannot see is not a gap that is not there: what counts is how large it may be. The
unit is the standard error of the moment in the data, √(variance / n), since a gap well below it
changes nothing that the data could tell. Each gap and its own Monte Carlo error together must stay
below a quarter of the bound that holds for the errors of all moments in the data at once
(Bonferroni).

The junction tree, where it is small, has the moments without any error. Beyond it two sets of
chains run at fixed parameters, those of the fit, which began at rows, and others, which begin at
even draws: they go on until errors are small enough, and must agree (as Gelman & Rubin 1992 ask of
chains that start far from one another). Chains that stay where they began cannot pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer
from gml.model.undirected.chains.gibbs import GibbsChains
from gml.model.undirected.chains.moment_gaps import MomentCheck, bonferroni_bound
from gml.model.undirected.chains.moments import ChainMoments, States
from gml.model.undirected.coefficients import Coefficients, Vector
from gml.model.undirected.exact.clique_margins import CliqueMargins
from gml.model.undirected.terms import Scope
from gml.progress import Deadline

Table = NDArray[np.float64]

# A gap of so much of the bound takes some d/32 nats of the likelihood for d parameters.
_SHARE_OF_BOUND = 0.25
# Cells of all cliques up to which a pass over the junction tree is as quick as some sweeps.
_FEW_CELLS = 1 << 20
_BURN_IN = 100
_SWEEPS = 100
# States per row of data that make Monte Carlo errors a tenth of those of the data, if a chain
# takes two sweeps to forget where it was.
_MOST_STATES_PER_ROW = 200


class ExactMoments:
    """The moments of a model by its junction tree, again and again for other parameters."""

    def __init__(
        self,
        coefficients: Coefficients,
        zeros: Mapping[Scope, NDArray[np.bool_]],
        max_memory: int | None,
    ) -> None:
        terms = coefficients.terms
        self._coefficients = coefficients
        self._walls = [np.where(zero, -np.inf, 0.0) for zero in zeros.values()]
        self._margins = CliqueMargins(terms, (*terms.generators, *zeros), max_memory=max_memory)

    @classmethod
    def if_small(
        cls,
        coefficients: Coefficients,
        zeros: Mapping[Scope, NDArray[np.bool_]],
        max_memory: int | None,
    ) -> ExactMoments | None:
        """Return None where the tables of the tree are large."""
        try:
            found = cls(coefficients, zeros, max_memory)
        except CannotAnswer:
            return None
        return found if found._margins.cells <= _FEW_CELLS else None

    def at(self, vector: Vector) -> Vector:
        """Return the expected products of contrasts."""
        _, margins = self._margins.of([*self._coefficients.generators_of(vector), *self._walls])
        n_generators = len(self._coefficients.terms.generators)
        return self._coefficients.moments_of_generators(margins[:n_generators])


def allowed_gaps(coefficients: Coefficients, margins: Sequence[Table], n: float) -> Vector:
    """Return how large a gap of each moment may be, given the observed margins of the terms."""
    means = coefficients.moments(margins)
    variances = coefficients.mean_squares(margins) - means**2
    # No data are so sure of a moment that one row more would not move it.
    errors = np.sqrt(np.maximum(variances, 1 / n) / n)
    return _SHARE_OF_BOUND * bonferroni_bound(coefficients.size, None) * errors


class ChainCheck:
    """Moments of sets of chains at fixed parameters, in groups of chains."""

    def __init__(
        self, features: ChainMoments, n_groups: int, allowed: Vector, *, from_start: bool
    ) -> None:
        self._features, self._n_groups, self._allowed = features, n_groups, allowed
        self._from_start = from_start
        """Whether changes since chains began at rows are compared, as by contrastive divergence."""

    def run(
        self,
        sets: Sequence[GibbsChains],
        moved: Callable[[GibbsChains], States | None],
        left: Callable[[Vector], tuple[Vector, Vector]],
        n: float,
        deadline: Deadline,
    ) -> MomentCheck | None:
        """Run the chains until it is clear whether gaps are small; None if there is no time.

        `left` turns means into what is left of the gradient, and into observed less expected.
        """
        for chains in sets[1:]:
            chains.sweep(_BURN_IN)
        sums = np.zeros((len(sets), self._n_groups, self._allowed.size))
        n_chains = sum(chains.n_chains for chains in sets)
        most = max(_SWEEPS, math.ceil(_MOST_STATES_PER_ROW * n / n_chains))
        done, planned = 0, _SWEEPS
        while True:
            for _ in range(planned - done):
                if deadline.passed:
                    return None
                for own, chains in zip(sums, sets, strict=True):
                    before = moved(chains)
                    own += self._features.group_means(chains.states, self._n_groups)
                    if before is not None and self._from_start:
                        own -= self._features.group_means(before, self._n_groups)
            done = planned
            check = self._of(sums / done, left)
            if done >= most or check.passes() or check.fails_surely():
                return check
            planned = min(2 * done, most)

    def _of(self, averages: Table, left: Callable[[Vector], tuple[Vector, Vector]]) -> MomentCheck:
        means = averages.mean(axis=1)
        squares = averages.var(axis=1, ddof=1) / self._n_groups
        residual, difference = left(means.mean(axis=0))
        errors = np.sqrt(squares.sum(axis=0)) / len(means)
        agree = True
        if len(means) == 2:
            bound = bonferroni_bound(self._allowed.size, self._n_groups)
            apart = np.abs(means[0] - means[1])
            chance = bound * np.sqrt(squares.sum(axis=0))
            agree = bool((apart <= np.maximum(chance, self._allowed) + 1e-12).all())
        return MomentCheck(residual, errors, difference, self._allowed, agree)
