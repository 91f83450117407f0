"""A table that is read in pieces has the cells, the labels and the problems of the whole."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gml.data.cells import cell_pieces
from gml.data.options import reading_options
from gml.data.pieces import open_pieces
from gml.data.reading import read_dataset
from gml.errors import DataError, UsageError
from gml.kernel import reference
from gml.kernel.layout import (
    CODES8,
    CODES16,
    NUMBERS,
    OVERFLOW,
    SKIP,
    ColumnSpec,
    CsvColumn,
    CsvDialect,
    CsvProblem,
    CsvResult,
)
from gml.kernel.number import number_of
from tests.csv_sources import (
    DIALECT,
    HOSTILE,
    SIZES,
    SPEC,
    Trickle,
    cells_of,
    comparable,
    outcome,
    tables,
)

compiled = pytest.importorskip("gml.kernel._kernel")
KERNELS = pytest.mark.parametrize("kernel", [compiled, reference], ids=["compiled", "reference"])
PLAIN = CsvDialect(",", ".", ("", "NA"))


def pieces_of(kernel, source, specs, dialect, piece_bytes, start=b"", threads=1):
    with patch("gml.kernel._loaded", kernel):
        how = {"piece_bytes": piece_bytes, "threads": threads}
        return list(cell_pieces(source, start, 2, specs, dialect, **how))


def joined(pieces, decimal):
    """The whole of which these are the pieces, by what gml/data/pieces.py promises of them."""
    columns = [
        joined_column(parts, decimal) for parts in zip(*(p.columns for p in pieces), strict=True)
    ]
    return CsvResult(sum(p.n_rows for p in pieces), columns, sum(p.n_lines for p in pieces))


def joined_column(parts, decimal):
    kind, labels = parts[-1].kind, parts[-1].labels
    assert all(part.labels is labels for part in parts)
    if kind in (SKIP, OVERFLOW):
        return CsvColumn(kind, labels, None)
    dtype = parts[-1].cells.dtype
    cells = [part.cells for part in parts]
    for k, part in enumerate(parts):
        if part.kind == kind:
            continue
        missing = part.cells == np.iinfo(part.cells.dtype).max
        if kind == NUMBERS:
            numbers = np.array([number_of(label, decimal) for label in labels], dtype=np.float64)
            cells[k] = np.full(len(part.cells), np.nan)
            cells[k][~missing] = numbers[part.cells[~missing]]
        else:
            assert part.kind < kind
            cells[k] = part.cells.astype(dtype)
            cells[k][missing] = np.iinfo(dtype).max
    return CsvColumn(kind, labels, np.concatenate(cells))


def outcome_in_pieces(kernel, source, specs, dialect, piece_bytes, start=b"", threads=1):
    try:
        pieces = pieces_of(kernel, source, specs, dialect, piece_bytes, start, threads)
    except CsvProblem as problem:
        return ("problem", *problem.args)
    return comparable(joined(pieces, dialect.decimal))


@settings(max_examples=1000)
@given(HOSTILE, st.lists(SPEC, min_size=1, max_size=4), DIALECT, SIZES, st.integers(1, 120))
@example(b'"a\r\n\r\nb"\r\nc', [ColumnSpec(CODES8)], PLAIN, [1], 1)
@example(b'1\n2\n"x', [ColumnSpec(CODES8, 1, numbers_on_overflow=True)], PLAIN, [], 2)
def test_hostile_bytes(content, specs, dialect, sizes, piece_bytes):
    dialect = replace(dialect, cells_limit=None)
    expected = outcome(reference, Trickle(content, []), specs, dialect, b"")
    for kernel in (compiled, reference):
        source = Trickle(content[5:], sizes)
        found = outcome_in_pieces(kernel, source, specs, dialect, piece_bytes, content[:5])
        assert found == expected


@settings(max_examples=200)
@given(
    tables(4, 30),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([0, 1]),
    SIZES,
    st.integers(1, 300),
)
def test_written_tables(table, line_end, quoting, sizes, piece_bytes):
    import csv

    rows, specs = table
    text = io.StringIO()
    csv.writer(text, lineterminator=line_end, quoting=quoting).writerows(rows)
    content = text.getvalue().encode("utf-8")
    expected = outcome(reference, Trickle(content, []), specs, PLAIN, b"")
    for kernel in (compiled, reference):
        source = Trickle(content, sizes)
        assert outcome_in_pieces(kernel, source, specs, PLAIN, piece_bytes) == expected


@KERNELS
def test_a_piece_is_no_longer_than_asked_or_twice_a_record(kernel):
    lengths = [1, 5, 200, 3, 3, 3, 70, 1, 1, 1, 1, 1, 1, 1, 1]
    content = b"".join(b"x" * length + b"\n" for length in lengths)
    specs = [ColumnSpec(CODES8)]
    rows = iter(lengths)
    for piece in pieces_of(kernel, Trickle(content, []), specs, PLAIN, 16):
        texts = [next(rows) + 1 for _ in range(piece.n_rows)]
        assert piece.n_rows == piece.n_lines
        assert sum(texts) <= max(16, 2 * max(texts, default=0))
    single = pieces_of(kernel, Trickle(b"a\nb\nc\n", []), specs, PLAIN, 1)
    assert [piece.n_rows for piece in single] == [1, 1, 1, 0]


@KERNELS
def test_a_table_without_rows_is_one_piece(kernel):
    (piece,) = pieces_of(kernel, Trickle(b"\n\r\n", []), [ColumnSpec(CODES8)], PLAIN, 1 << 20)
    assert (piece.n_rows, piece.n_lines, piece.columns[0].labels) == (0, 2, [])
    assert piece.columns[0].cells.dtype == np.uint8


@KERNELS
def test_codes_widen_with_the_piece_in_which_levels_pass_255(kernel):
    values = [f"v{k:03}" for k in range(300)]
    content = ("\n".join([*values[:200], "NA", *values]) + "\n").encode()
    specs = [ColumnSpec(CODES8, 65535)]
    pieces = pieces_of(kernel, Trickle(content, []), specs, PLAIN, 500)
    kinds = [piece.columns[0].kind for piece in pieces]
    assert kinds[0] == CODES8
    assert kinds[-1] == CODES16
    assert kinds == sorted(kinds)
    assert comparable(joined(pieces, ".")) == comparable(
        cells_of(kernel, Trickle(content, []), specs, PLAIN)
    )


@KERNELS
def test_labels_that_run_out_in_a_later_piece(kernel):
    content = b"".join(b"%d.5,w%d\n" % (k, k) for k in range(40))
    specs = [ColumnSpec(CODES8, 30, numbers_on_overflow=True), ColumnSpec(CODES8, 30)]
    pieces = pieces_of(kernel, Trickle(content, []), specs, PLAIN, 50)
    kinds = [tuple(column.kind for column in piece.columns) for piece in pieces]
    assert kinds[0] == (CODES8, CODES8)
    assert kinds[-1] == (NUMBERS, OVERFLOW)
    assert pieces[-1].columns[1].labels == [f"w{k}" for k in range(30)]
    assert joined(pieces, ".").columns[0].cells.tolist() == [k + 0.5 for k in range(40)]


@KERNELS
def test_cells_that_were_taken_stay_as_they_are(kernel):
    content = b"".join(b"%d,%d\n" % (k % 7, k) for k in range(2000))
    specs = [ColumnSpec(CODES8), ColumnSpec(NUMBERS)]
    with patch("gml.kernel._loaded", kernel):
        stream = cell_pieces(Trickle(content, []), b"", 2, specs, PLAIN, piece_bytes=100)
        first = next(stream)
        before = [column.cells.copy() for column in first.columns]
        rest = list(stream)
    assert all(np.array_equal(a, c.cells) for a, c in zip(before, first.columns, strict=True))
    assert first.n_rows + sum(piece.n_rows for piece in rest) == 2000


# ---------------------------------------------------------------------- files


PACKINGS = {
    "plain": lambda raw: raw,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


@KERNELS
@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("encoding", [None, "latin-1", "utf-16"])
def test_files_in_pieces(tmp_path, kernel, packing, encoding):
    rows = "".join(f'{"é" * (k % 9)}a,"x\n{k % 5}",{k}\r\n' for k in range(500))
    mark = "\ufeff" if encoding is None else ""
    raw = f"{mark}n,l,v\n{rows}".encode(encoding or "utf-8")
    path = tmp_path / "d.csv"
    path.write_bytes(PACKINGS[packing](raw))
    options = replace(reading_options(encoding=encoding, exclude="n", numeric="v"), digest=True)
    with patch("gml.kernel._loaded", kernel):
        whole = read_dataset(path, options)
        with open_pieces(path, options, piece_bytes=1000) as pieces:
            assert (pieces.names, pieces.chosen, pieces.first_line) == (["n", "l", "v"], [1, 2], 2)
            found = list(pieces)
            digest = pieces.digest()
    assert len(found) > 5
    assert digest == whole.digest
    cells = joined(found, ".").columns
    assert [cells[1].labels[code] for code in cells[1].cells] == [
        whole.variables[0].levels[code] for code in whole.columns[0]
    ]
    assert np.array_equal(cells[2].cells, whole.columns[1])


@KERNELS
def test_errors_have_the_line_of_the_whole_file(tmp_path, kernel):
    rows = ['1,"p\nq"\n'] * 1000
    for bad, said in [
        ("1,2,3\n", "line 2001: 3 fields, but the header has 2"),
        ("x,2\n", "line 2001: column 'v': 'x' is not a number"),
        ('1,"2\n', "line 2001: column 'w': a quote opens here and is never closed"),
        ('1,"2\n' + "y\n" * 600_000, "line 2001: column 'w': a field of more than 1 MiB"),
    ]:
        path = tmp_path / "d.csv"
        path.write_text("v,w\n" + "".join(rows[1:]) + "\n" + bad)
        options = reading_options(numeric="v")
        with (
            patch("gml.kernel._loaded", kernel),
            pytest.raises(DataError, match=said),
            open_pieces(path, options, piece_bytes=777) as pieces,
        ):
            list(pieces)
        with patch("gml.kernel._loaded", kernel), pytest.raises(DataError, match=said):
            read_dataset(path, options)


def test_pieces_of_no_bytes_are_refused(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("a\n1\n")
    with (
        pytest.raises(UsageError, match="piece_bytes.* must be at least 1, not 0"),
        open_pieces(path, reading_options(), piece_bytes=0),
    ):
        pass
