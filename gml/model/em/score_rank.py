"""How many directions the scores of rows tell apart: the rank of a matrix that comes in blocks.

Its squared singular values are the eigenvalues of sums of products, but a share of 10⁻¹⁶, which is
rounding there, is one of 10⁻⁸ here: rows are kept as the triangle of their QR decomposition.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

# Singular values below this share of the largest are 0.
_NOTHING = 1e-9
# Of a sum of squares whose terms cancel, so much is left by rounding.
_ROUNDING = 1e-24


class ScoreRank:
    """The rank of all scores so far.

    Examples
    --------
    >>> rank = ScoreRank(2)
    >>> rank.add(np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([5.0, 20.0]))
    >>> rank.found()
    1
    """

    def __init__(self, n_directions: int) -> None:
        self._triangle = np.zeros((0, n_directions))
        self._waiting: list[Matrix] = []
        self._sizes = np.zeros(n_directions)

    def add(self, scores: Matrix, sizes: Matrix) -> None:
        """Take in rows; `sizes` are what their sums of squares would be if nothing cancelled."""
        self._waiting.append(scores)
        self._sizes += sizes
        # A decomposition costs the triangle and the rows, so that it waits for some.
        if sum(map(len, self._waiting)) >= len(self._sizes):
            self._decompose()

    def found(self) -> int:
        """The rank."""
        self._decompose()
        told = (self._triangle**2).sum(axis=0) > _ROUNDING * self._sizes
        if not told.any():
            return 0
        kept = self._triangle[:, told]
        singular = np.linalg.svd(kept / np.linalg.norm(kept, axis=0), compute_uv=False)
        return int(np.count_nonzero(singular > _NOTHING * max(1.0, float(singular[0]))))

    def _decompose(self) -> None:
        if self._waiting:
            rows = np.concatenate([self._triangle, *self._waiting])
            self._waiting.clear()
            self._triangle = np.asarray(np.linalg.qr(rows, mode="r"))
