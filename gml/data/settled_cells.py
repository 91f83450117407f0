"""How cells become those of a dataset, block by block, once all rows have been seen."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.column_coding import Coding
from gml.data.column_tally import ColumnTally
from gml.data.dataset import Variable, code_type, missing_code, missing_mask
from gml.data.levels import NA_LEVEL
from gml.data.number_summary import numbers_of_labels
from gml.data.options import ReadOptions


class SettledColumn:
    """How cells of the file become those of a dataset."""

    def __init__(
        self, variable: Variable, coding: Coding, tally: ColumnTally, options: ReadOptions
    ) -> None:
        self._coding = coding
        self._labels = tally.labels
        self._levels = variable.levels
        self._decimal = options.decimal
        self._missing = None
        if options.missing == "level" and tally.lacking_rows:
            assert variable.levels is not None
            self._missing = variable.levels.index(NA_LEVEL)
        self._tables: dict[str, NDArray[Any] | None] = {}

    @functools.cached_property
    def _spelt(self) -> NDArray[np.float64]:
        """The number that each label spells, and NaN after the last."""
        return numbers_of_labels(self._labels, self._decimal)

    @property
    def levels_read(self) -> tuple[str, ...] | None:
        """The levels before missing values were treated."""
        return self._coding.levels

    def cells(self, raw: NDArray[Any]) -> NDArray[Any]:
        """Return the codes, or the numbers, of cells as they were read."""
        if raw.dtype.kind == "f":
            if self._levels is None:
                return raw
            return self._coding.codes_of_numbers(raw, code_type(len(self._levels)), self._missing)
        table = self._table(raw)
        return raw if table is None else table[raw]

    def uncut(self, raw: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers of a column that was cut; other cells as they are."""
        if self._coding.numbers is None or raw.dtype.kind == "f":
            return raw
        # Later blocks may have had more labels than a code of this one can tell apart.
        codes = np.where(missing_mask(raw), len(self._labels), raw.astype(np.int64))
        return self._spelt[codes]

    def _table(self, raw: NDArray[Any]) -> NDArray[Any] | None:
        """What each code becomes; None where nothing changes."""
        if raw.dtype.str not in self._tables:
            self._tables[raw.dtype.str] = self._made_table(raw)
        return self._tables[raw.dtype.str]

    def _made_table(self, raw: NDArray[Any]) -> NDArray[Any] | None:
        last, known = missing_code(raw), min(len(self._labels), missing_code(raw))
        if self._levels is None:
            numbers = np.full(last + 1, np.nan)
            numbers[:known] = self._spelt[:known]
            return numbers
        narrow = code_type(len(self._levels))
        end = int(np.iinfo(narrow).max)
        table = np.full(last + 1, end, dtype=narrow)
        of_label = self._coding.of_label
        if of_label is None and self._coding.edges is not None:
            # The column turned into numbers after this block.
            spelt = self._spelt[:-1]
            of_label = self._coding.codes_of_numbers(spelt, np.int64)
        codes = np.arange(known) if of_label is None else of_label[:known]
        table[:known] = codes
        if self._missing is not None:
            table[last] = self._missing
        same = raw.dtype == table.dtype and table[last] == last
        return None if same and np.array_equal(codes, np.arange(known)) else table
