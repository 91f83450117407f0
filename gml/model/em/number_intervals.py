"""Intervals of regressions and tables fitted to incomplete rows, from the observed information.

The covariance of estimates is the inverse of the observed information (`number_information`).
Probabilities are taken to be normal by their logits; one at 0 or 1 has the bound of `boundary`.

Regressions have the intervals of complete rows (`regression_fit`), of as many as tell as much of
the errors: n rows give ln σ the variance 1/(2n), so that a variance of v is worth m = 1/(2v) rows,
and there are m − |pa| − 1 degrees of freedom. Intercepts and slopes have Student's t, their
variances multiplied by m over these (the estimate of σ² is that of the highest likelihood), and
m σ̂²/σ² is χ². With nothing missing, that is the closed form. (Degrees of freedom from the variance
of a variance are Satterthwaite's, 1946; that less is known of σ is why they are fewer than those of
complete rows, as Barnard & Rubin 1999, Biometrika 86:948, have it for multiple imputation.) Without
a degree of freedom, and where a regression is not estimated from rows of its own, there is no
interval. Where the data leave something open there is no covariance, and no interval at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer
from gml.model.em.boundary import bound_at_zero, lifted, slopes_at_zero
from gml.model.em.number_families import Families, Parameters
from gml.model.em.number_information import AT_ZERO, Block, Information
from gml.model.em.number_maximum import NumberProblem
from gml.model.em.number_rows import NumberRows
from gml.model.regression_fit import degrees_of_freedom

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Intervals:
    """Bounds of the parameters of each family, by configuration; NaN where there are none."""

    regressions: tuple[Array, ...]
    """Configurations × (intercept, slopes, standard deviation) × 2, in the units of columns."""
    tables: tuple[Array, ...]
    """Configurations × levels × 2."""


def intervals_of(
    said: Information | None,
    problem: NumberProblem,
    data: NumberRows,
    at: Parameters,
    level: float,
) -> Intervals:
    """Return bounds of all parameters, or refuse."""
    families = problem.families
    covariance = None if said is None else said.covariance()
    if said is None or covariance is None or (np.diag(covariance) < 0).any():
        why = "would take too long" if said is None else "leaves some parameters open"
        raise CannotAnswer(
            f"there are no intervals: the observed information {why}; a bootstrap has some"
        )
    regressions = tuple(np.full((f.n_configs, f.n_terms + 1, 2), np.nan) for f in families.numbers)
    tables = tuple(np.full((f.n_configs, f.n_levels, 2), np.nan) for f in families.labels)
    slopes = zero_slopes(problem, at)
    for block in said.blocks:
        own = slice(block.start, block.start + block.size)
        part = covariance[own, own]
        if block.is_number:
            regressions[block.family][block.config] = _regression(
                block, families, data, at, part, level
            )
        else:
            row = at.tables[block.family][block.config]
            falls = slopes[block.family][block.config]
            tables[block.family][block.config] = _row(block, row, part, falls, level)
    return Intervals(regressions, tables)


def _regression(
    block: Block, families: Families, data: NumberRows, at: Parameters, part: Array, level: float
) -> Array:
    from scipy.special import chdtri, stdtrit

    family = families.numbers[block.family]
    unit, shift = data.scales[family.child], data.shifts[family.child]
    one = at.regressions[block.family]
    terms, log_sd = one.terms[block.config], float(one.log_sd[block.config])
    ratios = np.array([unit / data.scales[k] for k in family.numbers])
    moves = np.array([data.shifts[k] for k in family.numbers])
    # The intercept is that at 0, not at the shifts.
    turn = np.zeros((len(terms), len(terms)))
    turn[0, 0] = unit
    turn[0, 1:] = -ratios * moves
    turn[1:, 1:] = np.diag(ratios)
    estimates = turn @ terms
    estimates[0] += shift
    worth = 0.5 / part[-1, -1]
    df = degrees_of_freedom(worth, len(family.numbers))
    if df <= 0:
        return np.full((len(terms) + 1, 2), np.nan)
    t = float(stdtrit(df, 0.5 + level / 2)) * math.sqrt(worth / df)
    half = t * np.sqrt(np.einsum("ij,jk,ik->i", turn, part[:-1, :-1], turn))
    tails = (1 - level) / 2, (1 + level) / 2
    sds = [unit * math.exp(log_sd) * math.sqrt(worth / float(chdtri(df, tail))) for tail in tails]
    bounds = np.column_stack([estimates - half, estimates + half])
    return np.vstack([bounds, sds])


def zero_slopes(problem: NumberProblem, at: Parameters) -> tuple[Array, ...]:
    """How the objective changes where a probability at 0 grows, by table; NaN elsewhere."""
    counts = problem.expectation(at).counts
    raised = problem.expectation(replace(at, tables=tuple(map(lifted, at.tables)))).counts
    return tuple(
        slopes_at_zero(table, n + alpha, more + alpha, table <= AT_ZERO)
        for table, n, more, alpha in zip(
            at.tables, counts, raised, map(problem.alpha, range(len(counts))), strict=True
        )
    )


def _row(block: Block, row: Array, part: Array, slopes: Array, level: float) -> Array:
    z = NormalDist().inv_cdf(0.5 + level / 2)
    if len(row) == 1:
        return np.ones((1, 2))
    found = np.empty((len(row), 2))
    cells = list(block.cells)
    at_zero = [k for k in range(len(row)) if k not in cells and k != block.base]
    found[at_zero, 0] = 0.0
    found[at_zero, 1] = bound_at_zero(-slopes[at_zero], level)
    for k in (*cells, block.base):
        if not cells:
            found[k] = 1 - found[at_zero, 1].max(), 1.0
            continue
        p = float(row[k])
        slope = (np.array([j == k for j in cells], dtype=np.float64) - row[cells]) / (1 - p)
        half = z * math.sqrt(max(0.0, float(slope @ part @ slope)))
        logit = math.log(p / (1 - p))
        found[k] = 1 / (1 + np.exp(-(logit - half))), 1 / (1 + np.exp(-(logit + half)))
    return found
