"""The group lasso: l1 times the lengths of groups of coefficients (Yuan & Lin 2006).

At a minimum of a smooth function plus the lengths, the gradient within a group that is 0 is no
longer than l1, and that within any other is l1 times the opposite of the group's direction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.model.undirected.coefficients import Coefficients, Vector


@dataclass(frozen=True)
class Groups:
    """l1, and the group of each variable; a negative number is no group."""

    l1: float
    of: NDArray[np.int64]

    @classmethod
    def of_terms(cls, coefficients: Coefficients, l1: float) -> Groups:
        """Return a group per term of several variables: its length is the term's strength."""
        return cls(l1, np.where(coefficients.is_joint, coefficients.group, -1))

    def lengths(self, point: Vector) -> Vector:
        """Return the length of each group."""
        inside = self.of >= 0
        n_groups = int(self.of.max(initial=-1)) + 1
        squares = np.bincount(self.of[inside], weights=point[inside] ** 2, minlength=n_groups)
        found: Vector = np.sqrt(squares)
        return found

    def spread(self, values: Vector, outside: float) -> Vector:
        """Return the value of each variable's group, and `outside` for those in none."""
        return np.where(self.of >= 0, np.append(values, outside)[self.of], outside)

    def shrunk(self, point: Vector, step: float) -> Vector:
        """Take `step` times l1 off the length of each group, or set it to 0."""
        lengths = self.lengths(point)
        safe = np.where(lengths > 0, lengths, 1.0)
        return point * self.spread(np.maximum(0.0, 1 - step * self.l1 / safe), 1.0)

    def penalty(self, point: Vector) -> float:
        """Return l1 times the sum of the lengths."""
        return self.l1 * float(self.lengths(point).sum())

    def pull(self, point: Vector) -> Vector:
        """Return the derivative of the penalty, 0 in groups that are 0."""
        lengths = self.spread(self.lengths(point), np.inf)
        return self.l1 * point / np.where(lengths > 0, lengths, 1.0)

    def is_zero(self, point: Vector) -> NDArray[np.bool_]:
        """Return which variables are in groups that are 0."""
        found: NDArray[np.bool_] = self.spread(self.lengths(point), 1.0) == 0
        return found

    def residual(self, point: Vector, gradient: Vector) -> float:
        """How far the conditions of a minimum are from holding."""
        zero = self.is_zero(point)
        found = float(np.abs((gradient + self.pull(point))[~zero]).max(initial=0.0))
        pulled = self.lengths(np.where(zero, gradient, 0.0))
        return max(found, float((pulled - self.l1).max(initial=0.0)))
