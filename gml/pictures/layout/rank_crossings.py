"""Crossings between two neighbouring ranks, from the matrix of the links between them.

Two links cross when one begins further left and ends further right: sums over parts of the matrix
count all pairs of links at once. All values are whole numbers, so that sums are exact.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Links = npt.NDArray[np.float64]
"""1 where the member of one rank is linked with that of the next, 0 elsewhere."""
Order = npt.NDArray[np.intp]
"""The members of a rank from left to right."""


def crossings(links: Links) -> int:
    """Return how many pairs of links cross, where rows and columns stand from left to right.

    Examples
    --------
    >>> crossings(np.array([[0, 1, 1], [1, 0, 1]]))
    2
    """
    further_left = np.cumsum(links, axis=1) - links
    and_lower = further_left.sum(axis=0) - np.cumsum(further_left, axis=0)
    return round(float((links * and_lower).sum()))


def left_of(links: Links) -> Links:
    """Return the crossings of i's links with j's if row i is left of row j, by i and j.

    The columns stand from left to right.

    Examples
    --------
    >>> left_of(np.array([[0, 1, 1], [1, 0, 1]])).tolist()
    [[1, 2], [1, 1]]
    """
    beyond = links.sum(axis=1, keepdims=True) - np.cumsum(links, axis=1)
    found: Links = beyond @ links.T
    return found


def mean_places(links: Links, order: Order, other: Order) -> Links:
    """Return the mean place of the neighbours of each row, from 0 to 1; its own if it has none.

    Parameters
    ----------
    links
        The links between the rows, which are to be sorted, and the columns.
    order, other
        The order of the rows and that of the columns.
    """
    place, own = np.empty(len(other)), np.empty(len(order))
    place[other] = (np.arange(len(other)) + 0.5) / len(other)
    own[order] = (np.arange(len(order)) + 0.5) / len(order)
    degree = links.sum(axis=1)
    return np.where(degree > 0, links @ place / np.maximum(degree, 1), own)
