"""Data as every verb takes it: a path, a frame, a dataset, an engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gml
from gml.data.discretize import Binning
from gml.data.options import reading_options
from gml.data.schema import Schema
from gml.errors import CannotAnswer, DataError, GmlWarning, UsageError
from gml.verbs.shared.data_input import open_data
from gml.verbs.shared.declared_columns import DeclaredColumns
from gml.verbs.shared.dialects import declaring
from tests.toy_engine import as_list


@pytest.fixture
def frame():
    return pd.DataFrame({"A": ["x", "y", "x", "y"], "B": [1, 2, 3, 4]})


@pytest.fixture
def path(tmp_path, frame):
    found = tmp_path / "d.csv"
    frame.to_csv(found, index=False)
    return found


def same(one, other):
    assert one.variables == other.variables
    for a, b in zip(one.columns, other.columns, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_four_ways_to_give_the_same_data(path, frame):
    data = gml.read(path)
    engine = gml.MemoryCounter(data)
    for given in (path, str(path), frame, data, engine):
        same(open_data(given).rows(), data)
    assert open_data(engine) is engine
    same(gml.read(frame), data)


def test_a_count_file_is_data(tmp_path, path):
    pytest.importorskip("pyarrow")
    counts = gml.count_sets(gml.MemoryCounter(gml.read(path)), [("A", "B")])
    gml.write_counts(counts, tmp_path / "c.parquet")
    counter = open_data(tmp_path / "c.parquet", columns="A")
    assert [v.name for v in counter.variables] == ["A"]
    assert counter.n == 4
    for given, message in (
        ({"bins": 2}, "`bins` is about rows"),
        ({"missing": "drop"}, "`missing='drop'`: .* was counted with `missing='error'`"),
    ):
        with pytest.raises(UsageError, match=message):
            open_data(tmp_path / "c.parquet", **given)
    with pytest.raises(CannotAnswer, match="were counted as labels, so it has no numbers"):
        open_data(tmp_path / "c.parquet", undeclared="numbers")
    for given in ({"numeric": "B"}, {"levels": Schema(kinds={"B": "numeric"})}):
        with pytest.raises(CannotAnswer, match="'B' was counted as labels.*`numeric="):
            open_data(tmp_path / "c.parquet", **given)


def test_reading_is_over_for_what_was_read(path):
    data = gml.read(path)
    with pytest.raises(UsageError, match="`bins` is about reading, and the data is a Dataset"):
        open_data(data, bins=2)
    with pytest.raises(UsageError, match="`columns`, `missing` are about reading, .* a Counter"):
        open_data(gml.MemoryCounter(data), missing="drop", columns="A")
    assert open_data(data, bins=None, columns=None).n == 4


@pytest.mark.parametrize(
    "data,what", [([1], "a list"), (3, "an int"), (None, "None"), (np.zeros(3), "a numpy ndarray")]
)
def test_nothing_else_is_data(data, what):
    with pytest.raises(
        UsageError, match=f"data must be a path, a DataFrame, a Dataset or a Counter, not {what}"
    ):
        open_data(data)


def test_columns_used_are_picked(path, frame):
    for given in (path, frame, gml.read(path)):
        assert [v.name for v in open_data(given, used=lambda names: ["B"]).variables] == ["B"]
        with pytest.raises(UsageError, match="column 'C' not found"):
            open_data(given, used=lambda names: ["C"])


def test_no_rows(path, frame):
    path.write_text("A,B\n")
    for given, said in (
        (path, "d.csv: has a header, but no rows"),
        (frame.iloc[:0], "the frame: has no rows"),
        (gml.read(path), "the data: has a header, but no rows"),
    ):
        with pytest.raises(CannotAnswer, match=said):
            open_data(given)


def test_levels_that_say_little_earn_a_warning(frame):
    with pytest.warns(GmlWarning, match="only one value, so independent of everything: 'C'"):
        open_data(frame.assign(C="x"))
    many = pd.DataFrame({"A": range(60), "B": [0, 1] * 30})
    with pytest.warns(GmlWarning, match=r"too many values for 60 rows .*'A' \(60\); .* `bins`"):
        open_data(many, kinds="labels")


def test_a_graph_declares_levels(frame):
    levels = {"A": ("y", "x", "z"), "B": ("[-inf,2)", "[2,inf)")}
    declared = DeclaredColumns("g.dot", levels)
    counter = open_data(frame, declared=declared)
    assert [v.levels for v in counter.variables] == list(levels.values())
    assert counter.rows().columns[1].tolist() == [0, 1, 1, 1]
    own = open_data(frame, declared=declared, cut={"B": [2]}, levels={"A": ["z", "x", "y"]})
    assert [v.levels for v in own.variables] == [("z", "x", "y"), levels["B"]]
    with pytest.raises(UsageError, match="`cut` contradicts g.dot, .* for column 'B'"):
        open_data(frame, declared=declared, cut={"B": [3]})
    with pytest.raises(UsageError, match="`levels` contradicts g.dot, .* for column 'A'"):
        open_data(frame, declared=declared, levels={"A": ["x", "y"]})
    assert declaring({"missing": "drop"}, DeclaredColumns("g.dot"))["missing"] == "drop"


def counted_file(data, path):
    gml.write_counts(gml.count_sets(gml.MemoryCounter(data), [data.names]), path)
    return path


def each_kind(frame, tmp_path, **reading):
    """The same data in every form: a path, a frame, a dataset, engines and a count file."""
    path = tmp_path / "each.csv"
    frame.to_csv(path, index=False)
    data = gml.read(path, **reading)
    counts = counted_file(data, tmp_path / "each.parquet")
    return {
        "path": path,
        "frame": frame,
        "dataset": data,
        "memory": gml.MemoryCounter(data),
        "tables alone": as_list(data),
        "count file": counts,
        "counter of a count file": gml.CountFileCounter(gml.read_counts(counts)),
    }


DECLARED = {"A": ("y", "z", "x"), "B": ("[-inf,2)", "[2,4)", "[4,inf)")}


def test_declared_levels_are_those_of_any_data(frame, tmp_path):
    pytest.importorskip("pyarrow")
    sets = [gml.TableSet((0, 1)), gml.TableSet((0,), (1,)), gml.TableSet((1,), (0,))]
    tables = {}
    for kind, data in each_kind(frame, tmp_path).items():
        counter = open_data(data, declared=DeclaredColumns("g", DECLARED))
        assert [v.levels for v in counter.variables] == list(DECLARED.values()), kind
        tables[kind] = [
            (counts.table.tolist(), counts.configs.tolist(), counts.n_configs, counts.n)
            for counts in counter.tables(sets)
        ]
    assert tables["path"][0][0] == [[[0, 1, 1], [0, 0, 0], [1, 1, 0]]]
    for kind, found in tables.items():
        assert found == tables["path"], kind


def test_a_graph_declares_levels_for_any_data(tmp_path):
    pytest.importorskip("pyarrow")
    frame = gml.read("sample_data/asia.csv", columns=["smoke", "lung"]).to_frame()
    graph = gml.Graph.from_edges(["smoke", "lung"], [("smoke", "-->", "lung")], kind="dag")
    graph = replace(graph, levels={"smoke": ("yes", "no", "maybe"), "lung": ("yes", "no")})
    kinds = each_kind(frame.iloc[:200], tmp_path)
    for kind, data in kinds.items():
        with pytest.warns(GmlWarning, match="1 configuration of parents was never seen"):
            net = gml.fit(data, graph)
        assert net.cpt("smoke").variable.levels == ("yes", "no", "maybe"), kind
        assert net.cpt("lung").table.shape == (3, 2)
        scored = gml.score(data, graph, score=["bic", "bdeu"])[0]
        if kind == "path":
            first, score_of_first = net, scored
        for name in graph.names:
            np.testing.assert_array_equal(net.cpt(name).table, first.cpt(name).table)
        assert scored == score_of_first


def test_a_graph_declares_levels_of_held_out_rows(tmp_path):
    pytest.importorskip("pyarrow")
    frame = gml.read("sample_data/asia.csv", columns=["smoke", "lung"]).to_frame().astype(str)
    graph = gml.Graph.from_edges(["smoke", "lung"], [("smoke", "-->", "lung")], kind="dag")
    graph = replace(graph, levels={"smoke": ("yes", "no", "maybe"), "lung": ("yes", "no")})
    fitted, held_out = frame.iloc[:300], frame.iloc[300:600]
    losses = {
        gml.score(fitted, graph, holdout=data)[0].heldout.hex()
        for data in each_kind(held_out, tmp_path).values()
    }
    assert len(losses) == 1
    unknown = held_out.replace({"smoke": {"yes": "often"}})
    for data in each_kind(unknown, tmp_path).values():
        with pytest.raises(DataError, match="column 'smoke': level 'often' not found"):
            gml.score(fitted, graph, holdout=data)
    with pytest.raises(UsageError, match="`levels` contradicts graph 1, .* for column 'smoke'"):
        gml.score(fitted, graph, holdout=unknown, levels={"smoke": ["often", "no", "yes"]})


@pytest.mark.parametrize(
    "declared,message",
    [
        ({"A": ("y", "z")}, "column 'A': level 'x' not found"),
        (
            {"B": ("[-inf,2)", "[2,4)")},
            "column 'B': level '4' not found.*and it is not a number within them",
        ),
        ({"A": ("[-inf,2)", "[2,inf)")}, "column 'A': level 'x' not found.*within them"),
    ],
)
def test_what_is_not_declared_is_refused_in_any_data(frame, tmp_path, declared, message):
    pytest.importorskip("pyarrow")
    for data in each_kind(frame, tmp_path).values():
        with pytest.raises(DataError, match=message):
            open_data(data, declared=DeclaredColumns("g", declared))


def test_levels_without_rows_need_no_declaration(frame):
    data = gml.read(frame, levels={"A": ["w", "x", "y"]})
    for given in (data, gml.MemoryCounter(data), as_list(data)):
        counter = open_data(given, declared=DeclaredColumns("g", {"A": ("y", "x")}))
        assert counter.variables[0].levels == ("y", "x")
        (counts,) = counter.tables([gml.TableSet((0,))])
        assert counts.table.tolist() == [[2, 2]]
        same_levels = DeclaredColumns("g", {"B": ("1", "2", "3", "4")})
        assert open_data(given, declared=same_levels).variables == data.variables


def test_missing_values_stay_a_level_after_those_declared(frame):
    frame.loc[0, "A"] = None
    levels = DeclaredColumns("g", {"A": ("y", "z", "x")})
    read = open_data(frame, declared=levels, missing="level")
    data = gml.read(frame, missing="level")
    for given in (data, gml.MemoryCounter(data)):
        same(open_data(given, declared=levels).rows(), read.rows())


def test_numbers_that_were_read_stay_numbers(frame):
    data = gml.read(frame, numeric="B")
    declared = DeclaredColumns("g", DECLARED)
    assert open_data(data, declared=declared).variables[1].levels is None
    with pytest.raises(UsageError, match="`numeric` contradicts g, .* for column 'B'"):
        open_data(frame, declared=declared, numeric="B")


def test_keywords(tmp_path):
    options = reading_options(
        columns="A",
        exclude=["B"],
        numeric="C",
        na="-",
        delimiter="tab",
        cut={"D": "width:3", "E": [0, 2.5], "F": Binning("quantile", 4)},
        levels={"G": ["lo", "hi"], "H": ["[-inf,0)", "[0,inf)"]},
        bins=None,
    )
    assert (options.columns, options.exclude, options.numeric) == (("A",), ("B",), ("C",))
    assert (options.na, options.delimiter, options.bins) == (("-",), "\t", None)
    assert options.cut == {
        "D": Binning("width", 3),
        "E": Binning("cuts", cuts=(0.0, 2.5)),
        "F": Binning("quantile", 4),
    }
    assert options.levels.levels == {"G": ("lo", "hi")}
    assert options.levels.intervals == {"H": ("[-inf,0)", "[0,inf)")}
    path = tmp_path / "s.json"
    path.write_text('{"schema": "gml/1", "columns": {"A": {"levels": ["b", "a"]}}}')
    for levels in (path, str(path), Path(path)):
        assert reading_options(levels=levels).levels.levels == {"A": ("b", "a")}


@pytest.mark.parametrize(
    "keywords,message",
    [
        ({"columns": [0.5]}, "`columns` must be a name or a list of names"),
        ({"columns": 3.5}, "`columns` must be a name or a list of names"),
        ({"missing": "ignore"}, "`missing` must be one of error, drop, level, available"),
        ({"discretize": "kmeans"}, "`discretize` must be one of quantile, width"),
        ({"bins": 1}, "`bins` must be between 2 and 65535, not 1"),
        ({"max_levels": 0}, "`max_levels` must be between 1 and 65535, not 0"),
        ({"cut": {"A": [2, 1]}}, "not strictly increasing"),
        ({"cut": {"A": ["x"]}}, "`cut`: column 'A'"),
        ({"cut": {"A": 3}}, "`cut`: column 'A'"),
        ({"weights": "w", "weights_fractional": "w"}, "exclude one another"),
    ],
)
def test_wrong_keywords(keywords, message):
    with pytest.raises(UsageError, match=message):
        reading_options(**keywords)


def test_wrong_levels_and_unknown_keywords():
    for levels in ({"A": ["x", "x"]}, {"A": [1]}, {"A": "xy"}, {"A": []}):
        with pytest.raises(DataError, match="`levels`: column 'A'"):
            reading_options(levels=levels)
    with pytest.raises(TypeError, match="'bin' not found; did you mean 'bins'"):
        reading_options(bin=4)
