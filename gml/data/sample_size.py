"""How large a table is, and some of its rows: what samples of any kind of file have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class TableSize:
    """How large a table is: bytes as stored, rows, and whether their number is certain."""

    stored_bytes: int
    rows: int
    is_exact: bool
    text_bytes: int | None
    """Bytes of the text that the kernel parses; None for Parquet."""
    inflating: float = 0.0
    """CPU seconds that decompressing all of it takes."""


class TableSample(ABC):
    """Some rows of a table, of which smaller tables can be written."""

    size: TableSize

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """The number of rows at hand."""

    @abstractmethod
    def written(self, folder: Path, n_rows: int) -> Path:
        """Write a table of some of the rows, or of all; returns its path."""


def scattered(items: Sequence[Any], number: int) -> list[Any]:
    """Return as many items in their order, one of each of as many stretches of one length.

    Which one is as good as random, and the same each time: at even distances, a table with a period
    would show one part of it.

    Examples
    --------
    >>> scattered(range(10), 4)
    [1, 3, 6, 7]
    >>> scattered("abc", 5)
    ['a', 'b', 'c']
    """
    if number >= len(items):
        return list(items)
    ends = np.arange(number + 1) * len(items) // max(1, number)
    places = np.random.default_rng(0).integers(ends[:-1], ends[1:])
    return [items[k] for k in places.tolist()]


def evenly(items: Sequence[Any], number: int) -> list[Any]:
    """Return as many items, at even distances; all of them if there are no more.

    Examples
    --------
    >>> evenly(range(10), 4)
    [0, 2, 5, 7]
    """
    if number >= len(items):
        return list(items)
    return [items[k * len(items) // number] for k in range(number)]
