"""Sets of nodes as the bits of an integer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray


def bits_of(nodes: Iterable[int]) -> int:
    """Return the set of some nodes.

    Examples
    --------
    >>> bits_of([0, 3]), list(members(9)), lowest(8)
    (9, [0, 3], 3)
    """
    bits = 0
    for node in nodes:
        bits |= 1 << node
    return bits


def lowest(bits: int) -> int:
    """Return the first node of a set that is not empty."""
    return (bits & -bits).bit_length() - 1


def members(bits: int) -> Iterator[int]:
    """Yield the nodes of a set in ascending order."""
    while bits:
        first = bits & -bits
        yield first.bit_length() - 1
        bits ^= first


def positions(bits: int, n: int) -> NDArray[np.int64]:
    """Return the nodes of a set, all below n, in ascending order.

    Examples
    --------
    >>> positions(0b1101, 8).tolist()
    [0, 2, 3]
    """
    some = np.frombuffer(bits.to_bytes((n + 7) // 8, "little"), dtype=np.uint8)
    found: NDArray[np.int64] = np.unpackbits(some, bitorder="little").nonzero()[0]
    return found


def sets_in_columns(matrix: NDArray[np.bool_]) -> list[int]:
    """Return, for each column of a matrix, the set of the rows that are true in it.

    Examples
    --------
    >>> sets_in_columns(np.array([[True, False], [False, False], [True, True]]))
    [5, 4]
    """
    packed = np.packbits(matrix.T, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]
