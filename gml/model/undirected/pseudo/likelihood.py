"""Fit undirected models by pseudo-likelihood (Besag 1975, The Statistician 24:179).

The pseudo-log-likelihood is Σ_rows Σ_i ln p(x_i | all others), of the one set of terms that all
these conditional distributions share: joint and symmetric, not one regression per variable. No
constant of normalisation is in it, so that it can be had for graphs of any width; its maximum tends
to the truth as rows come in, at the rate of maximum likelihood with a larger variance, and equals
the maximum of the likelihood on saturated models, where both reproduce the table itself (other
models, trees included, have another maximum on data that do not fit them exactly).

Penalties are those of fitting.py, on this sum. Smoothing adds its rows to the data, spread evenly
over the full joint table, and each conditional distribution gets them all: so it needs every
configuration of the neighbours of each variable, and is refused where these are too many.

A cell of a generator that no row is in makes the maximum lie at infinity unless its term is
penalised: there it has probability 0, and the rest is maximised as its limit (a level that is
excluded by the other variables of a row is no alternative to its own). Pseudo-likelihood can also
grow without end in other ways, where rows are separated from their neighbours by several terms
together, or say nothing about a term. Then there is an error that names the term, and no number:
the second derivatives at the point that was reached have a direction of (almost) no curvature. For
models with more coefficients than a matrix has room for, it is looked for by conjugate gradients,
unless there can be none: where no level is excluded and all log-odds are small, the curvature along
a direction v is at least p(1 − p) Σ_i v_iᵀ S v_i, over the regressions i, with p the smallest
probability and S the second moments of the contrasts. The likelihood may have a maximum
nevertheless.

The maximum does not depend on how it is found: from tables of a variable and its neighbours
(families.py), or from rows, where these tables would be larger (rows.py).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter
from gml.errors import CannotAnswer, listing, parameter
from gml.kernel.blas import one_blas_thread
from gml.model.undirected.boundary.excluded_cells import empty_cells, without_flat_part
from gml.model.undirected.coefficients import Coefficients, Vector
from gml.model.undirected.first_order import Descent, Function, minimise
from gml.model.undirected.fitting import (
    NO_PENALTY,
    TOLERANCE,
    Fitted,
    NoPseudoMaximum,
    Penalty,
    Support,
)
from gml.model.undirected.groups import Groups
from gml.model.undirected.observed import tables_over
from gml.model.undirected.pseudo.families import FamilyObjective, family_numbers
from gml.model.undirected.pseudo.rows import RowObjective
from gml.model.undirected.terms import Scope, Terms
from gml.progress import Deadline
from gml.resources import available_threads

# The least curvature in rows: that of a maximum with a fraction of a row against it is larger, and
# that of none, where the gradient is as good as 0, is smaller.
_LEAST_CURVATURE = 1e-3
_FEW_COEFFICIENTS = 1500
_NOT_FLAT = 1e-6
# Below this sum of strengths per variable, no probability is so small that it may tend to 0.
_SUSPICIOUS = 3.0
# Second moments whose smallest eigenvalue is at least this leave no direction without curvature.
_SPREAD = 1e-4
_MOST_LOOKS, _SOLVED = 40, 1e-12
_FEW_NUMBERS = 30_000_000


def fit_pseudo(
    counter: Counter,
    terms: Terms,
    *,
    penalty: Penalty = NO_PENALTY,
    threads: int | None = None,
    max_memory: int | None = None,
    deadline: Deadline | None = None,
) -> Fitted:
    """Fit by pseudo-likelihood.

    Parameters
    ----------
    counter
        The data; rows are needed only where variables have many neighbours.
    terms
        The terms of the model.
    penalty
        What is taken off the pseudo-log-likelihood, and rows of smoothing.
    threads, max_memory, deadline
        What the fit may take; at the deadline the best so far is returned, not converged.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> terms = Terms.of(counter.select(["smoke", "lung", "bronc"]).variables,
    ...                  [["smoke", "lung"], ["smoke", "bronc"]])
    >>> found = fit_pseudo(counter, terms)
    >>> found.converged, [round(float(table[1, 1]), 3) for table in found.tables[-2:]]
    (True, [0.326, 0.572])
    """
    coefficients = Coefficients(terms)
    single = tables_over(counter, terms, tuple((k,) for k in range(len(terms.variables))))
    n = counter.n * counter.unit
    if n + penalty.smoothing <= 0:
        raise CannotAnswer("there are no rows to fit")
    zeros = empty_cells(counter, terms, penalty)
    smooth, algorithm = _objective(counter, coefficients, penalty, zeros, threads, max_memory)
    total = n + penalty.smoothing
    groups = Groups.of_terms(coefficients, penalty.l1 / total)
    objective = _with_ridge(smooth, coefficients, penalty.l2 / total)
    # Products between the blocks of rows are small: threads of their own would slow them down.
    with one_blas_thread():
        found = minimise(
            objective,
            _start(coefficients, single),
            groups=groups,
            inverse=smooth.inverse() if isinstance(smooth, RowObjective) else None,
            tolerance=TOLERANCE,
            deadline=deadline,
        )
    if found.converged and penalty.is_likelihood:
        _require_curvature(coefficients, smooth, found.point, zeros, n)
    point = without_flat_part(coefficients, found.point, zeros)
    return Fitted(
        tables=coefficients.tables(point),
        method="pl",
        algorithm=algorithm,
        converged=found.converged,
        iterations=found.iterations,
        gap=None,
        log_z=None,
        supports=tuple(Support(scope, ~zero) for scope, zero in zeros.items()),
        pseudo_log_likelihood=-smooth(point)[0] * total,
        gradient=found.gradient,
        notes=_notes(found),
    )


def _objective(
    counter: Counter,
    coefficients: Coefficients,
    penalty: Penalty,
    zeros: dict[Scope, NDArray[np.bool_]],
    threads: int | None,
    max_memory: int | None,
) -> tuple[FamilyObjective | RowObjective, str]:
    """Choose tables of families or rows, whichever takes less, and say which."""
    terms = coefficients.terms
    rows = counter.rows()
    is_pairwise = max(map(len, terms.generators), default=0) <= 2
    if (
        rows is not None
        and is_pairwise
        and not counter.missing
        and not penalty.smoothing
        and family_numbers(coefficients, counter.n) > _FEW_NUMBERS
    ):
        return (
            RowObjective(
                rows,
                coefficients,
                zeros=zeros,
                threads=threads or available_threads(),
                max_memory=max_memory,
            ),
            "l-bfgs on rows",
        )
    found = FamilyObjective(
        counter, coefficients, smoothing=penalty.smoothing, zeros=zeros, max_memory=max_memory
    )
    return found, "l-bfgs on counts"


def _with_ridge(function: Function, coefficients: Coefficients, l2: float) -> Function:
    """Add l2 times the squares of the coefficients of terms over several variables."""
    if l2 == 0:
        return function

    def penalised(vector: Vector) -> tuple[float, Vector]:
        value, gradient = function(vector)
        joint = np.where(coefficients.is_joint, vector, 0.0)
        return value + l2 * float(joint @ joint), gradient + 2 * l2 * joint

    return penalised


def _start(coefficients: Coefficients, single: list[NDArray[np.float64]]) -> Vector:
    """Independence, with half a row more in every level."""
    terms = coefficients.terms
    tables = [np.zeros(terms.shape(scope)) for scope in terms.all]
    for t, table in enumerate(single):
        logs = np.log(table + 0.5)
        tables[t] = logs - logs.mean()
    return coefficients.vector(tables)


def _require_curvature(
    coefficients: Coefficients,
    objective: FamilyObjective | RowObjective,
    point: Vector,
    zeros: Mapping[Scope, NDArray[np.bool_]],
    n: float,
) -> None:
    """Refuse a fit that some direction leaves as it is, other than those of excluded cells."""
    if isinstance(objective, FamilyObjective) and coefficients.size <= _FEW_COEFFICIENTS:
        values, vectors = np.linalg.eigh(objective.curvature(point))
        weak = list(vectors.T[values < _LEAST_CURVATURE / n])
    elif _is_curved(coefficients, objective, point, zeros):
        weak = []
    else:
        weak = _weakest(coefficients, objective, point, zeros, _LEAST_CURVATURE / n)
    for vector in weak:
        left = without_flat_part(coefficients, vector, zeros)
        if float(left @ left) > _NOT_FLAT:
            raise _no_maximum(coefficients, left)


def _is_curved(
    coefficients: Coefficients,
    objective: FamilyObjective | RowObjective,
    point: Vector,
    zeros: Mapping[Scope, NDArray[np.bool_]],
) -> bool:
    """Whether every direction has curvature, by the bound that needs no search."""
    return (
        isinstance(objective, RowObjective)
        and not zeros
        and coefficients.summed_strengths(point).max(initial=0.0) < _SUSPICIOUS
        and float(np.linalg.eigvalsh(objective.second_moments)[0]) >= _SPREAD
    )


def _weakest(
    coefficients: Coefficients,
    objective: FamilyObjective | RowObjective,
    point: Vector,
    zeros: Mapping[Scope, NDArray[np.bool_]],
    least: float,
) -> list[Vector]:
    """Look for a direction with less curvature than that, and return it if there is one.

    Conjugate gradients for a random right-hand side: a single direction of hardly any curvature
    makes most of their solution as soon as they see it, which is soon, as all others are alike.
    """
    inverse = objective.inverse() if isinstance(objective, RowObjective) else np.array
    # Not signs: of two coefficients, every other sum or difference of those would be 0.
    wanted = np.random.default_rng(0).standard_normal(coefficients.size)
    # What is orthogonal to the changes of excluded cells, as gradients are.
    cells = coefficients.cells
    residual = cells * without_flat_part(coefficients, wanted / cells, zeros)
    found = np.zeros_like(residual)
    scaled = without_flat_part(coefficients, inverse(residual), zeros)
    direction, product = scaled, float(residual @ scaled)
    enough = _SOLVED * product
    for _ in range(_MOST_LOOKS):
        if product <= enough:
            break
        curved = objective.change(point, direction)
        along = float(direction @ curved)
        if along <= least * float(direction @ direction):
            return [direction / np.linalg.norm(direction)]
        found = found + product / along * direction
        residual = residual - product / along * curved
        scaled = without_flat_part(coefficients, inverse(residual), zeros)
        before, product = product, float(residual @ scaled)
        direction = scaled + product / before * direction
    length = float(np.linalg.norm(found))
    # All changes may be those of excluded cells: then there is nothing else to look for.
    if length > 0 and float(found @ objective.change(point, found)) <= least * length**2:
        return [found / length]
    return []


def _no_maximum(coefficients: Coefficients, direction: Vector) -> NoPseudoMaximum:
    """Name the term that is most of a direction."""
    terms = coefficients.terms
    scope = terms.all[int(coefficients.strengths(direction).argmax())]
    return NoPseudoMaximum(
        "the pseudo-likelihood has no maximum, or more than one: no row holds back the term of "
        f"{listing([terms.names[j] for j in scope])}; use {parameter('l2')}, "
        f"{parameter('smoothing')} or {parameter('method', 'exact')}"
    )


def _notes(found: Descent) -> tuple[str, ...]:
    if found.converged:
        return ()
    return (
        f"the largest derivative per row is still {found.gradient:.1e}, more than {TOLERANCE:g}, "
        f"after {found.iterations} steps",
    )
