"""Work on several threads that ends when nobody is waiting for it any more.

Whoever asks waits in a way that a signal can interrupt. Whatever ends the waiting (an interrupt, an
error of one piece of work, a consumer that has enough) drops the work that has not begun and sets
the flag of `gml.stopping` for that which has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

from gml import kernel, stopping
from gml.resources import is_alone

if TYPE_CHECKING:
    from concurrent.futures import Future

# Kernels look at the flag every few milliseconds; threads that do not are not waited for.
_PATIENCE_SECONDS = 0.3
_LOOK_SECONDS = 0.1
_AHEAD = 4

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    threads: int,
    *,
    ahead: int | None = None,
) -> Iterator[Result]:
    """Yield work(item) for each item, in order, several at a time.

    Items are taken as they are needed: at most `ahead` (by default four per thread) are in progress
    or done while one is looked at. With one thread, or one item, nothing runs elsewhere.

    Examples
    --------
    >>> list(in_order(abs, range(-2, 3), 2))
    [2, 1, 0, 1, 2]
    """
    left = iter(items)
    first = list(islice(left, 2))
    if threads == 1 or is_alone() or len(first) < 2:
        for item in chain(first, left):
            yield work(item)
        return
    from concurrent.futures import ThreadPoolExecutor, wait

    flag = bytearray(1)
    most = _AHEAD * threads if ahead is None else max(1, ahead)
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(threads, initializer=_obey, initargs=(flag,))
    try:
        for item in chain(first, left):
            # One copy per thread: what limits the run limits its threads.
            waiting.append(pool.submit(copy_context().run, work, item))
            if len(waiting) > most:
                result = _result(waiting[0])
                waiting.popleft()
                yield result
        while waiting:
            result = _result(waiting[0])
            waiting.popleft()
            yield result
    finally:
        flag[0] = 1
        pool.shutdown(wait=False, cancel_futures=True)
        # A future that is cancelled never counts as done here.
        begun = [future for future in waiting if not future.cancelled()]
        still_at_work = wait(begun, _PATIENCE_SECONDS).not_done
        pool.shutdown(wait=not still_at_work)


def _obey(flag: bytearray) -> None:
    stopping.obey(flag)
    kernel.active().obey(flag)


def _result(future: Future[Result]) -> Result:
    while True:
        try:
            return future.result(_LOOK_SECONDS)
        except TimeoutError:
            if future.done():
                return future.result()
            # A thread that waits for threads of its own may be stopped itself.
            stopping.check_stopped()
