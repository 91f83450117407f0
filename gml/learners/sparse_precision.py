"""Sparse inverses of correlation matrices: the penalised maximum likelihood of a precision matrix.

    minimise f(Θ) = −ln det Θ + tr(SΘ) + Σ_ij λ_ij·|Θ_ij|   over positive definite Θ,

the graphical lasso (Yuan & Lin 2007; Banerjee, El Ghaoui & d'Aspremont 2008; Friedman, Hastie &
Tibshirani 2008) with a penalty of its own for every entry: 0 for one that is free, as the diagonal
is here, infinity for one that has to be 0.

1. Columns i and j with |S_ij| ≤ λ_ij are in different blocks unless others join them, and blocks
   are solved on their own: the blocks of the solution are these (Witten, Friedman & Simon 2011;
   Mazumder & Hastie 2012, theorem 1).
2. Within a block, Newton's method with coordinate descent for the steps (QUIC: Hsieh, Sustik,
   Dhillon & Ravikumar 2014, JMLR 15:2911, algorithm 1; the kernel's `precision_step`): a step moves
   the entries that are not 0, or whose slope exceeds the penalty. Steps are halved until the matrix
   is positive definite and f falls by a thousandth of what the slope promises (Armijo).
3. The gap is f(Θ) less the value of a point of the dual problem, maximise ln det W + p over W with
   |W_ij − S_ij| ≤ λ_ij (Banerjee et al. 2008, eq. 4): Θ⁻¹, brought within these bounds. So it
   bounds from above how far f is from its minimum, in nats per row, twice over.

We deviate from QUIC in how accurate steps are (accuracy η = min(0.1, what the conditions of a
minimum are missed by), so that convergence is superlinear); in trying, where coordinate descent is
slow and the minimum near, a step by conjugate gradients among the entries that are not 0, taken if
it changes no sign and halves what the conditions are missed by; and in going on, once the gap is
small enough, until the conditions hold to 10⁻¹¹ or rounding ends that: Θ then has ten digits, not
five. Everything is summed in the order of the columns as given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.kernel.blas import one_blas_thread
from gml.progress import Deadline

Matrix = NDArray[np.float64]

LARGEST_GAP = 1e-9
"""What the gap of a solution is at most, unless rounding or time ended the search before."""
_RESIDUAL = 1e-11
_MOST_STEPS = 200
_MOST_SWEEPS = 500
# From so many sweeps on, and so near to a minimum, conjugate gradients are tried first.
_MANY_SWEEPS = 30
_NEAR = 1e-2
_MOST_CONJUGATE = 200
_HALVINGS = 40
_ARMIJO = 1e-3
# Steps that may go by without halving the residual, once the gap is small enough.
_PATIENCE = 2
# Below this share of f, differences of f are rounding.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class SparsePrecision:
    """A precision matrix, its inverse, and how near to the minimum it is."""

    precision: Matrix
    covariance: Matrix
    log_determinant: float
    gap: float
    """The objective is at most this far above its minimum."""
    residual: float
    """By how much the conditions of a minimum are missed at most, in units of S."""
    steps: int
    blocks: int
    is_wanted: bool = True
    """Whether time sufficed."""


def sparse_precision(
    matrix: Matrix,
    penalties: Matrix,
    *,
    start: Matrix | None = None,
    deadline: Deadline | None = None,
) -> SparsePrecision:
    """Find the sparse inverse of a positive semidefinite matrix with a diagonal of ones.

    Parameters
    ----------
    matrix, penalties : array
        S and λ, symmetric; where S is singular, penalties must be positive off the diagonal.
    start : array, optional
        A positive definite matrix to begin with: the solution for other penalties.
    deadline : Deadline, optional
        When to give up; the solution then says so, and is not one.

    Examples
    --------
    >>> s = np.array([[1.0, 0.5, 0.1], [0.5, 1.0, 0.0], [0.1, 0.0, 1.0]])
    >>> found = sparse_precision(s, 0.2 * (1 - np.eye(3)))
    >>> np.round(found.precision, 4).tolist()
    [[1.0989, -0.3297, 0.0], [-0.3297, 1.0989, 0.0], [0.0, 0.0, 1.0]]
    >>> found.blocks
    2
    """
    deadline = deadline or Deadline()
    diagonal = np.diagonal(matrix) + np.diagonal(penalties)
    precision, covariance = np.diag(1 / diagonal), np.diag(diagonal)
    log_determinant = -math.fsum(np.log(diagonal).tolist())
    gap, residual, steps, n_blocks = 0.0, 0.0, 0, 0
    is_wanted = True
    with one_blas_thread():
        for members in blocks(np.abs(matrix) > penalties):
            n_blocks += 1
            if len(members) == 1:
                continue
            part = np.ix_(members, members)
            search = _Newton(
                np.ascontiguousarray(matrix[part]),
                np.ascontiguousarray(penalties[part]),
                np.diag(1 / diagonal[members]) if start is None else start[part].copy(),
            )
            is_wanted = search.run(deadline)
            precision[part], covariance[part] = search.precision, search.covariance
            log_determinant += search.log_determinant + math.fsum(
                np.log(diagonal[members]).tolist()
            )
            gap, residual = gap + search.gap, max(residual, search.residual)
            steps += search.steps
            if not is_wanted:
                break
    return SparsePrecision(
        precision, covariance, log_determinant, gap, residual, steps, n_blocks, is_wanted
    )


def blocks(joined: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
    """Yield the connected components of a graph, each in order, by their first members.

    Examples
    --------
    >>> joined = np.zeros((4, 4), dtype=bool)
    >>> joined[0, 2] = joined[2, 0] = True
    >>> [members.tolist() for members in blocks(joined)]
    [[0, 2], [1], [3]]
    """
    seen = np.zeros(len(joined), dtype=bool)
    for first in range(len(joined)):
        if seen[first]:
            continue
        members = np.zeros(len(joined), dtype=bool)
        members[first] = True
        front = np.array([first])
        while len(front):
            reached = joined[front].any(axis=0) & ~members
            members |= reached
            front = np.flatnonzero(reached)
        seen |= members
        yield np.flatnonzero(members)


class _Newton:
    """Newton's method on one block."""

    def __init__(self, matrix: Matrix, penalties: Matrix, start: Matrix) -> None:
        self._s = matrix
        self._is_free = np.isfinite(penalties)
        self._bounds = penalties
        self._penalties = np.where(self._is_free, penalties, 0.0)
        self.precision = np.where(self._is_free, start, 0.0)
        factor = _factor(self.precision)
        if factor is None:
            # Entries that have to be 0 now may have made the start what it was.
            self.precision = np.diag(1 / (np.diagonal(matrix) + np.diagonal(self._penalties)))
            factor = np.sqrt(self.precision)
        self._moved_to(self.precision, factor)
        self.steps, self._sweeps = 0, 0
        self.gap, self.residual = math.inf, math.inf

    def _moved_to(self, precision: Matrix, factor: Matrix) -> None:
        self.precision = precision
        inverse = np.linalg.inv(precision)
        self.covariance = (inverse + inverse.T) / 2
        self.log_determinant = _log_determinant(factor)
        self._value = self._objective(precision, self.log_determinant)

    def _objective(self, precision: Matrix, log_determinant: float) -> float:
        smooth = float(np.sum(self._s * precision)) - log_determinant
        return smooth + float(np.sum(self._penalties * np.abs(precision)))

    def run(self, deadline: Deadline) -> bool:
        """Go on until the conditions of a minimum hold; returns whether there was time for it."""
        best, waited = math.inf, 0
        while True:
            gradient = self._s - self.covariance
            self.residual = self._missed_by(gradient)
            self.gap = self._gap()
            if self.residual <= _RESIDUAL and self.gap <= LARGEST_GAP:
                return True
            waited = 0 if self.residual < best / 2 else waited + 1
            best = min(best, self.residual)
            if self.steps == _MOST_STEPS or (self.gap <= LARGEST_GAP and waited > _PATIENCE):
                return True
            if deadline.passed:
                return False
            if not (self._polished(gradient) or self._step(gradient)):
                return True

    def _missed_by(self, gradient: Matrix) -> float:
        """The largest distance of 0 from the subgradient."""
        is_zero = self.precision == 0
        at_zero = np.maximum(np.abs(gradient) - self._penalties, 0.0)
        beyond = np.abs(gradient + self._penalties * np.sign(self.precision))
        return float(np.max(np.where(is_zero, at_zero, beyond) * self._is_free))

    def _gap(self) -> float:
        """How far the objective is above a value of the dual problem; infinite without one."""
        inside = np.clip(self.covariance, self._s - self._bounds, self._s + self._bounds)
        factor = _factor(inside)
        if factor is None:
            return math.inf
        return max(0.0, self._value - _log_determinant(factor) - len(inside))

    def _polished(self, gradient: Matrix) -> bool:
        """Take a Newton step without changes of sign, where coordinate descent is slow."""
        if self._sweeps < _MANY_SWEEPS or self.residual > _NEAR:
            return False
        is_there = self.precision != 0
        slope = (gradient + self._penalties * np.sign(self.precision)) * is_there
        there = self.precision + self._conjugate_step(slope, is_there)
        factor = _factor(there)
        if factor is None or not np.array_equal(np.sign(there), np.sign(self.precision)):
            return False
        before = (self.precision, self.covariance, self.log_determinant, self._value)
        self._moved_to(there, factor)
        if self._missed_by(self._s - self.covariance) < self.residual / 2:
            self.steps += 1
            return True
        self.precision, self.covariance, self.log_determinant, self._value = before
        return False

    def _conjugate_step(self, slope: Matrix, is_there: NDArray[np.bool_]) -> Matrix:
        """Solve W·D·W = −slope in some entries by conjugate gradients; Θ·R·Θ conditions them."""
        step, left = np.zeros_like(slope), -slope
        scaled = is_there * (self.precision @ left @ self.precision)
        direction, length = scaled, float(np.sum(left * scaled))
        for _ in range(_MOST_CONJUGATE):
            if float(np.abs(left).max()) <= _RESIDUAL / 10 or length <= 0:
                break
            image = is_there * (self.covariance @ direction @ self.covariance)
            far = length / float(np.sum(direction * image))
            step, left = step + far * direction, left - far * image
            scaled = is_there * (self.precision @ left @ self.precision)
            before, length = length, float(np.sum(left * scaled))
            direction = scaled + length / before * direction
        return (step + step.T) / 2

    def _step(self, gradient: Matrix) -> bool:
        """Take a step; False if there is none that helps."""
        moving = (self.precision != 0) | (np.abs(gradient) > self._penalties)
        rows, columns = np.nonzero(np.triu(moving & self._is_free))
        starts = np.searchsorted(rows, np.arange(len(gradient) + 1)).astype(np.int64)
        step, self._sweeps = kernel.active().precision_step(
            gradient,
            self.covariance,
            self.precision,
            self._penalties,
            starts,
            columns.astype(np.int32),
            min(0.1, self.residual),
            _MOST_SWEEPS,
        )
        self.steps += 1
        moved = np.abs(self.precision + step) - np.abs(self.precision)
        slope = float(np.sum(gradient * step)) + float(np.sum(self._penalties * moved))
        rounding = _ROUNDING * (abs(self._value) + len(gradient))
        share = 1.0
        for _ in range(_HALVINGS):
            there = self.precision + share * step
            factor = _factor(there)
            if factor is not None:
                value = self._objective(there, _log_determinant(factor))
                if value <= self._value + _ARMIJO * share * slope or (
                    abs(slope) <= rounding and value <= self._value + rounding
                ):
                    self._moved_to(there, factor)
                    return True
            share /= 2
        return False


def _factor(matrix: Matrix) -> Matrix | None:
    try:
        found: Matrix = np.linalg.cholesky(matrix).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return None
    return found


def _log_determinant(factor: Matrix) -> float:
    return 2 * float(np.sum(np.log(np.diagonal(factor))))
