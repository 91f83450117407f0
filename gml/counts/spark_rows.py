"""What Spark's executors do with rows: pieces as the kernel reads them, kept as bytes by column.

A batch of rows, as Arrow has them, becomes a piece: codes of the labels that it has itself, or
numbers. A piece is one row of Spark's table, with one binary cell per column, so that rows of the
data never become objects, and Spark hands a column over as it lies in memory. What is wrong with a
piece is kept in its place, as a task that fails would only be tried again.

The lines of a text file come in blocks of whole lines. A block is read as if no quote were open at
its beginning. Where one is, the block before ends within quotes, and says so (`QuoteOpen`).
"""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.cells import cell_pieces
from gml.data.header import read_header
from gml.data.options import ReadOptions
from gml.data.parquet import kind_of_values
from gml.data.parquet_column import ColumnBuilder, Room
from gml.data.problems import explain_problem
from gml.data.reading import text_dialect
from gml.data.tallied_pieces import PieceColumns
from gml.errors import DataError, GmlError, listing, parameter
from gml.kernel.layout import UNTERMINATED, ColumnSpec, CsvColumn, CsvProblem
from gml.resources import budget_in_force, limited_to

_MOST_ROWS = 1 << 18
_LEAST_ROWS = 1 << 12
_PIECE_BYTES = 1 << 26
# What Arrow holds of a piece before it is read.
_ARROW_BYTES = 1 << 28
_CELL_BYTES = 8
# Cells as they were read, as bytes, and as Arrow has them, twice while it writes them.
_COPIES = 4
# A piece of text has at least a line or so.
_LEAST_TEXT = 1 << 12


class QuoteOpen(DataError):
    """A block of a text file ends within quotes: the next one begins in the middle of a field."""


@dataclass(frozen=True)
class PieceReading:
    """How to read rows: the names of all columns, those used, and what each is read as.

    The budget is that of the driver: an executor knows of no limit that the user gave.
    """

    names: Sequence[str]
    chosen: Sequence[int]
    specs: Sequence[ColumnSpec]
    options: ReadOptions
    where: str
    delimiter: str = ","
    budget: int = field(default_factory=budget_in_force)

    @property
    def piece_rows(self) -> int:
        """How many rows a piece may have."""
        row_bytes = _CELL_BYTES * max(1, len(self.read))
        wanted = max(_LEAST_ROWS, min(_MOST_ROWS, _PIECE_BYTES // row_bytes))
        return max(1, min(wanted, self.budget // (_COPIES * row_bytes)))

    @property
    def piece_text(self) -> int:
        """How many bytes of text a piece may have: each makes at most one cell."""
        most = min(_PIECE_BYTES, self.budget // _COPIES)
        return max(_LEAST_TEXT, most // _CELL_BYTES)

    @property
    def read(self) -> list[int]:
        """The positions of the columns that are read, the weights last."""
        weights = self.options.weights_column
        return [*self.chosen, *([] if weights is None else [self.names.index(weights)])]

    def piece(self, columns: Sequence[CsvColumn], n_rows: int) -> PieceColumns:
        """Return a piece of the columns that are read."""
        if self.options.weights_column is None:
            return PieceColumns(columns, None, n_rows)
        weights = columns[-1].cells
        return PieceColumns(columns[:-1], weights, n_rows)


# ---------------------------------------------------------------------- rows as Arrow has them


def pieces_of_values(batches: Iterable[Any], reading: PieceReading) -> Iterator[PieceColumns]:
    """Read pieces of columns of any type, which stand in the order of `reading.read`."""
    waiting: list[Any] = []
    rows = n_bytes = 0
    most, most_bytes = reading.piece_rows, min(_ARROW_BYTES, reading.budget // _COPIES)
    begun = False
    for batch in _cut_to(most, batches):
        if waiting and (rows + batch.num_rows > most or n_bytes + batch.nbytes > most_bytes):
            yield _piece_of(waiting, reading)
            waiting, rows, n_bytes, begun = [], 0, 0, True
        waiting.append(batch)
        rows, n_bytes = rows + batch.num_rows, n_bytes + batch.nbytes
    if waiting or not begun:
        yield _piece_of(waiting, reading)


def _cut_to(most: int, batches: Iterable[Any]) -> Iterator[Any]:
    """Cut batches to so many rows, which copies nothing."""
    for batch in batches:
        for start in range(0, batch.num_rows, most):
            yield batch.slice(start, most)


def _piece_of(batches: Sequence[Any], reading: PieceReading) -> PieceColumns:
    with limited_to(reading.budget):
        return _columns_of(batches, reading)


def _columns_of(batches: Sequence[Any], reading: PieceReading) -> PieceColumns:
    n_rows = sum(batch.num_rows for batch in batches)
    options = reading.options
    na = {token.strip(" ") for token in options.na_tokens}
    room = Room(f"{reading.where}: the rows of a part")
    columns = []
    for k, j in enumerate(reading.read):
        builder = ColumnBuilder(
            reading.names[j],
            reading.specs[j],
            na,
            options.encoding or "utf-8",
            n_rows,
            room,
            names_rows=False,
            strip=options.strip,
        )
        for batch in batches:
            values = _in_utc(batch.column(k))
            builder.start_file(reading.where, kind_of_values(values.type))
            builder.append(values)
        columns.append(builder.result())
    return reading.piece(columns, n_rows)


def _in_utc(values: Any) -> Any:
    """Points in time as they stand in a Parquet file, whatever the session's time zone is."""
    import pyarrow as pa

    zone = getattr(values.type, "tz", None)
    if zone is None or not pa.types.is_timestamp(values.type):
        return values
    return values.cast(pa.timestamp(values.type.unit, "UTC"))


# ---------------------------------------------------------------------- lines of text files


class _Lines:
    """The lines of a block, as a source of bytes."""

    size: int | None = None

    def __init__(self, arrays: Iterable[Any], encoding: str | None, where: str) -> None:
        self._arrays = iter(arrays)
        self._encoding = encoding
        self._where = where
        self._left = memoryview(b"")

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer as far as possible; 0 at the end."""
        while not self._left:
            lines = next(self._arrays, None)
            if lines is None:
                return 0
            self._left = memoryview(self._in_utf8(_joined(lines)))
        part = self._left[: len(buffer)]
        buffer[: len(part)] = part
        self._left = self._left[len(part) :]
        return len(part)

    def _in_utf8(self, text: bytes) -> bytes:
        if self._encoding is None:
            return text
        try:
            return text.decode(self._encoding).encode("utf-8")
        except UnicodeError:
            right = parameter("encoding")
            raise DataError(
                f"{self._where}: not {self._encoding}; name the right {right}"
            ) from None


def _joined(lines: Any) -> bytes:
    """Lines as the bytes that they were, each with its end."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
    text: bytes = pc.binary_join(whole, b"\n")[0].as_buffer().to_pybytes()
    return text + b"\n"


def pieces_of_text(batches: Iterable[Any], reading: PieceReading) -> Iterator[PieceColumns]:
    """Read pieces of the lines of text files: the bytes of each, its file, where its block begins.

    The first block of each file begins with the header, which must be that of the first file.
    """
    parts = ((key, lines) for batch in batches for key, lines in _by_block(batch))
    for (_, start), group in itertools.groupby(parts, key=lambda part: part[0]):
        lines = (lines for _, lines in group)
        yield from _pieces_of_block(start, lines, reading)


def _by_block(batch: Any) -> Iterator[tuple[tuple[int, int], Any]]:
    """Split a batch of lines where the next block begins."""
    if batch.num_rows == 0:
        return
    values = batch.column(0)
    files, starts = (batch.column(k).to_numpy() for k in (1, 2))
    changes = np.flatnonzero((np.diff(files) != 0) | (np.diff(starts) != 0)) + 1
    ends = [0, *changes.tolist(), len(files)]
    for begin, end in itertools.pairwise(ends):
        yield (int(files[begin]), int(starts[begin])), values.slice(begin, end - begin)


def _pieces_of_block(
    start: int, lines: Iterable[Any], reading: PieceReading
) -> Iterator[PieceColumns]:
    where = reading.where
    source = _Lines(lines, reading.options.encoding, where)
    rest, line = b"", 1
    if start == 0:
        header = read_header(
            source, where, reading.delimiter, delimiter_given=True, strip=reading.options.strip
        )
        if header.names != list(reading.names):
            raise DataError(
                f"{where}: the headers of the files differ: {listing(reading.names)}, and "
                f"{listing(header.names)}"
            )
        rest, line = header.rest, header.next_line
    # A piece is small, and all of them together may take whatever Spark caches.
    dialect = replace(text_dialect(reading.delimiter, reading.options), cells_limit=None)
    specs, most = list(reading.specs), reading.piece_text
    try:
        # Spark runs as many of these at a time as there are cores.
        for cells in cell_pieces(source, rest, line, specs, dialect, piece_bytes=most, threads=1):
            yield reading.piece([cells.columns[j] for j in reading.read], cells.n_rows)
    except CsvProblem as problem:
        known = problem.line if start == 0 else 0
        placed = CsvProblem(problem.status, known, problem.column, problem.fields, problem.value)
        error = explain_problem(placed, where, reading.names, reading.specs)
        if problem.status == UNTERMINATED:
            raise QuoteOpen(f"{error}") from None
        raise error from None


# ---------------------------------------------------------------------- pieces as bytes

N_ROWS, PROBLEM, LABELS, WEIGHTS = "n_rows", "problem", "labels", "weights"
"""The columns of a table of pieces that are not those of the data."""


def cells_name(k: int) -> str:
    """The column of a table of pieces that holds the cells of column k."""
    return f"c{k}"


def pieces_schema(n_columns: int) -> str:
    """The columns of a table of pieces, as Spark declares them."""
    cells = [f"{cells_name(k)} binary" for k in range(n_columns)]
    kinds = [f"{N_ROWS} int", f"{PROBLEM} binary", f"{LABELS} binary", f"{WEIGHTS} binary"]
    return ", ".join([*kinds, *cells])


PieceReader = Callable[[Iterable[Any], PieceReading], Iterator[PieceColumns]]


@dataclass(frozen=True)
class StorePieces:
    """Turns batches of rows into rows of a table of pieces; Spark calls it for each partition."""

    reader: PieceReader
    reading: PieceReading

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield one batch per piece."""
        n_columns = len(self.reading.chosen)
        try:
            for piece in self.reader(batches, self.reading):
                kinds = pickle.dumps([(column.kind, column.labels) for column in piece.columns])
                cells = [column.cells for column in piece.columns]
                yield stored(cells, piece.weights, piece.n_rows, labels=kinds)
        except GmlError as error:
            nothing: list[NDArray[Any] | None] = [None] * n_columns
            yield stored(nothing, None, 0, problem=pickle.dumps(error))


def stored(
    cells: Sequence[NDArray[Any] | None],
    weights: NDArray[Any] | None,
    n_rows: int,
    *,
    labels: bytes | None = None,
    problem: bytes | None = None,
) -> Any:
    """A batch of one row for a table of pieces."""
    import pyarrow as pa

    columns = {
        N_ROWS: pa.array([n_rows], pa.int32()),
        PROBLEM: pa.array([problem], pa.binary()),
        LABELS: pa.array([labels], pa.binary()),
        WEIGHTS: _bytes_of(weights),
    }
    for k, found in enumerate(cells):
        columns[cells_name(k)] = _bytes_of(found)
    return pa.RecordBatch.from_pydict(columns)


def _bytes_of(cells: NDArray[Any] | None) -> Any:
    """One binary value that holds the bytes of an array, and first what kind they are."""
    import pyarrow as pa

    if cells is None:
        return pa.array([None], pa.binary())
    content = np.ascontiguousarray(cells)
    kind = np.frombuffer(cells.dtype.char.encode(), dtype=np.uint8)
    return pa.array([np.concatenate([kind, content.view(np.uint8)]).tobytes()], pa.binary())


def array_of(value: Any) -> NDArray[Any] | None:
    """The array that a binary value of Arrow holds; None if there is none."""
    if not value.is_valid:
        return None
    content = np.frombuffer(value.as_buffer(), dtype=np.uint8)
    kind = np.dtype(chr(content[0]))
    cells = content[1:]
    # Wider numbers must lie where the machine expects them.
    return cells.view(kind) if kind.itemsize == 1 else cells.copy().view(kind)


def piece_of(row: Any, k: int, n_columns: int) -> PieceColumns:
    """Return piece k of a batch of pieces as it was read, or raise what is wrong with it."""
    problem = row.column(PROBLEM)[k]
    if problem.is_valid:
        raise pickle.loads(problem.as_buffer())
    kinds = pickle.loads(row.column(LABELS)[k].as_buffer())
    columns = [
        CsvColumn(kind, labels, array_of(row.column(cells_name(j))[k]))
        for j, (kind, labels) in enumerate(kinds[:n_columns])
    ]
    weights = array_of(row.column(WEIGHTS)[k])
    return PieceColumns(columns, weights, row.column(N_ROWS)[k].as_py())
