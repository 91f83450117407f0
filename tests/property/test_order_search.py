"""A* over orders: the kernel, its reference, and dynamic programming over all sets."""

from __future__ import annotations

import numpy as np
import pytest

from gml.kernel import _kernel, reference
from gml.kernel.layout import NEVER, NO_BOUND, SEARCH_DONE, SEARCH_FULL, SEARCH_MORE
from gml.learners import a_star
from gml.learners.a_star import search_order
from gml.progress import Deadline

KERNELS = [_kernel, reference]


def random_lists(rng, m, length, spread, possible=1.0):
    """Sets of parents, the best first, and their units; along 0, 1, … there is a DAG."""
    sets, units = [], []
    for x in range(m):
        of_x = {0} if rng.random() < possible else {int(rng.integers(1 << x))}
        for _ in range(length):
            chosen = rng.integers(0, m, int(rng.integers(1, 4)))
            of_x.add(sum({1 << int(y) for y in chosen if y != x}))
        values = rng.integers(-spread, spread + 1, len(of_x))
        order = np.argsort(-values, kind="stable")
        sets.append(np.array(sorted(of_x), dtype=np.uint64)[order])
        units.append(values[order].astype(np.int64))
    return sets, units


def flat(sets, units):
    starts = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    return np.concatenate(sets), np.concatenate(units), starts


def loss(sets, units, x, before):
    fit = [int(u) for s, u in zip(sets[x], units[x], strict=True) if not int(s) & ~before]
    return int(units[x][0]) - max(fit) if fit else None


def losses_along(sets, units, order):
    before, total = 0, 0
    for x in order:
        total += loss(sets, units, x, before)
        before |= 1 << x
    return total


def best_losses(sets, units):
    m = len(sets)
    best, sinks = np.full(1 << m, NEVER), np.zeros(1 << m, dtype=np.uint8)
    best[0] = 0
    _kernel.best_sinks(*flat(sets, units), m, 0, 1, best, sinks)
    return sum(int(u[0]) for u in units) - int(best[-1])


def problems(count, largest):
    rng = np.random.default_rng(7)
    for k in range(count):
        m = int(rng.integers(1, largest + 1))
        length, spread = int(rng.integers(1, 25)), int(rng.choice([1, 4, 1000, 1 << 55]))
        yield random_lists(rng, m, length, spread, 1.0 if k % 3 else 0.5)


def test_search_is_dynamic_programming():
    # The largest take the reference most of the time: some of these, and many smaller ones.
    for sets, units in (*problems(60, 12), *problems(340, 9)):
        found = search_order(sets, units, list(range(len(sets))), room=1 << 24, deadline=Deadline())
        assert found.best
        assert sorted(found.order) == list(range(len(sets)))
        assert losses_along(sets, units, found.order) == best_losses(sets, units)


def groups_of(kernel, sets, units, sizes):
    tables, first = [], 0
    for size in sizes:
        inside = np.uint64((1 << size) - 1)
        group = [s >> np.uint64(first) & inside for s in sets[first : first + size]]
        table = np.empty(1 << size, dtype=np.uint64)
        kernel.losses_to_go(*flat(group, units[first : first + size]), max(1, size - 1), table)
        tables.append(table)
        first += size
    return np.concatenate(tables)


def sizes_of(rng, m):
    cuts = sorted({0, m, *rng.integers(0, m + 1, 2).tolist()})
    return np.diff(cuts).astype(np.int32)


def test_losses_to_go():
    for sets, units in problems(40, 7):
        m = len(sets)
        expected = [0] + [NO_BOUND] * ((1 << m) - 1)
        for left in range(1, 1 << m):
            for x in range(m):
                own = loss(sets, units, x, ~left & ((1 << m) - 1)) if left >> x & 1 else None
                if own is not None and expected[left ^ 1 << x] != NO_BOUND:
                    expected[left] = min(expected[left], own + expected[left ^ 1 << x])
        for kernel in KERNELS:
            assert groups_of(kernel, sets, units, [m]).tolist() == expected


def test_kernel_is_reference():
    rng = np.random.default_rng(3)
    for sets, units in problems(120, 10):
        m = len(sets)
        sizes = sizes_of(rng, m)
        to_go = groups_of(_kernel, sets, units, sizes.tolist())
        best = best_losses(sets, units)
        # With nothing to begin with, with the optimum, and with something worse.
        for bound in (NO_BOUND, best, best + 1, best + 5):
            runs = []
            for kernel in KERNELS:
                search = kernel.OrderSearch(*flat(sets, units), sizes, to_go, bound, 5000)
                while (code := search.run(3)) == SEARCH_MORE:
                    pass
                assert code == SEARCH_DONE
                runs.append(
                    (search.bound, search.reached, search.expanded, search.states, search.path())
                )
            assert runs[0] == runs[1]
            assert runs[0][0] == best
            assert (runs[0][-1] is None) == (bound == best)


def test_improved_orders():
    rng = np.random.default_rng(4)
    for sets, units in problems(80, 10):
        start = rng.permutation(len(sets)).astype(np.int32)
        orders = [start.copy() for _ in KERNELS]
        sums = [
            kernel.improve_order(*flat(sets, units), order)
            for kernel, order in zip(KERNELS, orders, strict=True)
        ]
        assert sums[0] == sums[1]
        assert orders[0].tolist() == orders[1].tolist()
        if sums[0] < 1 << 57:
            assert sums[0] == losses_along(sets, units, orders[0].tolist())
            assert sums[0] >= best_losses(sets, units)


def dense(m, length=60):
    """The more parents the better: nearly every set of variables counts."""
    rng = np.random.default_rng(0)
    sets, units = [], []
    for x in range(m):
        some = {0, *(int(s) & ~(1 << x) for s in rng.integers(0, 1 << m, length))}
        values = {s: 100 * s.bit_count() + int(rng.integers(30)) for s in some}
        order = sorted(some, key=lambda s: (-values[s], s))
        sets.append(np.array(order, dtype=np.uint64))
        units.append(np.array([values[s] for s in order], dtype=np.int64))
    return sets, units


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_more_states_than_allowed(kernel):
    sets, units = dense(14)
    sizes = np.ones(14, dtype=np.int32)
    to_go = np.zeros(28, dtype=np.uint64)
    search = kernel.OrderSearch(*flat(sets, units), sizes, to_go, NO_BOUND, 4096)
    assert search.run(1 << 20) == SEARCH_FULL
    assert search.states == 4096
    enough = kernel.OrderSearch(*flat(sets, units), sizes, to_go, NO_BOUND, 1 << 14)
    assert enough.run(1 << 20) == SEARCH_DONE
    assert enough.states > 4096
    assert enough.bound == best_losses(sets, units)


def test_no_room():
    sets, units = dense(14)
    found = search_order(sets, units, list(range(14)), room=1 << 10, deadline=Deadline())
    assert (found.best, found.no_room) == (False, True)
    assert sorted(found.order) == list(range(14))


def test_room_is_divided(monkeypatch):
    """Tables and states together take no more than was allowed."""
    asked = []

    class Spy:
        def __init__(self, masks, units, starts, sizes, to_go, bound, most):
            states = most * 34 + most // 4096 * 8
            asked.append(2 * (masks.nbytes + units.nbytes) + to_go.nbytes + states)
            raise InterruptedError

    spied = type("spied", (), {**vars(_kernel), "OrderSearch": Spy})
    monkeypatch.setattr(a_star.kernel, "active", lambda: spied)
    for m in (9, 14, 24):
        for room in (1 << 19, 1 << 20, 3 << 20, 1 << 26):
            with pytest.raises(InterruptedError):
                search_order(*dense(m), list(range(m)), room=room, deadline=Deadline())
            assert asked.pop() <= room


def test_sets_of_64_variables():
    sets, units = [], []
    for x in range(64):
        near = [y for y in (x - 1, x + 1) if 0 <= y < 64]
        sets.append(np.array([*(1 << y for y in near), 0], dtype=np.uint64))
        units.append(np.array([*range(9, 9 - len(near), -1), 0], dtype=np.int64))
    found = search_order(sets, units, list(range(64)), room=1 << 28, deadline=Deadline())
    assert found.best
    # One variable has no parent, and those on one side of it have the second best.
    assert losses_along(sets, units, found.order) == 9
