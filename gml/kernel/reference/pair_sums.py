"""Sums over all states of a model of pairs, two levels each, in NumPy (pair_sums.h says how).

Inner and middle configurations are a table of states here, so that a block takes 8 MiB.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gml.kernel.layout import PAIR_BITS, PairSums
from gml.stopping import check_stopped

Numbers = NDArray[np.float64]

_STATES = 1 << PAIR_BITS


def pair_sums(middle: Numbers, inner: Numbers, couplings: Numbers, blocks: Numbers) -> PairSums:
    """Sums over the states of blocks of a model of pairs."""
    bits = (np.arange(_STATES)[:, None] >> np.arange(PAIR_BITS) & 1).astype(np.float64)
    with_all = np.hstack([np.ones((_STATES, 1)), bits])
    scales, moments = np.empty(len(blocks)), np.empty((len(blocks), PAIR_BITS + 1, PAIR_BITS + 1))
    by_inner, by_middle, scale = np.zeros(_STATES), np.zeros(_STATES), -math.inf
    for b, block in enumerate(blocks):
        check_stopped()
        fields = block[1 + PAIR_BITS :] + bits @ couplings
        positive = np.maximum(fields, 0.0).sum(axis=1)
        exponents = block[0] + bits @ block[1 : 1 + PAIR_BITS] + middle + positive
        scales[b] = exponents.max()
        states = np.exp(fields @ bits.T - positive[:, None]) * inner
        states *= np.exp(exponents - scales[b])[:, None]
        moments[b] = (with_all.T @ states @ with_all).T
        top = max(scale, float(scales[b]))
        before, now = math.exp(scale - top), math.exp(scales[b] - top)
        by_inner = by_inner * before + states.sum(axis=0) * now
        by_middle = by_middle * before + states.sum(axis=1) * now
        scale = top
    return PairSums(scales, moments, by_inner, by_middle, scale)
