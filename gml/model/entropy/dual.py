"""The dual of maximum entropy: its value and gradient, and on a junction tree its Hessian.

Minimising D(p‖p₀) under E φ = a (or ≥ a) has the dual: minimise ln Z(x) − x·a over multipliers x of
the features φ, those of inequalities not negative (Boyd & Vandenberghe 2004, section 5.7.2). It is
convex; its gradient is E φ − a, which has to vanish, or where a multiplier is 0 must not be
negative, and its Hessian is the covariance of the features.

The features are the contrasts of the margins' terms and those of the other constraints, in this
order. Where cells are impossible, some directions change nothing: no step has a part along them
(`nothing`), so that from 0 the solution is the shortest one. A feature that the ones before it
determine, on what is possible, is not used, and has the multiplier 0; upper and lower bounds are
held against equations alone. Bounds that leave one another no room (polytope.py) are equations
here, whose multipliers may be negative until prices.py has chosen those that are reported.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gml.errors import parameter
from gml.model.entropy.problem import Problem
from gml.model.entropy.redundant import Alike, alike_bounds, undetermined
from gml.model.undirected.boundary.face import directions_of
from gml.model.undirected.exact.clique_margins import CliqueMargins, Moments
from gml.model.undirected.exact.margin_derivatives import margin_derivatives
from gml.model.undirected.fitting import OutOfTime, Support
from gml.model.undirected.terms import Scope
from gml.progress import Deadline
from gml.resources import budget_in_force, require_memory

Table = NDArray[np.float64]
Vector = NDArray[np.float64]

_MOST_PRODUCTS = 10_000_000
# Directions whose tables stay in the cache.
_LARGEST_BATCH = 128


class Engine(Protocol):
    """What finds ln Z and margins of scopes, again and again for other log-potentials."""

    def of(self, log_tables: Sequence[Table]) -> Moments:
        """Return ln Z and the margins of all scopes."""


class Point(NamedTuple):
    """The dual at x, and what the distribution there says about the constraints."""

    x: Vector
    value: float
    gradient: Vector
    log_z: float
    gap: float
    """The largest difference of a margin from the given one."""
    margins: list[Table]
    """Of the engine's scopes."""


def scopes_of(problem: Problem, supports: Sequence[Support]) -> tuple[Scope, ...]:
    """Return the scopes of all tables: generators, features, the reference, what is excluded."""
    return (
        *problem.terms.generators,
        *problem.feature_scopes,
        *(table.scope for table in problem.reference),
        *(support.scope for support in supports),
    )


class EntropyDual:
    """The dual of a problem, again and again for other multipliers.

    The engine's scopes are those of `scopes_of`.
    """

    def __init__(
        self,
        problem: Problem,
        engine: Engine,
        supports: Sequence[Support] = (),
        without_room: Collection[int] = (),
    ) -> None:
        self.problem = problem
        self.supports = tuple(supports)
        self.engine = engine
        self.feature_scopes = problem.feature_scopes
        self._at = {scope: k for k, scope in enumerate(self.feature_scopes)}
        self._fixed = [
            *(table.table for table in problem.reference),
            *(support.wall for support in self.supports),
        ]
        self._observed = problem.observed()
        self._given = {margin.scope for margin in problem.margins}
        self.coefficients = problem.coefficients
        self.used = problem.used()
        self.n_terms = int(np.count_nonzero(self.used))
        self.targets = np.array([feature.target for feature in problem.features])
        is_bound = [feature.is_bound for feature in problem.features]
        self.is_equal = np.zeros(self.size, dtype=bool)
        """Which bounds are solved as equations, as they leave no room."""
        self.is_equal[[self.n_terms + k for k in without_room]] = True
        self.is_bounded = np.array([False] * self.n_terms + is_bound, dtype=bool) & ~self.is_equal
        """Which multipliers must not be negative."""
        self.is_kept = np.ones(self.size, dtype=bool)
        """Which features are used, after `prepare`."""
        self.nothing: Table | None = None
        """What makes Hessians regular, after `prepare`; None where they are."""
        self.alike: tuple[Alike, ...] = ()
        """Bounds that are multiples of one another, after `prepare`."""
        self.covariance: Table | None = None
        """Of the features where all possible cells are alike, after `prepare`."""
        self._is_prepared = False

    @property
    def size(self) -> int:
        """The number of multipliers: coefficients of margins, then those of features."""
        return self.n_terms + len(self.problem.features)

    def coefficients_of(self, x: Vector) -> Vector:
        """Return the coefficients of all terms; those of no margin are 0."""
        found = np.zeros((self.coefficients.size, *x.shape[1:]))
        found[self.used] = x[: self.n_terms]
        return found

    def tables(self, x: Vector) -> list[Table]:
        """Return the exponents over the generators and the scopes of the features.

        Further axes of x are theirs, too.
        """
        more = x.shape[1:]
        found = [
            np.zeros((*self.problem.terms.shape(scope), *more)) for scope in self.feature_scopes
        ]
        for feature, number in zip(self.problem.features, x[self.n_terms :], strict=True):
            for part in feature.parts:
                at = self._at[part.scope]
                shape = (*part.table.shape, *[1] * len(more))
                found[at] += part.table.reshape(shape) * number
        return [*self.coefficients.generators_of(self.coefficients_of(x)), *found]

    def at(self, x: Vector) -> Point:
        """Evaluate at a vector of multipliers."""
        tables = self.tables(x)
        moments = self._moments([*tables, *self._fixed])
        generators = self.problem.terms.generators
        differences = [
            own - given
            for own, given in zip(moments.margins[: len(generators)], self._observed, strict=True)
        ]
        gaps = [
            float(np.abs(difference).max(initial=0.0))
            for difference, scope in zip(differences, generators, strict=True)
            if scope in self._given
        ]
        fitted = math.fsum(
            float(np.vdot(table, given))
            for table, given in zip(tables, self._observed, strict=False)
        )
        in_features = moments.margins[len(generators) :]
        return Point(
            x,
            moments.log_z - fitted - float(x[self.n_terms :] @ self.targets),
            np.concatenate(
                [
                    self.coefficients.moments_of_generators(differences)[self.used],
                    self._expected(in_features) - self.targets,
                ]
            ),
            moments.log_z,
            max(gaps, default=0.0),
            moments.margins,
        )

    def _moments(self, log_tables: Sequence[Table]) -> Moments:
        """Ask the engine."""
        return self.engine.of(log_tables)

    def _expected(self, margins: Sequence[Table], more: tuple[int, ...] = ()) -> Vector:
        """Return the expectations of the features; `more` are further axes of the margins."""
        found = np.zeros((len(self.problem.features), *more))
        for k, feature in enumerate(self.problem.features):
            for part in feature.parts:
                margin = margins[self._at[part.scope]]
                found[k] += np.tensordot(part.table, margin, axes=part.table.ndim)
        return found

    def magnitudes(self, point: Point) -> Vector:
        """Return what the parts of each gradient add up to without their signs, at most.

        Rounding errors of the gradient are in proportion to it.
        """
        margins = point.margins[len(self.problem.terms.generators) :]
        found = np.ones(self.size)
        for k, feature in enumerate(self.problem.features):
            found[self.n_terms + k] = abs(feature.target) + math.fsum(
                float(np.vdot(np.abs(part.table), margins[self._at[part.scope]]))
                for part in feature.parts
            )
        return found

    def distance(self, point: Point) -> float:
        """How far the conditions of a solution are from being met, at most."""
        rest = point.gradient[self.n_terms :]
        bounded = self.is_bounded[self.n_terms :]
        numbers = point.x[self.n_terms :]
        residuals = np.where(bounded, np.minimum(numbers, rest), rest)
        # Of bounds that others make equations, room within rounding is no residual.
        others = (self.is_equal & ~self.is_kept)[self.n_terms :]
        residuals[others] = np.minimum(residuals[others], 0.0)
        return max(point.gap, float(np.abs(residuals).max(initial=0.0)))

    def largest_exponent(self, x: Vector) -> float:
        """Return the largest absolute number of any table of exponents."""
        return max((float(np.abs(t).max(initial=0.0)) for t in self.tables(x)), default=0.0)

    def log_z_of_reference(self) -> float:
        """Return ln of the sum of the reference over all cells."""
        n = len(self.problem.reference)
        walls = [np.zeros(support.possible.shape) for support in self.supports]
        nothing = self.tables(np.zeros(self.size))
        return self._moments([*nothing, *self._fixed[:n], *walls]).log_z

    def curvature(self, point: Point) -> Table:
        """Return the second derivatives at a point, or what stands for them."""
        raise NotImplementedError

    def updated(self, hessian: Table, point: Point, before: Point) -> None:
        """Make what stands for a Hessian agree with how the gradient changed since a point.

        That is the formula of BFGS (Nocedal & Wright 2006, equation 6.19).
        """
        step = np.where(self.is_kept, point.x - before.x, 0.0)
        change = point.gradient - before.gradient
        along, image = float(change @ step), hessian @ step
        within = float(step @ image)
        if along > 0 and within > 0:
            hessian -= np.outer(image, image) / within
            hessian += np.outer(change, change) / along

    def on_what_is_possible(self) -> Table:
        """Return the covariance of the features where all possible cells are alike."""
        raise NotImplementedError

    def prepare(self, *, curved: bool = True) -> None:
        """Find out which features are used and, for a Hessian, what makes it regular.

        Without walls and features there is nothing to find.
        """
        n, d = self.n_terms, self.size
        has_walls = curved and n > 0 and any(np.isneginf(table).any() for table in self._fixed)
        if self._is_prepared or not (self.problem.features or has_walls):
            return
        self._is_prepared = True
        require_memory(8 * 4 * d * d, None, "the covariance of the features")
        # Which cells there are is all that matters.
        covariance = self.on_what_is_possible()
        if has_walls:
            _, open_ = directions_of(covariance[:n, :n])
            cells = self.coefficients.cells[self.used]
            basis = np.linalg.qr(cells[:, None] * open_)[0]
            self.nothing = np.zeros((d, d))
            self.nothing[:n, :n] = basis @ basis.T
        self.covariance = covariance
        self.is_kept[n:] = undetermined(covariance, n, self.is_bounded[n:], self.is_equal[n:])
        self.alike = alike_bounds(covariance, self.is_kept, self.is_bounded)


class TreeDual(EntropyDual):
    """The dual on a junction tree.

    Examples
    --------
    >>> from gml.model.entropy.constraints import Constraints, Expectation
    >>> from gml.model.entropy.problem import problem_of
    >>> die = Expectation({"die": {str(face): face for face in range(1, 7)}}, "=", 4.5)
    >>> dual = TreeDual(problem_of(Constraints((die,))))
    >>> start = dual.at(np.zeros(dual.size))
    >>> round(start.log_z, 12) == round(math.log(6), 12), start.gradient.round(12).tolist()
    (True, [-0.4])
    """

    def __init__(
        self,
        problem: Problem,
        supports: Sequence[Support] = (),
        *,
        without_room: Collection[int] = (),
        deadline: Deadline | None = None,
        max_memory: int | None = None,
    ) -> None:
        self._deadline = deadline or Deadline()
        self._max_memory = max_memory
        self._kept_hessian: Table | None = None
        self._last: Point | None = None
        self._in_tree: Vector | None = None
        self.tree = CliqueMargins(
            problem.terms, scopes_of(problem, supports), max_memory=max_memory
        )
        super().__init__(problem, self.tree, supports, without_room)

    def at(self, x: Vector) -> Point:
        """Evaluate at a vector of multipliers."""
        found = super().at(x)
        self._in_tree = x.copy()
        return found

    def _moments(self, log_tables: Sequence[Table]) -> Moments:
        self._in_tree = None
        return super()._moments(log_tables)

    def _enter(self, point: Point) -> None:
        """Have the tree hold the distribution of a point, whatever it was asked in between."""
        if self._in_tree is None or not np.array_equal(self._in_tree, point.x):
            self.at(point.x)

    def clique_tables(self, point: Point) -> list[Table]:
        """Return the margins of the tree's cliques at a point."""
        self._enter(point)
        return [self.tree.clique_table(step).copy() for step in range(len(self.tree.cliques))]

    def on_what_is_possible(self) -> Table:
        """Return the covariance of the features where all possible cells are alike."""
        fixed = [np.where(np.isneginf(table), table, 0.0) for table in self._fixed]
        self._moments([*self.tables(np.zeros(self.size)), *fixed])
        return self._covariance()

    @property
    def is_large(self) -> bool:
        """Whether a Hessian takes more than about a second."""
        return self.size * self.tree.cells > _MOST_PRODUCTS

    def curvature(self, point: Point) -> Table:
        """Return the second derivatives at a point, made regular.

        Where they take long they are computed once, and then kept up to date from one point asked
        for to the next.
        """
        if not self.is_large:
            return self.regular_hessian(point)
        if self._kept_hessian is None or self._last is None:
            self._kept_hessian = self.regular_hessian(point)
        else:
            self.updated(self._kept_hessian, point, self._last)
        self._last = point
        return self._kept_hessian

    def regular_hessian(self, point: Point) -> Table:
        """Return the second derivatives at a point, made regular, however long they take."""
        found = self.hessian(point)
        if self.nothing is not None:
            found += self.nothing
        return found

    def hessian(self, point: Point) -> Table:
        """Return the second derivatives at a point."""
        self._enter(point)
        return self._covariance()

    def _covariance(self) -> Table:
        """Return the covariance of the features in the distribution that the tree holds."""
        d = self.size
        require_memory(8 * 3 * d * d, self._max_memory, "the covariance of the features")
        per_direction = 32 * (self.tree.cells + d)
        budget = budget_in_force(self._max_memory)
        width = max(1, min(d, _LARGEST_BATCH, budget // (2 * per_direction)))
        found = np.empty((d, d))
        for start in range(0, d, width):
            if self._deadline.passed:
                raise OutOfTime(
                    f"{parameter('max_seconds')} passed while the covariance of the features was "
                    "computed"
                )
            stop = min(d, start + width)
            units = np.zeros((d, stop - start))
            units[np.arange(start, stop), np.arange(stop - start)] = 1.0
            found[:, start:stop] = self._covariance_times(units)
        found += found.T.copy()
        found *= 0.5
        return found

    def _covariance_times(self, units: Table) -> Table:
        derivatives = margin_derivatives(self.tree, self.tables(units))
        n = len(self.problem.terms.generators)
        in_terms = self.coefficients.moments_of_generators(derivatives[:n])[self.used]
        return np.concatenate([in_terms, self._expected(derivatives[n:], units.shape[1:])])
