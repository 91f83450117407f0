"""The rows that a check looks at: read as the model was fitted, unknown values left in."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter
from gml.counts.engine_over import engine_over
from gml.counts.open_count_file import is_counted, open_counts
from gml.counts.open_rows import is_for_spark, read_or_open
from gml.counts.settled_counter import SettledCounter
from gml.counts.streamed import StreamCounter
from gml.data.alignment import levels_first, with_levels_first
from gml.data.dataset import Dataset, missing_mask
from gml.data.discretize import cuts_of_levels
from gml.data.frames import is_frame, is_spark_frame
from gml.data.missing import apply_missing_policy, count_missing
from gml.data.number_summary import NumberValues
from gml.data.options import EM, ReadOptions
from gml.data.parquet import is_parquet
from gml.data.records import open_records
from gml.data.schema import Schema
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
from gml.gate.checked_schema import declared_levels, left_out_of, lenient
from gml.gate.families import CheckedModel, rows_behind
from gml.gate.in_intervals import in_intervals, numbers_before, repeats_before
from gml.gate.settings import Context, MissingCells
from gml.parameters import FOR_LABELS
from gml.progress import reporter

if TYPE_CHECKING:
    import pandas as pd

Place = tuple[int, int | None]

# Commands that fit tables to rows, and by default refuse missing values.
_FITTING = ("fit-params", "mrf")


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

    numbers: Mapping[str, NumberValues]
    repeats: Mapping[int, int] | None


@dataclass(frozen=True)
class CheckedReading:
    """How to find the columns of a model; values that it does not know are levels after its own.

    Missing values, and the tokens that mean missing, are treated as when the model was fitted,
    unless they are in `given`, the names of the options that were asked for.
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
        asked, recorded = self.asked, self.net.learning.na
        return replace(
            asked,
            levels=lenient(asked.levels, self.net),
            na=asked.na if "na" in self.given or recorded is None else recorded,
            columns=None,
            exclude=tuple(name for name in asked.exclude if name not in self.net.names),
            missing="available",
            maybe_numbers=self.numeric,
        )

    @property
    def _policy(self) -> str:
        """How missing values are treated."""
        return self.asked.missing if "missing" in self.given else _policy_of_fit(self.net)

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
        if isinstance(opened, StreamCounter):
            dataset = self._rows_behind(opened)
        elif isinstance(opened, Dataset):
            dataset = opened
        else:
            return self._of_engine(opened, found)

        def lines(numbers: Collection[int]) -> Mapping[int, int]:
            return {} if path is None else _lines(numbers, dataset, path, options)

        return self._of_rows(dataset, found, lines, options.na_tokens, self._uncut(dataset), source)

    def _rows_behind(self, stream: StreamCounter) -> Dataset:
        """Rows that went to a file come back from there if there is room for them."""
        rows = stream.rows_as_they_stand()
        if rows is None:
            raise CannotAnswer(
                f"{place(self.data)}: a check looks at each row, and the rows take more than "
                f"{parameter('max_memory')} allows; allow more, or count them and check the tables "
                f"(gml count DATA {parameter('implied')} {self.model})"
            )
        return rows

    def of_dataset(self, dataset: Dataset) -> CheckedData:
        """Take rows that were read already; numbers are put into the intervals of the model."""
        chosen = dataset.select(self.used(dataset.names))
        placed = in_intervals(chosen, self.levels)
        return self._of_rows(placed, dataset.names, lambda numbers: {}, (), self._uncut(chosen))

    def of_counter(self, counter: Counter) -> CheckedData:
        """Take the rows behind an engine, or its tables if it has no rows."""
        rows = counter.rows()
        if rows is not None:
            return self.of_dataset(rows)
        return self._of_engine(counter, [variable.name for variable in counter.variables])

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
        if treated is None:
            return CheckedData(counter, self._context(found, counter.n, {}))
        return CheckedData(counter, self._context(found, treated.rows, treated.cells, notes))

    def _uncut(self, dataset: Dataset) -> _Uncut:
        """The numbers of columns in which the model's rows had numbers, and how rows repeat."""
        held = [
            name
            for name in self.net.names
            if name in self.numeric or cuts_of_levels(self.levels.get(name, ())) is not None
        ]
        cut = [name for name in held if name not in self.numeric]
        repeats = repeats_before(dataset, held) if cut else None
        return _Uncut(numbers_before(dataset, held), repeats)

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
        kept, positions = _treat_missing(dataset, policy, self.data, self.net)
        _require_rows(kept.n, self.data)
        reporter().note(
            f"{counted(kept.n, 'row')}, {counted(len(kept.names), 'column')} of the model"
        )
        notes = []
        if kept.n_rows < dataset.n_rows:
            without = dataset.n_rows - kept.n_rows
            share = share_of(without, dataset.n_rows)
            notes.append(f"{counted(without, 'row')} ({share}) with missing values left out")
        aligned = with_levels_first(kept, self.levels)

        def places(rows: Collection[int]) -> dict[int, Place]:
            number_of = {row: int(positions[row - 1]) for row in rows}
            line_of = lines(list(number_of.values()))
            return {row: (number + 1, line_of.get(number)) for row, number in number_of.items()}

        return CheckedData(
            engine_over(aligned, source, threads=self.threads),
            replace(
                self._context(
                    found, *_missing_cells(dataset, policy, tokens), notes, uncut.numbers
                ),
                uncut_repeats=uncut.repeats,
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
        numbers: Mapping[str, NumberValues] = MappingProxyType({}),
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
            missing_before=_missing_before(schema, self.net),
            missing_now=_cells_of(self.net, rows, missing),
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


def _missing_cells(
    dataset: Dataset, policy: str, tokens: Collection[str]
) -> tuple[int, Mapping[str, int]]:
    """The rows, and the missing cells by column, before missing values were treated."""
    origin = dataset.origin
    if origin is not None and origin.policy in ("drop", "level"):
        return origin.n, origin.missing
    return dataset.n, count_missing(dataset, policy, tokens)


def _require_rows(rows: int, path: str) -> None:
    if rows == 0:
        raise CannotAnswer(f"{place(path)}: no rows are left to check")


def _policy_of_fit(net: CheckedModel) -> str:
    """How missing values were treated; if that is not known, there were none."""
    recorded = net.learning.missing
    policy = (None if recorded is None else recorded.policy) or "available"
    # What EM expects in the place of missing values is no row: those that were seen are compared.
    return "available" if policy == EM else policy


def _cells_of(net: CheckedModel, rows: int, missing: Mapping[str, int]) -> dict[str, MissingCells]:
    """The missing cells of all columns of a model; a name that is not listed has none."""
    return {name: MissingCells(missing.get(name, 0), rows) for name in net.names}


def _missing_before(schema: Schema, net: CheckedModel) -> dict[str, MissingCells]:
    """How often values were missing, from the profile, or from how the model was fitted."""
    found = _missing_in_fitting(net)
    if schema.rows is not None:
        rows = int(schema.rows)
        found |= {name: MissingCells(int(n), rows) for name, n in schema.missing.items()}
    return found


def _missing_in_fitting(net: CheckedModel) -> dict[str, MissingCells]:
    recorded = net.learning.missing
    if recorded is not None:
        # Fractions of rows cannot be compared by an exact test.
        if not isinstance(recorded.rows, int) or recorded.columns is None:
            return {}
        whole = {name: n for name, n in recorded.columns.items() if isinstance(n, int)}
        return _cells_of(net, recorded.rows, whole)
    rows = rows_behind(net)
    # Fitted with the default, under which a missing value is an error.
    if net.learning.command in _FITTING and rows is not None:
        return _cells_of(net, rows, {})
    return {}


def _treat_missing(
    dataset: Dataset, policy: str, where: str, net: CheckedModel
) -> tuple[Dataset, NDArray[np.int64]]:
    """Apply the policy, and return the remaining rows and their numbers in the file, from 0."""
    numbers = np.arange(dataset.n_rows)
    if policy == "drop":
        complete = np.ones(dataset.n_rows, dtype=bool)
        for column in dataset.columns:
            complete &= ~missing_mask(column)
        if complete.all():
            return dataset, numbers
        return dataset.rows(complete), numbers[complete]
    treated = apply_missing_policy(
        dataset, policy, place(where), declared=set(net.names) if policy == "level" else ()
    )
    return treated, numbers


def _lines(
    wanted: Collection[int], dataset: Dataset, path: str, options: ReadOptions
) -> dict[int, int]:
    """The lines of rows of a file (from 0), where they are known."""
    if dataset.first_line is not None:
        return {number: dataset.first_line + number for number in wanted}
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
