"""Multinomial logits: the highest likelihood of labels whose log odds are linear in some columns.

A label y of r levels has P(y = k | x) ∝ exp(βₖ·x) with β₀ = 0. The logarithm of the likelihood is
concave; Newton's steps climb it, each found by conjugate gradients, so that no matrix of all
coefficients is made: a step takes rows × levels × columns operations, times some ten. They are
preconditioned by Böhning's bound of the curvature (1992, Ann. Inst. Stat. Math. 44:197),
½(I − 11ᵀ/r) ⊗ XᵀWX, whose inverse is 2(I + 11ᵀ) ⊗ (XᵀWX)⁻¹.

Where columns tell levels apart without error, the maximum is at infinity. So 1e-6·|β|²/2 is taken
off for the steps, and the likelihood is that of the β which is best then: below the supremum by no
more than a score could notice, and the same however rows are ordered if they come sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.stopping import check_stopped

Numbers = NDArray[np.float64]

_SHRINKAGE = 1e-6
# A step that promises less than so many nats is the last.
_ENOUGH = 1e-9
_MOST_STEPS = 200
_MOST_HALVINGS = 40


def logit_likelihood(
    codes: NDArray[Any], n_levels: int, design: Numbers, weights: Numbers
) -> float:
    """Return the highest log-likelihood of labels 0, …, n_levels − 1 given columns.

    Examples
    --------
    >>> codes, weights = np.array([0, 0, 1, 2]), np.ones(4)
    >>> alone = logit_likelihood(codes, 3, np.ones((4, 1)), weights)
    >>> round(alone, 6), round(2 * float(np.log(1 / 2)) + 2 * float(np.log(1 / 4)), 6)
    (-4.158883, -4.158883)
    """
    seen = _Seen(codes, n_levels, design, weights)
    slopes = np.zeros((n_levels - 1, design.shape[1]))
    shares, height = seen.at(slopes)
    for _ in range(_MOST_STEPS):
        check_stopped()
        gradient = seen.gradient(shares, slopes)
        step = seen.newton_step(shares, gradient)
        promise = float((gradient * step).sum())
        if promise < _ENOUGH:
            break
        length = 1.0
        for _ in range(_MOST_HALVINGS):
            tried = slopes + length * step
            new_shares, new_height = seen.at(tried)
            if new_height >= height + 1e-4 * length * promise:
                break
            length /= 2
        else:
            break
        slopes, shares, height = tried, new_shares, new_height
    return height + 0.5 * _SHRINKAGE * float((slopes * slopes).sum())


class _Seen:
    """The rows: what the likelihood is at some coefficients, where it rises and how it bends."""

    def __init__(
        self, codes: NDArray[Any], n_levels: int, design: Numbers, weights: Numbers
    ) -> None:
        self._design = design
        self._weights = weights
        self._codes = codes.astype(np.intp)
        self._rows = np.arange(len(codes))
        is_level = self._codes[:, None] == np.arange(1, n_levels)
        self._reached = (is_level * weights[:, None]).T @ design
        squares = design.T @ (design * weights[:, None])
        self._bound = np.linalg.inv(squares / 2 + _SHRINKAGE * np.eye(len(squares)))

    def at(self, slopes: Numbers) -> tuple[Numbers, float]:
        """The probabilities of the levels but the first, and the shrunken log-likelihood."""
        terms = np.zeros((len(self._rows), len(slopes) + 1))
        np.matmul(self._design, slopes.T, out=terms[:, 1:])
        terms -= terms.max(axis=1, keepdims=True)
        own = terms[self._rows, self._codes]
        np.exp(terms, out=terms)
        sums = terms.sum(axis=1)
        height = float((self._weights * (own - np.log(sums))).sum())
        shares = terms[:, 1:] / sums[:, None]
        return shares, height - 0.5 * _SHRINKAGE * float((slopes * slopes).sum())

    def gradient(self, shares: Numbers, slopes: Numbers) -> Numbers:
        """Where the likelihood rises."""
        expected: Numbers = (shares * self._weights[:, None]).T @ self._design
        risen: Numbers = self._reached - expected - _SHRINKAGE * slopes
        return risen

    def newton_step(self, shares: Numbers, gradient: Numbers) -> Numbers:
        """Solve curvature · step = gradient by conjugate gradients, closely near the end."""
        step = np.zeros_like(gradient)
        left = gradient.copy()
        conditioned = self._conditioned(left)
        direction = conditioned
        size = first = float((left * conditioned).sum())
        target = first * min(0.01, first)
        for _ in range(2 * gradient.size + 10):
            if size <= target or size <= 0:
                break
            bent = self._bent(shares, direction)
            along = size / float((direction * bent).sum())
            step += along * direction
            left = left - along * bent
            conditioned = self._conditioned(left)
            before, size = size, float((left * conditioned).sum())
            direction = conditioned + (size / before) * direction
        return step

    def _conditioned(self, vector: Numbers) -> Numbers:
        turned: Numbers = vector @ self._bound
        conditioned: Numbers = turned + turned.sum(axis=0)
        return conditioned

    def _bent(self, shares: Numbers, direction: Numbers) -> Numbers:
        moved = self._design @ direction.T
        moved -= (shares * moved).sum(axis=1)[:, None]
        moved *= shares * self._weights[:, None]
        bent: Numbers = moved.T @ self._design + _SHRINKAGE * direction
        return bent
