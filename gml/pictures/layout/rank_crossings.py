"""Crossings between two neighbouring ranks, from the matrix of the links between them.

Two links cross when one begins further left and ends further right: sums over parts of the matrix
count all pairs of links at once. All values are whole numbers, so that sums are exact; there is no
product of matrices, which other threads could slow down.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.int32]
Order = npt.NDArray[np.intp]
"""The members of a rank from left to right."""


class Side:
    """The links of each member of a rank with members of a neighbouring rank.

    Parameters
    ----------
    neighbours
        For each member the places of those that it is linked with.
    n_others
        How many members the neighbouring rank has.
    """

    def __init__(self, neighbours: Sequence[Sequence[int]], n_others: int) -> None:
        degrees = np.array([len(found) for found in neighbours], dtype=np.intp)
        self.ends = np.array([end for found in neighbours for end in found], dtype=np.intp)
        self.linked = np.flatnonzero(degrees)
        self.degrees = degrees[self.linked]
        self.starts = np.cumsum(self.degrees) - self.degrees
        self.matrix: Matrix = np.zeros((len(neighbours), n_others), dtype=np.int32)
        self.matrix[np.repeat(self.linked, self.degrees), self.ends] = 1

    def crossings(self, order: Order, other: Order) -> int:
        """Return how many pairs of links cross, by the orders of this rank and of the other.

        Examples
        --------
        >>> Side([[1, 2], [0, 2]], 3).crossings(np.array([0, 1]), np.array([0, 1, 2]))
        2
        """
        links = self.matrix[order][:, other]
        further_left = np.cumsum(links, axis=1) - links
        and_lower = further_left.sum(axis=0) - np.cumsum(further_left, axis=0)
        return int((links * and_lower).sum())

    def left_of(self, other: Order) -> Matrix:
        """Return the crossings of i's links with j's if i is left of j, by i and j.

        Examples
        --------
        >>> Side([[1, 2], [0, 2], []], 3).left_of(np.array([0, 1, 2])).tolist()
        [[1, 2, 0], [1, 1, 0], [0, 0, 0]]
        """
        links = self.matrix[:, other]
        beyond = links.sum(axis=1, keepdims=True, dtype=np.int32) - np.cumsum(links, axis=1)
        place = np.empty_like(other)
        place[other] = np.arange(len(other))
        found: Matrix = np.zeros((len(links), len(links)), dtype=np.int32)
        found[:, self.linked] = np.add.reduceat(beyond[:, place[self.ends]], self.starts, axis=1)
        return found

    def mean_places(self, order: Order, other: Order) -> npt.NDArray[np.float64]:
        """Return the mean place of each member's neighbours, from 0 to 1; its own if it has none.

        Examples
        --------
        >>> Side([[0, 1], [1], []], 2).mean_places(np.array([2, 0, 1]), np.array([1, 0])).tolist()
        [0.5, 0.25, 0.16666666666666666]
        """
        place, mean = np.empty(len(other)), np.empty(len(order))
        place[other] = (np.arange(len(other)) + 0.5) / len(other)
        mean[order] = (np.arange(len(order)) + 0.5) / len(order)
        mean[self.linked] = np.add.reduceat(place[self.ends], self.starts) / self.degrees
        return mean
