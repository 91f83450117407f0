"""Filled tables: nothing but holes changes, and cut columns are filled with numbers."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import gml
from gml.data.number_summary import NumberSummary, NumberValues
from gml.model.interval_numbers import IntervalNumbers


def measured(rows=400, seed=1):
    """Whole numbers and tenths that depend on a code, which is an int."""
    rng = np.random.default_rng(seed)
    code = rng.integers(1, 4, size=rows)
    return pd.DataFrame(
        {
            "code": code,
            "pulse": np.round(50 + 15 * code + rng.normal(0, 8, rows)),
            "ph": np.round(5 + 0.7 * code + rng.normal(0, 0.4, rows), 1),
            "note": np.arange(rows),
        }
    )


GRAPH = gml.Graph.from_edges(
    ["code", "pulse", "ph"], [("code", "-->", "pulse"), ("code", "-->", "ph")]
)


@pytest.fixture(scope="module")
def cut():
    return gml.fit(
        measured(), GRAPH, columns=["code", "pulse", "ph"], cut={"pulse": "quantile:3"}, bins=4
    )


def holes(frame, share=0.3, seed=2):
    gaps = np.random.default_rng(seed).random((len(frame), 2)) < share
    frame = frame.copy()
    frame[["pulse", "ph"]] = frame[["pulse", "ph"]].mask(gaps)
    return frame


def impute(frame, model, **how):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "not in the model, ignored")
        return gml.impute(frame, model, **how)


@pytest.mark.parametrize("how", [{}, {"method": "marginal"}, {"method": "draw"}, {"draws": 2}])
def test_observed_cells_and_dtypes_stay(cut, how):
    frame = holes(measured())
    whole = impute(frame, cut, **how).to_frame(0)
    assert whole.dtypes.equals(frame.dtypes)
    pd.testing.assert_frame_equal(whole.where(frame.notna()), frame)
    assert not whole.isna().to_numpy().any()


@pytest.mark.parametrize("how", [{}, {"method": "draw", "seed": 4}])
def test_cut_columns_are_filled_within_their_intervals(cut, how):
    found = impute(holes(measured()), cut, **how)
    whole, levels = found.to_frame(), found.datasets[0].to_frame()
    for name in ("pulse", "ph"):
        for number, level in zip(whole[name], levels[name], strict=True):
            low, high = map(float, level.strip("[)").split(","))
            assert low <= number < high
    assert (whole["pulse"] == np.round(whole["pulse"])).all()
    assert (whole["ph"] == np.round(whole["ph"], 1)).all()
    filled = found.cells_frame().set_index("column").loc["pulse", "value"]
    assert (filled.nunique() > 3) == ("method" in how)


def test_files_have_the_numbers_that_frames_have(gml, cut, tmp_path):
    frame = holes(measured())
    frame.to_csv(tmp_path / "holes.csv", index=False)
    cut.to_file(tmp_path / "cut.json")
    for how in ([], ["--method", "draw", "--seed", 3]):
        run = gml("impute", tmp_path / "holes.csv", tmp_path / "cut.json", *how)
        assert run.returncode == 0 and b"[" not in run.stdout
        (tmp_path / "full.csv").write_bytes(run.stdout)
        options = {"method": "draw", "seed": 3} if how else {}
        expected = impute(frame, cut, **options).to_frame()
        pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "full.csv"), expected)
    by_path = impute(tmp_path / "holes.csv", cut).to_frame()
    expected = impute(frame, cut).to_frame()
    np.testing.assert_array_equal(by_path["pulse"], expected["pulse"])
    assert by_path["code"].astype(int).tolist() == expected["code"].tolist()


def test_a_column_of_intervals_gets_intervals(cut):
    frame = cut.sample(50, seed=1).to_frame().astype(object)
    frame.loc[::3, "pulse"] = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = gml.impute(frame, cut).to_frame()
    levels = cut.variables[cut.index("pulse")].levels
    assert set(whole["pulse"]) <= set(levels)


def test_intervals_without_numbers_are_warned_of(cut, tmp_path):
    cut.to_file(tmp_path / "cut.xmlbif")
    frame = holes(measured())
    with pytest.warns(gml.GmlWarning, match="filled with intervals among the numbers: 'pulse', 'p"):
        whole = impute(frame, gml.BayesNet.from_file(tmp_path / "cut.xmlbif")).to_frame()
    seen = frame["pulse"].notna()
    assert whole.loc[seen, "pulse"].tolist() == frame.loc[seen, "pulse"].tolist()
    assert whole.loc[~seen, "pulse"].str.startswith("[").all()


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        ([1.0, 2.0, None, 2.0], "float64"),
        ([1, 2, None, 2], "Int64"),
        (["1", "2", None, "2"], "object"),
        (["1", "2", None, "2"], "string"),
        (["1", "2", None, "2"], "category"),
        ([1, 2, None, 2], "category"),
    ],
)
def test_a_level_is_spelled_as_the_column_spells_it(column, dtype):
    frame = pd.DataFrame({"a": ["1", "2", "2", "1"] * 9, "b": ["1", "2", "2", "1"] * 9})
    net = gml.fit(frame, gml.Graph.from_edges(["a", "b"], [("a", "-->", "b")]))
    holes = pd.DataFrame(
        {"a": pd.Series(["1", "2", "2", "2"]), "b": pd.Series(column, dtype=dtype)}
    )
    whole = gml.impute(holes, net).to_frame()
    assert whole["b"].dtype == holes["b"].dtype
    assert whole["b"].tolist() == [column[0], column[1], column[1], column[1]]


def test_names_of_columns_need_not_be_text():
    frame = pd.DataFrame({0: ["x", "y"] * 8, 1: ["u", "v"] * 8})
    net = gml.fit(frame, gml.Graph.from_edges(["0", "1"], [("0", "-->", "1")]))
    whole = gml.impute(pd.DataFrame({0: ["x", "y"], 1: ["u", None]}), net).to_frame()
    assert list(whole) == [0, 1] and whole[1].tolist() == ["u", "v"]


def test_draws_must_be_named(cut):
    found = impute(holes(measured(100)), cut, draws=2)
    with pytest.raises(gml.UsageError, match="`draw` must say which: there are 2 draws, 0 to 1"):
        found.to_frame()
    with pytest.raises(gml.UsageError, match="`draw` must be 0 to 1, not 5"):
        found.cells_frame(5)
    assert "2 draws" in repr(found) and len(repr(found)) < 80
    assert "<table>" in found._repr_html_()


# ---------------------------------------------------------------------- numbers of intervals


def test_shares_are_those_of_the_numbers():
    rng = np.random.default_rng(0)
    values = rng.uniform(1.0, 90.0, 5000)
    kept = NumberValues.of(values).summary()
    cuts = [kept.quantiles[0.25], kept.quantiles[0.75]]
    levels = [f"[-inf,{cuts[0]!r})", f"[{cuts[0]!r},{cuts[1]!r})", f"[{cuts[1]!r},inf)"]
    within = IntervalNumbers(levels, kept)
    for code, (low, high) in enumerate([(0, cuts[0]), (cuts[0], cuts[1]), (cuts[1], np.inf)]):
        own = np.sort(values[(values >= low) & (values < high)])
        shares = np.array([0.0, 0.5, 1 - 1e-12])
        found = within.at(np.full(3, code), shares)
        end = high if np.isfinite(high) else own[-1]
        assert found[0] == own[0] and own[-2] < found[2] <= end
        # They are spread evenly, but for the chance of 1 250 draws: three standard deviations.
        assert abs(np.searchsorted(own, found[1]) / len(own) - 0.5) < 3 * 0.5 / 1250**0.5


def test_whole_numbers_are_drawn_as_often_as_they_occur():
    kept = NumberValues.of(np.repeat(np.arange(1.0, 6.0), 20)).summary()
    within = IntervalNumbers(["[-inf,3)", "[3,inf)"], kept)
    shares = (np.arange(300) + 0.5) / 300
    found, times = np.unique(within.at(np.ones(300, dtype=int), shares), return_counts=True)
    assert found.tolist() == [3, 4, 5] and times.tolist() == [100, 100, 100]


def test_intervals_that_no_number_is_in_have_none():
    kept = NumberSummary(10, 5.0, 9.0, {0.5: 7.0}, None, None)
    within = IntervalNumbers(["[-inf,2)", "[2,6)", "[6,inf)", "NA"], kept)
    found = within.at(np.arange(4), np.full(4, 0.5))
    assert np.isnan(found).tolist() == [True, False, False, True]
    assert found[1] == 5 and found[2] == 7
