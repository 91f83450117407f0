"""Arrays of numbers in model JSON, in which what is not finite is null."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.errors import GraphError, quote


def finite(value: Any) -> Any:
    """Return nested lists of numbers with null for those that are not finite."""
    if isinstance(value, list):
        return [finite(item) for item in value]
    return value if math.isfinite(value) else None


def number_array(value: Any, shape: tuple[int, ...], what: str) -> NDArray[np.float64]:
    """Return an array of numbers of a shape; GraphError if it is anything else."""
    try:
        array = np.array(value)
    except (ValueError, OverflowError):
        raise GraphError(f"{what} has rows of different lengths") from None
    if array.shape != shape:
        raise GraphError(f"{what} is not {' x '.join(map(str, shape))}")
    if array.dtype.kind not in "iuf":
        raise GraphError(f"{what} has something that is not a number")
    return array.astype(np.float64)


def bounds_array(value: Any, shape: tuple[int, ...], name: str) -> NDArray[np.float64]:
    """Return the intervals of a node, null as NaN."""

    def known(item: Any, depth: int) -> Any:
        # Values nested deeper than the shape are refused as they are.
        if isinstance(item, list) and depth:
            return [known(inner, depth - 1) for inner in item]
        return math.nan if item is None else item

    return number_array(known(value, len(shape)), shape, f"the intervals of {quote(name)}")
