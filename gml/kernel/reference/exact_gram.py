"""Limbs of integers, and cross-products from sums of products of them, in NumPy.

The header `exact_gram.h` says what each does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_LIMB_BITS = 18
_HALF = 1 << (_LIMB_BITS - 1)


def write_limbs(values: NDArray[np.int64], out: NDArray[np.float64]) -> None:
    """Write limbs of 18 bits of integers, the lowest first, to rows that hold at least as many."""
    left = values
    for row in out[:-1]:
        low = ((left + _HALF) & ((1 << _LIMB_BITS) - 1)) - _HALF
        row[: len(values)] = low
        left = (left - low) >> _LIMB_BITS
    out[-1, : len(values)] = left


def centred_products(parts: NDArray[np.int64], n: int, bits: int) -> NDArray[np.float64]:
    """n·Σqq − ΣqΣq of all pairs of columns, from sums by powers of 2^bits; the last has ones."""
    total = np.zeros(parts.shape[1:], dtype=object)
    for s, part in enumerate(parts):
        total = total + (part.astype(object) << (bits * s))
    sums = total[:-1, -1]
    found: NDArray[np.float64] = n * total[:-1, :-1] - sums[:, None] * sums[None, :]
    return found.astype(np.float64)
