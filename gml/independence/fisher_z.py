"""Fisher's z test of a partial correlation (Fisher 1915; Anderson 2003, section 4.3).

z = √(n−|Z|−3)·atanh r, two-sided against the normal distribution; its square against χ² with one
degree of freedom gives the same p-value and its logarithm. I = −½ ln(1−r²). A constant column is
independent of everything. |r| = 1 or a singular correlation matrix is an error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import Counter, Triple
from gml.errors import DataError, listing
from gml.independence.base import CIResult, PValueTest

_SINGULAR = 1e-12


class FisherZTest(PValueTest):
    """Partial correlation of numeric columns."""

    name = "fisher-z"
    df_rule = None

    def __init__(self, counter: Counter) -> None:
        self._counter = counter

    def batch(self, triples: Sequence[Triple]) -> list[CIResult]:
        """Run many tests."""
        return [self._test(*triple) for triple in triples]

    def _test(self, x: int, y: int, given: tuple[int, ...]) -> CIResult:
        names = [variable.name for variable in self._counter.variables]
        x, y = sorted((x, y), key=names.__getitem__)
        columns = [*sorted(given, key=names.__getitem__), x, y]
        moments = self._counter.moments(columns)
        n, size = moments.n, len(given)
        if n <= size + 3:
            return CIResult(0.0, None, None, None, n, sufficient=False)
        varying = [k for k in range(len(columns)) if moments.cross[k][k]]
        if size not in varying or size + 1 not in varying:
            return CIResult(0.0, None, 0.0, 0.0, n)
        correlation = moments.correlation()[np.ix_(varying, varying)]
        r = partial_correlation(correlation, [names[columns[k]] for k in varying])
        z = math.sqrt(n - size - 3) * math.atanh(r)
        log_p = kernel.active().log_chi2_upper(np.array([z * z]), np.array([1.0]))
        return CIResult(z, None, float(log_p[0]), -0.5 * math.log1p(-r * r), n)


def partial_correlation(correlation: NDArray[np.float64], names: Sequence[str]) -> float:
    """Correlation of the last two variables given the others, by elimination in order.

    Examples
    --------
    >>> import numpy as np
    >>> correlation = np.array([[1, 0.5, 0.5], [0.5, 1, 0.4], [0.5, 0.4, 1]])
    >>> round(partial_correlation(correlation, "zxy"), 6)
    0.2
    """
    matrix = np.array(correlation, dtype=np.float64)
    size = len(matrix)
    for k in range(size - 2):
        _require_regular(matrix[k, k], names[: k + 1])
        matrix[k + 1 :, k + 1 :] -= np.outer(matrix[k + 1 :, k], matrix[k, k + 1 :]) / matrix[k, k]
    for k in (size - 2, size - 1):
        _require_regular(matrix[k, k], [*names[: size - 2], names[k]])
    r = float(matrix[-2, -1] / math.sqrt(matrix[-2, -2] * matrix[-1, -1]))
    _require_regular(1 - r * r, names)
    return r


def _require_regular(left: float, names: Sequence[str]) -> None:
    """Refuse to go on when a variable has no variance left given the others."""
    if left <= _SINGULAR:
        raise DataError(
            f"the correlations of {listing(names)} are perfect: one of these columns is a linear "
            "function of the others; leave one out"
        )
