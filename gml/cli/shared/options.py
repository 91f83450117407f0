"""Options that mean the same in every command.

Each decorator declares options, consumes their raw values and injects one object, so that commands
get `data`, `out` and the like instead of a dozen strings.
"""

from __future__ import annotations

import csv
import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gml import ledger
from gml.cli.shared.numbers import Real, RealRange, Whole, WholeRange
from gml.errors import CannotAnswer, UsageError, listing, place
from gml.progress import Deadline, StderrReporter, reporter, reporting_to
from gml.resources import available_threads, limited_to, parse_size

if TYPE_CHECKING:
    from gml.counts.counter import Counter
    from gml.data.dataset import Dataset
    from gml.data.options import ReadOptions
    from gml.data.reading import Choice

Function = TypeVar("Function", bound=Callable[..., Any])

_RUNTIME_OPTIONS = {"threads", "format_", "if_changed", "quiet", "verbose", "debug"}
OUT_OF_TIME = 5
"""Exit code of a learner that --max-seconds stopped."""

_LEAST_PRIOR = 1e-100
_MANY_LEVELS = 20
_THREADS_PER_CORE = 4
_PATHS = {"data_path", "graph_path", "levels", "implied", "knowledge", "start", "against"}


def parse_list(text: str) -> tuple[str, ...]:
    """Read names from one CSV record.

    Examples
    --------
    >>> parse_list('A,"b,c"')
    ('A', 'b,c')
    """
    try:
        records = list(csv.reader([text], strict=True))
    except csv.Error as error:
        raise UsageError(f"{text!r} is not a list of names: {error}") from None
    return tuple(records[0]) if records else ()


class NameList(click.ParamType[tuple[str, ...]]):
    """A list of names, as one CSV record."""

    name = "names"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, ...]:
        return value if isinstance(value, tuple) else parse_list(value)


class OutputFile(click.ParamType[str]):
    """A file (or a folder of files) that the command writes, which must be fit for that."""

    name = "file"

    def __init__(self, *, folder: bool = False) -> None:
        self._folder = folder

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        from gml.cli.shared.output import plan_output

        # Whether it can be standard output, each command decides.
        if value != "-" and param is not None and not (ctx is None or ctx.resilient_parsing):
            named = param.metavar if isinstance(param, click.Argument) else param.opts[-1]
            plan_output(value, str(named), folder=self._folder)
        return str(value)


def name_list_option(*flags: str, help_: str) -> Callable[[Function], Function]:
    """An option that takes names as one CSV record; given again, it adds to them."""

    def joined(ctx: click.Context, param: click.Parameter, value: Any) -> tuple[str, ...]:
        return tuple(name for names in value for name in names)

    return click.option(*flags, type=NameList(), multiple=True, callback=joined, help=help_)


def was_given(name: str) -> bool:
    """Whether an option was given: on the command line, in the environment or in a file."""
    source = click.get_current_context().get_parameter_source(name)
    return source in (
        click.core.ParameterSource.COMMANDLINE,
        click.core.ParameterSource.ENVIRONMENT,
        click.core.ParameterSource.DEFAULT_MAP,
    )


def run_ledger() -> ledger.Ledger:
    """Return the ledger of the run, which is kept as long as the outermost context."""
    context = click.get_current_context(silent=True)
    if context is not None and not ledger.is_kept():
        context.find_root().with_resource(ledger.keeping())
    return ledger.current()


def claim_input(path: str, role: str, *, several: bool = False) -> None:
    """Note an input, which no output may replace, and let only one argument be `-`.

    `role` is the name of the argument or option, under which a JSON output has its hash: a list of
    them where `several` can be named.
    """
    kept = run_ledger()
    if path == "-" and any(other.path == "-" for other in kept.inputs):
        raise UsageError("only one argument can be - (standard input)")
    if click.get_current_context().params.get("depfile") is not None:
        from gml.cli.shared.depfile import require_holdable

        require_holdable(path)
    files: list[str] = []
    if os.path.isdir(path):  # noqa: PTH112
        from gml.data.parquet import parquet_files

        files = parquet_files(path)
    kept.claim(ledger.Input(role, path, several), files)


def chosen_options() -> dict[str, Any]:
    """Return the options that were given and affect the result, for `learning` in the output."""
    context = click.get_current_context()
    outputs = {
        parameter.name
        for parameter in context.command.params
        if isinstance(parameter.type, OutputFile)
    }
    return {
        name.rstrip("_"): list(value) if isinstance(value, tuple) else value
        for name, value in sorted(context.params.items())
        if name not in _RUNTIME_OPTIONS | _PATHS | outputs and was_given(name)
    }


def _limit_memory(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Put the budget in force for the whole run, before any other option is looked at."""
    if value is not None and not ctx.resilient_parsing:
        ctx.with_resource(limited_to(parse_size(value)))


def _make_cells_safe(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from gml.data.safe_cells import writing_safe_cells

        ctx.with_resource(writing_safe_cells())


safe_csv_option = click.option(
    "--safe-csv",
    is_flag=True,
    expose_value=False,
    callback=_make_cells_safe,
    help="In CSV, put ' before a text that a spreadsheet would run as a formula.",
)


def common_options(function: Function) -> Function:
    """The options of every command; runs it with a reporter on standard error.

    --if-changed and --depfile are about all files that are written, whichever option names them.
    """

    @click.option(
        "--if-changed",
        is_flag=True,
        help="Leave a file, and its time stamp, alone if its content would not change.",
    )
    @click.option(
        "--depfile",
        type=OutputFile(),
        metavar="FILE",
        help="Write which files were read to make which, for Make to include.",
    )
    @click.option(
        "--max-memory",
        metavar="SIZE",
        is_eager=True,
        expose_value=False,
        callback=_limit_memory,
        help="Refuse what would take more (500M, 2G), such as large tables, before it is made; "
        "half of what is free by default. gml itself takes some 60M.",
    )
    @click.option("-q", "--quiet", is_flag=True, help="No warnings and no progress.")
    @click.option("-v", "--verbose", is_flag=True, help="Say what is done.")
    @click.option("--debug", is_flag=True, help="Show a traceback with an error.")
    @functools.wraps(function)
    def wrapper(
        *args: Any,
        if_changed: bool,
        depfile: str | None,
        quiet: bool,
        verbose: bool,
        debug: bool,
        **kwargs: Any,
    ) -> Any:
        run_ledger().keeps_unchanged = if_changed
        given = click.get_current_context().params
        if given.get("output", given.get("out_path", "")) in (None, ledger.STANDARD_OUTPUT):
            run_ledger().plan(ledger.STANDARD_OUTPUT, "the result")
        with reporting_to(StderrReporter(quiet=quiet, verbose=verbose)):
            if depfile is None:
                return function(*args, **kwargs)
            from gml.cli.shared.depfile import writing_depfile

            with writing_depfile(depfile):
                return function(*args, **kwargs)

    return wrapper  # type: ignore[return-value]


@dataclass(frozen=True)
class DataRequest:
    """DATA and everything that says how to read and count it."""

    path: str
    options: ReadOptions
    threads: int | None

    @property
    def reading(self) -> dict[str, Any]:
        """The options that were given, as keywords of the library."""
        from gml.verbs.reading import READING

        values = {"cut": self.options.cuts, "levels": self.options.schema}
        return {
            name: values[name] if name in values else getattr(self.options, name)
            for name in READING
            if was_given(name)
        }

    def declaring(self, levels: Mapping[str, tuple[str, ...]]) -> DataRequest:
        """The same request for columns with declared levels, where no option says otherwise."""
        from gml.data.discretize import cuts_of_levels
        from gml.data.schema import with_levels

        free = {name: found for name, found in levels.items() if name not in self.options.cuts}
        if self.options.bins is not None and any(
            cuts_of_levels(found) is not None for found in free.values()
        ):
            reporter().note("the intervals of the graph are used, not those of --bins")
        options = replace(self.options, schema=with_levels(self.options.schema, free))
        return replace(self, options=options)

    def dataset(
        self,
        *,
        used: Choice | None = None,
        numeric: bool = False,
        offer_available: bool = True,
    ) -> Dataset:
        """Read the columns used."""
        from gml.data.reading import read_dataset

        digest = run_ledger().wants_digests
        options = replace(self.options, digest=digest, offer_available=offer_available)
        dataset = read_dataset(self.path, options, used=used, numeric=numeric)
        self._note_size(dataset.n, len(dataset.names))
        return dataset

    def counter(
        self,
        *,
        used: Choice | None = None,
        numeric: bool = False,
        offer_available: bool = True,
    ) -> Counter:
        """Read the columns used, or the tables of a count file, and return the engine over them."""
        counter = self._engine(used, numeric, offer_available)
        _warn_of_levels(counter)
        return counter

    def _engine(self, used: Choice | None, numeric: bool, offer_available: bool) -> Counter:
        from gml.counts.memory import MemoryCounter
        from gml.data.parquet import is_count_file

        if self.path != "-" and is_count_file(self.path):
            from gml.cli.shared.count_files import open_count_file

            counter = open_count_file(self, used=used, numeric=numeric)
            self._note_size(counter.n, len(counter.variables))
            return counter
        dataset = self.dataset(used=used, numeric=numeric, offer_available=offer_available)
        return MemoryCounter(dataset, threads=self.threads)

    def _note_size(self, rows: int, columns: int) -> None:
        reporter().note(f"{rows} rows, {columns} columns used")
        if rows == 0:
            raise CannotAnswer(f"{place(self.path)}: no rows are left to count")


def _warn_of_levels(counter: Counter) -> None:
    """Warn of columns with too many values, and with one only."""
    many = [
        f"{v.name!r} ({len(v.levels)})"
        for v in counter.variables
        if v.levels is not None and len(v.levels) > max(_MANY_LEVELS, counter.n / 5)
    ]
    if many:
        reporter().warn(
            f"too many values for {counter.n} rows to say much: {', '.join(sorted(many)[:8])}; "
            "cut numbers with --bins, or take them as numbers (--test fisher-z, --score bic-g)"
        )
    constant = [v.name for v in counter.variables if v.levels is not None and len(v.levels) < 2]
    if constant:
        reporter().warn(
            f"one value only, so independent of everything: {listing(sorted(constant))}"
        )


def rows_of(counter: Counter, what: str) -> Dataset:
    """Return the rows behind an engine, which `what` needs; a count file has none."""
    from gml.counts.from_file import CountFileCounter
    from gml.counts.memory import MemoryCounter

    if isinstance(counter, CountFileCounter):
        raise CannotAnswer(f"{counter.where}: {what} needs rows, which a count file does not have")
    assert isinstance(counter, MemoryCounter)
    return counter.dataset


_DELIMITER = click.option(
    "-d", "--delimiter", help="Field delimiter; comma, or tab for .tsv files."
)
_DECIMAL = click.option("--decimal", default=".", show_default=True, help="Decimal mark: . or ,")
_ENCODING = click.option("--encoding", help="Text encoding; UTF-8 by default.")
_NA = click.option(
    "--na",
    multiple=True,
    metavar="TOKEN",
    help="Means missing (repeatable; replaces: empty NA N/A NaN nan null NULL ?).",
)

_MISSING = click.option(
    "--missing",
    type=click.Choice(["error", "drop", "level", "available"]),
    default="error",
    show_default=True,
    help="Missing values: refuse, drop rows, own level, or (tests) rows complete per table.",
)


def _usable(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    # Each has buffers of its own, and more than a few on every core only wait for one another.
    return None if value is None else min(value, _THREADS_PER_CORE * available_threads())


threads_option = click.option(
    "--threads", type=WholeRange(min=1), callback=_usable, help="Threads; all cores by default."
)

_DATA_OPTIONS = [
    click.argument("data_path", metavar="DATA"),
    name_list_option(
        "-c", "--columns", help_='Use these columns only: A,B (a name with a comma in "quotes").'
    ),
    name_list_option("--exclude", help_="Leave these columns out: A,B."),
    _DELIMITER,
    _DECIMAL,
    _ENCODING,
    _NA,
    _MISSING,
    click.option(
        "--weights", metavar="COLUMN", help="Column with the number of times a row counts."
    ),
    click.option(
        "--bins", type=Whole(), metavar="K", help="Cut numeric columns with more than K values."
    ),
    click.option(
        "--discretize",
        type=click.Choice(["quantile", "width"]),
        default="quantile",
        show_default=True,
        help="How --bins cuts.",
    ),
    click.option(
        "--cut",
        multiple=True,
        metavar="COLUMN=HOW",
        help="Cut one column: quantile:5, width:4 or 0,10,20 (repeatable).",
    ),
    click.option(
        "--levels",
        metavar="SCHEMA.json",
        help="Declared levels and cuts by column; gml profile writes it.",
    ),
    click.option(
        "--max-levels", type=Whole(), default=255, show_default=True, help="Refuse ID-like columns."
    ),
    threads_option,
]


_WEIGHTS_FRACTIONAL = click.option(
    "--weights-fractional",
    metavar="COLUMN",
    help="Column with how much a row counts, fractions allowed.",
)


def data_options(function: Function) -> Function:
    """DATA and its options, injected as `data`."""
    return _data_options(function, _DATA_OPTIONS)


def fitting_data_options(function: Function) -> Function:
    """DATA and its options for scores and fitting, where rows may count in part."""
    return _data_options(function, [*_DATA_OPTIONS, _WEIGHTS_FRACTIONAL])


def profiling_data_options(function: Function) -> Function:
    """DATA and its options for a profile, which counts what is missing and makes no tables."""
    left_out = (_MISSING, threads_option)
    options = [option for option in _DATA_OPTIONS if option not in left_out]
    return _data_options(function, [*options, _WEIGHTS_FRACTIONAL])


def _data_options(function: Function, options: list[Callable[[Any], Any]]) -> Function:

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        raw = {name: kwargs.pop(name) for name in names}
        return function(*args, data=_data_request(**raw), **kwargs)

    before = len(getattr(wrapper, "__click_params__", ()))
    for option in reversed(options):
        wrapper = option(wrapper)
    declared: list[click.Parameter] = wrapper.__click_params__  # type: ignore[attr-defined]
    names = [parameter.name for parameter in declared[before:]]
    return wrapper  # type: ignore[return-value]


def row_reading_options(function: Function) -> Function:
    """How to read a file of rows that are no data to count, injected as `reading`."""

    @_DELIMITER
    @_DECIMAL
    @_ENCODING
    @_NA
    @functools.wraps(function)
    def wrapper(
        *args: Any,
        delimiter: str | None,
        decimal: str,
        encoding: str | None,
        na: tuple[str, ...],
        **kwargs: Any,
    ) -> Any:
        from gml.data.options import ReadOptions

        reading = ReadOptions(
            delimiter=_delimiter(delimiter), decimal=decimal, encoding=encoding, na=na or None
        )
        return function(*args, reading=reading, **kwargs)

    return wrapper  # type: ignore[return-value]


def _delimiter(text: str | None) -> str | None:
    return {"tab": "\t", "\\t": "\t"}.get(text or "", text)


def _data_request(
    data_path: str,
    columns: tuple[str, ...],
    delimiter: str | None,
    na: tuple[str, ...],
    cut: tuple[str, ...],
    levels: str | None,
    threads: int | None = None,
    **rest: Any,
) -> DataRequest:
    from gml.data.discretize import parse_binning
    from gml.data.options import ReadOptions
    from gml.data.schema import Schema, read_schema

    claim_input(data_path, "data")
    if levels is not None:
        claim_input(levels, "levels")
    cuts = {}
    for item in cut:
        column, equals, how = item.rpartition("=")
        if not equals:
            raise UsageError(f"--cut {item!r}: write COLUMN=quantile:5, =width:4 or =0,10,20")
        if column in cuts:
            raise UsageError(f"--cut names {column!r} twice")
        cuts[column] = parse_binning(how)
    options = ReadOptions(
        columns=columns or None,
        delimiter=_delimiter(delimiter),
        na=na or None,
        cuts=cuts,
        schema=Schema() if levels is None else read_schema(levels),
        **rest,
    )
    return DataRequest(data_path, options, threads)


def probability(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Check that an option is a probability above 0."""
    if value is not None and not 0 < value <= 1:
        raise click.BadParameter(f"{value} is not between 0 and 1", ctx, param)
    return value


def prior_rows(ctx: click.Context, param: click.Parameter, value: float) -> float:
    """Check that the rows of a prior are so many that logarithms of gamma functions make sense."""
    if value > 0 and not _LEAST_PRIOR <= value <= 1 / _LEAST_PRIOR:
        raise click.BadParameter(f"{value} is not between 1e-100 and 1e100", ctx, param)
    return value


def alpha_option(help_: str, default: float = 0.05) -> Callable[[Function], Function]:
    """--alpha P."""
    return click.option(
        "--alpha", type=Real(), default=default, show_default=True, callback=probability, help=help_
    )


def df_option(help_: str, default: str = "full") -> Callable[[Function], Function]:
    """--df full|adjusted."""
    return click.option(
        "--df",
        type=click.Choice(["full", "adjusted"]),
        default=default,
        show_default=True,
        help=help_,
    )


def ess_option(help_: str) -> Callable[[Function], Function]:
    """--ess S, an equivalent sample size."""
    return click.option(
        "--ess", type=Real(), default=1.0, show_default=True, callback=prior_rows, help=help_
    )


def max_seconds_option(function: Function) -> Function:
    """--max-seconds S, injected as `deadline`."""

    @click.option(
        "--max-seconds",
        type=RealRange(min=0),
        help="Stop after this time with the best so far, and exit 5.",
    )
    @functools.wraps(function)
    def wrapper(*args: Any, max_seconds: float | None, **kwargs: Any) -> Any:
        return function(*args, deadline=Deadline(max_seconds), **kwargs)

    return wrapper  # type: ignore[return-value]


seed_option = click.option(
    "--seed",
    # Any integer seeds a generator, however large.
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Of the random numbers.",
)
