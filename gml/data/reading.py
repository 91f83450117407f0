"""Tables to datasets: CSV by the kernel, Parquet by pyarrow, frames by pandas."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from gml.calls import public
from gml.data.cells import read_cells
from gml.data.coding import build_dataset
from gml.data.columns import Choice, choose_columns, column_specs
from gml.data.dataset import MAX_LEVELS, Dataset
from gml.data.dialect import default_delimiter
from gml.data.frames import is_frame, read_frame
from gml.data.header import Header, read_header
from gml.data.options import (
    ReadingKeywords,
    ReadOptions,
    Undeclared,
    reading_options,
    with_undeclared,
)
from gml.data.parquet import is_parquet, open_parquet
from gml.data.problems import (
    NotANumber,
    explain_problem,
    hint_among,
    is_text_column,
    leave_out_text,
    word_among_numbers,
)
from gml.data.records import open_records
from gml.data.rejections import about
from gml.data.source import ByteSource, open_source
from gml.errors import DataError, GmlError, UsageError, kind_of, place, require_whole
from gml.kernel.layout import ColumnSpec, CsvDialect, CsvProblem, CsvResult
from gml.ledger import note_digest
from gml.path_kinds import is_file, is_folder
from gml.resources import available_threads, budget_in_force

if TYPE_CHECKING:
    import pandas as pd

# Small tables are read whatever the budget, which is asked again for what is made from them.
_ALWAYS_READ = 1 << 26


@public
def read(
    data: str | os.PathLike[str] | pd.DataFrame,
    *,
    undeclared: Undeclared = "auto",
    digest: bool = False,
    threads: int | None = None,
    **reading: Unpack[ReadingKeywords],
) -> Dataset:
    """Read a table: CSV or TSV, compressed or not, Parquet, `-` for standard input, or a frame.

    Parameters
    ----------
    data
        A path, or a pandas DataFrame, which is read as the CSV file that it would be written to.
    undeclared
        What columns are that nothing declares: "numbers" takes them all for numbers.
    digest
        Whether to hash the file; see `Dataset.digest`.
    threads
        All cores by default; what is read is the same with any number.
    columns, exclude
        Names of the columns to use, and of those to leave out.
    delimiter, decimal, encoding
        How a text file is written: comma (or tab for .tsv), point and UTF-8 by default.
    strip
        Whether blanks around labels, and around names in a header, are not part of them.
    na
        Tokens that mean missing, instead of: empty, NA, N/A, NaN, nan, null, NULL, ?
    missing
        What becomes of missing values: error (the default), drop, level or available.
    min_complete
        The fewest complete rows that `missing="drop"` may leave. By default it is refused where
        over 90 % of the rows would be dropped, or over half with fewer than 30 left.
    weights, weights_fractional
        The column that says how often a row counts: whole numbers, or any numbers.
    bins, discretize
        Cut columns of more than `bins` different numbers, by quantile or width, by what they say
        about a class (mdlp), or about one another (hartemink).
    discretize_class
        The column of labels that mdlp cuts numbers for.
    cut
        How to cut single columns: quantile:5, width:4, 0,10,20, or a list of cut points.
    levels
        Declared levels: a schema file, or the levels of columns by name.
    kinds
        What says which other columns are numeric: their values ("auto", the default), or nothing
        ("labels"), so that all of them are categorical.
    numeric, labels
        Columns that are numeric, and columns that are categorical, whatever their values are.
    max_levels
        The most levels of a column, 255 by default; identifiers have more.
    engine, spool, spool_keep, master
        For verbs that count without having the rows in memory: which engine scans them ("auto",
        "memory", "stream", "spark"), the folder for the file of codes that "stream" reads in
        passes, whether this stays for the next run, and where Spark runs.

    Examples
    --------
    >>> data = read("sample_data/asia.csv", columns=["smoke", "lung"])
    >>> data.names, data.n
    (('smoke', 'lung'), 5000)
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": ["S", "L", "S"], "age": [20, 41, 70]})
    >>> data = read(frame, levels={"size": ["S", "L"]}, cut={"age": [18, 65]})
    >>> data.variables[1].levels
    ('[-inf,18)', '[18,65)', '[65,inf)')
    """
    require_whole(1, threads=threads)
    options = with_undeclared(reading_options(**reading), undeclared)
    options = replace(options, digest=digest, threads=threads)
    return read_dataset(data, options)


def read_dataset(
    data: str | os.PathLike[str] | pd.DataFrame,
    options: ReadOptions,
    *,
    used: Choice | None = None,
) -> Dataset:
    """Read the columns that `used` picks from those that the options leave (default: all)."""
    options.require_memory_engine("what is read here")
    with about(data):
        try:
            return _read_dataset(data, options, used)
        except NotANumber as problem:
            raise told_more(problem, data, options, used) from None


def told_more(
    problem: NotANumber,
    data: str | os.PathLike[str] | pd.DataFrame,
    options: ReadOptions,
    used: Choice | None,
) -> NotANumber:
    """Say what to do about a cell that is not a number, having looked at the other cells."""
    if problem.column is not None and problem.text is not None and _is_text_file(data):
        line = _line_of(data, options, problem.column, problem.text)
        return word_among_numbers(place(data), problem.column, problem.text, line)
    columns = _meant_as_numbers(data, options, used)
    # Numbers with the other decimal mark are no text.
    text = [
        name
        for name, levels in columns.items()
        if all(is_text_column(levels, mark) for mark in ".,")
    ]
    # Of columns that somebody declared as numbers, none is text by mistake.
    if text and options.kinds == "numbers":
        others = [name for name in columns if name not in text]
        numbers = others if options.takes_numbers else ()
        return NotANumber(f"{problem}; {leave_out_text(text, numbers)}")
    if problem.text is None:
        return problem
    for name, levels in columns.items():
        if name not in text and problem.text.strip() in levels:
            hint = hint_among(problem.text.strip(), levels, options.decimal)
            return NotANumber(problem.fault, problem.text, hint)
    return problem


def _is_text_file(data: object) -> bool:
    """Whether data are a file of text, which can be read again."""
    return isinstance(data, str | os.PathLike) and is_file(data) and not is_parquet(data)


def _line_of(
    path: str | os.PathLike[str] | pd.DataFrame, options: ReadOptions, column: str, text: str
) -> int | None:
    """The first line that has a text in a column, found by reading the file once more."""
    assert isinstance(path, str | os.PathLike)
    with open_records(path, options) as records:
        at = records.names.index(column)
        return next(
            (line for line, fields in records.rows if fields[at].strip() == text.strip()), None
        )


def _meant_as_numbers(
    data: str | os.PathLike[str] | pd.DataFrame, options: ReadOptions, used: Choice | None
) -> dict[str, tuple[str, ...]]:
    """The values of the columns that must be numbers, found by reading once more."""
    if not is_frame(data) and str(data) == "-":
        return {}
    labels = replace(
        options,
        kinds="labels",
        numeric=(),
        missing="available",
        max_levels=MAX_LEVELS,
        digest=False,
    )
    try:
        variables = _read_dataset(data, labels, used).variables
    except GmlError:
        return {}
    return {v.name: v.levels or () for v in variables if options.is_numeric(v.name)}


def _read_dataset(
    data: str | os.PathLike[str] | pd.DataFrame, options: ReadOptions, used: Choice | None
) -> Dataset:
    if is_frame(data):
        return read_frame(data, options, used=used)
    path: str | os.PathLike[str] = data
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"what is read must be a path or a DataFrame, not {kind_of(path)}")
    if str(path) != "-" and is_parquet(path):
        with open_parquet(path, options) as table:
            options = table.options
            chosen = choose_columns(table.names, options, used, table.where)
            columns, digest = table.load(column_specs(table.names, chosen, options))
        note_digest(path, digest)
        return build_dataset(columns, table.names, chosen, options, table.where, digest)
    if is_folder(path):
        raise DataError(f"{place(path)}: a folder without Parquet files; name a table")
    return _read_text_file(path, options, used)


def _read_text_file(
    path: str | os.PathLike[str], options: ReadOptions, used: Choice | None
) -> Dataset:
    with open_source(path, digest=options.digest) as source:
        return read_source(source, path, options, used=used)


def read_source(
    source: ByteSource,
    path: str | os.PathLike[str],
    options: ReadOptions,
    *,
    used: Choice | None = None,
) -> Dataset:
    """Read the bytes of a text file that is open; its path implies the delimiter."""
    header, dialect = begin_text(source, path, options)
    chosen = choose_columns(header.names, options, used, source.name)
    specs = column_specs(header.names, chosen, options)
    threads = options.threads or available_threads()
    cells = _read_cells(source, header, specs, dialect, threads)
    digest = source.digest()
    note_digest(path, digest)
    options = options.read_from(was_utf8=source.was_utf8)
    dataset = build_dataset(cells.columns, header.names, chosen, options, source.name, digest)
    if cells.n_lines == dataset.n_rows:
        return replace(dataset, first_line=header.next_line)
    return dataset


def begin_text(
    source: ByteSource, path: str | os.PathLike[str], options: ReadOptions
) -> tuple[Header, CsvDialect]:
    """Read the header of a text file that is open, and return how the file is written."""
    if options.encoding is not None:
        source.transcode(options.encoding)
    delimiter = options.delimiter or default_delimiter(path)
    header = read_header(
        source,
        source.name,
        delimiter,
        delimiter_given=options.delimiter_given,
        strip=options.strip,
    )
    return header, text_dialect(delimiter, options)


def text_dialect(delimiter: str, options: ReadOptions) -> CsvDialect:
    """Return how a text file is written, and how much memory its cells may take."""
    na, limit = options.na_tokens, cells_limit()
    return CsvDialect(delimiter, options.decimal, na, cells_limit=limit, strip=options.strip)


def cells_limit() -> int:
    """Return how many bytes the cells of a table may take."""
    return max(budget_in_force(), _ALWAYS_READ)


def _read_cells(
    source: ByteSource,
    header: Header,
    specs: list[ColumnSpec],
    dialect: CsvDialect,
    threads: int,
) -> CsvResult:
    try:
        return read_cells(source, header.rest, header.next_line, specs, dialect, threads=threads)
    except CsvProblem as problem:
        raise explain_problem(problem, source.name, header.names, specs) from None
