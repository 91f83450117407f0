"""What a command writes, the function of the same name returns."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import gml
from gml.cli.main import run
from gml.errors import CannotAnswer, DataError, GmlWarning, UsageError
from gml.formats.reports.checks import FORMATS as CHECK_FORMATS
from gml.formats.reports.comparisons import as_object
from gml.formats.reports.profiles import as_document
from tests.conftest import ROOT

ASIA = ROOT / "sample_data" / "asia.csv"
GRAPH = ROOT / "sample_data" / "asia.dot"
SURVEY = ROOT / "sample_data" / "survey_missing.csv"


def without_hash(text):
    return {key: value for key, value in json.loads(text).items() if key != "hash"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model, rows that it does not fit, and their counts."""
    place = tmp_path_factory.mktemp("front_door")
    lines = ASIA.read_text().splitlines()
    bad = [line.replace("yes", "no", 1) if k % 3 == 0 else line for k, line in enumerate(lines)]
    bad[7] = bad[7].rpartition(",")[0] + ",maybe"
    (place / "bad.csv").write_text("\n".join(bad) + "\n")
    assert run(["fit-params", str(ASIA), str(GRAPH), "-o", str(place / "model.json")]) == 0
    return place


@pytest.fixture
def written(tmp_path):
    """Run a command in this process; returns its exit code and the JSON document it wrote."""

    def command(*args, code=0):
        out = tmp_path / "out.json"
        assert run([*map(str, args), "-o", str(out), "-q"]) == code
        return without_hash(out.read_text())

    return command


# ---------------------------------------------------------------------- check


@pytest.mark.parametrize(
    ("keywords", "flags"),
    [
        ({}, []),
        ({"families": "schema"}, ["--families", "schema"]),
        (
            {"alpha": 0.2, "min_effect": {"tables": 0.3}, "severity": {"structure": "warn"}},
            ["--alpha", "0.2", "--min-effect", "tables=0.3", "--severity", "structure=warn"],
        ),
        ({"min_effect": 0.9, "unlikely_rows": 2}, ["--min-effect", "0.9", "--unlikely-rows", "2"]),
        ({"warn_only": True, "exclude": ["asia"]}, ["--warn-only", "--exclude", "asia"]),
    ],
)
def test_check(folder, written, keywords, flags):
    data, model = str(folder / "bad.csv"), str(folder / "model.json")
    report = gml.check(data, model, **keywords)
    expected = written("check", data, model, *flags, code=int(report.failed))
    found = without_hash(CHECK_FORMATS["json"](report))
    for note in ("accept", "min_effect", "write_baseline"):
        found["notes"] = [
            text.replace(f"`{note}`", "--" + note.replace("_", "-")) for text in found["notes"]
        ]
    assert found == expected
    assert report.checks


def same_checks(one, other):
    """Whether two reports found the same, wherever the rows stand."""
    return (
        CHECK_FORMATS["json"](one).split('"checks"')[1].split('"unlikely_rows"')[0]
        == (CHECK_FORMATS["json"](other).split('"checks"')[1].split('"unlikely_rows"')[0])
    )


def test_check_takes_objects_for_paths(folder):
    rows = gml.read(ASIA)
    net = gml.read_model(folder / "model.json")
    by_path = gml.check(ASIA, folder / "model.json")
    frame = pd.read_csv(ASIA, dtype=str)
    for data in (frame, rows, gml.MemoryCounter(rows)):
        report = gml.check(data, net)
        assert same_checks(report, by_path)
        assert (report.data, report.model) == ("data", "model")


def test_check_takes_a_count_file_and_its_engine(folder, tmp_path):
    path = tmp_path / "counts.parquet"
    counts = gml.count(ASIA, implied=folder / "model.json")
    gml.write_counts(counts, path)
    by_path = gml.check(path, folder / "model.json")
    by_engine = gml.check(gml.CountFileCounter(counts), folder / "model.json")
    assert same_checks(by_path, by_engine)
    with pytest.raises(UsageError, match="`bins` is about rows, and .* is a count file"):
        gml.check(path, folder / "model.json", bins=3)
    few = gml.CountFileCounter(gml.count(ASIA, graph=GRAPH))
    with pytest.raises(CannotAnswer, match="gml count DATA `implied` model, or `families`"):
        gml.check(few, gml.read_model(folder / "model.json"))


def test_numbers_of_a_frame_are_put_into_the_intervals_of_a_model(tmp_path):
    ages = [k % 80 for k in range(400)]
    frame = pd.DataFrame({"age": ages, "old": ["yes" if age > 60 else "no" for age in ages]})
    frame.to_csv(tmp_path / "ages.csv", index=False)
    (tmp_path / "g.dot").write_text("digraph { age -> old }")
    out = str(tmp_path / "model.json")
    graph = str(tmp_path / "g.dot")
    assert run(["fit-params", str(tmp_path / "ages.csv"), graph, "--bins", "4", "-o", out]) == 0
    by_path = gml.check(tmp_path / "ages.csv", out)
    assert not by_path.failed
    assert same_checks(gml.check(frame, out), by_path)
    assert same_checks(gml.check(gml.Dataset.from_frame(frame), out), by_path)


def test_nothing_in_a_frame_is_missing_as_the_model_was_fitted(folder):
    frame = pd.read_csv(ASIA, dtype=str)
    frame.loc[:9, "smoke"] = None
    report = gml.check(frame, folder / "model.json", missing="drop")
    assert report.rows == 4990
    assert any("10 rows (0.2%) with missing values left out" in note for note in report.notes)
    with pytest.raises(DataError, match="missing values"):
        gml.check(frame, folder / "model.json", missing="error")
    assert gml.check(frame, folder / "model.json").rows == 5000


def test_what_is_accepted_is_known_the_next_time(folder, tmp_path):
    data, model = folder / "bad.csv", folder / "model.json"
    first = gml.check(data, model)
    assert first.failed
    assert any("`write_baseline`" in note for note in first.notes)
    baseline = first.accepted()
    again = gml.check(data, model, baseline=baseline)
    assert not again.failed
    assert again.counts["baselined"] == len(baseline.accepted)
    after = first.known_in(baseline)
    assert not after.failed
    assert after.notes[-1] == f"{len(baseline.accepted)} violations accepted"
    assert not any("no baseline" in note for note in after.notes)
    gml.write_baseline(baseline, tmp_path / "python.json")
    assert gml.read_baseline(tmp_path / "python.json") == baseline
    command = ["check", str(data), str(model), "--write-baseline", str(tmp_path / "command.json")]
    assert run([*command, "-o", str(tmp_path / "report.txt")]) == 0
    texts = [(tmp_path / f"{name}.json").read_text() for name in ("python", "command")]
    assert without_hash(texts[0]) == without_hash(texts[1])


def test_a_baseline_of_another_model_is_noted(folder, tmp_path):
    outputs = ["--write-baseline", str(tmp_path / "b.json"), "-o", str(tmp_path / "report.txt")]
    run(["check", str(ASIA), str(folder / "model.json"), *outputs])
    run(["fit-params", str(folder / "bad.csv"), str(GRAPH), "-o", str(tmp_path / "other.json")])
    with pytest.warns(GmlWarning, match="written for another model; accept .* `write_baseline`"):
        report = gml.check(ASIA, tmp_path / "other.json", baseline=tmp_path / "b.json")
    assert any("written for another model" in note for note in report.notes)


@pytest.mark.parametrize(
    ("keywords", "said", "flags", "said_there"),
    [
        (
            {"families": "tabels"},
            "`families`: family 'tabels' not found; did you mean 'tables'",
            ["--families", "tabels"],
            "--families: family 'tabels' not found",
        ),
        (
            {"min_effect": {"tables": 5}},
            "`min_effect`: tables: 5 is too large",
            ["--min-effect", "tables=5"],
            "--min-effect: tables: 5 is too large",
        ),
        (
            {"min_effect": {"schema": 5}},
            "`min_effect`: 5 is too large",
            ["--min-effect", "schema=5"],
            "--min-effect': 5 is too large",
        ),
        ({"alpha": 1.0}, "`alpha` must be between", ["--alpha", "1"], "--alpha must be between"),
        (
            {"min_effect": -1},
            "`min_effect`: the effect must be 0 or more, not -1",
            ["--min-effect", "-1"],
            "0 or more, not -1",
        ),
        (
            {"severity": {"fit": "loud"}},
            "`severity`: fit must be 'warn' or 'fail', not 'loud'",
            ["--severity", "fit=loud"],
            "fit=warn or fit=fail",
        ),
        ({"unlikely_rows": -1}, "`unlikely_rows` must be 0 or more, not -1", None, None),
        ({"colums": ["a"]}, "parameter 'colums' not found; did you mean 'columns'", None, None),
        ({"columns": "smok"}, "column 'smok' not found", ["-c", "smok"], "'smok' not found"),
    ],
)
def test_what_a_check_refuses(folder, capfd, keywords, said, flags, said_there):
    model = str(folder / "model.json")
    with pytest.raises(UsageError) as error:
        gml.check(ASIA, model, **keywords)
    assert said in str(error.value)
    if flags is not None:
        assert run(["check", str(ASIA), model, *flags]) == 2
        assert said_there in capfd.readouterr().err


def test_reading_keywords_are_for_what_is_to_be_read(folder):
    rows, model = gml.read(ASIA), folder / "model.json"
    for data in (rows, gml.MemoryCounter(rows)):
        with pytest.raises(
            UsageError, match="`bins` is about reading, and the data is a .*, which is read already"
        ):
            gml.check(data, model, bins=3)
    with pytest.raises(UsageError, match="`encoding` is for text files, and this is a frame"):
        gml.check(rows.to_frame(), model, encoding="latin-1")


def test_what_is_no_data_or_no_model_is_refused(folder):
    for given, kind in (([1, 2], "an int"), ({1, 2}, "a set")):
        with pytest.raises(
            UsageError,
            match=f"data must be a path, a DataFrame, a Dataset or a Counter, not {kind}",
        ):
            gml.check(given, folder / "model.json")
    with pytest.raises(UsageError, match="there are no data to check: the list is empty"):
        gml.check([], folder / "model.json")
    graph = gml.read_graph(GRAPH)
    for ask in (
        lambda: gml.check(ASIA, graph),
        lambda: gml.query(graph, "lung"),
        lambda: gml.sample(graph, 3),
    ):
        with pytest.raises(UsageError, match="a Graph is not a model; give a path or a BayesNet"):
            ask()


def test_a_report_fits_a_screen_and_becomes_a_frame(folder):
    report = gml.check(folder / "bad.csv", folder / "model.json")
    assert len(repr(report).splitlines()) <= 12
    assert repr(report).startswith("CheckReport(fail: ")
    frame = report.to_frame()
    assert len(frame) == len(report.checks)
    assert frame["status"][0] == "fail"


# ---------------------------------------------------------------------- count and merge


@pytest.mark.parametrize(
    ("keywords", "flags"),
    [
        ({"pairs": True}, ["--pairs"]),
        (
            {"triples": True, "columns": ["asia", "tub", "lung"]},
            ["--triples", "-c", "asia,tub,lung"],
        ),
        ({"graph": GRAPH}, ["--graph", GRAPH]),
        ({"implied": [GRAPH]}, ["--implied", GRAPH]),
    ],
)
def test_count(tmp_path, keywords, flags):
    by_command, by_python = tmp_path / "a.parquet", tmp_path / "b.parquet"
    assert run(["count", str(ASIA), *map(str, flags), "-o", str(by_command)]) == 0
    gml.write_counts(gml.count(ASIA, **keywords), by_python)
    assert by_command.read_bytes() == by_python.read_bytes()


def test_count_takes_objects_for_paths(tmp_path):
    (tmp_path / "sets.csv").write_text("smoke,lung\n# more\nasia\n")
    frame = pd.read_csv(ASIA, dtype=str)
    sets = [("smoke", "lung"), ("asia",)]
    expected = gml.count(ASIA, sets=tmp_path / "sets.csv")
    for data in (frame, gml.read(ASIA), gml.MemoryCounter(gml.read(ASIA))):
        found = gml.count(data, sets=sets)
        assert [found.names_of(k) for k in range(2)] == [expected.names_of(k) for k in range(2)]
        for k in range(2):
            assert [part.tolist() for part in found.cells(k)] == [
                part.tolist() for part in expected.cells(k)
            ]
    graph = gml.read_graph(GRAPH)
    by_object = gml.count(ASIA, graph=graph, implied=graph)
    assert by_object.counts.tolist() == gml.count(ASIA, implied=GRAPH).counts.tolist()


def test_what_a_count_refuses(capfd, tmp_path):
    with pytest.raises(UsageError, match="say what to count: `pairs`, `triples`, `graph` GRAPH"):
        gml.count(ASIA)
    assert run(["count", str(ASIA), "-o", str(tmp_path / "x.parquet")]) == 2
    assert "say what to count: --pairs, --triples, --graph GRAPH" in capfd.readouterr().err
    with pytest.raises(DataError, match="missing values"):
        gml.count(SURVEY, pairs=True)
    with pytest.raises(DataError, match="`sets`: column 'smok' not found"):
        gml.count(ASIA, sets=[("smok",)])
    with pytest.raises(
        UsageError,
        match="a graph must be a Graph, a path, a model or the result of a learner, not dict",
    ):
        gml.count(ASIA, graph={"a": "b"})


def test_small_cells_are_refused(tmp_path, capfd):
    with pytest.raises(CannotAnswer, match="have a cell below `min_cell` 100: .* levels .`cut`."):
        gml.count(ASIA, pairs=True, min_cell=100)
    out = str(tmp_path / "x.parquet")
    assert run(["count", str(ASIA), "--pairs", "--min-cell", "100", "-o", out]) == 4
    assert "have a cell below --min-cell 100: " in capfd.readouterr().err
    counts = gml.count(ASIA, pairs=True)
    with pytest.raises(CannotAnswer, match="below `min_cell` 100"):
        gml.merge(counts, min_cell=100)


def test_merge(tmp_path):
    lines = ASIA.read_text().splitlines(keepends=True)
    paths = []
    for k in range(2):
        (tmp_path / f"{k}.csv").write_text("".join([lines[0], *lines[1 + k :: 2]]))
        paths.append(tmp_path / f"{k}.parquet")
        assert run(["count", str(tmp_path / f"{k}.csv"), "--pairs", "-o", str(paths[k])]) == 0
    out = tmp_path / "all.parquet"
    assert run(["merge", *map(str, paths), "-o", str(out)]) == 0
    gml.write_counts(gml.merge(*paths), tmp_path / "python.parquet")
    assert out.read_bytes() == (tmp_path / "python.parquet").read_bytes()
    files = [gml.read_counts(path) for path in paths]
    assert gml.merge(*files).counts.tolist() == gml.count(ASIA, pairs=True).counts.tolist()
    with pytest.warns(GmlWarning, match="file 2 and file 1 count the same data"):
        gml.merge(files[0], files[0])
    with pytest.raises(UsageError, match="a Dataset is not a count file"):
        gml.merge(gml.read(ASIA))
    with pytest.raises(UsageError, match="at least one"):
        gml.merge()


# ---------------------------------------------------------------------- profile


@pytest.mark.parametrize(
    ("keywords", "flags"),
    [
        ({}, []),
        ({"columns": ["Age"], "na": ["adult"]}, ["-c", "Age", "--na", "adult"]),
        ({"levels": {"Sex": ["M", "F", "X"]}, "columns": "Sex"}, None),
    ],
)
def test_profile(written, tmp_path, keywords, flags):
    if flags is None:
        schema = {"schema": "gml/1", "columns": {"Sex": {"levels": ["M", "F", "X"]}}}
        (tmp_path / "schema.json").write_text(json.dumps(schema))
        flags = ["--levels", tmp_path / "schema.json", "-c", "Sex"]
    expected = written("profile", SURVEY, *flags)
    found = gml.profile(SURVEY, **keywords)
    assert as_document(found) == expected
    assert list(found.to_frame()["missing"]) == [c["missing"] for c in expected["columns"].values()]


def test_profile_of_objects():
    by_path = gml.profile(SURVEY)
    frame = pd.read_csv(SURVEY, dtype=str)
    assert gml.profile(frame).columns == by_path.columns
    assert gml.profile(gml.read(SURVEY, missing="available")).columns == by_path.columns
    assert repr(by_path).startswith("Profile(1000 rows, 6 columns: 'Age', ")
    with pytest.raises(CannotAnswer, match="the frame: has no rows"):
        gml.profile(frame[:0])


# ---------------------------------------------------------------------- files


def test_verify(folder, written, tmp_path):
    model, other = folder / "model.json", tmp_path / "other.json"
    other.write_text(model.read_text().replace("0.0", "0.1", 1))
    found = gml.verify([model, other], ASIA)
    expected = written("verify", model, other, "--input", ASIA, code=1)
    assert found.rows() == expected["results"]
    assert [file.verdict for file in found] == ["ok", "changed"]
    assert not found
    assert gml.verify(model)
    assert list(found.to_frame()["verdict"]) == ["ok", "changed"]
    assert repr(found).splitlines()[0] == "Verification(2 rows)"
    assert [file.verdict for file in gml.verify(ASIA).rejected] == ["unreadable"]


@pytest.mark.parametrize("form", ["json", "bif", "xmlbif", "net", "dot", "graphml", "text"])
def test_convert(folder, tmp_path, capfd, form):
    model, out = folder / "model.json", tmp_path / "out"
    assert run(["convert", str(model), str(out), "-f", form, "-q"]) == 0
    with pytest.warns(GmlWarning) if form not in ("json", "text") else nothing():
        found = gml.convert(model, form)
    assert found.format == form
    if form == "json":
        texts = [json.loads(text) for text in (found.text, out.read_text())]
        for text in texts:
            del text["graph"]["hash"]
        assert texts[0] == texts[1]
    else:
        assert found.text == out.read_text()
    assert gml.convert(gml.read_graph(GRAPH), path="x.xml").format == "graphml"
    with pytest.raises(UsageError, match="`format`: format 'bfi' not found; did you mean 'bif'"):
        gml.convert(model, "bfi")
    with pytest.raises(UsageError, match="say with `format`"):
        gml.convert(model)


def nothing():
    import contextlib

    return contextlib.nullcontext()


def test_compare(folder, written, tmp_path):
    tree = tmp_path / "tree.json"
    assert run(["chowliu", str(ASIA), "-o", str(tree)]) == 0
    expected = written("compare", folder / "model.json", tree, GRAPH)
    found = gml.compare(folder / "model.json", str(tree), str(GRAPH))
    assert [as_object(pair) for pair in found] == expected["pairs"]
    learned = gml.chow_liu(gml.MemoryCounter(gml.read(ASIA)))
    by_object = gml.compare(gml.read_model(folder / "model.json"), learned, gml.read_graph(GRAPH))
    assert [pair.found for pair in by_object] == [pair.found for pair in found]
    assert by_object[0].b == "graph 1"
    assert list(found.to_frame()["shd"]) == [pair["shd"] for pair in expected["pairs"]]
    with pytest.raises(UsageError, match="`as_` must be one of cpdag, dag, not 'pag'"):
        gml.compare(GRAPH, GRAPH, as_="pag")
    with pytest.raises(UsageError, match="at least one graph"):
        gml.compare(GRAPH)


def test_explain(written, tmp_path):
    log = tmp_path / "log.jsonl"
    run(["pc", str(ASIA), "--test-log", str(log), "-o", str(tmp_path / "graph.dot")])
    expected = written("explain", log, "smoke", "lung")
    found = gml.explain(log, "smoke", "lung")
    assert list(found.sentences) == expected["explanation"]
    assert found.edge == expected["edge"]
    assert str(found) == "\n".join(expected["explanation"])
    with pytest.raises(UsageError, match="'smok' not found; did you mean 'smoke'"):
        gml.explain(log, "smok", "lung")


def test_names_of_the_front_door():
    for name in gml.__all__:
        assert getattr(gml, name) is not None
    assert {"check_model", "merge_counts", "compare_graphs", "order_mcmc"}.isdisjoint(gml.__all__)
    assert all(callable(getattr(gml, n)) for n in ("check_model", "merge_counts", "order_mcmc"))


@pytest.mark.parametrize("policy", ["drop", "level", "available"])
def test_rows_whose_gaps_were_treated_are_no_alarm(tmp_path, policy):
    frame = pd.read_csv(ASIA).astype(object)
    frame.loc[frame.index % 11 == 0, "lung"] = None
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    net = gml.fit(tmp_path / "gaps.csv", GRAPH, missing=policy)
    rows = gml.read(tmp_path / "gaps.csv", missing=policy)
    expected = gml.check(tmp_path / "gaps.csv", net).counts
    for data in (rows, gml.MemoryCounter(rows)):
        assert gml.check(data, net).counts == expected


def test_columns_with_numbers_for_names():
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (60, 3)))
    net = gml.fit(frame, gml.Graph.from_edges([0, 1, 2], [(0, "-->", 1)]))
    assert net.names == ("0", "1", "2")
    assert gml.indtest(frame, 0, 1).to_frame()[["x", "y"]].values.tolist() == [["0", "1"]]
    for wrong in (
        lambda: gml.chow_liu(frame, root=0),
        lambda: net.query("0", {1: 0}),
        lambda: net.predict(frame, 0),
    ):
        with pytest.raises(UsageError, match=r"is not text, as names are: did you mean '[01]'\?"):
            wrong()
    with pytest.raises(UsageError, match="`target` must be a name or a list of names, not 0"):
        net.query(0)


def test_values_of_the_wrong_type_are_named():
    rows = gml.read("sample_data/asia.csv")
    net = gml.fit(rows, "sample_data/asia.dot")
    with pytest.raises(UsageError, match="`alpha` must be above 0 and at most 1, not 'x'"):
        gml.pc(rows, alpha="x")
    with pytest.raises(UsageError, match="`alpha` must be between 0 and 1, not 'x'"):
        gml.check(rows, net, alpha="x")
    with pytest.raises(UsageError, match="`severity`: say it by family"):
        gml.check(rows, net, severity="warn")
