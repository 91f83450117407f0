"""The rows of a test that needs rows, in an order that their contents alone decide.

Rows that lack a value of x, y or Z are left out, and a row of weight w is there w times. The rest
is sorted by x, then y, then Z (x and y, and the members of Z, in the order of their names), so that
neither the order of rows nor that of columns changes a bit of what is summed up over them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, missing_mask
from gml.errors import CannotAnswer
from gml.resources import require_memory

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class RowColumn:
    """One column of the rows of a test: numbers, or codes 0, 1, … of the labels that occur."""

    numbers: Numbers | None
    codes: NDArray[np.int64] | None

    @functools.cached_property
    def n_labels(self) -> int:
        """How many labels occur; 0 for numbers."""
        return 0 if self.codes is None else int(self.codes.max(initial=-1)) + 1

    @functools.cached_property
    def varies(self) -> bool:
        """Whether there are two different values."""
        if self.numbers is None:
            return self.n_labels > 1
        return bool(len(self.numbers)) and bool(self.numbers.min() < self.numbers.max())

    @functools.cached_property
    def exponent(self) -> int:
        """Numbers are taken in units of this power of 2, so that no square overflows."""
        if self.numbers is None or not len(self.numbers):
            return 0
        return math.frexp(float(np.abs(self.numbers).max()))[1]

    @functools.cached_property
    def scaled(self) -> Numbers:
        """The numbers in these units."""
        assert self.numbers is not None
        return np.ldexp(self.numbers, -self.exponent)

    def indicators(self) -> Numbers:
        """A row of 0 and 1 for each label."""
        assert self.codes is not None
        found: Numbers = (self.codes == np.arange(self.n_labels)[:, None]).astype(np.float64)
        return found

    def standardised(self) -> Numbers:
        """Rows of mean 0 and of variances that add up to 1.

        Numbers are one row; labels are their indicators, over the root of 1 − Σp²: half the mean
        squared distance of two rows is 1 for both.
        """
        if self.numbers is None:
            points = self.indicators()
            shares = points.mean(axis=1)
            points -= shares[:, None]
            return np.asarray(points / math.sqrt(1.0 - float(shares @ shares)))
        centred = self.scaled - self.scaled.mean()
        spread = math.sqrt(float(centred @ centred) / len(centred))
        return np.asarray(centred / spread)[None, :]


def columns_of_test(data: Dataset, members: Sequence[int], what: str) -> list[RowColumn]:
    """Return columns over the sorted rows that are complete in all of them.

    Examples
    --------
    >>> import gml, pandas as pd
    >>> frame = pd.DataFrame({"A": ["x", "y", "x"], "B": [1.5, 0.5, None]})
    >>> data = gml.Dataset.from_frame(frame, numeric=["B"], missing="available")
    >>> b, a = columns_of_test(data, [1, 0], "this")
    >>> b.numbers.tolist(), a.codes.tolist()
    ([0.5, 1.5], [1, 0])
    """
    if data.unit != 1:
        raise CannotAnswer(
            f"{what} looks at whole rows, and the weights are fractions; use whole numbers"
        )
    columns: list[NDArray[Any]] = [data.columns[j] for j in members]
    keep = ~np.any([missing_mask(column) for column in columns], axis=0)
    if data.weights is not None:
        keep &= data.weights > 0
    columns = [column[keep] for column in columns]
    order = np.lexsort(columns[::-1])
    if data.weights is not None:
        times = data.weights[keep][order]
        require_memory(8 * int(times.sum()) * (len(members) + 1), None, f"the rows of {what}")
        order = np.repeat(order, times)
    return [_column(column[order]) for column in columns]


def _column(values: NDArray[Any]) -> RowColumn:
    if values.dtype.kind == "f":
        # Adding 0 makes -0 a 0.
        return RowColumn(values + 0.0, None)
    return RowColumn(None, np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64))
