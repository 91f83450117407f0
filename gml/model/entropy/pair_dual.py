"""Maximum entropy under constraints on pairs of variables of two levels, with any graph of pairs.

The dual is evaluated exactly, state by state (pair_margins.py). Its Hessian, which would take sums
over four variables at a time, is stood in for by the covariance among rows that a Gibbs sampler
draws with a fixed seed, and kept up to date by the BFGS formula (dual.py). The first steps, while
everything is far off, need no more than what the sampler says of the moments either, so that a
dozen exact evaluations are enough. What is reached is as exact as on a junction tree: no residual
is above 1e-9.

Impossible cells are not for this way: a margin with a zero is refused, and a solution that has one
is not reached. Of three variables whose pairs contradict one another that is said beforehand.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, parameter
from gml.kernel.blas import one_blas_thread
from gml.model.entropy.constraints import AGREEMENT, Constraints
from gml.model.entropy.descent import descend, newton_direction
from gml.model.entropy.dual import EntropyDual, Point, scopes_of
from gml.model.entropy.pair_margins import PairMargins
from gml.model.entropy.polytope import Polytope
from gml.model.entropy.problem import Problem, problem_of
from gml.model.entropy.solving import QUASI_NEWTON, Solution, refuse_contradiction
from gml.model.undirected.coefficients import Coefficients
from gml.model.undirected.fitting import TOLERANCE
from gml.model.undirected.gauge import terms_of_tables
from gml.model.undirected.terms import Scope, Terms
from gml.progress import Deadline, reporter
from gml.resources import require_memory
from gml.stopping import check_stopped

Table = NDArray[np.float64]
Vector = NDArray[np.float64]

_CHAINS = 8192
_ROUGH_STEPS = 60
_ROUGH_SWEEPS, _SWEEPS = 10, 10
_DRAWS = 8
# Nats by which a step may change the distribution, as the sampled covariance has it.
_LONGEST = 0.5
_WORTHWHILE, _STEADY = 1.5, 0.9


class PairDual(EntropyDual):
    """The dual of a problem about pairs, with a sampled covariance for its Hessian."""

    def __init__(self, problem: Problem, *, threads: int | None = None) -> None:
        terms = problem.terms
        scopes = scopes_of(problem, ())
        self._scopes = scopes
        names = [[terms.names[k] for k in scope] for scope in scopes]
        self._basis = Coefficients(Terms.of(terms.variables, names))
        require_memory(
            8 * (4 * self._basis.size**2 + _CHAINS * self._basis.size),
            None,
            "the covariance of the features",
        )
        self._features = _in_basis(problem, self._basis)
        self._spins = _Spins(self._basis.terms)
        self._hessian: Table | None = None
        self._last: Point | None = None
        super().__init__(problem, PairMargins(terms, scopes, threads=threads))

    def on_what_is_possible(self) -> Table:
        """Return the covariance of the features where all cells are alike: contrasts have none."""
        return self._features @ self._features.T

    def curvature(self, point: Point) -> Table:
        """Return what stands for the second derivatives at a point, one step after the last."""
        if self._hessian is None or self._last is None:
            self._hessian = self._drawn(point.x, _DRAWS, _SWEEPS)[1]
        else:
            self.updated(self._hessian, point, self._last)
        self._last = point
        return self._hessian

    def _drawn(self, x: Vector, n_draws: int, n_sweeps: int) -> tuple[Vector, Table]:
        """Return the means and the covariance of the features among drawn rows."""
        terms = self._basis.terms
        tables: dict[Scope, Table] = {}
        for scope, table in zip(self._scopes, [*self.tables(x), *self._fixed], strict=True):
            tables[scope] = tables[scope] + table if scope in tables else table
        self._spins.set_model(self._basis.vector(terms_of_tables(terms, tables)))
        sums, squares = np.zeros(self._basis.size), np.zeros((self._basis.size,) * 2)
        for _ in range(n_draws):
            self._spins.sweep(n_sweeps)
            drawn = self._spins.features()
            # Whole numbers below 2²⁴: single precision has them all, in any order of adding.
            sums += drawn.sum(axis=1, dtype=np.float64)
            squares += drawn @ drawn.T
        n = n_draws * _CHAINS
        mean = sums / n
        covariance = squares / n - np.outer(mean, mean)
        return self._features @ mean, self._features @ covariance @ self._features.T

    def rough_start(self, deadline: Deadline) -> Vector:
        """Return multipliers for which drawn rows meet the constraints as well as they can.

        Steps end when they promise hardly less than the one before, or few more nats than the
        errors of two samples make: as many as there are multipliers, per row.
        """
        self.prepare()
        targets = self._targets()
        x, before = np.zeros(self.size), math.inf
        for step in range(_ROUGH_STEPS):
            reporter().advance("maximising the entropy: rough steps", step, None)
            if deadline.passed:
                break
            means, covariance = self._drawn(x, 1, _ROUGH_SWEEPS)
            gradient = means - targets
            held = ~self.is_kept | (self.is_bounded & (x <= 0) & (gradient > 0))
            free = np.flatnonzero(~held)
            if not len(free):
                break
            direction = np.zeros_like(x)
            direction[free] = newton_direction(covariance[np.ix_(free, free)], gradient[free])
            promised = -0.5 * float(direction @ gradient)
            if promised <= _WORTHWHILE * len(free) / _CHAINS or promised > _STEADY * before:
                break
            before = promised
            x = x + direction * min(1.0, math.sqrt(_LONGEST / promised))
            x[self.is_bounded] = np.maximum(x[self.is_bounded], 0.0)
        return x

    def _targets(self) -> Vector:
        """What the features are to be, contrasts without their constants."""
        in_terms = self.coefficients.moments_of_generators(self._observed)[self.used]
        return np.concatenate([in_terms, self.targets - self._constants()])

    def _constants(self) -> Vector:
        """The means of the features over all cells, which no contrast has."""
        return np.array(
            [
                math.fsum(float(part.table.mean()) for part in feature.parts)
                for feature in self.problem.features
            ]
        )


class _Spins:
    """Rows of a model of pairs by Gibbs sampling, variable by variable, all chains at once.

    Variables × chains, −1 and 1. All sums are made cell by cell, so that no machine shows.
    """

    def __init__(self, terms: Terms) -> None:
        self._n = len(terms.variables)
        pairs = [scope for scope in terms.all if len(scope) == 2]
        self._first, self._second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        self._rng = np.random.default_rng(0)
        self._spins = np.where(self._rng.random((self._n, _CHAINS)) < 0.5, -1.0, 1.0)

    def set_model(self, coefficients: Vector) -> None:
        """Go on with other fields and couplings: of single terms, then of pairs."""
        self._couplings = np.zeros((self._n, self._n))
        self._couplings[self._first, self._second] = coefficients[self._n :]
        self._couplings[self._second, self._first] = coefficients[self._n :]
        self._fields = np.repeat(coefficients[: self._n, None], _CHAINS, axis=1)
        for spin, couplings in zip(self._spins, self._couplings, strict=True):
            self._fields += couplings[:, None] * spin

    def sweep(self, n_sweeps: int) -> None:
        """Draw every variable of every chain so many times."""
        for _ in range(n_sweeps):
            check_stopped()
            for k in range(self._n):
                share = 1 / (1 + np.exp(np.clip(-2 * self._fields[k], -700.0, 700.0)))
                drawn = np.where(self._rng.random(_CHAINS) < share, 1.0, -1.0)
                changed = drawn - self._spins[k]
                self._spins[k] = drawn
                self._fields += self._couplings[k][:, None] * changed

    def features(self) -> NDArray[np.float32]:
        """Return the contrasts of all terms: terms × chains."""
        spins = self._spins.astype(np.float32)
        return np.vstack([spins, spins[self._first] * spins[self._second]])


def solve_pairs(problem: Problem, deadline: Deadline, threads: int | None) -> Solution:
    """Return the solution of a problem about pairs of variables of two levels."""
    _require_inside(problem)
    _refuse_contradicting_triples(problem, deadline)
    dual = PairDual(problem, threads=threads)
    with one_blas_thread():
        found = descend(dual, dual.rough_start(deadline), deadline, enough=TOLERANCE)
    if not found.converged:
        stopped = f"{parameter('max_seconds')} passed" if deadline.passed else "it stopped there"
        raise CannotAnswer(
            "the entropy could not be maximised to 1e-9: the residual is "
            f"{dual.distance(found.point):.3g} after {found.iterations} steps, and {stopped}"
        )
    return Solution(dual, found.point, QUASI_NEWTON, found.iterations)


def _in_basis(problem: Problem, basis: Coefficients) -> Table:
    """Return the features as combinations of contrasts, up to their constants."""
    rows = []
    position = dict(zip(basis.terms.all, basis.starts.tolist(), strict=False))
    used = problem.used()
    for t, scope in enumerate(problem.terms.all):
        own = slice(*problem.coefficients.starts[t : t + 2])
        for k in np.flatnonzero(used[own]):
            row = np.zeros(basis.size)
            row[position[scope] + k] = 1.0
            rows.append(row)
    for feature in problem.features:
        tables = {}
        for part in feature.parts:
            tables[part.scope] = part.table
        rows.append(basis.vector(terms_of_tables(basis.terms, tables)))
    return np.array(rows).reshape(-1, basis.size)


def _require_inside(problem: Problem) -> None:
    """Refuse zeros of margins and of the reference."""
    for margin in problem.margins:
        if not margin.table.all():
            item = problem.constraints.items[margin.which]
            raise CannotAnswer(
                f"{problem.constraints.where}: {item.title}: a cell has the probability 0, which "
                "cannot be solved for so many variables: the junction tree is too large"
            )
    if any(np.isneginf(table.table).any() for table in problem.reference):
        raise CannotAnswer(
            "the reference excludes cells, which cannot be solved for so many variables: the "
            "junction tree is too large"
        )


def _refuse_contradicting_triples(problem: Problem, deadline: Deadline) -> None:
    """Refuse three variables whose pairs cannot hold together, as the bounds of P(1, 1, 1) show."""
    n = len(problem.terms.variables)
    pairs = np.full((n, n), np.nan)
    for margin in problem.margins:
        if len(margin.scope) == 2:
            one, other = margin.scope
            pairs[one, other] = pairs[other, one] = margin.table[1, 1]
            pairs[one, one] = margin.table[1].sum()
            pairs[other, other] = margin.table[:, 1].sum()
    single = np.diag(pairs)
    i, j, k = np.array(list(combinations(range(n), 3)), dtype=np.int64).reshape(-1, 3).T
    ij, ik, jk = pairs[i, j], pairs[i, k], pairs[j, k]
    low = np.maximum.reduce(
        [np.zeros(len(i)), ij + ik - single[i], ij + jk - single[j], ik + jk - single[k]]
    )
    high = np.minimum.reduce([ij, ik, jk, 1 - single[i] - single[j] - single[k] + ij + ik + jk])
    bad = np.flatnonzero(low - high > AGREEMENT)
    for at in bad[:1]:
        names = {problem.terms.names[v] for v in (i[at], j[at], k[at])}
        items = tuple(c for c in problem.constraints.items if names.issuperset(c.names))
        part = problem_of(
            Constraints(
                items,
                {v.name: v.levels or () for v in problem.terms.variables if v.name in names},
                problem.constraints.where,
            )
        )
        refuse_contradiction(part, Polytope(part, [(0, 1, 2)]), deadline)
