"""The rows that `gml check` looks at: read as the model was fitted, unknown values left in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gml.cli.shared.data_options import DataRequest
from gml.cli.shared.run import run_ledger, was_given
from gml.errors import CannotAnswer, DataError, UsageError, counted, listing, place, unknown_name
from gml.progress import reporter

if TYPE_CHECKING:
    from gml.counts.counter import Counter
    from gml.data.dataset import Dataset
    from gml.data.options import ReadOptions
    from gml.data.schema import Schema
    from gml.gate.run import Context
    from gml.gate.schema import MissingCells
    from gml.model.bayesnet import BayesNet

Place = tuple[int, int | None]


@dataclass(frozen=True)
class CheckedData:
    """The engine over the rows, and what is known of them beside."""

    counter: Counter
    context: Context
    places: Callable[[Collection[int]], Mapping[int, Place]] = lambda rows: {
        row: (row, None) for row in rows
    }
    """The rows of the file, and their lines where these can be told, of rows that were looked at;
    all from 1."""


def read_checked_data(data: DataRequest, net: BayesNet, model: str) -> CheckedData:
    """Read the columns of a model; values that it does not know become levels after its own.

    Missing values, and what means missing, are treated as when the model was fitted, unless the
    options say otherwise.
    """
    from gml.data.parquet import is_count_file

    reading = _Reading(data, net, model)
    is_counted = data.path != "-" and is_count_file(data.path)
    return reading.counts() if is_counted else reading.rows()


@dataclass(frozen=True)
class _Reading:
    """The columns of a model in a file of rows or of counts."""

    data: DataRequest
    net: BayesNet
    model: str
    ignored: list[str] = field(default_factory=list)
    """Columns of the file that the model does not have, once its header was read."""

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """The levels of the model."""
        return {v.name: v.levels for v in self.net.variables if v.levels is not None}

    @property
    def options(self) -> ReadOptions:
        """How to read rows: whatever they hold, as when the model was fitted."""
        asked = self.data.options
        return replace(
            asked,
            levels=_lenient(asked.levels, self.net),
            na=asked.na if was_given("na") else _tokens(self.net) or asked.na,
            columns=None,
            exclude=tuple(name for name in asked.exclude if name not in self.net.names),
            missing="available",
            digest=run_ledger().wants_digests,
        )

    def counts(self) -> CheckedData:
        """Open a count file, for the columns of the model."""
        from gml.data.alignment import levels_first
        from gml.verbs.opening import open_count_file

        # Missing values were treated when counting: what was asked for is compared with that.
        options = replace(self.options, missing=self.data.options.missing)
        counter = open_count_file(
            self.data.path,
            options,
            given=self.data.reading,
            used=self._used,
            threads=self.data.threads,
        )
        _require_rows(counter.n, self.data.path)
        _, rows, missing = counter.treated_missing
        # What --levels declares is not all that the model has, nor in its order.
        counter = counter.with_levels(levels_first(counter.variables, self.levels))
        return CheckedData(counter, self._context(rows, missing))

    def rows(self) -> CheckedData:
        """Read rows, for the columns of the model."""
        from gml.counts.memory import MemoryCounter
        from gml.data.alignment import with_levels_first
        from gml.data.missing import count_missing
        from gml.data.reading import read_dataset

        path, options = self.data.path, self.options
        dataset = read_dataset(path, options, used=self._used)
        _require_rows(dataset.n, path)
        given = was_given("missing")
        policy = self.data.options.missing if given else _policy_of_fit(self.net)
        kept, numbers = _treat_missing(dataset, policy, self.data, self.net)
        _require_rows(kept.n, path)
        reporter().note(f"{kept.n} rows, {len(kept.names)} columns of the model")
        notes = []
        if kept.n_rows < dataset.n_rows:
            without = counted(dataset.n_rows - kept.n_rows, "row")
            notes.append(f"{without} with missing values left out")
        aligned = with_levels_first(kept, self.levels)
        missing = count_missing(dataset, policy, options.na_tokens)
        return CheckedData(
            MemoryCounter(aligned, threads=self.data.threads),
            self._context(dataset.n, missing, notes),
            places=lambda rows: _places(rows, numbers, dataset, path, options),
        )

    def _used(self, names: Sequence[str]) -> Sequence[str]:
        """Choose among the columns of the file."""
        known, there = set(self.net.names), set(names)
        for name in self.data.options.columns or ():
            if name not in known and name not in there:
                raise UsageError(
                    unknown_name("column", name, list(dict.fromkeys([*names, *self.net.names])))
                )
        self.ignored.extend(name for name in names if name not in known)
        left_out = _left_out(self.data.options, self.net)
        present = [name for name in self.net.names if name in there and name not in left_out]
        if not present:
            raise DataError(
                f"{place(self.data.path)}: has no column of the model; it has {listing(names)}, "
                f"and the model {listing(self.net.names)}"
            )
        return present

    def _context(self, rows: int, missing: Mapping[str, int], notes: Sequence[str] = ()) -> Context:
        from gml.gate.run import Context

        schema = self.data.options.levels
        ignored = [f"not in the model, ignored: {listing(self.ignored)}"] if self.ignored else []
        return Context(
            data=self.data.path,
            model=self.model,
            declared=_declared(schema, self.net),
            other_columns=self.ignored,
            left_out=_left_out(self.data.options, self.net),
            missing_before=_missing_before(schema, self.net),
            missing_now=_cells_of(self.net, rows, missing),
            notes=(*ignored, *notes),
        )


def _require_rows(rows: int, path: str) -> None:
    if rows == 0:
        raise CannotAnswer(f"{place(path)}: no rows are left to check")


def _left_out(options: ReadOptions, net: BayesNet) -> tuple[str, ...]:
    """The columns of the model that --columns and --exclude leave out."""
    chosen = net.names if options.columns is None else options.columns
    return tuple(name for name in net.names if name not in chosen or name in options.exclude)


def _policy_of_fit(net: BayesNet) -> str:
    """How missing values were treated; none were there if that is not known."""
    recorded = net.learning.get("missing")
    policy = recorded.get("policy") if isinstance(recorded, dict) else None
    return policy if policy in ("drop", "level", "available") else "available"


def _tokens(net: BayesNet) -> tuple[str, ...] | None:
    """What meant missing when the model was fitted, as far as its file says."""
    options = net.learning.get("options", {})
    tokens = options.get("na") if isinstance(options, dict) else None
    if isinstance(tokens, list) and tokens and all(isinstance(token, str) for token in tokens):
        return tuple(tokens)
    return None


def _declared(schema: Schema, net: BayesNet) -> dict[str, tuple[str, ...]]:
    """The levels that were declared by hand, intervals included; a profile has none for missing."""
    from gml.data.discretize import interval_levels
    from gml.data.levels import NA_LEVEL

    cut = {name: interval_levels(cuts) for name, cuts in schema.cuts.items()}
    declared = {**schema.levels, **schema.intervals, **cut}
    return {
        v.name: (*declared[v.name], *(level for level in v.levels or () if level == NA_LEVEL))
        for v in net.variables
        if v.name in declared
    }


def _lenient(schema: Schema, net: BayesNet) -> Schema:
    """A schema that expects levels, but refuses none; intervals stay intervals."""
    from gml.data.discretize import cuts_of_levels
    from gml.data.schema import with_levels

    levels = {v.name: v.levels for v in net.variables if v.levels is not None}
    cuts = {
        name: cuts
        for name, cuts in schema.cuts.items()
        if cuts_of_levels(levels.get(name, ())) != cuts
    }
    known = with_levels(replace(schema, cuts=cuts), levels)
    # Numbers of a column that was cut lie in its intervals.
    kinds = {name: kind for name, kind in schema.kinds.items() if name not in levels}
    return replace(known, levels={}, expected={**known.levels, **known.intervals}, kinds=kinds)


def _cells_of(net: BayesNet, rows: int, missing: Mapping[str, int]) -> dict[str, MissingCells]:
    """The missing cells of all columns of a model; none where a name is not listed."""
    from gml.gate.schema import MissingCells

    return {name: MissingCells(missing.get(name, 0), rows) for name in net.names}


def _missing_before(schema: Schema, net: BayesNet) -> dict[str, MissingCells]:
    """How often values were missing: by the profile, or by what the model says of its fitting."""
    from gml.gate.schema import MissingCells

    found = _missing_in_fitting(net)
    if schema.rows is not None:
        rows = int(schema.rows)
        found |= {name: MissingCells(int(n), rows) for name, n in schema.missing.items()}
    return found


def _missing_in_fitting(net: BayesNet) -> dict[str, MissingCells]:
    from gml.gate.families import rows_behind

    recorded = net.learning.get("missing")
    if isinstance(recorded, dict):
        rows, columns = recorded.get("rows"), recorded.get("columns")
        if isinstance(rows, int) and isinstance(columns, dict):
            return _cells_of(
                net, rows, {name: n for name, n in columns.items() if isinstance(n, int)}
            )
    rows = rows_behind(net)
    # Fitted as by default, where a missing value is an error.
    if net.learning.get("command") == "fit-params" and recorded is None and rows is not None:
        return _cells_of(net, rows, {})
    return {}


def _treat_missing(
    dataset: Dataset, policy: str, data: DataRequest, net: BayesNet
) -> tuple[Dataset, NDArray[np.int64]]:
    """Apply the policy; returns the rows left and their numbers in the file, from 0."""
    from gml.data.dataset import missing_mask
    from gml.data.missing import apply_missing_policy

    numbers = np.arange(dataset.n_rows)
    if policy == "drop":
        complete = np.ones(dataset.n_rows, dtype=bool)
        for column in dataset.columns:
            complete &= ~missing_mask(column)
        if complete.all():
            return dataset, numbers
        return dataset.rows(complete), numbers[complete]
    treated = apply_missing_policy(
        dataset, policy, place(data.path), declared=set(net.names) if policy == "level" else ()
    )
    return treated, numbers


def _places(
    rows: Collection[int],
    numbers: NDArray[np.int64],
    dataset: Dataset,
    path: str,
    options: ReadOptions,
) -> dict[int, Place]:
    in_file = {row: int(numbers[row - 1]) for row in rows}
    lines: Mapping[int, int] = {}
    if dataset.first_line is not None:
        lines = {number: dataset.first_line + number for number in in_file.values()}
    elif path != "-" and options.weights_column is None:
        lines = _lines_by_reading(path, options, list(in_file.values()))
    return {row: (number + 1, lines.get(number)) for row, number in in_file.items()}


def _lines_by_reading(path: str, options: ReadOptions, wanted: Sequence[int]) -> dict[int, int]:
    """Find the lines of rows by reading the file again, as far as need be."""
    from gml.data.parquet import is_parquet
    from gml.data.records import open_records

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
