"""How good predictions are, against figures by hand and by brute force."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import gml
from gml.data.resampling import folds
from gml.errors import GmlWarning, UsageError, with_flags
from gml.formats.reports.predictions import summary
from gml.graph.graph import Graph

XY = Graph.from_edges("xy", [("x", "-->", "y")])
CHAIN = Graph.from_edges("xyz", [("x", "-->", "y"), ("y", "-->", "z")])


@pytest.fixture(scope="module")
def net():
    rows = [("a", "0")] * 3 + [("a", "1")] + [("b", "0")] + [("b", "1")] * 4
    return gml.fit(pd.DataFrame(rows, columns=["x", "y"]), XY)


def test_by_hand(net):
    """P(y=0 | a) = 3/4, P(y=0 | b) = 1/5."""
    rows = pd.DataFrame({"x": ["a", "a", "b", "b", "b"], "y": ["0", "1", "1", "1", "0"]})
    found = net.predict(rows, "y").metrics
    assert found.confusion.tolist() == [[1, 1], [1, 2]]
    assert (found.rows, found.accuracy, found.majority) == (5, 3 / 5, 3 / 5)
    p = [3 / 4, 1 / 4, 4 / 5, 4 / 5, 1 / 5]
    assert found.log_loss == pytest.approx(-math.fsum(map(math.log, p)) / 5, rel=1e-14)
    assert found.brier == pytest.approx(sum(2 * (1 - q) ** 2 for q in p) / 5, rel=1e-14)


def test_rows_without_a_truth_or_an_answer_do_not_count(net):
    rows = pd.DataFrame({"x": ["a", "b", "b"], "y": [None, "2", "1"]})
    found = net.predict(rows, "y").metrics
    assert (found.rows, found.accuracy) == (1, 1.0)
    left = found.not_counted
    assert (left.missing, left.unknown, left.impossible) == (1, 1, 0)
    sure = gml.fit(pd.DataFrame({"x": ["a", "b"], "y": ["0", "1"], "z": ["u", "v"]}), CHAIN)
    with pytest.warns(GmlWarning, match="1 row of evidence of probability 0"):
        odd = sure.predict(pd.DataFrame({"x": ["a", "a"], "y": ["0", "1"], "z": ["u", "v"]}), "y")
    assert odd.metrics.not_counted.impossible == 1
    assert odd.metrics.rows == 1


def test_a_level_of_probability_0_makes_the_loss_infinite():
    sure = gml.fit(pd.DataFrame({"x": ["a", "b"], "y": ["0", "1"]}), XY)
    found = sure.predict(pd.DataFrame({"x": ["a"], "y": ["1"]}), "y").metrics
    assert found.log_loss == math.inf
    assert found.brier == 2.0
    wanted = "fitted with --method bayes, or an undirected one with --smoothing, avoids"
    assert wanted in with_flags(summary(found))


def test_without_the_column_there_are_no_figures(net):
    assert net.predict(pd.DataFrame({"x": ["a"]}), "y").metrics is None


def test_the_order_of_rows_changes_no_bit(net):
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"x": rng.choice(["a", "b"], 999), "y": rng.choice(["0", "1"], 999)})
    one = net.predict(rows, "y").metrics
    other = net.predict(rows.sample(frac=1, random_state=2), "y").metrics
    assert one.figures() == other.figures()


def test_a_file_and_a_frame_and_the_command_agree(net, tmp_path):
    rows = pd.DataFrame({"x": ["a", "b", "b", ""], "y": ["0", "1", "", "2"]})
    path = tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    of_file = gml.query(net, predict="y", batch=path).metrics
    of_frame = gml.query(net, predict="y", batch=rows.replace("", None)).metrics
    assert of_file.figures() == of_frame.figures() == net.predict(path, "y").metrics.figures()
    assert of_file.not_counted == of_frame.not_counted


def test_numbers_by_hand():
    rng = np.random.default_rng(0)
    x = rng.normal(size=50)
    frame = pd.DataFrame({"x": x, "y": 2 * x + rng.normal(size=50)})
    net = gml.fit(frame, XY, gaussian=True)
    cpd = net.cpd("y")
    new = pd.DataFrame({"x": [0.0, 1.0, 2.0], "y": [1.0, float("nan"), 3.5]})
    found = net.predict(new, "y").metrics
    errors = [1.0 - cpd.intercept, 3.5 - cpd.intercept - 2 * cpd.coefficients[0]]
    assert found.rows == 2
    assert found.not_counted.missing == 1
    assert found.mean_absolute_error == pytest.approx(np.mean(np.abs(errors)), rel=1e-12)
    assert found.root_mean_squared_error == pytest.approx(np.sqrt(np.mean(np.square(errors))))
    density = [0.5 * (e / cpd.sd) ** 2 + math.log(cpd.sd * math.sqrt(2 * math.pi)) for e in errors]
    assert found.log_loss == pytest.approx(np.mean(density), rel=1e-12)


@pytest.mark.parametrize("graph", ["tan", "naive", "given"])
def test_cross_validation_is_fitting_and_predicting_each_fold(graph):
    data = gml.read("sample_data/asia.csv", columns=["bronc", "dysp", "either", "smoke"])
    naive = [("bronc", "-->", other) for other in data.names if other != "bronc"]
    graphs = {
        "tan": gml.chowliu(data, class_="bronc").graph,
        "naive": Graph.from_edges(data.names, naive),
        "given": Graph.from_edges(
            data.names, [("bronc", "-->", "dysp"), ("either", "-->", "dysp")]
        ),
    }
    (scored,) = gml.score(data, graphs[graph], folds=4, seed=3, predict="bronc")
    right, losses, rows = 0, [], 0
    for train, test in folds(data, 4, seed=3):
        fitted = gml.fit(train, graphs[graph], prior="jeffreys", method="bayes")
        predicted = fitted.predict(test, "bronc")
        truth = test.columns[test.index("bronc")]
        times = np.ones(len(truth)) if test.weights is None else test.weights
        right += times[predicted.table.argmax(axis=1) == truth].sum()
        losses += (-np.log(predicted.table[np.arange(len(truth)), truth]) * times).tolist()
        rows += times.sum()
    assert scored.prediction.accuracy == right / rows
    assert scored.prediction.log_loss == pytest.approx(math.fsum(losses) / rows, rel=1e-12)
    assert scored.prediction.rows == data.n


def test_prediction_ranks_graphs_and_needs_rows_that_were_not_fitted():
    data = gml.read("sample_data/asia.csv", columns=["bronc", "dysp", "either", "smoke"])
    useless = Graph.from_edges(data.names, [("either", "-->", "smoke")])
    naive = Graph.from_edges(data.names, [("bronc", "-->", "dysp")])
    report = gml.score(data, [useless, naive], folds=3, predict="bronc")
    losses = [scored.prediction.log_loss for scored in report]
    assert losses == sorted(losses)
    assert report[0].graph == "graph 2"
    assert report[1].prediction.accuracy == report[1].prediction.majority
    with pytest.raises(UsageError, match="needs `folds` or `holdout`"):
        gml.score(data, naive, predict="bronc")
    with pytest.raises(UsageError, match="did you mean 'bronc'"):
        gml.score(data, naive, folds=3, predict="bronk")


def test_predictions_keep_the_index_of_their_frame(net):
    frame = pd.DataFrame({"x": ["a", "b", "a"], "y": ["0", "1", "1"]}, index=[7, 3, 5])
    joined = frame.join(net.predict(frame, "y").to_frame())
    assert joined["y_predicted"].tolist() == ["0", "1", "0"]
    marginals = gml.query(net, "y", batch=frame[["x"]]).to_frame()
    assert marginals.index.tolist() == [7, 3, 5]


def test_metrics_are_shown_and_are_frames(net):
    found = net.predict(pd.DataFrame({"x": ["a", "b"], "y": ["0", "1"]}), "y").metrics
    assert repr(found).startswith("LevelMetrics('y', 2 rows: accuracy=1, majority=0.5, log_loss=")
    assert found.to_frame().loc["0", "0"] == 1
