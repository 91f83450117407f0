"""Random bits that depend only on a key and a counter.

The finaliser of SplitMix64 (Steele, Lea & Flood 2014), applied twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def random_mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of each number."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def random_bits(
    key: Sequence[int] | NDArray[np.uint64], counters: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """64 bits per counter."""
    z = random_mix(counters * np.uint64(0x9E3779B97F4A7C15) + np.uint64(key[0]))
    return random_mix(z ^ np.uint64(key[1]))


def random_uniform(key: Sequence[int], counters: NDArray[np.uint64]) -> NDArray[np.float64]:
    """A number in [0, 1) per counter."""
    return (random_bits(key, counters) >> np.uint64(11)).astype(np.float64) * 2.0**-53
