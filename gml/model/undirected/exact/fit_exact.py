"""Maximum likelihood of log-linear models by exact inference on a junction tree.

A decomposable model has a closed form: the margins of its cliques over those of the separators
(Haberman 1974; Lauritzen 1996, section 4.4). Any other is fitted by Newton's method
(second_order.py), which has converged when no fitted margin of a generator differs from the
observed one by more than 1e-9; by L-BFGS (first_order.py) where its Hessians would take too long
(more than 2 000 parameters, or 5e7 products of parameters and cells of cliques), and by iterative
proportional fitting on request.
With penalties, what must vanish to 1e-9 instead is the gradient of the penalised objective per row,
or its shortest subgradient, whose entries are moments.

Maxima at infinity: every table that the model could approach has probability 0 outside of a face of
the polytope of moments (Fienberg & Rinaldo 2012, Ann. Statist. 40:996). For a decomposable model
that is where no clique's margin is 0; for others a linear programme finds it (facial_set.py), if a
clique of the junction tree has a cell without rows at all: otherwise the model over those cliques
has a finite maximum with the same margins. Penalties keep all but the terms of one variable finite,
so that only levels without rows are left; smoothing leaves nothing. Among tables that give the same
distribution on the face, those with the least sum of squares over the cells of all terms are
returned; penalised terms are already determined.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter
from gml.errors import UsageError, parameter, require_one_of
from gml.model.undirected.closed_form import closed_form
from gml.model.undirected.exact.clique_margins import CliqueMargins
from gml.model.undirected.exact.moment_matching import MomentMatching, Point
from gml.model.undirected.exact.proportional_fitting import proportional_fitting
from gml.model.undirected.exact.second_order import Descent, newton, proximal_newton
from gml.model.undirected.first_order import minimise
from gml.model.undirected.fitting import NO_PENALTY, TOLERANCE, Fitted, Penalty, Support
from gml.model.undirected.gauge import terms_of_tables
from gml.model.undirected.observed import Observed, observed_margins, tables_over
from gml.model.undirected.terms import Scope, Terms
from gml.progress import Deadline

CLOSED_FORM, IPF, L_BFGS, NEWTON = "closed-form", "ipf", "l-bfgs", "newton"
ALGORITHMS = ("auto", CLOSED_FORM, IPF, L_BFGS, NEWTON)

_MOST_PARAMETERS = 2000
_MOST_PRODUCTS = 50_000_000
_MOST_STEPS = 100_000

Table = NDArray[np.float64]


def fit_exact(
    counter: Counter,
    terms: Terms,
    *,
    penalty: Penalty = NO_PENALTY,
    algorithm: str = "auto",
    max_memory: int | None = None,
    deadline: Deadline | None = None,
) -> Fitted:
    """Fit the terms of a model by maximum likelihood, penalised or not.

    Parameters
    ----------
    counter
        The data; every variable of the terms is a column.
    terms
        The generators of the model.
    penalty
        Penalties of terms of several variables, and smoothing.
    algorithm
        auto, closed-form, ipf, l-bfgs or newton. With an l1 penalty it is a proximal Newton method,
        and only auto and newton can be asked for.
    max_memory
        What the tables of the junction tree may take, in bytes.
    deadline
        When to stop, converged or not.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> terms = Terms.of(counter.variables, [["lung", "smoke"], ["bronc", "smoke"]])
    >>> fitted = fit_exact(counter, terms)
    >>> fitted.algorithm, fitted.converged, fitted.gap < 1e-9
    ('closed-form', True, True)
    >>> [round(float(table[1, 1]), 6) for table in fitted.tables[-2:]]
    [0.325193, 0.567916]
    """
    require_one_of("algorithm", algorithm, ALGORITHMS)
    is_free, algorithm = algorithm == "auto", _chosen(terms, penalty, algorithm)
    observed = observed_margins(counter, terms, smoothing=penalty.smoothing)
    deadline = deadline or Deadline()
    supports = _supports(counter, observed, penalty, max_memory, deadline)
    problem = MomentMatching(observed, penalty=penalty, supports=supports, max_memory=max_memory)
    if is_free and algorithm == NEWTON and penalty.l1 == 0 and _is_large(problem):
        algorithm = L_BFGS
    if algorithm in (CLOSED_FORM, IPF):
        if algorithm == CLOSED_FORM:
            found = closed_form(observed.terms, observed.margins)
            tables = [found[scope] for scope in observed.terms.generators]
            iterations, converged = 0, True
        else:
            tables, iterations, converged = proportional_fitting(problem, deadline)
        by_scope = dict(zip(terms.generators, tables, strict=True))
        w = problem.coefficients.vector(terms_of_tables(terms, by_scope))
        point = problem.shortest(w)
        converged = converged and point.gap <= TOLERANCE
    else:
        way = proximal_newton if penalty.l1 > 0 else newton if algorithm == NEWTON else _l_bfgs
        point, iterations, converged = way(problem, np.zeros(problem.coefficients.size), deadline)
    return _fitted(problem, point, algorithm, iterations, converged)


def _fitted(
    problem: MomentMatching, point: Point, algorithm: str, iterations: int, converged: bool
) -> Fitted:
    return Fitted(
        problem.coefficients.tables(point.w),
        "exact",
        algorithm,
        converged,
        iterations,
        point.gap,
        point.log_z,
        problem.supports,
    )


def _l_bfgs(problem: MomentMatching, start: Table, deadline: Deadline) -> Descent:
    """Minimise by gradients; the shortest tables are those over all cells."""

    def smooth(w: Table) -> tuple[float, Table]:
        point = problem.at(w)
        return point.value, point.gradient

    found = minimise(
        smooth,
        start,
        inverse=lambda change: change / problem.coefficients.cells,
        tolerance=TOLERANCE,
        max_iterations=_MOST_STEPS,
        deadline=deadline,
    )
    point = problem.at(found.point)
    return Descent(point, found.iterations, problem.distance(point) <= TOLERANCE)


def _chosen(terms: Terms, penalty: Penalty, algorithm: str) -> str:
    """The algorithm, of those that can do what is asked for."""
    is_penalised = penalty.l1 > 0 or penalty.l2 > 0
    if algorithm in (CLOSED_FORM, IPF) and is_penalised:
        name = "l1" if penalty.l1 > 0 else "l2"
        raise UsageError(
            f"{parameter('algorithm', algorithm)} maximises the likelihood alone; with "
            f"{parameter(name)}, use {NEWTON}"
        )
    if algorithm == L_BFGS and penalty.l1 > 0:
        raise UsageError(
            f"{parameter('algorithm', algorithm)} needs a smooth penalty; with {parameter('l1')}, "
            f"use {NEWTON}"
        )
    if algorithm == CLOSED_FORM and not terms.is_decomposable:
        raise UsageError(
            f"{parameter('algorithm', algorithm)} needs a decomposable model, which this is not; "
            f"use {NEWTON} or {IPF}"
        )
    if algorithm != "auto":
        return algorithm
    if terms.is_decomposable and not is_penalised:
        return CLOSED_FORM
    return NEWTON


def _is_large(problem: MomentMatching) -> bool:
    """Whether a thousand gradients are cheaper than two dozen Hessians."""
    parameters = problem.coefficients.size
    return parameters > _MOST_PARAMETERS or parameters * problem.engine.cells > _MOST_PRODUCTS


def _supports(
    counter: Counter,
    observed: Observed,
    penalty: Penalty,
    max_memory: int | None,
    deadline: Deadline,
) -> tuple[Support, ...]:
    """What is possible where the maximum lies at infinity; empty if it is finite."""
    terms = observed.terms
    if penalty.smoothing > 0:
        return ()
    if penalty.l1 > 0 or penalty.l2 > 0:
        levels: tuple[Scope, ...] = tuple((k,) for k in range(len(terms.variables)))
        return _seen(levels, tables_over(counter, terms, levels))
    if terms.is_decomposable:
        return _seen(terms.generators, observed.counts)
    cliques = _largest(CliqueMargins(terms, terms.generators, max_memory=max_memory).cliques)
    if not _seen(cliques, tables_over(counter, terms, cliques)):
        return ()
    from gml.model.undirected.boundary.facial_set import facial_set

    return facial_set(counter, terms, cliques, max_memory=max_memory, deadline=deadline)


def _seen(scopes: Sequence[Scope], counts: Sequence[Table]) -> tuple[Support, ...]:
    """The cells with rows, of the scopes that have cells without."""
    return tuple(
        Support(scope, table > 0)
        for scope, table in zip(scopes, counts, strict=True)
        if (table <= 0).any()
    )


def _largest(cliques: Sequence[Scope]) -> tuple[Scope, ...]:
    """The cliques that are not part of another, members in order."""
    found: list[set[int]] = []
    # A clique may be part of one that was eliminated before it, never of a later one.
    for clique in cliques:
        if not any({*clique} <= other for other in found):
            found.append({*clique})
    return tuple(sorted(tuple(sorted(clique)) for clique in found))
