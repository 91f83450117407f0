"""Numeric inputs of conditional fields: how they are standardised, fitted, asked and written."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gml
from gml.data.dataset import Dataset, Variable
from gml.formats.models import MODEL_WRITERS, parse_model
from gml.formats.reports.crf import dump_crf_text, strongest_features
from gml.model.conditional.field import ConditionalField
from gml.model.conditional.gauge import in_sum_to_zero_gauge
from gml.model.conditional.numeric_inputs import Scale, Slope, scales_of
from gml.model.conditional.rows import FieldRows
from gml.model.conditional.terms import FieldTerms
from gml.model.undirected.potential import Potential
from tests.conditional import conditional, expected_counts, loopy_terms, random_rows, variable


def wines(n=150, seed=0):
    """A table of labels and numbers; age and acid tell something of the kind."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "kind": np.array(["red", "rose", "white"])[kind],
            "age": (rng.gamma(2.0, 4.0, n) + 3 * (kind == 0)).round(2),
            "acid": rng.normal(1e9, 0.3, n) + 0.2 * kind,
            "dry": np.array(["no", "yes"])[(rng.random(n) < 0.3 + 0.2 * kind).astype(int)],
        }
    )


HOW = {"target": "kind", "numeric": ["acid", "age"]}


@pytest.fixture(scope="module")
def net():
    return gml.crf(wines(), **HOW)


# ---------------------------------------------------------------------- scales


@pytest.mark.parametrize("unit", [1e-300, 1e-9, 1.0, 1e9, 1e307])
@pytest.mark.parametrize("away", [0.0, 5.0, -7.0])
def test_scales_of_numbers_of_any_size(unit, away):
    small = np.random.default_rng(2).normal(away, 1.0, 50)
    scale = Scale.of(small * unit)
    assert scale.mean == pytest.approx(small.mean() * unit, rel=1e-13)
    assert scale.sd == pytest.approx(small.std() * unit, rel=1e-13)
    z = scale.standardised(small * unit)
    assert z == pytest.approx((small - small.mean()) / small.std(), abs=1e-12)


def test_scales_of_weighted_rows_and_in_any_order():
    rng = np.random.default_rng(4)
    numbers, times = rng.normal(3, 2, 200), rng.integers(0, 4, 200)
    found = Scale.of(numbers, times)
    assert found == pytest.approx(Scale.of(np.repeat(numbers, times)), rel=1e-14)
    order = rng.permutation(200)
    assert Scale.of(numbers[order], times[order]) == found
    assert Scale.of(numbers[order]) == Scale.of(numbers)


def test_scales_where_there_is_no_deviation():
    assert Scale.of(np.full(7, 0.1)) == (0.1, 1.0)
    assert Scale.of(np.array([5e-324, 0.0, 0.0])).sd > 0
    assert Scale.of(np.array([np.nan, np.nan])) == (0.0, 1.0)
    assert Scale.of(np.array([1.0, np.nan, 3.0])) == (2.0, 1.0)
    assert Scale.of(np.array([1.0, 9.0]), np.array([2, 0])) == (1.0, 1.0)


def test_numbers_far_outside_stay_finite():
    z = Scale(-1e308, 1e308).standardised(np.array([1e308, -1e308, 0.0]))
    assert z.tolist() == [2.0, 0.0, 1.0]
    assert Scale(0.0, 1e-300).standardised(np.array([1e300, -1e300])).tolist() == [1e100, -1e100]


# ---------------------------------------------------------------------- fits


def test_the_mean_and_sd_are_those_of_the_rows(net):
    frame = wines()
    for name in ("acid", "age"):
        assert net.scales[name].mean == pytest.approx(frame[name].mean(), rel=1e-15)
        assert net.scales[name].sd == pytest.approx(frame[name].std(ddof=0), rel=1e-9)
    assert net.n_parameters == 3 + 3 + 3 + 6


def test_numbers_in_other_units_are_the_same_field(net):
    """Kelvin for degrees, or metres for feet, change no weight."""
    frame = wines()
    other = gml.crf(frame.assign(age=32 + 1.8 * frame["age"]), **HOW)
    for scope, table in net.tables.items():
        assert other.tables[scope] == pytest.approx(table, abs=1e-7)
    assert other.summary.log_likelihood == pytest.approx(net.summary.log_likelihood, rel=1e-12)


def test_a_number_of_two_values_is_a_slope_between_levels():
    """Without a penalty, 0 and 1 as numbers or as levels say the same."""
    frame = wines().assign(dry=lambda table: (table["dry"] == "yes").astype(int))
    how = {"target": "kind", "columns": ["kind", "dry"], "l2": 0}
    numbers = gml.crf(frame, numeric=["dry"], **how)
    levels = gml.crf(frame.assign(dry=frame["dry"].map({0: "no", 1: "yes"})), **how)
    assert numbers.summary.log_likelihood == pytest.approx(levels.summary.log_likelihood, rel=1e-10)
    for level, number in (("no", 0), ("yes", 1)):
        found = numbers.query("kind", {"dry": number})["kind"].table
        assert found == pytest.approx(levels.query("kind", {"dry": level})["kind"].table, abs=1e-7)


def test_the_order_of_rows_columns_and_threads_change_no_bit(net):
    frame = wines()
    turned = frame.sample(frac=1, random_state=1)[["dry", "acid", "kind", "age"]]
    other = gml.crf(turned, threads=2, **HOW)
    assert other.scales == net.scales and other.summary == net.summary
    for scope, table in net.tables.items():
        assert np.array_equal(other.tables[scope], table)


def test_weighted_rows_are_rows_that_repeat():
    frame = wines(60)
    times = np.random.default_rng(3).integers(0, 4, 60)
    weighted = gml.crf(frame.assign(n=times), weights="n", **HOW)
    repeated = gml.crf(frame.loc[np.repeat(np.arange(60), times)], **HOW)
    for name, scale in repeated.scales.items():
        assert weighted.scales[name] == pytest.approx(scale, rel=1e-14)
    half = gml.crf(frame.assign(n=times / 2), weights_fractional="n", l2=0.5, **HOW)
    for scope, table in repeated.tables.items():
        assert weighted.tables[scope] == pytest.approx(table, abs=1e-8)
        assert half.tables[scope] == pytest.approx(table, abs=1e-7)


def test_several_targets_that_a_graph_joins():
    terms = loopy_terms(numbers=True)
    data = random_rows(terms, 120, seed=5)
    edges = [tuple(scope) for scope in terms.scopes if len(scope) == 2 and scope != ("c", "y")]
    graph = gml.Graph.from_edges("abcdetxyz", [(a, "---", b) for a, b in edges], kind="undirected")
    net = gml.crf(data, graph, target=list("abcde"), l2=0.3)
    assert net.summary.converged and ("c", "y") not in net.tables
    scales = scales_of(data, "ty")
    assert net.scales == scales
    used = FieldTerms.of_scopes(terms.targets, terms.inputs, net.tables, scales)
    expected, seen = expected_counts(used, net.tables, data)
    for scope, table in net.tables.items():
        assert seen[scope] - expected[scope] == pytest.approx(0.6 * table, abs=1e-6)


def test_a_constant_number_has_the_weight_zero():
    frame = wines(40).assign(age=7.5)
    with pytest.warns(gml.GmlWarning, match="only one value, so independent of everything: 'age'"):
        net = gml.crf(frame, **HOW)
    assert net.summary.converged and net.scales["age"] == (7.5, 1.0)
    assert net.tables["kind", "age"].tolist() == [[0.0], [0.0], [0.0]]
    known = {"acid": 1e9, "dry": "no"}
    far = net.query("kind", {**known, "age": 1e6})["kind"].table
    assert far == pytest.approx(net.query("kind", {**known, "age": 7.5})["kind"].table)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_numbers_of_extreme_size_are_fitted(net, size):
    frame = wines()
    other = gml.crf(frame.assign(age=frame["age"] * size), **HOW)
    for scope, table in net.tables.items():
        assert other.tables[scope] == pytest.approx(table, abs=1e-7)


def test_numbers_that_tell_levels_apart_need_a_penalty():
    frame = pd.DataFrame({"y": list("aaabbb"), "x": [1.0, 2.0, 3.5, 3.75, 5.0, 6.0]})
    how = {"target": "y", "numeric": "x"}
    with pytest.raises(gml.CannotAnswer, match="the other columns tell levels of 'y' apart"):
        gml.crf(frame, l2=0, **how)
    assert gml.crf(frame, **how).summary.converged
    mixed = gml.crf(frame.assign(y=list("aababb")), l2=0, **how)
    assert mixed.summary.converged and np.abs(mixed.tables["y", "x"]).max() < 10


def test_folds_and_the_path_of_penalties():
    rows = FieldRows.of(*terms_and_data())
    for rest, fold in rows.folds(3, seed=2):
        assert (rest.counts + fold.counts == rows.counts).all()
        assert rest.terms.scales == rows.terms.scales
    net = gml.crf(wines(), l2="auto", folds=3, l1=0.2, **HOW)
    path = dict(net.summary.path)
    assert net.summary.l2 == min(path, key=path.get) and net.summary.folds == 3
    assert net.summary.heldout.log_loss < math.log(3)


def terms_and_data():
    data = gml.Dataset.from_frame(wines(), numeric=["acid", "age"])
    (kind,) = (v for v in data.variables if v.name == "kind")
    inputs = [v for v in data.variables if v.name != "kind"]
    return FieldTerms.complete([kind], inputs, scales_of(data, data.names)), data


def test_held_out_rows_are_standardised_by_those_that_are_fitted(tmp_path):
    new = wines(50, seed=9)
    new.to_csv(tmp_path / "new.csv", index=False)
    net = gml.crf(wines(), holdout=tmp_path / "new.csv", **HOW)
    assert net.summary.heldout.log_loss == pytest.approx(net.predict(new).metrics.log_loss)
    assert net.summary.heldout.rows == 50
    assert net.summary.training.log_loss == pytest.approx(net.predict(wines()).metrics.log_loss)


# ---------------------------------------------------------------------- what is refused


def test_what_is_missing_is_refused_or_dropped():
    frame = wines().astype({"age": float})
    frame.loc[[3, 8], "age"] = np.nan
    with pytest.raises(gml.DataError, match="missing values: 'age' 2"):
        gml.crf(frame, **HOW)
    with pytest.raises(gml.GmlError, match="is for labels, and 'age' has numbers|'age'"):
        gml.crf(frame, missing="level", **HOW)
    dropped = gml.crf(frame, missing="drop", **HOW)
    assert dropped.summary == gml.crf(frame.dropna(), **HOW).summary
    data = gml.Dataset.from_frame(frame, numeric=["acid", "age"], missing="available")
    with pytest.raises(gml.DataError, match="the data have missing values"):
        gml.crf(data, target="kind")


def test_targets_of_numbers_are_refused():
    with pytest.raises(gml.DataError) as error:
        gml.crf(wines(), target=["kind", "age"], numeric=["acid", "age"])
    assert str(error.value).startswith(
        "prediction by a conditional random field is for categorical columns, and column 'age' is "
        "numeric; cut it into intervals (`bins=4`), treat values as categories (`kinds='labels'`)"
    )
    assert gml.crf(wines(), target="age", numeric=["acid"], cut={"age": "6,9"}).targets[0].levels


def test_an_engine_without_rows_is_refused(tmp_path):
    class NoRows(gml.MemoryCounter):
        def rows(self):
            return None

    data = gml.Dataset.from_frame(wines(), numeric=["acid", "age"])
    with pytest.raises(gml.CannotAnswer, match="with numeric inputs needs rows"):
        gml.crf(NoRows(data), target="kind")


def test_a_column_of_weights_is_pointed_out():
    frame = wines().assign(weight=lambda table: table["age"])
    how = {"target": "kind", "cut": None}
    data = gml.Dataset.from_frame(frame, numeric=["acid", "age", "weight"])
    with pytest.warns(gml.GmlWarning, match="taken as an input: 'weight'; if it says how much"):
        gml.crf(data, **how)
    gml.crf(frame, target="kind", numeric=["acid", "age", "weight"])


# ---------------------------------------------------------------------- questions


def by_hand(net, row):
    z = {name: (row[name] - scale.mean) / scale.sd for name, scale in net.scales.items()}
    logs = net.tables["kind",] + net.tables["kind", "dry"][:, int(row["dry"] == "yes")]
    logs = logs + sum(net.tables["kind", name][:, 0] * z[name] for name in z)
    return np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()


def test_answers_by_hand(net):
    rows = wines(7, seed=3).drop(columns="kind")
    found = net.predict(rows).table
    batch = gml.query(net, "kind", batch=rows)["kind"]
    for k, row in enumerate(rows.to_dict("records")):
        assert net.query("kind", row)["kind"].table == pytest.approx(by_hand(net, row), abs=1e-9)
        assert found[k] == pytest.approx(by_hand(net, row), abs=1e-9)
        assert batch[k] == pytest.approx(found[k], abs=1e-12)
        assert net.mpe(row)["kind"] == net.targets[0].levels[int(by_hand(net, row).argmax())]
    answer = net.query("kind", {"dry": "no", "age": 5, "acid": "1e9"})
    assert dict(answer.given) == {"dry": "no", "age": 5.0, "acid": 1e9}
    assert list(net.decode(rows).predicted["kind"]) == list(net.predict(rows).predicted)


def test_inputs_that_are_missing_or_no_numbers(net):
    rows = wines(5, seed=3).drop(columns="kind")
    with pytest.raises(gml.UsageError, match="'age' has no value"):
        net.query("kind", {"dry": "no", "acid": 1e9})
    with pytest.raises(gml.UsageError, match="node 'age' has numbers, and 'old' is not a number"):
        net.query("kind", {"dry": "no", "acid": 1e9, "age": "old"})
    gap = rows.assign(age=[1.0, np.nan, 3.0, 4.0, 5.0])
    with pytest.raises(gml.DataError, match="'age' is missing, and the model needs it; `ignore_un"):
        net.predict(gap)
    with pytest.warns(gml.GmlWarning, match="rows are answered without them: 'age' 1"):
        found = net.predict(gap, ignore_unknown=True)
    mean = net.query("kind", {**rows.iloc[1].to_dict(), "age": net.scales["age"].mean})
    assert found.table[1] == pytest.approx(mean["kind"].table, abs=1e-12)
    level = rows.assign(dry=["no", "yes", "maybe", "no", "yes"])
    with pytest.warns(gml.GmlWarning, match="does not know, treated as missing: 'dry' 1"):
        found = net.predict(level, ignore_unknown=True)
    plain = replace(net, features=tuple(f for f in net.features if f.names != ("kind", "dry")))
    plain = plain.predict(rows.iloc[[2]])
    assert found.table[2] == pytest.approx(plain.table[0], abs=1e-12)


def test_rows_far_outside_have_an_answer(net):
    rows = pd.DataFrame({"age": [1e308, -1e308], "acid": [-1e308, 1e9], "dry": ["no", "yes"]})
    found = net.predict(rows)
    assert np.isfinite(found.table).all() and found.table.sum(axis=1) == pytest.approx(1)
    assert net.query("kind", rows.iloc[0].to_dict())["kind"].table == pytest.approx(found.table[0])


# ---------------------------------------------------------------------- what is shown and written


def test_the_gauge_of_slopes_changes_no_probability(net):
    terms = loopy_terms(numbers=True)
    tables = terms.tables(np.random.default_rng(1).normal(size=terms.size))
    gauged = in_sum_to_zero_gauge(terms, tables)
    for x in ([0.3, 1, -2.0, 0], [-1.0, 2, 0.5, 1]):
        assert conditional(terms, gauged, x) == pytest.approx(conditional(terms, tables, x))
    for scope in (("a", "t"), ("c", "y")):
        assert gauged[scope].sum() == pytest.approx(0, abs=1e-13)
        assert np.abs(gauged[scope]).max() > 0.1


def test_the_report_has_slopes_and_scales(net):
    lines = dump_crf_text(net).splitlines()
    assert lines[-3].split() == ["numeric", "inputs", "mean", "sd"]
    assert [line.split()[0] for line in lines[-2:]] == ["acid", "age"]
    weights = dict(strongest_features(net))
    assert weights["kind=red", "age per sd"] == net.gauged["kind", "age"][0, 0]
    slopes = net.gauged["kind", "age"][:, 0]
    (edge,) = (e for e in net.graph.edges if "age" in {e.source, e.target})
    assert edge.attributes["coupling"] == pytest.approx(math.sqrt((slopes**2).mean()))


def test_the_strength_of_two_levels_is_the_slope_of_the_second():
    frame = wines()
    net = gml.crf(frame[["dry", "age"]], target="dry", numeric="age")
    (edge,) = net.graph.edges
    assert edge.attributes["coupling"] == net.gauged["dry", "age"][1, 0]


def test_notebooks_and_pictures_show_them(net, tmp_path):
    shown = net._repr_html_()
    assert "age per sd" in shown and "numeric inputs" in shown
    from gml.pictures.graph_picture import Bell
    from gml.pictures.node_distributions import distributions_of_field

    found = distributions_of_field(net, net.names, {"age": 5.5, "acid": 1e9, "dry": "no"})
    assert found["age"] == Bell(5.5, 0.0, observed=True)


def test_files_hold_everything(net, tmp_path):
    net.to_file(tmp_path / "a.json")
    again = gml.read_model(tmp_path / "a.json")
    assert again.scales == net.scales and again.variables == net.variables
    for name in ("summary", "learning", "training", "graph"):
        assert getattr(again, name) == getattr(net, name), name
    for scope, table in net.tables.items():
        assert np.array_equal(again.tables[scope], table)
    again.to_file(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_text() == (tmp_path / "b.json").read_text()
    assert gml.read_graph(tmp_path / "a.json").numeric == ("age", "acid")
    node = next(
        n for n in json.loads((tmp_path / "a.json").read_text())["nodes"] if n["id"] == "age"
    )
    assert node["type"] == "numeric" and "levels" not in node
    assert node["scale"] == {"mean": net.scales["age"].mean, "sd": net.scales["age"].sd}


def plain():
    """What someone else may write."""
    return {
        "graph": {"kind": "crf"},
        "nodes": [
            {"id": "x", "role": "input", "type": "numeric", "scale": {"mean": 2, "sd": 4.0}},
            {"id": "y", "role": "target", "levels": ["a", "b", "c"]},
        ],
        "features": [{"scope": ["x", "y"], "weights": [0, 1, 2.5]}],
    }


def test_a_file_by_hand():
    net = parse_model(json.dumps(plain()), "x")
    p = np.exp(np.array([0.0, 1.0, 2.5]) * 1.5)
    assert net.query("y", {"x": 8})["y"].table == pytest.approx(p / p.sum())
    again = parse_model(MODEL_WRITERS["json"](net), "x")
    assert again.graph == net.graph and again.scales == {"x": Scale(2.0, 4.0)}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c["nodes"][0].pop("scale"), "the \"scale\" of 'x' is not an object"),
        (lambda c: c["nodes"][0].pop("type"), "node 'x' has no \"levels\""),
        (lambda c: c["nodes"][0]["scale"].update(sd=0), "a finite mean, and an sd above 0"),
        (lambda c: c["nodes"][0]["scale"].update(sd=-1.0), "a finite mean, and an sd above 0"),
        (lambda c: c["nodes"][0]["scale"].pop("mean"), 'has no "mean"'),
        (lambda c: c["nodes"][0]["scale"].update(median=1), "key 'median' not found"),
        (lambda c: c["nodes"][0]["scale"].update(mean="2"), '"mean" of the "scale"'),
        (lambda c: c["nodes"][0]["scale"].update(mean=True), '"mean" of the "scale"'),
        (lambda c: c["features"][0].update(weights=[0, 1]), "a flat list of 3 numbers, not 2"),
        (lambda c: c["features"][0].update(weights=[0, 1, 1e200]), "not finite, or too large"),
        (lambda c: c["nodes"][1].pop("levels"), "node 'y' has no \"levels\""),
        (lambda c: c["nodes"][1].update(levels=None, type="numeric"), "node 'y' has no \"levels\""),
        (lambda c: c["features"].append({"scope": ["x"], "weights": [0]}), "'x' has no target"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(change, said):
    content = copy.deepcopy(plain())
    change(content)
    with pytest.raises(gml.GraphError) as error:
        parse_model(json.dumps(content), "field.json")
    assert said in str(error.value)
    assert str(error.value).startswith("field.json: ")


def test_fields_that_cannot_be():
    y, x, z = variable("y", 2), Variable("x", None), variable("z", 2)
    bias, slope = Potential((y,), np.zeros(2)), Slope(y, x, np.zeros(2))
    scales = {"x": Scale(0.0, 1.0)}
    ConditionalField((y,), (x,), (bias, slope), scales=scales)
    for wrong, said in (
        ({}, "input 'x' has no mean and sd"),
        ({"x": Scale(0.0, 0.0)}, "its sd above 0"),
        ({"x": Scale(math.nan, 1.0)}, "must be finite"),
    ):
        with pytest.raises(gml.GraphError, match=said):
            ConditionalField((y,), (x,), (bias, slope), scales=wrong)
    with pytest.raises(gml.GraphError, match="input 'z' has levels, and a mean and sd"):
        ConditionalField((y,), (x, z), (bias,), scales=scales | {"z": Scale(0.0, 1.0)})
    with pytest.raises(gml.GraphError, match="target 'x' has numbers, and a field predicts levels"):
        ConditionalField((y, x), (), (bias,), scales=scales)
    for weights in ([1.0], [1.0, math.inf], [1.0, math.nan]):
        with pytest.raises(gml.GraphError, match="the feature over 'y', 'x'"):
            Slope(y, x, np.array(weights))
    with pytest.raises(gml.GraphError, match="a target of levels and an input of numbers"):
        Slope(y, z, np.zeros(2))


def test_a_data_set_of_numbers_is_enough():
    """How a column became numeric does not matter."""
    frame = wines()
    data = gml.Dataset.from_frame(frame, numeric=["acid", "age"])
    assert isinstance(data, Dataset)
    found, named = gml.crf(data, target="kind"), gml.crf(frame, **HOW)
    for scope, table in named.tables.items():
        assert np.array_equal(found.tables[scope], table)


def test_targets_are_categorical_whatever_their_values(tmp_path):
    """Nothing need say so, and inputs may be numbers by their values alone."""
    frame = wines(200, seed=4)
    frame["grade"] = 20 + (frame["age"] // 1.5).clip(upper=14).astype(int)
    frame[["grade", "age", "dry"]].to_csv(tmp_path / "w.csv", index=False)
    assert frame["grade"].nunique() > 12
    for data in (frame[["grade", "age", "dry"]], tmp_path / "w.csv"):
        net = gml.crf(data, target="grade", numeric="age")
        assert net.targets[0].levels == tuple(map(str, sorted(frame["grade"].unique())))
        assert set(net.scales) == {"age"}
