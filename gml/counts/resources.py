"""The memory that tables may take, refused before it is allocated, and the cores to count with."""

from __future__ import annotations

import os
import re
from pathlib import Path

from gml.errors import CannotAnswer, UsageError

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?", re.IGNORECASE)
_FALLBACK = 1 << 30


def parse_size(text: str) -> int:
    """Read a size such as `500M` or `2GiB`.

    Examples
    --------
    >>> parse_size("1.5k")
    1536
    """
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise UsageError(f"{text!r} is not a size; write for example 500M or 2G")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def format_size(n_bytes: int) -> str:
    """Return a size for people."""
    for unit in ("T", "G", "M", "K"):
        if n_bytes >= _UNITS[unit]:
            return f"{n_bytes / _UNITS[unit]:.3g} {unit}iB"
    return f"{n_bytes} bytes"


def default_budget() -> int:
    """Return half of the memory that is free now."""
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


def require_memory(n_bytes: int, budget: int, what: str, hint: str = "") -> None:
    """Refuse a table that would not fit; the hint ends the message."""
    if n_bytes > budget:
        raise CannotAnswer(
            f"{what} would take {format_size(n_bytes)}, more than --max-memory allows "
            f"({format_size(budget)}){hint}"
        )
