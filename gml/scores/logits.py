"""Multinomial logits: the highest likelihood of labels whose log odds are linear in some columns.

A label y of r levels has P(y = k | x) ∝ exp(βₖ·x) with β₀ = 0. The logarithm of the likelihood is
concave; Newton's steps climb it, each found by conjugate gradients, so that no matrix of all
coefficients is made: a product with the curvature takes rows × levels × columns operations. They
are preconditioned by the curvature in the coefficients of each level alone or, where these have
too many columns, by Böhning's bound (1992, Ann. Inst. Stat. Math. 44:197) of the curvature,
½(I − 11ᵀ/r) ⊗ XᵀWX, whose inverse is 2(I + 11ᵀ) ⊗ (XᵀWX)⁻¹. Rows with the same x are one.

Where columns tell levels apart without error, the maximum is at infinity. So 1e-6·|β|²/2 is taken
off for the steps, and the likelihood is that of the β which is best then: below the supremum by
less than a hundredth of a nat, unless columns are so nearly collinear that only slopes of thousands
would tell levels apart. It is the same however rows are ordered if they come sorted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gml.stopping import check_stopped

Numbers = NDArray[np.float64]

_SHRINKAGE = 1e-6
# A step that promises less than so many nats is the last.
_ENOUGH = 1e-9
_MOST_STEPS = 200
_LEAST_RISE = 1e-4
# Coefficients up to which the curvature of each level is worth its products.
_MOST_BY_LEVEL = 1000
_MOST_HALVINGS = 40


def logit_likelihood(counts: Numbers, design: Numbers) -> float:
    """Return the highest log-likelihood of labels given columns.

    `counts` says how often each level occurs at each row of the `design`.

    Examples
    --------
    >>> counts = np.array([[2.0, 1.0, 1.0]])
    >>> alone = logit_likelihood(counts, np.ones((1, 1)))
    >>> round(alone, 6), round(2 * float(np.log(1 / 2)) + 2 * float(np.log(1 / 4)), 6)
    (-4.158883, -4.158883)
    """
    seen = _Seen(counts, design)
    slopes = np.zeros((counts.shape[1] - 1, design.shape[1]))
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
            if new_height >= height + _LEAST_RISE * length * promise:
                break
            length /= 2
        else:
            break
        slopes, shares, height = tried, new_shares, new_height
    return height + 0.5 * _SHRINKAGE * float((slopes * slopes).sum())


class _Seen:
    """The rows: what the likelihood is at some coefficients, where it rises and how it bends."""

    def __init__(self, counts: Numbers, design: Numbers) -> None:
        self._design = design
        self._counts = counts
        self._weights = counts.sum(axis=1)
        self._reached = counts[:, 1:].T @ design
        self._shrunken = _SHRINKAGE * np.eye(design.shape[1])
        self._by_level = (counts.shape[1] - 1) * design.shape[1] <= _MOST_BY_LEVEL
        if not self._by_level:
            squares = design.T @ (design * self._weights[:, None])
            self._bound = np.linalg.inv(squares / 2 + self._shrunken)

    def at(self, slopes: Numbers) -> tuple[Numbers, float]:
        """The probabilities of the levels but the first, and the shrunken log-likelihood."""
        terms = np.zeros(self._counts.shape)
        terms[:, 1:] = self._design @ slopes.T
        terms -= terms.max(axis=1, keepdims=True)
        reached = (self._counts * terms).sum(axis=1)
        np.exp(terms, out=terms)
        sums = terms.sum(axis=1)
        height = float((reached - self._weights * np.log(sums)).sum())
        shares = terms[:, 1:] / sums[:, None]
        return shares, height - 0.5 * _SHRINKAGE * float((slopes * slopes).sum())

    def gradient(self, shares: Numbers, slopes: Numbers) -> Numbers:
        """Where the likelihood rises."""
        expected: Numbers = (shares * self._weights[:, None]).T @ self._design
        risen: Numbers = self._reached - expected - _SHRINKAGE * slopes
        return risen

    def newton_step(self, shares: Numbers, gradient: Numbers) -> Numbers:
        """Solve curvature · step = gradient by conjugate gradients, closely near the end."""
        conditioned_by = self._conditioning(shares)
        step = np.zeros_like(gradient)
        left = gradient
        conditioned = direction = conditioned_by(left)
        size = float((left * conditioned).sum())
        target = size * min(0.01, size)
        for _ in range(2 * gradient.size + 10):
            if size <= target:
                break
            bent = self._bent(shares, direction)
            along = size / float((direction * bent).sum())
            step += along * direction
            left = left - along * bent
            conditioned = conditioned_by(left)
            before, size = size, float((left * conditioned).sum())
            direction = conditioned + (size / before) * direction
        return step

    def _conditioning(self, shares: Numbers) -> Callable[[Numbers], Numbers]:
        """What solves a system that is near to that of the curvature."""
        if not self._by_level:

            def bounded(vector: Numbers) -> Numbers:
                turned: Numbers = vector @ self._bound
                conditioned: Numbers = turned + turned.sum(axis=0)
                return conditioned

            return bounded
        blocks = np.stack(
            [
                self._design.T @ (self._design * (self._weights * share * (1 - share))[:, None])
                + self._shrunken
                for share in shares.T
            ]
        )
        inverses = np.linalg.inv(blocks)
        return lambda vector: (inverses @ vector[:, :, None])[:, :, 0]

    def _bent(self, shares: Numbers, direction: Numbers) -> Numbers:
        moved = self._design @ direction.T
        moved -= (shares * moved).sum(axis=1)[:, None]
        moved *= shares * self._weights[:, None]
        bent: Numbers = moved.T @ self._design + _SHRINKAGE * direction
        return bent
