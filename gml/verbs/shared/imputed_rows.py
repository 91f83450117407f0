"""Rows of a file with their holes filled, as CSV text; all other cells stay as they are."""

from __future__ import annotations

import math
import os
import re
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.atomic import whole_file
from gml.data.appended_column import Record, encoded
from gml.data.dataset import Dataset, code_type
from gml.data.options import ReadOptions
from gml.data.parquet import is_parquet
from gml.data.records import Records, open_records
from gml.errors import DataError, agreeing, counted, listing, place
from gml.formats.row_files import delimiter_for
from gml.ledger import wants_digest
from gml.model.bayesnet import BayesNet
from gml.model.evidence import circumstances
from gml.model.imputation import Filled, Imputer
from gml.model.row_evidence import RowEvidence
from gml.progress import reporter
from gml.verbs.shared.answer_text import csv_line
from gml.verbs.shared.cut_columns import CutColumns
from gml.verbs.shared.row_queries import evidence_blocks, na_tokens


class FilledCell(NamedTuple):
    """A cell that was filled: the number of its row from 1 on, and how sure the value is."""

    row: int
    column: str
    value: str | float
    """A level, or a number."""
    probability: float | None
    """Of a level, or of the interval of a number that was cut, given all that the row observes."""
    sd: float | None
    """Of a number, given all that the row observes."""

    def text(self, decimal: str = ".") -> str:
        """The value as a cell of a file."""
        if isinstance(self.value, str):
            return self.value
        return repr(self.value).removesuffix(".0").replace(".", decimal)

    def line(self, safe_csv: bool, decimal: str = ".") -> bytes:
        """The cell as a line of CSV."""
        figures = ["" if x is None else repr(x) for x in (self.probability, self.sd)]
        return csv_line([str(self.row), self.column, self.text(decimal), *figures], safe_csv)


@contextmanager
def listing_cells(
    path: str | None, *, safe_csv: bool = False, decimal: str = "."
) -> Iterator[Callable[[FilledCell], None] | None]:
    """Yield what takes the cells that are filled, into a CSV file that appears whole."""
    if path is None:
        yield None
        return
    with whole_file(path) as file:
        file.write(csv_line(list(FilledCell._fields), safe_csv))

        def write(cell: FilledCell) -> None:
            file.write(cell.line(safe_csv, decimal))

        yield write


def require_some_columns(net: BayesNet, names: Sequence[str], where: str) -> None:
    """Refuse a table that has nothing to do with the model."""
    if not any(name in net.names for name in names):
        raise DataError(
            f"{where} has no column that is a node of the model: it has {listing(names)}, and the "
            f"model {listing(net.names)}"
        )


def csv_of_imputed(
    net: BayesNet,
    data: str | os.PathLike[str],
    *,
    method: str,
    seed: int,
    missing: str = "unobserved",
    ignore_unknown: bool = False,
    reading: ReadOptions | None = None,
    safe_csv: bool = False,
    listed: Callable[[FilledCell], None] | None = None,
    numbers_of: BayesNet | None = None,
    max_memory: int | None = None,
    output: str | os.PathLike[str] | None = None,
) -> Iterator[bytes]:
    """Yield the text of a file with the missing cells of nodes filled, block by block.

    All else is as in the file, to the byte: delimiter, quotes, line ends, byte order mark, encoding
    and decimal mark. What is to be safe for spreadsheets is written anew, and so is what goes to an
    `output` that implies another delimiter. Every cell that is filled goes to `listed`, if that is
    given. `numbers_of` is the model that knows the numbers of columns that were cut, if `net` does
    not.
    """
    reading = reading or ReadOptions()
    pieces = _filled_text(
        net,
        data,
        method,
        seed,
        missing,
        ignore_unknown,
        reading,
        safe_csv,
        listed,
        numbers_of or net,
        max_memory,
        output,
    )
    is_text = str(data) == "-" or not is_parquet(data)
    yield from encoded(pieces, reading.encoding if is_text else None)


def _filled_text(
    net: BayesNet,
    data: str | os.PathLike[str],
    method: str,
    seed: int,
    missing: str,
    ignore_unknown: bool,
    reading: ReadOptions,
    safe_csv: bool,
    listed: Callable[[FilledCell], None] | None,
    numbers_of: BayesNet,
    max_memory: int | None,
    output: str | os.PathLike[str] | None,
) -> Iterator[bytes]:
    impossible, n_filled, filled_rows, done = 0, 0, 0, 0
    digest = wants_digest(data)
    with open_records(data, reading, digest=digest, with_texts=True) as records:
        rows = _evidence(net, records, reading, missing, ignore_unknown)
        fill = Imputer(net, rows.names, method=method, seed=seed, max_memory=max_memory)
        cut = CutColumns(numbers_of, rows.names, seed=seed if method == "draw" else None)
        left = _MissingElsewhere(records.names, rows.at, na_tokens(reading))
        written = _AsInFile(records, reading.delimiter, output, safe_csv)
        text = written.header()
        for block, values in evidence_blocks(records, rows, reading):
            evidence = with_holes(values)
            found = fill.fill(evidence, first_row=done)
            impossible += found.impossible
            lines = [list(fields) for _, fields in block]
            left.count(lines)
            for k in cut.positions:
                cut.see(k, (fields[rows.at[k]] for fields in lines))
            changed: dict[int, dict[int, str]] = {}
            numbers = cut.numbers(evidence, found.values, done)
            for cell, i, k in filled_cells(fill, evidence, found, numbers):
                changed.setdefault(i, {})[rows.at[k]] = cell.text(reading.decimal)
                n_filled += 1
                if listed is not None:
                    listed(cell._replace(row=done + i + 1))
            filled_rows += len(changed)
            done += len(block)
            nothing: dict[int, str] = {}
            text += "".join(
                written.record(fields, changed.get(i, nothing)) for i, fields in enumerate(lines)
            )
            yield text.encode()
            text = ""
        yield text.encode()
        rows.warn()
    cut.warn()
    warn_of_unfilled(impossible, place(data))
    in_all = counted(done, "row") if filled_rows == done else f"{filled_rows} of {done} rows"
    reporter().tell(f"{counted(n_filled, 'cell')} filled in {in_all}{left.said()}")


class _AsInFile:
    """Records as they stand in a file, but for some cells."""

    def __init__(
        self,
        records: Records,
        delimiter: str | None,
        output: str | os.PathLike[str] | None,
        safe_csv: bool,
    ) -> None:
        self._records = records
        own = records.delimiter
        wanted = delimiter_for(delimiter if own else None, own or ",", output)
        self._writer = Record(wanted, safe_csv)
        self._texts = None if safe_csv or own != wanted else records.texts
        self._cells = re.compile(f'(?:"(?:[^"]|"")*+")?[^{re.escape(wanted)}]*+')

    def header(self) -> str:
        """The names of the columns."""
        if self._texts is None:
            return self._anew(self._records.names)
        return self._records.header

    def record(self, fields: Sequence[str], changed: Mapping[int, str]) -> str:
        """The next record, whose cells the file has as `fields`."""
        if self._texts is None:
            (self._records.texts or deque()).clear()
            return self._anew([changed.get(at, field) for at, field in enumerate(fields)])
        text = self._texts.popleft()
        if not changed:
            return text
        record = text.rstrip("\r\n")
        cells = self._split(record, len(fields))
        for at, value in changed.items():
            cells[at] = self._writer.text([value])
        return str(self._records.delimiter).join(cells) + text[len(record) :]

    def _split(self, record: str, width: int) -> list[str]:
        """The cells of a record with their quotes."""
        delimiter = str(self._records.delimiter)
        if '"' not in record:
            return record.split(delimiter)
        cells: list[str] = []
        at = 0
        while len(cells) < width:
            found = self._cells.match(record, at)
            assert found is not None
            cells.append(found[0])
            at = found.end() + 1
        return cells

    def _anew(self, fields: Sequence[str]) -> str:
        return self._writer.text(fields) + "\n"


class _MissingElsewhere:
    """Missing cells of columns that are not in the model, and so are not filled."""

    def __init__(self, names: Sequence[str], nodes: Sequence[int], na: Collection[str]) -> None:
        self._names = names
        self._cells = {at: 0 for at in range(len(names)) if at not in nodes}
        self._na = na

    def count(self, lines: Sequence[Sequence[str]]) -> None:
        """Count those of some rows."""
        for at in self._cells:
            self._cells[at] += sum(fields[at].strip(" ") in self._na for fields in lines)

    def said(self) -> str:
        """The end of a sentence, empty if there are none."""
        total = sum(self._cells.values())
        if not total:
            return ""
        columns = [self._names[at] for at, cells in self._cells.items() if cells]
        return (
            f"; {counted(total, 'missing cell')} {agreeing(total, 'remains', 'remain')}, in "
            f"{agreeing(len(columns), 'a column that is', 'columns that are')} not in the model: "
            f"{listing(columns)}"
        )


def incomplete_rows(
    net: BayesNet,
    data: str | os.PathLike[str],
    *,
    missing: str = "unobserved",
    ignore_unknown: bool = False,
    reading: ReadOptions | None = None,
) -> Dataset:
    """Read the columns of a file that are nodes, with their holes."""
    reading = reading or ReadOptions()
    with open_records(data, reading) as records:
        rows = _evidence(net, records, reading, missing, ignore_unknown)
        empty = dataset_of(net, rows.names, with_holes(rows.room(0)))
        parts = [[column] for column in empty.columns]
        # Codes of blocks, since figures of all rows would take eight times as much.
        for _, values in evidence_blocks(records, rows, reading):
            block = dataset_of(net, rows.names, with_holes(values))
            for own, column in zip(parts, block.columns, strict=True):
                own.append(column)
    columns = []
    for own in parts:
        columns.append(np.concatenate(own))
        own.clear()
    return replace(empty, columns=tuple(columns))


def _evidence(
    net: BayesNet, records: Records, reading: ReadOptions, missing: str, ignore_unknown: bool
) -> RowEvidence:
    require_some_columns(net, records.names, records.where)
    return RowEvidence(
        circumstances(net, None, None),
        records.names,
        (),
        records.where,
        missing=missing,
        ignore_unknown=ignore_unknown,
        decimal=reading.decimal,
    )


def with_holes(values: NDArray[Any]) -> NDArray[np.float64]:
    """Evidence as numbers, NaN where there is none."""
    return np.where(values < 0, np.nan, values) if values.dtype.kind == "i" else values


def dataset_of(net: BayesNet, names: Sequence[str], values: NDArray[np.float64]) -> Dataset:
    """Rows of nodes as a dataset; NaN is missing."""
    variables = tuple(net.variables[net.index(name)] for name in names)
    columns = []
    for variable, column in zip(variables, values.T, strict=True):
        if variable.levels is None:
            columns.append(np.ascontiguousarray(column, dtype=np.float64))
            continue
        kind = code_type(len(variable.levels))
        columns.append(np.where(np.isnan(column), np.iinfo(kind).max, column).astype(kind))
    return Dataset(variables, tuple(columns))


def filled_cells(
    fill: Imputer,
    evidence: NDArray[np.float64],
    found: Filled,
    numbers: NDArray[np.float64],
) -> Iterator[tuple[FilledCell, int, int]]:
    """Yield the cells that were filled, with their row and column in the block.

    `numbers` has those that stand for intervals.
    """
    variables = {v.name: v for v in fill.net.variables}
    levels = [variables[name].levels for name in fill.names]
    holes = np.argwhere(np.isnan(evidence) & ~np.isnan(found.values))
    for i, k in holes.tolist():
        own, value = levels[k], float(found.values[i, k])
        if own is None:
            sd = float(found.sd[i, k])
            yield FilledCell(i + 1, fill.names[k], value, None, sd), i, k
        else:
            number, p = float(numbers[i, k]), float(found.probability[i, k])
            filled = own[int(value)] if math.isnan(number) else number
            yield FilledCell(i + 1, fill.names[k], filled, p, None), i, k


def warn_of_unfilled(impossible: int, where: str) -> None:
    """Warn of rows whose holes stay."""
    if impossible:
        reporter().warn(
            f"{where}: {counted(impossible, 'row')} with missing values "
            f"{'has' if impossible == 1 else 'have'} probability 0 in the model: not filled"
        )
