"""What a model keeps of the rows that it was fitted on, beside its tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.number_summary import NumberSummary


@dataclass(frozen=True)
class Repeats:
    """How many different rows (or values) occur how often: f_k by k, in the order of k.

    Examples
    --------
    >>> found = Repeats.of(np.array([1, 3, 1]))
    >>> dict(found.multiplicities), found.n, found.distinct, found.common_factor
    ({1: 2, 3: 1}, 5, 3, 1)
    """

    multiplicities: Mapping[int, int]

    @classmethod
    def of(cls, counts: NDArray[np.int64]) -> Repeats:
        """Take how often each row occurs; those that never do are left out."""
        times, rows = np.unique(counts[counts > 0], return_counts=True)
        return cls(dict(zip(times.tolist(), rows.tolist(), strict=True)))

    @property
    def n(self) -> int:
        """The number of rows."""
        return sum(times * rows for times, rows in self.multiplicities.items())

    @property
    def distinct(self) -> int:
        """The number of different rows."""
        return sum(self.multiplicities.values())

    @property
    def common_factor(self) -> int:
        """The largest number that divides every multiplicity; 0 without rows."""
        return math.gcd(*self.multiplicities)

    def divided(self, factor: int) -> Repeats:
        """Return what is left if every row occurs `factor` times less often."""
        return Repeats({times // factor: rows for times, rows in self.multiplicities.items()})

    def written(self) -> dict[str, int]:
        """The repeats as JSON has them."""
        return {str(times): rows for times, rows in self.multiplicities.items()}


@dataclass(frozen=True)
class Training:
    """The numbers of columns that held some, how often rows repeat, and columns that never do.

    `rows` counts rows over all columns of the model, numbers that were cut as their intervals; it
    is None where rows count in part, or were not there. `unique` has the columns of numbers in
    which no value occurred twice.
    """

    numbers: Mapping[str, NumberSummary] = field(default_factory=dict)
    rows: Repeats | None = None
    unique: tuple[str, ...] = ()

    def written(self) -> dict[str, Any]:
        """What the graph of a model file says; the numbers are with their nodes."""
        found: dict[str, Any] = {}
        if self.rows is not None:
            found["repeats"] = self.rows.written()
        if self.unique:
            found["unique"] = list(self.unique)
        return found
