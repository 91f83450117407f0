"""Interrupts: commands end at once and leave nothing, calls of the library stop their threads."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from contextvars import ContextVar
from itertools import count, islice

import numpy as np
import pytest

from gml import kernel
from gml.counts.memory import MemoryCounter
from gml.data.cells import cell_pieces
from gml.data.dataset import Dataset, Variable
from gml.independence.registry import TESTS
from gml.kernel import _kernel, reference
from gml.kernel.layout import CODES8, NUMBERS, ColumnSpec, CsvDialect
from gml.kernel.pool import in_order
from gml.learners.bootstrap import learn_replicates
from gml.progress import Deadline
from gml.stopping import Stopped, check_stopped

from .interrupts import COMMANDS, INTERRUPTED, interrupt, make_inputs

# Left to the script, to keep the tests short.
_LEFT_OUT = {"permutation endless", "pc permutation", "average ges", "average hc", "profile"}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interrupts")
    make_inputs(folder)
    return folder


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - _LEFT_OUT))
def test_an_interrupted_command_ends_and_leaves_nothing(inputs, name):
    delay = random.Random(name).uniform(0.0, 0.8)
    reaction = interrupt(inputs, COMMANDS[name], delay, once_ready=True)
    assert reaction.is_clean, reaction


def test_an_interrupted_plan_leaves_no_rows(inputs):
    reaction = interrupt(inputs, COMMANDS["plan"], 0.1, once_there="gml-plan-*/*.csv")
    assert (reaction.code, reaction.stderr, reaction.left) == (130, INTERRUPTED, [])


def test_a_command_in_the_background_ignores_interrupts(inputs):
    process = subprocess.Popen(
        [sys.executable, "-m", "gml.cli", "chowliu", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(b"a,b\n0,1\n1,0\n", timeout=60)
    assert process.returncode == 0
    assert out.startswith(b"digraph")


def test_an_interrupt_before_anything_is_imported_says_so():
    program = """
import os, sys, time
from gml.signals import end_on_signals
end_on_signals()
assert "gml.atomic" not in sys.modules
os.kill(os.getpid(), 2)
time.sleep(60)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert (done.returncode, done.stderr) == (130, INTERRUPTED)


# ---------------------------------------------------------------------- the library


class Ended(BaseException):
    """What a signal handler raises."""


@pytest.fixture
def signalled():
    """Raise Ended in the main thread soon; a call that ignores it is killed with all tests."""

    def end(*_):
        raise Ended

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def _pool_threads():
    return [thread for thread in threading.enumerate() if "ThreadPool" in thread.name]


def _wait_for_threads():
    end = time.monotonic() + 20
    while _pool_threads() and time.monotonic() < end:
        time.sleep(0.01)
    assert not _pool_threads()


def _permutations(active):
    table = np.full((1, 4, 4), 100, dtype=np.int64)
    active.permutation_draws(table, (1, 2), 0, 50_000_000)


def _losses(active):
    table = np.full((50, 2, 30), 100, dtype=np.int64)
    weights, groups = np.full(50, 0.02), np.arange(50)
    active.information_loss_draws(table, weights, groups, (1, 2), 0, 10_000_000)


def _chain(active):
    starts, nothing = np.zeros(5, dtype=np.int64), np.zeros(0, dtype=np.int32)
    one = np.zeros(4, dtype=np.uint64)
    chain = active.OrderChain(
        nothing, starts, one, np.zeros(4), np.arange(5, dtype=np.int64), [0, 1, 2, 3], (1, 2)
    )
    chain.walk(0, 10**12)


def _sums_over_sets(active):
    active.log_sum_sets(np.zeros(1 << 24), False)


def _sums_over_orders(active):
    active.sum_orders(np.zeros((20, 1 << 19)), False)


def _lists(m):
    return (
        np.zeros(m, dtype=np.uint64),
        np.zeros(m, dtype=np.int64),
        np.arange(m + 1, dtype=np.int64),
    )


def _sinks(active):
    best = np.zeros(1 << 22, dtype=np.int64)
    active.best_sinks(*_lists(22), 14, 0, 1 << 8, best, np.zeros(1 << 22, dtype=np.uint8))


def _to_go(active):
    active.losses_to_go(*_lists(22), 14, np.zeros(1 << 22, dtype=np.uint64))


def _coded(active, rows, columns):
    rng = np.random.default_rng(0)
    codes = [rng.integers(0, 6, rows).astype(np.uint8) for _ in range(columns)]
    return active.CodedData(codes, [6] * columns, None, 0)


def _statistics(active):
    members = np.tile(np.array([0, 1, 2], dtype=np.int32), 100_000)
    _coded(active, 20_000, 3).set_statistics(members, np.arange(100_001, dtype=np.int64) * 3)


def _pairs(active):
    _coded(active, 20_000, 2).pair_statistics(
        np.tile(np.array([0, 1], dtype=np.int32), (100_000, 1))
    )


KERNELS = [
    _permutations, _losses, _chain, _sums_over_sets, _sums_over_orders, _sinks, _to_go, _statistics, _pairs,
]  # fmt: skip


@pytest.mark.parametrize("call", KERNELS)
def test_a_signal_ends_a_kernel_in_the_main_thread(signalled, call):
    with pytest.raises(Ended):
        # Again and again: some would be done before the signal comes.
        while True:
            call(_kernel)
    # Nothing of it is left for the next call.
    assert len(_kernel.permutation_draws(np.ones((1, 2, 2), dtype=np.int64), (1, 2), 0, 9)) == 9


# The reference works on whole arrays: it looks between them.
@pytest.mark.parametrize(
    "active, call",
    [*((_kernel, call) for call in KERNELS), (reference, _chain), (reference, _statistics)],
)
def test_a_signal_ends_a_kernel_in_threads(signalled, active, call, monkeypatch):
    monkeypatch.setattr(kernel, "_loaded", active)
    with pytest.raises(Ended):
        while True:
            list(in_order(lambda _: call(active), range(2), 2))
    _wait_for_threads()


def _dataset():
    rng = np.random.default_rng(0)
    variables = tuple(Variable(name, ("0", "1", "2")) for name in "abc")
    return Dataset(variables, tuple(rng.integers(0, 3, 500).astype(np.uint8) for _ in "abc"))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_signal_ends_endless_permutations(signalled, threads):
    test = TESTS["permutation"](MemoryCounter(_dataset()), permutations=10**9, threads=threads)
    with pytest.raises(Ended):
        test(0, 1, ())
    _wait_for_threads()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_signal_ends_endless_replicates(signalled, threads):
    def learn(_):
        # A search in Python that only asks whether there is time left.
        while not Deadline().passed:
            pass

    with pytest.raises(Ended):
        learn_replicates(learn, [_dataset()] * 1000, threads=threads)
    _wait_for_threads()


class _Endless:
    """Rows without an end."""

    size = None

    def readinto(self, buffer):
        rows = b"a,1\n" * (len(buffer) // 4) or b"\n"
        buffer[: len(rows)] = rows
        return len(rows)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("active", [_kernel, reference])
def test_a_signal_ends_reading(signalled, active, threads, monkeypatch):
    monkeypatch.setattr(kernel, "_loaded", active)
    specs = [ColumnSpec(CODES8), ColumnSpec(NUMBERS)]
    how = {"piece_bytes": 1 << 20, "threads": threads}
    with pytest.raises(Ended):
        for _ in cell_pieces(_Endless(), b"", 2, specs, CsvDialect(",", ".", ()), **how):
            pass
    _wait_for_threads()


def test_a_reader_that_is_left_alone_ends_its_threads():
    specs = [ColumnSpec(CODES8)] * 2
    how = {"piece_bytes": 1 << 20, "threads": 2}
    pieces = cell_pieces(_Endless(), b"", 2, specs, CsvDialect(",", ".", ()), **how)
    assert next(islice(pieces, 3, None)).n_rows
    assert _pool_threads()
    pieces.close()
    _wait_for_threads()


def test_a_pool_within_a_pool_ends(signalled):
    def wait_for_others(_):
        return list(in_order(_wait_to_be_stopped, range(2), 2))

    with pytest.raises(Ended):
        list(in_order(wait_for_others, range(2), 2))
    _wait_for_threads()


def _wait_to_be_stopped(_):
    while True:
        check_stopped()
        time.sleep(0.001)


# ---------------------------------------------------------------------- the pool


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_pool_keeps_the_order_and_takes_what_it_needs(threads):
    taken = []

    def items():
        for k in count():
            taken.append(k)
            yield k

    assert list(islice(in_order(lambda k: k * k, items(), threads), 7)) == [k * k for k in range(7)]
    assert len(taken) <= 7 + 4 * threads + 1
    _wait_for_threads()


def test_an_error_ends_the_others():
    def work(k):
        if k == 1:
            raise ValueError("one")
        _wait_to_be_stopped(k)

    with pytest.raises(ValueError, match="one"):
        # The first never ends by itself: the error must not wait for its turn.
        list(in_order(work, [1, 2, 3], 3))
    _wait_for_threads()


def test_an_error_of_the_work_is_not_taken_for_a_wait():
    def work(k):
        raise TimeoutError(str(k))

    with pytest.raises(TimeoutError, match="0"):
        list(in_order(work, range(3), 2))


def test_threads_have_the_limits_of_the_run():
    limit = ContextVar("limit", default=0)
    limit.set(7)
    assert list(in_order(lambda _: limit.get(), range(4), 2)) == [7] * 4


def test_stopped_is_raised_only_in_threads_of_a_pool():
    check_stopped()
    with pytest.raises(Stopped):
        list(in_order(lambda _: _raise_stopped(), range(2), 2))


def _raise_stopped():
    raise Stopped
