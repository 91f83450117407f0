"""What Spark reads is what gml reads: labels byte for byte, from text, other formats and frames."""

from __future__ import annotations

import gzip
import warnings
from contextlib import contextmanager

import numpy as np
import pytest

import gml as library
from gml.counts.spark import open_spark
from gml.counts.spark_rows import PieceReading, pieces_of_text, pieces_of_values
from gml.counts.spark_source import open_spark_source
from gml.data.options import reading_options
from gml.kernel.layout import CODES8, NUMBERS, ColumnSpec
from gml.resources import limited_to
from tests.command_line import error_line
from tests.spark.conftest import LOCAL
from tests.spark.tables import cells, written


@pytest.fixture
def session(local):
    from gml.counts.spark_session import session_at

    return session_at(local)


def tables_of(counter):
    """All pairs of columns, and which levels these have."""
    labels = [j for j, v in enumerate(counter.variables) if not v.is_continuous]
    sets = [library.TableSet((i, j), ()) for i in labels for j in labels if i < j]
    return counter.variables, counter.n, [found.table.tolist() for found in counter.tables(sets)]


@contextmanager
def told():
    """What gml warns of within a block."""
    messages = []
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", library.GmlWarning)
        yield messages
    messages += [str(w.message) for w in found if issubclass(w.category, library.GmlWarning)]


def assert_same(data, other=None, **reading):
    """Reading by Spark gives the levels, counts and warnings that reading by gml gives."""
    with told() as of_memory:
        memory = library.MemoryCounter(library.read(data if other is None else other, **reading))
    with told() as of_spark:
        opened = open_spark(data, reading_options(**reading))
    with opened as spark:
        assert of_spark == of_memory
        assert tables_of(spark) == tables_of(memory)
        assert spark.missing_treatment == memory.missing_treatment
        assert spark.unit == memory.unit


ODD_FIELDS = [
    'plain', '"quoted"', '"with ""quotes"""', '"a,b"', 'back\\slash', '"back\\slash"', '"\\"',
    " blanks ", '" in quotes "', "'single'", 'in"side', "é", '"€"', "1", "01", "1.0", "-0", "+1",
    "1e3", "true", "2024-02-29", "#comment", "None", '"\ttab"', "NULL", "NA", '"NA"', '""', " NA ", "?",
]  # fmt: skip


def test_odd_fields(session, tmp_path):
    path = tmp_path / "odd.csv"
    lines = [f"{field},{k % 3}" for k, field in enumerate(ODD_FIELDS * 400)]
    path.write_bytes(("value,other\n" + "\n".join(lines)).encode())
    assert session.read.text(str(path)).rdd.getNumPartitions() > 1
    assert_same(str(path), missing="available")
    # A level for what is missing would be one more NA.
    assert_same(str(path), na=["?"], missing="drop")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_blank_lines_and_a_mark(session, tmp_path, end):
    path = tmp_path / "lines.csv"
    rows = [f"{'abc'[k % 3]},{k % 2}" for k in range(30)]
    path.write_bytes(b"\xef\xbb\xbf" + end.join(["A,B", *rows[:9], "", *rows[9:], ""]).encode())
    assert_same(str(path))


def test_line_breaks_within_quotes(session, tmp_path):
    path = tmp_path / "breaks.csv"
    long = "x" * 500
    rows = [f'"line {k % 7}\nand, {long}",{k % 3}' for k in range(2000)]
    path.write_text("text,other\n" + "\n".join(rows) + "\n")
    assert_same(str(path))
    # The settings of the session are as they were.
    assert session.conf.get("spark.sql.files.maxPartitionBytes") == "64k"


def test_a_quote_that_is_never_closed(session, gml, tmp_path):
    path = tmp_path / "open.csv"
    path.write_text("A,B\n" + "a,b\n" * 50_000 + '"c,d\n' + "a,b\n" * 50_000)
    memory = error_line(gml("chowliu", path), 3)
    assert error_line(gml("chowliu", path, "--engine", "spark", "--master", LOCAL), 3) == memory


def test_delimiters_encodings_and_compression(session, tmp_path):
    rows = [f"{'äöü'[k % 3]};{k % 2}" for k in range(300)]
    text = "Größe;B\n" + "\n".join(rows) + "\n"
    (tmp_path / "latin.csv").write_bytes(text.encode("latin-1"))
    assert_same(str(tmp_path / "latin.csv"), delimiter=";", encoding="latin-1")
    (tmp_path / "tabs.tsv.gz").write_bytes(gzip.compress(text.replace(";", "\t").encode()))
    assert_same(str(tmp_path / "tabs.tsv.gz"))


def test_a_folder_of_text_files(session, tmp_path):
    folder = tmp_path / "days.csv"
    folder.mkdir()
    whole = ["A,B"]
    for day in range(5):
        rows = [f"{'xyz'[(day + k) % 3]},{k % (2 + day)}" for k in range(20)]
        (folder / f"{day}.csv").write_text("A,B\n" + "\n".join(rows) + "\n")
        whole += rows
    (tmp_path / "whole.csv").write_text("\n".join(whole) + "\n")
    assert_same(str(folder), str(tmp_path / "whole.csv"))
    (folder / "other.csv").write_text("A,C\nx,1\n")
    with pytest.raises(library.GmlError, match="the headers of the files differ"):
        assert_same(str(folder), str(tmp_path / "whole.csv"))


@pytest.mark.parametrize("policy", ["drop", "level", "available"])
@pytest.mark.parametrize("weights", [{}, {"weights": "weight"}, {"weights_fractional": "income"}])
def test_missing_values_and_weights(session, tmp_path, policy, weights):
    path = written(tmp_path / "people.csv", cells())
    exclude = [name for name in ("income", "spent") if name not in weights.values()]
    assert_same(str(path), missing=policy, exclude=exclude, **weights)


def test_declared_levels_intervals_and_cuts(session, tmp_path):
    path = written(tmp_path / "people.csv", cells())
    levels = {"sex": ["other", "male", "female"], "income": ["[-inf,30)", "[30,inf)"]}
    names = ["sex", "income", "code"]
    assert_same(str(path), columns=names, levels=levels)
    assert_same(str(path), columns=names, cut={"income": "width:4", "code": [3, 6, 9]})
    assert_same(str(path), columns=names, bins=4, max_levels=20)


def test_many_numbers_are_cut_by_quantiles(session, tmp_path):
    path = tmp_path / "many.csv"
    numbers = np.random.default_rng(1).normal(size=(70_000, 1)).round(7)
    path.write_text("x,y\n" + "".join(f"{x},{k % 3}\n" for k, (x,) in enumerate(numbers)))
    assert_same(str(path), bins=5)


def _reading(specs, budget):
    names = [f"c{j}" for j in range(len(specs))]
    return PieceReading(names, range(len(specs)), specs, reading_options(), "rows", budget=budget)


def test_pieces_of_text_keep_to_the_budget():
    """A file that cannot be split is one block, however long it is."""
    import pyarrow as pa

    rows = [f"{k % 300},{k % 7}" for k in range(50_000)]
    lines = pa.array([b"c0,c1", *(row.encode() for row in rows)], pa.binary())
    place = pa.array(np.zeros(len(lines), dtype=np.int64))
    block = pa.RecordBatch.from_arrays([lines, place, place], ["line", "file", "start"])
    reading = _reading([ColumnSpec(CODES8, 1000)] * 2, 1 << 20)
    found = []
    for piece in pieces_of_text([block.slice(0, 30_000), block.slice(30_000)], reading):
        taken = sum(column.cells.nbytes for column in piece.columns)
        assert taken <= reading.budget // 4
        # Labels are those so far: later pieces add to the same list.
        found += zip(*([c.labels[code] for code in c.cells] for c in piece.columns), strict=True)
    assert [",".join(row) for row in found] == rows


def test_pieces_of_values_keep_to_the_budget():
    import pyarrow as pa

    numbers = np.arange(50_000, dtype=np.float64)
    batch = pa.RecordBatch.from_arrays([pa.array(numbers)] * 3, ["a", "b", "c"])
    reading = _reading([ColumnSpec(NUMBERS)] * 3, 1 << 20)
    pieces = list(pieces_of_values([batch.slice(0, 9), batch.slice(9)], reading))
    for piece in pieces:
        assert sum(column.cells.nbytes for column in piece.columns) <= reading.budget // 4
    joined = np.concatenate([piece.columns[2].cells for piece in pieces])
    assert np.array_equal(joined, numbers)


def test_small_pieces_are_the_same_rows(session, tmp_path):
    rows = [f"{k % 300},{'abc'[k % 3]},{k % 4000 / 8 if k > 20_000 else 1}" for k in range(30_000)]
    text = "A,B,C\n" + "\n".join(rows) + "\n"
    (tmp_path / "whole.csv.gz").write_bytes(gzip.compress(text.encode()))
    with limited_to(1 << 20):
        assert_same(str(tmp_path / "whole.csv.gz"), max_levels=1000, columns=["A", "B"])
        # Most numbers come with later pieces.
        assert_same(str(tmp_path / "whole.csv.gz"), columns=["B", "C"], bins=4)


def test_other_formats(session, tmp_path):
    path = written(tmp_path / "people.csv", cells())
    frame = session.createDataFrame(
        [
            (True, 1, 1.5, 2.0, "a", b"bytes"),
            (False, 2, float("nan"), None, None, b"x"),
            (None, None, -0.0, 1e20, "NA", None),
        ]
        * 40,
        "flag boolean, whole int, wide double, narrow float, text string, raw binary",
    )
    frame = frame.selectExpr(
        "*",
        "date'2024-02-29' as day",
        "timestamp'2024-02-29 12:00:00.5' as at",
        "timestamp_ntz'2024-02-29 12:00:00' as ntz",
        "cast(whole as decimal(10, 2)) as price",
    )
    # The default of Spark is a type that does not say which time zone it is in.
    session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    frame.write.parquet(str(tmp_path / "rows.parquet"))
    frame.write.orc(str(tmp_path / "rows.orc"))
    days = ["day", "at", "ntz"]
    assert_same(str(tmp_path / "rows.parquet"), missing="available", labels=days)
    assert_same(
        str(tmp_path / "rows.orc"), str(tmp_path / "rows.parquet"), missing="drop", labels=days
    )
    assert_same(
        f"spark:orc:{tmp_path}/rows.orc",
        str(tmp_path / "rows.parquet"),
        missing="drop",
        labels=days,
    )
    frame.createOrReplaceTempView("rows")
    assert_same("spark:rows", str(tmp_path / "rows.parquet"), missing="drop", labels=days)
    assert_same(f"spark:csv:{path}", str(path), missing="level", exclude=["income", "spent"])


def test_a_frame_of_spark_is_data(session, tmp_path):
    path = written(tmp_path / "people.csv", cells())
    frame = session.read.csv(str(path), header=True, escape='"', ignoreLeadingWhiteSpace=False)
    reading = {"exclude": ["income", "spent", "weight"], "missing": "level"}
    found = library.pc(frame.repartition(3), **reading)
    memory = library.pc(str(path), **reading)
    assert found.graph == memory.graph and found.tests == memory.tests
    score = library.score(frame, memory.graph, **reading)
    assert str(score) == str(library.score(str(path), memory.graph, **reading))
    with pytest.raises(library.UsageError, match="`delimiter` is for text files"):
        library.pc(frame, delimiter=";")


def test_names_with_dots_and_names_twice(session):
    frame = session.createDataFrame([("a", "b", "c"), ("x", "y", "z")] * 5, ["a.b", "c`d", "e"])
    found = library.chow_liu(frame).graph
    assert found.names == ("a.b", "c`d", "e")
    twice = frame.toDF("A", "B", "A")
    with pytest.raises(library.DataError, match="has 'A' more than once"):
        library.chow_liu(twice)
    assert library.chow_liu(frame.toDF("A", "B", "e"), columns=["A", "B"]).graph.n_edges == 1


def test_what_no_label_is(session):
    frame = session.createDataFrame([([1], "a")], "list array<int>, text string")
    with pytest.raises(library.DataError, match="lists and structures are not labels"):
        library.chow_liu(frame)


def test_files_tell_how_many_parts_they_have(session, table):
    """So answers of few parts need no tree; to plan what a frame is made of may run jobs."""
    path = str(table)
    source = open_spark_source(path, reading_options(columns=["sex"]), used=None)
    assert source.n_parts() == session.read.text(path).rdd.getNumPartitions() > 1
    frame = session.read.csv(path, header=True).orderBy("sex")
    assert open_spark_source(frame, reading_options(), used=None).n_parts() is None


def test_many_partitions_are_added_up_in_a_tree(session):
    numbers = session.range(0, 20_000, 1, 20).selectExpr(
        "id % 3 as a", "id % 7 as b", "id % 3 as c"
    )
    with open_spark(numbers, reading_options()) as counter:
        assert counter._n_parts == 20
        (found,) = counter.tables([library.TableSet((0, 1), (2,))])
    ids = np.arange(20_000)
    wanted = np.zeros((3, 3, 7), dtype=np.int64)
    np.add.at(wanted, (ids % 3, ids % 3, ids % 7), 1)
    assert np.array_equal(found.table, wanted)
