"""Plans of ancestral sampling: which column is drawn given which others, and in what order.

A plan knows nothing about networks: its steps may be the tables of a Bayesian network, or those of
its posterior given evidence, which has other parents. The cell of a row and a column is drawn from
64 random bits that depend only on the row and the column's key, so any rows can be drawn anywhere
and are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

CERTAIN = 1 << 63
"""The threshold that all 63 bits are below."""


@dataclass(frozen=True)
class TableStep:
    """Draw a level of `target` given the levels of `parents`.

    `table` has one row per configuration of the parents, the last one varying fastest, and one
    column per level. A row of zeros stands for a configuration that never occurs.
    """

    target: int
    parents: tuple[int, ...]
    table: NDArray[np.float64]


@dataclass(frozen=True)
class GaussianStep:
    """Draw target = intercept + Σ coefficients · parents + sd · a standard normal error."""

    target: int
    parents: tuple[int, ...]
    intercept: float
    coefficients: tuple[float, ...]
    sd: float


@dataclass(frozen=True)
class TablePlan:
    """Steps that fill columns of codes; `fixed` has the codes of the columns that were observed.

    `keys` has one row of two 64-bit numbers per column.
    """

    n_levels: tuple[int, ...]
    steps: tuple[TableStep, ...]
    keys: NDArray[np.uint64]
    fixed: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _require_order(len(self.n_levels), self.steps, self.fixed, self.keys)
        for step in self.steps:
            rows = 1
            for parent in step.parents:
                rows *= self.n_levels[parent]
            if step.table.shape != (rows, self.n_levels[step.target]):
                raise ValueError(f"the table of column {step.target} has another shape")
        if any(not 0 <= code < self.n_levels[column] for column, code in self.fixed.items()):
            raise ValueError("a column is fixed at a level that it does not have")


@dataclass(frozen=True)
class GaussianPlan:
    """Steps that fill columns of numbers; `fixed` has the values of those that were observed."""

    n_columns: int
    steps: tuple[GaussianStep, ...]
    keys: NDArray[np.uint64]
    fixed: Mapping[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _require_order(self.n_columns, self.steps, self.fixed, self.keys)


def _require_order(
    n_columns: int,
    steps: Sequence[TableStep | GaussianStep],
    fixed: Mapping[int, float],
    keys: NDArray[np.uint64],
) -> None:
    """Check that each column is set once, after its parents."""
    known = set(fixed)
    for step in steps:
        if step.target in known or not known.issuperset(step.parents):
            raise ValueError(f"column {step.target} is drawn twice, or before a parent of it")
        known.add(step.target)
    if known != set(range(n_columns)) or keys.shape != (n_columns, 2):
        raise ValueError("the plan is not for each column")


def threshold(probability: float) -> int:
    """Return the number that 63 random bits are below with this probability."""
    return round(probability * 2.0**63)


def thresholds(table: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return, for each row of a table, where its levels end, except the last level.

    Adding a 0 changes no sum, so that a level of probability 0 ends where it begins and is never
    drawn; the last level above 0 ends at exactly 2⁶³, whatever rounding did to the sum.

    Examples
    --------
    >>> thresholds(np.array([[0.0, 0.5, 0.5, 0.0]])) >> np.uint64(61)
    array([[0, 2, 4]], dtype=uint64)
    """
    ends = np.cumsum(table, axis=1)
    totals = ends[:, -1:]
    shares = np.divide(ends, totals, out=np.ones_like(ends), where=totals > 0)
    return np.ascontiguousarray(np.rint(shares[:, :-1] * 2.0**63).astype(np.uint64))
