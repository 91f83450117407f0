"""Cut points of a number that say most about a class (Fayyad & Irani 1993, IJCAI, 1022).

A set S of N rows is cut where the entropy of the class within the two parts,
E = (N₁ Ent(S₁) + N₂ Ent(S₂))/N, is smallest, and each part is then cut in the same way, as long as
the gain pays for the description of the cut (their equation 9):

    Ent(S) − E > (log₂(N − 1) + log₂(3ᵏ − 2) − k Ent(S) + k₁ Ent(S₁) + k₂ Ent(S₂)) / N

with entropies in bits and k, k₁, k₂ the classes that occur in S, S₁, S₂. A cut lies in the middle
between two neighbouring values; of cuts that are equally good, the smallest is taken. Rows without
a value or without a class say nothing. Counts alone enter, so that the order of rows does not.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gml.data.row_groups import group_sums
from gml.resources import require_memory
from gml.stopping import check_stopped

# The counts below each value, and three arrays of their size while entropies are computed.
_BYTES_PER_CELL = 40
# Entropies of the same counts added in another order differ by less; such cuts are equally good.
_TIE = 1e-12


def entropy_cuts(
    numbers: NDArray[np.float64],
    classes: NDArray[np.int64],
    n_classes: int,
    weights: NDArray[np.int64] | None = None,
    unit: float = 1.0,
) -> tuple[float, ...]:
    """Return the cut points of numbers for classes (codes), both without missing values.

    A row counts `weights` times `unit` times.

    Examples
    --------
    >>> age = np.array([18.0, 21, 25, 30, 40, 44, 50, 61] * 3)
    >>> entropy_cuts(age, (age > 35).astype(np.int64), 2)
    (35.0,)
    >>> entropy_cuts(age, np.arange(24) % 2, 2)
    ()
    """
    values, place = np.unique(numbers, return_inverse=True)
    require_memory(
        _BYTES_PER_CELL * len(values) * n_classes, None, "the counts of a class below each number"
    )
    cells = place.reshape(-1) * n_classes + classes
    counts = group_sums(cells, len(values) * n_classes, weights).reshape(-1, n_classes) * unit
    # A row of zeros in front, so that the counts of a part are a difference of two rows.
    below = np.vstack([np.zeros(n_classes), np.cumsum(counts, axis=0)])
    found: list[float] = []
    parts = [(0, len(values))]
    while parts:
        start, stop = parts.pop()
        cut = _best_cut(below[start : stop + 1] - below[start])
        if cut is not None:
            middle = start + cut
            found.append(_between(float(values[middle - 1]), float(values[middle])))
            parts += [(start, middle), (middle, stop)]
    return tuple(sorted(found))


def _best_cut(below: NDArray[np.float64]) -> int | None:
    """Return after how many values to cut a part, given the counts below each; None if nowhere."""
    check_stopped()
    total = below[-1]
    n = float(total.sum())
    if len(below) < 3 or np.count_nonzero(total) < 2:
        return None
    left, right = below[1:-1], total - below[1:-1]
    within = _bits(left) + _bits(right)
    best = int(np.argmax(within <= within.min() + _TIE * n))
    parts = (total, left[best], right[best])
    here, first, second = (float(_bits(part[None])[0] / part.sum()) for part in parts)
    k, k1, k2 = (int(np.count_nonzero(part)) for part in parts)
    gain = here - float(within[best]) / n
    price = math.log2(n - 1) if n > 2 else 0.0
    price += _log2_of_splits(k) - k * here + k1 * first + k2 * second
    return best + 1 if gain > price / n + _TIE else None


def _log2_of_splits(k: int) -> float:
    """log₂(3ᵏ − 2), which no power overflows."""
    return k * math.log2(3) + math.log1p(-2 * 3.0**-k) / math.log(2)


def _bits(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """N·Ent of each row of counts: Σ −n log₂(n/N)."""
    totals = counts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(counts > 0, np.log2(counts), 0.0)
        whole = np.where(totals > 0, np.log2(totals), 0.0)
    found: NDArray[np.float64] = totals * whole - (counts * logs).sum(axis=1)
    return found


def _between(low: float, high: float) -> float:
    """The middle of two numbers, above the lower one also where none lies between them.

    15 digits leave out what binary fractions add: between 3.3 and 3.4 lies 3.35.
    """
    middle = float(f"{low / 2 + high / 2:.15g}")
    return middle if low < middle <= high else high
