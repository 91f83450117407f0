"""Turn columns as the kernel reads them into a dataset: order levels, cut, treat missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.chosen_cuts import chosen_cuts, cut_column
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
from gml.data.identifiers import refuse_identifiers
from gml.data.label_warnings import (
    warn_of_blanks,
    warn_of_fewer_intervals,
    warn_of_levels_without_weight,
)
from gml.data.levels import order_levels
from gml.data.missing import apply_missing_policy, count_missing
from gml.data.number_summary import NumberValues, numbers_of_labels
from gml.data.options import ReadOptions
from gml.data.problems import undeclared
from gml.data.row_groups import equal_cells, group_sums, multiplicities
from gml.errors import DataError, quote
from gml.kernel.layout import NUMBERS, CsvColumn


def build_dataset(
    columns: Sequence[CsvColumn],
    names: Sequence[str],
    chosen: Sequence[int],
    options: ReadOptions,
    where: str,
    digest: str | None,
) -> Dataset:
    """Make a dataset of columns as the kernel reads them: order levels, cut, treat missing."""
    weights, unit = weights_of(columns, names, options, where)
    refuse_identifiers(columns, names, chosen, options, where)
    settled = chosen_cuts(columns, names, chosen, options, weights, unit)
    variables: list[Variable] = []
    coded: list[NDArray[Any]] = []
    cuts: dict[str, tuple[float, ...]] = {}
    numbers: dict[str, NumberValues] = {}
    fewer: dict[str, tuple[int, int]] = {}
    uncut: list[NDArray[Any]] = []
    for j in chosen:
        name, column = names[j], columns[j]
        assert column.cells is not None
        uncut.append(column.cells)
        if name in options.maybe_numbers and column.kind != NUMBERS:
            variables.append(Variable(name, tuple(column.labels)))
            coded.append(column.cells)
            continue
        if name in options.maybe_numbers or options.is_numeric(name):
            variables.append(Variable(name, None))
            coded.append(column.cells)
            continue
        found = code_column(name, column, options, settled.get(name), weights, where)
        variables.append(Variable(name, found.levels))
        coded.append(found.codes)
        uncut[-1] = found.codes if found.uncut is None else found.uncut
        if found.cuts is not None:
            cuts[name] = found.cuts
        if found.numbers is not None and len(found.numbers.values) and unit == 1:
            numbers[name] = found.numbers
        if len(found.levels) < found.quantiles:
            fewer[name] = (found.quantiles, len(found.levels))
    warn_of_fewer_intervals(fewer)
    warn_of_blanks(v for v in variables if options.declared_levels(v.name) is None)
    dataset = Dataset(tuple(variables), tuple(coded), weights, digest, unit)
    unweighed = _unweighed(columns, names, options)
    if weights is not None and not weights.all():
        kept = weights > 0 if unweighed is None else (weights > 0) | unweighed
        dataset = dataset.rows(kept)
        unweighed = None if unweighed is None else unweighed[kept]
        warn_of_levels_without_weight(dataset, free_levels(variables, options))
    missing = count_missing(dataset, options.missing, options.na_tokens)
    origin = Origin(
        dataset.n,
        missing,
        cuts,
        options.missing,
        numbers,
        options.na_tokens,
        options.decimal,
        multiplicities(equal_cells(uncut, weights).counts) if numbers else None,
    )
    dataset = replace(dataset, origin=origin)
    treated = apply_missing_policy(
        dataset,
        options.missing,
        where,
        offer_available=options.offer_available,
        offer_em=options.offer_em,
        declared={*options.levels.levels, *options.levels.intervals},
        unweighed={} if unweighed is None else {str(options.weights_column): unweighed},
    )
    # Choosing rows forgets what all of them held.
    return replace(treated, origin=origin)


def weights_of(
    columns: Sequence[CsvColumn], names: Sequence[str], options: ReadOptions, where: str
) -> tuple[NDArray[np.int64] | None, float]:
    """Return the weights of rows, if a column has them, and the unit of these.

    Where rows with missing values are dropped, those without a weight weigh 0 until they are.
    """
    if options.weights_column is None:
        return None, 1.0
    cells = columns[names.index(options.weights_column)].cells
    assert cells is not None
    unweighed = _unweighed(columns, names, options)
    if unweighed is not None:
        cells = np.where(unweighed, 0.0, cells)
    if options.weights is not None:
        return integer_weights(cells, where), 1.0
    return fractional_weights(cells, where)


def _unweighed(
    columns: Sequence[CsvColumn], names: Sequence[str], options: ReadOptions
) -> NDArray[np.bool_] | None:
    """Which rows are to be dropped as they have no weight; None if there are none."""
    if options.weights_column is None or options.missing != "drop":
        return None
    cells = columns[names.index(options.weights_column)].cells
    assert cells is not None
    gaps = np.isnan(np.asarray(cells, dtype=np.float64))
    return gaps if gaps.any() else None


def free_levels(variables: Sequence[Variable], options: ReadOptions) -> dict[str, frozenset[str]]:
    """Return, by column, the levels that stand for nothing but cells of the table."""
    found = {}
    for variable in variables:
        name = variable.name
        binning = options.binning(name)
        declared = options.declared_levels(name) or options.declared_intervals(name)
        if declared is None and (binning is None or binning.method != "cuts"):
            found[name] = frozenset(variable.levels or ()) - {*options.expected_levels(name)}
    return found


class Coded(NamedTuple):
    """Levels in order, the codes of the cells, the cut points if numbers were cut, the numbers.

    `quantiles` says into how many intervals they were to be cut, if quantiles were to say where;
    `uncut` has the number of each cell, NaN for none.
    """

    levels: tuple[str, ...]
    codes: NDArray[Any]
    cuts: tuple[float, ...] | None = None
    numbers: NumberValues | None = None
    quantiles: int = 0
    uncut: NDArray[np.float64] | None = None


def code_column(
    name: str,
    column: CsvColumn,
    options: ReadOptions,
    settled: Binning | None,
    weights: NDArray[np.int64] | None,
    where: str,
    *,
    names_rows: bool = True,
) -> Coded:
    """Settle the levels of a column of labels, and code its cells.

    With `names_rows`, a message about a cell names its row: the cells are those of the table.
    """
    assert column.cells is not None
    intervals = options.declared_intervals(name)
    if intervals is not None:
        return _place_in_intervals(name, column, intervals, options, weights, where, names_rows)
    cut = cut_column(name, column, options)
    if cut is not None:
        return _cut_numbers(cut.numbers, settled or cut.binning, weights)
    if options.declared_levels(name) is not None:
        return Coded(tuple(column.labels), column.cells)
    expected = options.expected_levels(name)
    others = [label for label in column.labels if label not in expected]
    levels = (*expected, *order_levels(others, decimal=options.decimal))
    if list(levels) != column.labels:
        rank = {level: code for code, level in enumerate(levels)}
        kernel.active().recode(column.cells, [rank[label] for label in column.labels])
    return Coded(levels, column.cells)


def _place_in_intervals(
    name: str,
    column: CsvColumn,
    levels: tuple[str, ...],
    options: ReadOptions,
    weights: NDArray[np.int64] | None,
    where: str,
    names_rows: bool,
) -> Coded:
    """Code a column whose cells name intervals, or are numbers that lie in them.

    Where levels are expected rather than declared, any other value becomes a level after them.
    """
    assert column.cells is not None
    intervals = Intervals(levels)
    if column.kind == NUMBERS:
        gaps = np.isnan(column.cells)
        places = intervals.places_of(np.where(gaps, 0.0, column.cells))
        labels = intervals.names
        numbers = NumberValues.of(column.cells, weights)
        uncut = column.cells
    else:
        gaps = missing_mask(column.cells)
        places = np.where(gaps, 0, column.cells)
        labels = tuple(
            intervals.name_of(label, options.decimal) or label for label in column.labels
        )
        numbers = NumberValues.spelt(column.labels, column.cells, weights, options.decimal)
        uncut = numbers_of_labels(column.labels, options.decimal)[
            np.where(gaps, len(column.labels), column.cells)
        ]
    occurring = np.bincount(places[~gaps], minlength=len(labels)) > 0
    others = {label for label, occurs in zip(labels, occurring, strict=True) if occurs} - {*levels}
    if others and (not options.expected_levels(name) or len(others) > options.max_levels):
        wrong = np.array([label in others for label in labels])[places] & ~gaps
        row = int(np.argmax(wrong))
        cell = column.cells[row]
        value = repr(float(cell)) if column.kind == NUMBERS else column.labels[int(cell)]
        of_row = f" data row {row + 1}:" if names_rows else ""
        raise DataError(
            f"{where}:{of_row} column {quote(name)}: {undeclared(value, levels)}, and it is not a "
            "number within them"
        )
    levels = (*levels, *order_levels(list(others), decimal=options.decimal))
    code = {level: k for k, level in enumerate(levels)}
    narrow = code_type(len(levels))
    lookup = np.array([code.get(label, 0) for label in labels], dtype=narrow)
    result: NDArray[Any] = lookup[places] if len(lookup) else np.zeros(len(gaps), dtype=narrow)
    result[gaps] = np.iinfo(narrow).max
    return Coded(levels, result, numbers=numbers, uncut=uncut)


def _cut_numbers(
    numbers: NDArray[np.float64], binning: Binning, weights: NDArray[np.int64] | None
) -> Coded:
    present = ~np.isnan(numbers)
    values, inverse = np.unique(numbers[present], return_inverse=True)
    times = None if weights is None else weights[present]
    counts = group_sums(inverse.reshape(-1), len(values), times)
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
    quantiles = binning.bins if binning.method == "quantile" else 0
    found = NumberValues(values[seen], counts[seen])
    return Coded(levels, result, cuts, found, quantiles, numbers)
