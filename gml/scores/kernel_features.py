"""Features of kernels in low rank: K ≈ GGᵀ by incomplete Cholesky decomposition.

A number has the Gaussian kernel exp(−d²/2w²) whose width w is twice the median distance of two
values that differ, a label the kernel that is 1 for equal levels and 0 otherwise, several columns
the product of theirs. The decomposition (Fine & Scheinberg 2001, JMLR 2:243; Bach & Jordan 2002,
JMLR 3:1) takes the row of which most is left, the first of several, until a landmark adds no more
than 10⁻⁶ of the whole, or until there are enough of them: for rows × landmarks² operations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.stopping import check_stopped

_WIDTHS = 2.0
_LEAST_LEFT = 1e-6
# The median distance of more values than these is that of as many of their quantiles.
_MOST_COMPARED = 1000

Numbers = NDArray[np.float64]


def kernel_width(values: Numbers) -> float:
    """Return the width of the kernel of a column of numbers.

    Examples
    --------
    >>> kernel_width(np.array([0.0, 1.0, 3.0]))
    4.0
    """
    ordered = np.sort(values)
    if len(ordered) > _MOST_COMPARED:
        places = np.linspace(0, len(ordered) - 1, _MOST_COMPARED)
        ordered = ordered[np.rint(places).astype(np.int64)]
    first, second = np.triu_indices(len(ordered), 1)
    distances = ordered[second] - ordered[first]
    distances = distances[distances > 0]
    return _WIDTHS * float(np.median(distances)) if len(distances) else 1.0


def low_rank_features(
    columns: Sequence[NDArray[np.generic]], widths: Sequence[float | None], most: int
) -> Numbers:
    """Return rows × landmarks, centred; a column without a width has labels.

    Examples
    --------
    >>> codes = np.array([0, 1, 0, 1])
    >>> features = low_rank_features([codes], [None], 10)
    >>> (features @ features.T).round(2).tolist()[0]
    [0.5, -0.5, 0.5, -0.5]
    """
    n = len(columns[0])
    most = min(most, n)
    factor = np.empty((n, most), order="F")
    left = np.ones(n)
    rank = 0
    while rank < most:
        check_stopped()
        at = int(np.argmax(left))
        if left[at] <= _LEAST_LEFT:
            break
        row = np.ones(n)
        for column, width in zip(columns, widths, strict=True):
            if width is None:
                row *= column == column[at]
            else:
                distance = (np.asarray(column, dtype=np.float64) - float(column[at])) / width
                row *= np.exp(-0.5 * distance**2)
        new = (row - factor[:, :rank] @ factor[at, :rank]) / np.sqrt(left[at])
        factor[:, rank] = new
        left = np.maximum(left - new**2, 0.0)
        left[at] = 0.0
        rank += 1
    found = factor[:, :rank]
    return np.asarray(found - found.mean(axis=0), dtype=np.float64)
