"""What a model keeps of the rows that it was fitted on, beside its tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter
from gml.data.dataset import Dataset
from gml.data.number_summary import NumberSummary, NumberValues
from gml.data.row_groups import equal_rows, joined_rows, multiplicities
from gml.errors import CannotAnswer
from gml.progress import reporter

# Rows count as delivered several times if that would be an accident with this probability at most.
_NO_ACCIDENT = math.log(1e-6)


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
    def of(cls, counts: NDArray[np.signedinteger[Any]]) -> Repeats:
        """Take how often each row occurs; those that never do are left out."""
        return cls(multiplicities(counts))

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

    @property
    def log_accident(self) -> float:
        """ln of the most that a common factor above 1 is probable by accident.

        A multiplicity is even with a probability below ½, whatever its mean, and a multiple of a
        larger prime more rarely still; the total of all is given.
        """
        return min(0.0, -(self.distinct - 2) * math.log(2))

    @property
    def is_no_accident(self) -> bool:
        """Whether a common factor above 1 says that the rows were delivered several times."""
        return self.log_accident <= _NO_ACCIDENT

    def written(self) -> dict[str, int]:
        """The repeats as JSON has them."""
        return {str(times): rows for times, rows in self.multiplicities.items()}


@dataclass(frozen=True)
class Training:
    """The numbers of columns that held some, and how often rows repeat.

    `rows` counts rows over all columns of the model, numbers that were cut as their intervals; it
    is None where rows count in part, or were not there. `uncut_rows` counts them with the numbers
    as they are, missing values included, where columns were cut when the rows were read.
    """

    numbers: Mapping[str, NumberSummary] = field(default_factory=dict)
    rows: Repeats | None = None
    uncut_rows: Repeats | None = None

    @property
    def unique(self) -> tuple[str, ...]:
        """The columns of numbers in which no value occurred twice."""
        return tuple(name for name, found in self.numbers.items() if found.is_unique)

    def written(self) -> dict[str, Any]:
        """What the graph of a model file says; the numbers are with their nodes."""
        kept = {"repeats": self.rows, "uncut_repeats": self.uncut_rows}
        return {key: found.written() for key, found in kept.items() if found is not None}


def training_of(rows: Dataset | None) -> Training | None:
    """Return what to keep of the rows that a model was fitted on; None where rows do not count 1.

    Examples
    --------
    >>> import gml
    >>> kept = training_of(gml.read("sample_data/admissions.csv", cut={"Freq": "100,300"}))
    >>> kept.numbers["Freq"].largest, kept.unique, kept.rows.n
    (512.0, (), 24)
    """
    if rows is None or rows.unit != 1 or rows.n == 0:
        return None
    numbers = {name: found.summary() for name, found in _each_in(rows)}
    uncut = None if rows.origin is None else rows.origin.repeats
    return Training(numbers, _repeats(rows, numbers), None if uncut is None else Repeats(uncut))


def training_behind(counter: Counter) -> Training | None:
    """Return the same for the rows behind an engine, which need not be in memory.

    Where even the different numbers of a column take too much of it, there is nothing to keep.
    """
    rows = counter.rows()
    if rows is not None or counter.n == 0:
        return training_of(rows)
    if counter.unit != 1:
        return None
    try:
        repeats = counter.row_repeats()
        if repeats is None:
            return None
        numbers = {name: found.summary() for name, found in counter.number_values().items()}
        uncut = counter.uncut_repeats()
    except CannotAnswer as refused:
        reporter().warn(
            f"{refused}; so the model keeps nothing of its numbers and repeated rows, which checks "
            "would compare"
        )
        return None
    return Training(numbers, Repeats(repeats), None if uncut is None else Repeats(uncut))


def _repeats(rows: Dataset, numbers: Mapping[str, NumberSummary]) -> Repeats:
    """How often rows repeat: none does if all values of a column of numbers differ."""
    tells_apart = any(
        variable.is_continuous
        and variable.name in numbers
        and numbers[variable.name].distinct == rows.n_rows
        for variable in rows.variables
    )
    if tells_apart and rows.weights is None:
        return Repeats({1: rows.n_rows})
    is_of_labels = not any(variable.is_continuous for variable in rows.variables)
    return Repeats.of(equal_rows(joined_rows(rows) if is_of_labels else rows).counts)


def numbers_in(rows: Dataset) -> dict[str, NumberValues]:
    """The values of columns that hold numbers, or held some before they were cut."""
    return dict(_each_in(rows))


def _each_in(rows: Dataset) -> Iterator[tuple[str, NumberValues]]:
    """The same one by one, as a column may have as many values as rows."""
    for variable, column in zip(rows.variables, rows.columns, strict=True):
        found: NumberValues | None = None
        if variable.is_continuous:
            found = NumberValues.of(column, rows.weights)
        elif rows.origin is not None:
            found = rows.origin.numbers.get(variable.name)
        if found is not None and len(found.values):
            yield variable.name, found
