"""How much incomplete rows tell of the tables: observed information, intervals and identification.

The observed information of Louis (1982, JRSS B 44:226) is what complete rows would tell less what
is missing: in cells c, d of the tables, with n the counts of complete rows,

    Iᶜᵈ = δᶜᵈ E[nᶜ]/θᶜ² − Cov(nᶜ, nᵈ | observed)/(θᶜθᵈ),

with pseudo-counts added to E[n] where there are priors. The covariance is a sum over questions: it
is enumerated, and for parts with a junction tree it is the derivative of expected counts by ln θ,
taken by central differences. Both are exact to about ten digits.

A table's rows add up to 1, so only changes d with Σ d = 0 count. In d = √θ∘z/√N, N the expected
rows of a configuration and z orthogonal to √θ, the information of complete rows is the identity,
and that of the incomplete ones, R, has eigenvalues between 0 and 1: the shares of information that
are there, along its eigenvectors. Standard errors come from R⁻¹. The fraction of information that
is missing for a table with k free parameters is 1 − k/tr R⁻¹, the trace over its own: for one
parameter 1 − (variance if rows were complete)/(variance now). It is 1 where R is singular.

Intervals are symmetric in ln(θ/(1 − θ)); those of probabilities at 0 or 1 are in `boundary`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.model.em.boundary import bound_at_zero, lifted, slopes_at_zero
from gml.model.em.large_parts import expect_trees
from gml.model.em.table_layout import TableLayout, Vector
from gml.model.em.table_problem import TableProblem
from gml.resources import budget_in_force
from gml.stopping import check_stopped

# Shares of information below this are 0.
_NO_SHARE = 1e-7
MOST_CELLS = 3000
"""Probabilities that are not 0 beyond which there is no information."""
# Square matrices of so many cells that exist at once, those of LAPACK among them.
_COPIES = 8
# Cells that questions speak of, times families, that the covariances may look at; and what it takes
# to run a junction tree, in such cells.
_MOST_WORK = 3e9
_TREE_WORK = 3000
_LOG_STEP = 1e-4


@dataclass(frozen=True)
class TableInformation:
    """What incomplete rows tell of each cell."""

    standard_errors: Vector
    """Of each cell: 0 for one at a boundary or in a row with nothing to it, infinite where the data
    do not tell."""
    slopes: Vector
    """How the objective falls where a probability at 0 grows; NaN elsewhere."""
    missing: Mapping[str, float]
    """The fraction of information that is missing, by node."""


def table_information(
    problem: TableProblem, tables: Vector, completed: Vector, budget: int | None = None
) -> TableInformation | None:
    """Find the information at a maximum; None where that would take too long or too much memory.

    `completed` are the expected counts of all families in all rows.
    """
    layout = problem.layout
    counts = problem.expect(tables)[1] + problem.prior
    whole = completed + problem.prior
    told_cells = problem.told_cells(counts)
    cells = _inside(layout, told_cells, whole)
    n = len(cells)
    if n > MOST_CELLS or 8 * _COPIES * n * n > budget_in_force(budget):
        return None
    if _work(problem) > _MOST_WORK:
        return None
    directions = _directions(layout, tables, cells, whole)
    if n:
        # Louis: what complete rows would tell, less what varies among completions.
        theta = tables[cells]
        told = _covariances(problem, tables, cells)
        told *= -problem.data.unit / theta
        told /= theta[:, None]
        told[np.diag_indices(n)] += counts[cells] / theta**2
        turn = directions.matrix
        errors, shares = _errors(turn.T @ told @ turn, turn)
    else:
        errors, shares = np.zeros(0), np.zeros(0)
    standard = np.zeros(len(tables))
    standard[cells] = errors
    return TableInformation(
        standard,
        zero_slopes(problem, tables, counts),
        {
            layout.names[node]: _fraction(shares[directions.nodes == node])
            for node in range(len(layout.sizes))
        },
    )


def _fraction(inflations: Vector) -> float:
    """1 − k/Σ of the variances in units of those that complete rows would give."""
    if not len(inflations):
        return 0.0
    return max(0.0, 1.0 - len(inflations) / float(inflations.sum()))


def _inside(layout: TableLayout, told_cells: NDArray[np.bool_], whole: Vector) -> NDArray[np.int64]:
    """The cells with some probability, of distributions that have several and rows behind them."""
    found = np.zeros(len(told_cells), dtype=bool)
    for rows in layout.rows:
        some = told_cells[rows.cells]
        varies = (some.sum(axis=1) > 1) & (whole[rows.cells].sum(axis=1) > 0)
        found[rows.cells] = some & varies[:, None]
    return np.flatnonzero(found)


class _Directions(NamedTuple):
    """The free directions in which the tables may change."""

    matrix: Vector
    """Cells × directions, in which complete rows would tell one unit each."""
    nodes: NDArray[np.int64]
    """Whose table each direction is in."""


def _directions(
    layout: TableLayout, tables: Vector, cells: NDArray[np.int64], whole: Vector
) -> _Directions:
    starts = layout.kernel.table_starts
    sizes = np.array(layout.sizes, dtype=np.int64)
    nodes = np.searchsorted(starts, cells, side="right") - 1
    firsts = cells - (cells - starts[nodes]) % sizes[nodes]
    ends = np.flatnonzero(np.diff(firsts, append=-1)) + 1
    matrix = np.zeros((len(cells), len(cells) - len(ends)))
    at, to = 0, 0
    for end in ends.tolist():
        total = float(whole[firsts[at] : firsts[at] + sizes[nodes[at]]].sum())
        free = end - at - 1
        matrix[at:end, to : to + free] = free_directions(tables[cells[at:end]]) / math.sqrt(total)
        at, to = end, to + free
    # One fewer than the cells of each distribution.
    return _Directions(matrix, np.delete(nodes, ends - 1))


def free_directions(probabilities: Vector) -> Vector:
    """Changes of a distribution that keep its sum, as orthonormal as its Fisher information is 1.

    Examples
    --------
    >>> free_directions(np.array([0.5, 0.5])).round(3).tolist()
    [[-0.5], [0.5]]
    """
    root = np.sqrt(probabilities / probabilities.sum())
    # The Householder reflection that takes the first axis to the root: its other columns.
    normal = root.copy()
    normal[0] += 1.0
    reflection = np.eye(len(root)) - np.outer(normal, normal) / normal[0]
    found: Vector = root[:, None] * reflection[:, 1:]
    return found


def _work(problem: TableProblem) -> float:
    parts = problem.parts
    families = np.diff(parts.small.family_starts).astype(np.float64)
    asked = np.diff(parts.small.question_starts)
    enumerated = float((parts.states * families**2 * asked).sum())
    sizes = np.diff(problem.layout.kernel.table_starts)
    return enumerated + sum(
        2.0 * float(sizes[list(tree.families)].sum()) * (tree.work + _TREE_WORK)
        for tree in parts.large.trees
    )


def _covariances(problem: TableProblem, tables: Vector, cells: NDArray[np.int64]) -> Vector:
    """Σ over questions of Cov(nᶜ, nᵈ | observed), in units."""
    layout = problem.layout.kernel
    places = np.full(layout.n_cells, -1, dtype=np.int32)
    places[cells] = np.arange(len(cells), dtype=np.int32)
    found = np.zeros((len(cells), len(cells)))
    small = problem.parts.small
    kernel.active().count_covariances(layout, small, 0, small.n_questions, tables, places, found)
    if problem.parts.large.trees:
        found += _differences(problem, tables, cells)
    return (found + found.T) / 2


def _differences(problem: TableProblem, tables: Vector, cells: NDArray[np.int64]) -> Vector:
    """The derivatives of expected counts by the logarithms of probabilities."""
    found = np.zeros((len(cells), len(cells)))
    families = np.searchsorted(problem.layout.kernel.table_starts, cells, side="right") - 1
    trees = problem.parts.large.trees
    speaking = {
        family: tuple(tree for tree in trees if family in tree.families)
        for family in set(families.tolist())
    }
    for place, (cell, family) in enumerate(zip(cells.tolist(), families.tolist(), strict=True)):
        check_stopped()
        ends = []
        for step in (_LOG_STEP, -_LOG_STEP):
            at = tables.copy()
            at[cell] *= math.exp(step)
            counts = np.zeros(len(tables))
            expect_trees(speaking[family], at, counts)
            ends.append(counts[cells])
        found[place] = (ends[0] - ends[1]) / (2 * _LOG_STEP)
    return found


def _errors(there: Vector, turn: Vector) -> tuple[Vector, Vector]:
    """Standard errors of cells, and how much the variance along each direction is inflated."""
    shares, along = np.linalg.eigh((there + there.T) / 2)
    told = shares > _NO_SHARE
    inverse = np.where(told, 1 / np.where(told, shares, 1.0), np.inf)
    # Infinite times 0 is 0 here: what is untold along one direction does not touch others.
    squares = along**2
    inflations = _weighed(squares, inverse)
    errors = np.sqrt(_weighed((turn @ along) ** 2, inverse))
    return errors, inflations


def _weighed(squares: Vector, inverse: Vector) -> Vector:
    told = np.isfinite(inverse)
    found: Vector = squares[:, told] @ inverse[told]
    touched = squares[:, ~told].sum(axis=1) > 1e-12 * squares.sum(axis=1)
    found[touched] = np.inf
    return found


def zero_slopes(problem: TableProblem, tables: Vector, counts: Vector) -> Vector:
    """How the objective changes where a probability at 0 grows; NaN elsewhere.

    `counts` are expected at the tables, pseudo-counts included.
    """
    found = np.full(len(tables), np.nan)
    told_cells = problem.told_cells(counts)
    raised = problem.expect(lifted(tables))[1] + problem.prior
    for rows in problem.layout.rows:
        told = told_cells[rows.cells]
        at_zero = ~told & told.any(axis=1, keepdims=True)
        found[rows.cells] = slopes_at_zero(
            tables[rows.cells], counts[rows.cells], raised[rows.cells], at_zero
        )
    return found


def intervals(
    problem: TableProblem, tables: Vector, information: TableInformation, level: float
) -> Vector:
    """Return lower and upper bounds of each cell, between 0 and 1."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    bounds = np.empty((len(tables), 2))
    errors = information.standard_errors
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        logits = np.log(tables) - np.log1p(-tables)
        reach = z * errors / (tables * (1 - tables))
        bounds[:, 0] = 1 / (1 + np.exp(reach - logits))
        bounds[:, 1] = 1 / (1 + np.exp(-reach - logits))
    untold = ~np.isfinite(errors)
    bounds[untold] = 0.0, 1.0
    for rows in problem.layout.rows:
        for cells in rows.cells:
            slopes = information.slopes[cells]
            at_zero = np.isfinite(slopes)
            if errors[cells].any() and not at_zero.any():
                continue
            if not at_zero.any():
                # A row that nothing speaks of, or a single level, which is certain.
                bounds[cells] = (1.0, 1.0) if len(cells) == 1 else (0.0, 1.0)
                continue
            upper = bound_at_zero(-slopes[at_zero], level)
            bounds[cells[at_zero], 0] = 0.0
            bounds[cells[at_zero], 1] = upper
            if at_zero.sum() == len(cells) - 1:
                bounds[cells[~at_zero]] = 1.0 - upper.max(), 1.0
    return bounds
