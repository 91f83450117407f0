"""How much memory a block of a test takes, arrays included."""

from __future__ import annotations

import tracemalloc
from contextlib import contextmanager


@contextmanager
def traced_memory():
    """Tells the most memory that a block takes, in bytes, once it has ended."""
    peak = []
    tracemalloc.start()
    try:
        yield peak
        peak.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
