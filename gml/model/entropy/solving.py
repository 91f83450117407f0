"""Solve a problem of maximum entropy over labels on a junction tree; say why where it cannot be.

Margins alone that make a decomposable model have a closed form, from which everything else starts
where there is no reference (Lauritzen 1996, section 4.4). Newton's method follows (descent.py), or
L-BFGS where there are more than 2 000 multipliers and no inequalities; where a Hessian takes more
than about a second, it is computed once and then updated.

A solution on the boundary has multipliers at infinity. Zeros of margins are excluded beforehand;
zeros that other constraints force show as cells of cliques that have less than 1e-8 of what they
had before the constraints, or as a descent that does not end, and then a linear programme says
which cells they are (polytope.py). They become tables of 0 and −∞.
A contradiction has no solution, so that the descent does not end either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, DataError, listing, parameter
from gml.model.entropy.constraints import Constraint, Expectation
from gml.model.entropy.descent import Descent, descend
from gml.model.entropy.dual import EntropyDual, Point, TreeDual
from gml.model.entropy.polytope import Polytope
from gml.model.entropy.problem import Problem
from gml.model.undirected.exact.clique_margins import NothingLeft
from gml.model.undirected.first_order import minimise
from gml.model.undirected.fitting import TOLERANCE, OutOfTime, Support
from gml.model.undirected.gauge import terms_of_tables
from gml.model.undirected.terms import Scope
from gml.progress import Deadline

Table = NDArray[np.float64]
Vector = NDArray[np.float64]

CLOSED_FORM, L_BFGS, NEWTON, QUASI_NEWTON = "closed-form", "l-bfgs", "newton", "quasi-newton"

_MOST_MULTIPLIERS = 2000
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

    @property
    def residual(self) -> float:
        """The largest residual of a constraint, in probabilities."""
        return self.dual.distance(self.point)


def solve_on_tree(problem: Problem, cliques: Sequence[Scope], deadline: Deadline) -> Solution:
    """Return the solution; refuse a contradiction (exit 3), or say why there is none (exit 4)."""
    zeros = problem.zeros()
    first: tuple[TreeDual, Solution, bool] | None
    try:
        first = _descended(problem, zeros, deadline)
    except NothingLeft:
        first = None
    if first is not None:
        dual, found, converged = first
        shrunk = _shrunk(dual, found.point)
        if converged and (found.algorithm == CLOSED_FORM or not any(s.any() for s in shrunk)):
            return found
        if not converged and deadline.passed:
            raise OutOfTime(
                f"{parameter('max_seconds')} passed with a residual of {found.residual:.3g}"
            )
    try:
        polytope = Polytope(problem, cliques)
    except CannotAnswer:
        if first is not None and converged:
            return found
        raise
    if first is None or not converged:
        refuse_contradiction(problem, polytope, deadline)
    if first is None:
        raise _not_converged(None)
    suspects = _suspects(dual, shrunk if converged else None, polytope)
    try:
        supports = polytope.forced_zeros(suspects, deadline)
        _, again, is_better = _descended(problem, supports, deadline)
    except NothingLeft:
        is_better = False
    except OutOfTime:
        if not converged:
            raise
        is_better = False
    if is_better:
        return again
    if converged:
        return found
    raise _not_converged(found.residual)


def _descended(
    problem: Problem, supports: Sequence[Support], deadline: Deadline
) -> tuple[TreeDual, Solution, bool]:
    dual = TreeDual(problem, supports, deadline=deadline)
    start = np.zeros(dual.size)
    if _has_closed_form(problem):
        start[: dual.n_terms] = _closed_form(problem)[dual.used]
        if not problem.features:
            point = dual.at(start)
            if dual.distance(point) <= TOLERANCE:
                return dual, Solution(dual, point, CLOSED_FORM, 0), True
    is_large = dual.size > _MOST_MULTIPLIERS and not dual.is_bounded.any()
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


def _closed_form(problem: Problem) -> Vector:
    """Coefficients of ln of each margin, less that of its separator; 0 where it is 0."""
    sequence = problem.terms.perfect_sequence
    assert sequence is not None
    margins = dict(zip(problem.terms.generators, problem.observed(), strict=True))
    tables = {}
    for clique, separator in zip(sequence.cliques, sequence.separators, strict=True):
        margin = margins[clique]
        others = tuple(axis for axis, k in enumerate(clique) if k not in separator)
        shared = margin.sum(axis=others, keepdims=True)
        ratio = np.divide(margin, shared, out=np.ones_like(margin), where=margin > 0)
        tables[clique] = np.log(ratio)
    return problem.coefficients.vector(terms_of_tables(problem.terms, tables))


def _shrunk(dual: TreeDual, point: Point) -> list[NDArray[np.bool_]]:
    """Return the cells of the tree's cliques that have next to nothing left of what they had."""
    steps = range(len(dual.tree.cliques))
    dual.at(np.zeros(dual.size))
    before = [dual.tree.clique_table(s).copy() for s in steps]
    dual.at(point.x)
    return [(dual.tree.clique_table(s) < _LITTLE * before[s]) for s in steps]


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
    indices = polytope.contradiction(deadline)
    if not indices:
        return
    where, items = problem.constraints.where, problem.constraints.items
    named = [items[index] for index in indices]
    if problem.reference:
        without = Polytope(problem.without_reference(), polytope.tree.cliques)
        if without.miss(deadline, indices)[0] <= polytope.miss(deadline)[0] * 1e-3:
            raise CannotAnswer(
                f"{where}: the reference leaves nothing that meets {_in_words(named)}: it excludes "
                "cells that these need"
            )
        indices = without.contradiction(deadline) or indices
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
