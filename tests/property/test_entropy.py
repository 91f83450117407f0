"""Maximum entropy over labels: the conditions of a solution, and contradictions, at random."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from gml.errors import DataError
from gml.model.entropy.projection import project
from tests.entropy_problems import (
    joint_of,
    problem_of_size,
    random_constraint,
    random_joint,
    random_levels,
    random_reference,
    read,
    rows_of,
)

pytestmark = pytest.mark.filterwarnings("ignore:.* makes what is given impossible")

# `make bench-maxent` tries 2 000 and 500 of them.
N_FEASIBLE, N_CONTRADICTING, PER_TEST = 300, 100, 50


def log_shares(net, names):
    """Logarithms of the probabilities of all cells; 0 without a model."""
    if net is None:
        return 0.0
    with np.errstate(divide="ignore"):
        return np.log(joint_of(net, names).reshape(-1))


def require_solution(seed):
    """Solve a random problem, and hold it against the conditions of Karush, Kuhn and Tucker."""
    rng = np.random.default_rng(seed)
    levels, joint, constraints = problem_of_size(rng, zeros=rng.random() < 0.3)
    reference = random_reference(rng, levels, joint) if rng.random() < 0.4 else None
    net = project(read(levels, constraints), reference)
    names = list(levels)
    p = joint_of(net, names).reshape(-1)
    report = net.learning["maxent"]
    exponent = np.zeros(p.size)
    for constraint, told in zip(constraints, report["constraints"], strict=True):
        rows = list(rows_of(constraint, levels))
        multipliers = told["multipliers"] if "margin" in constraint else [told["multiplier"]]
        for (feature, relation, value), multiplier in zip(rows, multipliers, strict=True):
            size = max(1.0, np.abs(feature).max())
            slack = float(feature @ p - value) * (-1 if relation == "<=" else 1)
            if multiplier is None:
                assert p[feature > 0].sum() == 0
                continue
            if relation == "=":
                assert abs(slack) <= 1e-9 * size
            else:
                assert slack >= -1e-9 * size
                assert multiplier >= 0
                assert multiplier * max(slack, 0.0) <= 1e-8
                assert told["slack"] == pytest.approx(slack, abs=1e-9)
            exponent += (-multiplier if relation == "<=" else multiplier) * feature
    on = p > 0
    assert (
        np.ptp((np.log(np.where(on, p, 1)) - log_shares(reference, names) - exponent)[on]) <= 1e-8
    )
    assert report["residual"] <= 1e-9
    assert report["entropy"] == pytest.approx(-float(p[on] @ np.log(p[on])), abs=1e-9)
    require_pythagoras(joint.reshape(-1), p, log_shares(reference, names), constraints)
    return levels, constraints, reference, p


def require_pythagoras(q, p, log_reference, constraints):
    """D(q‖p₀) = D(q‖p) + D(p‖p₀) under equations alone; at least that with bounds."""
    log_reference = np.broadcast_to(log_reference, q.shape)

    def divergence(one, log_other):
        on = one > 0
        return float(one[on] @ (np.log(one[on]) - log_other[on]))

    with np.errstate(divide="ignore"):
        log_p = np.log(p)
    apart = divergence(q, log_reference) - divergence(q, log_p) - divergence(p, log_reference)
    if any(key in constraint for constraint in constraints for key in ("at_most", "at_least")):
        assert apart >= -1e-8
    else:
        assert apart == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("first", range(0, N_FEASIBLE, PER_TEST))
def test_solutions(first):
    for seed in range(first, first + PER_TEST):
        require_solution(seed)


def test_cells_that_become_impossible_have_to_be():
    n_checked = 0
    for seed in range(5000, 5150):
        levels, constraints, reference, p = require_solution(seed)
        allowed = np.isfinite(np.broadcast_to(log_shares(reference, list(levels)), p.shape))
        for cell in np.flatnonzero((p == 0) & allowed)[:2]:
            goal = np.zeros(p.size)
            goal[cell] = -1
            bounds = [(0, 1 if ok else 0) for ok in allowed]
            assert -programme(levels, constraints, goal, bounds).fun <= 1e-8
            n_checked += 1
    assert n_checked > 10


@pytest.mark.parametrize("seed", range(40))
def test_cells_that_a_solution_may_have_are_not_0(seed):
    rng = np.random.default_rng(seed)
    levels = random_levels(rng)
    shape = [len(labels) for labels in levels.values()]
    joint = np.maximum(rng.dirichlet(np.full(np.prod(shape), 0.08)), 1e-11)
    joint = (joint / joint.sum()).reshape(shape)
    constraints = [random_constraint(rng, levels, joint) for _ in range(rng.integers(1, 5))]
    net = project(read(levels, constraints))
    assert net.learning["maxent"]["residual"] <= 1e-9
    assert (joint_of(net, list(levels)) > 0).all()


def programme(levels, constraints, goal, bounds=(0, None)):
    """A linear programme over the joint table."""
    equal, above = [(np.ones(goal.size), 1.0)], [(np.zeros(goal.size), 0.0)]
    for constraint in constraints:
        for feature, relation, value in rows_of(constraint, levels):
            if relation == "=":
                equal.append((feature, value))
            else:
                sign = 1 if relation == "<=" else -1
                above.append((sign * feature, sign * value))
    a_eq, b_eq = (np.array(part) for part in zip(*equal, strict=True))
    a_ub, b_ub = (np.array(part) for part in zip(*above, strict=True))
    return linprog(goal, a_ub, b_ub, a_eq, b_eq, bounds, method="highs")


def can_hold(levels, constraints):
    cells = int(np.prod([len(found) for found in levels.values()]))
    return programme(levels, constraints, np.zeros(cells)).status == 0


def require_contradiction(seed):
    """Solve constraints of different distributions; say whether they contradicted one another."""
    rng = np.random.default_rng(10**6 + seed)
    levels = random_levels(rng)
    constraints = [
        random_constraint(rng, levels, random_joint(rng, levels, zeros=rng.random() < 0.2))
        for _ in range(rng.integers(2, 6))
    ]
    for k, constraint in enumerate(constraints):
        constraint["name"] = f"c{k}"
    possible = can_hold(levels, constraints)
    if possible:
        project(read(levels, constraints))
        return False
    with pytest.raises(DataError) as raised:
        project(read(levels, constraints))
    named = [c for c in constraints if f"'{c['name']}'" in str(raised.value)]
    assert not can_hold(levels, named)
    for one in named:
        assert can_hold(levels, [other for other in named if other is not one])
    return True


@pytest.mark.parametrize("part", range(2))
def test_contradictions_are_named_by_an_irreducible_set(part):
    n_found, seed = 0, 10_000 * part
    while n_found < N_CONTRADICTING // 2:
        seed += 1
        n_found += require_contradiction(seed)
