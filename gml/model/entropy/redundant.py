"""Features that others determine, by their covariance where all possible cells are alike.

A feature that equations before it determine adds nothing. Bounds do not determine one another, for
which of them holds with no room is not known beforehand; but some are *alike*: one is a multiple of
the other, but for a combination of equations. If both hold with no room, only a sum of their
multipliers is determined.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.model.undirected.boundary.face import deviations

Table = NDArray[np.float64]
Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

_DETERMINED = 1e-10
# The variance that rounding gives a constant of at most 1.
_ROUNDED = 1e-13


class Alike(NamedTuple):
    """Bounds that are multiples of the first of them, and how large each is."""

    which: NDArray[np.intp]
    sizes: Vector


def undetermined(covariance: Table, n: int, is_bounded: Mask, is_equal: Mask) -> Mask:
    """Which of the features after the first n are not combinations of others before them.

    Equations come before bounds that are solved as such, and these before other bounds, which do
    not count as others.

    Examples
    --------
    >>> none = np.array([False, False])
    >>> undetermined(np.array([[1.0, 2.0], [2.0, 4.0]]), 0, none, none).tolist()
    [True, False]
    """
    at = np.arange(len(covariance))
    own = covariance[n:, n:] - covariance[n:] @ on_equations(covariance, at < n, at[n:])
    variances = np.diag(covariance)[n:]
    kept = np.zeros(len(own), dtype=bool)
    for k in np.argsort(is_equal + 2 * is_bounded, kind="stable"):
        kept[k] = own[k, k] > max(_DETERMINED * variances[k], _ROUNDED)
        if kept[k] and not is_bounded[k]:
            own -= np.outer(own[:, k], own[k]) / own[k, k]
    return kept


def alike_bounds(covariance: Table, is_kept: Mask, is_bounded: Mask) -> tuple[Alike, ...]:
    """Return the bounds that are positive multiples of one another, in groups of two or more.

    Examples
    --------
    >>> found = alike_bounds(np.array([[1.0, 2.0], [2.0, 4.0]]), np.ones(2, bool), np.ones(2, bool))
    >>> [(group.which.tolist(), group.sizes.tolist()) for group in found]
    [([0, 1], [1.0, 2.0])]
    """
    bounds = np.flatnonzero(is_kept & is_bounded)
    if len(bounds) < 2:
        return ()
    given = on_equations(covariance, is_kept & ~is_bounded, bounds)
    own = covariance[np.ix_(bounds, bounds)] - covariance[bounds] @ given
    groups: list[list[int]] = []
    for k in range(len(bounds)):
        for group in groups:
            first = group[0]
            product = own[first, first] * own[k, k]
            if own[first, k] > 0 and own[first, k] ** 2 > (1 - _DETERMINED) * product:
                group.append(k)
                break
        else:
            groups.append([k])
    return tuple(
        Alike(bounds[group], own[group[0], group] / own[group[0], group[0]])
        for group in groups
        if len(group) > 1
    )


def on_equations(covariance: Table, equations: Mask, features: NDArray[np.intp]) -> Table:
    """Return the combinations of equations that are nearest to some features, a column for each."""
    found = np.zeros((len(covariance), len(features)))
    at = np.flatnonzero(equations)
    if len(at):
        scale = deviations(covariance[np.ix_(at, at)])
        within = covariance[np.ix_(at, at)] / np.outer(scale, scale)
        across = covariance[np.ix_(at, features)] / scale[:, None]
        inverse = np.linalg.pinv(within, rcond=_DETERMINED, hermitian=True)
        found[at] = inverse @ across / scale[:, None]
    return found
