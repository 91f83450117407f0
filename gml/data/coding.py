"""Turn columns as the kernel reads them into a dataset: order levels, cut, treat missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.dataset import (
    MAX_LEVELS,
    Dataset,
    Origin,
    Variable,
    code_type,
    fractional_weights,
    integer_weights,
    missing_mask,
)
from gml.data.discretize import Binning, Intervals, interval_levels
from gml.data.levels import order_levels
from gml.data.missing import apply_missing_policy, count_missing
from gml.data.options import ReadOptions
from gml.data.problems import csv_field, undeclared
from gml.errors import DataError, listing, parameter, quote
from gml.kernel.layout import NUMBERS, OVERFLOW, CsvColumn
from gml.kernel.number import parse_number

_MOST_NAMED = 100


def build_dataset(
    columns: Sequence[CsvColumn],
    names: Sequence[str],
    chosen: Sequence[int],
    options: ReadOptions,
    where: str,
    digest: str | None,
) -> Dataset:
    """Make a dataset of columns as the kernel reads them: order levels, cut, treat missing."""
    weights, unit = None, 1.0
    if options.weights_column is not None:
        cells = columns[names.index(options.weights_column)].cells
        assert cells is not None
        if options.weights is not None:
            weights = integer_weights(cells, where)
        else:
            weights, unit = fractional_weights(cells, where)
    _refuse_identifiers(columns, names, chosen, options, where)
    variables: list[Variable] = []
    coded: list[NDArray[Any]] = []
    cuts: dict[str, tuple[float, ...]] = {}
    for j in chosen:
        name, column = names[j], columns[j]
        assert column.cells is not None
        if options.is_numeric(name):
            variables.append(Variable(name, None))
            coded.append(column.cells)
            continue
        found = _code_column(name, column, options, weights, where)
        variables.append(Variable(name, found.levels))
        coded.append(found.codes)
        if found.cuts is not None:
            cuts[name] = found.cuts
    dataset = Dataset(tuple(variables), tuple(coded), weights, digest, unit)
    if weights is not None and not weights.all():
        dataset = dataset.rows(weights > 0)
    missing = count_missing(dataset, options.missing, options.na_tokens)
    origin = Origin(dataset.n, missing, cuts, options.missing)
    dataset = replace(dataset, origin=origin)
    return apply_missing_policy(
        dataset,
        options.missing,
        where,
        offer_available=options.offer_available,
        declared={*options.levels.levels, *options.levels.intervals},
    )


def _refuse_identifiers(
    columns: Sequence[CsvColumn],
    names: Sequence[str],
    chosen: Sequence[int],
    options: ReadOptions,
    where: str,
) -> None:
    """Refuse columns with too many levels, naming them all at once."""
    too_many = []
    for j in chosen:
        name, column = names[j], columns[j]
        if column.kind == OVERFLOW and options.declared_intervals(name) is not None:
            raise DataError(
                f"{where}: column {quote(name)}: more than {MAX_LEVELS} different values, and not "
                "all of them numbers, though its declared levels are intervals"
            )
        if column.kind == OVERFLOW:
            too_many.append(name)
        elif column.kind != NUMBERS and len(column.labels) > options.max_levels:
            declared = (
                options.declared_levels(name) is not None
                or options.declared_intervals(name) is not None
                or options.expected_levels(name)
            )
            if not declared and _numbers_to_cut(column.labels, options) is None:
                too_many.append(name)
    if too_many:
        record = ",".join(csv_field(name) for name in too_many[:_MOST_NAMED])
        one = len(too_many) == 1
        more = " …" if len(too_many) > _MOST_NAMED else ""
        cut = (
            ""
            if options.bins is not None
            else f", cut numbers into intervals ({parameter('bins', 5)})"
        )
        raise DataError(
            f"{where}: more than {options.max_levels} levels, like "
            f"{'an identifier, in column' if one else 'identifiers, in columns'} "
            f"{listing(too_many)}; leave {'it' if one else 'them'} out "
            f"({parameter('exclude')} {record!r}{more}){cut} "
            f"or raise {parameter('max_levels')}"
        )


def _numbers_to_cut(labels: Sequence[str], options: ReadOptions) -> NDArray[np.float64] | None:
    """Return the numbers that the labels spell, if there are so many that `bins` cuts them."""
    if options.bins is None or len(labels) <= options.bins:
        return None
    values = [parse_number(label.encode(), options.decimal) for label in labels]
    if None in values or len(set(values)) <= options.bins:
        return None
    return np.array(values, dtype=np.float64)


class _Coded(NamedTuple):
    """Levels in order, the codes of the cells, and the cut points if numbers were cut."""

    levels: tuple[str, ...]
    codes: NDArray[Any]
    cuts: tuple[float, ...] | None = None


def _code_column(
    name: str,
    column: CsvColumn,
    options: ReadOptions,
    weights: NDArray[np.int64] | None,
    where: str,
) -> _Coded:
    assert column.cells is not None
    intervals = options.declared_intervals(name)
    if intervals is not None:
        return _place_in_intervals(name, column, intervals, options, where)
    binning = options.binning(name) or Binning(options.discretize, options.bins or 0)
    if column.kind == NUMBERS:
        return _cut_numbers(column.cells, binning, weights)
    if options.declared_levels(name) is not None:
        return _Coded(tuple(column.labels), column.cells)
    values = _numbers_to_cut(column.labels, options)
    if values is not None:
        lookup = np.append(values, np.nan)
        codes = np.where(missing_mask(column.cells), len(values), column.cells)
        return _cut_numbers(lookup[codes], binning, weights)
    expected = options.expected_levels(name)
    others = [label for label in column.labels if label not in expected]
    levels = (*expected, *order_levels(others, decimal=options.decimal))
    if list(levels) != column.labels:
        rank = {level: code for code, level in enumerate(levels)}
        kernel.active().recode(column.cells, [rank[label] for label in column.labels])
    return _Coded(levels, column.cells)


def _place_in_intervals(
    name: str, column: CsvColumn, levels: tuple[str, ...], options: ReadOptions, where: str
) -> _Coded:
    """Code a column whose cells name intervals, or are numbers that lie in them.

    Where levels are expected rather than declared, any other value becomes a level after them.
    """
    assert column.cells is not None
    intervals = Intervals(levels)
    if column.kind == NUMBERS:
        gaps = np.isnan(column.cells)
        places = intervals.places_of(np.where(gaps, 0.0, column.cells))
        labels = intervals.names
    else:
        gaps = missing_mask(column.cells)
        places = np.where(gaps, 0, column.cells)
        labels = tuple(
            intervals.name_of(label, options.decimal) or label for label in column.labels
        )
    occurring = np.bincount(places[~gaps], minlength=len(labels)) > 0
    others = {label for label, occurs in zip(labels, occurring, strict=True) if occurs} - {*levels}
    if others and (not options.expected_levels(name) or len(others) > options.max_levels):
        wrong = np.array([label in others for label in labels])[places] & ~gaps
        row = int(np.argmax(wrong))
        cell = column.cells[row]
        value = repr(float(cell)) if column.kind == NUMBERS else column.labels[int(cell)]
        raise DataError(
            f"{where}: data row {row + 1}: column {quote(name)}: {undeclared(value, levels)}, and "
            "it is not a number within them"
        )
    levels = (*levels, *order_levels(list(others), decimal=options.decimal))
    code = {level: k for k, level in enumerate(levels)}
    narrow = code_type(len(levels))
    lookup = np.array([code.get(label, 0) for label in labels], dtype=narrow)
    result: NDArray[Any] = lookup[places] if len(lookup) else np.zeros(len(gaps), dtype=narrow)
    result[gaps] = np.iinfo(narrow).max
    return _Coded(levels, result)


def _cut_numbers(
    numbers: NDArray[np.float64], binning: Binning, weights: NDArray[np.int64] | None
) -> _Coded:
    present = ~np.isnan(numbers)
    values, inverse = np.unique(numbers[present], return_inverse=True)
    if weights is None:
        counts = np.bincount(inverse, minlength=len(values)).astype(np.int64)
    else:
        counts = np.zeros(len(values), dtype=np.int64)
        np.add.at(counts, inverse, weights[present])
    seen = counts > 0
    cuts = binning.cut_points(values[seen], counts[seen])
    levels = interval_levels(cuts)
    if len(levels) > MAX_LEVELS:
        raise DataError(f"more than {MAX_LEVELS} intervals")
    codes = np.searchsorted(np.array(cuts), numbers, side="right")
    if binning.method != "cuts":
        # Intervals that were chosen from the data are levels only if some value lies in them.
        filled = np.unique(codes[present])
        rank = np.zeros(len(levels), dtype=np.int64)
        rank[filled] = np.arange(len(filled))
        codes, levels = rank[codes], tuple(levels[k] for k in filled)
    narrow = code_type(len(levels))
    result = codes.astype(narrow)
    result[~present] = np.iinfo(narrow).max
    return _Coded(levels, result, cuts)
