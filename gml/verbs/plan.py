"""What a command would take, before it is run: gml.plan, `gml plan`, --dry-run."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gml.atomic import temporary_folder
from gml.counts.open_count_file import is_counted
from gml.data.dataset import MAX_LEVELS, Dataset
from gml.data.options import AUTO, KEYWORDS, MEMORY, SPARK, STREAM, ReadOptions
from gml.data.reading import cells_limit
from gml.errors import (
    CannotAnswer,
    GmlError,
    UsageError,
    counted,
    listing,
    parameter,
    place,
    quote,
)
from gml.planning.pilots import (
    FEW_ROWS,
    MANY_ROWS,
    Pilot,
    Reading,
    Run,
    pilot_sizes,
    read_sample,
    run_in_passes,
    run_pilots,
)
from gml.planning.plan import Memory as Memory
from gml.planning.plan import Plan as Plan
from gml.planning.plan import (
    Refusal,
    Repeats,
    all_families,
    levels_of,
    many_levels,
    memory_of,
    passes_of,
    seconds_of,
    with_codes_in_a_file,
    work_of,
)
from gml.planning.plan import Seconds as Seconds
from gml.planning.plan import Work as Work
from gml.planning.prices import (
    Prices,
    calibration_rows,
    drawing_seconds,
    measured,
    measured_passes,
)
from gml.planning.refusals import (
    of_rows_needed,
    refused_for,
    too_large,
    unfinished,
    without_pilots,
)
from gml.planning.samples import Source, source_of
from gml.resources import OverBudget, available_threads, budget_in_force, format_size
from gml.verbs.average import BOOTSTRAP
from gml.verbs.shared.data_input import is_data
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.model_input import open_model

_SEARCHES = ("average", "exact", "ges", "hc", "imap", "pc")
"""What these ask depends on what they find, and they can be stopped."""
PLANNED = tuple(sorted((*_SEARCHES, "check", "chowliu", "count", "fit-params", "indtest", "score")))
"""The commands that can be planned."""
_ALIASES = {"chow_liu": "chowliu", "fit": "fit-params"}

_OF_ENGINES = ("engine", "spool", "spool_keep", "master")
# Files that only the run itself writes, and a limit that pilots have of their own.
_NOT_FOR_PILOTS = ("test_log", "trace", "max_seconds", "asked", "threads", *_OF_ENGINES)
_MOST_PILOT_ROWS, _MOST_SEARCHED_ROWS = 256_000, 32_000


@front_door(reading=None)
def plan(command: str, data: Any, *given: Any, **options: Any) -> Plan:
    """Say what a command would take: rows, tests or families, tables, memory and time.

    A sample of the rows is read, and the command is run on a few of them, for about a second. Times
    are CPU seconds on this machine; nothing is written.

    Parameters
    ----------
    command
        One of average, check, chowliu, count, exact, fit-params, ges, hc, imap, indtest, pc, score.
    data
        A path, a DataFrame, a Dataset or an engine with rows; not standard input.
    *given, **options
        What else the function of the command takes: a graph, X and Y, options of tests and scores,
        and how to read the data.

    Examples
    --------
    >>> import gml
    >>> plan = gml.plan("chowliu", "sample_data/asia.csv")
    >>> plan.rows, plan.columns, [(work.kind, work.number.likely) for work in plan.work]
    (5000, 8, [('tests', 28.0)])
    >>> gml.plan("pc", "sample_data/asia.csv", alpha=0.05).pilots
    (500, 2000)
    """
    command = _known(command)
    if not isinstance(data, list) and not is_data(data):
        raise UsageError("a plan needs data: a path, a DataFrame, a Dataset or a Counter")
    if is_counted(data):
        raise UsageError(
            f"{place(data)} is a count file, whose tables are ready: there is nothing to plan"
        )
    if options.get("engine") == SPARK:
        raise UsageError("a plan is of runs on this machine, not of those on Spark")
    call, repeats = _of_one_replicate(_Call(command, given, options))
    source = source_of(
        _only_table(data), delimiter=options.get("delimiter"), encoding=options.get("encoding")
    )
    threads = options.get("threads") or available_threads()
    draft = Plan(
        command,
        source.size.rows,
        source.size.is_exact,
        source.size.stored_bytes,
        levels={},
        looked_at=0,
        engine=STREAM if options.get("engine") == STREAM else MEMORY,
        threads=threads,
        replicates=repeats.number if repeats.number > 1 else None,
    )
    with temporary_folder("gml-plan-") as folder:
        return _planned(draft, call, repeats, source, folder)


def _known(command: str) -> str:
    name = _ALIASES.get(command, command.replace("_", "-"))
    if name in PLANNED:
        return name
    raise UsageError(f"{quote(command)} has no plan; there are plans of {', '.join(PLANNED)}")


@dataclass(frozen=True)
class _Call:
    """A verb with all that it is given beside the data."""

    command: str
    given: Sequence[Any]
    options: Mapping[str, Any]

    def run(self) -> Run:
        """Return what runs it on other data, with one thread, for some seconds at most."""
        module = self.command.replace("-", "_")
        verb: Callable[..., Any] = getattr(importlib.import_module(f"gml.verbs.{module}"), module)
        options = {k: v for k, v in self.options.items() if k not in _NOT_FOR_PILOTS}
        if options.get("encoding") is not None:
            # Samples are written in UTF-8.
            options["encoding"] = "utf-8"

        def run(data: Any, seconds: float) -> Any:
            how = dict(options)
            if self.command in _SEARCHES and seconds > 0:
                how["max_seconds"] = seconds
            if isinstance(data, str):
                how["engine"] = MEMORY
            else:
                how = {name: value for name, value in how.items() if name not in KEYWORDS}
            return verb(data, *self.given, threads=1, **how)

        return run


def _of_one_replicate(call: _Call) -> tuple[_Call, Repeats]:
    """Return the call that learns one graph of many, if many are learned, and how many."""
    options = dict(call.options)
    if call.command == "pc" and options.get("bootstrap") is not None:
        number = options.pop("bootstrap")
        options.pop("threshold", None)
        return replace(call, options=options), Repeats(number, 0.5)
    if call.command != "average":
        return call, Repeats()
    by = call.given[0] if call.given else options.get("by")
    if by not in ("hc", "ges", "pc"):
        return call, Repeats()
    for name in ("by", "threshold"):
        options.pop(name, None)
    number = options.pop("bootstrap", None) or BOOTSTRAP
    options = {name: value for name, value in options.items() if value is not None}
    return _Call(by, call.given[1:], options), Repeats(number, 0.5 if by == "pc" else 1.0)


def _only_table(data: Any) -> Any:
    if not isinstance(data, list):
        return data
    if len(data) != 1:
        raise UsageError(f"a plan is for one table, not for {counted(len(data), 'table')}")
    return data[0]


def _planned(draft: Plan, call: _Call, repeats: Repeats, source: Source, folder: Path) -> Plan:
    run = call.run()
    try:
        first = _read(call, run, source, folder, min(source.n_rows, 4096))
        rows = calibration_rows(len(first.rows.variables), source.n_rows)
        reading = _read(call, run, source, folder, rows)
        draft = _with_table(draft, reading, source, call)
        if draft.refused:
            return draft
        is_one = repeats.number == 1
        draft = replace(
            draft, notes=(*draft.notes, *of_rows_needed(draft, call.options, is_one=is_one))
        )
        piloted = _piloted(draft, call, run, source, folder, is_one=is_one)
    except GmlError as error:
        found = _in_all_rows(run, source, folder, error)
        if found is error and draft.looked_at and isinstance(error, CannotAnswer):
            if isinstance(error, OverBudget) and draft.engine != STREAM:
                # What is too large for few rows is so for all.
                return refused_for(draft, error, source)
            return without_pilots(draft, error)
        return refused_for(draft, found, source)
    if not is_one:
        repeats = replace(repeats, drawing=drawing_seconds(reading.rows))
    n = source.size.rows * reading.kept
    draft = _with_work(draft, call, piloted, reading, n * repeats.share)
    try:
        prices = piloted.prices(reading.rows)
    except CannotAnswer as error:
        # A table that a pilot asked for does not fit, and so will not for the run.
        return refused_for(draft, error, source)
    seconds = seconds_of(
        piloted.in_passes if piloted.by_pass else piloted.pilots,
        prices,
        _reading_seconds(first, reading, source),
        n,
        threads=draft.threads,
        repeats=repeats,
        is_fixed=piloted.is_fixed,
    )
    assert draft.memory is not None
    return replace(draft, seconds=seconds, refused=too_large(draft.memory))


def _read(call: _Call, run: Run, source: Source, folder: Path, n_rows: int) -> Reading:
    """Read a sample, with numbers where a model that is checked has numbers.

    In few rows a check reads these as text, so that it can name cells that are not numbers.
    """
    reading = read_sample(run, source, folder, n_rows)
    if call.command != "check":
        return reading
    from gml.verbs.shared.reported.columns import with_numbers

    net = open_model(call.given[0])
    return replace(reading, rows=with_numbers(net, reading.rows))


@dataclass(frozen=True)
class _Piloted:
    """Runs on few rows, in memory and, where passes matter, by the engine of a stream."""

    pilots: Sequence[Pilot]
    in_passes: Sequence[Pilot]
    by_pass: bool
    is_fixed: bool
    """Whether what is asked does not depend on what is found."""

    def prices(self, rows: Dataset) -> Prices:
        """What the batches of tables cost that these runs asked for."""
        if self.by_pass:
            return measured_passes(self.in_passes[-1], rows)
        watch = self.pilots[-1].watch
        assert watch.rows is not None
        return measured(watch.batches, watch.rows, rows)


def _piloted(
    draft: Plan, call: _Call, run: Run, source: Source, folder: Path, *, is_one: bool
) -> _Piloted:
    is_fixed = call.command not in _SEARCHES
    # Replicates are drawn from rows in memory, whatever engine has read them.
    by_pass = draft.engine == STREAM and is_one
    sizes = pilot_sizes(
        source,
        _MOST_PILOT_ROWS if is_fixed else _MOST_SEARCHED_ROWS,
        first=MANY_ROWS if call.command == "check" else FEW_ROWS,
    )
    pass_rows = source.size.rows if by_pass else 0
    pilots = run_pilots(run, source, folder, sizes, pass_rows=pass_rows)
    in_passes: Sequence[Pilot] = ()
    if is_one:
        in_passes = _in_passes(run, source, folder, pilots, is_fixed=is_fixed, by_pass=by_pass)
    return _Piloted(pilots, in_passes, by_pass, is_fixed)


def _with_work(draft: Plan, call: _Call, piloted: _Piloted, reading: Reading, n: float) -> Plan:
    """Add tests, tables, passes and memory; `n` is the number of rows that one run has."""
    pilots, in_passes, is_fixed = piloted.pilots, piloted.in_passes, piloted.is_fixed
    read = draft.rows * reading.kept
    largest = max((pilot.watch.largest for pilot in pilots), key=lambda size: size[0] * size[1])
    memory = memory_of(reading.rows, read, largest, budget_in_force())
    most = {}
    if not is_fixed:
        most = all_families(len(reading.rows.variables), call.options.get("max_parents"))
    return replace(
        draft,
        memory=with_codes_in_a_file(memory) if draft.engine == STREAM else memory,
        work=work_of(pilots, n, is_fixed=is_fixed, most=most),
        passes=passes_of(in_passes, pilots, read, is_fixed=is_fixed) if in_passes else None,
        pilots=tuple(pilot.rows for pilot in pilots),
        notes=(*draft.notes, *unfinished(pilots[-1], *in_passes[-1:])),
    )


def _in_passes(
    run: Run,
    source: Source,
    folder: Path,
    pilots: Sequence[Pilot],
    *,
    is_fixed: bool,
    by_pass: bool,
) -> list[Pilot]:
    """Return pilots by the engine of a stream; none where the run itself will need no passes."""
    sizes, rows = [pilot.rows for pilot in pilots], source.size.rows
    if by_pass:
        # Two say how what is done beside passes grows with the rows.
        least = 2 if is_fixed else 1
        return run_in_passes(run, source, folder, sizes, least=least, pass_rows=rows)
    try:
        some = sizes[:1] if is_fixed else sizes
        return run_in_passes(run, source, folder, some, pass_rows=rows)
    except GmlError:
        # In memory it works; that a stream cannot do it is no part of this plan.
        return []


def _with_table(draft: Plan, reading: Reading, source: Source, call: _Call) -> Plan:
    """Add what the rows looked at say about the columns, and whether their codes fit."""
    n = source.size.rows * reading.kept
    budget = budget_in_force()
    memory = memory_of(reading.rows, n, (0, 0), budget)
    most = call.options.get("max_levels") or ReadOptions.max_levels
    close = [] if source.is_read else many_levels(reading, source.size, min(most, MAX_LEVELS))
    notes = [
        f"{listing(close)} may have more levels in all rows than {parameter('max_levels')} allows"
    ] * bool(close)
    refused: tuple[Refusal, ...] = ()
    engine = draft.engine
    if memory.codes > cells_limit() and engine != STREAM:
        reason = (
            f"the codes would take {format_size(memory.codes)}, more than "
            f"{parameter('max_memory')} allows ({format_size(budget)})"
        )
        if call.options.get("engine") in (None, AUTO) and not source.is_read:
            engine = STREAM
            notes.append(f"{reason}: they go to a file ({parameter('engine', STREAM)})")
        else:
            refused = (Refusal(4, reason),)
    return replace(
        draft,
        engine=engine,
        levels=levels_of(reading.rows),
        looked_at=reading.n_read,
        memory=memory,
        refused=refused,
        notes=tuple(notes),
    )


def _in_all_rows(run: Run, source: Source, folder: Path, error: GmlError) -> GmlError:
    """Return what is wrong with all rows at hand, not only with those of a pilot."""
    try:
        read_sample(run, source, folder, source.n_rows)
    except GmlError as found:
        return found
    return error


def _reading_seconds(few: Reading, many: Reading, source: Source) -> float:
    """CPU seconds of reading all rows: a fixed part, a part per row, and decompression."""
    if source.is_read:
        return 0.0
    per_row = many.seconds / max(1, many.n_read)
    if many.n_read > 2 * few.n_read:
        per_row = max(0.0, many.seconds - few.seconds) / (many.n_read - few.n_read)
    more = max(0, source.size.rows - many.n_read)
    return many.seconds + per_row * more + source.size.inflating
