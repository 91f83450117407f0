"""Rows in a file: what is decided when all of them have been seen, and what Python users call."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gml
from gml.counts import open_stream as streams
from gml.counts.streamed import StreamCounter
from gml.data import row_spool
from gml.data.block_file import BlockFile
from gml.data.column_coding import NumberCounts
from gml.data.column_tally import ColumnTally
from gml.data.held_pieces import HeldPieces
from gml.data.options import ReadOptions, reading_options
from gml.data.row_groups import equal_cells, multiplicities
from gml.data.row_multiplicities import SomeRows, row_multiplicities
from gml.errors import CannotAnswer, UsageError
from gml.kernel.layout import CODES8, CODES16, NUMBERS, OVERFLOW, CsvColumn, CsvResult
from gml.model.training import training_behind
from gml.resources import limited_to

pytestmark = pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(streams, "_LEAST_PIECE", 1 << 12)
    monkeypatch.setattr(streams, "_MOST_PIECE", 1 << 12)
    monkeypatch.setattr(row_spool, "LEAST_ROWS", 64)
    monkeypatch.setattr(row_spool, "MOST_ROWS", 64)


def streamed(data, **reading):
    return streams.open_stream(data, reading_options(engine="stream", **reading))


def same_rows(counter, dataset):
    """Whether the rows of a stream are those of a dataset, cell by cell."""
    rows = counter.rows_as_they_stand()
    assert rows.variables == dataset.variables == counter.variables
    for mine, theirs in zip(rows.columns, dataset.columns, strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype
    assert (rows.weights is None) == (dataset.weights is None)
    if rows.weights is not None:
        np.testing.assert_array_equal(rows.weights, dataset.weights)
    assert rows.origin == dataset.origin
    assert (counter.n, counter.missing) == (dataset.n, dataset.missing)
    return True


# ---------------------------------------------------------------------- the rows themselves


@pytest.mark.parametrize("missing", ["drop", "level", "available"])
@pytest.mark.parametrize(
    "reading",
    [
        {},
        {"weights": "w"},
        {"bins": 3},
        {"cut": {"x": [0.0, 1.0]}, "weights": "w"},
        {"cut": {"x": "width:4"}},
        {"levels": {"s": ["L", "M", "S", "XL", "never"]}},
        {"levels": {"s": ["L", "M", "S", "XL", "NA"]}, "weights": "w"},
    ],
    ids=str,
)
def test_rows_are_those_of_memory(tmp_path, small_pieces, missing, reading):
    rng = np.random.default_rng(2)
    path = tmp_path / "d.csv"
    lines = ["s,x,k,w"]
    for k in range(900):
        size = ["S", "M", "", "L", "XL", "NA"][rng.integers(0, 4 + 2 * (k > 500))]
        lines.append(
            f"{size},{rng.normal():.3f},{rng.integers(0, 3 + k // 100)},{rng.integers(0, 3)}"
        )
    path.write_text("\n".join(lines) + "\n")
    reading = {"max_levels": 1000, "na": [""], **reading, "missing": missing}
    try:
        expected = gml.read(path, **reading)
    except gml.GmlError as refused:
        with pytest.raises(type(refused)) as found:
            streamed(path, **reading)
        assert str(found.value) == str(refused)
        return
    assert same_rows(streamed(path, **reading), expected)


@pytest.mark.parametrize("missing", ["drop", "available"])
def test_a_column_that_turns_into_numbers(tmp_path, small_pieces, missing):
    path = tmp_path / "d.csv"
    rng = np.random.default_rng(1)
    values = np.char.mod("%d", rng.permutation(70_000)).astype(object)
    values[rng.integers(0, 70_000, 50)] = ""
    labels = rng.choice(["a", "b"], 70_000)
    path.write_text("x,l\n" + "".join(f"{x},{y}\n" for x, y in zip(values, labels, strict=True)))
    reading = {"bins": 4, "missing": missing}
    expected = gml.read(path, **reading)
    counter = streamed(path, **reading)
    assert same_rows(counter, expected)
    assert {block.columns[0].kind for block in counter._rows.spool.blocks} >= {"<u2", "<f8"}


def test_a_frame(small_pieces):
    frame = pd.DataFrame({"a": ["x", "y", None, "x"] * 40, "b": [1, 2, 3, 4] * 40})
    assert same_rows(streamed(frame, missing="drop"), gml.read(frame, missing="drop"))


def test_parquet_in_pieces(tmp_path, small_pieces):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "many": rng.integers(0, 700, 9000).astype(str),
            "few": rng.choice(["u", "v", None], 9000),
            "x": rng.normal(size=9000),
        }
    )
    frame.to_parquet(tmp_path / "d.parquet", row_group_size=1000)
    for reading in ({"numeric": "x"}, {"cut": {"x": "quantile:3"}}):
        reading = {**reading, "missing": "drop", "max_levels": 1000}
        expected = gml.read(tmp_path / "d.parquet", **reading)
        assert same_rows(streamed(tmp_path / "d.parquet", **reading), expected)


def test_a_table_without_rows(tmp_path):
    (tmp_path / "d.csv").write_text("a,b\n")
    for engine in ("memory", "stream"):
        with pytest.raises(CannotAnswer, match="has a header, but no rows"):
            gml.pc(tmp_path / "d.csv", engine=engine)


@pytest.mark.parametrize("text", ["id,a\n" + "".join(f"i{k},x\n" for k in range(400))])
def test_identifiers_are_refused(tmp_path, small_pieces, text):
    (tmp_path / "d.csv").write_text(text)
    said = []
    for engine in ("memory", "stream"):
        with pytest.raises(gml.GmlError) as refused:
            gml.pc(tmp_path / "d.csv", engine=engine)
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert "more than 255 levels, like an identifier" in said[0]


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("a,b\nx,1\ny\n", {}),
        ("a,b\nx,1\ny,z\n", {"numeric": "b"}),
        ("a,w\nx,1\ny,-1\n", {"weights": "w"}),
        ("a,w\nx,1\ny,\n", {"weights": "w"}),
        ("a,b\nx,1\nq,2\n", {"levels": {"a": ["x", "y"]}}),
        ("a,b\nx,1\nNA,\n", {"missing": "level", "na": [""], "numeric": "b"}),
        ("a,b\n" + "x,1\n" * 300 + ",2\nNA,1\n", {"missing": "level", "na": [""]}),
    ],
)
def test_the_same_is_refused(tmp_path, small_pieces, text, reading):
    (tmp_path / "d.csv").write_text(text)
    with pytest.raises(gml.GmlError) as expected:
        gml.read(tmp_path / "d.csv", **reading)
    with pytest.raises(type(expected.value)) as found:
        streamed(tmp_path / "d.csv", **reading)
    assert str(found.value) == str(expected.value)


# ---------------------------------------------------------------------- rows that do not fit


def test_equal_rows_are_joined_where_all_do_not_fit(sample_data, small_pieces):
    table = sample_data / "asia.csv"
    with limited_to(16_000 * 2):
        counter = streamed(table)
    rows = counter.rows()
    assert rows.n_rows < 100 and rows.n == 5000
    expected = gml.read(table)
    assert multiplicities(rows.weights) == multiplicities(equal_cells(expected.columns).counts)
    assert counter.rows_as_they_stand() is None
    average = gml.average(counter, by="hc", bootstrap=3)
    assert average.graph == gml.average(table, by="hc", bootstrap=3).graph


def test_a_stream_may_have_a_budget_of_its_own(sample_data):
    pieces = [gml.read(sample_data / "asia.csv")]
    with StreamCounter(streams.settled_pieces(pieces), max_memory=30_000) as counter:
        assert counter.budget == counter.select(["asia"]).budget == 30_000
        assert counter.rows_as_they_stand() is None
        (counts,) = counter.tables([gml.TableSet((0,))])
        assert counts.n == counter.n
        assert counter.passes == 1
    with StreamCounter(streams.settled_pieces(pieces), max_memory=1 << 20) as counter:
        assert counter.rows_as_they_stand().n_rows == 5000


def test_rows_that_are_all_different_do_not_fit(tmp_path, small_pieces):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.integers(0, 9, (3000, 8)).astype(str)).rename(columns=str)
    with limited_to(16_000):
        counter = streamed(frame)
    assert counter.rows() is None
    with pytest.raises(CannotAnswer, match="the frame: a bootstrap needs the rows in memory"):
        counter.require_rows("a bootstrap")


def test_numbers_that_do_not_fit_leave_the_model_without_training(monkeypatch, small_pieces):
    frame = pd.DataFrame(np.random.default_rng(4).normal(size=(300, 2)), columns=["x", "y"])
    counter = streamed(frame, numeric=["x", "y"])
    assert training_behind(counter).rows.n == 300

    def refused(self, names=None):
        raise CannotAnswer("the different numbers of column 'x' would take too much")

    monkeypatch.setattr(StreamCounter, "rows", lambda self: None)
    monkeypatch.setattr(StreamCounter, "number_values", refused)
    with pytest.warns(gml.GmlWarning, match="column 'x' .* keeps nothing of its numbers"):
        assert training_behind(counter) is None


def test_an_open_stream_keeps_for_models_what_its_path_does(monkeypatch, small_pieces, tmp_path):
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "a": rng.choice(["u", "v"], 500),
            "x": rng.integers(0, 9, 500),
            "y": rng.integers(0, 5, 500) / 2,
            "other": rng.choice(["p", "q", "r"], 500),
        }
    )
    path = tmp_path / "d.csv"
    frame.to_csv(path, index=False)
    reading = {"cut": {"y": [1.0]}, "numeric": ["x"]}
    expected = training_behind(streamed(path, exclude="other", **reading))
    monkeypatch.setattr(StreamCounter, "rows", lambda self: None)
    for_path = training_behind(streamed(path, exclude="other", **reading))
    some = streamed(path, **reading).select(["a", "x", "y"])
    other_levels = some.with_levels({"a": ("v", "w", "u")})
    for found in (for_path, training_behind(some), training_behind(other_levels)):
        assert found.rows == expected.rows
        assert found.uncut_rows == expected.uncut_rows is not None
        assert found.numbers.keys() == expected.numbers.keys() == {"x", "y"}
        assert [n.written() for n in found.numbers.values()] == [
            n.written() for n in expected.numbers.values()
        ]
    joined = some.recoded({"a": (("both",), np.array([0, 0]))})
    assert joined.row_repeats() is None and training_behind(joined) is None
    kept = gml.fit(
        streamed(path, **reading),
        gml.Graph.from_edges(["a", "x", "y"], [("a", "-->", "x")], kind="dag"),
    )
    assert kept.training is not None and kept.training.rows == expected.rows


@pytest.mark.parametrize("limit", [1 << 30, 1 << 14])
@pytest.mark.parametrize("weighted", [False, True])
def test_multiplicities_in_partitions(tmp_path, limit, weighted):
    rng = np.random.default_rng(6)
    columns = [rng.integers(0, 5, 4000).astype(np.uint8), rng.integers(0, 99, 4000) / 2.0]
    columns[1][rng.integers(0, 4000, 30)] = np.nan
    columns[1][columns[1] == 0.0] *= rng.choice([-1.0, 1.0], (columns[1] == 0.0).sum())
    weights = rng.integers(0, 4, 4000) if weighted else None

    def chunks():
        for k in range(0, 4000, 500):
            part = slice(k, k + 500)
            some = None if weights is None else weights[part]
            yield SomeRows([column[part] for column in columns], some)

    expected = multiplicities(equal_cells(columns, weights).counts)
    assert row_multiplicities(chunks, limit, str(tmp_path)) == expected
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------- parts


def test_a_tally_survives_a_file(tmp_path):
    tally = ColumnTally("x", ReadOptions(bins=2))
    codes = np.array([0, 1, 255, 1], dtype=np.uint8)
    tally.see(CsvColumn(CODES8, ["7", "8"], codes), np.array([1, 2, 3, 0]), None)
    numbers = np.array([1.5, np.nan, 7.0, 7.0])
    tally.see(CsvColumn(NUMBERS, ["7", "8"], numbers), np.array([1, 1, 1, 4]), None)
    file = BlockFile(tmp_path)
    again = ColumnTally("x", ReadOptions(bins=2))
    again.restore(tally.state(file), file)
    for found in (tally, again):
        values, counts = found.numbers(".")
        assert values.tolist() == [1.5, 7.0, 8.0] and counts.tolist() == [1, 6, 2]
        assert (found.lacking_rows, found.lacking) == (2, 4)


def test_numbers_of_labels_are_added_up():
    occurs, times = np.array([True, True, False, True]), np.array([2, 3, 9, 0])
    found = NumberCounts.of_labels(["1", "1.0", "5", "x"], occurs, times, ".")
    assert found.values.tolist() == [1.0] and found.counts.tolist() == [5]


def test_held_pieces_become_one_table():
    held = HeldPieces(".")
    labels = ["1", "2"]
    narrow, wide = np.array([0, 255], dtype=np.uint8), np.array([1, 65535], dtype=np.uint16)
    for cells, kind in ((narrow, CODES8), (wide, CODES16)):
        held.append(
            CsvResult(2, [CsvColumn(kind, labels, cells), CsvColumn(OVERFLOW, [], None)], 2)
        )
    assert held.n_bytes == 6
    whole = held.joined()
    assert whole.n_rows == whole.n_lines == 4
    assert whole.columns[0].cells.tolist() == [0, 65535, 1, 65535]
    assert whole.columns[1].cells is None


# ---------------------------------------------------------------------- the front door


def test_verbs_take_the_engine(sample_data):
    table = sample_data / "asia.csv"
    assert gml.pc(table, engine="stream").graph == gml.pc(table).graph
    assert gml.score(table, sample_data / "asia.dot", engine="stream").graphs == (
        gml.score(table, sample_data / "asia.dot").graphs
    )


def test_a_stream_answers_several_questions(sample_data, tmp_path):
    table = sample_data / "asia.csv"
    with gml.open_stream(table, spool=tmp_path) as counter:
        assert isinstance(counter, StreamCounter)
        tree = gml.chow_liu(counter)
        assert tree.graph == gml.chow_liu(table).graph
        some = gml.pc(counter.select(["smoke", "lung", "bronc"])).graph
    assert some.names == ("smoke", "lung", "bronc") and some.n_edges == 2
    with pytest.raises(UsageError, match="the stream is closed"):
        gml.fit(counter, tree)


def test_reading_has_rows_in_memory(sample_data):
    with pytest.raises(UsageError, match="`engine='stream'` reads rows in passes"):
        gml.read(sample_data / "asia.csv", engine="stream")
    with pytest.raises(UsageError, match="`engine` is about reading"):
        gml.pc(gml.read(sample_data / "asia.csv"), engine="stream")
    with pytest.raises(UsageError, match="`engine` must be one of"):
        gml.pc(sample_data / "asia.csv", engine="disk")
    with pytest.raises(UsageError, match="`spool` must be a folder"):
        gml.pc(sample_data / "asia.csv", engine="stream", spool=5)


def reads_of(monkeypatch):
    """How many arrays are read from files from now on."""
    reads = []
    read = BlockFile.read

    def counted(self, stored, size):
        reads.append(size)
        return read(self, stored, size)

    monkeypatch.setattr(BlockFile, "read", counted)
    return reads


@pytest.mark.parametrize("weights", [None, "n"])
def test_cells_of_a_small_table_are_read_once(monkeypatch, weights):
    frame = pd.DataFrame({name: list(name + "xyz") * 9 for name in "abc"})
    with gml.open_stream(frame.assign(n=["1", "2"] * 18), weights=weights) as table:
        reads = reads_of(monkeypatch)
        columns = table.select(["b", "a"])
        for axes in ((0,), (1,), (0, 1)):
            list(columns.tables([gml.TableSet(axes)]))
        assert (table.passes, len(reads)) == (3, 2 + (weights is not None))
    # What was held is given back, and nothing is answered that the file could not.
    with pytest.raises(UsageError, match="closed"):
        list(table.tables([gml.TableSet((2,))]))


def test_cells_of_a_larger_table_are_read_again_and_tables_counted_ahead(monkeypatch):
    with limited_to(1 << 19):
        data = gml.read("sample_data/asia.csv")
        with streams.stream_of_pieces([data]) as table:
            reads = reads_of(monkeypatch)
            assert table.counts_ahead
            table.expect(lambda: [gml.TableSet((3, 4))])
            for axes in ((0, 1), (0, 2), (3, 4)):
                list(table.tables([gml.TableSet(axes)]))
            # Of two blocks: four columns, and then two.
            assert (table.passes, len(reads)) == (2, 2 * (4 + 2))
    with streams.stream_of_pieces([data]) as table:
        assert not table.counts_ahead
        table.expect(lambda: [gml.TableSet((3, 4))])
        for axes in ((0, 1), (3, 4)):
            list(table.tables([gml.TableSet(axes)]))
        assert table.passes == 2
