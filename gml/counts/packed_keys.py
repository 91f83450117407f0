"""Configurations of labels as few integers each, which compare as the configurations do.

The codes of a configuration are the digits of a number, the first the highest. Where the levels of
all columns together are too many for 62 bits, further columns go into a further word.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MOST_KEYS = 1 << 62
_MOST_SHORT = (1 << 16) - 1

Keys = NDArray[np.int64]
"""Words × configurations."""


class PackedKeys:
    """Packs the codes of columns with so many levels each.

    Examples
    --------
    >>> packed = PackedKeys([2, 3])
    >>> keys = packed.keys([np.array([1, 0]), np.array([2, 1])], 2)
    >>> keys.tolist(), packed.codes(keys).tolist()
    ([[5, 1]], [[1, 2], [0, 1]])
    """

    def __init__(self, n_levels: Sequence[int]) -> None:
        self._words: list[list[int]] = [[]]
        for size in n_levels:
            if math.prod(self._words[-1]) * size > _MOST_KEYS:
                self._words.append([])
            self._words[-1].append(size)
        self.n_words = len(self._words)
        self.n_keys = math.prod(n_levels)

    def keys(self, columns: Sequence[NDArray[Any]], n_rows: int) -> Keys:
        """Return the keys of rows without missing values."""
        found = np.zeros((self.n_words, n_rows), dtype=np.int64)
        left = iter(columns)
        for word, sizes in zip(found, self._words, strict=True):
            for size in sizes:
                word *= size
                word += next(left)
        return found

    def codes(self, keys: Keys) -> NDArray[np.int64]:
        """Return the codes that the keys stand for, one row each."""
        found: list[NDArray[np.int64]] = []
        for word, sizes in zip(reversed(keys), reversed(self._words), strict=True):
            left = word
            for size in reversed(sizes):
                left, code = np.divmod(left, size)
                found.append(code)
        if not found:
            return np.zeros((keys.shape[1], 0), dtype=np.int64)
        return np.ascontiguousarray(np.array(found[::-1]).T)

    @staticmethod
    def numbered(keys: Keys) -> tuple[Keys, NDArray[np.int64]]:
        """Return the different keys in order, and which of them each is."""
        order, firsts = sorted_runs(keys)
        number = np.empty(keys.shape[1], dtype=np.int64)
        number[order] = np.cumsum(firsts) - 1
        return keys[:, order[firsts]], number


def summed_by_key(keys: Keys, *values: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Return the different keys in order, and the values of equal ones added up.

    Examples
    --------
    >>> [part.tolist() for part in summed_by_key(np.array([[7, 3, 7]]), np.array([1, 10, 100]))]
    [[[3, 7]], [10, 101]]
    """
    order, firsts = sorted_runs(keys)
    starts = np.flatnonzero(firsts)
    sums = [np.add.reduceat(v[order], starts) if len(starts) else v[:0] for v in values]
    return keys[:, order[firsts]], *sums


def sorted_runs(keys: Keys) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the order of keys, in which equal ones stay as they were, and where each begins."""
    if len(keys) == 1 and keys.max(initial=0) <= _MOST_SHORT:
        # Integers of 16 bits are sorted by their digits, in a fraction of the time.
        order = np.argsort(keys[0].astype(np.uint16), kind="stable")
    else:
        order = np.lexsort(keys[::-1])
    firsts = np.ones(keys.shape[1], dtype=bool)
    ordered = keys[:, order]
    firsts[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    return order, firsts
