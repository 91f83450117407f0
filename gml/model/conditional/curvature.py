"""How strongly the penalised log-likelihood of a field bends at a point, for L-BFGS to begin with.

Small parts have all second derivatives (second_derivatives.py), so that a step is one of Newton's.
Others have the diagonal alone: a feature with probability p given the inputs adds p(1 − p) for each
row that can have it, times the square of a numeric input; that of two targets, as if they were
independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from gml.model.conditional.row_elimination import Rows
from gml.model.conditional.rows import PartRows, Statistics
from gml.model.conditional.second_derivatives import curvature
from gml.model.conditional.terms import Table, Vector

# Directions along which nothing bends, as those that change no probability.
_LEAST = 1e-10
# Sums of numbers, unlike counts, leave slopes along these that are rounding alone.
_LEAST_WITH_NUMBERS = 1e-7


def newton_steps(
    rows: PartRows, counted: Statistics, weights: Vector, *, l2: float
) -> Callable[[Vector], Vector]:
    """Return what multiplies by the inverse of all second derivatives per row."""
    bends = curvature(rows, counted, weights) / counted.n
    diagonal = np.diag_indices_from(bends)
    bends[diagonal] += 2 * l2 / counted.n
    least = _LEAST_WITH_NUMBERS if rows.terms.scales else _LEAST
    bends[diagonal] += least * float(bends.diagonal().max())
    inverse: Table = np.linalg.inv(bends).astype(np.float64)
    # Rounding must not make it lopsided.
    inverse = (inverse + inverse.T) / 2
    return lambda vector: inverse @ vector


def diagonal_steps(
    rows: PartRows,
    counted: Statistics,
    posteriors: Iterable[tuple[slice, Sequence[Rows]]],
    *,
    l2: float,
) -> Callable[[Vector], Vector]:
    """Return what divides by the diagonal of the second derivatives per row.

    `posteriors` are those of each target in the distinct rows of inputs, block by block.
    """
    terms, n = rows.terms, counted.n
    diagonal = terms.tables(np.zeros(terms.size))
    for block, tables in posteriors:
        times, inputs = counted.times[block], rows.inputs[:, block]
        for t, table in enumerate(tables):
            name = terms.targets[t].name
            weights = times[:, None] * table * (1 - table)
            diagonal[name,] += weights.sum(axis=0)
            for k in terms.reads[t]:
                into = diagonal[name, terms.inputs[k].name]
                if terms.inputs[k].is_continuous:
                    into[:, 0] += np.einsum("r,rl->l", np.square(inputs[k]), weights)
                    continue
                codes = np.asarray(inputs[k], dtype=np.intp)
                for level in range(len(into)):
                    into[level] += np.bincount(
                        codes, weights=weights[:, level], minlength=into.shape[1]
                    )
        for i, j in terms.pairs:
            into = diagonal[terms.targets[i].name, terms.targets[j].name]
            into += np.einsum("r,ri,rj->ij", times, tables[i], tables[j])
    for i, j in terms.pairs:
        expected = diagonal[terms.targets[i].name, terms.targets[j].name]
        expected *= 1 - expected / n
    whole = (terms.vector(diagonal) + 2 * l2) / n
    # Features that were never possible have neither a gradient nor a curvature.
    whole[whole == 0] = 1.0
    return lambda vector: vector / whole
