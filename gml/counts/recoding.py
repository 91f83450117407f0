"""Declared levels, in place of those of a count file."""

from __future__ import annotations

import numpy as np

from gml.counts.countfile import FROM_DATA, CountedColumn, CountFile
from gml.counts.from_file import Recoding
from gml.data.discretize import Intervals, interval_levels
from gml.data.levels import NA_LEVEL, order_levels
from gml.data.options import ReadOptions
from gml.data.problems import undeclared
from gml.errors import DataError, quote


def declared_recoding(
    counts: CountFile, name: str, options: ReadOptions, where: str
) -> Recoding | None:
    """Return the levels that the options declare for a column, and what becomes of its own.

    As with rows, a label that is not declared is an error, and where intervals are declared, a
    number belongs to the one that it lies in; expected levels come first, then the others. None
    if nothing is declared or expected.
    """
    column = counts.columns[counts.names.index(name)]
    decimal = counts.options.decimal
    levels = options.declared_levels(name)
    intervals = options.declared_intervals(name)
    binning = options.binning(name)
    if levels is None and intervals is None and binning is not None:
        intervals = interval_levels(binning.cuts)
    labels = list(column.labels)
    if intervals is not None:
        found = Intervals(intervals)
        labels = [found.name_of(label, decimal) or label for label in column.labels]
    declared = levels or intervals
    if expected := options.expected_levels(name):
        others = {label for label in labels if label not in expected}
        declared = (*expected, *order_levels(list(others), decimal=decimal))
    if declared is None:
        return None
    codes = [declared.index(label) if label in declared else None for label in labels]
    for label, code in zip(column.labels, codes, strict=True):
        if code is None and _occurs(counts, column, label):
            within = "" if intervals is None else ", and it is not a number within them"
            raise DataError(f"{where}: column {quote(name)}: {undeclared(label, declared)}{within}")
    if column.na:
        if NA_LEVEL not in declared:
            declared = (*declared, NA_LEVEL)
        codes.append(declared.index(NA_LEVEL))
    # No cell has a level that does not occur, so any code will do.
    return declared, np.array([code or 0 for code in codes], dtype=np.int64)


def _occurs(counts: CountFile, column: CountedColumn, label: str) -> bool:
    """Whether a level occurs in the rows; one that was found in the data always does."""
    if column.source == FROM_DATA:
        return True
    j, code = counts.columns.index(column), column.levels.index(label)
    return any(
        bool(np.any(counts.cells(k)[0][:, members.index(j)] == code))
        for k, members in enumerate(counts.sets)
        if j in members
    )
