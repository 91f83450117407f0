"""Work that is repeated, in several processes: replicates that Python would hold back as threads.

Workers are forked when they are first needed. They share the memory of the process as it is then,
so no data are copied and work needs no pickling; only items go to them and results come back.
Results are in the order of the items, whichever worker had them. What a worker would report is
reported by the parent, with the result it belongs to. Nothing that a worker does is spread over
more threads or processes.

A fork takes a millisecond or two, so what lasts milliseconds is better done here:
`in_processes_if_long` does the first item in this process to see.

A worker that is killed (by the kernel, for want of memory) is replaced, and its item done again; an
item that ends its worker every time is an error. Workers end with the process that began them:
whatever ends the waiting kills them, and the system does where the parent itself is killed. Where
processes cannot be forked, threads do the work. Where the system refuses another one (for want of
memory, or by `ulimit -u`), the workers that there are do it, and this process with them.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from gml.errors import CannotAnswer, parameter
from gml.kernel.pool import in_order
from gml.progress import Remembering, reporter, reporting_to
from gml.resources import is_alone, work_alone
from gml.stopping import check_stopped

_LOOK_SECONDS = 0.1
_MOST_TRIES = 3
_NUMBER = struct.Struct("<q")
_PR_SET_PDEATHSIG = 1
# Seconds of work below which forking and waiting take a part of it that shows.
_WORTH_FORKING = 0.1

_NO_MORE = object()

Item = TypeVar("Item")
Result = TypeVar("Result")


def can_fork() -> bool:
    """Whether work can go to processes that share this one's memory."""
    return sys.platform == "linux"


def in_processes(
    work: Callable[[int], Result],
    n: int,
    workers: int,
    *,
    may_go_on: Callable[[], bool] = lambda: True,
) -> Iterator[Result]:
    """Yield work(0), …, work(n − 1), several at a time; no item is begun once one may not go on.

    Examples
    --------
    >>> list(in_processes(lambda k: k * k, 4, 2))
    [0, 1, 4, 9]
    """
    yield from with_workers(work, _while(may_go_on, range(n)), min(n, workers))


def in_processes_if_long(
    work: Callable[[int], Result],
    n: int,
    workers: int,
    *,
    may_go_on: Callable[[], bool] = lambda: True,
) -> Iterator[Result]:
    """The same; the first item is done in this process, and all are if it took next to no time.

    Examples
    --------
    >>> list(in_processes_if_long(lambda k: k * k, 4, 2))
    [0, 1, 4, 9]
    """
    if n == 0 or not may_go_on():
        return
    began = time.monotonic()
    first = work(0)
    seconds = (time.monotonic() - began) * (n - 1)
    yield first
    workers = workers if worth_forking(seconds) else 1
    yield from in_processes(lambda k: work(k + 1), n - 1, workers, may_go_on=may_go_on)


def worth_forking(seconds: float) -> bool:
    """Whether work that would take so long in this process is worth processes of its own."""
    return seconds >= _WORTH_FORKING


def with_workers(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    workers: int,
    *,
    ahead: int | None = None,
) -> Iterator[Result]:
    """Yield work(item) for items that are made as they are needed, and must be picklable.

    With `ahead`, at most so many are begun and not yet looked at: an item can be made from the
    results of all that come so many places before it.

    Examples
    --------
    >>> list(with_workers(abs, iter([-3, 2]), 2))
    [3, 2]
    """
    if workers < 2 or not can_fork() or is_alone():
        # Threads would look ahead as far as they please.
        threads = 1 if ahead is not None else max(1, workers)
        yield from in_order(work, items, threads, ahead=threads)
        return
    pool = _Pool(work)
    try:
        yield from pool.results(iter(items), workers, ahead)
    finally:
        pool.end()


def _while(may_go_on: Callable[[], bool], items: range) -> Iterator[int]:
    for item in items:
        if not may_go_on():
            return
        yield item


@dataclass
class _Worker:
    """A child process: items go to `to_child`, results come from `from_child`."""

    pid: int
    to_child: int
    from_child: int
    item: tuple[int, Any] | None = None
    """What it is at: the place of an item in the order, and the item."""
    received: bytearray = field(default_factory=bytearray)

    def begin(self, item: tuple[int, Any]) -> None:
        self.item = item
        # A worker that is gone shows when its answer is read.
        with suppress(BrokenPipeError):
            _write_framed(self.to_child, pickle.dumps(item[1]))

    def answer(self) -> bytes | None:
        """Read what has come; returns the whole of an answer, b"" if the worker is gone."""
        some = os.read(self.from_child, 1 << 20)
        if not some:
            return b""
        self.received += some
        if len(self.received) < _NUMBER.size:
            return None
        (size,) = _NUMBER.unpack_from(self.received)
        if len(self.received) < _NUMBER.size + size:
            return None
        found = bytes(self.received[_NUMBER.size :])
        self.received.clear()
        return found

    def end(self) -> int:
        """End the process, and return what the system says about how it ended."""
        for descriptor in (self.to_child, self.from_child):
            os.close(descriptor)
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        return os.waitpid(self.pid, 0)[1]


class _Pool:
    """The workers of one call."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self._work = work
        self._workers: list[_Worker] = []
        self._tries: dict[int, int] = {}
        self._found: dict[int, tuple[Any, list[tuple[str, str]]]] = {}

    def results(self, items: Iterator[Any], workers: int, ahead: int | None) -> Iterator[Any]:
        """Yield the results in order."""
        begun = wanted = 0
        while True:
            while self._n_busy < workers and (ahead is None or begun - wanted < ahead):
                item = next(items, _NO_MORE)
                if item is _NO_MORE:
                    break
                worker = self._idle()
                begun += 1
                if worker is None:
                    # What is found here is looked at before the next is begun.
                    self._found[begun - 1] = self._done_here(item)
                    break
                worker.begin((begun - 1, item))
            if not self._n_busy and not self._found:
                return
            for busy in self._ready() if self._n_busy else ():
                self._take(busy)
            while wanted in self._found:
                result, said = self._found.pop(wanted)
                for kind, message in said:
                    getattr(reporter(), kind)(message)
                yield result
                wanted += 1

    @property
    def _n_busy(self) -> int:
        return sum(worker.item is not None for worker in self._workers)

    def _idle(self) -> _Worker | None:
        """A worker without an item; a new one if all have one, and none if there can be no more."""
        for worker in self._workers:
            if worker.item is None:
                return worker
        try:
            self._workers.append(self._forked())
        except OSError:
            return None
        return self._workers[-1]

    def _done_here(self, item: Any) -> tuple[Any, list[tuple[str, str]]]:
        """What this process finds, and would say: as a worker, so that it is said in order."""
        check_stopped()
        kept = Remembering()
        with reporting_to(kept):
            return self._work(item), kept.said

    def _ready(self) -> list[_Worker]:
        """Wait until a worker has something to say."""
        busy = {worker.from_child: worker for worker in self._workers if worker.item is not None}
        while True:
            check_stopped()
            ready = select.select(list(busy), [], [], _LOOK_SECONDS)[0]
            if ready:
                return [busy[descriptor] for descriptor in ready]

    def _take(self, worker: _Worker) -> None:
        """Take the answer of a worker, once it is whole; replace a worker that is gone."""
        answer = worker.answer()
        if answer is None:
            return
        assert worker.item is not None
        if not answer:
            self._replace(worker)
            return
        succeeded, result, said = pickle.loads(answer)
        if not succeeded:
            raise result
        self._found[worker.item[0]] = (result, said)
        worker.item = None

    def _replace(self, worker: _Worker) -> None:
        item = worker.item
        assert item is not None
        self._workers.remove(worker)
        status = worker.end()
        self._tries[item[0]] = tries = self._tries.get(item[0], 0) + 1
        if tries == _MOST_TRIES:
            raise CannotAnswer(
                f"a worker process was ended {tries} times ({_how(status)}), perhaps for want of "
                f"memory; {parameter('threads', 1)} needs less"
            )
        try:
            self._workers.append(self._forked())
        except OSError as error:
            # What has ended a worker is not tried here, where it might end the run.
            raise CannotAnswer(
                f"a worker process was ended ({_how(status)}), and there can be no other "
                f"({error.strerror}); {parameter('threads', 1)} needs less"
            ) from None
        self._workers[-1].begin(item)

    def _forked(self) -> _Worker:
        dies_with = _dies_with_parent()
        parent = os.getpid()
        pipes: list[int] = []
        try:
            pipes += os.pipe()
            pipes += os.pipe()
            pid = os.fork()
        except OSError:
            for descriptor in pipes:
                os.close(descriptor)
            raise
        child_reads, to_child, from_child, child_writes = pipes
        if pid == 0:
            # Whatever goes wrong, the child must not go on as if it were the parent.
            try:
                others = [
                    w for worker in self._workers for w in (worker.to_child, worker.from_child)
                ]
                for descriptor in (to_child, from_child, *others):
                    os.close(descriptor)
                dies_with(parent)
                _serve(self._work, child_reads, child_writes)
            finally:
                os._exit(1)
        os.close(child_reads)
        os.close(child_writes)
        return _Worker(pid, to_child, from_child)

    def end(self) -> None:
        """End all workers, whatever they are doing."""
        for worker in self._workers:
            worker.end()
        self._workers = []


def _serve(work: Callable[[Any], Any], requests: int, answers: int) -> NoReturn:
    """Answer requests until there are no more."""
    work_alone()
    while True:
        item = pickle.loads(_read_framed(requests))
        kept = Remembering()
        with reporting_to(kept):
            try:
                answer = pickle.dumps((True, work(item), kept.said))
            except BaseException as error:
                answer = _pickled_failure(error, kept.said)
        _write_framed(answers, answer)


def _pickled_failure(error: BaseException, said: list[tuple[str, str]]) -> bytes:
    """Pickle an error for the parent; one that cannot be made again there goes as its message."""
    try:
        answer = pickle.dumps((False, error, said))
        pickle.loads(answer)
    except Exception:
        answer = pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}"), said))
    return answer


def _read_framed(descriptor: int) -> bytes:
    """Read a message with its size before it; the end of them ends the process."""
    (size,) = _NUMBER.unpack(_read_all(descriptor, _NUMBER.size))
    return _read_all(descriptor, size)


def _read_all(descriptor: int, size: int) -> bytes:
    content = bytearray()
    while len(content) < size:
        some = os.read(descriptor, size - len(content))
        if not some:
            os._exit(0)
        content += some
    return bytes(content)


def _write_framed(descriptor: int, content: bytes) -> None:
    _write_all(descriptor, _NUMBER.pack(len(content)) + content)


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def _dies_with_parent() -> Callable[[int], None]:
    """Return what a child calls so that signals end it, and the end of its parent does."""
    import ctypes

    prctl = ctypes.CDLL(None).prctl

    def dies_with(parent: int) -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # What the parent ignores, as with nohup, its workers ignore.
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])

    return dies_with


def _how(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit code {os.WEXITSTATUS(status)}"
