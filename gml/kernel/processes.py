"""Work that is repeated, in several processes: replicates that Python would hold back as threads.

Workers are forked when they are first needed. They share the memory of the process as it is then,
so no data are copied and work needs no pickling; only numbers of items go to them and results come
back. Results are in the order of the items, whichever worker had them. What a worker would report
is reported by the parent, with the result it belongs to.

A worker that is killed (by the kernel, for want of memory) is replaced, and its item done again; an
item that ends its worker every time is an error. Workers end with the process that began them:
whatever ends the waiting kills them, and the system does where the parent itself is killed. Where
processes cannot be forked, threads do the work.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from gml.errors import CannotAnswer, parameter
from gml.kernel.pool import in_order
from gml.progress import Remembering, reporter, reporting_to
from gml.stopping import check_stopped

_LOOK_SECONDS = 0.1
_MOST_TRIES = 3
_NUMBER = struct.Struct("<q")
_PR_SET_PDEATHSIG = 1

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
    items = _while(may_go_on, range(n))
    if min(n, workers) < 2 or not can_fork():
        yield from in_order(work, items, min(workers, max(n, 1)), ahead=workers)
        return
    pool = _Pool(work)
    try:
        yield from pool.results(items, min(n, workers))
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
    item: int | None = None
    received: bytearray = field(default_factory=bytearray)

    def begin(self, item: int) -> None:
        self.item = item
        # A worker that is gone shows when its answer is read.
        with suppress(BrokenPipeError):
            os.write(self.to_child, _NUMBER.pack(item))

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

    def __init__(self, work: Callable[[int], Any]) -> None:
        self._work = work
        self._workers: list[_Worker] = []
        self._tries: dict[int, int] = {}
        self._found: dict[int, tuple[Any, list[tuple[str, str]]]] = {}

    def results(self, items: Iterator[int], workers: int) -> Iterator[Any]:
        """Yield the results in order."""
        for item in items:
            self._workers.append(self._forked())
            self._workers[-1].begin(item)
            if len(self._workers) == workers:
                break
        wanted = 0
        while any(worker.item is not None for worker in self._workers):
            for worker in self._ready():
                self._take(worker)
                if worker.item is None:
                    following = next(items, None)
                    if following is not None:
                        worker.begin(following)
            while wanted in self._found:
                result, said = self._found.pop(wanted)
                for kind, message in said:
                    getattr(reporter(), kind)(message)
                yield result
                wanted += 1

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
        self._found[worker.item] = (result, said)
        worker.item = None

    def _replace(self, worker: _Worker) -> None:
        item = worker.item
        assert item is not None
        self._workers.remove(worker)
        status = worker.end()
        self._tries[item] = tries = self._tries.get(item, 0) + 1
        if tries == _MOST_TRIES:
            raise CannotAnswer(
                f"a worker process was ended {tries} times ({_how(status)}), perhaps for want of "
                f"memory; {parameter('threads', 1)} needs less"
            )
        self._workers.append(self._forked())
        self._workers[-1].begin(item)

    def _forked(self) -> _Worker:
        child_reads, to_child = os.pipe()
        from_child, child_writes = os.pipe()
        dies_with = _dies_with_parent()
        parent = os.getpid()
        pid = os.fork()
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


def _serve(work: Callable[[int], Any], requests: int, answers: int) -> NoReturn:
    """Answer requests until there are no more."""
    while True:
        request = os.read(requests, _NUMBER.size)
        if len(request) < _NUMBER.size:
            os._exit(0)
        (item,) = _NUMBER.unpack(request)
        kept = Remembering()
        with reporting_to(kept):
            try:
                answer: tuple[bool, Any, Any] = (True, work(item), kept.said)
            except BaseException as error:
                answer = (False, error, kept.said)
        content = pickle.dumps(answer)
        _write_all(answers, _NUMBER.pack(len(content)) + content)


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
