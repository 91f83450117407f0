"""Several threads read what one reads: labels, codes, numbers, problems and their lines."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gml.counts.open_stream import open_stream
from gml.data import cells
from gml.data.blocks import Joined, feed_ahead
from gml.data.cells import cell_pieces
from gml.data.dataset import MAX_LEVELS
from gml.data.options import ReadOptions
from gml.errors import DataError
from gml.kernel import reference
from gml.kernel.layout import (
    CODES8,
    CODES16,
    NUMBERS,
    OVERFLOW,
    RAGGED,
    ColumnSpec,
    CsvDialect,
    CsvProblem,
)
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
THREADS = (2, 3, 8)
BLOCK = st.sampled_from([1, 2, 5, 16, 40, 100])


@settings(max_examples=400)
@given(
    HOSTILE,
    st.lists(SPEC, min_size=1, max_size=4),
    DIALECT,
    st.sampled_from([11, 1 << 26]),
    SIZES,
    BLOCK,
    st.sampled_from(THREADS),
)
@example(b"\r\nc\r\nd\r\n\r\n", [ColumnSpec(CODES8)], PLAIN, 1 << 26, [], 2, 2)
@example(b'a\n"\n\n"\nb\n', [ColumnSpec(CODES8)], PLAIN, 1 << 26, [], 2, 2)
def test_hostile_bytes(content, specs, dialect, record_limit, sizes, block, threads):
    dialect = replace(dialect, record_limit=record_limit)
    expected = outcome(compiled, Trickle(content, []), specs, dialect, b"")
    if record_limit > len(content):
        assert outcome(reference, Trickle(content, []), specs, dialect, b"") == expected
    how = {"threads": threads, "block_bytes": block}
    source = Trickle(content[5:], sizes)
    assert outcome(compiled, source, specs, dialect, content[:5], **how) == expected


@settings(max_examples=150)
@given(
    tables(4, 40),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([0, 1]),
    SIZES,
    BLOCK,
)
def test_written_tables(table, line_end, quoting, sizes, block):
    rows, specs = table
    text = io.StringIO()
    csv.writer(text, lineterminator=line_end, quoting=quoting).writerows(rows)
    content = text.getvalue().encode("utf-8")
    expected = outcome(reference, Trickle(content, []), specs, PLAIN, b"")
    for kernel in (compiled, reference):
        for threads in (2, 3):
            how = {"threads": threads, "block_bytes": block}
            assert outcome(kernel, Trickle(content, sizes), specs, PLAIN, b"", **how) == expected


@settings(max_examples=300)
@given(HOSTILE, st.lists(SPEC, min_size=1, max_size=3), DIALECT, SIZES, BLOCK)
def test_of_two_problems_the_first_is_raised(content, specs, dialect, sizes, block):
    def found(sizes, **how):
        source = Trickle(content, sizes, error=DataError("damaged"))
        return outcome(compiled, source, specs, dialect, b"", **how)

    expected = found([])
    for threads in THREADS:
        assert found(sizes, threads=threads, block_bytes=block) == expected


@cache
def many_rows():
    """A table whose columns change their kinds late: many labels, numbers, long texts, holes."""
    rng = np.random.default_rng(1)
    rows = []
    for k in range(20_000):
        label = f"v{rng.integers(0, 200 + k // 40)}"
        word = ("NA", "", "a", '"b,""c"""', '"two\nlines"')[rng.integers(0, 5)]
        rows.append(f"{label},{word},{rng.integers(0, 300)},{k}.5,{'x' * int(rng.integers(0, 60))}")
    return "\n".join(rows).encode()


LATE = [
    ColumnSpec(CODES8, 65535),
    ColumnSpec(CODES8, 255),
    ColumnSpec(CODES8, 299, numbers_on_overflow=True),
    ColumnSpec(NUMBERS),
    ColumnSpec(CODES8, 50),
]


@KERNELS
@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("block", [3000, 1 << 16])
def test_columns_that_change_their_kinds_late(kernel, threads, block):
    whole = cells_of(compiled, Trickle(many_rows(), []), LATE, PLAIN)
    assert [column.kind for column in whole.columns] == [
        CODES16, CODES8, NUMBERS, NUMBERS, OVERFLOW,
    ]  # fmt: skip
    found = cells_of(
        kernel, Trickle(many_rows(), []), LATE, PLAIN, threads=threads, block_bytes=block
    )
    assert comparable(found) == comparable(whole)


@pytest.mark.parametrize("threads", THREADS)
def test_pieces_are_those_of_one_thread(threads):
    def cells(threads):
        how = {"piece_bytes": 50_000, "threads": threads}
        found = [[] for _ in LATE]
        for piece in cell_pieces(Trickle(many_rows(), []), b"", 2, LATE, PLAIN, **how):
            for j, column in enumerate(piece.columns):
                missing = None if column.cells is None else np.iinfo(np.uint16).max
                if column.kind == CODES8:
                    wide = column.cells.astype(np.uint16)
                    wide[column.cells == 255] = missing
                    found[j] += wide.tolist()
                elif column.cells is not None:
                    found[j] += column.cells.tolist()
        return repr(found[:2] + found[3:4]), piece.columns[0].labels

    assert cells(threads) == cells(1)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize(
    "fault",
    [b"a,b,1\n", b'v0,a,x,1,"\n', b"v0,a,1,one,x\n", b"v0,a,1,\xff,x\n", b'v0,"a'],
)
def test_problems_have_the_same_lines(threads, fault):
    at = many_rows().index(b"\nv", 400_000) + 1
    content = many_rows()[:at] + fault + many_rows()[at:]
    expected = outcome(compiled, Trickle(content, []), LATE, PLAIN, b"")
    assert expected[0] == "problem"
    for block in (3000, 1 << 16, 1 << 20):
        how = {"threads": threads, "block_bytes": block}
        assert outcome(compiled, Trickle(content, []), LATE, PLAIN, b"", **how) == expected


@KERNELS
def test_the_limit_of_cells_is_found_to_the_row(kernel):
    content = b"a,1\n" * 1000
    specs = [ColumnSpec(CODES8), ColumnSpec(NUMBERS)]
    dialect = replace(PLAIN, cells_limit=9 * 700)
    for threads in (1, *THREADS):
        with pytest.raises(CsvProblem) as caught:
            cells_of(kernel, Trickle(content, []), specs, dialect, threads=threads, block_bytes=256)
        assert (caught.value.line, caught.value.fields) == (702, 701)


@pytest.mark.parametrize(("alone", "share"), [(0, 0.6), (40_000, 0.25)])
def test_most_blocks_are_read_ahead(alone, share):
    """Quotes with line ends in them cost a block now and then, not the gain."""
    taken, fed = [], []

    class Watched:
        def __init__(self, first_line):
            self.reader = compiled.CsvReader(LATE[1:2], PLAIN, first_line)

        @property
        def n_rows(self):
            return self.reader.n_rows

        def catch_up(self, leader):
            assert leader.n_rows >= alone
            self.reader.catch_up(leader.reader)

        def absorb(self, chunk):
            taken.append(self.reader.absorb(chunk.reader))
            return taken[-1]

        def feed(self, *block):
            fed.append(self)
            return self.reader.feed(*block)

    content = b'a\nb\n"c\nd"\ne\n' * 20_000
    leader = Watched(2)
    source = Joined(content, Trickle(b"", []))
    done = list(feed_ahead(leader, source, 4096, 2, lambda: Watched(0), alone))
    assert sum(done) == len(content)
    result = leader.reader.take()
    assert (result.n_rows, result.n_lines) == (80_000, 100_000)
    assert sum(taken) > share * len(done)
    assert fed.count(leader) < (1 - share) * len(done)


def test_a_problem_is_raised_from_the_first_bad_record():
    content = b"a,b\n" * 5000 + b"a\n" + b"a,b\n" * 5000 + b"a,b,c\n"
    specs = [ColumnSpec(CODES8)] * 2
    with pytest.raises(CsvProblem) as caught:
        cells_of(compiled, Trickle(content, []), specs, PLAIN, threads=8, block_bytes=1000)
    assert (caught.value.status, caught.value.line, caught.value.fields) == (RAGGED, 5002, 1)


def test_pieces_are_read_alone_until_numbers_among_labels_are_settled(monkeypatch, tmp_path):
    """Each reader ahead holds the labels of all columns, which may be as many as there are rows."""
    asked = []

    def watched(*given):
        asked.append(given[-1])
        return feed_ahead(*given)

    monkeypatch.setattr(cells, "feed_ahead", watched)
    path = tmp_path / "rows.csv"
    path.write_text("x\n" + "".join(f"{k}.5\n" for k in range(200_000)))
    for options, rows in (
        (ReadOptions(maybe_numbers=("x",)), MAX_LEVELS + 1),
        (ReadOptions(numeric=("x",)), 0),
    ):
        asked.clear()
        stream = open_stream(path, options, threads=2)
        assert stream.n == 200_000
        stream.close()
        assert asked == [rows]
