"""Columns with more different values than there can be levels, gone through a second time.

Values are told apart by 64 bits of their BLAKE2b hashes, so that two of ten million are taken for
one with a probability of about three in a million; the hashes are the memory that this takes, and
beyond `MOST_DISTINCT` of them values are no longer counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.data.column_facts import (
    Facts,
    Tally,
    facts_of_numbers,
    guess_of_texts,
    has_blanks,
    is_date,
)
from gml.data.number_summary import NumberValues
from gml.kernel.number import number_of

MOST_DISTINCT = 1 << 24
"""The most different values of a column that are counted."""


class LongColumn:
    """Takes in the cells of a column, None where one is missing.

    Examples
    --------
    >>> column = LongColumn(".")
    >>> column.add(["a b", None, "c"])
    >>> column.add(["c"])
    >>> column.facts(None, max_levels=1, whole_rows=True), column.gaps().tolist()
    (Facts(guess='text', distinct=2, numbers=None), [False, True, False, False])
    """

    def __init__(self, decimal: str) -> None:
        self._decimal = decimal
        self._gaps: list[NDArray[np.bool_]] = []
        self._numbers: list[NDArray[np.float64]] | None = []
        self._hashes: NDArray[np.uint64] | None = np.empty(0, dtype=np.uint64)
        self._new: list[NDArray[np.uint64]] = []
        self._n_new = 0
        self._all_dates, self._any_blanks = True, False

    def add(self, texts: Sequence[str | None], counted: NDArray[np.bool_] | None = None) -> None:
        """Take in the next cells; those of rows that are not `counted` do not matter."""
        self._gaps.append(np.array([text is None for text in texts], dtype=np.bool_))
        keep = None if counted is None else counted.tolist()
        present = [
            text for k, text in enumerate(texts) if text is not None and (keep is None or keep[k])
        ]
        self._all_dates = self._all_dates and all(map(is_date, present))
        self._any_blanks = self._any_blanks or any(map(has_blanks, present))
        self._add_numbers(texts)
        if self._hashes is not None:
            digests = b"".join(
                hashlib.blake2b(text.encode("utf-8", "backslashreplace"), digest_size=8).digest()
                for text in present
            )
            self._new.append(np.unique(np.frombuffer(digests, dtype="<u8")))
            self._n_new += len(self._new[-1])
            if self._n_new > max(1 << 16, len(self._hashes)):
                self._join()

    def _add_numbers(self, texts: Sequence[str | None]) -> None:
        if self._numbers is None:
            return
        found = np.full(len(texts), np.nan)
        for k, text in enumerate(texts):
            if text is None:
                continue
            number = number_of(text, self._decimal)
            if number is None:
                self._numbers = None
                return
            found[k] = number
        self._numbers.append(found)

    def _join(self) -> None:
        assert self._hashes is not None
        self._hashes = np.unique(np.concatenate([self._hashes, *self._new]))
        self._new, self._n_new = [], 0
        if len(self._hashes) > MOST_DISTINCT:
            self._hashes = None

    def gaps(self) -> NDArray[np.bool_]:
        """Return which cells are missing."""
        return np.concatenate([np.empty(0, dtype=np.bool_), *self._gaps])

    def facts(
        self, weights: NDArray[np.int64] | None, *, max_levels: int, whole_rows: bool
    ) -> Facts:
        """Return what was found, given the weights of all rows."""
        if self._hashes is not None:
            self._join()
        present = ~self.gaps()
        if weights is not None:
            present &= weights > 0
        distinct = None if self._hashes is None else len(self._hashes)
        n = int(np.count_nonzero(present))
        if self._numbers is None or n == 0:
            tally = Tally(n, distinct, self._all_dates, self._any_blanks)
            return Facts(guess_of_texts(tally, max_levels), distinct)
        numbers = np.concatenate(self._numbers)[present]
        counts = None if weights is None else weights[present]
        return facts_of_numbers(NumberValues.of(numbers, counts), n, whole_rows=whole_rows)
