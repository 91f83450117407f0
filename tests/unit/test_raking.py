"""Raking: weights against plain sweeps and the definition, what cannot be met, and every input."""

from __future__ import annotations

import math
import re
import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import gml
from gml.errors import CannotAnswer, DataError, UsageError
from gml.model.entropy.constraints import Margin
from gml.model.raking import cells, projection, solve
from gml.model.raking import feasible as programmes
from gml.model.raking.cells import table_cells
from gml.model.raking.feasible import Target, clash, contradiction
from gml.model.raking.solve import rake_cells


def swept(frame, targets, base=None, sweeps=20_000):
    """Weights by the sweeps of Deming and Stephan, row by row, until they do not change."""
    w = np.full(len(frame), 1.0) if base is None else base * len(frame) / base.sum()
    for _ in range(sweeps):
        before = w.copy()
        for names, values in targets.items():
            columns = [names] if isinstance(names, str) else list(names)
            keys = list(zip(*(frame[name] for name in columns), strict=True))
            total = sum(values.values())
            for cell, value in values.items():
                mine = np.array(
                    [key == ((cell,) if isinstance(cell, str) else cell) for key in keys]
                )
                if mine.any():
                    w[mine] *= value / total * len(frame) / w[mine].sum() if value else 0
        if np.abs(w - before).max() <= 1e-15:
            break
    return w


def random_table(rng, n_rows, sizes):
    return pd.DataFrame(
        {name: rng.choice(list("abcdef"[:size]), n_rows) for name, size in sizes.items()}
    )


def random_margin(rng, frame, names):
    """A margin that weights of these rows have, so that it can be met with others like it."""
    rows = frame.assign(w=rng.gamma(2.0, size=len(frame)))
    columns = [names] if isinstance(names, str) else list(names)
    sums = rows.groupby(columns if len(columns) > 1 else columns[0])["w"].sum()
    return (sums / sums.sum()).to_dict()


@pytest.mark.parametrize("seed", range(20))
def test_the_weights_are_those_of_sweeps(seed):
    rng = np.random.default_rng(seed)
    frame = random_table(rng, 60, {"x": 2, "y": 3, "z": 4})
    w = rng.gamma(3.0, size=60)
    targets = {}
    for names in (("x",), ("y", "z"), ("z",)):
        sums = frame.assign(w=w).groupby(list(names) if len(names) > 1 else names[0])["w"].sum()
        targets[names if len(names) > 1 else names[0]] = (sums / sums.sum()).to_dict()
    base = rng.gamma(2.0, size=60) if seed % 2 else None
    given = frame if base is None else frame.assign(base=base)
    reading = {} if base is None else {"weights_fractional": "base"}
    found = gml.rake(given, targets, **reading)
    np.testing.assert_allclose(found.weights, swept(frame, targets, base), rtol=1e-9)
    assert found.largest_residual <= 1e-12
    assert found.weights.sum() == pytest.approx(60, rel=1e-13)
    assert found.iterations < 20


@pytest.mark.parametrize("bounds", [(0.2, 4.0), (0.0, 3.0), (0.5, 10.0)])
def test_weights_within_bounds_are_those_of_the_logit_distance(bounds):
    """The distance is smallest where its derivative is a sum of one multiplier per target."""
    rng = np.random.default_rng(7)
    frame = random_table(rng, 200, {"x": 3, "y": 4})
    targets = {"x": {"a": 0.25, "b": 0.35, "c": 0.4}, "y": {"a": 0.2, "b": 0.2, "c": 0.3, "d": 0.3}}
    found = gml.rake(frame, targets, bounds=bounds)
    low, high = bounds
    assert low < found.smallest <= found.largest < high
    assert found.largest_residual <= 1e-12
    w = found.weights
    derivative = np.log((w - low) / (1 - low)) - np.log((high - w) / (high - 1))
    design = pd.get_dummies(frame).to_numpy(dtype=float)
    explained = design @ np.linalg.lstsq(design, derivative, rcond=None)[0]
    np.testing.assert_allclose(explained, derivative, atol=1e-9)


def test_wide_bounds_change_nothing():
    frame = random_table(np.random.default_rng(3), 100, {"x": 3, "y": 2})
    targets = {"x": {"a": 1, "b": 2, "c": 3}, "y": {"a": 2, "b": 4}}
    free = gml.rake(frame, targets).weights
    wide = gml.rake(frame, targets, bounds=(0, 1e7)).weights
    np.testing.assert_allclose(wide, free, rtol=1e-5)


def test_no_order_shows():
    """Rows, columns, margins and levels in any order: the same weights to the last bit."""
    rng = np.random.default_rng(5)
    frame = random_table(rng, 300, {"x": 3, "y": 4, "z": 2})
    frame["base"] = rng.gamma(1.0, size=300)
    targets = {
        "x": {"a": 0.3, "b": 0.3, "c": 0.4},
        ("z", "y"): random_margin(rng, frame, ("z", "y")),
    }
    first = gml.rake(frame, targets, weights_fractional="base")
    order = rng.permutation(300)
    other = frame.iloc[order][["z", "base", "x", "y"]].reset_index(drop=True)
    turned = {(name, label): value for (label, name), value in targets["z", "y"].items()}
    backwards = {("y", "z"): dict(reversed(turned.items())), "x": targets["x"]}
    second = gml.rake(other, backwards, weights_fractional="base")
    assert (second.weights == first.weights[order]).all()
    assert second.design_effect == first.design_effect


def test_groups_of_very_many_combinations_are_the_same(monkeypatch):
    frame = random_table(np.random.default_rng(6), 50, {"x": 3, "y": 4})
    targets = {"x": {"a": 1, "b": 2, "c": 3}, "y": {"a": 1, "b": 1, "c": 2, "d": 2}}
    few = gml.rake(frame, targets)
    monkeypatch.setattr(cells, "_MOST_COMBINATIONS", 1)
    many = gml.rake(frame, targets)
    assert (many.weights == few.weights).all()
    with pytest.raises(DataError, match="data row 4: column 'x': 'd' has no target"):
        gml.rake(pd.DataFrame({"x": list("abcda")}), {"x": {"a": 1, "b": 2, "c": 3}})


def test_many_targets_are_met_by_conjugate_gradients(monkeypatch):
    rng = np.random.default_rng(11)
    frame = pd.DataFrame({"x": rng.integers(0, 40, 2000), "y": rng.integers(0, 30, 2000)})
    targets = {
        "x": {str(k): 1 + k % 3 for k in range(40)},
        "y": {str(k): 76 / 30 * (1 + k % 2 * 0.5) / 1.25 for k in range(30)},
    }
    targets = {
        name: {k: v / sum(own.values()) for k, v in own.items()} for name, own in targets.items()
    }
    dense = gml.rake(frame, targets)
    monkeypatch.setattr(projection, "_MOST_DENSE", 10)
    iterative = gml.rake(frame, targets)
    np.testing.assert_allclose(iterative.weights, dense.weights, rtol=1e-11)
    assert iterative.largest_residual <= 1e-12


def test_whole_weights_are_repeated_rows():
    rows = pd.DataFrame({"x": list("aabb"), "y": list("cdcd"), "n": [3, 1, 2, 4]})
    targets = {"x": {"a": 0.5, "b": 0.5}, "y": {"c": 0.3, "d": 0.7}}
    weighted = gml.rake(rows, targets, weights="n")
    repeated = gml.rake(rows.loc[rows.index.repeat(rows["n"])], targets)
    np.testing.assert_allclose(
        weighted.weights * 10 / 4,
        [repeated.weights[[0, 3, 4, 6][k]] * rows["n"][k] for k in range(4)],
    )
    assert weighted.weights.sum() == pytest.approx(4)


def test_rows_that_count_nothing_weigh_nothing_and_need_no_target():
    rows = pd.DataFrame({"x": list("abc"), "n": [1, 1, 0]})
    assert gml.rake(rows, {"x": {"a": 1, "b": 3}}, weights="n").weights.tolist() == [0.75, 2.25, 0]
    with pytest.raises(
        CannotAnswer, match="no rows are left to count: there are none, or all weigh 0"
    ):
        gml.rake(rows.assign(n=0), {"x": {"a": 1, "b": 3}}, weights="n")


def test_the_design_effect_and_the_shares_are_what_they_say():
    rows = pd.DataFrame({"x": list("aaab")})
    found = gml.rake(rows, {"x": {"a": 1, "b": 1}})
    assert found.weights.tolist() == pytest.approx([2 / 3] * 3 + [2.0])
    assert found.design_effect == pytest.approx(4 * (3 * 4 / 9 + 4) / 16)
    assert found.effective_rows == pytest.approx(3)
    assert found.smallest == pytest.approx(2 / 3)
    assert found.largest == pytest.approx(2)
    assert found.without_weight == found.left_out == 0
    frame = found.to_frame()
    assert frame.to_dict("list") == {
        "margin": ["x", "x"],
        "level": ["a", "b"],
        "rows": [3, 1],
        "before": [0.75, 0.25],
        "target": [0.5, 0.5],
        "after": pytest.approx([0.5, 0.5]),
    }
    assert np.abs(found.residuals).max() <= 1e-15
    assert "design effect 1.333" in found._repr_html_()
    assert repr(found).startswith(
        "Raking(4 rows, design effect 1.33333, weights from 0.666667 to 2"
    )


# ---------------------------------------------------------------------- zeros and contradictions


def test_a_target_of_0_gives_its_rows_none():
    rows = pd.DataFrame({"x": list("aab"), "y": list("cdc")})
    found = gml.rake(rows, {"x": {"a": 1, "b": 0}, "y": {"c": 0.5, "d": 0.5}})
    assert found.weights.tolist() == [pytest.approx(1.5), pytest.approx(1.5), 0]
    assert found.without_weight == 1
    with pytest.raises(
        CannotAnswer, match="x='b' has the target 0, and rows that may not weigh less"
    ):
        gml.rake(rows, {"x": {"a": 1, "b": 0}}, bounds=(0.1, 2))
    assert gml.rake(rows, {"x": {"a": 1, "b": 0}}, bounds=(0, 2)).weights.tolist() == [1.5, 1.5, 0]
    with pytest.raises(CannotAnswer, match="y='d' is 0.5, but each row that has it is in a cell"):
        gml.rake(
            pd.DataFrame({"x": list("ab"), "y": list("cd")}),
            {"x": {"a": 1, "b": 0}, "y": {"c": 0.5, "d": 0.5}},
        )


def test_a_combination_that_is_not_listed_weighs_nothing_and_that_is_said():
    rows = pd.DataFrame({"x": list("aab"), "y": list("cdc")})
    targets = {("x", "y"): {("a", "c"): 1, ("b", "c"): 2, ("b", "d"): 0}, "y": {"c": 3, "d": 0}}
    with pytest.warns(gml.GmlWarning, match="have the weight 0: x='a', y='d'"):
        found = gml.rake(rows, targets)
    assert found.weights.tolist() == pytest.approx([1, 0, 2])
    listed = [("a", "c"), ("b", "c"), ("b", "d"), ("a", "d"), ("c",), ("d",)]
    assert [cell.levels for cell in found.cells] == listed


def test_cells_that_the_targets_leave_no_weight_have_exactly_none():
    """No row is both f and n, so these take up all weight, and m with s gets nothing."""
    rows = pd.DataFrame({"sex": list("mmff"), "reg": list("nsss"), "age": list("yoyo")})
    targets = {"sex": {"m": 0.5, "f": 0.5}, "reg": {"n": 0.5, "s": 0.5}}
    with pytest.warns(gml.GmlWarning, match="leave no weight for rows with reg='s', sex='m'"):
        found = gml.rake(rows, targets)
    assert found.weights.tolist() == pytest.approx([2, 0, 1, 1])
    assert found.weights[1] == 0
    assert found.largest_residual <= 1e-12


def test_a_level_that_no_row_has():
    rows = pd.DataFrame({"x": list("ab")})
    with pytest.raises(CannotAnswer, match="no row has x='c', whose target is 0.2"):
        gml.rake(rows, {"x": {"a": 0.4, "b": 0.4, "c": 0.2}})
    assert gml.rake(rows, {"x": {"a": 0.4, "b": 0.6, "c": 0}}).weights.tolist() == [0.8, 1.2]


@pytest.mark.parametrize(
    ("rows", "targets", "told"),
    [
        (
            "mn ms fs",
            {"x": {"m": 0.3, "f": 0.7}, "y": {"n": 0.5, "s": 0.5}},
            "targets x='f' (0.7); y='n' (0.5) together: they need rows with x='f' and y='n', and "
            "there are none",
        ),
        (
            "000 011 101 110",
            {"x": {"0": 0.1, "1": 0.9}, "y": {"0": 0.1, "1": 0.9}, "z": {"0": 0.1, "1": 0.9}},
            "they need rows with x='1' and y='1' and z='1', and there are none",
        ),
        (
            "ac ad bc",
            {"x": {"a": 0.3, "b": 0.7}, "y": {"c": 0.6, "d": 0.4}},
            "targets x='b' (0.7); y='d' (0.4) together: they need rows with x='b' and y='d', and",
        ),
        (
            "acx ady bcy bdx",
            {"x": {"a": 1, "b": 0}, "y": {"c": 0.5, "d": 0.5}, "z": {"x": 0.4, "y": 0.6}},
            "and there are none without a target of 0",
        ),
    ],
)
def test_targets_that_rows_cannot_meet_together(rows, targets, told):
    frame = pd.DataFrame(
        [list(row) for row in rows.split()], columns=list("xyz")[: len(rows.split()[0])]
    )
    with pytest.raises(CannotAnswer) as raised:
        gml.rake(frame, targets)
    assert told in str(raised.value)


def feasible(table):
    """Whether weights that are not negative have the margins, by one plain programme."""
    from scipy.optimize import linprog

    n = len(table.base)
    rows = [margin.of_cell == k for margin in table.margins for k in range(len(margin.labels))]
    right = np.concatenate([margin.targets for margin in table.margins])
    return linprog(np.zeros(n), A_eq=np.array(rows, float), b_eq=right, method="highs").status == 0


def test_what_is_refused_is_impossible_and_the_rest_is_met():
    """Sparse random tables: about half cannot be met; what contradicts cannot be made smaller."""
    rng = np.random.default_rng(2)
    impossible = 0
    for _ in range(40):
        frame = random_table(rng, 12, {"x": 3, "y": 3, "z": 2})
        data = gml.Dataset.from_frame(frame)
        margins = []
        for variable in data.variables:
            share = rng.dirichlet(np.ones(len(variable.levels)))
            shares = {(level,): float(p) for level, p in zip(variable.levels, share, strict=True)}
            margins.append(Margin((variable.name,), shares))
        table = table_cells(data.variables, data.columns, margins)
        if feasible(table):
            assert contradiction(table.margins) is None
            assert rake_cells(table).gap <= 1e-12
            continue
        impossible += 1
        with pytest.raises(
            CannotAnswer, match="no weights meet the targets .* and there are none$"
        ):
            rake_cells(table)
        found = contradiction(table.margins).targets
        assert clash(found) is not None
        assert all(
            clash([t for t in found if t is not one]) is None for one in found if len(found) > 1
        )
    assert 10 < impossible < 30


def test_bounds_that_are_too_narrow_come_with_bounds_that_do():
    rows = pd.DataFrame({"x": list("aaab"), "y": list("cdcd")})
    targets = {"x": {"a": 0.5, "b": 0.5}}
    with pytest.raises(CannotAnswer) as raised:
        gml.rake(rows, targets, bounds=(0.5, 1.5))
    assert str(raised.value) == (
        "no weights from 0.5 to 1.5 times those before meet the targets: the nearest are off by "
        "0.125, as x='b' with 0.375 instead of 0.5; `bounds` 0.5,2.01 would do"
    )
    found = gml.rake(rows, targets, bounds=(0.5, 2.01))
    assert found.weights.tolist() == pytest.approx([2 / 3] * 3 + [2])
    with pytest.raises(CannotAnswer, match=r"`bounds` 0.666,2.01 would do"):
        gml.rake(rows, targets, bounds=(0.9, 1.5))
    with pytest.raises(CannotAnswer, match=r"`bounds` 0.666,2.01 would do"):
        gml.rake(rows, targets, bounds=(0.9, 1.1))
    even = pd.DataFrame({"x": list("ab") * 10})
    with pytest.raises(CannotAnswer, match=r"`bounds` 0.899,1.11 would do"):
        gml.rake(even, {"x": {"a": 0.55, "b": 0.45}}, bounds=(0.95, 1.05))
    with pytest.raises(CannotAnswer, match=r"; `bounds` 0.666,3 would do$"):
        gml.rake(rows, targets, bounds=(0.8, 3))


def test_bounds_are_tried_before_they_are_offered(monkeypatch):
    def hard_to_please(cells, kept, bounds, projected=solve._projected):
        found = projected(cells, kept, bounds)
        return replace(found, excess=0.0 if bounds[1] > 2.05 else 1.0)

    monkeypatch.setattr(solve, "_projected", hard_to_please)
    rows = pd.DataFrame({"x": list("aaab")})
    with pytest.raises(CannotAnswer, match=r"; `bounds` 0.5,2.06 would do"):
        gml.rake(rows, {"x": {"a": 0.5, "b": 0.5}}, bounds=(0.5, 1.5))


@pytest.mark.parametrize("seed", range(12))
def test_bounds_that_are_offered_do_whatever_the_base_weights(seed):
    rng = np.random.default_rng(seed)
    frame = random_table(rng, 60, {"x": 3, "y": 2, "z": 3})
    frame["w"] = 10 ** rng.uniform(-3, 3, len(frame))
    heavy = frame.assign(w=frame["w"] * rng.lognormal(0, 0.8, len(frame)))
    targets = {
        name: heavy.groupby(name)["w"].sum().div(heavy["w"].sum()).to_dict()
        for name in frame.columns.drop("w")
    }
    with pytest.raises(CannotAnswer, match="would do") as raised:
        gml.rake(frame, targets, bounds=(0.99, 1.01), weights_fractional="w")
    offered = re.search(r"`bounds` (.*) would do", str(raised.value))
    for offer in offered.group(1).split(" or "):
        bounds = tuple(map(float, offer.split(",")))
        assert gml.rake(frame, targets, bounds=bounds, weights_fractional="w").rows == 60


@pytest.mark.parametrize(
    "bounds", [(1, 2), (0.5, 1), (-1, 2), (2,), "0.5,2", (0.5, math.inf), (0.5, "2")]
)
def test_what_are_no_bounds(bounds):
    with pytest.raises(UsageError, match="`bounds` must be two numbers"):
        gml.rake(pd.DataFrame({"x": ["a"]}), {"x": {"a": 1}}, bounds=bounds)


# ---------------------------------------------------------------------- inputs

ROWS = pd.DataFrame({"sex": list("mmfm"), "age": ["young", "old", "old", "old"]})
WEIGHTS = [2.0, 1.0, 2.0, 1.0]


def series():
    index = pd.MultiIndex.from_product([["young", "old"], ["f", "m"]], names=["age", "sex"])
    return pd.Series([0, 2, 2, 2], index=index)


@pytest.mark.parametrize(
    "targets",
    [
        {("age", "sex"): {("young", "m"): 2, ("old", "f"): 2, ("old", "m"): 2}},
        {("sex", "age"): {"m": {"young": 1, "old": 1}, "f": {"old": 1}}},
        {
            ("sex", "age"): {
                "m": {"young": np.float64(0.3), "old": 0.3},
                "f": {"old": np.float64(0.3)},
            }
        },
        series(),
        [series()],
        [Margin(("sex", "age"), {("m", "young"): 1 / 3, ("m", "old"): 1 / 3, ("f", "old"): 1 / 3})],
        pd.DataFrame({"sex": list("mmf"), "age": ["young", "old", "old"], "count": [5, 5, 5]}),
        {
            "constraints": [
                {"margin": ["sex", "age"], "counts": {"m": {"young": 1, "old": 1}, "f": {"old": 1}}}
            ]
        },
    ],
)
def test_targets_of_every_kind(targets):
    found = gml.rake(ROWS, targets)
    assert found.weights.tolist() == pytest.approx([4 / 3, 2 / 3, 4 / 3, 2 / 3])


def test_data_of_every_kind(tmp_path):
    targets = {"sex": {"m": 1, "f": 1}}
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    ROWS.to_parquet(tmp_path / "rows.parquet")
    data = gml.read(tmp_path / "rows.csv")
    sources = [
        ROWS,
        tmp_path / "rows.csv",
        tmp_path / "rows.parquet",
        data,
        gml.MemoryCounter(data),
    ]
    for source in sources:
        assert gml.rake(source, targets).weights.tolist() == pytest.approx([2 / 3, 2 / 3, 2, 2 / 3])
    weighted = gml.read(ROWS.assign(n=[1, 1, 4, 1]), weights="n")
    assert gml.rake(weighted, targets).weights.tolist() == pytest.approx([2 / 3, 2 / 3, 2, 2 / 3])


def test_numbers_are_labels_and_can_be_cut():
    rows = pd.DataFrame({"age": [17, 20, 70, 33]})
    assert gml.rake(rows, {"age": {17: 1, 20: 1, 33: 1, 70: 1}}).weights.tolist() == [1] * 4
    cut = gml.rake(rows, {"age": {"[-inf,30)": 1, "[30,inf)": 3}}, cut={"age": [30]})
    assert cut.weights.tolist() == [0.5, 0.5, 1.5, 1.5]
    with pytest.raises(
        UsageError, match="targets are about labels, and 'age' has numbers; cut them"
    ):
        gml.rake(rows, {"age": {17: 1}}, numeric="age")
    with pytest.raises(UsageError, match="'age' has numbers"):
        gml.rake(gml.read(rows, numeric="age"), {"age": {17: 1}})


def test_missing_values():
    rows = pd.DataFrame({"x": ["a", None, "b", "b"], "other": [None] * 4})
    targets = {"x": {"a": 1, "b": 1}}
    with pytest.raises(DataError, match="missing values: 'x' 1; choose `missing='drop'`.*or level"):
        gml.rake(rows, targets)
    with pytest.warns(gml.GmlWarning, match="1 of 4 rows dropped for missing values"):
        found = gml.rake(rows, targets, missing="drop")
    assert found.weights[[0, 2, 3]].tolist() == pytest.approx([1.5, 0.75, 0.75])
    assert np.isnan(found.weights[1])
    assert (found.rows, found.left_out, found.design_effect) == (3, 1, pytest.approx(1.125))
    level = gml.rake(rows, {"x": {"a": 1, "b": 1, "NA": 2}}, missing="level")
    assert level.weights.tolist() == pytest.approx([1, 2, 0.5, 0.5])
    with pytest.raises(DataError, match="column 'x': 'NA' has no target"):
        gml.rake(rows, targets, missing="level")
    with pytest.raises(UsageError, match="a row has one weight for all margins; use drop or level"):
        gml.rake(rows, targets, missing="available")
    with pytest.raises(CannotAnswer, match="0 of 1 row is complete; most often missing: 'x' 1$"):
        gml.rake(rows[1:2], targets, missing="drop")
    with pytest.raises(CannotAnswer, match="the frame: has no rows"):
        gml.rake(rows[:0], targets)


@pytest.mark.parametrize(
    ("targets", "error", "told"),
    [
        ({"sxe": {"m": 1}}, UsageError, "the targets: column 'sxe' not found; did you mean 'sex'?"),
        ({"sex": {"m": 1}}, DataError, "the frame: data row 3: column 'sex': 'f' has no target; the targets: "
         "the margin of 'sex' has 'm'"),
        ({"sex": {"m": 1, "f ": 1}}, DataError, "'f' has no target"),
        ({"sex": {"m": 1, "f": 1}, "age": {"young": 2, "old": 2}}, DataError,
         "the targets: the margin of 'age': the counts add up to 4, which is 2 more than 2"),
        ({"sex": {"m": 1, "f": 1}, ("sex", "age"): {"m": {"young": 1, "old": 0.5}, "f": {"old": 0.5}}}, DataError,
         "the targets: the margin of 'sex', 'age': P(sex="),
        ({"sex": {"m": -1, "f": 2}}, DataError, "must not be negative"),
        ({"sex": {"m": math.nan, "f": 2}}, DataError, "must be a number, not nan"),
        ({"sex": {("m", "x"): 1}}, DataError, "'m', 'x' has too many labels"),
        ({"sex": {"1": 1, 1: 1}}, DataError, "'1' appears twice"),
        ({"sex": [1, 2]}, UsageError, "must be a dictionary by level, not a list"),
        ({3.5: {"m": 1}}, UsageError, "3.5 is not the name of a column"),
        ({}, DataError, "there are no margins"),
        (5, UsageError, "`targets` must be a path, a dictionary by column, a DataFrame or Series, not an int"),
        ([5], UsageError, "a list must hold Series or Margins, not an int"),
        ([pd.Series({"m": 1})], UsageError, "the index of a Series must have the names"),
        ({"constraints": [{"probability": {"sex": "m"}, "equals": 0.5}]}, DataError, "not a margin"),
    ],
)  # fmt: skip
def test_targets_that_are_refused(targets, error, told):
    with pytest.raises(error) as raised:
        gml.rake(ROWS, targets)
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_normalise_scales_every_margin():
    targets = {"sex": {"m": 1, "f": 1}, "age": {"young": 1, "old": 4}}
    found = gml.rake(ROWS, targets, normalise=True)
    assert [cell.target for cell in found.cells] == [0.5, 0.5, 0.2, 0.8]


@pytest.mark.filterwarnings("ignore:all labels begin with a blank")
def test_a_level_with_blanks_is_told_from_one_without():
    with pytest.raises(DataError, match="; the rows have ' m' with a leading blank$"):
        gml.rake(pd.DataFrame({"sex": [" m"]}), {"sex": {"m": 1}})
    with pytest.raises(DataError, match="; the targets have 'm ' with a trailing blank$"):
        gml.rake(pd.DataFrame({"sex": ["m"]}), {"sex": {"m ": 1}})


def test_a_target_that_is_misspelt():
    rows = pd.DataFrame({"sex": ["male", "female"]})
    with pytest.raises(DataError, match="; the target 'mael' may be meant for 'male'$"):
        gml.rake(rows, {"sex": {"mael": 1, "female": 1}})


def test_a_target_of_several_columns_that_is_misspelt():
    rows = pd.DataFrame({"sex": ["M", "F"], "reg": ["SA", "SA"]})
    with (
        pytest.raises(CannotAnswer, match=r"no row has reg='Sa', sex='F'.*; did you mean 'SA'\?$"),
        pytest.warns(gml.GmlWarning, match="not among the targets"),
    ):
        gml.rake(rows, {("sex", "reg"): {("M", "SA"): 1, ("F", "Sa"): 1}})


def test_targets_of_intervals_ask_for_the_cuts():
    rows = pd.DataFrame({"age": [20, 42, 71]})
    targets = {"age": {"[-inf,30)": 1, "[30,50.5)": 1, "[50.5,inf)": 1}}
    with pytest.raises(DataError, match="intervals: cut it with `cut` age=30,50.5$"):
        gml.rake(rows, targets)
    assert gml.rake(rows, targets, cut={"age": [30, 50.5]}).weights.tolist() == [1, 1, 1]


def test_weights_cannot_have_targets():
    with pytest.raises(UsageError, match="column 'n' has the weights"):
        gml.rake(ROWS.assign(n=1), {"n": {"1": 1}}, weights="n")
    with pytest.raises(DataError, match="weights must not be negative: data row 2 has -1"):
        gml.rake(ROWS.assign(n=[1, -1, 1, 1]), {"sex": {"m": 1, "f": 1}}, weights_fractional="n")
    with pytest.raises(UsageError, match="column 'm' not found"):
        gml.rake(ROWS, {"sex": {"m": 1, "f": 1}}, weights="m")


def test_weights_that_span_a_large_range_meet_the_targets_too():
    frame = pd.DataFrame(
        {"A": ["a"] * 3 + ["b"] * 1000, "d": [1e-6, 2.3e-6, 1.1e-6] + [1e6] * 1000}
    )
    raking = gml.rake(frame, {"A": {"a": 1, "b": 1}}, weights_fractional="d")
    assert math.fsum(raking.weights) == pytest.approx(1003, rel=1e-12)
    assert math.fsum(raking.weights[:3]) / 1003 == pytest.approx(0.5, rel=1e-12)
    assert raking.weights[1] / raking.weights[0] == pytest.approx(2.3, rel=1e-12)
    backwards = gml.rake(frame[::-1], {"A": {"a": 1, "b": 1}}, weights_fractional="d")
    assert backwards.weights[::-1].tolist() == raking.weights.tolist()
    assert [cell.after for cell in raking.cells] == pytest.approx([0.5, 0.5], rel=1e-12)


@pytest.mark.parametrize("dropped", [1e16, np.nan])
def test_the_weight_of_a_dropped_row_does_not_matter(dropped):
    frame = pd.DataFrame({"A": ["1", "2", None, "1", "2"], "d": [1, 1.3, dropped, 2, 3.0]})
    raking = gml.rake(frame, {"A": {"1": 1, "2": 1}}, missing="drop", weights_fractional="d")
    wanted = [2 / 3, 2 * 1.3 / 4.3, np.nan, 4 / 3, 2 * 3 / 4.3]
    np.testing.assert_allclose(raking.weights, wanted, rtol=1e-13)


def test_weights_of_rows_that_were_left_out_are_read_with_drop():
    frame = pd.DataFrame({"A": ["1", "2", None, "1", "2"], "B": ["u", "v", "u", "v", "u"]})
    frame["weight"] = gml.rake(frame[["A"]], {"A": {"1": 1, "2": 3}}, missing="drop").weights
    graph = gml.Graph.from_edges(["A", "B"], [("A", "-->", "B")])
    reading = {"columns": "B", "weights_fractional": "weight", "missing": "drop"}
    assert gml.read(frame, **reading).n_rows == 4
    reading["columns"] = ["A", "B"]
    net = gml.fit(frame, graph, **reading)
    assert net.query("A")["A"]["2"] == pytest.approx(0.75)
    assert len(gml.score(frame, graph, **reading).graphs) == 1


def test_a_missing_weight_is_named_by_its_row_in_the_whole_table():
    frame = pd.DataFrame({"A": [None, "1", "2"], "d": [1, 2, np.nan]})
    with pytest.raises(DataError, match="the weight of 1 row is missing, first in data row 3"):
        gml.rake(frame, {"A": {"1": 1, "2": 1}}, missing="drop", weights_fractional="d")


def test_a_target_that_is_nearly_0_is_met():
    raking = gml.rake(pd.DataFrame({"A": ["a", "b"] * 50}), {"A": {"a": 1e-9, "b": 1 - 1e-9}})
    np.testing.assert_allclose(raking.weights[:2], [2e-9, 2 - 2e-9], rtol=1e-12)


def test_a_weight_that_is_next_to_nothing_is_no_contradiction():
    table = np.array([1, 1, 1, 1e-7, 1, 1e-7, 1e-7, 1e-7])
    bits = [f"{k:03b}" for k in range(8)]
    frame = pd.DataFrame({name: [bit[j] for bit in bits] for j, name in enumerate("ABC")})
    targets = {
        pair: frame.assign(w=table).groupby(list(pair))["w"].sum()
        for pair in [("A", "B"), ("A", "C"), ("B", "C")]
    }
    raking = gml.rake(frame, targets)
    assert raking.largest_residual < 1e-11
    # That of no interaction of all three: w011 w101 w110 w000 = w001 w010 w100 w111.
    even, odd = np.log(raking.weights[[0, 3, 5, 6]]), np.log(raking.weights[[1, 2, 4, 7]])
    assert raking.weights.min() < 1e-17
    assert even.sum() == pytest.approx(odd.sum(), abs=1e-3)


def test_margins_that_disagree_by_rounding_are_met_as_well_as_they_can_be():
    frame = pd.DataFrame([(a, b) for a in "xyz" for b in "uvw"], columns=["A", "B"])
    both = {(a, b): 0.1111111111 for a in "xyz" for b in "uvw"}
    targets = {("A", "B"): both, "A": {"x": 0.3333333333, "y": 0.3333333333, "z": 0.3333333334}}
    with pytest.warns(gml.GmlWarning, match=r"disagree by up to 6.7e-11, so that the targets are"):
        raking = gml.rake(frame, targets)
    np.testing.assert_allclose(raking.weights, np.ones(9), rtol=1e-9)
    assert 1e-12 < raking.largest_residual < 3e-10
    assert raking.iterations < 10


def test_cells_that_must_be_0_are_exactly_0_within_bounds_from_0():
    rows = pd.DataFrame({"sex": list("mmff"), "reg": list("nsss"), "age": list("yoyo")})
    targets = {"sex": {"m": 0.5, "f": 0.5}, "reg": {"n": 0.5, "s": 0.5}}
    with pytest.warns(gml.GmlWarning, match="leave no weight for rows with reg='s', sex='m'"):
        found = gml.rake(rows, targets, bounds=(0, 3))
    assert found.weights.tolist() == pytest.approx([2, 0, 1, 1], rel=1e-12)
    assert found.weights[1] == 0


@pytest.mark.parametrize("short", [1e-7, 1e-8, 1e-9])
def test_bounds_that_are_too_narrow_by_very_little_are_what_is_blamed(short):
    rows = pd.DataFrame({"x": list("ab") * 10})
    with pytest.raises(CannotAnswer, match="no weights from 0 to 1.5 times those before"):
        gml.rake(rows, {"x": {"a": 0.75 + short, "b": 0.25 - short}}, bounds=(0, 1.5))


def test_weights_near_their_bounds_are_far_out_before_the_targets_are_met():
    rows = "000:3 001:8 002:4 011:1 012:1 100:3 101:4 102:5 110:3 111:2 112:1 200:1 201:2 202:5 "
    counts = dict(part.split(":") for part in (rows + "210:2 211:1 212:3").split())
    labels = [key for key, times in counts.items() for _ in range(int(times))]
    frame = pd.DataFrame([list(label) for label in labels], columns=list("ABC"))
    shares = {
        ("A", "B"): "0.16685679605259632 0.039948677697294495 0.3909176549613852 "
        "0.042281802076636385 0.2796559197847626 0.08033914942732508",
        ("B", "C"): "0.038528762960845495 0.2397099079079076 0.5591916999299911 "
        "0.08219349014754616 0.04012066212357492 0.04025547693013486",
        ("A", "C"): "0.007031416706116009 0.03999858650433936 0.15977547053943544 "
        "0.033746238021081267 0.15979963333265845 0.23965358568428188 0.07994459838119436 "
        "0.08003235019448471 0.2000181206364086",
    }
    targets = {}
    for names, values in shares.items():
        cells = sorted(set(zip(*(frame[name] for name in names), strict=True)))
        targets[names] = dict(zip(cells, map(float, values.split()), strict=True))
    raking = gml.rake(frame, targets, bounds=(0, 1.96))
    assert raking.largest_residual < 1e-11
    assert raking.largest <= 1.96


@pytest.mark.parametrize("ages", [["1", "2", "1"], [1, 2, 1], [1.0, 2.0, 1.0]])
def test_whole_numbers_in_a_frame_of_targets_are_labels_as_the_data_have_them(ages):
    rows = pd.DataFrame({"age": ages, "sex": list("mmf")})
    targets = pd.DataFrame(
        {"age": [1, 2, None, None], "sex": [None, None, "m", "f"], "count": [3, 1, 2, 2]}
    )
    raking = gml.rake(rows, targets)
    assert raking.weights.tolist() == pytest.approx([0.75, 0.75, 1.5], rel=1e-12)
    assert raking.cells[0].levels == (str(ages[0]),)


@pytest.mark.parametrize("targets", [pd.DataFrame(), pd.DataFrame({"A": [], "count": []})])
def test_an_empty_frame_of_targets(targets):
    with pytest.raises(DataError, match="the targets: (no header and|there are no constraints)"):
        gml.rake(pd.DataFrame({"A": ["a"]}), targets)


def test_what_contradicts_takes_no_more_memory_than_is_asked_for(monkeypatch):
    """6 bytes per target and cell, and 64 per margin and cell; a float64 alone would take 8."""
    n_levels, both = 100, np.indices((100, 100)).reshape(2, -1)
    targets = [
        Target(margin, "", 0.01, both[margin] == level)
        for margin in range(2)
        for level in range(n_levels)
    ]
    monkeypatch.setattr(programmes, "_solved", lambda **_: SimpleNamespace(status=1))
    # What importing takes is not counted.
    assert clash(targets[:2]) is None
    tracemalloc.start()
    assert clash(targets) is None
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The members themselves were there before.
    assert peak < (5 * 2 * n_levels + 64 * 2) * n_levels**2


@pytest.mark.parametrize("seed", [79, 142, 148, 157])
def test_base_weights_that_span_24_powers_of_10_are_raked_to_targets_of_the_rows(seed):
    rng = np.random.default_rng(seed)
    n_rows = rng.integers(20, 200)
    frame = pd.DataFrame({name: rng.integers(0, 3, n_rows).astype(str) for name in "ABC"})
    frame["d"] = 10.0 ** rng.uniform(-12, 12, n_rows)
    known = frame.assign(w=rng.random(n_rows) * 10.0 ** rng.uniform(-3, 3, n_rows))
    targets = [known.groupby(names)["w"].sum() for names in (["A", "B"], "C")]
    raking = gml.rake(frame, targets, weights_fractional="d")
    for target in targets:
        shares = frame.assign(w=raking.weights).groupby(target.index.names)["w"].sum() / n_rows
        np.testing.assert_allclose(shares, target / target.sum(), rtol=2e-12)
