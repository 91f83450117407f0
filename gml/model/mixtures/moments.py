"""Sums over rows that the M-step of a mixture of numbers needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class Moments(NamedTuple):
    """Sums over rows, per class: weights, first moments, and second ones."""

    sizes: Vector
    firsts: Vector
    seconds: Vector

    def plus(self, other: Moments) -> Moments:
        """The sums over both."""
        return Moments(*(a + b for a, b in zip(self, other, strict=True)))
