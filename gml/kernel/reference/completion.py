"""The ways in which incomplete rows may be complete (completion.c)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.kernel.family_layout import (
    CROSSED,
    DRAWN,
    IMPOSSIBLE,
    TOO_LARGE,
    CompleteRows,
    FamilyLayout,
)
from gml.kernel.reference.missing_parts import RowSplitter
from gml.kernel.reference.random import random_bits, random_uniform
from gml.stopping import check_stopped

_LOW = 1e-200
_NEGLIGIBLE = 1e-9

Numbers = NDArray[np.float64]


class _Part(NamedTuple):
    """Nodes that hang together, their states that count, and the probabilities of these."""

    nodes: tuple[int, ...]
    states: NDArray[np.int64]
    shares: Numbers


def complete_rows(
    layout: FamilyLayout,
    columns: list[NDArray[Any]],
    first: int,
    last: int,
    tables: Numbers,
    key: NDArray[np.uint64],
    most_points: int,
    most_states: int,
) -> CompleteRows:
    """Complete the rows first..last-1 by the tables of a network."""
    rows = RowSplitter(layout, [*columns])
    sizes = layout.sizes.tolist()
    points: list[NDArray[np.int32]] = [np.zeros((0, len(sizes)), dtype=np.int32)]
    weights: list[Numbers] = [np.zeros(0)]
    n_points, became = [], []
    for row in range(first, last):
        check_stopped()
        parts: list[_Part] = []
        fate = CROSSED
        for (nodes, families), bases in rows.parts(row, keep_barren=True):
            if math.prod(sizes[node] for node in nodes) > most_states:
                fate = TOO_LARGE
                break
            found = _states(layout, nodes, families, bases, tables)
            if found is None:
                fate = IMPOSSIBLE
                break
            parts.append(_Part(nodes, *found))
        if fate == CROSSED and math.prod(len(part.shares) for part in parts) > most_points:
            fate = DRAWN
        became.append(fate)
        if fate in (TOO_LARGE, IMPOSSIBLE):
            n_points.append(0)
            continue
        counter = row * len(sizes)
        some = _crossed(parts) if fate == CROSSED else _drawn(parts, key, counter, most_points)
        own = np.array([int(column[row]) for column in columns], dtype=np.int32)
        cells = np.repeat(own[None], len(some[1]), axis=0)
        for part, states in zip(parts, some[0], strict=True):
            cells[:, list(part.nodes)] = np.stack(
                np.unravel_index(states, [sizes[node] for node in part.nodes]), axis=1
            )
        points.append(cells)
        weights.append(some[1])
        n_points.append(len(cells))
    return CompleteRows(
        np.concatenate(points),
        np.concatenate(weights),
        np.array(n_points, dtype=np.int64),
        np.array(became, dtype=np.uint8),
    )


def _states(
    layout: FamilyLayout,
    nodes: Sequence[int],
    families: Sequence[int],
    bases: Sequence[int],
    tables: Numbers,
) -> tuple[NDArray[np.int64], Numbers] | None:
    """The states of nodes that hang together, and their probabilities given the row, if any."""
    sizes = [int(layout.sizes[node]) for node in nodes]
    levels = np.indices(sizes).reshape(len(sizes), -1)
    factors = []
    for family, base in zip(families, bases, strict=True):
        run = slice(int(layout.member_starts[family]), int(layout.member_starts[family + 1]))
        at = np.full(levels.shape[1], base, dtype=np.int64)
        for member, stride in zip(
            layout.members[run].tolist(), layout.strides[run].tolist(), strict=True
        ):
            if member in nodes:
                at += stride * levels[nodes.index(member)]
        factors.append(tables[at])
    shares = np.ones(levels.shape[1])
    for factor in factors:
        shares = shares * factor
    if not shares.max() >= _LOW:
        shares = _far_below(factors)
        if not shares.any():
            return None
    # Sums as the kernel has them, one number after the other.
    shares = shares / np.cumsum(shares)[-1]
    kept = np.flatnonzero(shares >= _NEGLIGIBLE)
    return kept, shares[kept] / np.cumsum(shares[kept])[-1]


def _far_below(factors: Sequence[Numbers]) -> Numbers:
    """Products of numbers too small for doubles, beside the largest of them."""
    product, exponent = np.ones(len(factors[0])), np.zeros(len(factors[0]), dtype=np.int64)
    for factor in factors:
        mantissa, own = np.frexp(factor)
        exponent = exponent + own
        product, own = np.frexp(product * mantissa)
        exponent = exponent + own
    if not product.any():
        return product
    below = exponent - exponent[product > 0].max()
    found: Numbers = np.where(below < -1000, 0.0, np.ldexp(product, np.clip(below, -1000, 0)))
    return found


def _crossed(parts: Sequence[_Part]) -> tuple[list[NDArray[np.int64]], Numbers]:
    """All combinations of the states of independent parts."""
    if not parts:
        return [], np.ones(1)
    at = np.indices([len(part.shares) for part in parts]).reshape(len(parts), -1)
    weights = np.ones(at.shape[1])
    for part, own in zip(parts, at, strict=True):
        weights = weights * part.shares[own]
    return [part.states[own] for part, own in zip(parts, at, strict=True)], weights


def _drawn(
    parts: Sequence[_Part], key: NDArray[np.uint64], row: int, n: int
) -> tuple[list[NDArray[np.int64]], Numbers]:
    """Systematic draws from each part, put together at random."""
    found = []
    for part in parts:
        counters = np.arange(n + 1, dtype=np.uint64)
        counters += np.uint64((row + part.nodes[0]) * (n + 1))
        shift = float(random_uniform(key.tolist(), counters[:1])[0])
        places = (np.arange(n) + shift) / n
        ends = np.cumsum(part.shares)
        chosen = np.minimum(np.searchsorted(ends, places), len(part.shares) - 1)
        bits = random_bits(key, counters).tolist()
        for k in range(n - 1, 0, -1):
            other = bits[k] % (k + 1)
            chosen[[k, other]] = chosen[[other, k]]
        found.append(part.states[chosen])
    return found, np.full(n, 1 / n)
