"""Adjusted p-values of many tests, in the log domain.

Bonferroni; Holm (1979); Benjamini & Hochberg (1995); Benjamini & Yekutieli (2001). Tests without a
p-value are not part of the family.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from gml.errors import UsageError, parameter
from gml.independence.registry import ADJUSTMENTS


def adjust(log_p: Sequence[float | None], method: str) -> list[float | None]:
    """Return ln of the adjusted p-values, at most 0.

    Examples
    --------
    >>> import math
    >>> adjusted = adjust([math.log(0.01), math.log(0.04), None], "holm")
    >>> [None if v is None else round(math.exp(v), 6) for v in adjusted]
    [0.02, 0.04, None]
    """
    values = np.array([math.nan if value is None else value for value in log_p], dtype=float)
    return [None if math.isnan(value) else value for value in adjusted(values, method).tolist()]


def adjusted(log_p: NDArray[np.float64], method: str) -> NDArray[np.float64]:
    """Return the same for arrays, in which NaN stands for no p-value."""
    if method not in ADJUSTMENTS:
        raise UsageError(
            f"{parameter('adjust')} must be one of {', '.join(ADJUSTMENTS)}, not {method!r}"
        )
    if method == "none":
        return log_p
    present = np.flatnonzero(~np.isnan(log_p))
    present = present[np.argsort(log_p[present], kind="stable")]
    values, m = log_p[present], len(present)
    if method == "bonferroni":
        values += math.log(m) if m else 0.0
    elif method == "holm":
        values += _logs(m, (m - rank for rank in range(m)))
        np.maximum.accumulate(values, out=values)
    else:
        extra = math.log(math.fsum(1 / i for i in range(1, m + 1))) if method == "by" and m else 0.0
        values += _logs(m, (m / rank for rank in range(1, m + 1)))
        values += extra
        values[::-1] = np.minimum.accumulate(values[::-1])
    result = np.full(len(log_p), math.nan)
    result[present] = np.minimum(values, 0.0)
    return result


def _logs(size: int, numbers: Iterable[float]) -> NDArray[np.float64]:
    # NumPy's logarithm may differ from that of the C library in the last bit.
    return np.fromiter(map(math.log, numbers), dtype=np.float64, count=size)
