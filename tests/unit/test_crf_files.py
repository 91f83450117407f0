"""Files of conditional random fields: what they hold, and what is refused."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

import gml
from gml.data.dataset import Variable
from gml.formats.models import MODEL_WRITERS, parse_model
from gml.formats.reports.crf import dump_crf_text, strongest_features
from gml.model.conditional.field import ConditionalField
from gml.model.undirected.potential import Potential
from tests.conditional import loopy_terms, random_rows, variable


@pytest.fixture(scope="module")
def field():
    terms = loopy_terms()
    return gml.crf(random_rows(terms, 60, seed=1), target=["e", "a"], folds=3)


def assert_same_field(one, other):
    assert one.targets == other.targets
    assert one.inputs == other.inputs
    for a, b in zip(one.features, other.features, strict=True):
        assert a.scope == b.scope
        np.testing.assert_array_equal(a.table, b.table, strict=True)
    for name in ("summary", "learning", "training", "graph"):
        assert getattr(one, name) == getattr(other, name), name


def test_json_holds_everything(field, tmp_path):
    field.to_file(tmp_path / "field.json")
    assert_same_field(field, gml.read_model(tmp_path / "field.json"))
    assert_same_field(field, gml.ConditionalField.from_file(tmp_path / "field.json"))
    text = (tmp_path / "field.json").read_text()
    gml.read_model(tmp_path / "field.json").to_file(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == text
    assert gml.read_graph(tmp_path / "field.json") == field.graph


def test_the_chosen_penalty_comes_back(tmp_path):
    terms = loopy_terms()
    net = gml.crf(random_rows(terms, 40, seed=2), target="b", l2="auto", folds=2, l1=0.5)
    net.to_file(tmp_path / "field.json")
    again = gml.read_model(tmp_path / "field.json")
    assert again.summary == net.summary
    assert len(again.summary.path) == 11


def test_nasty_names_come_back():
    names = [
        'a "b',
        "ü, ~|",
        "",
        "\t\n",
        "node { }",
        "=1+2",
        "\u202e",
        " a",
        "NA",
        "\\",
        "ﬁ",
        "a=b",
    ]
    levels = tuple(names)
    y, x = Variable(names[0], levels), Variable(names[1], levels[:2])
    size = len(levels)
    rng = np.random.default_rng(0)
    net = ConditionalField(
        (y,), (x,), (Potential((y,), rng.normal(size=size)), Potential((x, y), rng.normal(size=(2, size))))
    )  # fmt: skip
    again = parse_model(MODEL_WRITERS["json"](net), "x")
    assert_same_field(net, again)
    assert dump_crf_text(again).startswith("conditional random field, 1 target given 1 input")


def test_a_scope_may_be_in_any_order():
    y, x = variable("y", 2), variable("x", 3)
    table = np.arange(6.0).reshape(2, 3)
    bias = Potential((y,), np.zeros(2))
    one = ConditionalField((y,), (x,), (bias, Potential((y, x), table)))
    other = ConditionalField((y,), (x,), (Potential((x, y), table.T), bias))
    assert np.array_equal(one.tables["y", "x"], other.tables["y", "x"])


def plain():
    """What someone else may write."""
    return {
        "graph": {"kind": "crf"},
        "nodes": [
            {"id": "x", "role": "input", "levels": ["n", "y"]},
            {"id": "y", "role": "target", "levels": ["a", "b", "c"]},
        ],
        "features": [{"scope": ["x", "y"], "weights": [0, 1, 2, 3, 4, 6]}],
    }


def test_a_file_by_hand():
    net = parse_model(json.dumps(plain()), "x")
    assert [v.name for v in net.targets] == ["y"]
    assert net.summary is None
    p = np.exp([3.0, 4.0, 6.0])
    assert net.query("y", {"x": "y"})["y"].table == pytest.approx(p / p.sum())
    assert not net.tables["y",].any()


def changed(change):
    content = copy.deepcopy(plain())
    change(content)
    return json.dumps(content)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c["nodes"][0].pop("role"), "the \"role\" of node 'x' must be target or input"),
        (lambda c: c["nodes"][0].pop("levels"), "node 'x' has no \"levels\""),
        (lambda c: c["nodes"][1].update(role="input"), "a conditional field needs a target"),
        (lambda c: c.pop("features"), '"features" is missing, or not a list'),
        (lambda c: c["features"].append(3), "feature 2 is not an object"),
        (lambda c: c["features"][0].update(table=[]), "key 'table' not found"),
        (lambda c: c["features"][0].update(scope="xy"), 'the "scope" is not a list of names'),
        (lambda c: c["features"][0].update(scope=["x", "q"]), "node 'q' not found"),
        (lambda c: c["features"][0].update(scope=["y", "y"]), "one or two different nodes"),
        (lambda c: c["features"][0].update(scope=[]), "one or two different nodes"),
        (lambda c: c["features"].append({"scope": ["x"], "weights": [0, 0]}), "'x' has no target"),
        (lambda c: c["features"].append(c["features"][0]), "two features over 'x', 'y'"),
        (lambda c: c["features"][0]["weights"].pop(), "a flat list of 6 numbers, not 5"),
        (lambda c: c["features"][0].update(weights={}), "must be a flat list of 6 numbers"),
        (lambda c: c["features"][0]["weights"].__setitem__(0, "1"), "something that is not a number"),
        (lambda c: c["features"][0]["weights"].__setitem__(0, True), "something that is not a number"),
        (lambda c: c["features"][0]["weights"].__setitem__(0, None), "something that is not a number"),
        (lambda c: c["features"][0]["weights"].__setitem__(0, 10**400), "number beyond 1.8e308"),
        (lambda c: c["features"][0]["weights"].__setitem__(0, 1e200), "too large for a logarithm"),
        (lambda c: c.update(edges=[]), 'the "edges" do not agree'),
        (lambda c: c["graph"].update(field="sponge"), 'the "field" must be'),
        (lambda c: c["graph"].update(fit=[]), 'the "fit" is not an object'),
        (lambda c: c["graph"].update(fit={"l3": 1}), "key 'l3' not found"),
        (lambda c: c["graph"].update(fit={}), 'the "fit" has no "algorithm"'),
        (lambda c: c["graph"].update(fit={"rows": "many"}), '"rows" of the "fit" must be int | float'),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_named(change, said):
    with pytest.raises(gml.GraphError) as error:
        parse_model(changed(change), "field.json")
    assert str(error.value).startswith("field.json: ")
    assert said in str(error.value)


@pytest.mark.parametrize("format", ["bif", "xmlbif", "net", "uai"])
def test_formats_of_joint_distributions_refuse_it(field, format):
    with pytest.raises(gml.GraphError, match="holds a joint distribution, and a conditional"):
        MODEL_WRITERS[format](field)


def test_the_class_of_a_file_is_named(field, tmp_path):
    field.to_file(tmp_path / "field.json")
    with pytest.raises(
        gml.GraphError, match="a conditional random field, which gml.ConditionalField"
    ):
        gml.BayesNet.from_file(tmp_path / "field.json")
    with pytest.raises(
        gml.GraphError, match="a conditional random field, which gml.ConditionalField"
    ):
        gml.MarkovNet.from_file(tmp_path / "field.json")
    gml.fit("sample_data/asia.csv", "sample_data/asia.dot").to_file(tmp_path / "net.json")
    with pytest.raises(gml.GraphError, match="a directed model, which gml.BayesNet"):
        gml.ConditionalField.from_file(tmp_path / "net.json")


def test_strongest_features_are_in_the_gauge(field):
    found = strongest_features(field)
    sizes = [abs(weight) for _, weight in found]
    assert sizes == sorted(sizes, reverse=True)
    weights = dict(found)
    assert weights["e=e1", "x=x2"] == field.gauged["e", "x"][1, 2]
    # Of two levels only the last is there.
    assert ("a=a1", "x=x0") in weights and ("a=a0", "x=x0") not in weights
    assert weights["a=a1",] == field.gauged["a",][1]


def test_notebooks_show_it(field):
    shown = field._repr_html_()
    assert "Conditional random field: 2 targets given 5 inputs" in shown
    assert "e=e1" in shown and "3 folds" in shown


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ([], "target 'y' has no feature of its own"),
        (["q"], "variable 'q' not found"),
        (["yx", "xy"], "two features over"),
        (["yxz"], "must be over one or two variables"),
        (["zx"], "has no target"),
    ],
)
def test_fields_that_cannot_be(features, said):
    known = {name: variable(name, 2) for name in "yxzq"}
    made = [
        Potential(tuple(known[name] for name in scope), np.zeros((2,) * len(scope)))
        for scope in features
    ]
    with pytest.raises(gml.GraphError, match=said):
        ConditionalField((known["y"],), (known["x"], known["z"]), tuple(made))
    with pytest.raises(gml.GraphError, match="lists a variable twice"):
        ConditionalField((known["y"],), (known["y"],), ())
    with pytest.raises(gml.GraphError, match="not finite"):
        infinite = Potential((known["y"],), np.array([0.0, -np.inf]))
        ConditionalField((known["y"],), (), (infinite,))
