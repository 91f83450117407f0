"""What Python users ask of a model, and the labelled answers."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import gml
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer, DataError, GmlWarning, UsageError
from gml.model.bayesnet import CPT, BayesNet, LinearGaussian
from gml.model.evidence import value_of
from gml.model.inference import Inference
from gml.verbs.query import query
from gml.verbs.sample import sample, sample_csv
from gml.verbs.shared.row_queries import csv_of_rows, row_inference
from tests.networks import asia, random_net

AGES = ("[-inf,40)", "[40,50)", "[50,inf)")


def clinic(levels=AGES):
    """Age in intervals (or not), whether somebody smokes, and a sickness that depends on both."""
    rng = np.random.default_rng(0)
    age, smokes = Variable("age", levels), Variable("smokes", ("False", "True"))
    sick = Variable("sick", ("no", "yes"))
    return BayesNet(
        (
            CPT(age, (), rng.dirichlet(np.ones(len(levels)), 1)),
            CPT(smokes, (age,), rng.dirichlet([1, 1], len(levels))),
            CPT(sick, (age, smokes), rng.dirichlet([1, 1], 2 * len(levels))),
        )
    )


def numbers():
    a, b = Variable("a", None), Variable("b", None)
    return BayesNet(
        (LinearGaussian(a, (), 1.0, (), 2.0), LinearGaussian(b, (a,), 0.5, (3.0,), 1.0))
    )


@pytest.mark.parametrize(
    ("levels", "value", "meant"),
    [
        (AGES, 41, "[40,50)"), (AGES, 40, "[40,50)"), (AGES, 39.9, "[-inf,40)"), (AGES, "41", "[40,50)"),
        (AGES, np.int8(41), "[40,50)"), (AGES, np.float32(50), "[50,inf)"), (AGES, -1e300, "[-inf,40)"),
        (AGES, "[40,50)", "[40,50)"), (AGES, "old", None), (AGES, math.nan, None), (AGES, math.inf, None),
        (AGES, None, None), (AGES, True, None), (AGES, np.True_, None),
        (("40", "41"), 41, "41"), (("40", "41"), 41.0, "41"), (("40", "41"), np.float64(41), "41"),
        (("40", "41"), "41.0", None), (("40", "41"), 42, None), (("1.0", "2.0"), 1, "1.0"),
        (("1", "1.0"), 1, "1"), (("1", "1.0"), 1.0, "1.0"), (("01", "1.00"), 1, None),
        (("False", "True"), True, "True"), (("False", "True"), np.False_, "False"),
        (("0", "1"), True, "1"), (("no", "yes"), True, None), (("nan", "x"), math.nan, "nan"),
        (("a", "b"), np.str_("b"), "b"),
        (None, 3, 3.0), (None, np.float32(0.5), 0.5), (None, "1e3", 1000.0), (None, True, 1.0),
        (None, "x", None), (None, math.nan, None), (None, math.inf, None), (None, "1e999", None),
        (None, "\udcff", None), (AGES, "\udcff", None), (("\udcff", "1"), 1, "1"),
    ],
)  # fmt: skip
def test_what_a_value_means(levels, value, meant):
    """First a level's text, then a level that spells the number, then the interval."""
    assert value_of(Variable("v", levels), value) == meant


def test_a_plain_string_is_one_name():
    net = clinic()
    found = net.query("sick", {"age": 41, "smokes": True})
    expected = net.cpt("sick").table[3]
    assert found["sick"]["yes"] == pytest.approx(expected[1])
    assert found.table.tolist() == found["sick"].table.tolist()
    assert found.names == ("sick",)
    assert found.evidence == {"age": "[40,50)", "smokes": "True"}
    assert dict(found["sick"]) == {"no": found["sick"]["no"], "yes": found["sick"]["yes"]}
    frame = found.to_frame()
    assert frame.columns.tolist() == ["node", "level", "probability"]
    assert frame["probability"].tolist() == found.table.tolist()


def test_several_targets_are_the_joint():
    net = asia()
    found = net.query(["lung", "bronc"], {"xray": "yes"})
    table, log_evidence = Inference(net).joint(["lung", "bronc"], {"xray": "yes"})
    assert found.table.tolist() == table.tolist()
    assert found.log_evidence == log_evidence
    assert found.names == ("lung", "bronc")
    assert found["lung"]["yes"] == pytest.approx(table[0].sum())
    assert found.probability({"lung": "yes", "bronc": "no"}) == table[0, 1]
    assert found.probability({"bronc": "no"}) == pytest.approx(table[:, 1].sum())
    assert found.to_frame()["probability"].tolist() == table.reshape(-1).tolist()
    each = net.query(["lung", "bronc"], {"xray": "yes"}, each=True)
    assert each["bronc"]["no"] == pytest.approx(table[:, 1].sum())
    with pytest.raises(UsageError, match="one table per node"):
        _ = each.table


def test_without_targets_every_unobserved_node():
    found = asia().query(evidence={"asia": "yes", "dysp": "yes"})
    assert found.names == ("tub", "smoke", "lung", "bronc", "either", "xray")
    assert math.exp(found.log_evidence) == pytest.approx(0.004501375, rel=1e-9)
    assert found["lung"]["yes"] == pytest.approx(0.09952515, abs=5e-9)


def test_interventions_cut_what_evidence_does_not():
    net = asia()
    seen, done = (net.query("smoke", **{how: {"lung": "yes"}}) for how in ("evidence", "do"))
    assert done["smoke"]["yes"] == pytest.approx(0.5)
    assert seen["smoke"]["yes"] > 0.9
    assert done.do == {"lung": "yes"}
    with pytest.raises(UsageError, match="both set by `do` and observed"):
        net.query("smoke", {"lung": "yes"}, do={"lung": "no"})


def test_best_assignments():
    net = asia()
    found, expected = net.mpe({"xray": "yes"}), Inference(net).mpe({"xray": "yes"})
    assert {name: found[name] for name in expected.levels} == expected.levels
    assert found.log_probability == expected.log_probability
    assert "xray" not in found.levels
    some = net.map(["lung", "tub"], {"xray": "yes"})
    assert some.levels == Inference(net).map(["lung", "tub"], {"xray": "yes"}).levels
    assert some.to_frame().to_dict("list") == {
        "node": ["lung", "tub"], "level": [some["lung"], some["tub"]],
    }  # fmt: skip
    asked = query(net, ["lung", "tub"], {"xray": "yes"}, map=True)
    assert asked.levels == some.levels


def test_numbers():
    net = numbers()
    found = net.query("a", {"b": np.float32(6.5)})
    assert found["a"] == pytest.approx((1 + 36 / 37, math.sqrt(4 - 144 / 37)))
    assert found.is_density
    joint = net.query(["a", "b"])
    assert joint.correlations["a", "b"] == pytest.approx(6 / math.sqrt(37))
    assert joint.to_frame().columns.tolist() == ["node", "mean", "sd", "r(a)", "r(b)"]
    assert net.mpe({"b": 6.5})["a"] == pytest.approx(1 + 36 / 37)
    rows = net.predict(pd.DataFrame({"b": [6.5, math.nan]}), "a")
    assert rows.predicted.tolist() == pytest.approx([1 + 36 / 37, 1.0])
    assert rows.sd.tolist() == pytest.approx([math.sqrt(4 - 144 / 37), 2.0])
    assert rows.to_frame().columns.tolist() == ["a_predicted", "a_sd"]
    with pytest.raises(UsageError, match="'b' has numbers, and 'high' is not a number"):
        net.query("a", {"b": "high"})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda net: net.query("lungs"), "did you mean 'lung'"),
        (lambda net: net.query("lung", {"xrays": "yes"}), "did you mean 'xray'"),
        (lambda net: net.query("lung", {"xray": "yess"}), "did you mean 'yes'"),
        (lambda net: net.query("lung", {"lung": "yes"}), "observed and asked for"),
        (lambda net: net.query(["lung", 3]), "`target` must be a name or a list of names"),
        (lambda net: net.predict(pd.DataFrame(), "lungs"), "did you mean 'lung'"),
        (
            lambda net: net.predict(["rows.csv"], "lung"),
            "must be a path, a Dataset or a DataFrame, not a list",
        ),
        (lambda net: net.predict(pd.DataFrame(), "lung", missing="x"), "`missing` must be"),
        (lambda net: query(net, "lung", mpe=True), "for some, `map` and `target`"),
        (lambda net: query(net, map=True), "`map` needs `target`"),
        (lambda net: query(net, "lung", each=True), "`each` is for several targets"),
        (lambda net: sample(net, 5, weighted=True), "`weighted` belongs to `evidence`"),
        (lambda net: sample(net, -5), "`n` must be 0 or more, not -5"),
    ],
)
def test_wrong_questions_name_parameters(call, message):
    with pytest.raises(UsageError, match=message):
        call(asia())


def test_unknown_labels_of_an_answer():
    found = asia().query("lung")
    with pytest.raises(KeyError, match="did you mean 'lung'"):
        found["lungs"]
    with pytest.raises(KeyError, match="did you mean 'yes'"):
        found["lung"]["yess"]
    assert "maybe" not in found["lung"]


def test_a_model_file_can_be_asked(tmp_path):
    net = asia()
    gml.write_model(net, tmp_path / "asia.json")
    found = query(tmp_path / "asia.json", "lung", {"xray": "yes"})
    assert found.table.tolist() == net.query("lung", {"xray": "yes"}).table.tolist()
    drawn = sample(str(tmp_path / "asia.json"), 50, seed=3)
    assert [c.tolist() for c in drawn.columns] == [
        c.tolist() for c in net.sample(50, seed=3).columns
    ]


# ---------------------------------------------------------------------- many rows


def test_predictions_are_those_of_single_queries():
    net = clinic()
    rows = pd.DataFrame(
        {
            "age": [41, 39.5, None, 77, 41],
            "smokes": pd.Series([True, None, False, True, True], dtype=object),
            "sick": ["yes", "no", "no", "no", "maybe"],
        }
    )
    found = net.predict(rows, "sick")
    assert len(found) == 5
    for k, row in enumerate(rows.drop(columns="sick").to_dict("records")):
        evidence = {name: value for name, value in row.items() if not pd.isna(value)}
        answer = net.query("sick", evidence)
        np.testing.assert_allclose(found.table[k], answer.table, atol=1e-14)
        assert found.predicted[k] == max(answer["sick"], key=answer["sick"].get)
        assert found.probability[k] == found.table[k].max()
        assert found.log_evidence[k] == pytest.approx(answer.log_evidence)
    assert found.to_frame().columns.tolist() == [
        "sick_predicted", "sick_probability", "sick=no", "sick=yes",
    ]  # fmt: skip


def test_predictions_of_a_dataset_and_of_its_frame():
    rng = np.random.default_rng(4)
    net = random_net(rng, 6, p=0.5, names=list("abcdef"))
    data = net.sample(400, seed=2)
    holes = sample(net, 400, seed=2, missing_rate=0.3)
    for rows in (data, holes):
        found, again = net.predict(rows, "c"), net.predict(rows.to_frame(), "c")
        assert found.table.tolist() == again.table.tolist()
        assert found.predicted.tolist() == again.predicted.tolist()
    # Levels in another order, and more of them, which no row has
    variable = data.variables[0]
    turned = Variable(variable.name, (*reversed(variable.levels), "never"))
    codes = (len(variable.levels) - 1 - data.columns[0]).astype(np.uint8)
    other = Dataset((turned, *data.variables[1:]), (codes, *data.columns[1:]))
    assert net.predict(other, "c").table.tolist() == net.predict(data, "c").table.tolist()


def test_numbers_of_a_dataset_fall_into_intervals():
    net = clinic()
    ages = Dataset((Variable("age", None),), (np.array([41.0, np.nan, 12.0]),))
    found = net.predict(ages, "sick")
    for k, evidence in enumerate([{"age": 41}, {}, {"age": 12}]):
        np.testing.assert_allclose(found.table[k], net.query("sick", evidence).table, atol=1e-14)


def test_unknown_values_and_columns():
    net = asia()
    rows = pd.DataFrame({"xray": ["yes", "perhaps", "perhaps"], "dsyp": ["no", "no", "no"]})
    with (
        pytest.warns(GmlWarning, match="did you mean 'dysp' by 'dsyp'"),
        pytest.raises(DataError, match="row 1: column 'xray' has no .*'perhaps'.*`ignore_unknown`"),
    ):
        net.predict(rows, "lung")
    with pytest.warns(GmlWarning, match="treated as missing: 'xray' 2"):
        found = net.predict(rows[["xray"]], "lung", ignore_unknown=True)
    assert found.table[1].tolist() == pytest.approx(net.query("lung").table.tolist())
    with pytest.raises(UsageError, match="'xray' is in `evidence` and a column of data"):
        net.predict(rows[["xray"]], "lung", evidence={"xray": "yes"})


def test_impossible_rows_have_no_prediction():
    net = asia()
    rows = pd.DataFrame({"lung": ["yes", "yes"], "either": ["no", "yes"]})
    with pytest.warns(GmlWarning, match="1 row of evidence of probability 0"):
        found = net.predict(rows, "tub")
    assert found.predicted.tolist() == [None, "no"]
    assert np.isnan(found.probability[0])
    with pytest.raises(CannotAnswer, match="probability 0"):
        net.query("tub", {"lung": "yes", "either": "no"})


def test_missing_cells_may_be_a_level():
    net = clinic((*AGES, "NA"))
    rows = pd.DataFrame({"age": [41.0, math.nan]})
    with pytest.warns(GmlWarning, match="`missing='level'` observes that"):
        unobserved = net.predict(rows, "sick")
    level = net.predict(rows, "sick", missing="level")
    assert unobserved.table[1].tolist() == pytest.approx(net.query("sick").table.tolist())
    assert level.table[1].tolist() == pytest.approx(net.query("sick", {"age": "NA"}).table.tolist())


def test_rows_of_a_file_agree_with_predictions(tmp_path):
    net = asia()
    rows = net.sample(300, seed=5).to_frame().drop(columns=["either", "lung"])
    rows.to_csv(tmp_path / "rows.csv", index=False)
    asked = row_inference(net, None, None, None, predict="lung")
    text = b"".join(csv_of_rows(asked, tmp_path / "rows.csv")).decode()
    found = net.predict(rows, "lung")
    last = [line.split(",")[-2:] for line in text.splitlines()[1:]]
    assert [level for level, _ in last] == found.predicted.tolist()
    assert [float(p) for _, p in last] == found.probability.tolist()
    with pytest.raises(UsageError, match="`batch` needs either `target` or `predict`"):
        query(net, batch=tmp_path / "rows.csv")


# ---------------------------------------------------------------------- samples


@pytest.mark.parametrize(
    "how",
    [
        {}, {"do": {"smoke": "no"}}, {"evidence": {"dysp": "yes"}}, {"missing_rate": 0.2},
        {"evidence": {"dysp": "yes"}, "do": {"smoke": "no"}, "missing_rate": 0.1},
    ],
)  # fmt: skip
def test_a_sample_is_what_the_command_writes(how, tmp_path):
    net = asia()
    text = b"".join(bytes(piece) for piece in sample_csv(net, 9000, seed=8, threads=2, **how))
    (tmp_path / "rows.csv").write_bytes(text)
    read = pd.read_csv(tmp_path / "rows.csv", dtype=str, keep_default_na=False, na_values=[""])
    rows = sample(net, 9000, seed=8, threads=1, **how).to_frame().astype(object)
    pd.testing.assert_frame_equal(read.astype(object), rows, check_dtype=False)


def test_weights_of_a_sample(tmp_path):
    net = asia()
    evidence = {"xray": "yes", "smoke": "no"}
    data = sample(net, 20_000, evidence=evidence, weighted=True, seed=1)
    pieces = sample_csv(net, 20_000, evidence=evidence, weighted=True, seed=1)
    (tmp_path / "rows.csv").write_bytes(b"".join(bytes(piece) for piece in pieces))
    written = pd.read_csv(tmp_path / "rows.csv")["weight"]
    np.testing.assert_allclose(data.weights * data.unit, written, rtol=1e-9)
    p = np.average(data.to_frame()["lung"] == "yes", weights=data.weights)
    assert p == pytest.approx(net.query("lung", evidence)["lung"]["yes"], abs=0.02)
    impossible = {"lung": "yes", "either": "no"}
    with pytest.warns(GmlWarning, match="all weights are 0"):
        assert sample(net, 10, evidence=impossible, weighted=True).n == 0


# ---------------------------------------------------------------------- on a screen


def test_what_is_shown_fits_on_a_screen():
    rng = np.random.default_rng(2)
    net = random_net(rng, 37, p=0.1)
    wide = CPT(
        Variable("w" * 500, tuple(f"level {k}" for k in range(900))), (), np.full((1, 900), 1 / 900)
    )
    many = BayesNet((wide, *net.cpds))
    first = many.names[1]
    data = many.sample(500, seed=1)
    shown = [
        net, many, wide, many.query(), many.query([many.names[0], first]), many.mpe(),
        many.query(many.names[0])[many.names[0]], many.predict(data, first), net.factors[3],
        numbers(), numbers().query(), numbers().mpe({"b": 1.0}), many.factors[0],
    ]  # fmt: skip
    for thing in shown:
        lines = repr(thing).splitlines()
        assert len(lines) <= 24
        assert max(map(len, lines)) <= 320
    assert repr(many.query()).endswith("more rows")
    assert repr(net).startswith("BayesNet(37 discrete nodes, ")
