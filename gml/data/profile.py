"""The profile of a table: levels, their order and counts, cut points, and how much is missing.

Every column has one. What cannot be a column of a schema says why, and which option would make it
one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gml.data.chosen_cuts import cut_column
from gml.data.coding import build_dataset, kinds_by_rule, weights_of
from gml.data.column_facts import (
    NESTED,
    NUMBERS,
    Facts,
    facts_of_labels,
    facts_of_numbers,
)
from gml.data.dataset import Dataset, Variable, missing_code, missing_mask
from gml.data.discretize import interval_levels
from gml.data.information_loss import information_kept
from gml.data.levels import is_numeric
from gml.data.missing import why_no_rows
from gml.data.missing_patterns import MissingPatterns
from gml.data.number_summary import NumberValues
from gml.data.options import ReadOptions
from gml.data.schema import NUMERIC
from gml.data.schema_problems import SchemaProblem, nameless, unusable
from gml.data.survey import Surveyed, survey
from gml.errors import CannotAnswer, counted, listing
from gml.kernel import layout
from gml.kernel.layout import SKIP, CsvColumn
from gml.progress import reporter, tracked

if TYPE_CHECKING:
    import pandas as pd

Number = int | float


@dataclass(frozen=True)
class ColumnProfile:
    """A column: its levels, or the cut points that make them, and the rows of each level.

    `type` is numeric, or as declared in a schema. `levels` are given where a schema needs them to
    read the same levels again: not where the cut points say it all, nor where every cell is
    missing. `order` is numeric, codepoint or declared.

    `guess` says what the column may hold (see `gml.data.column_facts`), `distinct` how many
    different values it has, None if that is not known, and `numbers` sums them up if all are
    numbers. `why` says why it cannot be a column of a schema, if it cannot, and `option` which
    option would make it one, with a value.
    """

    name: str
    type: str | None
    levels: tuple[str, ...] | None
    cuts: tuple[float, ...] | None
    order: str | None
    counts: tuple[Number, ...]
    missing: Number | None
    rate: float | None
    guess: str | None = None
    distinct: int | None = None
    numbers: Mapping[str, Any] | None = None
    why: str | None = None
    option: Mapping[str, Number] | None = None
    information: Mapping[str, Any] | None = None
    """What a column that was cut says about all others, and with a class about that."""


@dataclass(frozen=True)
class Profile:
    """The weighted number of rows, the columns in order, and the tokens that mean missing."""

    rows: Number
    columns: tuple[ColumnProfile, ...]
    na: tuple[str, ...]
    patterns: MissingPatterns | None = None
    """Which columns are missing together, if that was asked for."""
    dialect: Mapping[str, Any] = field(default_factory=dict)
    """How the table is read, as far as options or a schema say so."""

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one row per column."""
        import pandas as pd

        return pd.DataFrame([asdict(column) for column in self.columns])

    def __repr__(self) -> str:
        names = [column.name for column in self.columns]
        rows = f"{self.rows} {'row' if self.rows == 1 else 'rows'}"
        gaps = "" if self.patterns is None else f"; {self.patterns.in_words()}"
        return f"Profile({rows}, {counted(len(names), 'column')}: {listing(names)}{gaps})"


def profile_table(
    data: str | os.PathLike[str] | pd.DataFrame,
    options: ReadOptions,
    patterns_of: Callable[[Dataset], MissingPatterns] | None = None,
) -> Profile:
    """Return the profile of all columns of a table; `patterns_of` sees the gaps of its schema.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": range(300), "size": ["S", "L"] * 150})
    >>> for column in profile_table(frame, ReadOptions(missing="available")).columns:
    ...     print(column.name, column.guess, column.distinct, column.why, column.option)
    id identifier 300 an identifier; leave it out, or say what it is None
    size labels 2 None None
    """
    read = survey(data, replace(options, missing="available"))
    options = read.options
    weights, unit = weights_of(read.columns, read.names, options, read.where)
    n = read.n_rows if weights is None else int(weights.sum())
    reporter().note(f"{counted(n, 'row')}, {counted(len(read.chosen), 'column')} used")
    if n == 0:
        raise CannotAnswer(f"{read.where}: {why_no_rows(read.where, weighted=weights is not None)}")
    # Coding a column puts its codes in order, so what is to be known of it comes before.
    facts = {j: _facts(read, j, weights, unit, options) for j in tracked("columns", read.chosen)}
    gaps = {j: _gaps(read, j, weights) for j in read.chosen}
    addressable = set(read.addressable())
    kinds = kinds_by_rule(read.columns, read.names, sorted(addressable), options)
    problems = {
        j: unusable(read, j, facts[j], kinds, options)
        if j in addressable
        else nameless(read.names[j])
        for j in read.chosen
    }
    usable = [j for j in read.chosen if problems[j] is None]
    found: dict[int, ColumnProfile] = {}
    patterns = None
    counting = None if weights is None else weights[weights > 0]
    dataset = Dataset((), (), counting, read.digest, unit)
    if usable:
        uncut = _numbers_to_cut(read, usable, options, weights)
        dataset = build_dataset(read.columns, read.names, usable, options, read.where, read.digest)
        described = _columns(dataset, options, [facts[j] for j in usable])
        kept = _information(dataset, uncut, options.discretize_class)
        found = {
            j: replace(column, information=kept.get(column.name))
            for j, column in zip(usable, described, strict=True)
        }
    if patterns_of is not None:
        numbers = [j for j in read.chosen if problems[j] is not None and facts[j].guess == NUMBERS]
        together = _with_numbers(dataset, read, numbers, weights)
        patterns = patterns_of(together) if together.variables else None
    columns = [
        found.get(j) or _outside_schema(read.names[j], facts[j], gaps[j], (n, unit), problems[j])
        for j in read.chosen
    ]
    return Profile(n if unit == 1 else n * unit, tuple(columns), options.na_tokens, patterns)


def _numbers_to_cut(
    read: Surveyed, usable: Sequence[int], options: ReadOptions, weights: NDArray[np.int64] | None
) -> dict[str, NDArray[np.float64]]:
    """The cells of columns that are to be cut, of rows that count."""
    found = {}
    for j in usable:
        cut = cut_column(read.names[j], read.columns[j], options)
        if cut is not None:
            found[read.names[j]] = cut.numbers if weights is None else cut.numbers[weights > 0]
    return found


def _with_numbers(
    dataset: Dataset, read: Surveyed, columns: Sequence[int], weights: NDArray[np.int64] | None
) -> Dataset:
    """Add columns of too many different numbers to be labels: gaps do not ask for labels."""
    variables, cells = list(dataset.variables), list(dataset.columns)
    for j in columns:
        column, name = read.columns[j], read.names[j]
        if (
            column.kind == layout.NUMBERS
            and read.names.count(name) == 1
            and column.cells is not None
        ):
            variables.append(Variable(name, None))
            cells.append(column.cells if weights is None else column.cells[weights > 0])
    return replace(dataset, variables=tuple(variables), columns=tuple(cells))


def _information(
    dataset: Dataset, uncut: Mapping[str, NDArray[np.float64]], of_class: str | None
) -> dict[str, dict[str, Any]]:
    """What cutting keeps of what columns say about all others and, if there is one, a class."""
    found = {
        name: dict[str, Any](kept.written())
        for name, kept in information_kept(dataset, uncut).items()
    }
    if of_class is not None:
        for name, kept in information_kept(dataset, uncut, of_class).items():
            found[name]["class"] = kept.written()
    return found


def profile(dataset: Dataset, options: ReadOptions) -> Profile:
    """Return the profile of a table that was read with these options and `available`.

    What is said of its columns is found from what the table still has of them.

    Examples
    --------
    >>> from gml.data.reading import read
    >>> options = ReadOptions(columns=("Age",), missing="available")
    >>> data = read("sample_data/survey_missing.csv", columns=("Age",), missing="available")
    >>> (age,) = profile(data, options).columns
    >>> age.levels, age.counts, age.missing
    (('adult', 'old', 'young'), (458, 204, 290), 48)
    """
    options = replace(options, decimal=dataset.decimal)
    pairs = zip(dataset.variables, dataset.columns, strict=True)
    facts = [_facts_left(dataset, variable, column, options) for variable, column in pairs]
    known = None if dataset.origin is None else dataset.origin.na
    tokens = options.na_tokens if known is None else known
    dialect = {} if dataset.origin is None else dataset.origin.dialect
    columns = _columns(dataset, options, facts)
    return Profile(dataset.in_rows(dataset.n), columns, tokens, dialect=dialect)


def _columns(
    dataset: Dataset, options: ReadOptions, facts: Sequence[Facts]
) -> tuple[ColumnProfile, ...]:
    """Describe the columns of a table, given their facts in order."""
    columns = tracked("columns", list(zip(dataset.variables, dataset.columns, facts, strict=True)))
    return tuple(
        _column(dataset, variable, column, options, known) for variable, column, known in columns
    )


def _column(
    dataset: Dataset,
    variable: Variable,
    column: NDArray[Any],
    options: ReadOptions,
    facts: Facts,
) -> ColumnProfile:
    name, levels = variable.name, variable.levels or ()
    gaps = dataset.count(missing_mask(column))
    counts: tuple[Number, ...] = ()
    if not variable.is_continuous:
        counts = tuple(map(dataset.in_rows, _counts(dataset, column, len(levels))))
    cuts = dataset.origin.cuts.get(name) if dataset.origin is not None else None
    order = None
    if cuts and interval_levels(cuts) == levels:
        levels = ()
    elif cuts is not None:
        # Empty intervals were not levels, but cut points alone would bring them back.
        cuts, order = None, "numeric"
    elif _is_declared(name, options):
        order = "declared"
    else:
        order = "numeric" if is_numeric(levels, decimal=options.decimal) else "codepoint"
    return ColumnProfile(
        name=name,
        type=NUMERIC if variable.is_continuous else options.levels.kinds.get(name),
        levels=levels or None,
        cuts=cuts,
        order=order if levels else None,
        counts=counts,
        missing=dataset.in_rows(gaps),
        rate=gaps / dataset.n,
        guess=facts.guess,
        distinct=facts.distinct,
        numbers=None if facts.numbers is None else facts.numbers.written(),
    )


def _counts(dataset: Dataset, column: NDArray[np.uint8], n_levels: int) -> list[int]:
    """The weighted number of rows per level (in units)."""
    totals = np.zeros(missing_code(column) + 1, dtype=np.int64)
    np.add.at(totals, column, 1 if dataset.weights is None else dataset.weights)
    found: list[int] = totals[:n_levels].tolist()
    return found


def _is_declared(name: str, options: ReadOptions) -> bool:
    declared = (options.declared_levels(name), options.declared_intervals(name))
    return any(levels is not None for levels in declared)


# ---------------------------------------------------------------------- what columns look like


def _facts(
    read: Surveyed,
    j: int,
    weights: NDArray[np.int64] | None,
    unit: float,
    options: ReadOptions,
) -> Facts:
    column = read.columns[j]
    if j in read.long:
        return read.long[j].facts
    if column.kind == SKIP:
        return Facts(NESTED, None)
    return _facts_of_cells(column, weights, unit, options)


def _facts_of_cells(
    column: CsvColumn,
    weights: NDArray[np.int64] | None,
    unit: float,
    options: ReadOptions,
) -> Facts:
    assert column.cells is not None
    cells, counts = column.cells, weights
    if weights is not None and not weights.all():
        cells, counts = cells[weights > 0], weights[weights > 0]
    present = ~missing_mask(cells)
    if column.kind == layout.NUMBERS:
        counts = None if counts is None else counts[present]
        n = int(np.count_nonzero(present))
        numbers = NumberValues.of(cells[present], counts)
        return facts_of_numbers(numbers, n, whole_rows=unit == 1)
    rows = np.bincount(cells[present], minlength=len(column.labels)).astype(np.int64)
    total = rows
    if counts is not None:
        total = np.zeros(len(rows), dtype=np.int64)
        np.add.at(total, cells[present], counts[present])
    return facts_of_labels(
        column.labels,
        rows,
        total,
        decimal=options.decimal,
        max_levels=options.max_levels,
        whole_rows=unit == 1,
    )


def _facts_left(
    dataset: Dataset, variable: Variable, column: NDArray[Any], options: ReadOptions
) -> Facts:
    """Return the facts of a column that was coded; numbers that were cut are known of all rows."""
    name, origin = variable.name, dataset.origin
    if origin is not None and name in origin.numbers:
        numbers = origin.numbers[name]
        # Cells that name an interval are no numbers.
        if numbers.n == origin.n - origin.missing.get(name, 0):
            rows = int(np.count_nonzero(~missing_mask(column)))
            present = numbers.n if dataset.weights is None else rows
            return facts_of_numbers(numbers, present, whole_rows=True)
    elif origin is not None and name in origin.cuts:
        return Facts(NUMBERS, None)
    kind = layout.NUMBERS if variable.is_continuous else layout.CODES8
    left = CsvColumn(kind, list(variable.levels or ()), column)
    return _facts_of_cells(left, dataset.weights, dataset.unit, options)


def _gaps(read: Surveyed, j: int, weights: NDArray[np.int64] | None) -> int | None:
    """Return the missing cells with their weights (in units), if they are known."""
    column = read.columns[j]
    if column.kind == SKIP:
        return None
    if j in read.long:
        return read.long[j].gaps
    assert column.cells is not None
    mask = missing_mask(column.cells)
    return int(np.count_nonzero(mask) if weights is None else weights[mask].sum())


# ---------------------------------------------------------------------- what has no place


def _outside_schema(
    name: str,
    facts: Facts,
    gaps: int | None,
    size: tuple[int, float],
    problem: SchemaProblem | None,
) -> ColumnProfile:
    assert problem is not None
    n, unit = size
    return ColumnProfile(
        name=name,
        type=None,
        levels=None,
        cuts=None,
        order=None,
        counts=(),
        missing=None if gaps is None else gaps if unit == 1 else gaps * unit,
        rate=None if gaps is None else gaps / n,
        guess=facts.guess,
        distinct=facts.distinct,
        numbers=None if facts.numbers is None else facts.numbers.written(),
        why=problem.why,
        option=problem.option,
    )
