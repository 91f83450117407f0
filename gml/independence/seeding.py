"""Random numbers of a test: a function of the seed and the names of what is tested."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def test_key(seed: int, names: Sequence[str]) -> tuple[int, int]:
    """Return a key of 128 bits.

    Examples
    --------
    >>> test_key(0, ["a", "bc"]) == test_key(0, ["ab", "c"])
    False
    """
    # Lengths keep ("a", "bc") and ("ab", "c") apart.
    parts = [str(seed), *(f"{len(name)}:{name}" for name in names)]
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")
