"""The conditioning sets of PC: kernel = reference = their definition."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from gml.kernel import reference

compiled = pytest.importorskip("gml.kernel._kernel")


def by_definition(neighbours, tiers, x, y, level):
    def candidates(a, b):
        latest = max(tiers[a], tiers[b]) if min(tiers[a], tiers[b]) >= 0 else 10**6
        return [
            k
            for k in range(len(neighbours))
            if neighbours[a, k] and k != b and (tiers[k] < 0 or tiers[k] <= latest)
        ]

    sets = list(combinations(candidates(x, y), level))
    return sets + [s for s in combinations(candidates(y, x), level) if s not in sets]


@settings(max_examples=150)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(0, 4), st.booleans())
def test_sets_of_every_pair(seed, n, level, tiered):
    rng = np.random.default_rng(seed)
    neighbours = np.triu(rng.random((n, n)) < rng.random(), 1)
    neighbours |= neighbours.T
    tiers = rng.integers(-1, 3, n).astype(np.int32) if tiered else np.full(n, -1, np.int32)
    pairs = np.array(list(combinations(range(n), 2)), dtype=np.int32)
    expected = [by_definition(neighbours, tiers, x, y, level) for x, y in pairs.tolist()]
    for kernel in (compiled, reference):
        sets = kernel.ConditioningSets(neighbours, tiers, pairs, level)
        assert_array_equal(sets.totals, [len(some) for some in expected])
        which = np.flatnonzero(rng.random(len(pairs)) < 0.7)
        first = np.array([rng.integers(0, sets.totals[k] + 1) for k in which], dtype=np.int64)
        count = np.array(
            [rng.integers(0, sets.totals[k] - f + 1) for k, f in zip(which, first, strict=True)],
            dtype=np.int64,
        )
        rows = sets.fill(which, first, count)
        wanted = [
            (*pairs[k].tolist(), *some)
            for k, f, c in zip(which, first, count, strict=True)
            for some in expected[k][f : f + c]
        ]
        assert [tuple(row) for row in rows.tolist()] == wanted
