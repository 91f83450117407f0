"""DATA and the options that say how to read it, injected as one object."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gml.cli.shared.common_options import threads_option
from gml.cli.shared.numbers import Whole
from gml.cli.shared.option_groups import DATA, under
from gml.cli.shared.parameter_types import name_list_option
from gml.cli.shared.run import claim_input, run_ledger, setting_of, was_given
from gml.errors import UsageError

if TYPE_CHECKING:
    from gml import ReadingKeywords

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class DataRequest:
    """DATA, and what the command line says about how to read and count it."""

    path: str
    reading: ReadingKeywords
    """The data options that were given, as keywords."""
    threads: int | None


@dataclass(frozen=True)
class DeliveriesRequest:
    """DATA... of a check: one delivery or several, not claimed as inputs yet."""

    paths: tuple[str, ...]
    given: dict[str, Any]
    """The data options that were given."""

    def claimed(self) -> tuple[str | list[str], DataRequest]:
        """Claim the inputs; return what to check, a list if it is several, and how to read it."""
        from gml.verbs.shared.deliveries import names_folder, tables_in

        files = [tables_in(path) for path in self.paths]
        if files == [[*self.paths]]:
            request = _data_request(self.paths[0], self.given)
            return request.path, request
        request = _reading_request("", self.given)
        claimed: list[str] = []
        for path, tables in zip(self.paths, files, strict=True):
            if names_folder(path):
                run_ledger().protect(path)
            claimed += [claim_input(table, "data", several=True) for table in tables]
        return claimed, request


_DELIMITER = click.option(
    "-d", "--delimiter", help="Field delimiter; by default a comma, or a tab for .tsv files."
)
_DECIMAL = click.option("--decimal", default=".", show_default=True, help="Decimal mark: . or ,")
_ENCODING = click.option("--encoding", help="Text encoding; by default UTF-8.")
_STRIP = click.option("--strip", is_flag=True, help="Strip blanks around labels and column names.")
_NA = click.option(
    "--na",
    multiple=True,
    metavar="TOKEN",
    help="Token that means missing (repeatable; replaces: empty NA N/A NaN nan null NULL ?).",
)


class _MissingPolicy(click.Choice[str]):
    """What to do about missing values; commands that cannot fit by EM say which can."""

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        if value == "em" and value not in self.choices:
            from gml import reading_options

            # It says what takes this, which is no way to read.
            reading_options(missing=value)
        return super().convert(value, param, ctx)


_POLICIES = _MissingPolicy(["error", "drop", "level", "available"])
_MISSING = click.option(
    "--missing",
    type=_POLICIES,
    default="error",
    show_default=True,
    help="Treat missing values: refuse, drop rows, own level, or (tests) rows complete per table.",
)
_OR_EM = _MissingPolicy(["error", "drop", "level", "available", "em"])
_MISSING_OR_EM = click.option(
    "--missing",
    type=_OR_EM,
    default="error",
    show_default=True,
    help="Treat missing values: refuse, drop rows, own level, rows complete per table, or (em) fit "
    "to what was seen of each row.",
)

_MIN_COMPLETE = click.option(
    "--min-complete",
    type=Whole(),
    metavar="N",
    help="Let --missing drop leave as few rows as this; by default, dropping over 90 % of them, or "
    "over half with fewer than 30 left, is refused.",
)

_DATA = click.argument("data_path", metavar="DATA")
_WEIGHTS = click.option(
    "--weights", metavar="COLUMN", help="Column that says how many times each row counts."
)
_CUT = click.option(
    "--cut",
    multiple=True,
    metavar="COLUMN=HOW",
    help="Cut one column: quantile:5, width:4, mdlp or 0,10,20 (repeatable).",
)
_LEVELS = click.option(
    "--levels",
    metavar="SCHEMA.json",
    help="Take columns and how the table is read from this file, as gml profile -o writes it.",
)
_MAX_LEVELS = click.option(
    "--max-levels",
    type=Whole(),
    default=255,
    show_default=True,
    help="Refuse columns with more levels, like IDs.",
)

_KINDS = [
    click.option(
        "--kinds",
        type=click.Choice(["auto", "labels"]),
        default="auto",
        show_default=True,
        help="How undeclared columns are settled: by their values, or all as categorical.",
    ),
    _NUMERIC := name_list_option("--numeric", help_="Treat these columns as numeric: A,B."),
    name_list_option("--labels", help_="Treat these columns as categorical: A,B."),
]

_ENGINE_OPTIONS = [
    click.option(
        "--engine",
        type=click.Choice(["auto", "memory", "stream", "spark"]),
        default="auto",
        show_default=True,
        help="Keep rows in memory, or read their codes again from a file for every batch of "
        "questions (stream; auto: if they pass --max-memory), or let Apache Spark scan them.",
    ),
    click.option(
        "--spool",
        metavar="DIR",
        help="Folder for the file of codes that --engine stream reads; by default that of the "
        "system for temporary files.",
    ),
    click.option(
        "--spool-keep",
        is_flag=True,
        help="Keep this file, and use it again for the same input and options.",
    ),
    click.option(
        "--master", metavar="URL", help="Where --engine spark runs: local[2], spark://host:7077."
    ),
]

_ROW_OPTIONS = [
    _DATA,
    name_list_option(
        "-c", "--columns", help_='Use only these columns: A,B (a name with a comma in "quotes").'
    ),
    name_list_option("--exclude", help_="Leave these columns out: A,B."),
    *_KINDS,
    _DELIMITER,
    _DECIMAL,
    _ENCODING,
    _STRIP,
    _NA,
    _MISSING,
    _MIN_COMPLETE,
    _WEIGHTS,
    click.option(
        "--bins",
        type=Whole(),
        metavar="K",
        help="Cut numeric columns with more than K values into intervals.",
    ),
    click.option(
        "--discretize",
        type=click.Choice(["quantile", "width", "mdlp", "hartemink"]),
        default="quantile",
        show_default=True,
        help="Let --bins cut at quantiles, into equal widths, for a class (mdlp), or all columns "
        "together (hartemink).",
    ),
    click.option(
        "--discretize-class", metavar="VAR", help="The column of labels that mdlp cuts numbers for."
    ),
    _CUT,
    _LEVELS,
    _MAX_LEVELS,
    threads_option,
]
"""For commands that need the rows in memory."""

_DATA_OPTIONS = [*_ROW_OPTIONS, *_ENGINE_OPTIONS]


_WEIGHTS_FRACTIONAL = click.option(
    "--weights-fractional",
    metavar="COLUMN",
    help="Column that says how much each row counts; fractions are allowed.",
)


def data_options(function: Function) -> Function:
    """DATA and its options, injected as `data`."""
    return _data_options(function, _DATA_OPTIONS)


_DELIVERIES = click.argument("data_paths", metavar="DATA...", nargs=-1, required=True)
_MISSING_AS_FITTED = click.option(
    "--missing",
    type=_POLICIES,
    help="Treat missing values: refuse, drop rows, own level, or rows complete per table; by "
    "default as when the model was fitted.",
)


def reading_options_alone(function: Function) -> Function:
    """The options of DATA for a command that may read a table or not, injected as `data`."""
    return _data_options(function, [option for option in _ROW_OPTIONS if option is not _DATA])


def deliveries_options(function: Function) -> Function:
    """DATA... and the options of a check, injected as `data`, which claims no input yet."""
    instead = {_DATA: _DELIVERIES, _MISSING: _MISSING_AS_FITTED}
    options = [instead.get(option, option) for option in _DATA_OPTIONS]
    return _data_options(function, options)


def checked_data_options(function: Function) -> Function:
    """DATA and the options of a check of one table, injected as `data`."""
    options = [_MISSING_AS_FITTED if option is _MISSING else option for option in _ROW_OPTIONS]
    return _data_options(function, options)


def fitting_data_options(function: Function) -> Function:
    """DATA and its options for scores and fitting, where rows may have fractional weights."""
    return _data_options(function, [*_DATA_OPTIONS, _WEIGHTS_FRACTIONAL])


def em_data_options(function: Function) -> Function:
    """The same for commands that can fit by EM."""
    options = [_MISSING_OR_EM if option is _MISSING else option for option in _DATA_OPTIONS]
    return _data_options(function, [*options, _WEIGHTS_FRACTIONAL])


_MISSING_INTEGRATED = click.option(
    "--missing",
    type=_MissingPolicy(["em", "error", "drop", "level"]),
    default="em",
    show_default=True,
    help="Treat missing values: integrate them out (em), refuse, drop rows, own level.",
)


def mixture_data_options(function: Function) -> Function:
    """DATA and its options for mixtures, which integrate missing values out."""
    instead = {_MISSING: _MISSING_INTEGRATED}
    options = [instead.get(option, option) for option in _ROW_OPTIONS]
    return _data_options(function, [*options, _WEIGHTS_FRACTIONAL])


_MISSING_INPUTS = click.option(
    "--missing",
    type=_POLICIES,
    default="error",
    show_default=True,
    help="Treat missing values: refuse, drop rows (not with --sequence), own level, or (only with "
    "--sequence) a cell that says nothing.",
)


def field_data_options(function: Function) -> Function:
    """DATA and its options for conditional fields, which may leave cells out along sequences."""
    instead = {_MISSING: _MISSING_INPUTS}
    options = [instead.get(option, option) for option in _ROW_OPTIONS]
    return _data_options(function, [*options, _WEIGHTS_FRACTIONAL])


_MISSING_DECLARED = click.option(
    "--missing",
    type=_OR_EM,
    help="Have the schema say what becomes of missing values, which are only counted here.",
)


def profiling_data_options(function: Function) -> Function:
    """DATA and its options for a profile, which counts what is missing and makes no tables."""
    instead = {_MISSING: _MISSING_DECLARED}
    left_out = (_MIN_COMPLETE, threads_option)
    options = [instead.get(option, option) for option in _ROW_OPTIONS if option not in left_out]
    return _data_options(function, [*options, _WEIGHTS_FRACTIONAL])


_MISSING_TARGETS = click.option(
    "--missing",
    type=_MissingPolicy(["error", "drop", "level"]),
    default="error",
    show_default=True,
    help="Treat missing values of columns with targets: refuse, leave out the rows, own level.",
)


def raking_data_options(function: Function) -> Function:
    """DATA and the options of a table whose rows are passed on, injected as `data`."""
    text = [_DELIMITER, _DECIMAL, _ENCODING, _NA]
    rows = [
        _MISSING_TARGETS,
        _MIN_COMPLETE,
        _WEIGHTS,
        _WEIGHTS_FRACTIONAL,
        _CUT,
        _LEVELS,
        _MAX_LEVELS,
    ]
    return _data_options(function, [_DATA, *text, *rows])


def _data_options(function: Function, options: list[Callable[[Any], Any]]) -> Function:

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        raw = {name: kwargs.pop(name) for name in names}
        given = {name: value for name, value in raw.items() if was_given(name) and value != ()}
        if "data_paths" in raw:
            del given["data_paths"]
            return function(*args, data=DeliveriesRequest(raw["data_paths"], given), **kwargs)
        if "data_path" not in raw:
            return function(*args, data=_reading_request("", given), **kwargs)
        return function(*args, data=_data_request(raw["data_path"], given), **kwargs)

    before = len(getattr(wrapper, "__click_params__", ()))
    for option in reversed(options):
        wrapper = under(DATA)(option)(wrapper)
    declared: list[click.Parameter] = wrapper.__click_params__  # type: ignore[attr-defined]
    names = [parameter.name for parameter in declared[before:]]
    return wrapper  # type: ignore[return-value]


_OF_ROWS = ("delimiter", "decimal", "encoding", "strip", "na")


@under(DATA)
def row_reading_options(function: Function) -> Function:
    """How to read a file of rows that are not data to count, injected as `reading`."""

    @_DELIMITER
    @_DECIMAL
    @_ENCODING
    @_STRIP
    @_NA
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        from gml import reading_options

        raw = {name: kwargs.pop(name) for name in _OF_ROWS}
        given = {name: value for name, value in raw.items() if was_given(name) and value != ()}
        reading_options(**given)
        return function(*args, reading=given, **kwargs)

    return wrapper  # type: ignore[return-value]


def _data_request(path: str, given: dict[str, Any]) -> DataRequest:
    return _reading_request(claim_input(path, "data"), given)


def _reading_request(path: str, given: dict[str, Any]) -> DataRequest:
    if "levels" in given:
        given["levels"] = claim_input(given["levels"], "levels")
    if "cut" in given:
        given["cut"] = _cuts(given["cut"])
    threads = given.pop("threads", None)
    given.pop("data_path", None)
    if given:
        from gml import reading_options

        # What is wrong with the options is said before any data are read; the schema is read once.
        options = reading_options(
            **{key: value for key, value in given.items() if (key, value) != ("missing", "em")}
        )
        if "levels" in given:
            given["levels"] = options.levels
        from gml.verbs.shared.dialects import leaving_to_schema

        # Columns that are named must be there, so that such a setting stays an option.
        names = sorted(given.keys() - {"exclude"})
        settings = {name: origin for name in names if (origin := setting_of(name)) is not None}
        given = leaving_to_schema(given, options.levels, settings)
    return DataRequest(path, given, threads)  # type: ignore[arg-type]


def _cuts(items: tuple[str, ...]) -> dict[str, str]:
    cuts: dict[str, str] = {}
    for item in items:
        column, equals, how = item.rpartition("=")
        if not equals:
            raise UsageError(
                f"--cut {item!r}: write COLUMN=quantile:5, =width:4, =mdlp or =0,10,20"
            )
        if column in cuts:
            raise UsageError(f"--cut lists {column!r} twice")
        cuts[column] = how
    return cuts
