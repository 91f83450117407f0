"""Multipliers as they are reported where a solution leaves them open, or has none that is finite.

*Bounds that are alike* (redundant.py) and hold with no room share what only their sum determines,
so that the squares of their multipliers are least: two that are the same have half of it each.

*Infinite prices.* Where constraints force cells to be 0, the entropy grows at an infinite rate once
they are moved a little inwards: −p ln p has an infinite slope at 0. These constraints have no
multiplier. They are those that are not determined by others beforehand, do not vary
independently of the others on what is left, and without which the cells would not have to be 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gml.model.entropy.constraints import AGREEMENT
from gml.model.entropy.dual import EntropyDual, Point
from gml.model.entropy.polytope import Polytope
from gml.model.entropy.redundant import on_equations
from gml.model.undirected.boundary.face import deviations
from gml.model.undirected.fitting import TOLERANCE, OutOfTime
from gml.progress import Deadline

_SAME = 1e-12
_NULL = 1e-10
_PART = 1e-6


def shared(dual: EntropyDual, point: Point) -> Point:
    """Return the point with the multipliers of bounds that are alike shared among them."""
    covariance = dual.covariance
    change = np.zeros_like(point.x)
    # Multipliers as they are reported, not as features are scaled to be solved.
    units = np.array([1.0] * dual.n_terms + [f.scale for f in dual.problem.features])
    for which, sizes in dual.alike:
        total = float(point.x[which] @ sizes)
        gaps = point.gradient[which] / sizes
        tight = gaps <= gaps.min() + _SAME
        if total > 0 and np.count_nonzero(tight) > 1:
            part = np.where(tight, sizes * units[which] ** 2, 0.0)
            change[which] = total * part / float(part @ sizes) - point.x[which]
    if covariance is None or not change.any():
        return point
    moved = np.flatnonzero(change)
    equations = dual.is_kept & ~dual.is_bounded
    change -= on_equations(covariance, equations, moved) @ change[moved]
    found = dual.at(point.x + change)
    return found if dual.distance(found) <= TOLERANCE else point


def without_price(
    before: EntropyDual,
    after: EntropyDual,
    point: Point,
    polytope: Polytope,
    zeros: NDArray[np.int64],
    deadline: Deadline,
) -> frozenset[int]:
    """Return the features (by their number) whose prices are infinite.

    Parameters
    ----------
    before, after
        The dual before some cells had to be 0, and after.
    point
        The solution of the latter.
    polytope, zeros
        What says which cells have to be 0, and these.
    deadline
        Once it has passed, all that may have an infinite price are taken to have one.
    """
    covariance = after.covariance
    n = after.n_terms
    if covariance is None or not len(zeros):
        return frozenset()
    used = np.flatnonzero(before.is_kept)
    scale = deviations(covariance[np.ix_(used, used)])
    values, vectors = np.linalg.eigh(covariance[np.ix_(used, used)] / np.outer(scale, scale))
    none = vectors[:, values <= _NULL * max(1.0, float(values.max(initial=0.0)))]
    in_doubt = used[np.abs(none).max(axis=1, initial=0.0) > _PART]
    redundant = [k for k in range(n, after.size) if not before.is_kept[k]]
    found = set()
    for k in in_doubt[in_doubt >= n].tolist():
        if after.is_bounded[k] and point.gradient[k] > AGREEMENT:
            continue
        like = [int(j) for group in before.alike if k in group.which for j in group.which]
        features = after.problem.features
        left_out = {features[j - n].which for j in (k, *redundant, *like)}
        try:
            is_needed = polytope.can_be_more(zeros, left_out, deadline)
        except OutOfTime:
            is_needed = True
        if is_needed:
            found.add(k - n)
    return frozenset(found)
