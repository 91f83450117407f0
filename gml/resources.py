"""What a run may take of the machine: memory, refused before it is allocated, and cores.

Whatever can grow far beyond its input (a table, a dense graph, an inflated file) asks
`require_memory` first. The budget is that of the innermost `limited_to`, which the command line
enters for `--max-memory`; without one, half of the memory that is free.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gml.errors import CannotAnswer, UsageError, quote

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?", re.IGNORECASE)
_FALLBACK = 1 << 30
# Of the process, not of a context: threads that a command starts are held to it too.
_limit: int | None = None


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
    """Return a size for people."""
    for unit in ("T", "G", "M", "K"):
        if n_bytes >= _UNITS[unit]:
            return f"{n_bytes / _UNITS[unit]:.3g} {unit}iB"
    return f"{n_bytes} bytes"


@contextmanager
def limited_to(n_bytes: int | None) -> Iterator[None]:
    """Make this the budget within a block; None leaves it to what is free.

    Examples
    --------
    >>> with limited_to(1000):
    ...     default_budget()
    1000
    """
    global _limit
    before, _limit = _limit, n_bytes
    try:
        yield
    finally:
        _limit = before


def default_budget() -> int:
    """Return the budget in force: that of `limited_to`, else half of what is free now."""
    return _half_of_free_memory() if _limit is None else _limit


def _half_of_free_memory() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024 // 2
    except OSError:
        pass
    return _FALLBACK


def available_threads() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def require_memory(n_bytes: int, budget: int | None, what: str, hint: str = "") -> None:
    """Refuse what would not fit into the budget (None: that in force); the hint comes last.

    Examples
    --------
    >>> require_memory(4000, 1000, "a table")
    Traceback (most recent call last):
    gml.errors.CannotAnswer: a table would take 3.91 KiB, more than --max-memory allows (1000 bytes)
    """
    budget = default_budget() if budget is None else budget
    if n_bytes > budget:
        raise CannotAnswer(
            f"{what} would take {format_size(n_bytes)}, more than --max-memory allows "
            f"({format_size(budget)}){hint}"
        )
