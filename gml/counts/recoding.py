"""Declared levels, in place of those of a count file or of any other engine."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import numpy as np

from gml.counts.counter import Counter, TableSet
from gml.counts.countfile import FROM_DATA, CountedColumn, CountFile
from gml.data.alignment import Recoding
from gml.data.discretize import Intervals, cuts_of_levels, interval_levels
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
    if column.is_numeric:
        return None
    decimal = counts.options.decimal
    levels = options.declared_levels(name)
    intervals = options.declared_intervals(name)
    binning = options.binning(name)
    if levels is None and intervals is None and binning is not None:
        intervals = interval_levels(binning.cuts)
    declared = levels or intervals
    placed = _placed(column.labels, intervals, decimal)
    if expected := options.expected_levels(name):
        others = {label for label in placed.values() if label not in expected}
        declared = (*expected, *order_levels(list(others), decimal=decimal))
    if declared is None:
        return None
    codes = _codes_among(
        declared,
        placed,
        lambda label: _occurs(counts, column, label),
        f"{where}: column {quote(name)}",
        intervals is not None,
    )
    if column.na:
        if NA_LEVEL not in declared:
            declared = (*declared, NA_LEVEL)
        codes.append(declared.index(NA_LEVEL))
    return declared, np.array(codes, dtype=np.int64)


def with_declared(
    counter: Counter, declared: Mapping[str, tuple[str, ...]], where: str | None = None
) -> Counter:
    """Give columns of labels the levels that are declared, as if they had been so when read.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv", columns="smoke"))
    >>> with_declared(counter, {"smoke": ("yes", "no", "maybe")}).variables
    (Variable(name='smoke', levels=('yes', 'no', 'maybe')),)
    """
    treated = counter.missing_treatment
    recodings: dict[str, Recoding] = {}
    for j, variable in enumerate(counter.variables):
        levels, wanted = variable.levels, declared.get(variable.name)
        if levels is None or wanted is None or levels == wanted:
            continue
        intervals = None if cuts_of_levels(wanted) is None else wanted
        if treated is not None and treated.policy == "level" and NA_LEVEL in levels:
            wanted = tuple(dict.fromkeys([*wanted, NA_LEVEL]))
        codes = _codes_among(
            wanted,
            _placed(levels, intervals, counter.decimal or "."),
            _occurrence(counter, j),
            f"{where or counter.where}: column {quote(variable.name)}",
            intervals is not None,
        )
        recodings[variable.name] = wanted, np.array(codes, dtype=np.int64)
    return counter.recoded(recodings) if recodings else counter


def _placed(
    labels: tuple[str, ...], intervals: tuple[str, ...] | None, decimal: str
) -> dict[str, str]:
    """Return what each label means: itself or, if intervals are declared, the one it lies in."""
    if intervals is None:
        return {label: label for label in labels}
    found = Intervals(intervals)
    return {label: found.name_of(label, decimal) or label for label in labels}


def _codes_among(
    declared: tuple[str, ...],
    placed: Mapping[str, str],
    occurs: Callable[[str], bool],
    where: str,
    intervals: bool,
) -> list[int]:
    """Return the codes of labels among declared levels, if all that occur are declared."""
    codes = []
    for label, level in placed.items():
        if level not in declared and occurs(label):
            within = ", and it is not a number within them" if intervals else ""
            raise DataError(f"{where}: {undeclared(label, declared)}{within}")
        # No cell has a level that does not occur, so any code will do.
        codes.append(declared.index(level) if level in declared else 0)
    return codes


def _occurs(counts: CountFile, column: CountedColumn, label: str) -> bool:
    """Whether a level occurs in the rows; one that was found in the data always does."""
    if column.source == FROM_DATA:
        return True
    j, code = counts.columns.index(column), column.levels.index(label)
    return any(
        bool(np.any(counts.cells(k)[0][:, axes.index(j)] == code))
        for k, axes in enumerate(counts.axes)
        if j in axes
    )


def _occurrence(counter: Counter, j: int) -> Callable[[str], bool]:
    """Return what says whether a level of a column occurs in the rows, by the table of it alone."""

    @functools.cache
    def seen() -> dict[str, bool]:
        (counts,) = counter.tables([TableSet((j,))])
        levels = counter.variables[j].levels or ()
        return dict(zip(levels, (counts.table[0] > 0).tolist(), strict=True))

    return lambda label: seen()[label]
