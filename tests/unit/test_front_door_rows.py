"""What `gml query --batch` writes for each row, `gml.query(..., batch=rows)` returns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import gml
from gml.cli.main import run
from gml.errors import DataError, GmlWarning, UnknownParameter, UsageError
from tests.places import ROOT

ASIA = ROOT / "sample_data" / "asia.csv"
GRAPH = ROOT / "sample_data" / "asia.dot"


@pytest.fixture(scope="module")
def net():
    """The chest clinic."""
    return gml.fit(ASIA, GRAPH)


@pytest.fixture
def written(tmp_path):
    """Run a query for the rows of a file; returns its answers as pandas reads them."""

    def command(model, rows, *flags):
        model.to_file(tmp_path / "model.json")
        out = tmp_path / "answers.csv"
        line = ["query", tmp_path / "model.json", "--batch", rows, *flags, "-o", out, "-q"]
        assert run(list(map(str, line))) == 0
        return pd.read_csv(out, keep_default_na=False, na_values=[""])

    return command


@pytest.fixture
def gaps(tmp_path):
    """Rows of which some cells are missing, one is impossible, and a column is no node."""
    rows = pd.read_csv(ASIA, nrows=400).drop(columns=["lung", "dysp", "bronc"])
    rows.loc[::7, "smoke"] = np.nan
    rows.loc[::5, "xray"] = np.nan
    rows.loc[3, ["tub", "either"]] = "yes", "no"
    rows["ward"] = [f"w{k}" for k in range(400)]
    rows.to_csv(tmp_path / "gaps.csv", index=False)
    return tmp_path / "gaps.csv", rows


def forms(path, frame):
    """Rows in each way that they can be given."""
    return path, str(path), frame, gml.read(frame.drop(columns="ward"), missing="available")


quiet = pytest.mark.filterwarnings("ignore::gml.GmlWarning")


@quiet
def test_targets(net, gaps, written):
    expected = written(net, gaps[0], "-t", "lung,dysp", "--do", "bronc=no").iloc[:, 6:]
    assert list(expected) == ["lung=no", "lung=yes", "dysp=no", "dysp=yes", "p_evidence"]
    assert np.flatnonzero(expected["p_evidence"].isna()).tolist() == [3]
    expected.loc[3, "p_evidence"] = 0.0
    for batch in forms(*gaps):
        found = gml.query(net, ["lung", "dysp"], do={"bronc": "no"}, batch=batch)
        assert found.to_frame().equals(expected)
        assert np.flatnonzero(~found.possible).tolist() == [3]
    assert found.levels == {"lung": ("no", "yes"), "dysp": ("no", "yes")}
    seen = {name: value for name, value in gaps[1].iloc[1].items() if name != "ward"}
    one = net.query("lung", seen, do={"bronc": "no"})
    assert found["lung"][1].tolist() == pytest.approx(one.table.tolist())
    with pytest.raises(KeyError, match="did you mean 'lung'"):
        found["lungs"]


@quiet
def test_a_prediction(net, gaps, written):
    expected = written(net, gaps[0], "--predict", "lung", "--evidence", "dysp=yes").iloc[:, 6:]
    assert list(expected) == ["lung_predicted", "lung_probability"]
    for batch in forms(*gaps):
        found = gml.query(net, evidence={"dysp": "yes"}, batch=batch, predict="lung")
        frame = found.to_frame()
        assert frame["lung_probability"].equals(expected["lung_probability"])
        assert found.predicted[3] is None
        assert frame["lung_predicted"].dropna().equals(expected["lung_predicted"].dropna())
        by_net = net.predict(batch, "lung", evidence={"dysp": "yes"})
        assert by_net.to_frame().equals(frame)


@quiet
def test_numbers(tmp_path, written):
    rng = np.random.default_rng(1)
    x = rng.normal(size=200)
    rows = pd.DataFrame({"x": x, "y": x + rng.normal(size=200), "z": rng.normal(size=200) - x})
    graph = gml.Graph.from_edges(["x", "y", "z"], [("x", "-->", "y"), ("x", "-->", "z")])
    net = gml.fit(rows, graph, gaussian=True)
    seen = rows[["y"]].assign(ward="w")
    seen.loc[::3, "y"] = np.nan
    seen.to_csv(tmp_path / "seen.csv", index=False)
    targets = written(net, tmp_path / "seen.csv", "-t", "x,z").iloc[:, 2:]
    predicted = written(net, tmp_path / "seen.csv", "--predict", "x").iloc[:, 2:]
    rows = gml.read(seen[["y"]], numeric="y", missing="available")
    for batch in (tmp_path / "seen.csv", seen, rows):
        found = gml.query(net, ["x", "z"], batch=batch)
        assert found.to_frame().equals(targets)
        assert found.possible.all()
        assert gml.query(net, batch=batch, predict="x").to_frame().equals(predicted)
    mean, sd = found["z"]
    assert (mean[1], sd[1]) == pytest.approx(net.query("z", {"y": seen["y"][1]})["z"])


def test_how_rows_are_read(net, tmp_path, written):
    path = tmp_path / "rows.csv"
    path.write_text("smoke;xray;tub\nyes;-;maybe\nno;yes;no\n")
    flags = ["-d", ";", "--na", "-", "--ignore-unknown", "-t", "lung"]
    expected = written(net, path, *flags).iloc[:, 3:]
    with pytest.warns(GmlWarning, match="treated as missing: 'tub' 1"):
        found = gml.query(net, "lung", batch=path, delimiter=";", na="-", ignore_unknown=True)
    assert found.to_frame().equals(expected)
    with pytest.raises(DataError, match="line 2: column 'tub' has no .*`ignore_unknown` treats it"):
        gml.query(net, "lung", batch=path, delimiter=";", na="-")
    path.write_text("smoke,xray\n")
    assert list(gml.query(net, "lung", batch=path).to_frame()) == list(expected)
    for none in (path, pd.read_csv(path), pd.DataFrame()):
        assert len(gml.query(net, "lung", batch=none)) == 0
        assert len(gml.query(net, batch=none, predict="lung")) == 0
        assert repr(gml.query(net, batch=none, predict="lung")) == "no results"


def test_missing_cells_as_a_level():
    rows = pd.DataFrame({"a": ["x", None, "y", None] * 20, "b": ["0", "1", "0", "1"] * 20})
    graph = gml.Graph.from_edges(["a", "b"], [("a", "-->", "b")])
    net = gml.fit(rows, graph, missing="level")
    found = gml.query(net, "b", batch=rows[["a"]], missing="level")
    assert found["b"][1].tolist() == net.query("b", {"a": "NA"}).table.tolist()
    with pytest.warns(GmlWarning, match="`missing='level'` observes that"):
        gml.query(net, "b", batch=rows[["a"]])


def test_answers_fit_a_screen(net):
    shown = repr(gml.query(net, ["lung", "tub"], batch=pd.read_csv(ASIA)[["smoke"]])).splitlines()
    assert shown[0].split() == ["lung=no", "lung=yes", "tub=no", "tub=yes", "p_evidence"]
    assert shown[-1] == "... 4980 more rows"
    assert len(shown) == 22


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"batch": ASIA}, "`batch` needs either `target` or `predict`"),
        ({"batch": ASIA, "target": "lung", "predict": "tub"}, "`batch` needs either `target` or"),
        ({"batch": ASIA, "predict": ["lung"]}, "`predict` must be the name of a node, not"),
        ({"batch": ASIA, "predict": "lungs"}, "node 'lungs' not found; did you mean 'lung'"),
        ({"batch": ASIA, "mpe": True}, "`batch` answers with probabilities of each `target`, or"),
        ({"batch": ASIA, "target": ["lung", "tub"], "each": True}, "leave out `each`"),
        ({"batch": ASIA, "target": "lung", "missing": "drop"}, "`missing` must be 'unobserved' or"),
        ({"batch": [1], "target": "lung"}, "`batch` must be a path, a Dataset or a DataFrame, not a"),
        ({"batch": pd.DataFrame(), "target": "lung", "na": "-"}, "`batch` is a pandas DataFrame; "),
        ({"predict": "lung"}, "`predict` needs `batch`"),
        ({"missing": "level"}, "`missing` needs `batch`"),
        ({"ignore_unknown": True}, "`ignore_unknown` needs `batch`"),
        ({"na": "-"}, "`na` needs `batch`"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(net, keywords, said):
    with pytest.raises(UsageError, match=said) as error:
        gml.query(net, **keywords)
    assert "--" not in str(error.value)


@pytest.mark.parametrize(
    ("ask", "hint"),
    [
        (lambda net: gml.query(net, "lung", evidnce={}), "'evidnce' not found; did you mean 'evid"),
        (lambda net: gml.query(net, "lung", bins=3), "parameter 'bins' not found; there are"),
        (lambda net: gml.sample(net, 5, sede=1), "'sede' not found; did you mean 'seed'"),
        (lambda net: gml.compare(GRAPH, net, as_a="dag"), "'as_a' not found; did you mean 'as_'"),
    ],
)
def test_misspelt_keywords(net, ask, hint):
    with pytest.raises(UnknownParameter, match=hint):
        ask(net)


def test_whole_numbers_that_pandas_made_floats():
    """A column of integers with a gap is one of floats, and still has the levels of the model."""
    whole = pd.DataFrame({"a": [0, 1] * 40, "b": [1, 2, 2, 1] * 20})
    gap = whole.astype({"a": float})
    gap.loc[0, "a"] = np.nan
    graph = gml.Graph.from_edges(["a", "b"], [("a", "-->", "b")])
    net = gml.fit(whole, graph)
    report = gml.check(gap, net, missing="drop")
    assert not [check for check in report.checks if "does not know" in check.message]
    predicted = net.predict(whole, "b").to_frame()
    assert net.predict(gap, "b").to_frame()[1:].equals(predicted[1:])
    # The other way round, and in files, where 1 and 1.0 are different levels.
    floats = gml.fit(gap, graph, missing="drop")
    assert floats.variables[0].levels == ("0.0", "1.0")
    assert (
        floats.predict(whole, "b")
        .to_frame()
        .equals(floats.predict(whole.astype(float), "b").to_frame())
    )


@pytest.mark.parametrize("source", ["dataset", "counts", "schema"])
def test_missing_tokens_are_kept_in_models(tmp_path, source):
    path = tmp_path / "d.csv"
    path.write_text("a,b\n" + "x,u\ny,v\nx,u\ny,u\n" * 20 + "-9,u\n")
    graph = gml.Graph.from_edges(["a", "b"], [("a", "-->", "b")])
    if source == "dataset":
        net = gml.fit(gml.read(path, na=["-9"], missing="available"), graph)
    elif source == "counts":
        counts = gml.count(path, sets=[("a", "b")], na=["-9"], missing="available")
        net = gml.fit(gml.CountFileCounter(counts), graph)
    else:
        (tmp_path / "s.json").write_text('{"schema": "gml/1", "na": ["-9"]}')
        net = gml.fit(path, graph, levels=tmp_path / "s.json", missing="available")
    assert net.learning.na == ("-9",)
    report = gml.check(path, net)
    assert not [check for check in report.checks if "does not know" in check.message]
