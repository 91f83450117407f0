"""How strongly the log-likelihood of a field bends at a point, for L-BFGS to begin with.

With X the features of the inputs (a constant and one for each level), p the posteriors of a target
with levels y, z and n how often each distinct row occurs, the second derivatives along the weights
of that target alone are

    Σ_rows n · p_y (1[y = z] − p_z) · X Xᵀ + 2·l2·1[same weight],

which is all there is for one target; what targets do together is left out. Weights of two targets,
and of targets with very many features, have the diagonal alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from gml.model.conditional.row_elimination import Rows
from gml.model.conditional.rows import PartRows, Statistics
from gml.model.conditional.terms import Table, Vector

Index = NDArray[np.int64]

# The inverse of a larger matrix takes longer than it saves.
_MOST_WEIGHTS = 500
# Directions along which nothing bends, as those that change no probability.
_LEAST = 1e-10


def inverse_curvature(
    rows: PartRows, counted: Statistics, posteriors: Sequence[Rows], *, l2: float
) -> Callable[[Vector], Vector]:
    """Return what multiplies by about the inverse of the second derivatives per row.

    `posteriors` are those of each target in each distinct row of inputs.
    """
    terms, n = rows.terms, counted.n
    diagonal = terms.tables(np.zeros(terms.size))
    blocks: list[tuple[Index, Table]] = []
    for t, table in enumerate(posteriors):
        name = terms.targets[t].name
        places = _places(rows, t)
        if places.size <= _MOST_WEIGHTS:
            bends = _block(rows, t, table, counted.times) / n
            bends[np.diag_indices_from(bends)] += 2 * l2 / n
            bends[np.diag_indices_from(bends)] += _LEAST * float(bends.diagonal().max())
            inverse: Table = np.linalg.inv(bends).astype(np.float64)
            blocks.append((places.reshape(-1), inverse))
            continue
        weights = counted.times[:, None] * table * (1 - table)
        diagonal[name,] += weights.sum(axis=0)
        for k in terms.reads[t]:
            into = diagonal[name, terms.inputs[k].name]
            for level in range(len(into)):
                into[level] += _sums(rows.inputs[k], weights[:, level], into.shape[1])
    for i, j in terms.pairs:
        first, second = posteriors[i], posteriors[j]
        p = np.einsum("r,ri,rj->ij", counted.times, first, second) / n
        diagonal[terms.targets[i].name, terms.targets[j].name] += n * p * (1 - p)
    whole = (terms.vector(diagonal) + 2 * l2) / n
    # Features that were never possible have neither a gradient nor a curvature.
    whole[whole == 0] = 1.0

    def times(vector: Vector) -> Vector:
        found = vector / whole
        for places, inverse in blocks:
            found[places] = inverse @ vector[places]
        return found

    return times


def _places(rows: PartRows, t: int) -> Index:
    """Where the weights of a target lie: levels × features."""
    terms = rows.terms
    name, levels = terms.targets[t].name, len(terms.targets[t].levels or ())
    scopes = [(name,), *((name, terms.inputs[k].name) for k in terms.reads[t])]
    found = [terms.places[scope] for scope in scopes]
    return np.hstack([np.arange(s.start, s.stop).reshape(levels, -1) for s in found])


def _block(rows: PartRows, t: int, posterior: Rows, times: Vector) -> Table:
    """The second derivatives along the weights of a target, as levels × features twice."""
    read = rows.terms.reads[t]
    codes = [np.zeros(rows.n_distinct, dtype=np.intp), *(rows.inputs[k] for k in read)]
    sizes = [1, *(len(rows.terms.inputs[k].levels or ()) for k in read)]
    starts = np.cumsum([0, *sizes])
    size, levels = int(starts[-1]), posterior.shape[1]
    found = np.empty((levels, size, levels, size))
    crossed = [
        (
            slice(starts[a], starts[a + 1]),
            slice(starts[b], starts[b + 1]),
            codes[a] * sizes[b] + codes[b],
        )
        for a in range(len(codes))
        for b in range(a + 1)
    ]
    for y in range(levels):
        for z in range(y + 1):
            weights = times * posterior[:, y] * ((y == z) - posterior[:, z])
            for at, beside, cells in crossed:
                shape = (at.stop - at.start, beside.stop - beside.start)
                sums = _sums(cells, weights, shape[0] * shape[1]).reshape(shape)
                found[y, at, z, beside] = sums
                found[y, beside, z, at] = sums.T
            found[z, :, y, :] = found[y, :, z, :]
    return found.reshape(levels * size, levels * size)


def _sums(cells: NDArray[np.intp], weights: Vector, size: int) -> Vector:
    return np.bincount(cells, weights=weights, minlength=size).astype(np.float64, copy=False)
