"""Files to datasets: choose the columns, let the kernel read them, order levels, treat missing."""

from __future__ import annotations

import os
from collections import Counter as Multiset
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
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
from gml.data.header import Header, read_header
from gml.data.levels import NA_LEVEL, order_levels
from gml.data.missing import apply_missing_policy, count_missing
from gml.data.options import ReadOptions
from gml.data.problems import explain_problem, undeclared
from gml.data.source import ByteSource, open_source
from gml.errors import DataError, UsageError, listing, quote, unknown_name
from gml.kernel.layout import (
    CODES8,
    NUMBERS,
    OVERFLOW,
    SKIP,
    ColumnSpec,
    CsvColumn,
    CsvDialect,
    CsvProblem,
    CsvResult,
)
from gml.kernel.number import parse_number
from gml.ledger import note_digest
from gml.resources import budget_in_force, require_memory

# Small tables are read whatever the budget, which is asked again for what is made of them.
_ALWAYS_READ = 1 << 26
# What a column takes before it has rows: its levels and their hash, and the objects around them.
_COLUMN_BYTES = 3600
# Of as many nobody asks: the interpreter itself takes ten times more.
_FEW_COLUMNS = 1000
_MOST_NAMED = 100

Choice = Callable[[Sequence[str]], Sequence[str]]
"""Picks the columns used, given the names of those there are."""


def read(path: str | os.PathLike[str], *, numeric: bool = False, **options: Any) -> Dataset:
    """Read a table: CSV or TSV, compressed or not, Parquet, or `-` for standard input.

    With `numeric`, the columns become numbers instead of levels. Other keyword arguments are the
    fields of `ReadOptions`: columns, exclude, delimiter, decimal, encoding, na, missing, weights,
    bins, discretize, cuts, schema, max_levels, weights_fractional, digest.

    Examples
    --------
    >>> data = read("sample_data/asia.csv", columns=("smoke", "lung"))
    >>> data.names, data.n
    (('smoke', 'lung'), 5000)
    """
    return read_dataset(path, ReadOptions(**options), numeric=numeric)


def read_dataset(
    path: str | os.PathLike[str],
    options: ReadOptions,
    *,
    used: Choice | None = None,
    numeric: bool = False,
) -> Dataset:
    """Read the columns that `used` picks out of those that the options leave (default: all).

    With `numeric`, the columns become float64 instead of levels.
    """
    if str(path) != "-":
        from gml.data.parquet import is_parquet, open_parquet

        if is_parquet(path):
            with open_parquet(path, options) as table:
                chosen = choose_columns(table.names, options, used, str(path))
                columns, digest = table.load(_specs(table.names, chosen, options, numeric))
            note_digest(path, digest)
            return _build(columns, table.names, chosen, options, numeric, str(path), digest)
    with open_source(path, digest=options.digest) as source:
        if options.encoding is not None:
            source.transcode(options.encoding)
        delimiter = options.delimiter or default_delimiter(path)
        header = read_header(source, source.name, delimiter)
        chosen = choose_columns(header.names, options, used, source.name)
        specs = _specs(header.names, chosen, options, numeric)
        limit = max(budget_in_force(), _ALWAYS_READ)
        dialect = CsvDialect(delimiter, options.decimal, options.na_tokens, cells_limit=limit)
        cells = _read_cells(source, header, specs, dialect)
        digest = source.digest()
        note_digest(path, digest)
        dataset = _build(cells.columns, header.names, chosen, options, numeric, source.name, digest)
        if cells.n_lines == dataset.n_rows:
            return replace(dataset, first_line=header.next_line)
        return dataset


def default_delimiter(path: str | os.PathLike[str]) -> str:
    """Return what the suffix of a file says: tabs for .tsv, commas otherwise."""
    place = Path(path)
    if place.suffix.lower() in (".gz", ".bz2", ".xz", ".zst"):
        place = place.with_suffix("")
    return "\t" if place.suffix.lower() in (".tsv", ".tab") else ","


def choose_columns(
    names: Sequence[str], options: ReadOptions, used: Choice | None, where: str
) -> list[int]:
    """Return the positions of the columns used, in the order asked for or of the file."""
    # Of a name that is there twice, the first: it is refused if it is used.
    position = {name: j for j, name in reversed(list(enumerate(names)))}
    for name in (*(options.columns or ()), *options.exclude, *options.cuts):
        if name not in position:
            raise UsageError(unknown_name("column", name, names))
    weights = options.weights_column
    if weights is not None and weights not in position:
        raise UsageError(unknown_name("weights column", weights, names))
    wanted = list(options.columns) if options.columns is not None else list(names)
    dropped = {*options.exclude, *([] if weights is None else [weights])}
    wanted = [name for name in wanted if name not in dropped]
    if used is not None:
        left, wanted = wanted, list(used(wanted))
        offered = set(left)
        for name in wanted:
            if name not in position:
                raise UsageError(unknown_name("column", name, left))
            if name not in offered:
                raise UsageError(f"column {quote(name)} is left out by the options")
    repeated = [name for name, times in Multiset(wanted).items() if times > 1]
    if options.columns is not None and repeated:
        raise UsageError(f"--columns names {listing(repeated)} twice")
    read = {*wanted, *([] if weights is None else [weights])}
    if "" in read:
        raise DataError(
            f"{where}: a column without a name is in use; choose others with --columns or "
            "--exclude '\"\"'"
        )
    twice = [name for name, times in Multiset(names).items() if times > 1 and name in read]
    if twice:
        raise DataError(
            f"{where}: the header has {listing(twice)} more than once; choose other columns with "
            "--columns"
        )
    if not wanted:
        raise UsageError("no columns are left")
    if len(wanted) > _FEW_COLUMNS:
        require_memory(_COLUMN_BYTES * len(wanted), None, f"reading {len(wanted)} columns")
    return [position[name] for name in wanted]


def _specs(
    names: Sequence[str], chosen: Sequence[int], options: ReadOptions, numeric: bool
) -> list[ColumnSpec]:
    specs = [ColumnSpec(SKIP)] * len(names)
    for j in chosen:
        name = names[j]
        if numeric:
            specs[j] = ColumnSpec(NUMBERS)
        elif (declared := options.declared_levels(name)) is not None:
            specs[j] = ColumnSpec(CODES8, MAX_LEVELS, declared)
        elif (intervals := options.declared_intervals(name)) is not None:
            known = (NA_LEVEL,) if NA_LEVEL in intervals else ()
            specs[j] = ColumnSpec(CODES8, MAX_LEVELS, known=known, numbers_on_overflow=True)
        elif options.binning(name) is not None:
            specs[j] = ColumnSpec(NUMBERS)
        elif expected := options.expected_levels(name):
            most = max(options.max_levels, len(expected))
            specs[j] = ColumnSpec(CODES8, most, known=expected)
        elif options.bins is not None:
            specs[j] = ColumnSpec(CODES8, MAX_LEVELS, numbers_on_overflow=True)
        else:
            specs[j] = ColumnSpec(CODES8, options.max_levels)
    if options.weights_column is not None:
        counts = options.weights is not None
        specs[names.index(options.weights_column)] = ColumnSpec(NUMBERS, counts=counts)
    return specs


def _read_cells(
    source: ByteSource, header: Header, specs: list[ColumnSpec], dialect: CsvDialect
) -> CsvResult:
    try:
        result: CsvResult = kernel.active().read_csv(
            source, header.rest, header.next_line, specs, dialect
        )
    except CsvProblem as problem:
        raise explain_problem(problem, source.name, header.names, specs) from None
    return result


def _build(
    columns: Sequence[CsvColumn],
    names: Sequence[str],
    chosen: Sequence[int],
    options: ReadOptions,
    numeric: bool,
    where: str,
    digest: str | None,
) -> Dataset:
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
        if numeric:
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
        declared={*options.schema.levels, *options.schema.intervals},
    )


def _refuse_identifiers(
    columns: Sequence[CsvColumn],
    names: Sequence[str],
    chosen: Sequence[int],
    options: ReadOptions,
    where: str,
) -> None:
    """Columns with too many levels are named all at once."""
    too_many = []
    for j in chosen:
        name, column = names[j], columns[j]
        if column.kind == OVERFLOW and options.declared_intervals(name) is not None:
            raise DataError(
                f"{where}: column {quote(name)}: more than {MAX_LEVELS} different values, and not "
                "all of them numbers, where intervals are declared"
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
        record = ",".join(_csv_field(name) for name in too_many[:_MOST_NAMED])
        one = len(too_many) == 1
        more = " …" if len(too_many) > _MOST_NAMED else ""
        cut = "" if options.bins is not None else ", cut numbers into intervals (--bins 5)"
        raise DataError(
            f"{where}: more than {options.max_levels} levels, like "
            f"{'an identifier, in column' if one else 'identifiers, in columns'} "
            f"{listing(too_many)}; leave {'it' if one else 'them'} out "
            f"(--exclude {record!r}{more}){cut} "
            "or raise --max-levels"
        )


def _csv_field(name: str) -> str:
    if any(c in name for c in ',"\r\n') or name == "":
        return '"' + name.replace('"', '""') + '"'
    return name


def _numbers_to_cut(labels: Sequence[str], options: ReadOptions) -> NDArray[np.float64] | None:
    """Return the numbers that the labels spell, if --bins asks to cut that many."""
    if options.bins is None or len(labels) <= options.bins:
        return None
    values = [parse_number(label.encode(), options.decimal) for label in labels]
    if None in values or len(set(values)) <= options.bins:
        return None
    return np.array(values, dtype=np.float64)


class _Coded(NamedTuple):
    """Levels in order, the codes of the cells, and where numbers were cut, if they were."""

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
    """Codes of a column whose cells are intervals by name, or numbers within them.

    Where levels are expected and not declared, what is neither follows them.
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
            "it is no number within them"
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
        # Intervals that were chosen from the data are levels only if something lies in them.
        filled = np.unique(codes[present])
        rank = np.zeros(len(levels), dtype=np.int64)
        rank[filled] = np.arange(len(filled))
        codes, levels = rank[codes], tuple(levels[k] for k in filled)
    narrow = code_type(len(levels))
    result = codes.astype(narrow)
    result[~present] = np.iinfo(narrow).max
    return _Coded(levels, result, cuts)
