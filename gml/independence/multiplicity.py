"""Adjusted p-values of many tests, in the log domain.

Bonferroni; Holm (1979); Benjamini & Hochberg (1995); Benjamini & Yekutieli (2001). Tests without a
p-value are not part of the family.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gml.errors import UsageError

METHODS = ("none", "bonferroni", "holm", "bh", "by")


def adjust(log_p: Sequence[float | None], method: str) -> list[float | None]:
    """Return ln of the adjusted p-values, at most 0.

    Examples
    --------
    >>> import math
    >>> adjusted = adjust([math.log(0.01), math.log(0.04), None], "holm")
    >>> [None if v is None else round(math.exp(v), 6) for v in adjusted]
    [0.02, 0.04, None]
    """
    if method not in METHODS:
        raise UsageError(f"{method!r} is not one of {', '.join(METHODS)}")
    if method == "none":
        return list(log_p)
    present = [(value, k) for k, value in enumerate(log_p) if value is not None]
    m = len(present)
    result: list[float | None] = [None] * len(log_p)
    if method == "bonferroni":
        for value, k in present:
            result[k] = min(0.0, value + math.log(m))
        return result
    present.sort()
    if method == "holm":
        largest = -math.inf
        for rank, (value, k) in enumerate(present):
            largest = max(largest, value + math.log(m - rank))
            result[k] = min(0.0, largest)
        return result
    extra = math.log(math.fsum(1 / i for i in range(1, m + 1))) if method == "by" and m else 0.0
    smallest = 0.0
    for rank, (value, k) in reversed(list(enumerate(present, start=1))):
        smallest = min(smallest, value + math.log(m / rank) + extra)
        result[k] = smallest
    return result
