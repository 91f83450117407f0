"""How cells become those of a dataset, piece by piece, once all rows have been seen."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.column_coding import Coding
from gml.data.dataset import Variable, code_type, missing_code, missing_mask
from gml.data.number_summary import numbers_of_labels


@dataclass(frozen=True, eq=False)
class SettledColumn:
    """How cells as they were read become those of a dataset."""

    variable: Variable
    coding: Coding
    labels: Sequence[str]
    """What the codes of cells stand for."""
    decimal: str = "."
    gap: int | None = None
    """The code of missing cells, if they are a level."""
    _tables: dict[str, NDArray[Any] | None] = field(default_factory=dict)

    @functools.cached_property
    def _spelt(self) -> NDArray[np.float64]:
        """The number that each label spells, and NaN after the last."""
        return numbers_of_labels(list(self.labels), self.decimal)

    @functools.cached_property
    def _codes(self) -> NDArray[np.int64]:
        """The code of each label."""
        if self.coding.of_label is not None:
            return self.coding.of_label
        if self.coding.edges is not None:
            # The column turned into numbers after these labels.
            return self.coding.codes_of_numbers(self._spelt[:-1], np.int64)
        return np.arange(len(self.labels))

    @functools.cached_property
    def _code_of(self) -> dict[str, int]:
        return dict(zip(self.labels, self._codes.tolist(), strict=True))

    @property
    def takes_numbers(self) -> bool:
        """Whether cells may be numbers, which stay as they are or are put into intervals."""
        return self.coding.levels is None or self.coding.edges is not None

    def for_labels(self, labels: Sequence[str]) -> SettledColumn | None:
        """Return the same for cells whose codes stand for other labels; None if one is unknown."""
        codes = []
        for label in labels if self.variable.levels is not None else ():
            code = self._code_of.get(label)
            if code is None and self.coding.edges is not None:
                # Labels of some rows, and too many of them in all: then they are numbers.
                number = numbers_of_labels([label], self.decimal)[:1]
                found = self.coding.codes_of_numbers(number, np.int64)
                code = None if np.isnan(number[0]) else int(found[0])
            if code is None:
                return None
            codes.append(code)
        coding = self.coding._replace(of_label=np.array(codes, dtype=np.int64))
        return replace(self, coding=coding, labels=labels, _tables={})

    def cells(self, raw: NDArray[Any]) -> NDArray[Any]:
        """Return the codes, or the numbers, of cells as they were read."""
        if raw.dtype.kind == "f":
            levels = self.variable.levels
            if levels is None:
                return raw
            return self.coding.codes_of_numbers(raw, code_type(len(levels)), self.gap)
        if raw.dtype.str not in self._tables:
            self._tables[raw.dtype.str] = self._table(raw)
        table = self._tables[raw.dtype.str]
        return raw if table is None else table[raw]

    def uncut(self, raw: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers of a column that was cut; other cells as they are."""
        if self.coding.numbers is None or raw.dtype.kind == "f":
            return raw
        # Later blocks may have had more labels than a code of this one can tell apart.
        codes = np.where(missing_mask(raw), len(self.labels), raw.astype(np.int64))
        return self._spelt[codes]

    def _table(self, raw: NDArray[Any]) -> NDArray[Any] | None:
        """What each code becomes; None where nothing changes."""
        last = missing_code(raw)
        known = min(len(self.labels), last)
        levels = self.variable.levels
        if levels is None:
            numbers = np.full(last + 1, np.nan)
            numbers[:known] = self._spelt[:known]
            return numbers
        narrow = code_type(len(levels))
        table = np.full(last + 1, np.iinfo(narrow).max, dtype=narrow)
        codes = self._codes[:known]
        table[:known] = codes
        if self.gap is not None:
            table[last] = self.gap
        same = raw.dtype == table.dtype and table[last] == last
        return None if same and np.array_equal(codes, np.arange(known)) else table
