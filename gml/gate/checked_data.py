"""The rows that a check looks at: read as the model was fitted, unknown values left in."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from gml.counts.counter import Counter
from gml.counts.engine_over import engine_over
from gml.counts.open_count_file import is_counted, open_counts
from gml.counts.open_rows import is_for_spark, read_or_open
from gml.counts.passes import PassCounter
from gml.counts.settled_counter import SettledCounter
from gml.counts.streamed import StreamCounter
from gml.data.alignment import levels_first, with_levels_first
from gml.data.dataset import Dataset
from gml.data.discretize import cuts_of_levels
from gml.data.frames import is_frame, is_spark_frame
from gml.data.number_summary import Numbers
from gml.data.options import ReadOptions
from gml.data.parquet import is_parquet
from gml.data.records import open_records
from gml.errors import (
    CannotAnswer,
    DataError,
    UsageError,
    counted,
    listing,
    parameter,
    place,
    share_of,
    unknown_name,
)
from gml.gate.checked_gaps import (
    cells_of,
    missing_before,
    missing_cells,
    missing_cells_of_stream,
    policy_of_fit,
    treat_missing,
)
from gml.gate.checked_schema import declared_levels, left_out_of, lenient
from gml.gate.families import CheckedModel
from gml.gate.in_intervals import (
    in_intervals,
    numbers_before,
    numbers_of_engine,
    repeats_before,
)
from gml.gate.settings import Context
from gml.parameters import FOR_LABELS
from gml.progress import reporter

if TYPE_CHECKING:
    import pandas as pd

Place = tuple[int, int | None]

_NOT_ALL = "ranges of numbers were not compared, since rows were dropped"


@dataclass(frozen=True)
class CheckedData:
    """The engine over the rows, and what else is known about them."""

    counter: Counter
    context: Context
    places: Callable[[Collection[int]], Mapping[int, Place]] = lambda rows: {
        row: (row, None) for row in rows
    }
    """The numbers, in the file, of the rows that were checked, and their lines where known; from
    1."""
    fitted_on: bool | None = None
    """Whether the model was fitted on these very rows, if that is known."""


class _Uncut(NamedTuple):
    """What is known of rows before their numbers were cut."""

    numbers: Mapping[str, Numbers]
    repeats: Mapping[int, int] | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckedReading:
    """How to find the columns of a model; values that it does not know are levels after its own.

    Missing values are treated as when the model was fitted, unless they are in `given`, the names
    of the options that were asked for. (`asked` says how the table is read as the model's was.)
    """

    net: CheckedModel
    model: str
    data: str
    asked: ReadOptions = field(default_factory=ReadOptions)
    given: frozenset[str] = frozenset()
    threads: int | None = None

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """The levels of the model."""
        return {v.name: v.levels for v in self.net.variables if v.levels is not None}

    @property
    def numeric(self) -> tuple[str, ...]:
        """The columns of numbers of the model."""
        return tuple(v.name for v in self.net.variables if v.is_continuous)

    @property
    def options(self) -> ReadOptions:
        """How to read rows: whatever they hold, as they were read when the model was fitted."""
        asked = self.asked
        return replace(
            asked,
            levels=lenient(asked.levels, self.net),
            columns=None,
            exclude=tuple(name for name in asked.exclude if name not in self.net.names),
            missing="available",
            maybe_numbers=self.numeric,
        )

    @property
    def _policy(self) -> str:
        """How missing values are treated."""
        said = "missing" in self.given or "missing" in self.asked.inherited
        return self.asked.missing if said else policy_of_fit(self.net)

    def of_source(self, source: str | os.PathLike[str] | pd.DataFrame) -> CheckedData:
        """Read a file, of rows or of counts, or a frame."""
        self._refuse_cutting()
        path = None if is_frame(source) or is_spark_frame(source) else os.fspath(source)
        found: list[str] = []

        def used(names: Sequence[str]) -> Sequence[str]:
            found[:] = names
            return self.used(names)

        if is_counted(path):
            # Missing values were treated when counting: what was asked for is compared with that.
            options = replace(self.options, missing=self.asked.missing)
            counter = open_counts(path, options, given=self.given, used=used, threads=self.threads)
            return self._of_engine(counter, found)
        options = self.options
        if is_for_spark(source, options):
            options = replace(options, missing=self._policy)
        opened = read_or_open(source, options, used=used, threads=self.threads)
        if not isinstance(opened, StreamCounter | Dataset):
            return self._of_engine(opened, found)
        first_line, tokens = opened.first_line, options.na_tokens

        def lines(numbers: Collection[int]) -> Mapping[int, int]:
            return {} if path is None else _lines(numbers, first_line, path, options)

        # Rows that went to a file come back from there if there is room for them.
        rows = opened if isinstance(opened, Dataset) else opened.rows_as_they_stand()
        if isinstance(opened, StreamCounter) and rows is None:
            return self._of_stream(opened, found, lines, tokens)
        assert rows is not None
        return self._of_rows(rows, found, lines, tokens, self._uncut(rows), source)

    def _of_stream(
        self,
        stream: StreamCounter,
        found: Sequence[str],
        lines: Callable[[Collection[int]], Mapping[int, int]],
        tokens: Collection[str],
    ) -> CheckedData:
        """Take rows that are read in passes; what is said of them is as in `_of_rows`."""
        _require_rows(stream.n, self.data)
        held = self._held_numbers
        numbers = numbers_of_engine(stream, held)
        repeats = stream.uncut_repeats() if set(held) - set(self.numeric) else None
        cells = missing_cells_of_stream(stream, self._policy, tokens)
        kept = stream.treated(
            self._policy,
            place(self.data),
            declared=set(self.net.names),
            min_complete=self.asked.min_complete,
        )
        _require_rows(kept.n, self.data)
        notes = self._notes_on_rows(stream.pass_rows, kept.pass_rows, kept.n, len(kept.variables))

        def places(rows: Collection[int]) -> dict[int, Place]:
            line_of = lines([row - 1 for row in rows])
            return {row: (row, line_of.get(row - 1)) for row in rows}

        context = self._context(found, stream.n, cells, notes, numbers)
        return CheckedData(
            kept.with_levels(levels_first(kept.variables, self.levels)),
            replace(context, uncut_repeats=repeats),
            places,
            _is_of_fit(stream.digest, self.net),
        )

    def _notes_on_rows(self, before: int, rows: int, weighted: int, n_columns: int) -> list[str]:
        """Say how many rows are looked at, and how many were left out."""
        columns = counted(n_columns, "column")
        reporter().note(f"{counted(weighted, 'row')}, {columns} of the model")
        if rows == before:
            return []
        share = share_of(before - rows, before)
        return [f"{counted(before - rows, 'row')} ({share}) with missing values left out"]

    def of_dataset(self, dataset: Dataset) -> CheckedData:
        """Take rows that were read already; numbers are put into the intervals of the model."""
        chosen = dataset.select(self.used(dataset.names))
        placed = in_intervals(chosen, self.levels)
        return self._of_rows(placed, dataset.names, lambda numbers: {}, (), self._uncut(chosen))

    def of_counter(self, counter: Counter) -> CheckedData:
        """Take the rows behind an engine, or what it counts if it has none in memory."""
        rows = counter.rows()
        if isinstance(counter, StreamCounter):
            # Equal rows that were joined have no numbers any more.
            rows = counter.rows_as_they_stand()
        names = [variable.name for variable in counter.variables]
        return self._of_engine(counter, names) if rows is None else self.of_dataset(rows)

    def _of_engine(self, counter: Counter, found: Sequence[str]) -> CheckedData:
        """Take the tables of an engine, and the names of all columns that there were."""
        _require_rows(counter.n, self.data)
        notes = []
        if isinstance(counter, SettledCounter) and counter.dropped:
            share = share_of(counter.dropped, counter.rows_before)
            notes = [f"{counted(counter.dropped, 'row')} ({share}) with missing values left out"]
        names = [variable.name for variable in counter.variables]
        chosen = self.used(names)
        if chosen != names:
            counter = counter.select(chosen)
        treated = counter.missing_treatment
        # A schema need not declare all levels of the model, nor in its order.
        counter = counter.with_levels(levels_first(counter.variables, self.levels))
        rows, cells = (counter.n, {}) if treated is None else (treated.rows, treated.cells)
        numbers: Mapping[str, Numbers] = {}
        if self.numeric and isinstance(counter, PassCounter):
            # Where they lie is asked of all rows.
            if notes:
                notes.append(_NOT_ALL)
            else:
                numbers = numbers_of_engine(counter, set(self.numeric))
        return CheckedData(counter, self._context(found, rows, cells, notes, numbers))

    @property
    def _held_numbers(self) -> list[str]:
        """The columns in which the model's rows had numbers, cut or not."""
        return [
            name
            for name in self.net.names
            if name in self.numeric or cuts_of_levels(self.levels.get(name, ())) is not None
        ]

    def _uncut(self, dataset: Dataset) -> _Uncut:
        """The numbers of columns in which the model's rows had numbers, and how rows repeat."""
        held = self._held_numbers
        cut = [name for name in held if name not in self.numeric]
        repeats = repeats_before(dataset, held) if cut else None
        numbers = numbers_before(dataset, held)
        origin = dataset.origin
        if self.numeric and origin and origin.policy == "drop" and dataset.n < origin.n:
            of_cut = {name: found for name, found in numbers.items() if name in cut}
            return _Uncut(of_cut, repeats, (_NOT_ALL,))
        return _Uncut(numbers, repeats)

    def _refuse_cutting(self) -> None:
        """Refuse options that make labels of numbers, where the model is of numbers."""
        for name in FOR_LABELS:
            if self.net.is_gaussian and name in self.given:
                raise UsageError(f"{parameter(name)} does not go with a model of numbers")

    def _of_rows(
        self,
        dataset: Dataset,
        found: Sequence[str],
        lines: Callable[[Collection[int]], Mapping[int, int]],
        tokens: Collection[str],
        uncut: _Uncut,
        source: object = None,
    ) -> CheckedData:
        """Treat missing values; `lines` finds lines (from 1) by numbers of rows (from 0)."""
        _require_rows(dataset.n, self.data)
        policy = self._policy
        kept, positions = treat_missing(
            dataset, policy, self.data, self.net, self.asked.min_complete
        )
        _require_rows(kept.n, self.data)
        notes = self._notes_on_rows(dataset.n_rows, kept.n_rows, kept.n, len(kept.names))
        notes += uncut.notes
        aligned = with_levels_first(kept, self.levels)

        def places(rows: Collection[int]) -> dict[int, Place]:
            number_of = {row: int(positions[row - 1]) for row in rows}
            line_of = lines(list(number_of.values()))
            return {row: (number + 1, line_of.get(number)) for row, number in number_of.items()}

        return CheckedData(
            engine_over(aligned, source, threads=self.threads),
            replace(
                self._context(found, *missing_cells(dataset, policy, tokens), notes, uncut.numbers),
                uncut_repeats=uncut.repeats,
                as_read=lambda row: int(positions[row]),
            ),
            places,
            _is_of_fit(dataset.digest, self.net),
        )

    def used(self, names: Sequence[str]) -> Sequence[str]:
        """Choose among the columns of the data."""
        known, there = set(self.net.names), set(names)
        for name in self.asked.columns or ():
            if name not in known and name not in there:
                raise UsageError(
                    unknown_name("column", name, list(dict.fromkeys([*names, *self.net.names])))
                )
        left_out = left_out_of(self.asked, self.net)
        present = [name for name in self.net.names if name in there and name not in left_out]
        if not present:
            raise DataError(
                f"{place(self.data)}: none of its columns is in the model: it has "
                f"{listing(names)}, and the model {listing(self.net.names)}"
            )
        return present

    def _context(
        self,
        found: Sequence[str],
        rows: int,
        missing: Mapping[str, int],
        notes: Sequence[str] = (),
        numbers: Mapping[str, Numbers] = MappingProxyType({}),
    ) -> Context:
        schema = self.asked.levels
        known = {} if self.net.training is None else self.net.training.numbers
        of_model = set(self.net.names)
        others = [name for name in found if name not in of_model]
        ignored = [f"not in the model, ignored: {listing(others)}"] if others else []
        return Context(
            data=self.data,
            model=self.model,
            declared=declared_levels(schema, self.net),
            other_columns=others,
            left_out=left_out_of(self.asked, self.net),
            missing_before=missing_before(schema, self.net),
            missing_now=cells_of(self.net, rows, missing),
            numbers_before={**schema.numbers, **known},
            numbers_now=numbers,
            notes=(*ignored, *notes),
        )


def _is_of_fit(digest: str | None, net: CheckedModel) -> bool | None:
    """Whether rows with this hash are those that a model was fitted on, if that is known."""
    fitted_on = net.learning.data
    if fitted_on is None or digest is None:
        return None
    return fitted_on.endswith(digest)


def _require_rows(rows: int, path: str) -> None:
    if rows == 0:
        raise CannotAnswer(f"{place(path)}: no rows are left to check")


def _lines(
    wanted: Collection[int], first_line: int | None, path: str, options: ReadOptions
) -> dict[int, int]:
    """The lines of rows of a file (from 0), where they are known."""
    if first_line is not None:
        return {number: first_line + number for number in wanted}
    if path == "-" or options.weights_column is not None:
        return {}
    return _lines_by_reading(path, options, list(wanted))


def _lines_by_reading(path: str, options: ReadOptions, wanted: Sequence[int]) -> dict[int, int]:
    """Find the lines of rows by reading the file again, as far as needed."""
    if is_parquet(path) or not wanted:
        return {}
    found, last = {}, max(wanted)
    with open_records(path, options) as records:
        for number, (line, _) in enumerate(records.rows):
            if number in wanted:
                found[number] = line
            if number == last:
                break
    return found
