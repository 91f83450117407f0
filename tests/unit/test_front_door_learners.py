"""What a learner's command writes, the function of the same name returns, whatever the data are."""

from __future__ import annotations

import inspect
import json
import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gml
from gml.cli.main import run
from gml.errors import CannotAnswer, DataError, GmlWarning, GraphError, UsageError
from tests.places import ROOT
from tests.toy_engine import as_list

ASIA = ROOT / "sample_data" / "asia.csv"
GRAPH = ROOT / "sample_data" / "asia.dot"
SURVEY = ROOT / "sample_data" / "survey_missing.csv"
ORDER = ["smoke", "tub", "lung", "bronc", "either"]


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """Some rows of the chest clinic, which plain Python can count."""
    path = tmp_path_factory.mktemp("few") / "few.csv"
    path.write_text("".join(ASIA.read_text().splitlines(keepends=True)[:301]))
    return path


@pytest.fixture
def written(tmp_path):
    """Run a command in this process; returns the JSON document that it wrote."""

    def command(*args, code=0):
        out = tmp_path / "out.json"
        assert run([*map(str, args), "-o", str(out), "-q"]) == code
        return json.loads(out.read_text())

    return command


def document(result, path):
    """The file of a graph or model."""
    if isinstance(result, gml.BayesNet | gml.MarkovNet | gml.ConditionalField):
        gml.write_model(result, path)
    else:
        gml.write_graph(result.graph, path)
    return json.loads(path.read_text())


def without_files(found):
    """What a file says but for hashes of files, which a DataFrame has not."""
    content = {key: value for key, value in found.items() if key != "graph"}
    graph = {key: value for key, value in found["graph"].items() if key != "hash"}
    graph["learning"] = {key: value for key, value in graph["learning"].items() if key != "data"}
    return {**content, "graph": graph}


def without_options(found):
    """What a file says but for what was asked for, as options of reading need no Dataset."""
    content = without_files(found)
    del content["graph"]["learning"]["options"]
    # An engine without rows keeps nothing of them.
    content["graph"].pop("training", None)
    return content


LEARNERS = {
    "pc": (gml.pc, (), {"alpha": 0.05, "max_cond": 2}, ["--alpha", "0.05", "--max-cond", "2"]),
    "pc-test": (
        gml.pc,
        (),
        {"test": "bayes", "ess": 2.0, "colliders": "majority"},
        ["--test", "bayes", "--ess", "2", "--colliders", "majority"],
    ),
    "ges": (
        gml.ges,
        (),
        {"restarts": 3, "seed": 2, "max_seconds": 600.0},
        ["--restarts", "3", "--seed", "2", "--max-seconds", "600"],
    ),
    "hc": (gml.hc, (), {"tabu": 3, "cpdag": True}, ["--tabu", "3", "--cpdag"]),
    "exact": (gml.exact, (), {"max_parents": 2}, ["--max-parents", "2"]),
    "imap": (gml.imap, (ORDER,), {"max_parents": 2}, ["--order", *[",".join(ORDER)], "--max-parents", "2"]),
    "chowliu": (gml.chowliu, (), {"prune": "bic", "root": "lung"}, ["--prune", "bic", "--root", "lung"]),
    "tan": (gml.chow_liu, (), {"class_": "lung"}, ["--class", "lung"]),
    "average": (
        gml.average,
        ("exact",),
        {"max_parents": 2, "columns": ORDER},
        ["--by", "exact", "--max-parents", "2", "-c", ",".join(ORDER)],
    ),
    "fit-params": (
        gml.fit,
        (GRAPH,),
        {"method": "bayes", "ess": 3.0, "intervals": 0.9},
        ["--method", "bayes", "--ess", "3", "--intervals", "0.9"],
    ),
    "mrf": (
        gml.mrf,
        (),
        {"structure": "tree", "prune": "bic", "smoothing": 2.0, "errors": True},
        ["--structure", "tree", "--prune", "bic", "--smoothing", "2", "--errors"],
    ),
    "crf": (gml.crf, (), {"target": ["lung", "bronc"], "l2": 0.5}, ["--target", "lung,bronc", "--l2", "0.5"]),
    "crf-graph": (
        gml.crf,
        (GRAPH,),
        {"target": ["lung"], "l1": 0.5, "folds": 3},
        ["-t", "lung", "--l1", "0.5", "--folds", "3"],
    ),
    "mrf-graph": (gml.mrf, (GRAPH,), {"factors": "pairs", "l2": 1.5}, ["--factors", "pairs", "--l2", "1.5"]),
}  # fmt: skip
COMMANDS = {"pc-test": "pc", "tan": "chowliu", "mrf-graph": "mrf", "crf-graph": "crf"}


@pytest.fixture(params=LEARNERS)
def learner(request):
    """A verb with its arguments behind the data, keywords, and the command line."""
    verb, args, keywords, flags = LEARNERS[request.param]
    files = [args[0]] if GRAPH in args else []

    def line(data):
        return [COMMANDS.get(request.param, request.param), data, *files, *flags]

    return verb, args, keywords, line


# Sparse tables, and unseen configurations of parents: the same warnings as the command's.
quiet = pytest.mark.filterwarnings("ignore::gml.GmlWarning")
# The sample data make ambiguous colliders, and two replicates an arrow against its majority.
pytestmark = [
    pytest.mark.filterwarnings("ignore:ambiguous:gml.GmlWarning"),
    pytest.mark.filterwarnings("ignore:arrows against:gml.GmlWarning"),
]


# ---------------------------------------------------------------------- the command's results


@quiet
def test_a_path_gives_what_the_command_writes(learner, written, tmp_path):
    verb, args, keywords, line = learner
    expected = without_files(written(*line(ASIA)))
    assert expected["nodes"]
    for path in (ASIA, str(ASIA)):
        found = document(verb(path, *args, **keywords), tmp_path / "python.json")
        assert without_files(found) == expected


@quiet
@pytest.mark.parametrize("form", ["frame", "Dataset", "MemoryCounter", "ListCounter"])
def test_other_data_give_the_same(learner, few, written, tmp_path, form):
    verb, args, keywords, line = learner
    keywords = dict(keywords)
    expected = without_options(written(*line(few)))
    used = keywords.pop("columns", None) if form != "frame" else None
    rows = gml.read(few, columns=used)
    data = {
        "frame": lambda: pd.read_csv(few),
        "Dataset": lambda: rows,
        "MemoryCounter": lambda: gml.MemoryCounter(rows),
        "ListCounter": lambda: as_list(rows),
    }[form]()
    found = document(verb(data, *args, **keywords), tmp_path / "python.json")
    assert without_options(found) == expected


def test_a_dataset_that_was_hashed_says_so(written):
    expected = written("chowliu", ASIA)["graph"]["learning"]["data"]
    assert gml.chowliu(gml.read(ASIA, digest=True)).graph.learning.data == expected
    assert gml.chowliu(ASIA).graph.learning.data is None


@pytest.mark.parametrize("by", ["hc", "ges", "pc"])
def test_averages_over_samples(few, written, tmp_path, by):
    expected = without_options(
        written("average", few, "--by", by, "--bootstrap", "4", "--seed", "1")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GmlWarning)
        for data in (few, pd.read_csv(few), gml.read(few), gml.MemoryCounter(gml.read(few))):
            averaged = gml.average(data, by, bootstrap=4, seed=1)
            assert without_options(document(averaged, tmp_path / "python.json")) == expected
        with pytest.raises(CannotAnswer, match="`by='.*'` needs rows, which this engine does not"):
            gml.average(as_list(gml.read(few)), by, bootstrap=4)
    pairs = averaged.to_frame()
    assert list(pairs) == ["x", "y", "strength", "direction", "undirected"]
    assert len(pairs) == 28
    assert averaged.replicates == 4


def test_pc_over_half_samples(few, written, tmp_path):
    flags = ["--bootstrap", "6", "--seed", "3", "--threshold", "0.4", "--test", "g"]
    expected = written("pc", few, *flags)
    keywords = {"bootstrap": 6, "seed": 3, "threshold": 0.4, "test": "g"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GmlWarning)
        averaged = gml.pc(few, **keywords)
        assert without_files(document(averaged, tmp_path / "python.json")) == without_files(
            expected
        )
        for data in (pd.read_csv(few), gml.read(few), gml.MemoryCounter(gml.read(few))):
            found = document(gml.pc(data, **keywords), tmp_path / "python.json")
            assert without_options(found) == without_options(expected)
        same = gml.average(few, "pc", **keywords)
    assert averaged.graph.learning.command == "pc"
    assert averaged.to_frame().equals(same.to_frame())
    assert (averaged.replicates, averaged.threshold) == (6, 0.4)


def test_the_seed_of_pc_is_that_of_its_test_too(few):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GmlWarning)
        how = {"test": "permutation", "permutations": 200, "columns": ORDER}
        one, other = (gml.pc(few, seed=seed, **how) for seed in (1, 2))
        averaged = gml.pc(few, seed=1, bootstrap=2, **how)
    assert [found.result for found in one.sepsets] != [found.result for found in other.sepsets]
    assert averaged.replicates == 2


def test_scores(few, written, tmp_path):
    tree = tmp_path / "tree.json"
    gml.write_graph(gml.chowliu(few).graph, tree)
    expected = written(
        "score", few, tree, GRAPH, "--score", "bic,k2", "--compare-to", GRAPH, code=1
    )
    rows = gml.read(few)
    for data in (few, str(few), pd.read_csv(few), rows, gml.MemoryCounter(rows), as_list(rows)):
        found = gml.score(data, [tree, GRAPH], score=["bic", "k2"], compare_to=GRAPH)
        assert found.is_worse
        frame = found.to_frame()
        assert list(frame["graph"]) == [row["graph"] for row in expected["graphs"]]
        for name in ("bic", "k2"):
            assert list(frame[name]) == [row["scores"][name] for row in expected["graphs"]]
    objects = gml.score(rows, [gml.read_graph(tree), gml.fit(rows, GRAPH)], score="bic")
    assert [one.graph for one in objects] == ["graph 2", "graph 1"]
    assert objects[0].scores["bic"] == expected["graphs"][0]["scores"]["bic"]


def test_scores_on_other_rows(few, written):
    rest = gml.read(ASIA)
    expected = written("score", few, GRAPH, "--holdout", ASIA)["graphs"][0]["heldout"]
    for other in (ASIA, rest, pd.read_csv(ASIA), gml.MemoryCounter(rest)):
        assert gml.score(few, GRAPH, holdout=other)[0].heldout == expected
    folded = written("score", few, GRAPH, "--folds", "5", "--seed", "3")["graphs"][0]["heldout"]
    assert gml.score(gml.read(few), GRAPH, folds=5, seed=3)[0].heldout == folded


@pytest.mark.parametrize(
    ("keywords", "flags"),
    [
        ({"x": "smoke", "y": "lung", "given": "bronc"}, ["smoke", "lung", "-z", "bronc"]),
        ({"x": "smoke", "y": "lung", "given": ["bronc", "xray"]}, ["smoke", "lung", "-z", "bronc,xray"]),
        ({"all_pairs": True, "adjust": "holm", "test": "chi2"}, ["--all-pairs", "--adjust", "holm", "--test", "chi2"]),
        ({"implied": GRAPH, "alpha": 0.2}, ["--implied", GRAPH, "--alpha", "0.2"]),
    ],
    ids=["pair", "given", "pairs", "implied"],
)  # fmt: skip
def test_independence(few, written, keywords, flags):
    expected = written("indtest", few, *flags)["results"]
    rows = gml.read(few)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GmlWarning)
        for data in (few, pd.read_csv(few), rows, gml.MemoryCounter(rows), as_list(rows)):
            found = gml.indtest(data, **keywords)
            assert [as_written(row) for row in found] == expected
            assert as_written(found[-1]) == expected[-1]
    assert list(found.to_frame()["verdict"]) == [row["verdict"] for row in expected]
    assert len(found) == len(expected)


def as_written(row):
    """A row as JSON holds it."""
    return json.loads(json.dumps(row))


def test_what_a_model_says(tmp_path, written):
    net = gml.fit(ASIA, GRAPH)
    net.to_file(tmp_path / "model.json")
    for source in (net, tmp_path / "model.json", str(tmp_path / "model.json")):
        answer = gml.query(source, ["lung", "bronc"], {"dysp": "yes"}, {"smoke": "no"})
        flags = ["--target", "lung,bronc", "--evidence", "dysp=yes", "--do", "smoke=no"]
        joint = written("query", tmp_path / "model.json", *flags)
        rows = joint["joint"] if "joint" in joint else joint["results"]
        assert answer.to_frame()["probability"].tolist() == [row["probability"] for row in rows]
        assert answer.to_frame()["probability"].sum() == pytest.approx(1)
        drawn = gml.sample(source, 50, evidence={"dysp": "yes"}, seed=4)
        assert run(["sample", str(tmp_path / "model.json"), "-n", "50", "--evidence", "dysp=yes",
                    "--seed", "4", "-o", str(tmp_path / "rows.csv")]) == 0  # fmt: skip
        assert drawn.to_frame().astype(str).equals(pd.read_csv(tmp_path / "rows.csv", dtype=str))
    assert repr(net.query("lung")) == repr(net.query(["lung"]))


def test_predictions(tmp_path):
    net = gml.fit(ASIA, GRAPH)
    net.to_file(tmp_path / "model.json")
    out = tmp_path / "predicted.csv"
    assert run(["query", str(tmp_path / "model.json"), "--predict", "lung", "--batch", str(ASIA),
                "-o", str(out)]) == 0  # fmt: skip
    expected = pd.read_csv(out)
    for data in (ASIA, pd.read_csv(ASIA), gml.read(ASIA)):
        found = net.predict(data, "lung").to_frame()
        assert found["lung_predicted"].tolist() == expected["lung_predicted"].tolist()
        assert found["lung_probability"].tolist() == expected["lung_probability"].tolist()


def test_likelihoods():
    net, rows = gml.fit(ASIA, GRAPH), gml.read(ASIA)
    expected = gml.score(ASIA, GRAPH, score="loglik")[0].scores["loglik"]
    for data in (ASIA, str(ASIA), pd.read_csv(ASIA), rows, gml.MemoryCounter(rows)):
        assert net.log_likelihood(data) == pytest.approx(expected, rel=1e-12)


# ---------------------------------------------------------------------- what decides, as data


def test_a_test_in_place_of_data(tmp_path):
    test = gml.TESTS["auto"](gml.MemoryCounter(gml.read(ASIA)))
    by_data = gml.pc(ASIA, test_log=tmp_path / "data.jsonl")
    by_test = gml.pc(test, test_log=tmp_path / "test.jsonl")
    assert (by_test.graph.marks == by_data.graph.marks).all()
    assert by_test.tests == by_data.tests
    told = [gml.explain(tmp_path / name, "tub", "xray") for name in ("data.jsonl", "test.jsonl")]
    assert told[0].sentences == told[1].sentences
    oracle = gml.OracleTest(gml.read_graph(GRAPH))
    found = gml.pc(oracle, forbid=("tub", "asia"))
    assert found.graph.kind == "pdag"
    assert gml.compare(GRAPH, gml.pc(oracle)).distance == 0
    with pytest.raises(UsageError, match="`df`, `test`: a test that is given has its options"):
        gml.pc(test, df="full", test="g")
    with pytest.raises(UsageError, match="^`test`: a test that is given has its options"):
        gml.pc(test, test="auto")
    with pytest.raises(UsageError, match="test '' not found"):
        gml.pc(ASIA, test="")
    with pytest.raises(UsageError, match="or a test, not a KnownTest"):
        gml.pc(gml.TESTS["g"])


@pytest.mark.parametrize("learn", [gml.ges, gml.hc, gml.exact])
def test_a_score_in_place_of_data(learn):
    score = gml.SCORES["bdeu"](gml.MemoryCounter(gml.read(ASIA)), ess=2.0)
    by_data = learn(ASIA, score="bdeu", ess=2.0)
    by_score = learn(score)
    assert by_score.score == by_data.score
    assert (by_score.graph.marks == by_data.graph.marks).all()
    with pytest.raises(UsageError, match="`ess`, `score`: a score that is given has its options"):
        learn(score, ess=1.0, score="bdeu")
    with pytest.raises(UsageError, match="^`score`: a score that is given has its options"):
        learn(score, score="bic")
    with pytest.raises(UsageError, match="score '' not found"):
        learn(ASIA, score="")
    with pytest.raises(UsageError, match="`edge_penalty`: a score that is given has its options"):
        learn(score, edge_penalty=1.0)
    with pytest.raises(UsageError, match="a Counter or a score, not a list"):
        learn([score])


# ---------------------------------------------------------------------- results go on


@quiet
@pytest.mark.parametrize(
    "learn",
    [
        lambda: gml.hc(ASIA),
        lambda: gml.exact(ASIA),
        lambda: gml.imap(ASIA, pd.read_csv(ASIA, nrows=0).columns),
        lambda: gml.chow_liu(ASIA),
        lambda: gml.fit(ASIA, GRAPH),
    ],
    ids=["hc", "exact", "imap", "chow_liu", "fit"],
)
def test_results_are_graphs_everywhere(learn):
    result = learn()
    net = gml.fit(ASIA, result)
    assert net.graph.n_edges == result.graph.n_edges
    assert gml.score(ASIA, result).graphs == gml.score(ASIA, [result]).graphs
    assert gml.compare(result, net).distance == 0
    pairs = 28 - result.graph.n_edges
    assert len(gml.indtest(ASIA, implied=result)) == pairs
    counts = gml.count(ASIA, graph=result)
    again = gml.fit(gml.CountFileCounter(counts), result)
    assert [cpt.table.tolist() for cpt in again.cpds] == [cpt.table.tolist() for cpt in net.cpds]
    assert gml.hc(ASIA, start=result).score >= gml.score(ASIA, result)[0].scores["bic"]
    assert gml.exact(ASIA, against=[result, net]).to_frame()["gap"].min() == 0


@pytest.mark.parametrize(
    "learn", [lambda: gml.pc(ASIA), lambda: gml.ges(ASIA), lambda: gml.hc(ASIA, cpdag=True)]
)
def test_a_class_is_fitted_by_one_of_its_dags_with_a_warning(learn):
    result = learn()
    for graph in (result, result.graph):
        with pytest.warns(
            GmlWarning, match="a cpdag; the tables are those of one of the DAGs"
        ) as said:
            net = gml.fit(ASIA, graph)
        assert {Path(warning.filename).name for warning in said} == {Path(__file__).name}
        assert net.graph.kind == "dag"
        assert gml.compare(net, result).distance == 0
    assert gml.score(ASIA, result)[0].scores["bic"] == gml.score(ASIA, net)[0].scores["bic"]


def test_the_block_of_the_front_door(tmp_path, monkeypatch):
    """What the project promised, as it was written."""
    rng = np.random.default_rng(1)
    df = gml.fit(ASIA, GRAPH).sample(2000, seed=3).to_frame()
    df["age"] = (30 + 20 * rng.random(2000) + 20 * (df["lung"] == "yes")).round(1)
    df.loc[:3, "smoke"] = None
    asia = tmp_path / "asia.csv"
    df.drop(columns="age").dropna().to_csv(asia, index=False)
    monkeypatch.chdir(tmp_path)

    result = gml.pc("asia.csv", alpha=0.01)
    assert result.graph.kind == "cpdag"
    result = gml.ges(df, score="bdeu", ess=10, restarts=10, bins=4, missing="drop")
    assert result.graph.learning.rows == 1996
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GmlWarning)
        with pytest.raises(DataError, match="missing values: 'smoke' 4"):
            gml.fit(df, result, missing="error")
        net = gml.fit(df, result)
        assert net.learning.missing == gml.fit(df, result, missing="drop").learning.missing
    answer = net.query("lung", {"xray": "yes", "age": 41})
    spelled = next(v for v in net.variables if v.name == "age").levels
    meant = [
        level for level in spelled
        if float(level.strip("[").split(",")[0]) <= 41 < float(level.strip(")").split(",")[1])
    ]  # fmt: skip
    same = net.query("lung", {"xray": "yes", "age": meant[0]})
    assert answer.to_frame().equals(same.to_frame())
    assert len(net.predict(df, "lung")) == 2000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GmlWarning)
        graph, tree = result, gml.chow_liu(df, bins=4, missing="drop")
    scored = gml.score(df, [graph, tree], score="bic", missing="drop")
    assert sorted(one.graph for one in scored) == ["graph 1", "graph 2"]
    new = net.sample(1500, seed=8).to_frame()
    report = gml.check(new, net)
    assert not report.failed
    assert gml.read(df, missing="drop", exclude="age").n == 1996


# ---------------------------------------------------------------------- reading


@quiet
def test_reading_keywords_of_frames(tmp_path):
    frame = pd.read_csv(SURVEY, dtype=str)
    frame["income"] = [k % 97 for k in range(len(frame))]
    path = tmp_path / "survey.csv"
    frame.to_csv(path, index=False)
    for keywords in (
        {"bins": 4, "missing": "drop"},
        {"bins": 3, "missing": "level", "discretize": "width", "exclude": "Travel"},
        {"cut": {"income": [20, 60]}, "missing": "drop", "columns": ["income", "Age", "Sex"]},
        {"cut": {"income": "quantile:3"}, "missing": "drop", "levels": {"Sex": ["M", "F", "X"]}},
        {"missing": "available", "na": ["", "uni"], "exclude": ["income"]},
    ):
        by_path = gml.pc(path, **keywords)
        by_frame = gml.pc(frame, **keywords)
        assert by_frame.graph == by_path.graph
        by_rows = gml.pc(gml.read(frame, **keywords))
        assert (by_rows.graph.marks == by_path.graph.marks).all()
    assert by_path.graph.learning.options["na"] == ["", "uni"]


def test_numbers_beside_labels(tmp_path):
    rng = np.random.default_rng(3)
    x = rng.normal(size=300)
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(size=300), "g": rng.choice(["a", "b"], 300)})
    found = gml.pc(frame, numeric="x", bins=3).graph
    assert [(edge.source, edge.target) for edge in found.edges] == [("x", "y")]
    assert found.learning["settings"]["picked"] == {
        "labels": "auto",
        "two labels given numbers": "dg",
        "a label and a number": "dg",
    }
    with pytest.raises(DataError, match="g is for categorical columns, and column 'x' is numeric"):
        gml.pc(frame, test="g", numeric="x", bins=3)
    assert gml.pc(frame, test="fisher-z", columns=["x", "y"]).graph.n_edges == 1
    assert gml.ges(frame, score="bge", exclude="g").graph.n_edges == 1
    with pytest.raises(DataError, match="data row 1: column 'g': '.' is not a number"):
        gml.pc(frame, test="fisher-z")


def test_gaps_are_an_error_unless_said(few):
    frame = pd.read_csv(few)
    frame.loc[5, "lung"] = np.nan
    for learn in (gml.pc, gml.ges, gml.hc, gml.exact, gml.chowliu):
        with pytest.raises(
            DataError, match="the frame: missing values: 'lung' 1; choose `missing='drop'`"
        ):
            learn(frame)
    with pytest.raises(DataError, match="missing"):
        gml.read(frame)
    assert gml.chowliu(frame, missing="drop").graph.learning.rows == 299
    with pytest.raises(
        UsageError, match="different rows cannot be compared: `missing='available'`"
    ):
        gml.hc(frame, missing="available")


@pytest.mark.parametrize(
    "ask",
    [
        lambda data, **k: gml.pc(data, **k),
        lambda data, **k: gml.ges(data, **k),
        lambda data, **k: gml.hc(data, **k),
        lambda data, **k: gml.exact(data, **k),
        lambda data, **k: gml.imap(data, ORDER, **k),
        lambda data, **k: gml.chowliu(data, **k),
        lambda data, **k: gml.average(data, "hc", **k),
        lambda data, **k: gml.score(data, GRAPH, **k),
        lambda data, **k: gml.indtest(data, all_pairs=True, **k),
        lambda data, **k: gml.fit(data, GRAPH, **k),
    ],
    ids=["pc", "ges", "hc", "exact", "imap", "chowliu", "average", "score", "indtest", "fit"],
)
class TestKeywords:
    def test_reading_is_over_with_a_dataset(self, ask):
        rows = gml.read(ASIA)
        for data, kind in ((rows, "Dataset"), (gml.MemoryCounter(rows), "Counter")):
            with pytest.raises(
                UsageError,
                match=f"`missing`, `bins` are about reading, and the data is a {kind}",
            ):
                ask(data, bins=4, missing="drop")

    def test_a_misspelt_one_has_a_hint(self, ask):
        for wrong, right in (("colums", "columns"), ("threds", "threads"), ("missin", "missing")):
            with pytest.raises(TypeError, match=f"'{wrong}' not found; did you mean '{right}'"):
                ask(ASIA, **{wrong: 1})

    def test_data_are_named_or_given(self, ask, tmp_path):
        for wrong, what in (([1], "a list"), ({"a": [1]}, "a dict"), (None, "None"), (3, "an int")):
            with pytest.raises(
                UsageError, match=f"data must be a path, a DataFrame, .* not {what}"
            ):
                ask(wrong)
        with pytest.raises(UsageError, match="not a numpy ndarray"):
            ask(np.zeros((2, 2)))
        with pytest.raises(DataError, match=r"nowhere\.csv: No such file"):
            ask(tmp_path / "nowhere.csv")

    def test_threads(self, ask):
        with pytest.raises(UsageError, match="`threads` must be at least 1, not 0"):
            ask(ASIA, threads=0)


# ---------------------------------------------------------------------- provenance


@quiet
def test_what_was_asked_for_is_on_record(learner, tmp_path):
    verb, args, keywords, _ = learner
    result = verb(ASIA, *args, **keywords, threads=1)
    learning = result.learning if isinstance(result, gml.BayesNet) else result.graph.learning
    assert learning.options == {
        **(
            {"order": ORDER} if verb is gml.imap else {"by": "exact"} if verb is gml.average else {}
        ),
        **{name.rstrip("_"): value for name, value in keywords.items()},
    }
    assert learning.rows == 5000
    assert learning["version"] == gml.__version__
    path = tmp_path / "file.json"
    document(result, path)
    read = gml.read_model(path) if isinstance(result, gml.BayesNet) else gml.read_graph(path)
    assert read.learning.written() == learning.written()


@quiet
def test_a_check_reads_as_the_model_was_fitted(tmp_path):
    old = tmp_path / "old.csv"
    text = SURVEY.read_text().replace(",F,", ",-,")
    old.write_text(text)
    graph = gml.Graph.from_edges(["Age", "Sex"], [("Age", "-->", "Sex")])
    net = gml.fit(old, graph, na="-", missing="drop", columns=["Age", "Sex"])
    assert net.learning.options == {"columns": ["Age", "Sex"], "missing": "drop", "na": ["-"]}
    assert net.learning.missing.policy == "drop"
    net.to_file(tmp_path / "model.json")
    for model in (net, gml.read_model(tmp_path / "model.json")):
        report = gml.check(old, model)
        assert report.rows == net.learning.rows
        assert not report.failed
    kept = gml.fit(gml.read(SURVEY, missing="available", columns=["Age", "Sex"]), graph)
    assert kept.learning.missing.policy == "available"
    assert gml.check(SURVEY, kept).rows == 1000


# ---------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: gml.pc(ASIA, columns="smok"), "column 'smok' not found; did you mean 'smoke'"),
        (lambda: gml.pc(ASIA, alpha=2), "`alpha` must be above 0 and at most 1, not 2"),
        (lambda: gml.pc(ASIA, test="gg"), "test 'gg' not found; did you mean 'g'"),
        (lambda: gml.pc(ASIA, bootstrap=1), "`bootstrap` must be at least 2, not 1"),
        (lambda: gml.pc(ASIA, bootstrap=2, threshold=2), "`threshold` must be above 0 and at most 1"),
        (lambda: gml.pc(ASIA, threshold=0.5), "`threshold` belongs to `bootstrap`"),
        (lambda: gml.pc(ASIA, bootstrap=2, test_log="a"), "`test_log` is about one run; leave out"),
        (lambda: gml.pc(ASIA, seed=1), "`seed` does not go with `test='auto'`"),
        (lambda: gml.pc(ASIA, bootstrp=2), "'bootstrp' not found; did you mean 'bootstrap'"),
        (lambda: gml.pc(gml.OracleTest(gml.read_graph(GRAPH)), bootstrap=2), "`bootstrap` needs data"),
        (lambda: gml.pc(ASIA, colliders="x"), "`colliders` must be one of max-p, .*, not 'x'"),
        (lambda: gml.pc(ASIA, on_insufficient="x"), "`on_insufficient` must be one of auto, "),
        (lambda: gml.pc(ASIA, max_seconds=-1), "`max_seconds` must be 0 or more, not -1"),
        (lambda: gml.pc(ASIA, bins="4"), "`bins` must be between 2 and 65535, not '4'"),
        (lambda: gml.pc(ASIA, ess=2.0), "`ess` does not go with `test='auto'`"),
        (lambda: gml.ges(ASIA, score="bick"), "score 'bick' not found; did you mean 'bic'"),
        (lambda: gml.ges(ASIA, score="k2"), "score-equivalent"),
        (lambda: gml.ges(ASIA, phases="forwards"), "phase 'forwards' not found; did you mean"),
        (lambda: gml.ges(ASIA, phases=["turning"] * 2), "`phases` lists 'turning' twice"),
        (lambda: gml.ges(ASIA, seed=1), "`seed` is for `restarts`"),
        (lambda: gml.ges(ASIA, require="smoke->lung"), "`require` must be a list, not 'smoke->lung'; for example \\["),
        (lambda: gml.ges(ASIA, forbid=["smoke->lung"]), "`forbid` must be pairs of names"),
        (lambda: gml.ges(ASIA, tiers="smoke"), "`tiers` must be a list, not 'smoke'; for example \\[\\[\"A\", \"B\"\\]"),
        (lambda: gml.ges(ASIA, tiers=["smoke", "lungs"]), "column 'lungs' not found"),
        (lambda: gml.ges(ASIA, knowledge={"require": []}), "`knowledge` must be a Knowledge or a path"),
        (lambda: gml.hc(ASIA, tabu=-1), "`tabu` must be 0 or more, not -1"),
        (lambda: gml.exact(ASIA, cpdag=True, score="k2"), "`cpdag`: k2 tells equivalent DAGs apart"),
        (lambda: gml.imap(ASIA, "smoke,lung"), "`order`: column 'smoke,lung' not found"),
        (lambda: gml.imap(ASIA, ["lung", "lung"]), "`order` lists 'lung' twice"),
        (lambda: gml.imap(ASIA, ORDER, score="k2", alpha=0.1), "`alpha` is about tests, and `score`"),
        (lambda: gml.chowliu(ASIA, prune="x"), "`prune` must be one of none, bic, g, not 'x'"),
        (lambda: gml.chowliu(ASIA, estimator="x"), "`estimator` must be one of ml, miller-madow"),
        (lambda: gml.chowliu(ASIA, class_="lungs"), "column 'lungs' not found"),
        (lambda: gml.chowliu(ASIA, alpha=0.1), "`alpha` belongs to `prune='g'`"),
        (lambda: gml.average(ASIA, "tree"), "`by` must be one of hc, ges, pc, mrf, exact, order-mcmc"),
        (lambda: gml.average(ASIA, "hc", bootstrap=0), "`bootstrap` must be at least 2, not 0"),
        (lambda: gml.average(ASIA, "hc", threshold=2), "`threshold` must be above 0 and at most 1"),
        (lambda: gml.average(ASIA, "pc", tabu=3), r"`tabu` does not go with `by='pc'` \(only with hc\)"),
        (lambda: gml.score(ASIA, GRAPH, folds=1), "`folds` must be at least 2, not 1"),
        (lambda: gml.score(ASIA, GRAPH, score=["bic", "bic"]), "lists 'bic' twice"),
        (lambda: gml.score(ASIA, 3), "a graph must be a Graph, a path, a model or .*, not int"),
        (lambda: gml.indtest(ASIA, "smoke"), "name X and Y, or say `all_pairs` or `implied`"),
        (lambda: gml.indtest(ASIA, "smok", "lung"), "column 'smok' not found; did you mean 'smoke'"),
        (lambda: gml.indtest(ASIA, all_pairs=True, adjust="x"), "`adjust` must be one of none, "),
        (lambda: gml.fit(GRAPH, gml.read(ASIA)), "the data come first, then the graph"),
        (lambda: gml.fit(ASIA, GRAPH, method="x"), "`method` must be one of mle, bayes, not 'x'"),
        (lambda: gml.fit(ASIA, GRAPH, ess=2.0), "`ess` belongs to `method='bayes'`"),
        (lambda: gml.fit(ASIA, GRAPH, intervals=95), "`intervals` must be between 0 and 1, not 95"),
        (lambda: gml.score(ASIA, []), "give at least one graph to score"),
        (lambda: gml.read([1]), "what is read must be a path or a DataFrame, not a list"),
        (lambda: gml.read(gml.read(ASIA)), "must be a path or a DataFrame, not a Dataset"),
        (lambda: gml.read(ASIA, cut="age=4"), "`cut` must be a dictionary by column, not 'age=4'"),
        (lambda: gml.read(ASIA, levels=["a"]), "`levels` must be a schema file or a dictionary"),
        (lambda: gml.Dataset.from_frame("a.csv"), "this is no DataFrame, but a str; see gml.read"),
        (lambda: gml.MemoryCounter(pd.DataFrame()), "a Dataset is needed, .*, not a pandas DataFrame"),
        (lambda: gml.write_graph(gml.hc(ASIA), "a.dot"), "a Graph is needed, not a SearchResult"),
        (lambda: gml.write_graph(gml.hc(ASIA).graph, "a", format="x"), "`format` must be one of dot"),
        (lambda: gml.write_model(gml.read_graph(GRAPH), "a.bif"), "a model is needed, .* a Graph"),
        (lambda: gml.fit(ASIA, GRAPH).query("lungs"), "node 'lungs' not found; did you mean 'lung'"),
        (lambda: gml.fit(ASIA, GRAPH).query("lung", "xray=yes"), "values of nodes must be a dict by node, as in {'A': 'yes'}"),
        (lambda: gml.fit(ASIA, GRAPH).query("lung", {"xray": "ye"}), "'xray' has no level 'ye'; did you mean"),
    ],
)  # fmt: skip
def test_mistakes_name_parameters(ask, said):
    with pytest.raises(UsageError, match=said) as error:
        ask()
    assert "--" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["pc", ASIA, "--ess", "2"], "--ess does not go with --test auto"),
        (["ges", ASIA, "--phases", "turning,turning"], "--phases lists 'turning' twice"),
        (["ges", ASIA, "--seed", "1"], "--seed is for --restarts"),
        (["exact", ASIA, "--cpdag", "--score", "k2"], "--cpdag: k2 tells equivalent DAGs apart"),
        (["chowliu", ASIA, "--alpha", "0.1"], "--alpha belongs to --prune g"),
        (["average", ASIA, "--by", "pc", "--tabu", "3"], "--tabu does not go with --by pc"),
        (["fit-params", ASIA, GRAPH, "--ess", "2"], "--ess belongs to --method bayes"),
    ],
)
def test_the_same_mistakes_name_flags_on_the_command_line(capfd, args, said):
    assert run(list(map(str, args))) == 2
    told = capfd.readouterr().err
    assert said in told
    assert "`" not in told


def test_frames_as_people_have_them():
    rows = pd.read_csv(ASIA)
    with pytest.raises(DataError, match="like an identifier, in column 'index'; leave it out"):
        gml.pc(rows.reset_index())
    with pytest.raises(CannotAnswer, match="the frame: has no rows"):
        gml.pc(rows[:0])
    with pytest.raises(UsageError, match="no columns are left"):
        gml.pc(pd.DataFrame())
    numbered = rows.set_axis(range(8), axis="columns")
    assert gml.chowliu(numbered).graph.names == tuple("01234567")
    assert gml.chowliu(numbered, columns=[0, 1]).graph.names == ("0", "1")
    assert (
        gml.indtest(numbered, 0, 1, given=[2])[0] == gml.indtest(numbered, "0", "1", given="2")[0]
    )
    with pytest.raises(UsageError, match="`columns` must be a name or a list of names, not"):
        gml.chowliu(numbered, columns=[0.5])
    shuffled = rows.sample(frac=1, random_state=1)[rows.columns[::-1]]
    by_name = [{frozenset((e.source, e.target)) for e in g.edges}
               for g in (gml.pc(rows).graph, gml.pc(shuffled).graph)]  # fmt: skip
    assert by_name[0] == by_name[1]
    flags = pd.DataFrame({"a": [True, False] * 50, "b": [1, 0] * 50})
    assert gml.pc(flags).graph.levels == {"a": ("False", "True"), "b": ("0", "1")}


def test_a_string_is_one_name():
    assert gml.pc(ASIA, columns="smoke").graph.names == ("smoke",)
    assert gml.imap(ASIA, "smoke").graph.names == ("smoke",)
    assert gml.ges(ASIA, phases="forward").graph.n_edges == 7
    assert gml.score(ASIA, GRAPH, score="bic")[0].scores.keys() == {"bic"}
    assert gml.exact(ASIA, against=GRAPH).gaps[1].graph == str(GRAPH)
    assert gml.exact(ASIA, against=str(GRAPH)).gaps[1].graph == str(GRAPH)
    arcs = gml.ges(ASIA, require=("smoke", "lung")), gml.ges(ASIA, require=[("smoke", "lung")])
    assert (arcs[0].graph.marks == arcs[1].graph.marks).all()
    tiers = gml.ges(ASIA, tiers=["smoke", "lung"]), gml.ges(ASIA, tiers=[["smoke"], ["lung"]])
    assert (tiers[0].graph.marks == tiers[1].graph.marks).all()


def test_files_of_steps_and_tests(tmp_path):
    steps = []
    result = gml.ges(ASIA, trace=steps.append)
    gml.ges(ASIA, trace=tmp_path / "steps.csv")
    frame = pd.read_csv(tmp_path / "steps.csv")
    assert len(frame) == len(steps) == result.steps
    out = tmp_path / "command.csv"
    assert run(["ges", str(ASIA), "--trace", str(out), "-o", str(tmp_path / "graph.dot")]) == 0
    assert out.read_bytes() == (tmp_path / "steps.csv").read_bytes()
    gml.hc(ASIA, trace=str(tmp_path / "climb.csv"))
    assert (tmp_path / "climb.csv").exists()
    gml.pc(ASIA, test_log=str(tmp_path / "log.jsonl"))
    log = tmp_path / "command.jsonl"
    assert run(["pc", str(ASIA), "--test-log", str(log), "-o", str(tmp_path / "graph.dot")]) == 0
    assert log.read_bytes() == (tmp_path / "log.jsonl").read_bytes()
    assert "smoke" in gml.explain(tmp_path / "log.jsonl", "smoke", "lung").sentences[0]


def test_knowledge_as_a_file(tmp_path):
    path = tmp_path / "known.json"
    path.write_text(json.dumps({"require": [["smoke", "lung"]], "forbid": [], "tiers": []}))
    known = gml.read_knowledge(path)
    graphs = [gml.hc(ASIA, knowledge=k).graph for k in (path, str(path), known)]
    assert graphs[0] == graphs[1] == graphs[2]
    assert graphs[0].learning["knowledge"]["require"] == [["smoke", "lung"]]


# ---------------------------------------------------------------------- in a notebook


def test_what_is_shown_fits_a_screen():
    rows = gml.read(ASIA)
    net = gml.fit(rows, GRAPH)
    wide = gml.read(pd.DataFrame({f"a_rather_long_name_{k}": ["x", "y"] * 20 for k in range(120)}))
    many = gml.Knowledge(forbid=tuple((f"n{k}", f"m{k}") for k in range(500)))
    for shown in (
        gml.pc(rows),
        gml.ges(rows),
        gml.exact(rows, against=[GRAPH] * 30),
        gml.imap(rows, ORDER),
        gml.chow_liu(wide),
        gml.average(rows, "hc", bootstrap=3),
        gml.score(rows, [GRAPH] * 30),
        gml.indtest(rows, all_pairs=True),
        rows,
        wide,
        gml.MemoryCounter(wide),
        as_list(rows),
        net,
        net.cpt("dysp"),
        net.query(),
        net.predict(rows, "lung"),
        net.factors[0],
        gml.Inference(net),
        gml.check(rows, net),
        gml.check(rows, net).accepted(),
        gml.profile(wide),
        gml.count(wide, pairs=True),
        gml.compare(*[GRAPH] * 40),
        gml.read_graph(GRAPH),
        many,
    ):
        lines = [
            part for line in repr(shown).splitlines() for part in range(0, len(line) or 1, 100)
        ]
        assert len(lines) <= 25, type(shown)
        assert " object at 0x" not in repr(shown)


def test_tables_become_frames():
    rows = gml.read(ASIA)
    net = gml.fit(rows, GRAPH)
    for found, n_rows in (
        (gml.score(rows, [GRAPH, gml.chow_liu(rows)]), 2),
        (gml.indtest(rows, all_pairs=True), 28),
        (gml.exact(rows, against=GRAPH), 2),
        (gml.average(rows, "hc", bootstrap=2), 28),
        (net.query("lung"), 2),
        (net.predict(rows, "lung"), 5000),
        (gml.sample(net, 7), 7),
        (gml.compare(GRAPH, net), 1),
        (rows, 5000),
    ):
        assert len(found.to_frame()) == n_rows


def test_names_and_help():
    assert set(dir(gml)) >= set(gml.__all__)
    for name in (
        "pc",
        "ges",
        "hc",
        "exact",
        "imap",
        "chowliu",
        "average",
        "score",
        "indtest",
        "fit",
    ):
        signature = inspect.signature(getattr(gml, name))
        assert "data" in signature.parameters
        assert "Parameters\n----------" in inspect.getdoc(getattr(gml, name))
    assert gml.fit is gml.fit_params
    assert gml.hill_climb is gml.hc
    assert gml.chow_liu is gml.chowliu


def test_warnings_name_the_line_of_the_caller():
    constant = pd.read_csv(ASIA).assign(one="1")
    with pytest.warns(GmlWarning, match="only one value, so independent") as said:
        gml.pc(constant)
    assert said[0].filename == __file__
    with pytest.warns(GmlWarning, match="not in the graph, ignored: 'one'") as said:
        gml.fit(constant, GRAPH)
    assert said[0].filename == __file__


def test_numbers_are_levels_first():
    frame = pd.DataFrame({"n": ["1", "2", "3"] * 40, "age": list(range(20, 80)) * 2})
    graph = gml.Graph.from_edges(["n", "age"], [("n", "-->", "age")])
    net = gml.fit(frame, graph, cut={"age": [40, 60]})
    assert net.query("age", {"n": 2}).to_frame().equals(net.query("age", {"n": "2"}).to_frame())
    by_interval = net.query("n", {"age": "[40,60)"}).to_frame()
    for age in (41, 41.5, "41", np.int64(41)):
        assert net.query("n", {"age": age}).to_frame().equals(by_interval)
    with pytest.raises(UsageError, match="'n' has no level '4'"):
        net.query("age", {"n": 4})
    joint = net.query(["n", "age"]).to_frame()
    assert list(joint)[:2] == ["n", "age"]
    assert math.isclose(joint["probability"].sum(), 1)


def test_graphs_that_do_not_fit(tmp_path):
    other = gml.Graph.from_edges(["smoke", "cough"], [("smoke", "-->", "cough")])
    with pytest.raises(GraphError, match="the graph: column 'cough' not found"):
        gml.fit(ASIA, other)
    with pytest.raises(GraphError, match="no node for the columns"):
        gml.hc(ASIA, start=gml.Graph.from_edges(["smoke"], []))
    with pytest.raises(GraphError, match=r"nowhere\.dot: No such file"):
        gml.fit(ASIA, tmp_path / "nowhere.dot")


@pytest.mark.parametrize(
    "ask",
    [
        lambda data, **weights: gml.indtest(data, "smoke", "lung", **weights),
        lambda data, **weights: gml.pc(data, **weights),
        lambda data, **weights: gml.imap(data, ["smoke", "lung", "bronc"], **weights),
        lambda data, **weights: gml.chowliu(data, **weights),
        lambda data, **weights: gml.average(data, "hc", bootstrap=3, **weights),
        lambda data, **weights: gml.check(data, gml.fit(ASIA, GRAPH), **weights),
    ],
    ids=["indtest", "pc", "imap", "chowliu", "average", "check"],
)
def test_rows_that_count_in_part_are_for_scores_and_fitting(ask):
    frame = pd.read_csv(ASIA).assign(w=0.5)
    rows = gml.read(frame, weights_fractional="w")
    for data, weights in (
        (frame, {"weights_fractional": "w"}),
        (rows, {}),
        (gml.MemoryCounter(rows), {}),
    ):
        with pytest.raises(UsageError, match="`weights_fractional` is for scores and for fitting"):
            ask(data, **weights)
    assert gml.fit(rows, GRAPH).learning.rows == 2500
    assert gml.hc(rows).complete


def test_a_given_score_says_whether_it_is_equivalent():
    counter = gml.MemoryCounter(gml.read(ASIA))
    with pytest.raises(UsageError, match="ges is over equivalence classes, .* equivalent = True"):
        gml.ges(gml.SCORES["k2"](counter))
    assert gml.ges(gml.SCORES["bic"](counter)).graph.kind == "cpdag"
