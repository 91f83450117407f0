"""CSV text of many kinds, and what a reader makes of it, in a form that can be compared."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from gml.data.cells import read_cells
from gml.errors import DataError
from gml.kernel.layout import (
    BLOCK_BYTES,
    CODES8,
    NUMBERS,
    SKIP,
    ColumnSpec,
    CsvDialect,
    CsvProblem,
    CsvResult,
)

HOSTILE = st.lists(
    st.sampled_from(
        [
            b",", b";", b"\n", b"\r", b"\r\n", b'"', b'""', b"a", b"b", b" ", b"NA", b"?", b"1", b"2.5",
            b"-3e2", b".", b"1e999", b"\x00", b"\xff", b"\xc3\xa9", b"\xed\xa0\x80", b"\xf0\x9f\x8c\xb3",
            b"xxxxxxxxxxxxxxxx", b"yyyyyyyyyyyyyyyyyyyyyyyyy", b'"a,b"', b'"x\ny"', b'"q""q"', b",,",
        ]
    ),
    max_size=60,
).map(b"".join)  # fmt: skip

TABLE_CELL = st.one_of(
    st.sampled_from(["", "NA", "?", " NA ", "a", "b", "1", "01", "1.0", '5\'9"', "é", "x,y", "p\nq", "\r"]),
    st.text(alphabet=st.characters(codec="utf-8"), max_size=30),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)  # fmt: skip

SPEC = st.one_of(
    st.just(ColumnSpec(SKIP)),
    st.integers(1, 6).map(lambda k: ColumnSpec(CODES8, k)),
    st.just(ColumnSpec(CODES8, 65535)),
    st.builds(
        ColumnSpec,
        st.just(CODES8),
        st.integers(1, 4),
        numbers_on_overflow=st.just(True),
        plain_numbers=st.booleans(),
    ),
    st.just(ColumnSpec(CODES8, 255, ("a", "b", "NA", "1"))),
    st.just(ColumnSpec(NUMBERS)),
    st.just(ColumnSpec(NUMBERS, counts=True)),
)


def tables(
    widest: int, most_rows: int
) -> st.SearchStrategy[tuple[list[list[str]], list[ColumnSpec]]]:
    """Rows of cells, and how each column is to be read."""
    return st.integers(1, widest).flatmap(
        lambda width: st.tuples(
            st.lists(st.lists(TABLE_CELL, min_size=width, max_size=width), max_size=most_rows),
            st.lists(SPEC, min_size=width, max_size=width),
        )
    )


DIALECT = st.builds(
    CsvDialect,
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from([".", ","]),
    st.sampled_from([("", "NA", "?"), (), ("1",), (" a ",)]),
    st.sampled_from([4, 20, 1 << 20]),
    cells_limit=st.sampled_from([None, None, 2, 20]),
    strip=st.booleans(),
)

SIZES = st.lists(st.integers(1, 200), max_size=5)


class Trickle:
    """A source that hands out its bytes in pieces; it knows its size, not at all, or wrongly.

    It ends, or something is wrong with the file behind them.
    """

    def __init__(
        self,
        content: bytes,
        sizes: Sequence[int],
        size: int | None = None,
        error: DataError | None = None,
    ) -> None:
        self._stream = io.BytesIO(content)
        self._sizes = sizes or [1 << 20]
        self._turn = 0
        self.size = size
        self._error = error

    def readinto(self, buffer: memoryview) -> int:
        wanted = self._sizes[self._turn % len(self._sizes)]
        self._turn += 1
        piece = self._stream.read(min(wanted, len(buffer)))
        buffer[: len(piece)] = piece
        if not piece and self._error is not None:
            raise self._error
        return len(piece)


def outcome(
    kernel: Any,
    source: Trickle,
    specs: Sequence[ColumnSpec],
    dialect: CsvDialect,
    start: bytes,
    **how: int,
) -> tuple[Any, ...]:
    """Read what follows `start`; returns the columns, or the problem."""
    try:
        return comparable(cells_of(kernel, source, specs, dialect, start, **how))
    except CsvProblem as problem:
        return ("problem", *problem.args)
    except DataError as error:
        return ("problem", str(error))


def cells_of(
    kernel: Any,
    source: Trickle,
    specs: Sequence[ColumnSpec],
    dialect: CsvDialect,
    start: bytes = b"",
    *,
    threads: int = 1,
    block_bytes: int = BLOCK_BYTES,
) -> CsvResult:
    """Read what follows a header of one line with one of the kernels."""
    with (
        patch("gml.kernel._loaded", kernel),
        patch("gml.data.cells.BLOCK_BYTES", block_bytes),
    ):
        return read_cells(source, start, 2, list(specs), dialect, threads=threads)


def comparable(result: CsvResult) -> tuple[Any, ...]:
    """What was read, in a form in which NaN equals NaN."""
    columns = []
    for column in result.columns:
        cells = None if column.cells is None else column.cells.tolist()
        dtype = None if column.cells is None else column.cells.dtype.str
        columns.append((column.kind, column.labels, dtype, repr(cells)))
    return ("read", result.n_rows, result.n_lines, columns)
