"""Solve a problem of maximum entropy over labels on a junction tree; say why where it cannot be.

Margins alone that make a decomposable model have a closed form, from which everything else starts
where there is no reference (Lauritzen 1996, section 4.4). Newton's method follows (descent.py), or
L-BFGS where there are more than 2 000 multipliers and no inequalities; where a Hessian takes more
than about a second, it is computed once and then updated.

A solution on the boundary has multipliers at infinity. Zeros of margins are excluded beforehand;
zeros that other constraints force show as cells of cliques that have less than 1e-8 of what they
had before the constraints, or as a descent that does not end, and then a linear programme says
which cells they are (polytope.py). They become tables of 0 and −∞. A programme takes less than 1e-9
for 0, so it is asked only if the multipliers do not settle down at finite numbers (interior.py).
A contradiction has no solution, so that the descent does not end either.

Bounds that leave one another no room have multipliers without bound: more of one is made up for by
more of the others. Where bounds with no room determine one another, or the descent does not end, a
linear programme says which can only be equations, and they are solved as such.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, DataError, listing, parameter
from gml.model.entropy.constraints import Constraint, Expectation
from gml.model.entropy.descent import Descent, descend
from gml.model.entropy.dual import EntropyDual, Point, TreeDual
from gml.model.entropy.interior import MOST_MULTIPLIERS, settled
from gml.model.entropy.polytope import Polytope
from gml.model.entropy.prices import NONE_UNPRICED, Unpriced, is_open, unpriced_features
from gml.model.entropy.problem import Problem
from gml.model.undirected.closed_form import closed_form
from gml.model.undirected.exact.clique_margins import NothingLeft
from gml.model.undirected.first_order import minimise
from gml.model.undirected.fitting import TOLERANCE, OutOfTime, Support
from gml.model.undirected.gauge import terms_of_tables
from gml.model.undirected.terms import Scope
from gml.progress import Deadline

Table = NDArray[np.float64]
Vector = NDArray[np.float64]

CLOSED_FORM, L_BFGS, NEWTON, QUASI_NEWTON = "closed-form", "l-bfgs", "newton", "quasi-newton"

_MOST_STEPS = 100_000
# Cells that a solution on the boundary leaves this share of what they had may have to be 0.
_LITTLE = 1e-8


@dataclass(frozen=True)
class Solution:
    """The dual at its minimum, and how it was found."""

    dual: EntropyDual
    point: Point
    algorithm: str
    iterations: int
    unpriced: Unpriced = NONE_UNPRICED
    """The features that have no multiplier to report."""

    @property
    def residual(self) -> float:
        """The largest residual of a constraint, in probabilities."""
        return self.dual.distance(self.point)


def solve_on_tree(problem: Problem, cliques: Sequence[Scope], deadline: Deadline) -> Solution:
    """Return the solution; refuse a contradiction (exit 3), or say why there is none (exit 4)."""
    first: _First | None
    try:
        first = _First(*_descended(problem, problem.zeros(), deadline))
    except NothingLeft:
        first = None
    if first is not None:
        open_ = first.converged and is_open(first.dual, first.found.point)
        if first.converged and not open_ and (inside := _inside(first, deadline)) is not None:
            return inside
        if not first.converged and deadline.passed:
            raise OutOfTime(
                f"{parameter('max_seconds')} passed with a residual of {first.found.residual:.3g}"
            )
    try:
        polytope = Polytope(problem, cliques)
    except CannotAnswer:
        if first is not None and first.converged:
            return first.found
        raise
    if first is None or not first.converged:
        refuse_contradiction(problem, polytope, deadline)
    if first is None:
        raise _not_converged(None)
    last = _without_room(first, polytope, deadline)
    if last.converged and (inside := _inside(last, deadline)) is not None:
        return inside
    again = _on_the_boundary(last, polytope, deadline)
    if again is not None:
        return again
    for tried in (last, first):
        if tried.converged:
            return tried.found
    raise _not_converged(min(first.found.residual, last.found.residual))


class _First(NamedTuple):
    """Where the descent ended with no more zeros than margins have, and whether it converged."""

    dual: TreeDual
    found: Solution
    converged: bool


def _without_room(first: _First, polytope: Polytope, deadline: Deadline) -> _First:
    """Return the same with bounds that can only be equations solved as such; itself without any."""
    problem = polytope.problem
    if sum(feature.is_bound for feature in problem.features) < 2:
        return first
    try:
        bounds = polytope.without_room(deadline)
        if not bounds:
            return first
        return _First(*_descended(problem, problem.zeros(), deadline, bounds))
    except OutOfTime:
        if not first.converged:
            raise
        return first


def _inside(first: _First, deadline: Deadline) -> Solution | None:
    """Return the solution if no cell has to be 0 that margins do not say is; None if some may."""
    dual, found, _ = first
    if found.algorithm == CLOSED_FORM:
        return found
    if not any(shrunk.any() for shrunk in _shrunk(dual, found.point)):
        return found
    point = settled(dual, found.point, deadline)
    if point is None or dual.distance(point) > TOLERANCE:
        return None
    return replace(found, point=point)


def _on_the_boundary(first: _First, polytope: Polytope, deadline: Deadline) -> Solution | None:
    """Return the solution without the cells that have to be 0; None if there is none."""
    dual, found, converged = first
    shrunk = _shrunk(dual, found.point) if converged else None
    try:
        zeros = polytope.forced_zeros(_suspects(dual, shrunk, polytope), deadline)
        supports = polytope.supports(zeros)
        bounds = np.flatnonzero(dual.is_equal) - dual.n_terms
        left, again, is_better = _descended(polytope.problem, supports, deadline, bounds.tolist())
    except NothingLeft:
        return None
    except OutOfTime:
        if not converged:
            raise
        return None
    if not is_better:
        return None
    left.prepare()
    dual.prepare()
    unpriced = unpriced_features(dual, left, again.point, polytope, zeros, deadline)
    return replace(again, unpriced=unpriced)


def _descended(
    problem: Problem,
    supports: Sequence[Support],
    deadline: Deadline,
    without_room: Collection[int] = (),
) -> tuple[TreeDual, Solution, bool]:
    dual = TreeDual(problem, supports, without_room=without_room, deadline=deadline)
    start = np.zeros(dual.size)
    if _has_closed_form(problem):
        tables = closed_form(problem.terms, problem.observed())
        vector = problem.coefficients.vector(terms_of_tables(problem.terms, tables))
        start[: dual.n_terms] = vector[dual.used]
        if not problem.features:
            point = dual.at(start)
            if dual.distance(point) <= TOLERANCE:
                return dual, Solution(dual, point, CLOSED_FORM, 0), True
    is_large = dual.size > MOST_MULTIPLIERS and not dual.is_bounded.any()
    found = _l_bfgs(dual, start, deadline) if is_large else descend(dual, start, deadline)
    algorithm = L_BFGS if is_large else QUASI_NEWTON if dual.is_large else NEWTON
    return dual, Solution(dual, found.point, algorithm, found.iterations), found.converged


def _l_bfgs(dual: TreeDual, start: Vector, deadline: Deadline) -> Descent:
    dual.prepare(curved=False)
    cells = np.ones(dual.size)
    cells[: dual.n_terms] = dual.coefficients.cells[dual.used]
    kept = dual.is_kept

    def smooth(x: Vector) -> tuple[float, Vector]:
        point = dual.at(x)
        return point.value, np.where(kept, point.gradient, 0.0)

    found = minimise(
        smooth,
        start,
        inverse=lambda change: change / cells,
        tolerance=TOLERANCE,
        max_iterations=_MOST_STEPS,
        deadline=deadline,
    )
    point = dual.at(found.point)
    return Descent(point, found.iterations, dual.distance(point) <= TOLERANCE)


def _has_closed_form(problem: Problem) -> bool:
    return bool(problem.margins) and not problem.reference and problem.terms.is_decomposable


def _shrunk(dual: TreeDual, point: Point) -> list[NDArray[np.bool_]]:
    """Return the cells of the tree's cliques that have next to nothing left of what they had."""
    before = dual.clique_tables(dual.at(np.zeros(dual.size)))
    after = dual.clique_tables(point)
    return [now < _LITTLE * was for now, was in zip(after, before, strict=True)]


def _suspects(
    dual: TreeDual, shrunk: Sequence[NDArray[np.bool_]] | None, polytope: Polytope
) -> list[NDArray[np.bool_]]:
    """Return the cells of the polytope's cliques that may have to be 0: those shrunk, or all."""
    shape = polytope.problem.terms.shape
    found = []
    for clique in polytope.tree.cliques:
        home = next((s for s, step in enumerate(dual.tree.cliques) if {*clique} <= {*step}), None)
        if shrunk is None or home is None:
            found.append(np.ones(shape(clique), dtype=bool))
            continue
        step = dual.tree.cliques[home]
        axes = tuple(axis for axis, k in enumerate(step) if k not in clique)
        left = np.asarray(shrunk[home].all(axis=axes))
        order = [k for k in step if k in clique]
        found.append(left.transpose([order.index(k) for k in clique]))
    return found


def refuse_contradiction(problem: Problem, polytope: Polytope, deadline: Deadline) -> None:
    """Refuse constraints that cannot hold together, naming an irreducible set of them."""
    where, items = problem.constraints.where, problem.constraints.items
    indices: list[int] = []
    if problem.reference:
        # What contradicts whatever the reference says is not to be blamed on it.
        alone = Polytope(problem.without_reference(), polytope.tree.cliques)
        indices = alone.contradiction(deadline)
    if not indices:
        indices = polytope.contradiction(deadline)
        if not indices:
            return
        if problem.reference:
            needed = _in_words([items[index] for index in indices])
            raise CannotAnswer(
                f"{where}: the reference leaves nothing that meets {needed}: it excludes cells "
                "that these need"
            )
    named = [items[index] for index in indices]
    if len(named) == 1:
        raise DataError(f"{where}: {named[0].title} cannot hold: {_why(named[0])}")
    fewest = (
        f"{parameter('max_seconds')} passed before it was known whether fewer of them do"
        if deadline.passed
        else "without any one of them the others do not"
    )
    raise DataError(
        f"{where}: these {len(named)} constraints contradict one another, and {fewest}: "
        f"{_in_words(named)}"
    )


def _in_words(items: Sequence[Constraint]) -> str:
    *first, last = [item.title for item in items]
    return f"{'; '.join(first)}; and {last}" if first else last


def _why(item: Constraint) -> str:
    if isinstance(item, Expectation):
        return (
            f"{item.relation} {item.value:g} is beyond what the numbers of {listing(item.numbers)} "
            "can be on average"
        )
    return "no distribution meets it"


def _not_converged(residual: float | None) -> CannotAnswer:
    reached = "" if residual is None else f"; the residual is {residual:.3g}"
    return CannotAnswer(
        "the entropy could not be maximised to 1e-9: the constraints are next to a contradiction"
        f"{reached}"
    )
