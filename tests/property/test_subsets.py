"""Growing sets and the best orders: the kernel, its reference, and their definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gml.kernel import _kernel, reference
from gml.kernel.layout import DIRICHLET, JOINT, NEVER, OF_CELL, OF_SEEN, OF_TABLE, FamilyRule

KERNELS = [_kernel, reference]


def sets_of(members):
    return np.array([sum(1 << j for j in some) for some in members], dtype=np.uint64)


@pytest.mark.parametrize("kernel", KERNELS)
def test_grown_sets_have_all_their_subsets(kernel):
    rng = np.random.default_rng(0)
    for _ in range(40):
        n, size = int(rng.integers(1, 9)), int(rng.integers(0, 4))
        shift = int(rng.choice([0, 20, 64 - n]))
        every = list(itertools.combinations(range(shift, shift + n), size))
        chosen = [some for some in every if rng.random() < 0.8]
        best = {some: int(rng.integers(-50, 50)) for some in chosen}
        candidates = sum(1 << j for j in range(shift, shift + n) if rng.random() < 0.9)
        expected = {}
        for more in itertools.combinations(range(shift, shift + n), size + 1):
            below = [more[:k] + more[k + 1 :] for k in range(size + 1)]
            if all(some in best for some in below) and candidates >> more[-1] & 1:
                expected[sum(1 << j for j in more)] = max(best[some] for some in below)
        grown, values = kernel.grow_sets(
            sets_of(chosen),
            np.array([best[some] for some in chosen], dtype=np.int64),
            candidates,
            2000,
        )
        assert list(zip(grown.tolist(), values.tolist(), strict=True)) == list(expected.items())


def random_lists(rng, m, length, possible=1.0):
    masks, units, starts = [], [], [0]
    for x in range(m):
        sets = {0} if rng.random() < possible else set()
        sets |= {int(s) & ~(1 << x) for s in rng.integers(0, 1 << m, length)}
        masks += sorted(sets)
        units += rng.integers(-20, 20, len(sets)).tolist()
        starts.append(len(masks))
    return (
        np.array(masks, dtype=np.uint64),
        np.array(units, dtype=np.int64),
        np.array(starts, dtype=np.int64),
    )


def solve(kernel, lists, low, step):
    m = len(lists[2]) - 1
    best, sinks = np.full(1 << m, NEVER), np.full(1 << m, 255, dtype=np.uint8)
    best[0] = 0
    for first in range(0, 1 << (m - low), step):
        last = min(first + step, 1 << (m - low))
        kernel.best_sinks(*lists, low, first, last, best, sinks)
    return best, sinks


def by_definition(lists):
    masks, units, starts = lists
    m = len(starts) - 1
    best, sinks = [0] + [NEVER] * ((1 << m) - 1), [255] * (1 << m)
    for some in range(1, 1 << m):
        for x in range(m):
            rest = some & ~(1 << x)
            if not some >> x & 1 or best[rest] == NEVER:
                continue
            own = [
                int(units[k]) for k in range(starts[x], starts[x + 1]) if int(masks[k]) & ~rest == 0
            ]
            if own and best[rest] + max(own) > best[some]:
                best[some], sinks[some] = best[rest] + max(own), x
    return best, sinks


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("possible", [1.0, 0.6])
def test_best_sinks(kernel, possible):
    rng = np.random.default_rng(1)
    for m in range(1, 8):
        for low in {1, m // 2 + 1, m}:
            lists = random_lists(rng, m, 6, possible)
            best, sinks = solve(kernel, lists, min(low, m), int(rng.integers(1, 4)))
            expected = by_definition(lists)
            assert best.tolist() == expected[0]
            assert sinks.tolist() == expected[1]


def test_best_sinks_of_more_variables():
    lists = random_lists(np.random.default_rng(2), 13, 60)
    found = [solve(kernel, lists, low, 8) for kernel in KERNELS for low in (9, 13)]
    for other in found[1:]:
        np.testing.assert_array_equal(other[0], found[0][0])
        np.testing.assert_array_equal(other[1], found[0][1])


@pytest.mark.parametrize("share", [OF_CELL, OF_TABLE, OF_SEEN])
@pytest.mark.parametrize("cell_prior", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_ceilings_of_families(share, cell_prior, weighted):
    rng = np.random.default_rng(3)
    n_levels = [2, 3, 1, 4, 2, 3, 2, 2]
    columns = [rng.integers(0, k, 500).astype(np.uint8) for k in n_levels]
    weights = rng.integers(0, 90, 500) if weighted else None
    rule = FamilyRule(DIRICHLET, share, 1.5)
    sets = [
        [*s, x]
        for x in (0, 3)
        for k in range(8)
        for s in itertools.combinations(range(8), k)
        if x not in s
    ]
    flat = np.array([j for some in sets for j in some], dtype=np.int32)
    starts = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    found = [
        kernel.CodedData(columns, n_levels, weights, 32).family_ceilings(
            flat, starts, rule, cell_prior
        )
        for kernel in KERNELS
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    values, ceilings = found[0]
    assert (ceilings >= values - 1e-9).all() or cell_prior or share == OF_CELL
    table = rng.integers(0, 50, (40, 3))
    one = [kernel.family_ceiling(table, 500.0, rule, cell_prior) for kernel in KERNELS]
    np.testing.assert_allclose(one[0], one[1], rtol=1e-12)
    assert one[0].value == _kernel.family_value(table, 500.0, rule)


@pytest.mark.parametrize("ess", [0.5, 3.0, 1e5])
@pytest.mark.parametrize("weighted", [False, True])
def test_joints(ess, weighted):
    """A joint is a family without parents whose child has the levels of all columns together."""
    rng = np.random.default_rng(4)
    n_levels = [2, 3, 1, 4, 2, 3]
    columns = [rng.integers(0, k, 300).astype(np.uint8) for k in n_levels]
    weights = rng.integers(0, 90, 300) if weighted else None
    rule = FamilyRule(JOINT, OF_TABLE, ess)
    sets = [s for k in range(1, 7) for s in itertools.combinations(range(6), k)]
    flat = np.array([j for some in sets for j in some], dtype=np.int32)
    starts = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    found = [
        kernel.CodedData(columns, n_levels, weights, 32).family_ceilings(flat, starts, rule, 0.0)
        for kernel in KERNELS
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    for some, value, seen in zip(sets, *found[0], strict=True):
        cells = np.zeros(300, dtype=np.int64)
        for j in some:
            cells = cells * n_levels[j] + columns[j]
        q = int(np.prod([n_levels[j] for j in some]))
        counts = np.bincount(cells, weights, q).astype(np.int64)
        one = FamilyRule(DIRICHLET, OF_TABLE, ess)
        assert value == pytest.approx(_kernel.family_value(counts[None, :], q, one), rel=1e-12)
        assert seen == np.count_nonzero(counts)
        table = np.ascontiguousarray(counts.reshape(-1, n_levels[some[-1]]))
        assert _kernel.family_value(table, q, rule) == pytest.approx(value, rel=1e-12)
