"""Maximum entropy under bounds that leave one another no room, and their prices."""

import numpy as np
import pytest

import gml
from tests.entropy_problems import joint_of

FACES = [str(face) for face in range(1, 7)]


def bound(level, relation, value, name="d"):
    return {"probability": {name: level}, relation: value}


def solved(levels, *constraints):
    return gml.maxent({"variables": levels, "constraints": list(constraints)})


def prices(net):
    return [one.get("multiplier") for one in net.learning["maxent"]["constraints"]]


@pytest.mark.parametrize(
    "p",
    [
        [0.7, 0.3],
        [0.25, 0.25, 0.5],
        [0.29, 0.63, 0.08],
        [0.4, 0.3, 0.2, 0.1],
        [0.05, 0.15, 0.3, 0.5],
        [0.1] * 10,
    ],
)
@pytest.mark.parametrize("relation", ["at_most", "at_least"])
def test_bounds_of_all_cells_that_leave_one_distribution(p, relation):
    levels = [f"l{k}" for k in range(len(p))]
    net = solved(
        {"d": levels},
        *[bound(level, relation, share) for level, share in zip(levels, p, strict=True)],
    )
    np.testing.assert_allclose(joint_of(net, ["d"]), p, atol=1e-12)
    wanted = np.log(max(p) / np.array(p)) if relation == "at_most" else np.log(np.array(p) / min(p))
    assert prices(net) == pytest.approx(wanted.tolist(), abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_bounds_of_all_cells_at_random(seed):
    rng = np.random.default_rng(seed)
    counts = 1 + rng.multinomial(94, rng.dirichlet(np.full(6, 3.0)))
    p, relation = counts / 100, ["at_most", "at_least"][seed % 2]
    net = solved(
        {"d": FACES},
        *[bound(face, relation, share) for face, share in zip(FACES, p.tolist(), strict=True)],
    )
    wanted = np.log(p.max() / p) if relation == "at_most" else np.log(p / p.min())
    assert net.learning["maxent"]["entropy"] == pytest.approx(-(p @ np.log(p)), rel=1e-12)
    assert prices(net) == pytest.approx(wanted.tolist(), abs=1e-9)


def test_bounds_beside_a_margin():
    net = solved(
        {"A": ["n", "y"], "B": ["a", "b", "c"]},
        {"margin": ["A"], "probabilities": {"n": 0.4, "y": 0.6}},
        *[bound(k, "at_most", p, "B") for k, p in zip("abc", [0.29, 0.63, 0.08], strict=True)],
    )
    np.testing.assert_allclose(
        joint_of(net, ["A", "B"]), np.outer([0.4, 0.6], [0.29, 0.63, 0.08]), atol=1e-12
    )
    assert prices(net)[1:] == pytest.approx(np.log(0.63 / np.array([0.29, 0.63, 0.08])), abs=1e-9)


@pytest.mark.parametrize("most", [0.3, 0.3 + 5e-10])
@pytest.mark.parametrize("least", [0.3, 0.1 + 0.2, 0.3 + 1e-12])
def test_bounds_that_meet_but_for_rounding(most, least):
    net = solved({"d": FACES}, bound("1", "at_most", most), bound("1", "at_least", least))
    assert prices(net) == pytest.approx([0.0, np.log(0.3 * 5 / 0.7)], abs=1e-9)
    assert net.learning["maxent"]["residual"] <= 1e-9


def test_bounds_without_room_beside_one_that_forces_a_zero():
    most = dict(zip(FACES, [0.0, 0.4, 0.3, 0.15, 0.05, 0.1], strict=True))
    net = solved({"d": FACES}, *[bound(face, "at_most", value) for face, value in most.items()])
    first, *others = prices(net)
    assert first is None
    assert others == pytest.approx(np.log(0.4 / np.array([*most.values()][1:])), abs=1e-7)


def test_bounds_that_say_the_same_given_an_equation_share_their_price():
    net = solved(
        {"A": ["a", "b", "c"], "B": ["n", "y"]},
        bound("a", "at_least", 0.56, "A"),
        {"probability": {"A": "b", "B": "n"}, "at_most": 0.14},
        bound("b", "equals", 0.25, "A"),
        {"probability": {"A": "c", "B": "n"}, "at_most": 0.11},
        bound("c", "at_most", 0.19, "A"),
    )
    assert net.query("A")["A"]["a"] == pytest.approx(0.56, abs=1e-12)
    half = np.log(0.56 / 0.19) / 2
    found = prices(net)
    assert [found[k] for k in (0, 1, 3, 4)] == pytest.approx([half, 0, 0, half], abs=1e-9)


def test_a_bound_that_holds_by_chance_costs_nothing_beside_others_without_room():
    net = solved(
        {"A": ["a", "b", "c"], "B": ["n", "y"]},
        bound("b", "at_most", 0.4, "A"),
        bound("b", "at_least", 0.4, "A"),
        {"probability": {"A": "c", "B": "n"}, "at_most": 0.15},
    )
    assert prices(net) == pytest.approx([0.0, np.log(4 / 3), 0.0], abs=1e-9)


def test_the_price_of_a_conditional_probability_is_its_multiplier_times_that_of_what_is_given():
    def net_at(share):
        return solved(
            {"A": ["n", "y"], "B": ["n", "y"]},
            bound("y", "equals", 0.3, "B"),
            {"probability": {"A": "y"}, "given": {"B": "y"}, "equals": share},
        )

    step = 1e-5
    up, down = (net_at(0.2 + h).learning["maxent"]["entropy"] for h in (step, -step))
    assert (up - down) / (2 * step) == pytest.approx(-prices(net_at(0.2))[1] * 0.3, rel=1e-7)
