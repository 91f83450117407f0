"""Several deliveries in one run: one family of p-values, in any order; models that are accepted."""

from __future__ import annotations

import itertools
import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gml
from gml.errors import CannotAnswer, DataError, GmlWarning, GraphError, UsageError
from gml.formats.baseline import dump_baseline
from gml.formats.json_model import dump_json_model
from gml.formats.models import parse_model
from gml.gate.check import Check
from gml.gate.decision import decide, decide_together
from gml.gate.question import Question
from gml.gate.settings import CheckSettings
from gml.verbs.shared.deliveries import tables_in
from tests.conftest import ROOT
from tests.networks import asia, fitted

ASIA = ROOT / "sample_data" / "asia.csv"
GRAPH = ROOT / "sample_data" / "asia.dot"


@pytest.fixture(scope="module")
def model():
    return gml.fit(ASIA, GRAPH, accept=True)


@pytest.fixture(scope="module")
def three(model, tmp_path_factory):
    """Two honest deliveries, and one in which nobody has bronchitis any more."""
    place = tmp_path_factory.mktemp("three")
    for k, name in enumerate(("a.csv", "b.csv", "bad.csv")):
        frame = model.sample(1500, seed=k).to_frame()
        if name == "bad.csv":
            frame["bronc"] = "no"
        frame.to_csv(place / name, index=False)
    return [str(place / name) for name in ("a.csv", "b.csv", "bad.csv")]


def asked(values):
    return [
        Question(Check(str(k), "tables", "row", ("A",), log_p=math.log(p), effect=1.0))
        for k, p in enumerate(values)
    ]


def content(report):
    return [(c.id, c.log_p, c.log_p_adjusted, c.log_q, c.status) for c in report.checks]


# --- one family -------------------------------------------------------------------------------


def test_all_deliveries_are_one_family_of_holm():
    rng = np.random.default_rng(1)
    settings = CheckSettings(alpha=0.05, threads=1)
    for _ in range(50):
        values = [rng.uniform(size=rng.integers(1, 6)) ** 3 for _ in range(rng.integers(1, 5))]
        together = decide(asked(np.concatenate(values)), settings, accepted=())
        apart = decide_together([asked(v) for v in values], settings, accepted=())
        assert [len(checks) for checks in apart] == list(map(len, values))
        flat = list(itertools.chain(*apart))
        assert [c.log_p_adjusted for c in flat] == [c.log_p_adjusted for c in together]
        assert [c.status for c in flat] == [c.status for c in together]


@pytest.mark.parametrize("copies", [1, 2, 5, 40])
def test_copies_of_an_honest_delivery_raise_no_more_alarms(copies):
    """Exactly: the run fails iff the least of M p-values is at most α/M, so P(fail) ≤ α."""
    settings = CheckSettings(alpha=0.01, threads=1)
    others = [0.3, 0.7]
    edge = 0.01 / (copies * 3)
    for p, fails in ((edge * (1 - 1e-9), True), (edge * (1 + 1e-6), False)):
        honest = [asked([0.9, *others]) for _ in range(copies - 1)]
        found = decide_together([asked([p, *others]), *honest], settings, accepted=())
        assert any(c.status == "fail" for checks in found for c in checks) == fails


def test_the_order_of_deliveries_shows_only_in_the_order_of_sections(model, three):
    expected = {r.data: content(r) for r in gml.check(three, model, threads=1)}
    for order in itertools.permutations(three):
        found = gml.check(list(order), model, threads=2)
        assert [report.data for report in found] == list(order)
        assert {report.data: content(report) for report in found} == expected


def test_alpha_is_for_the_run_or_for_each_file(model, three):
    alone = [gml.check(path, model) for path in three]
    each = gml.check(three, model, alpha_per="file")
    assert each.reports == tuple(alone)
    run = gml.check(three, model)
    for one, among in zip(alone, run, strict=True):
        for before, after in zip(one.checks, among.checks, strict=True):
            if before.log_p_adjusted is not None and after.log_p == before.log_p:
                assert after.log_p_adjusted >= before.log_p_adjusted
    assert [report.failed for report in run] == [False, False, True]
    assert (run.failed, run.exit_code) == (True, 1)
    assert gml.check(three[:1], model).reports == (alone[0],)
    with pytest.raises(UsageError, match="`alpha_per` must be one of run, file, not 'day'"):
        gml.check(three, model, alpha_per="day")


# --- what cannot be checked -------------------------------------------------------------------


def test_a_rejected_delivery_does_not_hold_back_the_others(model, three, tmp_path):
    (tmp_path / "ragged.csv").write_text("asia,tub\nyes,no\nno\n")
    (tmp_path / "header.csv").write_text("asia,tub\n")
    bad, empty = str(tmp_path / "ragged.csv"), str(tmp_path / "header.csv")
    found = gml.check([three[0], bad, model.sample(50, seed=1), three[2], empty], model)
    assert [r.exit_code for r in found.reports] == [0, 3, 0, 1, 4]
    assert (found.exit_code, found.failed) == (3, True)
    error = found.reports[1].error
    assert error.message == f"{bad}: line 3: 1 field, but the header has 2; quote fields that " + (
        "hold the delimiter"
    )
    assert (error.file, error.line) == (bad, 3)
    assert found.reports[1].failed and found.reports[1].checks == ()
    assert found.reports[2].data == "data[2]"
    assert repr(found).count("CheckReport(error: ") == 2
    with pytest.raises(DataError, match="line 3"):
        found.reports[1].accepted()
    # The others are decided on as if it were not there.
    rest = gml.check([three[0], model.sample(50, seed=1), three[2]], model)
    assert [content(found.reports[k]) for k in (0, 2, 3)] == [content(r) for r in rest]
    assert gml.check([three[2], empty], model).exit_code == 4
    for path, error in ((bad, DataError), (empty, CannotAnswer)):
        with pytest.raises(error):
            gml.check(path, model)


def test_a_wrong_call_is_no_matter_of_a_delivery(model, three):
    with pytest.raises(UsageError, match="'smoek' not found"):
        gml.check(three, model, columns=["smoek"])


# --- folders ----------------------------------------------------------------------------------


def test_a_folder_is_its_files_by_name(model, three, tmp_path):
    rows = (ROOT / three[0]).read_text()
    for name in ("b.csv", "a.csv", ".hidden.csv", "_SUCCESS", "sub/0.csv", ".git/x", "c.tsv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(rows.replace(",", "\t") if name == "c.tsv" else rows)
    expected = [str(tmp_path / name) for name in ("a.csv", "b.csv", "c.tsv", "sub/0.csv")]
    assert tables_in(tmp_path) == expected
    found = gml.check([str(tmp_path)], model)
    assert [report.data for report in found] == expected
    assert [report.exit_code for report in found] == [0, 0, 0, 0]
    with pytest.raises(UsageError, match="a folder of 4 tables; give it in a list, to check each"):
        gml.check(tmp_path, model)


def test_a_folder_of_parquet_alone_is_one_table(model, tmp_path):
    frame = model.sample(400, seed=3).to_frame()
    frame[:200].to_parquet(tmp_path / "1.parquet")
    frame[200:].to_parquet(tmp_path / "2.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".crc").write_text("")
    assert tables_in(tmp_path) == [str(tmp_path)]
    assert gml.check(tmp_path, model).rows == 400
    assert [report.rows for report in gml.check([tmp_path], model)] == [400]
    frame[:100].to_csv(tmp_path / "3.csv", index=False)
    assert [report.rows for report in gml.check([tmp_path], model)] == [200, 200, 100]


def test_an_empty_folder_is_refused(model, tmp_path):
    (tmp_path / ".hidden").write_text("a\n1\n")
    for data in (tmp_path, [tmp_path]):
        with pytest.raises(DataError, match="a folder without any table"):
            gml.check(data, model)


# --- accepting --------------------------------------------------------------------------------


def test_a_fit_accepts_what_a_check_of_its_rows_would(model):
    plain = gml.fit(ASIA, GRAPH)
    assert plain.baseline is None
    assert model.baseline == gml.check(ASIA, plain).accepted()
    assert len(model.baseline.references) == 20
    # A graph that lacks an edge: what its own rows break is accepted, and new rows pass.
    graph = gml.read_graph(GRAPH)
    edges = [("smoke", "-->", "lung"), ("either", "-->", "xray")]
    wrong = gml.Graph.from_edges(graph.names, edges)
    poor = gml.fit(ASIA, wrong)
    assert gml.check(model.sample(3000, seed=5), poor).failed
    accepted = gml.fit(ASIA, wrong, accept=True)
    assert accepted.baseline == gml.check(ASIA, poor).accepted()
    assert len(accepted.baseline.accepted) > 5
    assert not gml.check(model.sample(3000, seed=5), accepted).failed
    # One that is given takes its place.
    assert gml.check(model.sample(3000, seed=5), accepted, baseline=gml.Baseline()).failed


@pytest.mark.filterwarnings("ignore::gml.GmlWarning")
@pytest.mark.parametrize("missing", ["drop", "level", "available"])
def test_a_fit_with_missing_values_accepts_the_same(missing, tmp_path):
    survey = ROOT / "sample_data" / "survey_missing.csv"
    graph = gml.hc(survey, missing="drop").graph
    net = gml.fit(survey, graph, missing=missing, accept=True)
    gml.write_model(replace(net, baseline=None), tmp_path / "plain.json")
    assert gml.check(survey, tmp_path / "plain.json").accepted() == net.baseline


def test_rows_that_count_in_part_are_not_accepted(tmp_path):
    (tmp_path / "w.csv").write_text("a,b,w\nx,y,0.5\nz,y,1\nx,u,1.5\n")
    graph = gml.Graph.from_edges(("a", "b"), [("a", "-->", "b")])
    with pytest.raises(UsageError, match="`weights_fractional` is for scores and for fitting"):
        gml.fit(tmp_path / "w.csv", graph, weights_fractional="w", accept=True)


def test_a_model_keeps_its_baseline(model, tmp_path):
    text = dump_json_model(model)
    assert parse_model(text, "model.json").baseline == model.baseline
    about = json.loads(text)["graph"]["baseline"]
    assert about["rows"] == 5000 and about["accepted"] == []
    written = json.loads(dump_baseline(model.baseline))
    assert about == {key: written[key] for key in ("rows", "accepted", "references")}
    assert parse_model(dump_json_model(replace(model, baseline=None)), "x").baseline is None
    again = gml.convert(model, "json").text
    assert parse_model(again, "x").baseline == model.baseline
    with pytest.warns(GmlWarning, match="how it was learned and the baseline; JSON does"):
        gml.convert(model, "bif")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ([], 'the "baseline" is not an object'),
        ({"accepted": ["x"]}, 'the "baseline": "accepted" is not a list of objects with the "id"'),
        ({"references": {"s": {"n": 1}}}, "the reference of 's' has no number 'statistic'"),
        ({"rows": -1}, '"rows" is not a number of rows'),
    ],
)
def test_a_damaged_baseline_in_a_model_is_refused(model, damage, message):
    document = json.loads(dump_json_model(model))
    document["graph"]["baseline"] = damage
    del document["graph"]["hash"]
    with pytest.raises(GraphError) as caught:
        parse_model(json.dumps(document), "model.json")
    assert str(caught.value).startswith("model.json: ")
    assert message in str(caught.value)


def test_a_model_without_a_baseline_says_how_to_accept_it(model):
    rows = model.sample(500, seed=1)
    said = list(gml.check(rows, replace(model, baseline=None)).notes)
    assert said[-1] == (
        "no baseline: fit the model with `accept`, or accept it on its rows with `write_baseline`"
    )
    for report in (
        gml.check(rows, model),
        gml.check(rows, replace(model, baseline=None), baseline=model.baseline),
    ):
        assert not any("no baseline" in note for note in report.notes)
    several = gml.check([rows, rows], replace(model, baseline=None))
    assert [*several.notes] == said[-1:]
    assert not any("no baseline" in note for report in several for note in report.notes)


# --- names of checks that there are not -------------------------------------------------------


def notes_on(names, rows, net, **keywords):
    known = gml.Baseline(frozenset(names))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GmlWarning)
        notes = gml.check(rows, net, baseline=known, **keywords).notes
    return [note for note in notes if "is no check" in note]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("schema:level:smoke", "schema:levels:smoke"),
        ("structure:smoke->brnoc", "structure:smoke->bronc"),
        ("tables:dysp|bronc=maybe,either=no", "tables:dysp|bronc=yes,either=no"),
        ("fit", None),
        ("nonsense", None),
    ],
)
def test_a_mistyped_check_is_noticed(model, name, near):
    rows = model.sample(500, seed=1)
    (note,) = notes_on([name, "fit:likelihood"], rows, model)
    hint = "" if near is None else f"; did you mean {near!r}?"
    assert note == f"the baseline accepts {name!r}, which is no check of the model{hint}"
    with pytest.warns(GmlWarning, match="which is no check of the model"):
        gml.check(rows, model, baseline=gml.Baseline(frozenset([name])))


def test_an_absent_column_excuses_no_mistyped_name():
    names = ["a", "b", "c"]
    graph = gml.Graph.from_edges(names, [("a", "-->", "b"), ("b", "-->", "c")])
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({name: rng.choice(["x", "y"], 300) for name in names})
    net = gml.fit(rows, graph)
    real = ["structure:a->b", "structure:a independent of c|b", "tables:b", "tables:a|"]
    typos = ["schema:range:bad", "structure:a->c", "tables:b|a=z"]
    assert notes_on(real, rows[["b", "c"]], net) == []
    found = notes_on([*real, *typos], rows[["b", "c"]], net)
    assert [note.split("'")[1] for note in found] == typos
    # What is left out cannot be asked, and is still no check if the model has none of the name.
    found = notes_on([*real, *typos], rows, net, families="schema")
    assert [note.split("'")[1] for note in found] == typos


def test_names_of_checks_of_numbers():
    names = ["a", "b"]
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({name: rng.normal(size=300) for name in names})
    net = gml.fit(rows, gml.Graph.from_edges(names, [("a", "-->", "b")]), gaussian=True)
    every = [check.id for check in gml.check(rows, net).checks]
    assert {"tables:b:errors", "schema:drift:a", "schema:numbers:b"} <= set(every)
    assert notes_on(every, rows[["b"]], net) == []
    typos = ["schema:levels:a", "tables:a|", "tables:b:sds"]
    found = notes_on([*every, *typos], rows, net)
    assert [note.split("'")[1] for note in found] == typos


def test_a_check_that_a_run_does_not_ask_is_no_mistake(model):
    rows = model.sample(300, seed=1)
    every = [check.id for check in gml.check(ASIA, model).checks]
    assert notes_on(every, rows, model) == []
    assert notes_on(every, rows, model, families="schema") == []
    assert notes_on(every, rows.select(["smoke", "lung"]), model) == []
    # A row of a table that has no data here.
    assert notes_on(["tables:dysp|bronc=yes,either=yes", "tables:dysp|unseen"], rows, model) == []


# --- what limits the answer -------------------------------------------------------------------


def test_many_unknown_values_are_not_called_few():
    small = fitted(asia(), 12)
    frame = small.sample(400, seed=2).to_frame().astype(str)
    frame.loc[:255, "smoke"] = [f"v{k % 128}" for k in range(256)]
    report = gml.check(frame, small, families="schema")
    (note,) = [note for note in report.notes if note.startswith("smoke: ")]
    assert "too few to be a change" not in note
    assert "; 64% of rows, but new values are to be expected where the model has 12 rows" in note
