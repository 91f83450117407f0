"""The likelihood of a log-linear model as a function of coordinates: what exact fits minimise.

Per row, −ln P(data) = ln Z(w) − w·m with m the observed moments: convex, its gradient the fitted
moments less the observed ones, and its Hessian the covariance of the features (Koller & Friedman
2009, section 20.3). It is the dual of maximising the entropy among distributions with moments m.
Where the maximum lies at infinity, all this is said of the distributions on a face: `supports`
forbid the cells outside of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.model.undirected.clique_margins import CliqueMargins
from gml.model.undirected.contrasts import Contrasts
from gml.model.undirected.fitting import Penalty, Support
from gml.model.undirected.margin_derivatives import covariance_times, feature_covariances
from gml.model.undirected.observed import Observed

Table = NDArray[np.float64]


class Point(NamedTuple):
    """The smooth part of the objective at w: its value and gradient per row, and the fit."""

    w: Table
    value: float
    gradient: Table
    log_z: float
    gap: float
    """The largest difference of a margin of a generator from the observed one."""


class Group(NamedTuple):
    """Coordinates whose length is penalised, and how much per row."""

    at: slice
    weight: float


class MomentMatching:
    """ln Z − w·m and the ridge, their gradient and Hessian, on the junction tree.

    Examples
    --------
    >>> import gml
    >>> from gml.model.undirected.observed import observed_margins
    >>> from gml.model.undirected.terms import Terms
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> terms = Terms.of(counter.variables, [["lung", "smoke"]])
    >>> problem = MomentMatching(observed_margins(counter, terms))
    >>> start = problem.at(np.zeros(problem.contrasts.dimension))
    >>> round(start.value / math.log(2), 12), start.gap < 1
    (8.0, True)
    """

    def __init__(
        self,
        observed: Observed,
        *,
        penalty: Penalty | None = None,
        supports: Sequence[Support] = (),
        max_memory: int | None = None,
    ) -> None:
        penalty = penalty or Penalty()
        terms = observed.terms
        self.observed = observed
        self.supports = tuple(supports)
        self._max_memory = max_memory
        self.engine = CliqueMargins(
            terms, (*terms.generators, *(s.scope for s in self.supports)), max_memory=max_memory
        )
        self.contrasts = Contrasts(terms)
        self._forbidden = [np.where(s.possible, 0.0, -math.inf) for s in self.supports]
        self.ridge = np.zeros(self.contrasts.dimension)
        """The second derivatives of the ridge, per row."""
        self.is_penalised = np.zeros(self.contrasts.dimension, dtype=np.bool_)
        """Which coordinates a penalty keeps finite."""
        self.groups: list[Group] = []
        """The terms of several variables, if they have an l1 penalty."""
        for scope, at in zip(terms.all, self.contrasts.slices, strict=True):
            cells = math.prod(terms.shape(scope))
            if len(scope) > 1 and at.start < at.stop:
                self.is_penalised[at] = penalty.l1 > 0 or penalty.l2 > 0
                self.ridge[at] = 2 * penalty.l2 / (observed.n * cells)
                if penalty.l1 > 0:
                    self.groups.append(Group(at, penalty.l1 / (observed.n * math.sqrt(cells))))

    def at(self, w: Table) -> Point:
        """Evaluate at coordinates."""
        tables = self.contrasts.generators_of(w)
        moments = self.engine.of([*tables, *self._forbidden])
        margins = moments.margins[: len(tables)]
        differences = [p - q for p, q in zip(margins, self.observed.margins, strict=True)]
        fitted = math.fsum(
            float(np.vdot(table, q)) for table, q in zip(tables, self.observed.margins, strict=True)
        )
        return Point(
            w,
            moments.log_z - fitted + 0.5 * float(self.ridge @ w**2),
            self.contrasts.gradient(differences) + self.ridge * w,
            moments.log_z,
            max((float(np.abs(d).max(initial=0.0)) for d in differences), default=0.0),
        )

    def hessian(self) -> Table:
        """Return the second derivatives per row where `at` was last asked, ridge included."""
        found = feature_covariances(self.engine, self.contrasts, max_memory=self._max_memory)
        found[np.diag_indices(len(found))] += self.ridge
        return found

    def shortest(self, w: Table) -> Table:
        """Return the shortest coordinates that give the same distribution.

        Those that a maximum at infinity leaves open are directions in which nothing that is
        possible varies: the null space of the covariance under the uniform distribution of what is
        possible. Conjugate gradients from 0 never leave its complement.
        """
        if not self.supports:
            return w
        self.at(np.zeros_like(w))
        found = np.zeros_like(w)
        residual = self._covariance_of(w)
        direction = residual.copy()
        norm = first = float(residual @ residual)
        for _ in range(10 * len(w)):
            if norm <= 1e-30 * first:
                break
            image = self._covariance_of(direction)
            step = norm / float(direction @ image)
            found += step * direction
            residual -= step * image
            before, norm = norm, float(residual @ residual)
            direction = residual + (norm / before) * direction
        return found

    def _covariance_of(self, v: Table) -> Table:
        return covariance_times(self.engine, self.contrasts, v[:, None])[:, 0]
