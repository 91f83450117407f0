"""Multipliers as they are reported where a solution leaves them open, or has none that is finite.

*Bounds that determine one another* and hold with no room have many multipliers that do. Those are
reported whose squares are least, none of them negative: two bounds that are the same have half of
the price each, and of upper bounds of all cells that add up to 1 the largest has none. There are
such multipliers wherever there is a solution: constraints that are linear need no room for it
(Boyd & Vandenberghe 2004, section 5.2.3).

*Infinite prices.* Where constraints force cells to be 0, the entropy grows at an infinite rate once
they are moved a little inwards: −p ln p has an infinite slope at 0. These constraints have no
multiplier. They are those that are not determined by others beforehand, do not vary
independently of the others on what is left, and without which the cells would not have to be 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.model.entropy.constraints import AGREEMENT
from gml.model.entropy.dual import EntropyDual, Point
from gml.model.entropy.polytope import Polytope
from gml.model.entropy.redundant import on_equations
from gml.model.undirected.boundary.face import deviations
from gml.model.undirected.fitting import TOLERANCE, OutOfTime
from gml.progress import Deadline

Mask = NDArray[np.bool_]
Table = NDArray[np.float64]
Vector = NDArray[np.float64]

_SAME = 1e-12
# Prices that are this share of the largest are rounding.
_ZERO = 1e-9
_ROUNDING = 1e-11
_NULL = 1e-10
_PART = 1e-6


def is_open(dual: EntropyDual, point: Point) -> bool:
    """Whether bounds that hold with no room determine one another, so that prices are open."""
    return _Tight.at(dual, point, _roomless(dual, point) | _priced(dual, point)).is_open


def least_prices(dual: EntropyDual, point: Point) -> Point:
    """Return the point with the multipliers of bounds whose squares are least, none negative."""
    narrow = _roomless(dual, point)
    for which in (narrow, narrow | _priced(dual, point)):
        tight = _Tight.at(dual, point, which)
        if not tight.is_open:
            continue
        prices = _least(*tight.conditions())
        if prices is None:
            continue
        change = np.zeros_like(point.x)
        bounds = _bounds(dual)
        change[bounds] = -point.x[bounds]
        change[tight.which] += prices * tight.units
        moved = np.flatnonzero(change)
        assert dual.covariance is not None
        change -= on_equations(dual.covariance, _equations(dual), moved) @ change[moved]
        found = dual.at(point.x + change)
        if dual.distance(found) <= TOLERANCE:
            return found
    return point


class Unpriced(NamedTuple):
    """Features without a multiplier to report, by their number."""

    infinite: frozenset[int] = frozenset()
    """Those whose prices are infinite."""
    unknown: frozenset[int] = frozenset()
    """Those of which it could not be found out in time."""


NONE_UNPRICED = Unpriced()


class _Tight(NamedTuple):
    """Bounds that hold with no room, and how they vary once the equations hold."""

    which: NDArray[np.intp]
    multipliers: Vector
    units: Vector
    """What multipliers as they are solved for have of those that are reported."""
    sizes: Vector
    values: Vector
    vectors: Table
    """Of the covariance, each bound divided by its size."""

    @classmethod
    def at(cls, dual: EntropyDual, point: Point, tight: Mask) -> _Tight:
        """Return some bounds at a point."""
        which, covariance = np.flatnonzero(tight), dual.covariance
        if covariance is None or not len(which):
            nothing = np.zeros(0)
            return cls(which[:0], nothing, nothing, nothing, nothing, np.zeros((0, 0)))
        given = on_equations(covariance, _equations(dual), which)
        own = covariance[np.ix_(which, which)] - covariance[which] @ given
        sizes = deviations(covariance[np.ix_(which, which)])
        values, vectors = np.linalg.eigh(own / np.outer(sizes, sizes))
        units = np.array([dual.problem.features[k - dual.n_terms].scale for k in which])
        return cls(which, point.x[which], units, sizes, values, vectors)

    @property
    def _varies(self) -> Mask:
        return self.values > _NULL * max(1.0, float(self.values.max(initial=0.0)))

    @property
    def is_open(self) -> bool:
        """Whether other multipliers would do."""
        return not bool(self._varies.all())

    def conditions(self) -> tuple[Table, Vector]:
        """Return a matrix, and what it must make of prices that do: equations of full rank."""
        matrix = self.vectors[:, self._varies].T * self.sizes
        return matrix * self.units, matrix @ self.multipliers


def _bounds(dual: EntropyDual) -> Mask:
    return dual.is_equal | (dual.is_bounded & dual.is_kept)


def _equations(dual: EntropyDual) -> Mask:
    return dual.is_kept & ~dual.is_bounded & ~dual.is_equal


def _roomless(dual: EntropyDual, point: Point) -> Mask:
    """Which bounds have as little room as any."""
    free = dual.is_bounded & dual.is_kept
    least = min(0.0, float(point.gradient.min(initial=0.0, where=free)))
    found: Mask = dual.is_equal | (free & (point.gradient <= least + _SAME))
    return found


def _priced(dual: EntropyDual, point: Point) -> Mask:
    """Which bounds have a price, though they may be off by what is left of the residual."""
    found: Mask = dual.is_bounded & dual.is_kept & (point.x > 0)
    return found


def _least(matrix: Table, target: Vector) -> Vector | None:
    """Return the shortest y ≥ 0 with matrix · y = target; None if there is none.

    That is a problem of least distance in the null space of the matrix (Lawson & Hanson 1974,
    chapter 23). It says which are 0; the others follow once more from the equations.

    Examples
    --------
    >>> _least(np.array([[1.0, 1.0, 2.0], [0.0, 1.0, 1.0]]), np.array([3.0, 0.0])).round(9).tolist()
    [3.0, 0.0, 0.0]
    >>> _least(np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 1.0]]), np.array([-2.0, -1e-17])).tolist()
    [0.0, 2.0, 0.0]
    >>> _least(np.ones((1, 2)), np.array([-1.0]))
    """
    from scipy.optimize import nnls

    shortest = np.asarray(np.linalg.lstsq(matrix, target, rcond=None)[0], dtype=np.float64)
    size = float(np.abs(shortest).max(initial=0.0))
    if not size or shortest.min() >= -_ZERO * size:
        return shortest.clip(0.0)
    none = np.linalg.svd(matrix)[2][len(matrix) :]
    # Prices that the equations make 0 may be off by rounding.
    most = shortest / size + _ROUNDING
    found = nnls(np.vstack([none, -most]), np.append(np.zeros(len(none)), 1.0))[0]
    rest = np.append(none @ found, -float(most @ found) - 1)
    if -rest[-1] <= _ZERO:
        return None
    y = shortest / size + (rest[:-1] / -rest[-1]) @ none
    positive = y > _ZERO
    prices = np.zeros(len(y))
    prices[positive] = np.linalg.lstsq(matrix[:, positive], target, rcond=None)[0]
    off = np.abs(matrix @ prices - target).max(initial=0.0)
    if off > _ZERO * np.abs(target).max() or prices.min() < -_ZERO * size:
        return None
    return prices.clip(0.0)


def unpriced_features(
    before: EntropyDual,
    after: EntropyDual,
    point: Point,
    polytope: Polytope,
    zeros: NDArray[np.int64],
    deadline: Deadline,
) -> Unpriced:
    """Return the features whose prices are infinite.

    Parameters
    ----------
    before, after
        The dual before some cells had to be 0, and after.
    point
        The solution of the latter.
    polytope, zeros
        What says which cells have to be 0, and these.
    deadline
        Once it has passed, it is not known which of those in doubt have an infinite price.
    """
    covariance = after.covariance
    n = after.n_terms
    if covariance is None or not len(zeros):
        return NONE_UNPRICED
    used = np.flatnonzero(before.is_kept)
    scale = deviations(covariance[np.ix_(used, used)])
    values, vectors = np.linalg.eigh(covariance[np.ix_(used, used)] / np.outer(scale, scale))
    none = vectors[:, values <= _NULL * max(1.0, float(values.max(initial=0.0)))]
    in_doubt = used[np.abs(none).max(axis=1, initial=0.0) > _PART]
    redundant = [k for k in range(n, after.size) if not before.is_kept[k]]
    infinite, unknown = set(), set()
    for k in in_doubt[in_doubt >= n].tolist():
        if after.is_bounded[k] and point.gradient[k] > AGREEMENT:
            continue
        like = [int(j) for group in before.alike if k in group.which for j in group.which]
        features = after.problem.features
        left_out = {features[j - n].which for j in (k, *redundant, *like)}
        try:
            if polytope.can_be_more(zeros, left_out, deadline):
                infinite.add(k - n)
        except OutOfTime:
            unknown.add(k - n)
    return Unpriced(frozenset(infinite), frozenset(unknown))
