"""The likelihood of a log-linear model as a function of coefficients: what exact fits minimise.

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

from gml.model.undirected.boundary.excluded_cells import without_flat_part
from gml.model.undirected.coefficients import Coefficients
from gml.model.undirected.exact.clique_margins import CliqueMargins
from gml.model.undirected.exact.margin_derivatives import covariance_on_tree, covariance_times
from gml.model.undirected.fitting import NO_PENALTY, TOLERANCE, Penalty, Support
from gml.model.undirected.groups import Groups
from gml.model.undirected.observed import Observed
from gml.stopping import check_stopped

Table = NDArray[np.float64]

_MOST_ROUNDS = 10_000
_ROUNDED = 1e-15


class Point(NamedTuple):
    """The smooth part of the objective at w: its value and gradient per row, and the fit."""

    w: Table
    value: float
    gradient: Table
    log_z: float
    gap: float
    """The largest difference of a margin of a generator from the observed one."""


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
    >>> start = problem.at(np.zeros(problem.coefficients.size))
    >>> round(start.value / math.log(2), 12), start.gap < 1
    (8.0, True)
    """

    def __init__(
        self,
        observed: Observed,
        *,
        penalty: Penalty = NO_PENALTY,
        supports: Sequence[Support] = (),
        max_memory: int | None = None,
    ) -> None:
        terms = observed.terms
        self.observed = observed
        self.supports = tuple(supports)
        self._max_memory = max_memory
        self.engine = CliqueMargins(
            terms, (*terms.generators, *(s.scope for s in self.supports)), max_memory=max_memory
        )
        self.coefficients = Coefficients(terms)
        self._walls = [support.wall for support in self.supports]
        is_joint = self.coefficients.is_joint
        self.ridge = np.where(is_joint, 2 * penalty.l2 / observed.n, 0.0)
        """The second derivatives of the ridge, per row."""
        self.groups = Groups.of_terms(self.coefficients, penalty.l1 / observed.n)
        """The terms of several variables, and their l1 penalty per row."""
        self.is_penalised = is_joint & (penalty.l1 > 0 or penalty.l2 > 0)
        """Which coefficients a penalty keeps finite."""

    def at(self, w: Table) -> Point:
        """Evaluate at a vector of coefficients."""
        tables = self.coefficients.generators_of(w)
        moments = self.engine.of([*tables, *self._walls])
        margins = moments.margins[: len(tables)]
        differences = [p - q for p, q in zip(margins, self.observed.margins, strict=True)]
        fitted = math.fsum(
            float(np.vdot(table, q)) for table, q in zip(tables, self.observed.margins, strict=True)
        )
        return Point(
            w,
            moments.log_z - fitted + 0.5 * float(self.ridge @ w**2),
            self.coefficients.moments_of_generators(differences) + self.ridge * w,
            moments.log_z,
            max((float(np.abs(d).max(initial=0.0)) for d in differences), default=0.0),
        )

    def distance(self, point: Point) -> float:
        """How far from the minimum: the gap of margins or, with penalties, the (sub)gradient."""
        if self.is_penalised.any():
            return self.groups.residual(point.w, point.gradient)
        return point.gap

    def hessian(self) -> Table:
        """Return the second derivatives per row where `at` was last asked, ridge included."""
        found = covariance_on_tree(self.engine, self.coefficients, max_memory=self._max_memory)
        found[np.diag_indices(len(found))] += self.ridge
        return found

    def shortest(self, w: Table) -> Point:
        """Return the point with the same distribution whose terms have the shortest tables.

        If rounding keeps a shorter one from being the same distribution, the point is `w` itself.
        """
        if not self.supports:
            return self.at(w)
        if self.observed.terms.is_decomposable:
            cells = {support.scope: ~support.possible for support in self.supports}
            shorter = without_flat_part(self.coefficients, w, cells)
        else:
            shorter = self._shortest_on_face(w)
        point, given = self.at(shorter), self.at(w)
        return point if point.gap <= max(TOLERANCE, given.gap) else given

    def _shortest_on_face(self, w: Table) -> Table:
        """Solve covariance · found = covariance · w by conjugate gradients.

        Coefficients that a maximum at infinity leaves open are directions in which nothing that is
        possible varies: the null space of the covariance under the uniform distribution of what is
        possible. Conjugate gradients from 0 never leave its complement, but by rounding: they stop
        where residuals are nothing beside the covariance times w, or directions hardly vary.
        """
        self.at(np.zeros_like(w))
        # The length over all cells is the plain one of coefficients times the roots of cells.
        scale = np.sqrt(self.coefficients.cells)
        found = np.zeros_like(w)
        residual = self._covariance_of(w) / scale
        direction = residual.copy()
        norm = float(residual @ residual)
        length, largest = float((scale * w) @ (scale * w)), 0.0
        for _ in range(min(_MOST_ROUNDS, 10 * len(w))):
            check_stopped()
            image = self._covariance_of(direction / scale) / scale
            spread, square = float(direction @ image), float(direction @ direction)
            # The largest variance so far; that of what is left is to be more than its rounding.
            largest = max(largest, spread / square if square else 0.0)
            if norm <= (_ROUNDED * largest) ** 2 * length or spread <= _ROUNDED * largest * square:
                break
            step = norm / spread
            found += step * direction
            residual -= step * image
            before, norm = norm, float(residual @ residual)
            direction = residual + (norm / before) * direction
        return found / scale

    def _covariance_of(self, v: Table) -> Table:
        return covariance_times(self.engine, self.coefficients, v[:, None])[:, 0]
