"""The engine over rows that were read into memory; a path may bring one of its own.

As the paths of a command line carry its ledger, so the path of a pilot run carries an engine that
takes down what it is asked: the verb that reads the path counts with it, and knows nothing of it.
"""

from __future__ import annotations

from gml.counts.counter import Counter
from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset


class PathWithEngine(str):
    """A path whose rows are counted by an engine of its own; otherwise a string as any."""

    __slots__ = ()

    def engine_over(self, rows: Dataset, threads: int | None) -> Counter:
        """Return the engine over the rows that were read from here."""
        raise NotImplementedError


def engine_over(rows: Dataset, source: object, *, threads: int | None = None) -> Counter:
    """Return an engine over rows that were read from a source."""
    if isinstance(source, PathWithEngine):
        return source.engine_over(rows, threads)
    return MemoryCounter(rows, threads=threads)
