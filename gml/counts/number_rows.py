"""Rows of a model of numbers, a chunk at a time: numbers by column, and cells that are none."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, Variable, missing_mask
from gml.data.number_summary import numbers_of_labels
from gml.data.row_groups import configurations_at, rows_by_group

Vector = NDArray[np.float64]
Places = NDArray[np.signedinteger[Any]]

# Configurations that are all looked for.
_FEW = 1 << 12


@dataclass(frozen=True)
class NumberRows:
    """Columns of numbers, and of codes of labels; NaN means none.

    `numbers` says where each row stands in its chunk, from 0; it counts `times` times, or once.
    """

    columns: Mapping[str, Vector]
    numbers: Places
    times: NDArray[np.int64] | None = None

    @property
    def n(self) -> int:
        """The number of rows, weighted."""
        return len(self.numbers) if self.times is None else int(self.times.sum())

    def where(self, chosen: NDArray[np.bool_] | Places) -> NumberRows:
        """Some of the rows."""
        columns = {name: column[chosen] for name, column in self.columns.items()}
        times = None if self.times is None else self.times[chosen]
        return NumberRows(columns, self.numbers[chosen], times)

    def complete(self, names: Sequence[str]) -> NumberRows:
        """These columns, over the rows that have all of them."""
        columns = {name: self.columns[name] for name in names}
        gaps = [np.isnan(column) for column in columns.values()]
        rows = NumberRows(columns, self.numbers, self.times)
        missing = np.logical_or.reduce(gaps) if gaps else np.zeros(0, dtype=bool)
        return rows.where(~missing) if missing.any() else rows

    def configurations(self, sizes: Mapping[str, int]) -> NDArray[np.int64]:
        """The configuration of labels with so many levels in each row, −1 where one has others."""
        codes = [self.columns[name] for name in sizes]
        return configurations_at(list(sizes.values()), codes, len(self.numbers))

    def by_configuration(self, sizes: Mapping[str, int]) -> Iterator[tuple[int, NumberRows]]:
        """The rows of each configuration that occurs; without labels, all rows are of one."""
        if not sizes:
            yield 0, self
            return
        found, total = self.configurations(sizes), math.prod(sizes.values())
        group: Places
        if total < _FEW:
            # Small integers are sorted by their digits.
            places, group = np.arange(-1, total), (found + 1).astype(np.int16)
        else:
            places, group = np.unique(found, return_inverse=True)
        by_place = rows_by_group(group, len(places))
        for place, rows in zip(places.tolist(), by_place, strict=True):
            if place >= 0 and len(rows):
                yield place, self.where(rows)


@dataclass(frozen=True)
class NumberReader:
    """Makes numbers of the cells of chunks; rows that do not count, or are far away, are left out.

    Labels, the columns of which are `levels`, are given as the codes of their levels; other texts
    as the numbers that they spell, by `spelt`. A row is far away if it has a number outside the
    bounds of `near`.

    Examples
    --------
    >>> ages = Variable("age", ("41", "unknown"))
    >>> rows = Dataset((ages,), (np.array([0, 1, 0], dtype=np.uint8),))
    >>> NumberReader.of(rows.variables).read(rows).columns["age"]
    array([41., nan, 41.])
    """

    levels: Mapping[str, tuple[str, ...]]
    spelt: Mapping[str, Vector]
    near: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, variables: Sequence[Variable], labels: Collection[str] = (), decimal: str = "."
    ) -> NumberReader:
        """Read these columns, of which some are labels."""
        of_labels = {v.name: v.levels or () for v in variables if v.name in labels}
        texts = [v for v in variables if v.levels is not None and v.name not in labels]
        return cls(of_labels, {v.name: numbers_of_labels(v.levels or (), decimal) for v in texts})

    def needed(self, names: Sequence[str]) -> list[str]:
        """The columns that it takes to read some."""
        return list(dict.fromkeys([*names, *self.near]))

    def read(self, chunk: Dataset) -> NumberRows:
        """Return the rows of a chunk that count and are near."""
        columns = {
            variable.name: self.numbers(variable.name, column)
            for variable, column in zip(chunk.variables, chunk.columns, strict=True)
        }
        rows = NumberRows(columns, np.arange(chunk.n_rows), chunk.weights)
        chosen = ~self.far(rows)
        if chunk.weights is not None:
            chosen &= chunk.weights > 0
        return rows if chosen.all() else rows.where(chosen)

    def far(self, rows: NumberRows) -> NDArray[np.bool_]:
        """Which rows have a number far away."""
        found = np.zeros(len(rows.numbers), dtype=bool)
        for name, (low, high) in self.near.items():
            found |= (rows.columns[name] < low) | (rows.columns[name] > high)
        return found

    def numbers(self, name: str, cells: NDArray[Any]) -> Vector:
        """The numbers, or codes of labels, in the cells of a column."""
        if name in self.levels:
            codes: Vector = np.where(missing_mask(cells), np.nan, cells.astype(np.float64))
            return codes
        if name in self.spelt:
            spelt = self.spelt[name]
            places = np.where(missing_mask(cells), len(spelt) - 1, cells.astype(np.int64))
            numbers: Vector = spelt[places]
            return numbers
        return cells
