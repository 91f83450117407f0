"""Turn columns as the kernel reads them into a dataset: order levels, cut, treat missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.chosen_cuts import chosen_cuts, numbers_of_cells
from gml.data.column_coding import Coding, NumberCounts, coding_of
from gml.data.dataset import (
    Dataset,
    Origin,
    Variable,
    code_type,
    fractional_weights,
    integer_weights,
    missing_mask,
)
from gml.data.identifiers import refuse_identifiers
from gml.data.kind_rule import ColumnSeen, SettledKind, numeric_among
from gml.data.label_warnings import (
    tell_kinds,
    warn_of_blanks,
    warn_of_fewer_intervals,
    warn_of_levels_without_weight,
)
from gml.data.missing import apply_missing_policy, count_missing, warn_of_level_in_common
from gml.data.number_summary import NumberValues
from gml.data.options import ReadOptions
from gml.data.row_groups import equal_cells, group_sums, multiplicities
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
    kinds = kinds_by_rule(columns, names, chosen, options)
    refuse_identifiers(columns, names, chosen, kinds, options, where)
    settled = chosen_cuts(columns, names, chosen, options, weights, unit)
    coded: list[NDArray[Any]] = []
    codings: dict[str, Coding] = {}
    uncut: list[NDArray[Any]] = []
    for j in chosen:
        name, column = names[j], columns[j]
        assert column.cells is not None
        cells, kind = _Cells(column, weights), kinds.get(name)
        found = coding_of(name, cells, options, settled.get(name), kind, where)
        codings[name] = found
        uncut.append(
            column.cells if found.numbers is None else numbers_of_cells(column, options.decimal)
        )
        coded.append(_codes(column, found, options.decimal))
    variables = [Variable(name, found.levels) for name, found in codings.items()]
    warn_of_codings(codings, options)
    tell_kinds(kinds)
    numbers = numbers_behind(codings) if unit == 1 else {}
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
        cuts_of(codings),
        options.missing,
        numbers,
        options.na_tokens,
        options.decimal,
        numeric_among(kinds),
        options.dialect,
        multiplicities(equal_cells(uncut, weights).counts) if numbers else None,
    )
    dataset = replace(dataset, origin=origin)
    if options.missing == "level":
        warn_of_level_in_common(dataset, options.na_tokens)
    treated = apply_missing_policy(
        dataset,
        options.missing,
        where,
        offer_available=options.offer_available,
        offer_em=options.offer_em,
        offer_exclude=options.offer_exclude,
        advice=options.gaps_advice,
        declared={name for name in dataset.names if options.declares_missing(name)},
        min_complete=options.min_complete,
        unweighed={} if unweighed is None else {str(options.weights_column): unweighed},
    )
    # Choosing rows forgets what all of them held.
    return replace(treated, origin=origin)


def warn_of_codings(codings: Mapping[str, Coding], options: ReadOptions) -> None:
    """Warn about labels and intervals that look wrong."""
    warn_of_fewer_intervals(
        {
            name: (found.quantiles, len(found.levels))
            for name, found in codings.items()
            if found.levels is not None and len(found.levels) < found.quantiles
        }
    )
    warn_of_blanks(
        Variable(name, found.levels)
        for name, found in codings.items()
        if options.declared_levels(name) is None
    )


def cuts_of(codings: Mapping[str, Coding]) -> dict[str, tuple[float, ...]]:
    """The cut points of columns that were cut."""
    return {name: found.cuts for name, found in codings.items() if found.cuts is not None}


def numbers_behind(codings: Mapping[str, Coding]) -> dict[str, NumberValues]:
    """The numbers of columns that were cut or put into intervals."""
    return {
        name: found.numbers
        for name, found in codings.items()
        if found.numbers is not None and len(found.numbers.values)
    }


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
    return without_weight(cells)


def without_weight(cells: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Which rows have no weight; None if all have one."""
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


class _Cells:
    """What occurs in the cells of a column that are in memory."""

    def __init__(self, column: CsvColumn, weights: NDArray[np.int64] | None) -> None:
        assert column.cells is not None
        self._cells = column.cells
        self._weights = weights
        self.kind = column.kind
        self.labels = column.labels

    def occurs(self) -> NDArray[np.bool_]:
        counts = np.bincount(self._cells, minlength=len(self.labels))
        return counts[: len(self.labels)] > 0

    def numbers(self, decimal: str) -> NumberCounts:
        if self.kind == NUMBERS:
            return NumberCounts.of_cells(self._cells, self._weights)
        size = max(len(self.labels), int(self._cells.max(initial=0)) + 1)
        times = group_sums(self._cells, size, self._weights)[: len(self.labels)]
        return NumberCounts.of_labels(self.labels, self.occurs(), times, decimal)

    def first_wrong(
        self, wrong: NDArray[np.bool_], edges: NDArray[np.float64]
    ) -> tuple[int | None, str]:
        if self.kind == NUMBERS:
            gaps = np.isnan(self._cells)
            places = np.searchsorted(edges, np.where(gaps, 0.0, self._cells), side="right")
        else:
            gaps = missing_mask(self._cells)
            places = np.where(gaps, 0, self._cells)
        row = int(np.argmax(wrong[places] & ~gaps))
        cell = self._cells[row]
        return row, repr(float(cell)) if self.kind == NUMBERS else self.labels[int(cell)]


def kinds_by_rule(
    columns: Sequence[CsvColumn], names: Sequence[str], chosen: Sequence[int], options: ReadOptions
) -> dict[str, SettledKind]:
    """What the rule makes of the columns that nobody declares."""
    return {
        names[j]: _settled_kind(columns[j], options)
        for j in chosen
        if options.goes_by_rule(names[j])
    }


def _settled_kind(column: CsvColumn, options: ReadOptions) -> SettledKind:
    """What the rule makes of a column, all of whose cells are in memory."""
    seen = ColumnSeen(options.decimal)
    if column.kind == NUMBERS:
        # Labels that were read before there were too many are among the numbers.
        column = column._replace(labels=[])
    seen.see(column)
    return seen.settled(column.kind, column.labels)


def _codes(column: CsvColumn, coding: Coding, decimal: str) -> NDArray[Any]:
    """Return the codes or numbers of cells in memory; labels may be recoded in place."""
    assert column.cells is not None
    if coding.levels is None:
        return numbers_of_cells(column, decimal)
    if column.kind != NUMBERS and coding.of_label is None:
        return column.cells
    if column.kind == NUMBERS:
        return coding.codes_of_numbers(column.cells, code_type(len(coding.levels)))
    assert coding.of_label is not None
    if coding.edges is None:
        kernel.active().recode(column.cells, coding.of_label.tolist())
        return column.cells
    narrow = code_type(len(coding.levels))
    lookup = np.append(coding.of_label, np.iinfo(narrow).max).astype(narrow)
    return lookup[np.where(missing_mask(column.cells), len(column.labels), column.cells)]
