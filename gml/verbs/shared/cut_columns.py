"""Columns that a model cut into intervals, and the numbers that fill their missing cells.

A cell of such a column is filled with the median of the numbers in its interval, or with one drawn
from them, by what the model keeps of them (`gml.model.interval_numbers`). A column whose cells are
intervals already is filled with intervals, as is one of whose numbers the model keeps nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.discretize import cuts_of_levels
from gml.data.name_keys import keys_of_names
from gml.errors import listing, parameter
from gml.kernel.reference.random import random_uniform
from gml.model.bayesnet import BayesNet
from gml.model.interval_numbers import IntervalNumbers
from gml.progress import reporter


class CutColumns:
    """Which columns are filled with numbers, and where these lie; `seed` is that of draws."""

    def __init__(self, net: BayesNet, names: Sequence[str], *, seed: int | None) -> None:
        kept = {} if net.training is None else net.training.numbers
        self._names = names
        self._levels: dict[int, frozenset[str]] = {}
        self._numbers: dict[int, IntervalNumbers] = {}
        for k, name in enumerate(names):
            levels = net.variables[net.index(name)].levels
            if levels is None or cuts_of_levels(levels) is None:
                continue
            self._levels[k] = frozenset(levels)
            if name in kept:
                self._numbers[k] = IntervalNumbers(levels, kept[name])
        self._keys = None if seed is None else keys_of_names(names, seed, "within intervals")
        self._has_intervals: set[int] = set()
        self._without_number: set[int] = set()

    @property
    def positions(self) -> list[int]:
        """Which of the columns were cut."""
        return list(self._levels)

    def see(self, k: int, values: Iterable[object]) -> None:
        """Learn from cells of a column whether they are intervals."""
        if k not in self._has_intervals and any(value in self._levels[k] for value in values):
            self._has_intervals.add(k)

    def numbers(
        self, evidence: NDArray[Any], filled: NDArray[np.float64], first_row: int = 0
    ) -> NDArray[np.float64]:
        """The numbers that fill holes of rows × columns; NaN for what is not filled with one."""
        found = np.full(filled.shape, np.nan)
        for k in self._levels:
            if k in self._has_intervals:
                continue
            rows = np.flatnonzero(np.isnan(evidence[:, k]) & ~np.isnan(filled[:, k]))
            if k in self._numbers and len(rows):
                codes = filled[rows, k].astype(np.int64)
                found[rows, k] = self._numbers[k].at(codes, self._shares(k, rows + first_row))
            if np.isnan(found[rows, k]).any():
                self._without_number.add(k)
        return found

    def _shares(self, k: int, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        if self._keys is None:
            return np.full(len(rows), 0.5)
        return random_uniform(self._keys[k], rows.astype(np.uint64))

    def warn(self) -> None:
        """Name the columns of numbers that intervals were filled into."""
        if self._without_number:
            names = listing([self._names[k] for k in sorted(self._without_number)])
            reporter().warn(
                f"filled with intervals among the numbers: {names}, as the model does not keep the "
                f"numbers that were cut; fit it again as JSON, with {parameter('cut')} or "
                f"{parameter('bins')}"
            )
