"""Maximum entropy over labels: from constraints to a model, and what is reported with it.

The model is p ∝ p₀ exp(Σ multiplier · feature), a Markov network whose terms are in the sum-to-zero
gauge. Its `learning` has, as "maxent", the entropy, the divergence from the reference, the largest
residual, and for each constraint what is expected of it, its multiplier and its slack. The sign of
a multiplier is such that a positive one makes its feature larger, but for an upper bound, whose
multiplier is positive where it makes the feature smaller: multipliers of inequalities are not
negative, and where one is positive its slack is 0. It is null where the price of a constraint is
infinite (prices.py), and where the time was up before that was known: then
"multiplier_known" is false.

The multipliers of a margin are a table, which adds up to 0 over every axis; where margins overlap,
each has a share of the terms that they have in common, so that the squares of all multipliers are
least. They are null in cells that are impossible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer
from gml.graph.provenance import Provenance
from gml.model.bayesnet import BayesNet
from gml.model.entropy.constraints import (
    AT_MOST,
    Constraint,
    Constraints,
    Expectation,
    Margin,
    require_agreement,
)
from gml.model.entropy.dual import EntropyDual, scopes_of
from gml.model.entropy.pair_dual import solve_pairs
from gml.model.entropy.pair_margins import MOST_PAIRED, is_model_of_pairs
from gml.model.entropy.prices import least_prices
from gml.model.entropy.problem import GivenMargin, Problem, problem_of
from gml.model.entropy.solving import Solution, solve_on_tree
from gml.model.entropy.unlisted_levels import (
    check_unlisted_levels,
    warn_of_impossible_conditions,
)
from gml.model.junction_tree import build_tree
from gml.model.markovnet import MarkovNet
from gml.model.undirected.boundary.cliques_of_cells import excluded_cells
from gml.model.undirected.from_tables import LogTable, markov_of_tables
from gml.model.undirected.potential import Potential
from gml.model.undirected.terms import Scope
from gml.progress import Deadline
from gml.resources import format_size

Table = NDArray[np.float64]

# Cells of all cliques up to which some dozen passes take seconds, and up to which Hessians do.
_TREE_CELLS, _FEW_CELLS = 1 << 22, 1 << 14
_MOST_ZEROS = 20


def project(
    constraints: Constraints,
    reference: BayesNet | MarkovNet | None = None,
    *,
    deadline: Deadline | None = None,
    threads: int | None = None,
) -> MarkovNet:
    """Return the distribution of largest entropy, or nearest to a reference, under constraints.

    Parameters
    ----------
    constraints
        What has to hold.
    reference
        The model p₀ to which D(p‖p₀) is to be least; without it, all cells are alike.
    deadline
        When to give up.
    threads
        By default all cores.

    Examples
    --------
    >>> die = Expectation({"die": {str(face): face for face in range(1, 7)}}, "=", 4.5)
    >>> net = project(Constraints((die,)))
    >>> found = net.learning["maxent"]
    >>> round(found["entropy"], 12), round(found["constraints"][0]["multiplier"], 12)
    (1.613581098154, 0.371048938081)
    """
    require_agreement(constraints.margins, constraints.where)
    if reference is None:
        check_unlisted_levels(constraints)
    warn_of_impossible_conditions(constraints)
    problem = problem_of(constraints, reference)
    found = _solved(problem, deadline or Deadline(), threads)
    return _model(problem, replace(found, point=least_prices(found.dual, found.point)))


def _solved(problem: Problem, deadline: Deadline, threads: int | None) -> Solution:
    scopes = scopes_of(problem, problem.zeros())
    sizes = problem.terms.sizes
    tree = build_tree(scopes, sizes, [[k for k, size in enumerate(sizes) if size > 1]])
    cells = sum(tree.cells(clique) for clique in tree.cliques)
    of_pairs = is_model_of_pairs(sizes, scopes) and len(sizes) <= MOST_PAIRED
    has_zeros = bool(problem.zeros()) or any(
        np.isneginf(table.table).any() for table in problem.reference
    )
    if of_pairs and cells > _FEW_CELLS and not (has_zeros and cells <= _TREE_CELLS):
        try:
            return solve_pairs(problem, deadline, threads)
        except CannotAnswer:
            # A solution on the boundary, perhaps, for which a tree is needed.
            if cells > _TREE_CELLS or deadline.passed:
                raise
    if cells <= _TREE_CELLS:
        return solve_on_tree(problem, tree.cliques or ((0,),), deadline)
    raise CannotAnswer(
        f"the junction tree of the constraints has {format_size(8 * cells)} of tables, more than "
        f"the {format_size(8 * _TREE_CELLS)} that some dozen passes may have: the treewidth "
        f"is {tree.treewidth} by min-fill; without one, constraints on pairs of up to "
        f"{MOST_PAIRED} variables of two levels each can be solved"
    )


# ---------------------------------------------------------------------- the model


def _model(problem: Problem, solution: Solution) -> MarkovNet:
    dual, x = solution.dual, solution.point.x
    terms = problem.terms
    scopes = (*terms.generators, *dual.feature_scopes)
    tables = [
        LogTable(problem.in_order(scope), table)
        for scope, table in zip(scopes, dual.tables(x), strict=True)
        if table.any()
    ]
    # A constraint whose multipliers are all 0 is one all the same, and stays in the model.
    tables += [
        LogTable(problem.in_order(margin.scope), np.zeros(margin.table.shape))
        for margin in problem.margins
    ]
    tables += [LogTable(problem.in_order(t.scope), t.table) for t in problem.reference]
    net = markov_of_tables(problem.order, tables)
    boundary = tuple(
        Potential(problem.in_order(support.scope), support.wall, is_boundary=True)
        for support in dual.supports
    )
    learning = Provenance({"maxent": _report(problem, solution)})
    return replace(net, potentials=(*net.potentials, *boundary), learning=learning)


# ---------------------------------------------------------------------- the report


def _report(problem: Problem, solution: Solution) -> dict[str, Any]:
    dual, point = solution.dual, solution.point
    exponents = dual.tables(point.x)
    gained = _expected(exponents, point.margins)
    of_reference = _expected([t.table for t in problem.reference], point.margins[len(exponents) :])
    n_zeros = sum(int(np.count_nonzero(~support.possible)) for support in dual.supports)
    zeros = islice(excluded_cells(problem.terms, dual.supports), _MOST_ZEROS)
    shares = margin_multipliers(problem, dual.coefficients_of(point.x))
    entropy = point.log_z - gained - of_reference
    divergence = None
    if problem.reference:
        divergence = max(0.0, gained - point.log_z + dual.log_z_of_reference())
    constraints = problem.constraints.items
    found: list[dict[str, Any] | None] = [None] * len(constraints)
    for margin, table in zip(problem.margins, shares, strict=True):
        found[margin.which] = _of_margin(problem, dual, margin, table, point.margins)
    n, unpriced = dual.n_terms, solution.unpriced
    for k, feature in enumerate(problem.features):
        item = constraints[feature.which]
        assert not isinstance(item, Margin)
        one = _named(item) | _of_feature(
            item,
            feature.sign * feature.scale * (float(point.gradient[n + k]) + feature.target)
            + feature.offset,
            None
            if k in unpriced.infinite | unpriced.unknown
            else float(point.x[n + k]) * (1 if feature.is_bound else feature.sign) / feature.scale,
        )
        if k in unpriced.unknown:
            one["multiplier_known"] = False
        found[feature.which] = one
    return {
        "entropy": entropy,
        "divergence": divergence,
        "residual": solution.residual,
        "algorithm": solution.algorithm,
        "iterations": solution.iterations,
        "n_zeros": n_zeros,
        "zeros": [dict(cell) for cell in zeros],
        "constraints": found,
    }


def _expected(tables: Sequence[Table], margins: Sequence[Table]) -> float:
    """The expectation of a sum of tables; what is impossible does not count."""
    parts = []
    for table, margin in zip(tables, margins, strict=False):
        held = margin > 0
        parts.append(float((table[held] * margin[held]).sum()))
    return math.fsum(parts)


def _named(item: Constraint) -> dict[str, Any]:
    return {"name": item.name} if item.name else {"place": item.place} if item.place else {}


def _of_margin(
    problem: Problem,
    dual: EntropyDual,
    margin: GivenMargin,
    multipliers: Table,
    margins: Sequence[Table],
) -> dict[str, Any]:
    item = problem.constraints.items[margin.which]
    home = problem.terms.generator_of(margin.scope)
    place = problem.terms.generators.index(home)
    others = tuple(axis for axis, k in enumerate(home) if k not in margin.scope)
    own = margins[place].sum(axis=others)
    shown = np.where(margin.table > 0, multipliers, math.nan)
    # As the constraint names its variables.
    ranks = [problem.terms.names.index(name) for name in item.names]
    axes = [margin.scope.index(k) for k in ranks if k in margin.scope]
    flat = shown.transpose(axes).reshape(-1).tolist()
    return _named(item) | {
        "margin": list(item.names),
        "multipliers": [None if math.isnan(value) else value for value in flat],
        "residual": float(np.abs(own - margin.table).max()),
    }


def _of_feature(item: Constraint, expected: float, multiplier: float | None) -> dict[str, Any]:
    assert not isinstance(item, Margin)
    if isinstance(item, Expectation):
        about: Mapping[str, Any] = {"expectation": list(item.names)}
        target = item.value
    else:
        about = {"probability": dict(item.event), "given": dict(item.given)}
        # Of a conditional probability, P(A, B) − c P(B).
        target = item.value if not item.given else 0.0
    slack = (target - expected) if item.relation == AT_MOST else (expected - target)
    return {
        **about,
        "relation": item.relation,
        "value": item.value,
        "multiplier": multiplier,
        **({"residual": abs(slack)} if item.relation == "=" else {"slack": slack}),
    }


def margin_multipliers(problem: Problem, coefficients: NDArray[np.float64]) -> list[Table]:
    """Split terms among the margins that have them, with the least squares of all multipliers.

    A coefficient is spread in proportion to 1 / cells of each margin: the squares of the cells of a
    share add up to the share's square times the cells.
    """
    terms = problem.terms
    tables = problem.coefficients.tables(coefficients)
    by_term = dict(zip(terms.all, tables, strict=True))
    weights: dict[Scope, float] = {}
    for margin in problem.margins:
        for subset in _subsets(margin.scope):
            weights[subset] = weights.get(subset, 0.0) + 1 / margin.table.size
    found = []
    for margin in problem.margins:
        table = np.zeros(margin.table.shape)
        for subset in _subsets(margin.scope):
            share = 1 / margin.table.size / weights[subset]
            shape = [terms.sizes[k] if k in subset else 1 for k in margin.scope]
            table += share * by_term[subset].reshape(shape)
        found.append(table)
    return found


def _subsets(scope: Scope) -> list[Scope]:
    return [subset for size in range(1, len(scope) + 1) for subset in combinations(scope, size)]
