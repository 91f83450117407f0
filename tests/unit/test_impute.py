"""Imputation: holes are filled with what the model says of their rows, and nothing else changes."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest

import gml
from gml.errors import CannotAnswer
from gml.model.em.parameter_draws import parameter_draws
from gml.model.imputation import Imputer


@pytest.fixture(scope="module")
def flats():
    graph = gml.Graph.from_edges(
        ["district", "condition", "size", "rent"],
        [
            ("district", "-->", "size"),
            ("district", "-->", "rent"),
            ("condition", "-->", "rent"),
            ("size", "-->", "rent"),
        ],
    )
    return gml.fit(
        "sample_data/flats.csv", graph, numeric=["size", "rent"], columns=list(graph.names)
    )


def holes_in(frame, share, seed):
    rng = np.random.default_rng(seed)
    return frame.astype(object).mask(rng.random(frame.shape) < share)


def given(row):
    return {name: value for name, value in row.items() if not pd.isna(value)}


def rows_of(net, n, seed, share=0.4):
    frame = net.sample(n, seed=seed).to_frame()
    return holes_in(frame, share, seed)


@pytest.mark.parametrize("model", ["asia", "flats"])
def test_marginal_fills_each_cell_by_its_posterior(model, request):
    net = request.getfixturevalue(model)
    frame = rows_of(net, 25, 1)
    found = gml.impute(frame, net, method="marginal")
    cells = {(cell.row, cell.column): cell for cell in found.cells[0]}
    assert len(cells) == int(frame.isna().to_numpy().sum())
    for number, (_, row) in enumerate(frame.iterrows(), start=1):
        for name in frame.columns[row.isna()]:
            cell, answer = cells[number, name], gml.query(net, name, given(row))[name]
            if cell.sd is None:
                best = max(answer.values())
                assert answer[cell.value] == best == pytest.approx(cell.probability, rel=1e-9)
            else:
                assert float(cell.value) == pytest.approx(answer.mean, rel=1e-9)
                assert cell.sd == pytest.approx(answer.sd, rel=1e-9)


@pytest.mark.parametrize("model", ["asia", "flats"])
def test_mpe_fills_rows_as_queries_do(model, request):
    net = request.getfixturevalue(model)
    frame = rows_of(net, 25, 2)
    filled = gml.impute(frame, net).to_frame()
    for (_, row), (_, whole) in zip(frame.iterrows(), filled.iterrows(), strict=True):
        best = net.mpe(given(row)) if row.isna().any() else {}
        for name in frame.columns:
            expected = row[name] if not pd.isna(row[name]) else best[name]
            same = whole[name] == expected
            assert same or whole[name] == pytest.approx(float(expected), rel=1e-9)


def test_numbers_alone_have_their_conditional_means():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    frame = pd.DataFrame({"x": x, "y": 2 * x + rng.normal(size=200)})
    graph = gml.Graph.from_edges(["x", "y"], [("x", "-->", "y")])
    net = gml.fit(frame, graph, gaussian=True)
    gap = pd.DataFrame({"x": [1.0, np.nan, np.nan], "y": [np.nan, 3.0, np.nan]})
    for method in ("mpe", "marginal"):
        whole = gml.impute(gap, net, method=method).to_frame()
        assert whole["y"][0] == pytest.approx(net.query("y", {"x": 1.0})["y"][0])
        assert whole["x"][1] == pytest.approx(net.query("x", {"y": 3.0})["x"][0])
        assert whole["x"][2] == pytest.approx(net.query("x")["x"][0])


def test_draws_have_the_joint_posterior(asia):
    n = 4000
    frame = pd.DataFrame({"xray": ["yes"] * n, "lung": [None] * n, "bronc": [None] * n})
    drawn = gml.impute(frame, asia, method="draw", seed=3).to_frame()
    joint = asia.query(["lung", "bronc"], {"xray": "yes"}).to_frame()
    for row in joint.to_dict("records"):
        same = (drawn["lung"] == row["lung"]) & (drawn["bronc"] == row["bronc"])
        p = row["probability"]
        assert abs(same.mean() - p) < 4 * (p * (1 - p) / n) ** 0.5
    again = gml.impute(frame, asia, method="draw", seed=3).to_frame()
    other = gml.impute(frame, asia, method="draw", seed=4).to_frame()
    assert drawn.equals(again) and not drawn.equals(other)


def test_what_a_row_gets_does_not_depend_on_others(asia):
    evidence = np.array([[1, np.nan, np.nan], [0, np.nan, 1], [1, np.nan, np.nan]])
    for method in ("mpe", "marginal", "draw"):
        fill = Imputer(asia, ["xray", "lung", "bronc"], method=method, seed=5)
        whole = fill.fill(evidence).values
        for row in range(3):
            assert (
                fill.fill(evidence[[row]], first_row=row).values[0].tolist() == whole[row].tolist()
            )


def test_rows_that_cannot_be_are_left_as_they_are(asia):
    frame = pd.DataFrame({"tub": ["yes", "no"], "either": ["no", "no"], "xray": [None, None]})
    with pytest.warns(gml.GmlWarning, match="1 row with missing values has probability 0"):
        found = gml.impute(frame, asia)
    assert found.to_frame()["xray"].isna().tolist() == [True, False]
    assert [cell.row for cell in found.cells[0]] == [2]


def test_multiple_imputations_have_parameters_of_their_own(asia):
    frame = rows_of(asia, 300, 7, share=0.2)
    found = gml.impute(frame, asia, draws=3, seed=1)
    assert len(found.datasets) == 3
    tables = [found.to_frame(k) for k in range(3)]
    assert not tables[0].equals(tables[1])
    assert all(not table.isna().to_numpy().any() for table in tables)
    seen = frame.notna()
    assert all((table[seen] == frame[seen]).where(seen, True).to_numpy().all() for table in tables)
    rows = gml.read(frame, missing="available", levels=None)
    turned = gml.read(frame.sample(frac=1, random_state=0), missing="available")
    for one, other in zip(
        parameter_draws(asia, rows, 2, seed=1),
        parameter_draws(asia, turned, 2, seed=1),
        strict=True,
    ):
        assert one.cpt("lung").table.tolist() == other.cpt("lung").table.tolist()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"method": "mean"}, "must be one of mpe, marginal, draw"),
        ({"method": "mpe", "draws": 2}, "contradicts"),
        ({"draws": 0}, "at least 1"),
    ],
)
def test_odd_requests_are_refused(asia, how, message):
    with pytest.raises(gml.UsageError, match=message):
        gml.impute(pd.DataFrame({"xray": ["yes", None]}), asia, **how)


def test_draws_need_every_number_of_the_model(flats):
    without = gml.read(
        "sample_data/flats.csv", columns=["district", "condition", "size"], numeric=["size"]
    )
    with pytest.raises(CannotAnswer, match="no column 'rent'"):
        next(parameter_draws(flats, without, 1))


def test_a_table_without_nodes_is_refused(asia):
    with pytest.raises(gml.DataError, match="no column that is a node"):
        gml.impute(pd.DataFrame({"x": ["yes"]}), asia)


# ---------------------------------------------------------------------- the command

TABLE = 'id,smoke,note,lung\n1,yes,"a, b",\n2,,x,yes\n3,no,,no\n'


def test_files_keep_every_other_cell(gml, asia, tmp_path):
    asia.to_file(tmp_path / "asia.json")
    (tmp_path / "holes.csv").write_text(TABLE)
    run = gml(
        *("impute", tmp_path / "holes.csv", tmp_path / "asia.json"),
        *("--cells", tmp_path / "cells.csv", "-o", tmp_path / "full.csv"),
    )
    assert run.returncode == 0 and b"2 cells filled in 2 of 3 rows" in run.stderr
    assert b"1 missing cell remains, in a column that is not in the model: 'note'" in run.stderr
    text = (tmp_path / "full.csv").read_text()
    assert text == 'id,smoke,note,lung\n1,yes,"a, b",no\n2,yes,x,yes\n3,no,,no\n'
    cells = list(csv.DictReader(io.StringIO((tmp_path / "cells.csv").read_text())))
    assert [(c["row"], c["column"], c["value"]) for c in cells] == [
        ("1", "lung", "no"),
        ("2", "smoke", "yes"),
    ]
    piped = gml("impute", tmp_path / "holes.csv", tmp_path / "asia.json", "-q")
    assert piped.stdout.decode() == text and piped.stderr == b""


def test_draws_go_to_numbered_files(gml, asia, tmp_path):
    asia.to_file(tmp_path / "asia.json")
    (tmp_path / "holes.csv").write_text(TABLE * 1)
    args = ("impute", tmp_path / "holes.csv", tmp_path / "asia.json", "--draws", 2)
    run = gml(*args, "-o", tmp_path / "d.csv", "--cells", tmp_path / "c.csv")
    assert run.returncode == 0
    names = sorted(path.name for path in tmp_path.glob("[cd].*"))
    assert names == ["c.1.csv", "c.2.csv", "d.1.csv", "d.2.csv"]
    refused = gml(*args)
    assert refused.returncode == 2 and b"needs -o FILE" in refused.stderr
    clash = gml(*args, "-o", tmp_path / "d.csv", "--method", "mpe")
    assert clash.returncode == 2 and b"--method mpe contradicts" in clash.stderr


def test_samples_that_cannot_be_fitted_are_drawn_again():
    """Three values of z among 30 rows: one sample of ten or so has a single one of them."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(["x", "y"], 30), "z": rng.normal(size=30)})
    frame.loc[3:, "z"] = np.nan
    graph = gml.Graph.from_edges(["a", "z"], [("a", "-->", "z")])
    how = {"numeric": ["z"], "missing": "em", "method": "bayes", "em_restarts": 1}
    net = gml.fit(frame, graph, **how)
    with pytest.warns(gml.GmlWarning, match=r"could not be fitted, and w\w+ drawn again"):
        found = gml.impute(frame, net, draws=20)
    drawn = np.array([found.to_frame(k)["z"] for k in range(20)])
    assert np.isfinite(drawn).all() and (drawn[:, 3:].std(axis=0) > 0).all()


def test_too_few_samples_that_can_be_fitted_are_an_error(monkeypatch):
    monkeypatch.setattr("gml.model.em.parameter_draws._SAMPLES_PER_DRAW", 1)
    frame = pd.DataFrame({"a": ["x", "y"] * 50, "z": [1.0, 2.0] + [np.nan] * 98})
    graph = gml.Graph.from_edges(["a", "z"], [])
    net = gml.fit(frame, graph, numeric=["z"], missing="em", em_restarts=1)
    with pytest.raises(CannotAnswer, match=r"too many for `draws`.*`method='draw'` draws cells"):
        gml.impute(frame, net, draws=50)
