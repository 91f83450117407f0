"""How far moments are from those observed, how far they may be by chance, and averages of steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.model.undirected.coefficients import Coefficients, Vector
from gml.model.undirected.groups import Groups

_SIGNIFICANCE = 0.05


@dataclass(frozen=True)
class MomentCheck:
    """The moments at fixed parameters: what is left of the gradient, and its errors."""

    residual: Vector
    errors: Vector
    """Monte Carlo errors; 0 where the moments are exact."""
    difference: Vector
    """Observed less expected moments."""
    allowed: Vector
    """How large a gap and its error may be together."""
    agree: bool = True
    """Whether chains that began elsewhere have the same moments."""

    def passes(self) -> bool:
        """Whether chains agree, and every gap is small, for all that chance may hide."""
        return self.agree and not self._too_large()

    def fails_surely(self) -> bool:
        """Whether some gap is too large, whatever chance may have added."""
        bound = bonferroni_bound(len(self.residual), None)
        return bool((np.abs(self.residual) - bound * self.errors > self.allowed).any())

    def _too_large(self) -> int:
        return int((np.abs(self.residual) + self.errors > self.allowed + 1e-12).sum())

    def said(self) -> str:
        """Say how large the largest gap is, and how many are too large."""
        if not len(self.residual):
            return "there are no moments to match"
        worst = int(np.argmax((np.abs(self.residual) + self.errors) / self.allowed))
        said = (
            f"the largest gap of a moment is {abs(self.residual[worst]):.2g} ± "
            f"{self.errors[worst]:.2g}, where {self.allowed[worst]:.2g} would be small beside the "
            f"error of the data; {self._too_large()} of {len(self.residual)} gaps are too large"
        )
        return said if self.agree else f"{said}; chains that began elsewhere have not met"


@dataclass
class Part:
    """The sum of the parameters after some steps, and how often they were 0."""

    total: Vector
    zeros: Vector
    n_steps: int = 0

    @classmethod
    def of(cls, vector: Vector) -> Part:
        """Begin with none, of vectors like this one."""
        return cls(np.zeros_like(vector), np.zeros_like(vector))

    def add(self, vector: Vector) -> None:
        """Count one more step."""
        self.total += vector
        self.zeros += vector == 0
        self.n_steps += 1


class Average:
    """Parameters averaged over the later half of the parts."""

    def __init__(self, start: Vector) -> None:
        self._start = start
        self.parts: list[Part] = []

    @property
    def _later(self) -> list[Part]:
        return self.parts[len(self.parts) // 2 :]

    @property
    def n_steps(self) -> int:
        """How many steps the average is over."""
        return sum(part.n_steps for part in self._later)

    def point(self, groups: Groups) -> Vector:
        """Return the average; groups that l1 held at 0 in most of the steps are 0."""
        if not self.parts:
            return self._start
        later = self._later
        zeros = sum((part.zeros for part in later), np.zeros_like(self._start))
        total = sum((part.total for part in later), np.zeros_like(self._start))
        is_zero = (groups.of >= 0) & (zeros > self.n_steps / 2) & (groups.l1 > 0)
        return np.where(is_zero, 0.0, total / self.n_steps)


def bonferroni_bound(n_moments: int, n_groups: int | None) -> float:
    """The quantile of Student's t for all moments at once, by its expansion about the normal.

    That of the normal itself if there are no groups, whose number its error would depend on.
    """
    p = np.array([1 - _SIGNIFICANCE / (2 * max(1, n_moments))])
    z = float(kernel.active().normal_quantile(p)[0])
    if n_groups is None:
        return z
    df = n_groups - 1
    return z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)


def largest_eigenvalue(samples: Sequence[NDArray[np.float64]]) -> float:
    """About the largest eigenvalue of correlations, less what few samples add to it."""
    n = sum(map(len, samples))
    size = samples[0].shape[1]
    vector = np.ones(size) / math.sqrt(size)
    value = 1.0
    for _ in range(30):
        moved = sum((part.T @ (part @ vector) for part in samples), np.zeros(size)) / n
        value = float(np.linalg.norm(moved))
        if value == 0:
            return 1.0
        vector = moved / value
    noise = size / n
    # Without correlations the value would be (1 + √noise)² (Marchenko & Pastur 1967).
    without: float = max(value / (1 + math.sqrt(noise)) ** 2, value - 2 * noise - 1)
    return max(1.0, without)


def largest_margin_gap(coefficients: Coefficients, difference: Vector) -> float:
    """The largest difference of a cell of a generator's margin, from those of moments."""
    terms = coefficients.terms
    tables = dict(zip(terms.all, coefficients.tables(difference), strict=True))
    largest = 0.0
    for generator in terms.generators:
        total = np.zeros(terms.shape(generator))
        for size in range(1, len(generator) + 1):
            for scope in combinations(generator, size):
                total += tables[scope].reshape(
                    [terms.sizes[k] if k in scope else 1 for k in generator]
                )
        largest = max(largest, float(np.abs(total).max(initial=0.0)) / total.size)
    return largest
