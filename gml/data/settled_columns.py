"""What the columns of a table are that was read in pieces: levels, codes, and which rows count.

The facts of all pieces together (`gml.data.piece_facts`) settle the levels of each column, where
numbers are cut, and what becomes of missing values, as `gml.data.coding` does for a table that is
read at once: with the same levels, the same counts and the same messages, but for the row of a bad
cell, which pieces do not know. Then any piece can be coded by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.chosen_cuts import refuse_cuts_by_others
from gml.data.coding import free_levels, warn_of_codings
from gml.data.column_coding import Coding, NumberCounts, coding_of
from gml.data.dataset import Variable, code_type, missing_mask
from gml.data.identifiers import refuse_identifiers
from gml.data.label_warnings import tell_levels_without_weight
from gml.data.levels import NA_LEVEL
from gml.data.missing import (
    levels_with_gaps,
    numbers_have_no_level,
    refused_gaps,
    tell_dropped,
)
from gml.data.number_summary import numbers_of_labels
from gml.data.options import ReadOptions
from gml.data.piece_facts import (
    ColumnFacts,
    PieceColumns,
    Survey,
    TableFacts,
    whole_weights,
)
from gml.errors import CannotAnswer, DataError, parameter, quote
from gml.kernel.layout import NUMBERS, CsvColumn

IN_PIECES = "rows are read in pieces"
"""Why other columns have no say in where one is cut."""


class _Seen:
    """What occurs in a column, as its facts say."""

    def __init__(self, facts: ColumnFacts) -> None:
        self._facts = facts
        self.kind = facts.kind
        self.labels = list(facts.labels)

    def occurs(self) -> NDArray[np.bool_]:
        return np.array([label in self._facts.seen for label in self.labels], dtype=bool)

    def weights(self) -> NDArray[np.int64]:
        return np.array(list(self._facts.labels.values()), dtype=np.int64)

    def numbers(self, decimal: str) -> NumberCounts:
        if self.kind != NUMBERS:
            return NumberCounts.of_labels(self.labels, self.occurs(), self.weights(), decimal)
        assert self._facts.values is not None and self._facts.counts is not None
        return NumberCounts(self._facts.values, self._facts.counts)

    def first_wrong(
        self, wrong: NDArray[np.bool_], edges: NDArray[np.float64]
    ) -> tuple[int | None, str]:
        if self.kind != NUMBERS:
            return None, self.labels[int(np.argmax(wrong & self.occurs()))]
        assert self._facts.values is not None
        places = np.searchsorted(edges, self._facts.values, side="right")
        return None, repr(float(self._facts.values[int(np.argmax(wrong[places]))]))


@dataclass(frozen=True)
class ColumnCoder:
    """How the cells of a column become codes; numbers stay as they are if there are no levels."""

    variable: Variable
    coding: Coding
    by_label: Mapping[str, int]
    gap: int | None = None
    """The code of missing cells, if they are a level."""

    def codes(self, column: CsvColumn, decimal: str, where: str) -> NDArray[Any]:
        """Code the cells of a piece."""
        assert column.cells is not None
        name, levels = self.variable.name, self.variable.levels
        if levels is None:
            return self._numbers(column, decimal)
        narrow = code_type(len(levels))
        gap = int(np.iinfo(narrow).max) if self.gap is None else self.gap
        if column.kind == NUMBERS:
            if self.coding.edges is None:
                raise changed(where, name)
            return self.coding.codes_of_numbers(column.cells, narrow, gap)
        table = np.full(int(np.iinfo(column.cells.dtype).max) + 1, gap, dtype=narrow)
        for k, label in enumerate(column.labels):
            code = self._code_of(label, decimal)
            if code is None:
                raise changed(where, name)
            table[k] = code
        result: NDArray[Any] = table[column.cells]
        return result

    def _code_of(self, label: str, decimal: str) -> int | None:
        if self.coding.edges is None or label in self.by_label:
            return self.by_label.get(label)
        # Labels of one piece, and too many of them in all: then they are numbers.
        numbers = numbers_of_labels([label], decimal)[:1]
        if np.isnan(numbers[0]):
            return None
        return int(self.coding.codes_of_numbers(numbers, np.int64)[0])

    def _numbers(self, column: CsvColumn, decimal: str) -> NDArray[np.float64]:
        assert column.cells is not None
        if column.kind == NUMBERS:
            found: NDArray[np.float64] = column.cells
            return found
        numbers = numbers_of_labels(column.labels, decimal)
        places = np.where(missing_mask(column.cells), len(column.labels), column.cells)
        return numbers[places]


@dataclass(frozen=True)
class SettledTable:
    """All that is needed to code a piece, and what is known of all rows afterwards."""

    coders: tuple[ColumnCoder, ...]
    n: int
    n_rows: int
    unit: float
    gaps: tuple[bool, ...]
    n_before: int
    """Rows before those with missing values were treated, weighted (in units)."""
    missing: Mapping[str, int]
    """Their missing cells by column, weighted (in units)."""
    bits: int
    drops: bool
    decimal: str
    where: str

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The columns."""
        return tuple(coder.variable for coder in self.coders)

    @property
    def with_added_level(self) -> frozenset[str]:
        """The columns that have a level for what is missing, which was not declared."""
        return frozenset(
            coder.variable.name
            for coder in self.coders
            if len(coder.variable.levels or ()) > len(coder.coding.levels or ())
        )

    @property
    def cut(self) -> tuple[str, ...]:
        """The columns whose numbers became intervals."""
        return tuple(c.variable.name for c in self.coders if c.coding.edges is not None)

    def coded(
        self, piece: PieceColumns
    ) -> tuple[list[NDArray[Any]], NDArray[np.int64] | None, int]:
        """Return codes and numbers, weights in units, and how many rows of a piece count."""
        columns = [
            coder.codes(column, self.decimal, self.where)
            for coder, column in zip(self.coders, piece.columns, strict=True)
        ]
        keep = np.ones(piece.n_rows, dtype=bool)
        weights = None
        if piece.weights is not None:
            weights = whole_weights(piece.weights, self.bits)
            keep &= weights > 0
        if self.drops:
            for column in piece.columns:
                assert column.cells is not None
                keep &= ~missing_mask(column.cells)
        if not keep.all():
            columns = [column[keep] for column in columns]
            weights = None if weights is None else weights[keep]
        return columns, weights, int(np.count_nonzero(keep))


def changed(where: str, name: str) -> DataError:
    """Say that a table is no longer what it was when its levels were found."""
    return DataError(
        f"{where}: column {quote(name)}: a value that was not there before; the table changed "
        "while it was read"
    )


def settle(facts: TableFacts, survey: Survey, where: str) -> SettledTable:
    """Settle the columns of a table, given the facts that a survey of all its pieces found."""
    names, options, bits = survey.columns, survey.options, survey.bits
    columns = zip(names, facts.columns, strict=True)
    read = ((name, column.kind, list(column.labels)) for name, column in columns)
    refuse_cuts_by_others(read, options, where, IN_PIECES)
    _refuse_many_values(facts.columns, survey, where)
    _sort_labels(facts.columns, names, options)
    seen = {name: _Seen(column) for name, column in zip(survey.columns, facts.columns, strict=True)}
    as_read = [CsvColumn(column.kind, column.labels, None) for column in seen.values()]
    refuse_identifiers(as_read, names, range(len(names)), options, where)
    codings = {name: coding_of(name, column, options, None, where) for name, column in seen.items()}
    warn_of_codings(codings, options)
    coders = [_coder(name, seen[name], coding) for name, coding in codings.items()]
    variables = [coder.variable for coder in coders]
    if facts.weightless:
        unseen = {name: _unseen(seen[name], coding, options) for name, coding in codings.items()}
        tell_levels_without_weight(unseen, free_levels(variables, options))
    missing = _count_missing(facts.columns, variables, options)
    coders = _treat_gaps(facts, coders, options, where)
    drops = options.missing == "drop"
    return SettledTable(
        tuple(coders),
        facts.complete_n if drops else facts.n,
        facts.complete_rows if drops else facts.n_rows,
        2.0**-bits,
        tuple(options.missing == "available" and column.gaps > 0 for column in facts.columns),
        facts.n,
        missing,
        bits,
        drops,
        options.decimal,
        where,
    )


def _refuse_many_values(columns: Sequence[ColumnFacts], survey: Survey, where: str) -> None:
    for name, column in zip(survey.columns, columns, strict=True):
        if column.values is not None and len(column.values) > survey.most_values:
            raise CannotAnswer(
                f"{where}: column {quote(name)}: to cut more than {survey.most_values} different "
                f"numbers by how often they occur takes more than {parameter('max_memory')} "
                f"allows; give the cut points ({parameter('cut')})"
            )


def _sort_labels(
    columns: Sequence[ColumnFacts], names: Sequence[str], options: ReadOptions
) -> None:
    """Forget the order in which pieces came."""
    for name, column in zip(names, columns, strict=True):
        declared = options.declared_levels(name)
        order = list(column.labels) if declared is not None else sorted(column.labels)
        column.labels = {label: column.labels[label] for label in order}


def _coder(name: str, seen: _Seen, coding: Coding) -> ColumnCoder:
    codes = range(len(seen.labels)) if coding.of_label is None else coding.of_label.tolist()
    # Of numbers, the labels are those that there were before they became too many.
    by_label = dict(zip(seen.labels, codes, strict=True)) if seen.kind != NUMBERS else {}
    # What occurred is not needed any more, and may be as long as the table.
    return ColumnCoder(Variable(name, coding.levels), coding._replace(numbers=None), by_label)


def _unseen(seen: _Seen, coding: Coding, options: ReadOptions) -> list[str]:
    """The levels that no row has that does not weigh 0."""
    if coding.levels is None:
        return []
    occurs = np.zeros(len(coding.levels), dtype=bool)
    if seen.kind == NUMBERS:
        values = seen.numbers(options.decimal).counting.values
        occurs[coding.codes_of_numbers(values, np.int64)] = True
    else:
        codes = np.flatnonzero(seen.weights())
        occurs[codes if coding.of_label is None else coding.of_label[codes]] = True
    return [level for level, there in zip(coding.levels, occurs, strict=True) if not there]


def _count_missing(
    columns: Sequence[ColumnFacts], variables: Sequence[Variable], options: ReadOptions
) -> dict[str, int]:
    """The missing cells of columns that have some; see `gml.data.missing.count_missing`."""
    counts = {}
    for column, variable in zip(columns, variables, strict=True):
        cells = column.gap_weight
        said = NA_LEVEL in (variable.levels or ()) and NA_LEVEL in options.na_tokens
        if options.missing == "level" and said:
            cells += column.labels.get(NA_LEVEL, 0)
        if cells:
            counts[variable.name] = cells
    return counts


def _treat_gaps(
    facts: TableFacts, coders: list[ColumnCoder], options: ReadOptions, where: str
) -> list[ColumnCoder]:
    """Treat missing cells as `gml.data.missing.apply_missing_policy` does."""
    policy = options.missing
    gaps = {
        coder.variable.name: column.gaps
        for coder, column in zip(coders, facts.columns, strict=True)
        if column.gaps
    }
    numbers = [c.variable.name for c in coders if c.variable.name in gaps and not _has_levels(c)]
    if policy == "available":
        return coders
    if policy == "level" and numbers:
        raise numbers_have_no_level(numbers)
    if not gaps and not facts.unweighed:
        return coders
    if policy == "error":
        raise refused_gaps(
            gaps,
            where,
            numbers,
            offer_available=options.offer_available,
            offer_em=options.offer_em,
        )
    if policy == "drop":
        if facts.unweighed:
            gaps[str(options.weights_column)] = facts.unweighed
        tell_dropped(facts.n_rows - facts.complete_rows, facts.n_rows, gaps)
        return coders
    declared = {*options.levels.levels, *options.levels.intervals}
    return [
        _with_gap_level(coder, coder.variable.name in declared)
        if coder.variable.name in gaps
        else coder
        for coder in coders
    ]


def _has_levels(coder: ColumnCoder) -> bool:
    return coder.variable.levels is not None


def _with_gap_level(coder: ColumnCoder, declared: bool) -> ColumnCoder:
    levels = levels_with_gaps(coder.variable, declared=declared)
    variable = Variable(coder.variable.name, levels)
    return replace(coder, variable=variable, gap=levels.index(NA_LEVEL))
