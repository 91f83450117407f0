"""What people type first in a Python session works, or says what does."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import traceback

import numpy as np
import pandas as pd
import pytest

import gml
from gml.calls import WrongCall
from gml.errors import GraphError, UnknownParameter, UsageError
from gml.synonyms import ATTRIBUTES_MEANT, NAMES_MEANT, UnknownAttribute
from tests.places import ROOT


@pytest.fixture(scope="module")
def frame():
    """Weather, a garden and who sings, as labels."""
    rng = np.random.default_rng(3)
    rain = rng.random(600) < 0.4
    wet = rain ^ (rng.random(600) < 0.1)
    return pd.DataFrame(
        {
            "rain": np.where(rain, "yes", "no"),
            "wet": np.where(wet, "soaked", "dry"),
            "sings": rng.choice(["bird", "nobody"], 600),
        }
    )


GRAPH = gml.Graph.from_edges(["rain", "wet", "sings"], [("rain", "-->", "wet")])


@pytest.fixture(scope="module")
def net(frame):
    """A model of it."""
    return gml.fit(frame, GRAPH)


@pytest.fixture(scope="module")
def learned(frame):
    """What a learner returns."""
    return gml.hc(frame)


# ------------------------------------------------------------------ names


def test_a_model_has_its_distributions_by_name(net):
    assert net["wet"] is net.cpd("wet")
    assert net["wet"].to_frame()["soaked"].tolist() == net["wet"].table[:, 1].tolist()
    assert "wet" in net and "wett" not in net
    with pytest.raises(GraphError, match="did you mean 'rain'. there are 'rain', 'wet', 'sings'"):
        net["rian"]
    with pytest.raises(GraphError, match="node 1 is not text"):
        net[1]


def test_distributions_show_themselves(net):
    lines = repr(net["wet"]).splitlines()
    assert lines[0] == "CPT('wet' given 'rain': 2 x 2)"
    assert lines[1].split() == ["rain", *net["wet"].variable.levels]
    assert lines[2].split() == ["no", *(f"{p:.6g}" for p in net["wet"].table[0])]
    many = gml.Variable("many", tuple(f"l{k}" for k in range(30)))
    wide = gml.CPT(many, (many,), np.full((30, 30), 1 / 30))
    assert repr(wide).endswith("... 10 more rows") and "…" in repr(wide)
    assert all(len(line) < 120 for line in repr(wide).splitlines())


def test_regressions_show_themselves():
    rng = np.random.default_rng(0)
    dose = rng.normal(size=300)
    kind = rng.choice(["old", "new"], 300)
    rows = pd.DataFrame({"dose": dose, "kind": kind, "gain": 2 - 3 * dose + rng.normal(size=300)})
    graph = gml.Graph.from_edges(
        ["dose", "kind", "gain"], [("dose", "-->", "gain"), ("kind", "-->", "gain")]
    )
    found = gml.fit(rows, graph, numeric=["dose", "gain"])
    lines = repr(found["gain"]).splitlines()
    assert lines[0] == "ConditionalGaussian('gain' given 'dose', 'kind': 2 regressions)"
    assert [line.split(":")[0] for line in lines[1:]] == list(found["kind"].variable.levels)
    slope = abs(found["gain"].regressions[0].coefficients[0])
    assert f" - {slope:.6g} 'dose', sd " in lines[1]
    assert repr(found["dose"]).startswith("LinearGaussian('dose': ")


def test_an_undirected_model_says_what_it_has_instead_of_tables(frame):
    field = gml.mrf(frame)
    with pytest.raises(UsageError, match=r"query\('wet'\) has its distribution"):
        field["wet"]
    with pytest.raises(GraphError, match="did you mean 'wet'"):
        field["wett"]


# ------------------------------------------------------------------ words of other packages


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("read_csv", "use gml.read(path)"),
        ("load", "use gml.read_model(path), gml.read_graph(path), or gml.read(path)"),
        ("save", "use gml.write_model(net, path) or gml.write_graph(graph, path)"),
        ("predict_proba", "gml.query(net, column, batch=data) for all probabilities"),
        ("simulate", "use gml.sample"),
        ("BayesianNetwork", "use gml.fit(data, graph)"),
        ("profil", "did you mean gml.profile?"),
    ],
)
def test_names_of_others(name, hint):
    with pytest.raises(AttributeError) as found:
        getattr(gml, name)
    assert hint in str(found.value) and repr(name) in str(found.value)
    assert isinstance(found.value, gml.GmlError)
    assert not hasattr(gml, name)


def test_what_is_offered_for_names_exists():
    for text in (
        *NAMES_MEANT.values(),
        *(one for m in ATTRIBUTES_MEANT.values() for one in m.values()),
    ):
        for part in text.split("gml.")[1:]:
            word = part.replace("(", " ").replace(".", " ").split()[0]
            assert word in dir(gml), text
    for name in NAMES_MEANT:
        assert name == name.lower() and name not in {known.lower() for known in dir(gml)}


@pytest.mark.parametrize(
    ("of", "name", "hint"),
    [
        ("net", "save", "to_file(path)"),
        ("net", "load", "from_file(path)"),
        ("net", "predict_proba", "gml.query(net, name, batch=data), or predict(data, name)"),
        ("net", "simulate", "sample(n)"),
        ("net", "nodes", "names"),
        ("net", "edges", "graph.edges"),
        ("graph", "nodes", "names"),
        ("graph", "save", "gml.write_graph(graph, path)"),
        ("graph", "cpds", "gml.fit(data, graph).cpds"),
        ("graph", "get_parents", "parents(name)"),
        ("graph", "neighbors", "neighbours(name)"),
        ("learned", "edges", "graph.edges"),
        ("learned", "cpds", "gml.fit(data, result).cpds"),
        ("learned", "predict", "gml.fit(data, result).predict"),
        ("learned", "Save", "gml.write_graph(result, path)"),
        ("data", "head", "to_frame()"),
        ("test", "pvalue", "p_value"),
    ],
)
def test_attributes_of_others(of, name, hint, net, learned, frame):
    found = {"net": net, "graph": GRAPH, "learned": learned, "data": gml.read(frame)}
    found["test"] = gml.indtest(frame, "rain", "wet")
    with pytest.raises(UnknownAttribute) as error:
        getattr(found[of], name)
    assert str(error.value).endswith(f"has no attribute {name!r}; use {hint}")
    assert getattr(found[of], name, None) is None


def test_other_attributes_are_unknown_as_ever(net):
    with pytest.raises(AttributeError, match="^'BayesNet' object has no attribute 'namez'$"):
        net.namez  # noqa: B018
    with pytest.raises(AttributeError):
        net._anything  # noqa: B018
    assert pickle.loads(pickle.dumps(GRAPH)) == GRAPH


@pytest.mark.parametrize(
    ("keyword", "value", "meant"),
    [
        ("blacklist", [("wet", "rain")], "forbid"),
        ("whitelist", [("rain", "wet")], "require"),
        ("max_indegree", 1, "max_parents"),
        ("scoring_method", "bic", "score"),
        ("random_state", 3, "seed"),
        ("n_jobs", 1, "threads"),
    ],
)
def test_keywords_of_others(frame, keyword, value, meant):
    with pytest.raises(UnknownParameter, match=f"^parameter '{keyword}' not found; use `{meant}`$"):
        gml.hc(frame, **{keyword: value})


def test_keywords_are_offered_only_where_there_are_such(frame):
    with pytest.raises(UnknownParameter, match="use `alpha`"):
        gml.pc(frame, significance_level=0.05)
    with pytest.raises(UnknownParameter) as error:
        gml.ges(frame, significance_level=0.05)
    assert "alpha" not in str(error.value)


def test_type_checkers_know_all_names_and_no_others(tmp_path):
    known = sorted({*gml._HOMES, *gml._ALIASES, *gml._PARTS})
    snippet = tmp_path / "snippet.py"
    lines = ["import gml", *(f"gml.{name}" for name in known), "gml.nonsense", "gml.read_csv"]
    lines += ["gml.Graph.from_edges([], []).nodes", "gml.Graph.from_edges([], []).parents('a')"]
    snippet.write_text("\n".join(lines) + "\n")
    cache = tmp_path / "cache"
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(cache), "--follow-imports", "silent", str(snippet)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    wrong = [line.split(" error: ")[1] for line in done.stdout.splitlines() if " error: " in line]
    assert [line.split("  [")[0] for line in wrong] == [
        'Module has no attribute "nonsense"',
        'Module has no attribute "read_csv"',
        '"Graph" has no attribute "nodes"',
    ]


# ------------------------------------------------------------------ arguments


def test_what_is_missing_is_named_with_the_choices(frame, net, tmp_path):
    path = tmp_path / "garden.csv"
    frame.to_csv(path, index=False)
    columns = "there are 'rain', 'wet', 'sings'"
    for call, said in (
        (
            lambda: gml.chowliu(),
            "chowliu needs `data`: a path, a DataFrame, a Dataset or a Counter",
        ),
        (
            lambda: gml.fit_params(frame),
            "fit_params needs `graph`: a graph, a path, or the result of",
        ),
        (lambda: gml.fit(data=frame), "fit_params needs `graph`"),
        (lambda: gml.query(), "query needs `model`"),
        (lambda: gml.sample(net), "sample needs `n`: number of rows"),
        (lambda: net.sample(), "sample needs `n`"),
        (lambda: gml.read(), "read needs `data`: a path"),
        (lambda: gml.write_graph(GRAPH), "write_graph needs `path`"),
        (lambda: gml.average(frame), "average needs `by`: .*there are 'hc', 'ges', 'pc'"),
        (lambda: gml.crf(frame), f"crf needs `target`: the columns y; {columns}"),
        (lambda: gml.crf(path), f"crf needs `target`: the columns y; {columns}"),
        (lambda: gml.imap(gml.read(frame)), f"imap needs `order`: .*; {columns}"),
        (
            lambda: gml.imap(gml.MemoryCounter(gml.read(frame))),
            f"imap needs `order`: .*; {columns}",
        ),
        (lambda: gml.help(), "help needs `topic`: .*; there are 'tests', 'scores'"),
    ):
        with pytest.raises(WrongCall, match=said) as error:
            call()
        assert isinstance(error.value, gml.GmlError) and isinstance(error.value, TypeError)
    with pytest.raises(UsageError, match=f"^name X and Y, or say `all_pairs` .*; {columns}$"):
        gml.indtest(frame)


def test_too_many_arguments(frame):
    with pytest.raises(WrongCall, match="^all but `data` need their names: `test`, `alpha`, "):
        gml.pc(frame, 0.05)
    with pytest.raises(WrongCall, match="^`data` is given twice"):
        gml.ges(frame, data=frame)


def test_the_condition_of_a_test_has_a_place(frame):
    found = gml.indtest(frame, "wet", "sings", ["rain"])
    assert found[0]["given"] == ["rain"]
    assert found.p_value == found[0]["p_value"] == found.to_frame()["p_value"][0]
    assert (found.verdict, found.df) == (found[0]["verdict"], found[0]["df"])
    assert found.p_value == gml.indtest(frame, "wet", "sings", given="rain").p_value
    several = gml.indtest(frame, all_pairs=True)
    with pytest.raises(UsageError, match=r"there are 3 tests.*report\[0\]\['p_value'\].*to_frame"):
        several.p_value  # noqa: B018


def test_results_have_the_names_of_their_reports(frame, net):
    counter = gml.MemoryCounter(gml.read(frame))
    result = gml.TESTS["g"](counter)(0, 1)
    assert result.p_value == pytest.approx(np.exp(result.log_p), rel=1e-12)
    report = gml.check(frame, net)
    shown = report.to_frame()
    for check, p, adjusted in zip(
        report.ranked(), shown["p_value"], shown["p_adjusted"], strict=True
    ):
        assert check.p_value == p or (check.p_value is None and np.isnan(p))
        assert check.p_adjusted == adjusted or (check.p_adjusted is None and np.isnan(adjusted))
    assert shown["p_value"].notna().any()


def test_scores_and_tests_in_any_case(frame):
    assert gml.hc(frame, score="BDeu").graph == gml.hc(frame, score="bdeu").graph
    assert gml.hc(frame, score="AIC").graph.learning["settings"]["score"] == "aic"
    assert gml.hc(frame, score="AIC").graph.learning["options"] == {"score": "aic"}
    assert gml.pc(frame, test="Chi2").graph.learning["options"] == {"test": "chi2"}
    assert list(gml.score(frame, GRAPH, score=["BIC", "K2"])[0].scores) == ["bic", "k2"]
    assert gml.indtest(frame, "rain", "wet", test="G")[0]["test"] == "g"
    with pytest.raises(UsageError, match="score 'BICC' not found; did you mean 'bic'"):
        gml.hc(frame, score="BICC")


# ------------------------------------------------------------------ dictionaries of graphs


def test_graphs_go_by_the_names_of_a_dictionary(frame, learned, tmp_path):
    gml.write_graph(GRAPH, tmp_path / "file.json")
    empty = gml.Graph.from_edges(GRAPH.names, [])
    graphs = {"mine": GRAPH, "none": empty, "learned": learned, "stored": tmp_path / "file.json"}
    found = gml.score(frame, graphs)
    assert {one.graph for one in found} == set(graphs)
    assert found[-1].graph == "none"
    plain = gml.score(frame, list(graphs.values()))
    assert [one.scores for one in found] == [one.scores for one in plain]
    compared = gml.compare(graphs)
    assert [(pair.a, pair.b) for pair in compared] == [("mine", n) for n in list(graphs)[1:]]
    assert list(gml.compare(empty, {"x": GRAPH}).to_frame()["b"]) == ["x"]
    with pytest.raises(UsageError, match="a reference and at least one graph"):
        gml.compare({"mine": GRAPH})
    with pytest.raises(UsageError, match="at least one graph"):
        gml.score(frame, {})


# ------------------------------------------------------------------ tracebacks


def test_errors_end_at_the_line_that_called(frame, net):
    for call in (
        lambda: gml.hc("no such file.csv"),
        lambda: gml.hc(frame, score="nonsense"),
        lambda: gml.fit(frame, "no such graph.json"),
        lambda: gml.hc(frame, blacklist=[]),
        lambda: gml.chowliu(),
        lambda: gml.read(frame, columns=["rains"]),
        lambda: gml.read_model("nothing.bif"),
        lambda: gml.Dataset.from_frame(frame, columns=["rains"]),
        lambda: gml.BayesNet.from_file("nothing.bif"),
        lambda: net.query("rains"),
        lambda: net["rains"],
        lambda: net.save("x"),
        lambda: GRAPH.parents("rains"),
        lambda: GRAPH.adjacent("rain", "rains"),
        lambda: gml.simulate,
        lambda: gml.indtest(frame, all_pairs=True).p_value,
    ):
        with pytest.raises(gml.GmlError) as error:
            call()
        last = traceback.extract_tb(error.value.__traceback__)[-1]
        assert last.filename == __file__ and last.name == "<lambda>"
        shown = "".join(traceback.format_exception(error.value))
        assert "During handling" not in shown and "direct cause" not in shown


def test_whoever_debugs_sees_all_frames(frame, monkeypatch):
    monkeypatch.setenv("GML_DEBUG", "1")
    with pytest.raises(UsageError) as error:
        gml.hc(frame, score="nonsense")
    assert traceback.extract_tb(error.value.__traceback__)[-1].filename.endswith("choosing.py")


def test_bugs_keep_all_frames(frame, monkeypatch):
    monkeypatch.setattr("gml.verbs.hc.hill_climb", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError) as error:
        gml.hc(frame)
    frames = traceback.extract_tb(error.value.__traceback__)
    assert any(one.filename.endswith(os.path.join("verbs", "hc.py")) for one in frames)


def test_the_command_line_shows_all_frames_with_debug(gml_process, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\nx,y\n")
    done = gml_process("hc", tmp_path / "t.csv", "--start", "nothing.json", "--debug")
    assert b"graph_input.py" in done.stderr
