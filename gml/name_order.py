"""The order of names, in which everything is summed, so that no order of columns shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Value = TypeVar("Value", bound=np.generic)


class NameOrder:
    """The permutation that puts positions in the order of their names.

    Examples
    --------
    >>> order = NameOrder(["smoke", "asia", "lung"])
    >>> order.positions.tolist(), order.ranks.tolist()
    ([1, 2, 0], [2, 0, 1])
    >>> order.sorted((0, 2))
    (2, 0)
    >>> order.rows(np.array([[0, 1], [2, 0]])).tolist()
    [[1, 0], [2, 0]]
    >>> order.names
    ('asia', 'lung', 'smoke')
    """

    def __init__(self, names: Sequence[str]) -> None:
        by_name = sorted(range(len(names)), key=names.__getitem__)
        self.names = tuple(names[j] for j in by_name)
        """The names in their order."""
        self.positions: NDArray[np.int32] = np.array(by_name, dtype=np.int32)
        """The positions, in the order of their names."""
        self.ranks: NDArray[np.int32] = np.argsort(self.positions).astype(np.int32)
        """For each position, how many names come before its own."""
        self.rank: list[int] = self.ranks.tolist()
        """The same as a list, which is faster to look single items up in."""

    def __len__(self) -> int:
        return len(self.rank)

    def sorted(self, members: Iterable[int]) -> tuple[int, ...]:
        """Return some positions in order of their names."""
        return tuple(sorted(members, key=self.rank.__getitem__))

    def matrix(self, values: NDArray[Value]) -> NDArray[Value]:
        """Return a square matrix with its rows and columns in order of the names."""
        return values[np.ix_(self.positions, self.positions)]

    def restored(self, values: NDArray[Value]) -> NDArray[Value]:
        """Return a square matrix given in the order of the names in the order of the positions."""
        return values[np.ix_(self.ranks, self.ranks)]

    def rows(self, rows: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return a matrix of positions, each row in order of the names."""
        if rows.shape[1] == 2:
            # There may be very many pairs, and swapping is faster than sorting.
            swap = self.ranks[rows[:, 0]] > self.ranks[rows[:, 1]]
            return np.where(swap[:, None], rows[:, ::-1], rows).astype(np.int32, copy=False)
        ordered: NDArray[np.int32] = self.positions[np.sort(self.ranks[rows], axis=1)]
        return ordered
