"""Rows of a table in sequences: those of one identifier, in the order of the file.

Rows of a sequence need not be next to one another. Sequences are put in the order of their
identifiers, so that nothing depends on the order in which they appear. Identifiers and inputs may
have any number of different labels (words); an input of more numbers than `max_levels` is refused,
as it wants to be cut.

What is missing: an identifier, or a label to learn from, is refused by its line. Missing inputs are
refused (`error`), a level of their own (`level`), or say nothing (`available`); rows cannot be
dropped, as those before and after them would become neighbours.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from gml.data.column_kinds import require_kinds
from gml.data.dataset import Dataset, Variable, missing_mask
from gml.data.frames import is_frame
from gml.data.missing import FRAME, apply_missing_policy, why_no_rows
from gml.data.options import ReadOptions
from gml.data.reading import read_dataset, read_source
from gml.data.schema import Schema
from gml.data.source import ByteSource
from gml.errors import (
    CannotAnswer,
    DataError,
    UsageError,
    agreeing,
    counted,
    listing,
    parameter,
    place,
    quote,
    unknown_name,
)
from gml.parameters import LABELS

if TYPE_CHECKING:
    import pandas as pd

PREDICTION = "prediction by a conditional random field"


@dataclass(frozen=True)
class SequenceRows:
    """The rows of sequences: row order[i] of the table is the i-th, sequence by sequence.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame(
    ...     {"id": ["b", "a", "b"], "word": ["x", "y", "z"], "tag": ["N", "V", "N"]})
    >>> rows = read_sequences(frame, ReadOptions(), sequence="id", target="tag")
    >>> rows.order.tolist(), rows.starts.tolist(), rows.names
    ([1, 0, 2], [0, 1, 3], ('a', 'b'))
    """

    sequence: str
    """The column of identifiers."""
    target: Variable | None
    labels: NDArray[np.int64]
    """Codes of the target, row by row as in the table; -1 where it is missing."""
    inputs: Dataset
    """All other columns in use, row by row as in the table."""
    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    """Where each sequence begins in `order`, and the end of the last."""
    names: tuple[str, ...]
    """The identifier of each sequence."""
    where: str

    @property
    def n_rows(self) -> int:
        """Number of rows of all sequences."""
        return len(self.order)

    @property
    def n_sequences(self) -> int:
        """Number of sequences."""
        return len(self.names)

    def line(self, row: int) -> str:
        """Name the place of a row of the table."""
        return self.inputs.name_of_row(row)


def read_sequences(
    data: str | os.PathLike[str] | pd.DataFrame,
    options: ReadOptions,
    *,
    sequence: str,
    target: str,
    inputs: Sequence[str] | None = None,
    is_training: bool = True,
    source: ByteSource | None = None,
) -> SequenceRows:
    """Read a table of sequences: CSV, Parquet, standard input or a frame.

    Parameters
    ----------
    data
        What `gml.read` takes.
    options
        How to read it; `columns` and `exclude` choose among the inputs, and the schema may declare
        levels of any column but the identifiers.
    sequence
        The column whose value tells which sequence a row is of.
    target
        The column of the labels. To predict it need not be there.
    inputs
        The columns to predict from; by default all others that the options leave.
    is_training
        Whether every row must have a label.
    source
        The bytes of a text file that is open already; `data` is its path.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": [7, 7, 8], "word": ["a", "b", None], "tag": ["N", "V", "N"]})
    >>> read_sequences(frame, ReadOptions(), sequence="id", target="tag")
    Traceback (most recent call last):
    gml.errors.DataError: the frame: missing values: 'word' 1; choose `missing='available'` (such \
cells say nothing) or level (a level of their own)
    >>> rows = read_sequences(frame, ReadOptions(missing="level"), sequence="id", target="tag")
    >>> rows.inputs.variables
    (Variable(name='word', levels=('a', 'b', 'NA')),)
    """
    _require_usable(options, sequence, target)
    where = FRAME if is_frame(data) else place(data)
    asked = None if inputs is None else list(inputs)

    def used(names: Sequence[str]) -> Sequence[str]:
        return _used(names, sequence, target, asked, is_training=is_training, where=where)

    wide = replace(
        options,
        columns=_with(options.columns, sequence, target) if is_training else options.columns,
        missing="available",
        identifier=sequence,
        limited=(target,),
        levels=_silent_on(options.levels, sequence),
    )
    if source is None:
        table = read_dataset(data, wide, used=used)
    else:
        table = read_source(source, cast("str", data), wide, used=used)
    declared = {*options.levels.levels, *options.levels.intervals}
    return sequences_of(
        table,
        sequence=sequence,
        target=target,
        missing=options.missing,
        is_training=is_training,
        declared=frozenset(declared),
        where=where,
    )


def sequences_of(
    table: Dataset,
    *,
    sequence: str,
    target: str,
    inputs: Sequence[str] | None = None,
    missing: str = "error",
    is_training: bool = True,
    declared: frozenset[str] = frozenset(),
    where: str = "the data",
) -> SequenceRows:
    """Return the rows of a table that is read already, its missing values kept, as sequences."""
    if table.weights is not None:
        raise UsageError(
            f"{where}: the rows have weights, and those of a sequence all count once; read them "
            "without"
        )
    if table.n_rows == 0:
        raise CannotAnswer(f"{where}: {why_no_rows(where, weighted=False)}")
    if sequence == target:
        raise UsageError(f"{quote(sequence)} cannot be both the sequence and the target")
    table = table.select(
        _used(table.names, sequence, target, inputs, is_training=is_training, where=where)
    )
    at = table.index(sequence)
    identifiers, names = table.columns[at], table.variables[at].levels
    if names is None:
        raise UsageError(f"column {quote(sequence)} has numbers; identifiers are labels")
    _refuse_gaps(table, sequence, "no sequence", where)
    order = np.argsort(identifiers, kind="stable").astype(np.int64)
    sizes = np.bincount(identifiers, minlength=len(names))
    present = np.flatnonzero(sizes)
    variable, labels = _labels(table, target, where, is_training)
    others = [name for name in table.names if name not in (sequence, target)]
    treated = _treated(table.select(others), missing, where, declared, is_training=is_training)
    return SequenceRows(
        sequence,
        variable,
        labels,
        treated,
        order,
        np.concatenate([[0], np.cumsum(sizes[present])]).astype(np.int64),
        tuple(names[k] for k in present),
        where,
    )


def _require_usable(options: ReadOptions, sequence: str, target: str) -> None:
    if sequence == target:
        raise UsageError(f"{quote(sequence)} cannot be both the sequence and the target")
    if options.weights_column is not None:
        chosen = "weights" if options.weights is not None else "weights_fractional"
        raise UsageError(f"{parameter(chosen)}: rows of a sequence all count once; leave it out")
    if options.missing == "drop":
        raise UsageError(
            f"{parameter('missing', 'drop')} would make neighbours of rows that are not; choose "
            f"{parameter('missing', 'level')}, or leave the sequences out"
        )
    if sequence in options.cut or sequence in options.numeric:
        raise UsageError(
            f"column {quote(sequence)} tells sequences apart: it is not cut, nor numbers"
        )


def _used(
    names: Sequence[str],
    sequence: str,
    target: str,
    inputs: Sequence[str] | None,
    *,
    is_training: bool,
    where: str,
) -> list[str]:
    """The sequence, the target if it is there, and the inputs, of a table with these columns."""
    for what, name in (("sequence column", sequence), ("target column", target)):
        if name not in names and (is_training or name == sequence):
            raise UsageError(unknown_name(what, name, names))
    known = {*names}
    if inputs is not None and (gone := [name for name in inputs if name not in known]):
        raise DataError(f"{where}: no column {listing(gone)}, which the model uses")
    others = [
        name for name in (names if inputs is None else inputs) if name not in (sequence, target)
    ]
    return [sequence, *([target] if target in known else []), *others]


def _silent_on(schema: Schema, name: str) -> Schema:
    """What is declared about all columns but one."""

    def others(said: Mapping[str, Any]) -> dict[str, Any]:
        return {column: what for column, what in said.items() if column != name}

    return replace(
        schema,
        levels=others(schema.levels),
        intervals=others(schema.intervals),
        expected=others(schema.expected),
        cuts=others(schema.cuts),
        kinds=others(schema.kinds),
    )


def _with(columns: tuple[str, ...] | None, *needed: str) -> tuple[str, ...] | None:
    """The columns that were chosen, and those that are needed whether they were or not."""
    if columns is None:
        return None
    return (*columns, *(name for name in needed if name not in columns))


def _labels(
    table: Dataset, target: str, where: str, is_training: bool
) -> tuple[Variable | None, NDArray[np.int64]]:
    if target not in table.names:
        return None, np.full(table.n_rows, -1, dtype=np.int64)
    variable, column = table.variables[table.index(target)], table.columns[table.index(target)]
    require_kinds(PREDICTION, (LABELS,), [variable])
    levels = variable.levels or ()
    gaps = missing_mask(column)
    if is_training:
        _refuse_gaps(table, target, "no label to learn from", where)
        if len(np.unique(column)) < 2:
            raise DataError(
                f"{where}: column {quote(target)} has no variation: every row has "
                f"{quote(levels[int(column[0])])}, so that there is nothing to learn"
            )
    return variable, np.where(gaps, -1, column.astype(np.int64))


def _refuse_gaps(table: Dataset, name: str, lacking: str, where: str) -> None:
    gaps = np.flatnonzero(missing_mask(table.columns[table.index(name)]))
    if len(gaps):
        more = f", nor in {counted(len(gaps) - 1, 'row')} more" if len(gaps) > 1 else ""
        first = table.name_of_row(int(gaps[0]))
        raise DataError(
            f"{where}: {first}: {lacking}: column {quote(name)} is missing "
            f"there{more}; fill it in, or leave the sequence out"
        )


def _treated(
    inputs: Dataset, missing: str, where: str, declared: frozenset[str], *, is_training: bool
) -> Dataset:
    """Treat the missing cells of inputs; those of numbers have no level, but may stay missing in
    rows that are to be predicted."""
    gaps = {
        variable.name: int(np.count_nonzero(missing_mask(column)))
        for variable, column in zip(inputs.variables, inputs.columns, strict=True)
    }
    numbers = [v.name for v in inputs.variables if v.is_continuous]
    gappy = [name for name in numbers if gaps[name]]
    available = f"{parameter('missing', 'available')} (such cells say nothing)"
    if missing == "error" and any(gaps.values()):
        found = [f"{quote(name)} {number}" for name, number in sorted(gaps.items()) if number]
        raise DataError(
            f"{where}: missing values: {', '.join(found[:8])}"
            f"{f' and {len(found) - 8} more columns' if len(found) > 8 else ''}; choose "
            f"{available}{'' if gappy else ' or level (a level of their own)'}"
        )
    if missing == "level" and gappy and is_training:
        raise DataError(
            f"{where}: {parameter('missing', 'level')} is for levels, and {listing(gappy)} "
            f"{agreeing(len(gappy), 'has', 'have')} numbers, with missing values among them; "
            f"choose {available}, cut them ({parameter('bins', 4)}), or treat them as categorical "
            f"({parameter('labels', gappy)})"
        )
    labels = inputs.select([name for name in inputs.names if name not in numbers])
    treated = apply_missing_policy(labels, missing, where, declared=declared)
    columns = [
        (treated if variable.levels is not None else inputs).select([variable.name])
        for variable in inputs.variables
    ]
    return replace(
        inputs,
        variables=tuple(column.variables[0] for column in columns),
        columns=tuple(column.columns[0] for column in columns),
    )


def numbers_in_order(rows: SequenceRows, name: str) -> NDArray[np.float64]:
    """Return the numbers of an input in the order of the sequences, NaN where one is missing."""
    column: NDArray[np.float64] = rows.inputs.columns[rows.inputs.index(name)]
    return column[rows.order]


def codes_in_order(rows: SequenceRows, name: str) -> NDArray[np.int64]:
    """Return the codes of an input in the order of the sequences, -1 where it is missing."""
    column: NDArray[Any] = rows.inputs.columns[rows.inputs.index(name)]
    return np.where(missing_mask(column), -1, column.astype(np.int64))[rows.order]
