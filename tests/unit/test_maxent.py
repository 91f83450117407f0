"""Maximum entropy over labels: known figures, projections, bounds, faces, and what is refused."""

from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import pytest

import gml
from gml.errors import CannotAnswer, DataError, UsageError
from gml.formats.models import MODEL_WRITERS
from gml.model.undirected.divergence import undirected_divergence
from tests.entropy_problems import joint_of
from tests.log_linear_fits import counter_of_table

FACES = {str(face): face for face in range(1, 7)}
STUDENTS = (("alcohol", "cigarettes"), ("alcohol", "marijuana"), ("cigarettes", "marijuana"))


def report(net):
    return net.learning["maxent"]


def margins_of(table, scopes, names="ABCDEFGH"):
    """Margins of a joint table as a file has them."""
    found = []
    for scope in scopes:
        others = tuple(axis for axis in range(table.ndim) if axis not in scope)
        own = table.sum(axis=others)
        cells = {}
        for codes, value in np.ndenumerate(own):
            inner = cells
            for code in codes[:-1]:
                inner = inner.setdefault(str(code), {})
            inner[str(codes[-1])] = float(value)
        found.append({"margin": [names[axis] for axis in scope], "counts": cells})
    return found


def test_the_die_of_jaynes():
    net = gml.maxent([{"expectation": {"die": FACES}, "equals": 4.5}])
    found = report(net)
    assert found["constraints"][0]["multiplier"] == pytest.approx(0.371048938081, abs=1e-12)
    assert found["entropy"] == pytest.approx(1.613581098154, abs=1e-12)
    wanted = [0.05435317, 0.07877155, 0.11415998, 0.16544680, 0.23977444, 0.34749407]
    assert joint_of(net, ["die"]).tolist() == pytest.approx(wanted, abs=5e-9)
    assert found["divergence"] is None
    assert found["residual"] <= 1e-12


def test_pairs_of_the_student_survey_are_maximum_likelihood():
    counts = np.array([911, 3, 44, 2, 538, 43, 456, 279.0]).reshape(2, 2, 2).T
    net = gml.maxent(margins_of(counts, list(combinations(range(3), 2))))
    fitted = joint_of(net, ["A", "B", "C"]) * counts.sum()
    assert fitted[0, 0, 0] == pytest.approx(910.38317, abs=5e-6)
    for pair, wanted in (("AB", 0.513633523548), ("AC", 0.746503610476), ("BC", 0.7119722985)):
        assert net.potential(*pair).table[0, 0] == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_maximum_entropy_is_the_maximum_likelihood_of_the_margins(seed):
    """With and without zeros, decomposable and not."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(2, 4, 4)
    table = rng.poisson(4 if seed % 2 else 0.8, shape).astype(float)
    scopes = [(0, 1), (1, 2), (2, 3)] + [(0, 3)] * (seed % 3 > 0)
    counter = counter_of_table(table)
    with_rows = gml.mrf(counter, clique=[["ABCD"[axis] for axis in scope] for scope in scopes])
    declared = {
        "ABCD"[axis]: [str(code) for code in range(size)] for axis, size in enumerate(shape)
    }
    net = gml.maxent({"variables": declared, "constraints": margins_of(table, scopes)})
    np.testing.assert_allclose(
        joint_of(net, list("ABCD")), joint_of(with_rows, list("ABCD")), atol=1e-8
    )


def test_a_face_with_positive_margins():
    """All pairs are positive, and yet two cells have to be 0."""
    table = np.array([0, 5, 7, 3, 4, 6, 8, 0.0]).reshape(2, 2, 2)
    net = gml.maxent(margins_of(table, list(combinations(range(3), 2))))
    np.testing.assert_allclose(joint_of(net, list("ABC")), table / table.sum(), atol=1e-9)
    assert report(net)["n_zeros"] == 2
    assert report(net)["zeros"] == [
        {"A": "0", "B": "0", "C": "0"},
        {"A": "1", "B": "1", "C": "1"},
    ]
    assert sum(potential.is_boundary for potential in net.potentials) == 1


def test_an_expectation_at_its_limit_leaves_one_level():
    net = gml.maxent([{"expectation": {"die": FACES}, "equals": 6}])
    assert joint_of(net, ["die"]).tolist() == [0, 0, 0, 0, 0, 1]
    assert report(net)["entropy"] == 0
    assert report(net)["n_zeros"] == 5


def test_a_certain_level_conditions_the_reference(asia):
    """Projecting on P(xray=yes) = 1 is what evidence does."""
    net = gml.maxent([{"probability": {"xray": "yes"}, "equals": 1}], asia)
    for name in ("lung", "smoke", "bronc"):
        wanted = asia.query(name, {"xray": "yes"})[name]
        assert net.query(name)[name] == pytest.approx(wanted, abs=1e-10)
    log_p = math.log(asia.query("xray")["xray"]["yes"])
    assert report(net)["divergence"] == pytest.approx(-log_p, abs=1e-9)


def test_an_uncertain_level_is_the_rule_of_jeffrey(asia):
    """Projecting on a margin mixes what evidence on each level would give."""
    net = gml.maxent([{"margin": ["xray"], "probabilities": {"yes": 0.4, "no": 0.6}}], asia)
    given = {level: asia.query("lung", {"xray": level})["lung"] for level in ("yes", "no")}
    wanted = 0.4 * given["yes"]["yes"] + 0.6 * given["no"]["yes"]
    assert net.query("lung")["lung"]["yes"] == pytest.approx(wanted, abs=1e-10)
    same = gml.maxent(
        [{"margin": ["xray"], "probabilities": dict(asia.query("xray")["xray"])}], asia
    )
    assert report(same)["divergence"] == pytest.approx(0, abs=1e-12)
    assert same.query("lung")["lung"] == pytest.approx(asia.query("lung")["lung"], abs=1e-12)


def test_divergence_is_what_compare_finds(asia):
    wanted = [
        {"margin": ["lung", "smoke"], "counts": {"no": {"no": 5, "yes": 3}, "yes": {"yes": 2}}}
    ]
    net = gml.maxent(wanted, asia)
    assert report(net)["divergence"] == pytest.approx(undirected_divergence(net, asia)[0], abs=1e-9)


def test_bounds_hold_where_they_matter():
    low, high = (
        gml.maxent([{"expectation": {"die": FACES}, key: value}])
        for key, value in (("at_most", 5), ("at_least", 4.5))
    )
    assert joint_of(low, ["die"]) == pytest.approx(np.full(6, 1 / 6), abs=1e-12)
    assert report(low)["constraints"][0]["multiplier"] == 0
    assert report(low)["constraints"][0]["slack"] == pytest.approx(1.5)
    assert report(high)["constraints"][0]["multiplier"] == pytest.approx(0.371048938081, abs=1e-10)
    upper = gml.maxent([{"expectation": {"die": FACES}, "at_most": 2.5}])
    assert report(upper)["constraints"][0]["multiplier"] == pytest.approx(0.371048938081, abs=1e-10)
    assert report(upper)["constraints"][0]["slack"] == pytest.approx(0, abs=1e-9)


def test_conditional_probabilities():
    net = gml.maxent(
        {
            "variables": {"rain": ["no", "yes"], "clouds": ["no", "yes"]},
            "constraints": [
                {"probability": {"rain": "yes"}, "given": {"clouds": "yes"}, "equals": 0.6},
                {"probability": {"rain": "yes"}, "given": {"clouds": "no"}, "at_most": 0.1},
                {"probability": {"clouds": "yes"}, "equals": 0.3},
            ],
        }
    )
    assert net.query("rain", {"clouds": "yes"})["rain"]["yes"] == pytest.approx(0.6, abs=1e-9)
    assert net.query("rain", {"clouds": "no"})["rain"]["yes"] == pytest.approx(0.1, abs=1e-9)
    assert net.query("clouds")["clouds"]["yes"] == pytest.approx(0.3, abs=1e-9)


def test_a_variable_without_constraints_is_even():
    net = gml.maxent(
        {
            "variables": {"A": ["n", "y"], "B": ["1", "2", "3"]},
            "constraints": [{"margin": ["A"], "counts": [1, 3]}],
        }
    )
    assert joint_of(net, ["A", "B"]) == pytest.approx(np.outer([0.25, 0.75], [1 / 3] * 3))


def test_the_order_of_constraints_and_names_does_not_matter():
    rng = np.random.default_rng(3)
    table = rng.dirichlet(np.ones(24)).reshape(2, 3, 4)
    constraints = margins_of(table, [(0, 1), (1, 2), (0, 2)])
    constraints.append({"expectation": {"A": {"1": 1}, "C": {"2": 2}}, "at_most": 0.9})
    joints = [
        joint_of(gml.maxent([constraints[k] for k in order]), list("ABC"))
        for order in ((0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2))
    ]
    for other in joints[1:]:
        np.testing.assert_allclose(other, joints[0], atol=1e-12)


def test_redundant_constraints_change_nothing():
    one = {
        "margin": ["A", "B"],
        "probabilities": {"0": {"0": 0.1, "1": 0.2}, "1": {"0": 0.3, "1": 0.4}},
    }
    single = {"margin": ["A"], "probabilities": {"0": 0.3 + 2e-12, "1": 0.7 - 2e-12}}
    mean = {"expectation": {"A": {"1": 1}}, "equals": 0.7}
    alone, with_more = (gml.maxent(given) for given in ([one], [one, one, single, mean, mean]))
    np.testing.assert_allclose(
        joint_of(with_more, list("AB")), joint_of(alone, list("AB")), atol=1e-10
    )
    assert report(with_more)["constraints"][3]["multiplier"] == 0
    # Shares of two equal margins are equal, and together what one has alone.
    halves = [report(with_more)["constraints"][k]["multipliers"] for k in (0, 1)]
    assert halves[0] == halves[1]


def test_margins_that_disagree_are_named_with_the_difference():
    pair = {"margin": ["A", "B"], "probabilities": {"0": {"0": 0.5}, "1": {"1": 0.5}}}
    single = {"margin": ["B"], "probabilities": {"0": 0.500001, "1": 0.499999}, "name": "census"}
    with pytest.raises(DataError) as raised:
        gml.maxent([pair, single])
    assert str(raised.value) == (
        "the constraints: 'census': P(B='0') = 0.500001, which is 1e-06 more than the 0.5 of "
        "constraint 1 (the margin of 'A', 'B')"
    )


def test_three_margins_that_agree_in_pairs_can_contradict():
    """A = B, B = C, and A is not C."""
    same, other = {"0": {"0": 1}, "1": {"1": 1}}, {"0": {"1": 1}, "1": {"0": 1}}
    constraints = [
        {"margin": ["D"], "counts": {"0": 1, "1": 1}},
        {"margin": ["A", "B"], "counts": same, "name": "AB"},
        {"margin": ["B", "C"], "counts": same, "name": "BC"},
        {"margin": ["A", "C"], "counts": other, "name": "AC"},
    ]
    with pytest.raises(DataError) as raised:
        gml.maxent(constraints)
    assert str(raised.value) == (
        "the constraints: these 3 constraints contradict one another, and without any one of them "
        "the others do not: 'AB'; 'BC'; and 'AC'"
    )


def test_an_expectation_that_cannot_be():
    with pytest.raises(DataError, match="constraint 1 .* cannot hold: = 6.5 is beyond what the"):
        gml.maxent([{"expectation": {"die": FACES}, "equals": 6.5}])


def test_a_reference_that_excludes_what_is_needed():
    net = gml.maxent([{"expectation": {"die": FACES}, "equals": 6}])
    with pytest.raises(CannotAnswer, match="the reference leaves nothing that meets constraint 1"):
        gml.maxent([{"probability": {"die": "1"}, "at_least": 0.5}], net)


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ([{"expectation": {"A": {"y": 1}}, "equals": 0.5}], "'y' is the only level of 'A'"),
        (3, "must be a path, a dict, a list of constraints or a DataFrame, not an int"),
    ],
)
def test_refused(constraints, message):
    with pytest.raises((DataError, UsageError), match=message):
        gml.maxent(constraints)


def test_a_reference_of_numbers_is_refused():
    import pandas as pd

    frame = pd.DataFrame({"x": [1.0, 2, 3, 4.5], "y": [1.5, 2.5, 3.5, 4.6]})
    graph = gml.Graph.from_edges(["x", "y"], [("x", "-->", "y")])
    net = gml.fit(frame, graph, gaussian=True)
    with pytest.raises(UsageError, match="must be a model over labels"):
        gml.maxent([{"margin": "x", "counts": {"a": 1}}], net)


def test_trees_too_wide_are_refused():
    levels = {f"v{k:02}": ["a", "b", "c"] for k in range(20)}
    pairs = [
        {"probability": {one: "a", other: "a"}, "equals": 0.2}
        for one, other in combinations(levels, 2)
    ]
    with pytest.raises(CannotAnswer, match="the treewidth is 19 by min-fill"):
        gml.maxent({"variables": levels, "constraints": pairs})


def test_variables_of_one_level_add_no_terms():
    names = [f"v{k:02}" for k in range(20)]
    cells = {"a": 0.25, "b": 0.75}
    for name in names:
        cells = {"only": cells} if name != "v07" else cells
    nested = cells
    order = [*(name for name in names if name != "v07"), "v07"]
    net = gml.maxent([{"margin": order, "probabilities": nested}])
    assert net.query("v07")["v07"] == pytest.approx({"a": 0.25, "b": 0.75}, abs=1e-12)
    assert net.query("v00")["v00"] == {"only": 1.0}
    found = report(net)["constraints"][0]
    assert found["margin"] == order
    half = 0.5 * math.log(3)
    assert found["multipliers"] == pytest.approx([-half, half], abs=1e-12)
    assert len(net.potentials) == 20


def test_an_event_of_many_variables_of_one_level():
    levels = {f"v{k:02}": ["only"] for k in range(20)} | {"A": ["n", "y"]}
    event = dict.fromkeys(levels, "only") | {"A": "y"}
    net = gml.maxent({"variables": levels, "constraints": [{"probability": event, "equals": 0.75}]})
    assert net.query("A")["A"] == pytest.approx({"n": 0.25, "y": 0.75}, abs=1e-9)


@pytest.mark.parametrize("kind", ["margin", "probability"])
def test_terms_of_many_variables_are_refused(kind):
    names = [f"v{k:02}" for k in range(15)]
    levels = {name: ["a", "b"] for name in names}
    cells = 1.0
    for _ in names:
        cells = {"a": cells}
    constraint = {
        "margin": {"margin": names, "probabilities": cells},
        "probability": {"probability": dict.fromkeys(names, "a"), "equals": 0.5},
    }[kind]
    with pytest.raises(CannotAnswer, match="32647 terms of three or more variables, and the limit"):
        gml.maxent({"variables": levels, "constraints": [constraint]})


# ---------------------------------------------------------------------- all pairs of many


def pair_margins(joint, names):
    """Margins of all pairs, from probabilities of 1s and of pairs of them."""
    found = []
    for i, j in combinations(range(len(names)), 2):
        p, q, both = joint[i, i], joint[j, j], joint[i, j]
        cells = {"n": {"n": 1 - p - q + both, "y": q - both}, "y": {"n": p - both, "y": both}}
        found.append({"margin": [names[i], names[j]], "probabilities": cells})
    return found


@pytest.fixture(scope="module")
def many():
    """Rows of 24 variables that depend on one another."""
    rng = np.random.default_rng(4)
    factors, loadings = rng.normal(size=(3000, 2)), rng.normal(size=(2, 24))
    rows = (factors @ loadings + 2 * rng.normal(size=(3000, 24)) > 0).astype(float)
    return [f"v{k:02}" for k in range(24)], rows.T @ rows / len(rows)


def test_all_pairs_of_many_variables(many):
    names, joint = many
    bound = {"expectation": {"v03": {"y": 1}, "v04": {"y": 1}}, "at_most": 3, "name": "loose"}
    cap = {
        "probability": {"v00": "y", "v01": "y"},
        "at_most": float(joint[0, 1]) * 0.9,
        "name": "cap",
    }
    margins = [m for m in pair_margins(joint, names) if m["margin"] != ["v00", "v01"]]
    net = gml.maxent([*margins, bound, cap])
    found = report(net)
    assert found["algorithm"] == "quasi-newton"
    assert found["residual"] <= 1e-9
    loose, tight = found["constraints"][-2:]
    assert loose["multiplier"] == 0
    assert tight["multiplier"] > 0
    assert tight["slack"] == pytest.approx(0, abs=1e-9)
    # The same distribution, asked by the sampler: its rows have the margins.
    rows = gml.sample(net, 20_000, seed=1, chains=64, burn_in=200, thin=2)
    for name in ("v05", "v17"):
        codes = rows.columns[[v.name for v in rows.variables].index(name)]
        assert codes.mean() == pytest.approx(joint[names.index(name)][names.index(name)], abs=0.02)


def test_pairs_that_contradict_are_found_among_many(many):
    names, joint = many
    joint = joint.copy()
    for i, j in combinations((2, 7, 11), 2):
        joint[i, i] = joint[j, j] = 0.5
    # Each of two differs from the third, but they differ from one another, too.
    for i, j in combinations(range(24), 2):
        both = 0.02 if {i, j} <= {2, 7, 11} else joint[i, i] * joint[j, j]
        joint[i, j] = joint[j, i] = both
    with pytest.raises(DataError) as raised:
        gml.maxent(pair_margins(joint, names))
    for pair in ("'v02', 'v07'", "'v02', 'v11'", "'v07', 'v11'"):
        assert f"the margin of {pair}" in str(raised.value)
    assert "these 3 constraints contradict" in str(raised.value)


def test_zeros_are_not_for_all_pairs_of_many(many):
    names, joint = many
    shares = np.full(24, 0.3)
    joint = np.outer(shares, shares)
    np.fill_diagonal(joint, shares)
    joint[0, 1] = joint[1, 0] = 0
    with pytest.raises(
        CannotAnswer, match="'v00', 'v01'.*: a cell has the probability 0"
    ) as raised:
        gml.maxent(pair_margins(joint, names))
    assert str(raised.value).endswith(
        ", which cannot be solved for so many variables: the junction tree is too large"
    )


# ---------------------------------------------------------------------- files


def test_the_model_survives_its_file(tmp_path):
    net = gml.maxent([{"expectation": {"die": FACES}, "equals": 4.5, "name": "mean"}])
    net.to_file(tmp_path / "die.json")
    again = gml.read_model(tmp_path / "die.json")
    assert report(again) == report(net)
    assert again.learning.command == "maxent"
    np.testing.assert_array_equal(joint_of(again, ["die"]), joint_of(net, ["die"]))


def test_text_of_a_file_that_somebody_changed(tmp_path):
    """What is not as gml writes it is left out, and nothing breaks."""
    net = gml.maxent([{"margin": ["A"], "counts": {"n": 1, "y": 3}}])
    net.to_file(tmp_path / "a.json")
    content = json.loads((tmp_path / "a.json").read_text())
    odd = {
        "entropy": "large",
        "zeros": [3, {"A": 1}],
        "constraints": [
            None,
            {"margin": [3]},
            {"multiplier": "x", "probability": 3},
            {"margin": ["A"], "multipliers": ["x"]},
        ],
    }
    for changed in (odd, 3, None, {"constraints": {}}):
        content["graph"]["learning"]["maxent"] = changed
        (tmp_path / "b.json").write_text(json.dumps(content))
        with pytest.warns(gml.GmlWarning, match="changed since it was written"):
            again = gml.read_model(tmp_path / "b.json")
        assert "1 node" in MODEL_WRITERS["text"](again)


@pytest.mark.parametrize("offset", [0, 1000, 2018, 10**6, 10**9])
def test_numbers_may_begin_anywhere(offset):
    numbers = {str(offset + face): offset + face for face in range(1, 7)}
    net = gml.maxent([{"expectation": {"year": numbers}, "equals": offset + 4.5}])
    p = net.query("year")["year"]
    assert [p[name] for name in numbers] == pytest.approx(
        [0.05435317, 0.07877155, 0.11415998, 0.16544680, 0.23977444, 0.34749407], abs=5e-9
    )
    found = net.learning["maxent"]["constraints"][0]
    assert found["multiplier"] == pytest.approx(0.371048938081, abs=1e-9)
    assert found["value"] == pytest.approx(offset + 4.5, rel=1e-12)


def test_a_mean_beyond_far_numbers_is_a_contradiction():
    numbers = {str(10**4 + face): 10**4 + face for face in range(1, 7)}
    with pytest.raises(DataError, match="cannot hold"):
        gml.maxent([{"expectation": {"year": numbers}, "equals": 10**4 + 6.00001}])


def test_constraints_in_a_frame():
    import pandas as pd

    frame = pd.DataFrame({"sex": ["m", "f"], "count": [490, 510]})
    assert gml.maxent(frame).query("sex")["sex"]["m"] == pytest.approx(0.49, rel=1e-12)
