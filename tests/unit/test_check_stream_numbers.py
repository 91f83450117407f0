"""Checks of models with numbers on rows that are read in passes: the same bytes as in memory."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import gml
from gml.counts.chunked_rows import RowsInPasses
from gml.errors import CannotAnswer
from gml.resources import limited_to
from tests.stream_checks import both_checks, in_passes

pytestmark = pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")


def table(n, seed, *, gaps=0.0, slope=0.7, shift=0.0, sd=1.0, levels=("u", "v", "w")):
    """a → x, a → y, x → y → z: a is a label, x, y and z numbers, c a label by itself."""
    rng = np.random.default_rng(seed)
    a = rng.choice(levels, n)
    x = rng.normal(size=n) + (a == "u")
    y = slope * x + (a == "v") + shift + sd * rng.laplace(size=n)
    z = y - 0.3 * x + rng.normal(size=n)
    frame = pd.DataFrame({"a": a, "x": x, "y": y, "z": z, "c": rng.choice(["p", "q"], n)})
    frame["w"] = rng.integers(0, 4, n)
    frame = frame.astype(object)
    for name in "axyz":
        frame.loc[rng.random(n) < gaps, name] = ""
    return frame


MIXED = [("a", "-->", "x"), ("a", "-->", "y"), ("x", "-->", "y"), ("y", "-->", "z")]
NUMBERS = [("x", "-->", "y"), ("y", "-->", "z")]


def model_of(tmp_path, kind, **reading):
    names = list("axyzc") if kind == "mixed" else list("xyz")
    path = tmp_path / f"old_{kind}.csv"
    table(1500, 1, gaps=0.05 if "missing" in reading else 0.0).to_csv(path, index=False)
    edges = MIXED if kind == "mixed" else NUMBERS
    graph = gml.Graph.from_edges(names, edges, kind="dag", numeric=list("xyz"))
    return gml.fit(path, graph, columns=names, **reading)


@pytest.mark.parametrize("kind", ["mixed", "numbers"])
@pytest.mark.parametrize("policy", ["drop", "available"])
@pytest.mark.parametrize("weights", [None, "w"])
@pytest.mark.parametrize("asked", [None, "drop", "available", "error"])
def test_missing_values(tmp_path, kind, policy, weights, asked):
    model = model_of(tmp_path, kind, missing=policy)
    new = table(900, 2, gaps=0.1, slope=0.5)
    new.loc[700:, "a"] = new.loc[700:, "a"].replace("w", "new")
    new.loc[600:640, "x"] = 99.5
    new.to_csv(tmp_path / "new.csv", index=False)
    keywords = {} if asked is None else {"missing": asked}
    if weights is not None:
        keywords["weights"] = weights
    memory, stream = both_checks(tmp_path / "new.csv", model, **keywords)
    assert memory == stream
    assert isinstance(memory, tuple) == (asked == "error")


CHANGES = {
    "nothing": {},
    "slope": {"slope": 0.2},
    "sd": {"sd": 1.5},
    "shift": {"shift": 0.8},
    "levels": {"levels": ("u", "v", "w", "new")},
}


@pytest.mark.parametrize("kind", ["mixed", "numbers"])
@pytest.mark.parametrize("change", CHANGES)
def test_changes(tmp_path, kind, change):
    model = model_of(tmp_path, kind)
    table(900, 3, **CHANGES[change]).to_csv(tmp_path / "new.csv", index=False)
    memory, stream = both_checks(tmp_path / "new.csv", model)
    assert memory == stream and "'fit:likelihood'" in memory


@pytest.mark.parametrize("kind", ["mixed", "numbers"])
@pytest.mark.parametrize("families", ["schema", "tables", "structure", "fit"])
def test_families_by_name(tmp_path, kind, families):
    model = model_of(tmp_path, kind)
    table(900, 3, slope=0.5).to_csv(tmp_path / "new.csv", index=False)
    memory, stream = both_checks(tmp_path / "new.csv", model, families=families)
    assert memory == stream and f"'family': '{families}'" in memory


@pytest.mark.parametrize("kind", ["mixed", "numbers"])
def test_rows_far_away_and_cells_that_are_no_numbers(tmp_path, kind):
    model = model_of(tmp_path, kind)
    new = table(900, 5)
    new.loc[[70, 300, 301, 500], "y"] = [9e4, -7e5, 1e6, 9e4]
    new.loc[[12, 640], "z"] = ["unknown", "?!"]
    new.to_csv(tmp_path / "new.csv", index=False)
    memory, stream = both_checks(tmp_path / "new.csv", model)
    assert memory == stream
    assert "without 4 rows" in memory and "y=90000 in row 71" in memory and "unknown" in memory


@pytest.mark.parametrize("times", [2, 5])
def test_far_rows_that_were_delivered_several_times_are_named_once(tmp_path, times):
    model = model_of(tmp_path, "numbers")
    new = table(300, 6)
    new.loc[[7, 70], "y"] = [9e4, -7e5]
    pd.concat([new] * times).to_csv(tmp_path / "new.csv", index=False)
    memory, stream = both_checks(tmp_path / "new.csv", model)
    assert memory == stream
    assert "without 2 rows" in memory and "y=90000 in row 8, y=-700000 in row 71'" in memory


@pytest.mark.parametrize("stuck", [0.5, 1 / 3, 7.0])
def test_a_column_that_is_stuck_fails(tmp_path, stuck):
    model = model_of(tmp_path, "mixed")
    new = table(600, 11)
    new["x"] = stuck
    new.to_csv(tmp_path / "new.csv", index=False)
    report = gml.check(tmp_path / "new.csv", model)
    failed = {check.id for check in report.ranked("fail")}
    assert {"tables:x:sd", *(f"tables:x|a={a}:sd" for a in "uvw")} <= failed


def test_zeros_of_either_sign_are_one(tmp_path):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(np.round(rng.normal(size=(900, 3)), 1), columns=list("xyz"))
    assert np.signbit(frame["x"][frame["x"] == 0]).any()
    frame.to_csv(tmp_path / "new.csv", index=False)
    memory, stream = both_checks(tmp_path / "new.csv", model_of(tmp_path, "numbers"))
    assert memory == stream and not re.search(r"-0\.0?\b(?!\.|\d)", memory)


@pytest.mark.parametrize("kind", ["mixed", "numbers"])
@pytest.mark.parametrize("times", [2, 3])
def test_rows_that_were_delivered_several_times(tmp_path, kind, times):
    model = model_of(tmp_path, kind)
    whole = pd.concat([table(400, 6, slope=0.3)] * times)
    whole.sample(frac=1, random_state=1).to_csv(tmp_path / "new.csv", index=False)
    memory, stream = both_checks(tmp_path / "new.csv", model)
    assert memory == stream and f"delivered {times} times" in memory


def test_a_baseline_and_several_deliveries(tmp_path):
    model = model_of(tmp_path, "mixed")
    for k in (1, 2):
        table(600, 6 + k, slope=0.6).to_csv(tmp_path / f"{k}.csv", index=False)
    memory, stream = both_checks([tmp_path / "1.csv", tmp_path / "2.csv"], model)
    assert memory == stream and memory.count("'fit:likelihood'") == 2


def test_the_order_of_rows_does_not_show(tmp_path):
    model = model_of(tmp_path, "mixed")
    new = table(900, 8, slope=0.5)
    found = []
    for seed in (None, 1):
        rows = new if seed is None else new.sample(frac=1, random_state=seed)
        rows.to_csv(tmp_path / "new.csv", index=False)
        for answer in both_checks(tmp_path / "new.csv", model):
            (report,) = eval(answer)
            del report["unlikely"]
            found.append(str(report))
    assert len(set(found)) == 1


def test_exchanges_beyond_memory_are_refused(tmp_path):
    model = model_of(tmp_path, "numbers")
    new = table(900, 9)
    # What the graph has no edge for, strongly enough to be settled.
    new["z"] = new["z"].astype(float) + 0.2 * new["x"].astype(float)
    new.to_csv(tmp_path / "new.csv", index=False)
    memory = gml.check(tmp_path / "new.csv", model)
    assert any("permutation" in (check.test or "") for check in memory.checks)
    with in_passes() as patched:
        patched.setattr(RowsInPasses, "budget", 1000)
        with pytest.raises(CannotAnswer, match="exchanging rows, which takes about .*max_memory"):
            gml.check(tmp_path / "new.csv", model, engine="stream")


def test_exchanges_of_heavy_rows_are_refused_in_memory(tmp_path):
    model = model_of(tmp_path, "numbers")
    new = table(900, 9)
    new["z"] = new["z"].astype(float) + 0.2 * new["x"].astype(float)
    new["w"] = np.random.default_rng(1).integers(1 << 20, 1 << 21, 900)
    new.to_csv(tmp_path / "new.csv", index=False)
    with limited_to(1 << 28), pytest.raises(CannotAnswer, match="settled by exchanging rows"):
        gml.check(tmp_path / "new.csv", model, weights="w")
