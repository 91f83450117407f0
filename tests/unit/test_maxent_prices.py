"""Maximum entropy next to 0 and on it: small probabilities, and multipliers that are open."""

import numpy as np
import pytest

import gml
from gml.data.dataset import Variable
from gml.errors import CannotAnswer, DataError
from gml.formats.reports.undirected import dump_markov_text
from gml.model.entropy.constraints import Constraints, Expectation
from gml.model.entropy.dual import TreeDual
from gml.model.entropy.polytope import Polytope
from gml.model.entropy.problem import problem_of
from gml.model.undirected.fitting import OutOfTime
from gml.model.undirected.from_tables import LogTable, markov_of_tables

FACES = {str(face): face for face in range(1, 7)}
LEVELS = {"A": ["n", "y"], "B": ["n", "y"], "die": [*FACES]}


def solved(*constraints, **keywords):
    return gml.maxent({"variables": LEVELS, "constraints": list(constraints)}, **keywords)


def multipliers(net):
    return [one["multiplier"] for one in net.learning["maxent"]["constraints"]]


# ---------------------------------------------------------------------- next to 0


def test_a_small_part_of_a_small_probability():
    net = solved(
        {"probability": {"B": "y"}, "equals": 1e-6},
        {"probability": {"A": "y"}, "given": {"B": "y"}, "equals": 1e-4},
    )
    assert net.learning["maxent"]["n_zeros"] == 0
    assert net.query("B")["B"]["y"] == pytest.approx(1e-6, rel=1e-9)
    assert net.query("A", {"B": "y"})["A"]["y"] == pytest.approx(1e-4, rel=1e-9)
    assert net.query("A", {"B": "n"})["A"]["y"] == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize("p", [1e-8, 1e-10, 1e-15, 1e-30])
@pytest.mark.parametrize("relation", ["equals", "at_most"])
def test_a_small_probability_and_its_price(relation, p):
    net = solved({"probability": {"A": "y"}, relation: p})
    assert net.query("A")["A"]["y"] == pytest.approx(p, rel=1e-6)
    (found,) = multipliers(net)
    wanted = np.log((1 - p) / p)
    assert found == pytest.approx(wanted if relation == "at_most" else -wanted, rel=1e-9)


def test_a_small_cell_of_a_margin_beside_other_constraints():
    net = solved(
        {"margin": ["A"], "probabilities": {"n": 1 - 1e-11, "y": 1e-11}},
        {"probability": {"B": "y"}, "given": {"A": "y"}, "at_most": 0.2},
        {"expectation": {"B": {"y": 1}}, "equals": 0.25},
    )
    assert net.query("A")["A"]["y"] == pytest.approx(1e-11, rel=1e-4)
    assert net.query("B", {"A": "y"})["B"]["y"] == pytest.approx(0.2, rel=1e-4)


def test_what_a_margin_gives_is_not_0_however_little_it_is():
    net = solved(
        {"margin": ["A"], "probabilities": {"n": 1.0, "y": 1e-18}},
        {"expectation": {"die": FACES}, "equals": 6},
    )
    assert net.query("A")["A"]["y"] > 0
    assert net.learning["maxent"]["zeros"] == [{"die": face} for face in "12345"]


@pytest.mark.parametrize("relation", ["equals", "at_most"])
def test_what_has_to_be_0_is_0(relation):
    net = solved({"probability": {"A": "y", "B": "y"}, relation: 0})
    assert net.learning["maxent"]["zeros"] == [{"A": "y", "B": "y"}]
    assert net.query("A", {"B": "n"})["A"]["y"] == pytest.approx(0.5)


# ---------------------------------------------------------------------- multipliers


def test_equal_bounds_share_their_price_evenly():
    net = solved(*[{"expectation": {"die": FACES}, "at_least": 4.5}] * 2)
    assert multipliers(net) == pytest.approx([0.371048938081 / 2] * 2, rel=1e-9)


def test_bounds_that_say_the_same_in_other_words_share_evenly():
    net = solved(
        {"probability": {"A": "y"}, "at_most": 0.2},
        {"expectation": {"A": {"n": 1}}, "at_least": 0.8},
    )
    assert multipliers(net) == pytest.approx([np.log(4) / 2] * 2, rel=1e-9)


def test_multiples_share_so_that_squares_are_least():
    twice = {face: 2 * number for face, number in FACES.items()}
    net = solved(
        {"expectation": {"die": FACES}, "at_least": 4.5},
        {"expectation": {"die": twice}, "at_least": 9},
    )
    assert multipliers(net) == pytest.approx([0.371048938081 / 5, 0.742097876162 / 5], rel=1e-9)


def test_the_tighter_of_two_bounds_has_the_whole_price():
    net = solved(
        {"expectation": {"die": FACES}, "at_least": 4},
        {"expectation": {"die": FACES}, "at_least": 4.5},
    )
    assert multipliers(net) == pytest.approx([0, 0.371048938081], abs=1e-11)


def test_shares_of_bounds_do_not_depend_on_their_order():
    bounds = [
        {"probability": {"A": "y"}, "at_most": 0.2},
        {"margin": ["B"], "probabilities": {"n": 0.4, "y": 0.6}},
        {"expectation": {"A": {"n": 3}, "B": {"y": 1}}, "at_least": 3.0},
    ]

    def prices(net):
        found = net.learning["maxent"]["constraints"]
        return {one["relation"]: one["multiplier"] for one in found if "relation" in one}

    one, other = prices(solved(*bounds)), prices(solved(*bounds[::-1]))
    assert one == pytest.approx(other, rel=1e-9)
    assert one["<="] / one[">="] == pytest.approx(1 / 3)


@pytest.mark.parametrize("relation", ["equals", "at_least"])
def test_a_limit_that_leaves_one_level_has_no_price(relation):
    net = solved({"expectation": {"die": FACES}, relation: 6})
    assert multipliers(net) == [None]


def test_two_that_force_zeros_together_have_no_price_and_others_do():
    net = solved(
        {"probability": {"A": "y"}, "equals": 0.3},
        {"probability": {"A": "y", "B": "y"}, "equals": 0.3},
        {"probability": {"B": "y"}, "equals": 0.4},
        {"expectation": {"die": FACES}, "equals": 4.5},
    )
    assert net.learning["maxent"]["zeros"] == [{"A": "y", "B": "n"}]
    first, second, *others = multipliers(net)
    assert (first, second) == (None, None)
    assert others == pytest.approx([-np.log(6), 0.371048938081], rel=1e-9)


def test_what_is_given_of_the_impossible_costs_nothing():
    with pytest.warns(gml.GmlWarning, match=r"P\(A='y'\)\) makes what is given impossible"):
        net = solved(
            {"probability": {"A": "y"}, "equals": 0},
            {"probability": {"B": "y"}, "given": {"A": "y"}, "equals": 0.3},
            {"expectation": {"die": FACES}, "at_most": 5},
        )
    assert multipliers(net) == [None, 0.0, 0.0]


def test_an_infinite_price_is_said_in_text():
    net = solved({"expectation": {"die": FACES}, "equals": 6})
    assert "E[die] = 6    infinite" in dump_markov_text(net)


def test_a_price_that_was_not_found_out_in_time_is_not_called_infinite(monkeypatch):
    def too_late(*_):
        raise OutOfTime("too late")

    monkeypatch.setattr(Polytope, "can_be_more", too_late)
    net = solved({"expectation": {"die": FACES}, "equals": 6})
    [one] = net.learning["maxent"]["constraints"]
    assert one["multiplier"] is None
    assert one["multiplier_known"] is False
    assert "E[die] = 6   not known" in dump_markov_text(net)


def test_how_far_constraints_must_be_missed_is_asked_for_once(monkeypatch):
    asked = []

    def recorded(self, deadline, chosen=None, *, miss=Polytope.miss):
        asked.append(chosen)
        return miss(self, deadline, chosen)

    monkeypatch.setattr(Polytope, "miss", recorded)
    net = solved(
        {"probability": {"A": "y"}, "equals": 0.3},
        {"probability": {"A": "y", "B": "y"}, "equals": 0.3},
    )
    assert multipliers(net) == [None, None]
    assert asked == [None]


# ---------------------------------------------------------------------- contradictions


@pytest.fixture
def never_y():
    """A reference that excludes A=y."""
    variables = [Variable(name, tuple(levels)) for name, levels in LEVELS.items()]
    table = LogTable((variables[0],), np.array([0.0, -np.inf]))
    return markov_of_tables(variables, [table])


def test_a_contradiction_is_not_blamed_on_the_reference(never_y):
    with pytest.raises(DataError, match="these 2 constraints contradict .*constraint 1 .*and cons"):
        solved(
            {"probability": {"A": "y"}, "equals": 0.3},
            {"probability": {"A": "y"}, "equals": 0.5},
            reference=never_y,
        )


def test_a_reference_that_is_to_blame_is_blamed(never_y):
    with pytest.raises(CannotAnswer, match=r"the reference leaves nothing that meets constraint 2"):
        solved(
            {"expectation": {"die": FACES}, "equals": 4.5},
            {"probability": {"A": "y"}, "equals": 0.5},
            reference=never_y,
        )


# ---------------------------------------------------------------------- the dual


def test_a_hessian_is_that_of_its_point_whatever_was_asked_before():
    die = Expectation({"die": FACES}, "=", 4.5)
    dual = TreeDual(problem_of(Constraints((die,))))
    one, other = dual.at(np.array([0.5])), dual.at(np.array([-1.0]))
    at_one = dual.hessian(one)
    tables = dual.clique_tables(one)
    assert dual.hessian(other) != pytest.approx(at_one)
    assert dual.hessian(one) == pytest.approx(at_one, rel=1e-15)
    dual.log_z_of_reference()
    np.testing.assert_array_equal(dual.clique_tables(one)[0], tables[0])
