"""What the columns of a table are, decided when all its rows have passed by in pieces.

What is known of them (`gml.data.table_tally`) settles the levels of each column, where numbers are
cut, and what becomes of missing values, as `gml.data.coding` does for a table that is read at once:
with the same levels, the same counts and the same messages, but for the row of a bad cell, which
nobody knows any more. Then the cells of any piece can be coded by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from gml.data.chosen_cuts import refuse_cuts_by_others
from gml.data.coding import cuts_of, free_levels, numbers_behind, warn_of_codings
from gml.data.column_coding import Coding, coding_of
from gml.data.column_tally import ColumnTally
from gml.data.dataset import Origin, Variable
from gml.data.identifiers import refuse_identifiers
from gml.data.kind_rule import numeric_among
from gml.data.label_warnings import tell_kinds, tell_levels_without_weight
from gml.data.levels import NA_LEVEL
from gml.data.missing import (
    levels_with_gaps,
    numbers_have_no_level,
    refused_gaps,
    require_complete,
    rows_with_unweighed,
    tell_dropped,
)
from gml.data.missing_patterns import tell_missing_together
from gml.data.options import ReadOptions
from gml.data.settled_cells import SettledColumn
from gml.data.table_tally import TableTally
from gml.kernel.layout import NUMBERS, CsvColumn


class SettledTable(NamedTuple):
    """What was decided."""

    columns: tuple[SettledColumn, ...]
    tally: TableTally
    gaps: tuple[bool, ...]
    """Whether each column has a missing value in a row that counts."""
    origin: Origin | None
    """None if nobody knows how the rows were read."""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The columns."""
        return tuple(column.variable for column in self.columns)

    @property
    def lacking(self) -> dict[str, int]:
        """The missing cells of columns that have some, weighted."""
        return {tally.name: tally.lacking for tally in self.tally.columns if tally.lacking}

    @property
    def extremes(self) -> dict[int, tuple[float, float]]:
        """The least and the largest of columns of numbers, unless labels spelt some of them."""
        return {
            j: (tally.low, tally.high)
            for j, (column, tally) in enumerate(zip(self.columns, self.tally.columns, strict=True))
            if column.variable.is_continuous and not tally.labels
        }

    @property
    def cut(self) -> tuple[str, ...]:
        """The columns whose numbers became intervals."""
        return tuple(c.variable.name for c in self.columns if c.coding.edges is not None)


def settle(
    tally: TableTally, options: ReadOptions, where: str, held: str, *, unit: float = 1.0
) -> SettledTable:
    """Decide what columns are; rows are `held` elsewhere than in memory, for messages.

    `unit` is what weights are counted in.
    """
    found = tally.columns
    names = [column.name for column in found]
    as_read = [CsvColumn(column.kind, column.labels, None) for column in found]
    kinds = {c.name: kind for c in found if (kind := c.settled_kind()) is not None}
    refuse_identifiers(as_read, names, range(len(names)), kinds, options, where)
    refuse_cuts_by_others(((c.name, c.kind, c.labels) for c in found), options, where, held)
    codings = {c.name: coding_of(c.name, c, options, None, kinds.get(c.name), where) for c in found}
    warn_of_codings(codings, options)
    tell_kinds(kinds)
    read = [Variable(name, coding.levels) for name, coding in codings.items()]
    if tally.rows_weighed < tally.rows_read:
        unseen = {column.name: _unseen(column, codings[column.name], options) for column in found}
        tell_levels_without_weight(unseen, free_levels(read, options))
    origin = Origin(
        tally.n_before,
        {c.name: n for c in found if (n := _missing(c, codings[c.name], options))},
        cuts_of(codings),
        options.missing,
        numbers_behind(codings),
        options.na_tokens,
        options.decimal,
        numeric_among(kinds),
        options.dialect,
    )
    if tally.gaps is not None:
        tell_missing_together(tally.gaps, names, tally.rows_weighed)
    levels = _levels_of_gaps(tally, codings, options, where, unit)
    columns = []
    for column, variable in zip(found, read, strict=True):
        name, gap = column.name, None
        if name in levels:
            variable, gap = Variable(name, levels[name]), levels[name].index(NA_LEVEL)
        columns.append(SettledColumn(variable, codings[name], column.labels, options.decimal, gap))
    return SettledTable(tuple(columns), tally, _gaps(tally, options), origin)


def settle_as(
    tally: TableTally, variables: tuple[Variable, ...], options: ReadOptions, origin: Origin | None
) -> SettledTable:
    """Give rows the levels of these variables: nothing is left to be decided."""
    columns = []
    for column, variable in zip(tally.columns, variables, strict=True):
        place = {level: code for code, level in enumerate(variable.levels or ())}
        codes = np.array([place[label] for label in column.labels], dtype=np.int64)
        columns.append(SettledColumn(variable, Coding(variable.levels, codes), column.labels))
    return SettledTable(tuple(columns), tally, _gaps(tally, options), origin)


def _gaps(tally: TableTally, options: ReadOptions) -> tuple[bool, ...]:
    """Otherwise they are dropped, or a level of their own."""
    return tuple(
        options.missing == "available" and column.lacking_rows > 0 for column in tally.columns
    )


def _unseen(tally: ColumnTally, coding: Coding, options: ReadOptions) -> list[str]:
    """The levels that no row has that does not weigh 0."""
    if coding.levels is None:
        return []
    seen = np.zeros(len(coding.levels), dtype=bool)
    if tally.kind == NUMBERS:
        values = tally.numbers(options.decimal).counting.values
        seen[coding.codes_of_numbers(values, np.int64)] = True
    else:
        codes = np.flatnonzero(tally.kept())
        seen[codes if coding.of_label is None else coding.of_label[codes]] = True
    return [level for level, is_seen in zip(coding.levels, seen, strict=True) if not is_seen]


def _missing(tally: ColumnTally, coding: Coding, options: ReadOptions) -> int:
    """The missing cells of a column, weighted; see `gml.data.missing.count_missing`."""
    said = NA_LEVEL in (coding.levels or ()) and NA_LEVEL in options.na_tokens
    if options.missing == "level" and said:
        return tally.lacking + tally.times_of(NA_LEVEL)
    return tally.lacking


def _levels_of_gaps(
    tally: TableTally,
    codings: Mapping[str, Coding],
    options: ReadOptions,
    where: str,
    unit: float,
) -> dict[str, tuple[str, ...]]:
    """Treat missing values as `gml.data.missing.apply_missing_policy` does.

    Returns the levels of columns for which what is missing is one.
    """
    gaps = {column.name: column.lacking_rows for column in tally.columns if column.lacking_rows}
    numbers = [name for name in gaps if codings[name].levels is None]
    if options.missing == "level" and numbers:
        raise numbers_have_no_level(numbers, offer_em=options.offer_em)
    if options.missing == "level":
        return {
            name: levels_with_gaps(
                Variable(name, codings[name].levels), declared=options.declares_missing(name)
            )
            for name in gaps
        }
    if options.missing == "error" and gaps:
        raise refused_gaps(
            gaps,
            where,
            numbers,
            offer_available=options.offer_available,
            offer_em=options.offer_em,
            advice=options.gaps_advice,
        )
    if options.missing == "drop" and (gaps or tally.unweighed):
        before, after = (n if unit == 1 else n * unit for n in (tally.n_before, tally.n))
        require_complete(
            after,
            rows_with_unweighed(before, tally.rows_weighed, tally.unweighed),
            gaps,
            where,
            min_complete=options.min_complete,
            offer_available=options.offer_available,
            offer_em=options.offer_em,
            offer_exclude=options.offer_exclude,
        )
        unweighed = {str(options.weights_column): tally.unweighed} if tally.unweighed else {}
        tell_dropped(tally.n_dropped, tally.rows_weighed, {**gaps, **unweighed})
    return {}
