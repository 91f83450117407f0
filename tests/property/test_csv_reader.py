"""The compiled CSV reader agrees with the csv module on every input, valid or broken."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gml.kernel import layout, reference
from gml.kernel.layout import (
    CODES8,
    NUMBERS,
    ColumnSpec,
    CsvDialect,
    CsvProblem,
)
from tests import csv_sources
from tests.csv_sources import DIALECT, HOSTILE, SIZES, SPEC, Trickle, cells_of, tables
from tests.instructions import kernel_with

compiled = pytest.importorskip("gml.kernel._kernel")


def outcome(kernel, content, specs, dialect, sizes, start=b""):
    """What a kernel makes of the content, with a hint of its size: right, wrong or missing."""
    size = {0: None, 1: len(content), 2: 10 * len(content)}[len(sizes) % 3]
    return csv_sources.outcome(kernel, Trickle(content, sizes, size), specs, dialect, start)


@settings(max_examples=1500)
@given(HOSTILE, st.lists(SPEC, min_size=1, max_size=4), DIALECT, SIZES)
@example(b'"a"\r\n"b"', [ColumnSpec(CODES8)], CsvDialect(",", ".", ()), [4])
@example(b"a" * 63 + b"\r\nb\n", [ColumnSpec(CODES8)], CsvDialect(",", ".", ()), [])
@example(b'"' + b"a" * 61 + b'"\r\nb\n', [ColumnSpec(CODES8)], CsvDialect(",", ".", ()), [])
@example(b'"' + b"a" * 62 + b'"\r\nb\n', [ColumnSpec(CODES8)], CsvDialect(",", ".", ()), [])
@example(b'"' + b"a" * 63 + b'"\r\nb\n', [ColumnSpec(CODES8)], CsvDialect(",", ".", ()), [])
@example(b'"x""y"\r\nb\n', [ColumnSpec(CODES8)], CsvDialect(",", ".", ()), [])
@example(b'a\n"', [ColumnSpec(CODES8)], CsvDialect(",", ".", ()), [])
@example(b'""', [ColumnSpec(CODES8)], CsvDialect(",", ".", ()), [])
def test_hostile_bytes(content, specs, dialect, sizes):
    expected = outcome(reference, content, specs, dialect, [])
    for level in ("portable", "avx2"):
        with kernel_with(level):
            assert outcome(compiled, content, specs, dialect, sizes) == expected
            assert outcome(compiled, content[5:], specs, dialect, sizes, content[:5]) == expected


@settings(max_examples=500)
@given(
    HOSTILE, st.lists(SPEC, min_size=1, max_size=4), DIALECT, st.sampled_from([4, 11, 40]), SIZES
)
def test_where_blocks_end_does_not_matter_to_long_records(content, specs, dialect, limit, sizes):
    dialect = replace(dialect, record_limit=limit)
    expected = outcome(compiled, content, specs, dialect, [])
    assert outcome(compiled, content, specs, dialect, sizes) == expected


@settings(max_examples=300)
@given(
    tables(5, 30),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([0, 1]),
    SIZES,
)
def test_written_tables(table, line_end, quoting, sizes):
    import csv

    rows, specs = table
    text = io.StringIO()
    csv.writer(text, lineterminator=line_end, quoting=quoting).writerows(rows)
    content = text.getvalue().encode("utf-8")
    dialect = CsvDialect(",", ".", ("", "NA", "?"))
    expected = outcome(reference, content, specs, dialect, [])
    assert outcome(compiled, content, specs, dialect, sizes) == expected


def test_values_come_back_byte_for_byte():
    rows = [["1", "01", "1.0"], ["x y", "é", "None"], ["TRUE", " a", "a "]]
    content = "".join(",".join(row) + "\n" for row in rows).encode()
    specs = [ColumnSpec(CODES8)] * 3
    for kernel in (compiled, reference):
        result = cells_of(kernel, Trickle(content, []), specs, CsvDialect(",", ".", ()))
        for j, column in enumerate(result.columns):
            assert [column.labels[code] for code in column.cells] == [row[j] for row in rows]


@pytest.mark.parametrize("kernel", [compiled, reference], ids=["compiled", "reference"])
@pytest.mark.parametrize("n_labels", [254, 255, 256, 257, 1000])
def test_codes_widen_past_255_levels(kernel, n_labels):
    values = [f"v{i}" for i in range(n_labels)]
    content = "\n".join([*values, "", '""', *reversed(values)]).encode()
    specs = [ColumnSpec(CODES8, 65535)]
    result = cells_of(kernel, Trickle(content, []), specs, CsvDialect(",", ".", ("",)))
    (column,) = result.columns
    assert column.cells.dtype == (np.uint8 if n_labels <= 255 else np.uint16)
    missing = np.iinfo(column.cells.dtype).max
    expected = [*range(n_labels), missing, *reversed(range(n_labels))]
    assert column.cells.tolist() == expected


@pytest.mark.parametrize("kernel", [compiled, reference], ids=["compiled", "reference"])
def test_numeric_column_turns_into_numbers_when_labels_run_out(kernel):
    numbers = [i / 7 for i in range(70000)]
    content = "".join(f"{x!r}\n" for x in numbers).encode() + b"NA\n"
    specs = [ColumnSpec(CODES8, 65535, numbers_on_overflow=True)]
    result = cells_of(kernel, Trickle(content, []), specs, CsvDialect(",", ".", ("NA",)))
    (column,) = result.columns
    assert column.kind == NUMBERS
    assert column.cells[:-1].tolist() == numbers
    assert np.isnan(column.cells[-1])


@pytest.mark.parametrize("kernel", [compiled, reference], ids=["compiled", "reference"])
def test_one_enormous_field_is_refused_without_being_kept(kernel):
    content = b'a\n"' + b"x" * (3 << 20)
    with pytest.raises(CsvProblem) as caught:
        cells_of(kernel, Trickle(content, []), [ColumnSpec(CODES8)], CsvDialect(",", ".", ()))
    assert caught.value.status == layout.FIELD_TOO_LONG
    assert caught.value.line == 3


@given(st.text(alphabet="0123456789.,eE+- x", max_size=25), st.sampled_from([".", ","]))
@example("9007199254740993", ".")
@example("179769313486231570814527423731704356798070e-5", ".")
@example("0.1e-320", ".")
def test_numbers_are_read_as_python_reads_them(text, decimal):
    content = b'"' + text.encode() + b'"\n'
    specs = [ColumnSpec(NUMBERS)]
    dialect = CsvDialect("\t", decimal, ())
    assert outcome(compiled, content, specs, dialect, []) == outcome(
        reference, content, specs, dialect, []
    )
