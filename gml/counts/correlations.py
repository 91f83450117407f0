"""Correlations and standard deviations from exact moments, each rounded once."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gml.counts.answers import Moments

Numbers = NDArray[np.float64]


def correlations_of(moments: Moments) -> Numbers:
    """Return Pearson's correlations; those of a constant column are 0, and 1 with itself.

    Examples
    --------
    >>> correlations_of(Moments(3, (0.0, 0.0), ((4, 2), (2, 4)), (0, 0))).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    cross = np.array([[float(value) for value in row] for row in moments.cross]).reshape(
        len(moments.cross), -1
    )
    roots = np.sqrt(np.diagonal(cross))
    roots[roots == 0] = 1.0
    found: Numbers = np.clip(cross / np.outer(roots, roots), -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return found


def deviations_of(moments: Moments) -> Numbers:
    """Return the standard deviations, with divisor n.

    Examples
    --------
    >>> deviations_of(Moments(2, (4.0,), ((16,),), (1,))).tolist()
    [1.0]
    """
    return np.array(
        [
            math.ldexp(math.sqrt(moments.cross[j][j]) / moments.n, -scale)
            for j, scale in enumerate(moments.scales)
        ]
    )
