"""Keys of random numbers: of a seed and of names, so that the order of columns changes none."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def keys_of_names(names: Sequence[str], seed: int, purpose: str) -> NDArray[np.uint64]:
    """Return a key for each name, of two numbers.

    Examples
    --------
    >>> both, other = keys_of_names(["a", "b"], 0, "value"), keys_of_names(["b"], 0, "value")
    >>> (both[1] == other[0]).all().item()
    True
    """
    keys = [_key([str(seed), purpose, name]) for name in names]
    return np.array(keys, dtype=np.uint64).reshape(-1, 2)


def joint_key(names: Sequence[str], seed: int, *numbers: int) -> tuple[int, int]:
    """Return one key for names together, and for some numbers beside the seed.

    Examples
    --------
    >>> joint_key(["a", "bc"], 0) == joint_key(["ab", "c"], 0)
    False
    """
    # Lengths keep ("a", "bc") and ("ab", "c") apart.
    return _key([str(seed), *map(str, numbers), *(f"{len(name)}:{name}" for name in names)])


def _key(parts: Sequence[str]) -> tuple[int, int]:
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")
