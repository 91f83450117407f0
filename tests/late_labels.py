"""A table with numbers, labels that come late, weights of 0, and gaps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def mixed_text() -> str:
    """The whole table, as CSV."""
    return "\n".join(_lines()) + "\n"


def _lines(n: int = 400, seed: int = 3) -> Iterator[str]:
    """The header, then the rows."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = a + rng.normal(size=n)
    c = np.round(b - a + rng.normal(size=n), 1)
    yield "a,b,c,l,m,w"
    for k in range(n):
        label = "xyz"[rng.integers(0, 2 + (k > n // 2))]
        other = ["", "u", "v", "10", "9"][rng.integers(0 if k > n // 3 else 1, 5)]
        number = "" if rng.random() < 0.05 else f"{a[k]:.4g}"
        yield f"{number},{b[k]:.4g},{c[k]},{label},{other},{rng.integers(0, 4)}"
