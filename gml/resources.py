"""What a run may take of the machine: memory, refused before it is allocated, and cores.

Whatever can grow far beyond its input (a table, a dense graph, an inflated file) asks
`require_memory` first. The budget is that of the innermost `limited_to`, which the command line
enters for `--max-memory`; without one, half of the memory that is free. It is a limit of the
process, as `ulimit` sets one, and no part of what a caller asks for: so it is not passed but holds
within a block, whatever runs there, and is put back at its end.

Where the address space is limited (`ulimit -v`), C libraries that get no memory end the process in
their own ways: some abort, and OpenBLAS exits with 1. So their needs are met beforehand.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NoReturn

from gml.errors import CannotAnswer, UsageError, parameter, quote

FEW_BYTES = 1 << 20
"""Bytes that are never refused: finding out how much is free takes longer than using so little."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?", re.IGNORECASE)
_FALLBACK = 1 << 30
# So little that to look how much is free would take longer than to use it.
_ALWAYS_FREE = 1 << 16
# Measured: the interpreter, NumPy and the kernel take 100 MiB, the buffer of OpenBLAS takes 35, and
# the allocator sets 64 aside for the thread that waits for signals.
_LEAST_SPACE = 256 << 20
# Measured on top of these, with one thread of each kind: 290 MiB to load, 110 for a small table.
_ARROW_SPACE = 448 << 20
_SCARCE_SPACE = 4 << 30
_THREAD_FAILURES = ("can't start new thread", "Failed to launch worker thread")
_MEMORY_FAILURES = ("failed to map segment", "annot allocate memory", "MemoryError")
_limit: ContextVar[int | None] = ContextVar("memory_limit", default=None)
_alone: ContextVar[bool] = ContextVar("alone", default=False)


def parse_size(text: str) -> int:
    """Read a size such as `500M` or `2GiB`.

    Examples
    --------
    >>> parse_size("1.5k")
    1536
    """
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise UsageError(f"{quote(text)} is not a size; write for example 500M or 2G")
    size = float(match[1]) * _UNITS[match[2].upper()]
    if not math.isfinite(size):
        raise UsageError(f"{quote(text)} is too large for a size; write for example 500M or 2G")
    return int(size)


def format_size(n_bytes: int) -> str:
    """Return a size as people read it, however many digits it has."""
    if n_bytes.bit_length() > 100:
        return f"over 2^{n_bytes.bit_length() - 1} bytes"
    for unit in ("T", "G", "M", "K"):
        if n_bytes >= _UNITS[unit]:
            return f"{n_bytes / _UNITS[unit]:.3g} {unit}iB"
    return f"{n_bytes} bytes"


@contextmanager
def limited_to(n_bytes: int | None) -> Iterator[None]:
    """Make this the budget within a block; None means that it depends on what is free.

    Examples
    --------
    >>> with limited_to(1000):
    ...     budget_in_force()
    1000
    """
    token = _limit.set(n_bytes)
    try:
        yield
    finally:
        _limit.reset(token)


def budget_in_force(given: int | None = None) -> int:
    """Return the budget given, else that of `limited_to`, else half of what is free now."""
    limit = _limit.get() if given is None else given
    return _half_of_free_memory() if limit is None else limit


def work_alone() -> None:
    """Let nothing that runs here from now on run elsewhere: this process is one of many workers."""
    _alone.set(True)


def is_alone() -> bool:
    """Whether this is a worker process, which has neither threads nor workers of its own."""
    return _alone.get()


def _half_of_free_memory() -> int:
    free = 2 * _FALLBACK
    try:
        # A few lines of some fifty.
        with Path("/proc/meminfo").open("rb", buffering=512) as lines:
            for line in lines:
                if line.startswith(b"MemAvailable:"):
                    free = int(line.split()[1]) * 1024
                    break
    except OSError:
        pass
    space = _space_left()
    return (free if space is None else min(free, space)) // 2


def _space_limit() -> int | None:
    """The limit of the address space in bytes, if there is one."""
    try:
        import resource
    except ImportError:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _space_left() -> int | None:
    """The address space left under its limit, if there is a limit and what is used is known."""
    limit = _space_limit()
    if limit is None:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return None
    return max(0, limit - pages * os.sysconf("SC_PAGE_SIZE"))


def prepare_libraries() -> None:
    """Have the libraries take what they cannot do without early, or not at all.

    OpenBLAS keeps the buffer of its first call for all later ones.
    """
    limit = _space_limit()
    if limit is None:
        return
    if limit < _LEAST_SPACE:
        raise CannotAnswer(
            f"out of memory: the limit of {format_size(limit)} (ulimit -v) leaves too little for "
            f"the libraries, which take {format_size(_LEAST_SPACE)}"
        )
    import numpy as np

    np.linalg.inv(np.eye(128))
    if limit < _SCARCE_SPACE:
        # Its own allocator would reserve a gibibyte, and 72 MiB more for each thread.
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
        os.environ.setdefault("ARROW_IO_THREADS", "1")
        os.environ.setdefault("OMP_NUM_THREADS", "1")


def require_space_for_arrow() -> None:
    """Refuse to load pyarrow into less address space than it needs, where it may abort."""
    left = None if "pyarrow" in sys.modules else _space_left()
    if left is not None and left < _ARROW_SPACE:
        raise CannotAnswer(
            f"out of memory: Parquet takes {format_size(_ARROW_SPACE)} of address space, and the "
            f"limit (ulimit -v) leaves {format_size(left)}"
        )


def lack_behind(error: BaseException) -> str | None:
    """Say which resource a library ran out of, if that is what its error means.

    Examples
    --------
    >>> lack_behind(ImportError("libarrow.so: failed to map segment from shared object"))
    'out of memory'
    >>> lack_behind(ImportError("no such symbol"))
    """
    text = str(error)
    if any(failure in text for failure in _THREAD_FAILURES):
        fewer = parameter("threads", 1)
        return f"out of threads or of memory for one; try {fewer}, or a higher limit (ulimit)"
    is_known = any(failure in text for failure in _MEMORY_FAILURES)
    if isinstance(error, MemoryError) or (isinstance(error, ImportError | OSError) and is_known):
        return "out of memory"
    return None


def available_threads() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class OverBudget(CannotAnswer):
    """Something does not fit into the budget of memory, and would not with more rows either."""


def require_memory(n_bytes: int, budget: int | None, what: str, hint: str = "") -> None:
    """Refuse what would not fit into the budget (None: the one in force); the hint comes last.

    Examples
    --------
    >>> require_memory(4000, 1000, "it")
    Traceback (most recent call last):
    gml.resources.OverBudget: it would take 3.91 KiB, more than `max_memory` allows (1000 bytes)
    """
    if budget is None and n_bytes <= _ALWAYS_FREE and _limit.get() is None:
        return
    budget = budget_in_force(budget)
    if n_bytes > budget:
        refuse_memory(format_size(n_bytes), budget, what, hint)


def refuse_memory(size: str, budget: int, what: str, hint: str = "") -> NoReturn:
    """Refuse what was found not to fit: its size may be known only as a bound.

    Examples
    --------
    >>> refuse_memory("over 1 KiB", 1000, "this")
    Traceback (most recent call last):
    gml.resources.OverBudget: this would take over 1 KiB, more than `max_memory` allows (1000 bytes)
    """
    raise OverBudget(
        f"{what} would take {size}, more than {parameter('max_memory')} allows "
        f"({format_size(budget)}){hint}"
    )


def lacking_extra(what: str, extra: str, otherwise: str = "") -> CannotAnswer:
    """Return the error for what needs an extra that is not installed, and what would not need it.

    Examples
    --------
    >>> raise lacking_extra("d.parquet: reading Parquet", "parquet")
    Traceback (most recent call last):
    gml.errors.CannotAnswer: d.parquet: reading Parquet needs the extra parquet: pip install \
'gml[parquet]'
    """
    return CannotAnswer(f"{what} needs the extra {extra}: pip install 'gml[{extra}]'{otherwise}")
