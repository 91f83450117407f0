"""What every verb takes as its data: a path, a frame, a dataset or an engine, opened for counting.

Paths and frames are read as the reading keywords say; a count file is opened for its tables. Data
that were read before stay as they are, so reading keywords are refused with them.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter as Multiset
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, Unpack

from gml.counts.counter import Counter, rows_counted
from gml.counts.memory import MemoryCounter
from gml.counts.open_count_file import is_counted, open_counts
from gml.counts.open_rows import open_rows
from gml.counts.passes import PassCounter
from gml.counts.recoding import with_declared
from gml.data.columns import Choice
from gml.data.dataset import Dataset, Variable, is_constant
from gml.data.frames import is_frame, is_spark_frame
from gml.data.levels import NA_LEVEL
from gml.data.missing import FRAME, why_empty
from gml.data.options import (
    ReadingKeywords,
    ReadOptions,
    Undeclared,
    given_keywords,
    reading_options,
    with_undeclared,
)
from gml.data.problems import is_number_column
from gml.data.reading import read_dataset
from gml.data.rejections import about
from gml.data.schema import with_categorical
from gml.errors import (
    CannotAnswer,
    DataError,
    UsageError,
    counted,
    kind_of,
    listing,
    parameter,
    place,
    quote,
    require_whole,
)
from gml.independence.contingency import median_p
from gml.kernel.number import number_of
from gml.ledger import wants_digest
from gml.progress import reporter
from gml.verbs.shared.chosen_methods import score_of_numbers, test_of_numbers
from gml.verbs.shared.declared_columns import DeclaredColumns
from gml.verbs.shared.dialects import declaring

if TYPE_CHECKING:
    import pandas as pd


Rows: TypeAlias = "str | os.PathLike[str] | pd.DataFrame"
"""What is read: a path (`-` is standard input) or a frame."""

Data: TypeAlias = "Rows | Dataset | Counter"
"""What can be counted."""

_SHOWN = 8
# A moderate association of two columns, and a usual level of tests.
_MODERATE_V, _USUAL_ALPHA = 0.3, 0.01
# More would be found with certainty in any table that fits into memory.
_MANY_ROWS = 1e12
_MANY_LEVELS = 20


def open_data(
    data: Data,
    *,
    used: Choice | None = None,
    declared: DeclaredColumns | None = None,
    refuse_many_numbers: bool = False,
    undeclared: Undeclared = "auto",
    offer_available: bool = True,
    offer_em: bool = False,
    gaps_advice: str | None = None,
    fractional: bool = False,
    takes_numbers: str | None = None,
    refuses_constants: bool = False,
    settles_empty: bool = False,
    threads: int | None = None,
    **reading: Unpack[ReadingKeywords],
) -> Counter:
    """Return an engine over data, whichever way they are given.

    Parameters
    ----------
    data
        A path (CSV, Parquet, a count file, `-` for standard input), a pandas DataFrame, a Dataset
        or a Counter.
    used
        Picks the columns to use from those that the reading keywords leave; all by default.
    declared
        What a graph says about columns: a value that is not among its levels is refused, and so
        is a reading keyword that contradicts it.
    refuse_many_numbers
        Whether to refuse a column of very many numbers about which the graph says nothing, unless
        `max_levels` is given; otherwise there is a warning.
    undeclared
        What columns of a path or frame are that nothing declares: "numbers" takes them all for
        numbers.
    offer_available
        Whether a message about missing values offers to count the rows complete in each table.
    offer_em
        Whether it offers to fit by EM.
    gaps_advice
        What it says in place of all that, where none of it would be taken.
    fractional
        Whether rows may count in part: scores and tables can do with that, tests cannot.
    takes_numbers
        What would take columns as numbers, for the message about columns with too many levels;
        empty if nothing would.
    refuses_constants
        Whether a column of one number is an error later on, and so needs no warning.
    settles_empty
        Whether a column without values is a hidden node or an error later on, and so needs none.
    threads
        All cores by default.
    **reading
        How to read a path or frame, as `gml.read` takes it.

    Examples
    --------
    >>> import gml
    >>> counter = open_data("sample_data/asia.csv", columns=["smoke", "lung"])
    >>> [variable.name for variable in counter.variables], counter.n
    (['smoke', 'lung'], 5000)
    >>> open_data(gml.read("sample_data/asia.csv"), bins=4)
    Traceback (most recent call last):
    gml.errors.UsageError: `bins` is about reading, and the data is a Dataset, which is read already
    """
    given = given_keywords(reading)
    _require_data(data)
    require_whole(1, threads=threads)
    if isinstance(data, Dataset | Counter):
        refuse_reading(given, data)
        with about(data):
            counter = _read_before(data, used, declared, threads)
    else:
        if declared is not None:
            reading = declaring(reading, declared)
        offers = {
            "offer_available": offer_available,
            "offer_em": offer_em,
            # What a graph has is needed.
            "offer_exclude": declared is None,
            "gaps_advice": gaps_advice,
            "takes_numbers": takes_numbers,
        }
        counter = _read(data, used, undeclared, offers, threads, reading)
        asked_for = "max_levels" in given or is_counted(data)
        if declared is not None and refuse_many_numbers and not asked_for:
            with about(data):
                _refuse_many_numbers(counter, declared, reading_options(**reading))
    if not fractional:
        require_whole_rows(counter.unit)
    _note_size(counter, data)
    _warn_of_levels(counter, takes_numbers)
    _warn_of_wide_tables(counter)
    _warn_of_constants(counter, numbers=not refuses_constants, empty=not settles_empty)
    return counter


def require_whole_rows(unit: float) -> None:
    """Refuse rows that count in part, where their number has to mean something."""
    if unit != 1:
        raise UsageError(
            f"{parameter('weights_fractional')} is for scores and for fitting; tests, trees, "
            "samples and checks need whole rows"
        )


def with_categories(reading: ReadingKeywords, names: Sequence[str]) -> ReadingKeywords:
    """Take columns for categorical that have to be, such as targets, if nothing else is said."""
    options = reading_options(**reading)
    if options.bins is not None:
        return reading
    names = [name for name in names if name not in (*options.cut, *options.numeric)]
    return {**reading, "levels": with_categorical(options.levels, names)}


def is_path(data: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether data are named, not given."""
    return isinstance(data, str | os.PathLike)


def is_read(data: Data) -> bool:
    """Whether a verb reads the data, so that it decides what the columns hold."""
    return not isinstance(data, Dataset | Counter)


def is_data(data: object) -> TypeGuard[Data]:
    """Whether something can be read or counted, so that it is not a test or a score."""
    if is_path(data) or is_frame(data) or is_spark_frame(data):
        return True
    return isinstance(data, Dataset | Counter)


def require_decider(given: object, kind: str, protocol: type) -> None:
    """Refuse what is neither data nor the object that decides in their place."""
    # A class has the members that its objects have, but decides nothing.
    if isinstance(given, type) or not isinstance(given, protocol):
        raise UsageError(
            f"data must be a path, a DataFrame, a Dataset, a Counter or a {kind}, not "
            + kind_of(given)
        )


def name_of(data: object, otherwise: str) -> str:
    """How a report calls what was given: by its path, if it has one."""
    return str(os.fspath(data)) if is_path(data) else otherwise


def options_for(data: Data, reading: ReadingKeywords, *, threads: int | None = None) -> ReadOptions:
    """Return the reading options that keywords mean, if they fit the data."""
    given = given_keywords(reading)
    _require_data(data)
    require_whole(1, threads=threads)
    if isinstance(data, Dataset | Counter):
        refuse_reading(given, data)
    return replace(reading_options(**reading), digest=wants_digest(data), threads=threads)


def rows_of(data: Data, options: ReadOptions, *, used: Choice | None = None) -> Dataset:
    """Return the rows of the columns used; data that were read before stay as they are."""
    if not isinstance(data, Dataset | Counter):
        return read_dataset(data, options, used=used)
    rows = data if isinstance(data, Dataset) else data.require_rows("this")
    return rows if used is None else rows.select(used(rows.names))


def _read_before(
    data: Dataset | Counter,
    used: Choice | None,
    declared: DeclaredColumns | None,
    threads: int | None,
) -> Counter:
    levels = declared.levels if declared else {}
    if isinstance(data, Dataset):
        chosen = data if used is None else data.select(used(data.names))
        return with_declared(MemoryCounter(chosen, threads=threads), levels, "the data")
    counter = data if used is None else data.select(used([v.name for v in data.variables]))
    return with_declared(counter, levels)


def _read(
    data: Rows,
    used: Choice | None,
    undeclared: Undeclared,
    offers: Mapping[str, Any],
    threads: int | None,
    reading: ReadingKeywords,
) -> Counter:
    options = with_undeclared(reading_options(**reading), undeclared)
    if is_counted(data):
        given = given_keywords(reading)
        return open_counts(data, options, given=given, used=used, threads=threads)
    options = replace(options, **offers, digest=wants_digest(data), threads=threads)
    return open_rows(data, options, used=used, threads=threads)


def _require_data(data: object) -> None:
    if not is_data(data):
        raise UsageError(
            f"data must be a path, a DataFrame, a Dataset or a Counter, not {kind_of(data)}"
        )


def refuse_reading(given: Collection[str], data: Dataset | Counter) -> None:
    """Refuse keywords about reading with what was read before."""
    if given:
        kind = "a Dataset" if isinstance(data, Dataset) else "a Counter"
        are = "is" if len(given) == 1 else "are"
        raise UsageError(
            f"{', '.join(map(parameter, given))} {are} about reading, and the data is {kind}, "
            "which is read already"
        )


def _note_size(counter: Counter, data: Data) -> None:
    columns = counted(len(counter.variables), "column")
    reporter().note(f"{counted(counter.n, 'row')}, {columns} used")
    if counter.n == 0:
        where = place(data) if isinstance(data, str | os.PathLike) else "the data"
        where = FRAME if is_frame(data) else where
        raise CannotAnswer(f"{where}: {why_empty(counter.rows(), where)}")


def _many_levels(counter: Counter) -> list[Variable]:
    """The columns with more levels than the rows can say anything about."""
    most = max(_MANY_LEVELS, rows_counted(counter) / 5)
    return [v for v in counter.variables if v.levels is not None and len(v.levels) > most]


def _refuse_many_numbers(counter: Counter, declared: DeclaredColumns, options: ReadOptions) -> None:
    """Refuse columns of very many numbers whose levels nobody chose."""
    chosen = (declared.levels, options.levels.levels, options.levels.intervals, options.levels.cuts)
    rows, decimal = rows_counted(counter), counter.decimal or options.decimal
    for variable in _many_levels(counter):
        name, levels = variable.name, variable.levels or ()
        if name in options.cut or any(name in levels_of for levels_of in chosen):
            continue
        labels = [level for level in levels if level != NA_LEVEL]
        if all(number_of(label, decimal) is not None for label in labels):
            raise DataError(
                f"column {quote(name)} has {len(labels)} different numbers in {rows} rows, and "
                f"{declared.source_of(name)} declares no levels for it; "
                f"cut numbers into intervals ({parameter('bins', 5)}, or {parameter('cut')}), or "
                f"give {parameter('max_levels')} to take each number for a level"
            )


def _warn_of_levels(counter: Counter, takes_numbers: str | None) -> None:
    """Warn about columns with too many values."""
    found = _many_levels(counter)
    many = [f"{v.name!r} ({len(v.levels or ())})" for v in found]
    shown = ", ".join(sorted(many)[:_SHOWN])
    if len(many) > _SHOWN:
        shown += f" and {len(many) - _SHOWN} more"
    if many:
        reporter().warn(
            f"too many values for {counted(rows_counted(counter), 'row')} to say much: "
            f"{shown}; {_other_ways(counter, found, takes_numbers)}"
        )


def _warn_of_wide_tables(counter: Counter) -> None:
    """Warn about pairs of columns with so many cells that an association would be overlooked.

    Where the rows are too few for two levels against four, too, it is not the cells that are many.
    """
    rows = min(counter.n * counter.unit, _MANY_ROWS)
    if median_p(rows, (2, 4), _MODERATE_V) > _USUAL_ALPHA:
        return
    many = {v.name for v in _many_levels(counter)}
    columns = [
        (v.name, len(v.levels))
        for v in counter.variables
        if v.levels is not None and len(v.levels) > 1 and v.name not in many
    ]
    times = Multiset(n_levels for _, n_levels in columns)
    wide = {
        (r, s)
        for r, s in itertools.combinations_with_replacement(sorted(times), 2)
        if median_p(rows, (r, s), _MODERATE_V) > _USUAL_ALPHA
    }
    pairs = sum(times[r] * times[s] if r != s else times[r] * (times[r] - 1) // 2 for r, s in wide)
    if not pairs:
        return
    largest = {max(pair) for pair in wide}
    named = sorted((-n, name) for name, n in columns if n in largest)
    shown = ", ".join(f"{name!r} ({-n})" for n, name in named[:_SHOWN])
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    have = "pair of columns has" if pairs == 1 else "pairs of columns have"
    reporter().warn(
        f"{pairs} {have} so many cells for {counted(rows_counted(counter), 'row')} that an "
        f"association as strong as Cramér's V = {_MODERATE_V} would be found with less than even "
        f"chance, with the levels of {shown}{more}; join levels, or leave columns out "
        f"({parameter('exclude')})"
    )


def _other_ways(counter: Counter, many: Sequence[Variable], takes_numbers: str | None) -> str:
    """What to do with columns of too many values, of which some may be text, as dates are."""
    decimal = counter.decimal or "."
    numbers = [v.name for v in many if is_number_column(v.levels or (), decimal)]
    if not numbers:
        return f"leave out what tells only rows apart ({parameter('exclude')})"
    cut = f"cut numbers with {parameter('bins')}"
    are_labels = all(v.levels is not None for v in counter.variables)
    if are_labels and all(is_number_column(v.levels or (), decimal) for v in counter.variables):
        if takes_numbers is None:
            takes_numbers = f"{test_of_numbers()}, {score_of_numbers()}"
    elif takes_numbers:
        # What takes every column as numbers would refuse the text beside them.
        takes_numbers = parameter("numeric", sorted(numbers))
    return f"{cut}, or take them as numbers ({takes_numbers})" if takes_numbers else cut


def _warn_of_constants(counter: Counter, *, numbers: bool, empty: bool) -> None:
    """Warn about columns with only one value, or none, and about those of numbers if asked to."""
    without = sorted(v.name for v in counter.variables if v.levels == ())
    if without and empty:
        reporter().warn(
            f"no values, so independent of everything: {listing(without)}; leave out "
            f"({parameter('exclude', without)})"
        )
    constant = [v.name for v in counter.variables if v.levels is not None and len(v.levels) == 1]
    constant += _constant_numbers(counter) if numbers else []
    if constant:
        reporter().warn(
            f"only one value, so independent of everything: {listing(sorted(constant))}"
        )


def _constant_numbers(counter: Counter) -> list[str]:
    """The columns of numbers that have only one."""
    if isinstance(counter, PassCounter):
        return counter.constant_numbers()
    rows = counter.rows()
    if rows is None:
        return []
    numbers = [j for j, variable in enumerate(rows.variables) if variable.is_continuous]
    return [rows.names[j] for j in numbers if is_constant(rows.columns[j])]
