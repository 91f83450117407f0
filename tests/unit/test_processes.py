"""Work in processes: order, errors, what is said, workers that are killed, and the end."""

from __future__ import annotations

import errno
import os
import signal
import time

import pytest

from gml.errors import CannotAnswer, DataError, GmlWarning, MissingTable
from gml.kernel import processes
from gml.kernel.processes import in_processes, with_workers
from gml.progress import reporter

pytestmark = pytest.mark.skipif(not processes.can_fork(), reason="no processes can be forked here")


def children():
    """The processes that this one began and that are still there."""
    with open(f"/proc/{os.getpid()}/task/{os.getpid()}/children") as file:
        return file.read().split()


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_results_come_in_order(n, workers):
    def work(k):
        time.sleep(0.02 * (k % 3 == 0))
        return k * k

    assert list(in_processes(work, n, workers)) == [k * k for k in range(n)]


def test_several_processes_work_and_are_gone_afterwards():
    before = children()
    pids = set(in_processes(lambda _: (time.sleep(0.02), os.getpid())[1], 6, 2))
    assert len(pids) == 2
    assert os.getpid() not in pids
    assert children() == before


def test_large_results_arrive_whole():
    found = list(in_processes(lambda k: bytes([k]) * 3_000_000, 4, 2))
    assert [(len(one), one[0], one[-1]) for one in found] == [(3_000_000, k, k) for k in range(4)]


def test_an_error_is_raised_here():
    def work(k):
        if k == 2:
            raise DataError("line 3: no")
        return k

    before = children()
    with pytest.raises(DataError, match="line 3: no"):
        list(in_processes(work, 5, 2))
    assert children() == before


class Unpicklable(Exception):
    """An error that is made of two things and has one argument."""

    def __init__(self, first, second):
        super().__init__(f"{first} {second}")


def raised():
    raise Unpicklable("too", "bad")


@pytest.mark.parametrize(
    ("work", "said"),
    [(lambda: lambda: None, "pickle"), (raised, "Unpicklable: too bad")],
    ids=["result", "error"],
)
def test_what_cannot_be_pickled_is_an_error_of_its_own(work, said):
    """It is not taken for a worker that was killed."""
    with pytest.raises(Exception, match=said) as found:
        list(in_processes(lambda _: work(), 3, 2))
    assert not isinstance(found.value, CannotAnswer)


def test_a_table_that_a_count_file_lacks_is_told_by_a_worker():
    def work(k):
        raise MissingTable("x.counts: no table of 'a'", ["a"], "count it")

    with pytest.raises(MissingTable, match="no table of 'a'; count it") as found:
        list(in_processes(work, 3, 2))
    assert found.value.names == {"a"}


def test_what_a_worker_says_is_said_here():
    def work(k):
        reporter().warn(f"item {k}")
        return k

    with pytest.warns(GmlWarning) as said:
        list(in_processes(work, 3, 2))
    assert [str(one.message) for one in said] == ["item 0", "item 1", "item 2"]


def test_a_worker_that_is_killed_is_replaced(tmp_path):
    for attempt in range(10):
        once = tmp_path / str(attempt)

        def work(k, once=once):
            if k == 1 and not once.exists():
                once.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return k

        assert list(in_processes(work, 4, 2)) == [0, 1, 2, 3]
        assert once.exists()


def test_an_item_that_kills_every_worker_is_an_error():
    def work(k):
        if k == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return k

    with pytest.raises(CannotAnswer, match=r"ended 3 times \(SIGKILL\).*`threads=1`"):
        list(in_processes(work, 4, 2))


def test_nothing_is_begun_once_time_is_over():
    left = [True, True, True, False, False, False, False]
    assert list(in_processes(lambda k: k, 7, 2, may_go_on=lambda: left.pop(0))) == [0, 1, 2]


def test_a_consumer_that_has_enough_ends_the_workers():
    before = children()
    found = in_processes(lambda k: time.sleep(60 * (k > 1)), 4, 2)
    next(found)
    found.close()
    assert children() == before


def test_workers_end_with_their_parent():
    """A parent that is killed cannot clean up; the system ends its workers."""
    read, write = os.pipe()
    parent = os.fork()
    if parent == 0:
        try:

            def work(_):
                os.write(write, f"{os.getpid()}\n".encode())
                time.sleep(60)

            list(in_processes(work, 2, 2))
        finally:
            os._exit(1)
    os.close(write)
    pids: list[str] = []
    while len(pids) < 2:
        pids += os.read(read, 100).decode().split()
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    # Both ends of the pipe were theirs alone.
    assert os.read(read, 1) == b""
    os.close(read)


def refusing_after(number, fork):
    """A fork that the system refuses from the second or so on."""
    left = [number]

    def forked():
        left[0] -= 1
        if left[0] < 0:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return fork()

    return forked


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("ahead", [None, 2])
def test_what_cannot_be_forked_is_done_here(monkeypatch, number, ahead):
    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(os, "fork", refusing_after(number, os.fork))

    def work(k):
        reporter().warn(f"item {k}")
        time.sleep(0.01)
        return k, os.getpid()

    with pytest.warns(GmlWarning) as said:
        found = list(with_workers(work, iter(range(7)), 3, ahead=ahead))
    assert [k for k, _ in found] == list(range(7))
    assert (os.getpid() in {pid for _, pid in found}) == (ahead is None or number < ahead)
    assert len({pid for _, pid in found} - {os.getpid()}) == number
    assert [str(one.message) for one in said] == [f"item {k}" for k in range(7)]
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_error_here_is_the_error(monkeypatch):
    monkeypatch.setattr(os, "fork", refusing_after(0, os.fork))

    def work(k):
        raise DataError(f"item {k}")

    with pytest.raises(DataError, match="item 0"):
        list(in_processes(work, 3, 2))


def test_without_descriptors_for_another_worker_none_are_lost(monkeypatch):
    before = len(os.listdir("/proc/self/fd"))
    pipe, made = os.pipe, []

    def scarce():
        made.append(None)
        if len(made) == 2:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return pipe()

    monkeypatch.setattr(os, "pipe", scarce)
    assert list(in_processes(abs, 4, 2)) == [0, 1, 2, 3]
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_worker_that_is_killed_and_cannot_be_replaced_is_an_error(monkeypatch):
    monkeypatch.setattr(os, "fork", refusing_after(1, os.fork))
    parent = os.getpid()

    def work(k):
        if os.getpid() != parent:
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGKILL)
        return k

    with pytest.raises(CannotAnswer, match=r"ended \(SIGKILL\), and there can be no other \(Resou"):
        list(in_processes(work, 3, 2))


def test_threads_do_the_work_where_nothing_can_be_forked(monkeypatch):
    monkeypatch.setattr(processes, "can_fork", lambda: False)
    assert set(in_processes(lambda _: os.getpid(), 4, 2)) == {os.getpid()}
