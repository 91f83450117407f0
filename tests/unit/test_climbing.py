"""Climbs by EM: they never fall, end where the gradient is 0, and know it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gml.model.em.climbing import Climbs, Collapsed, Step, climb, climb_from
from gml.progress import Deadline


class TwoCoins:
    """Rows of m throws of one of two coins: the share of the first coin, and how they fall."""

    def __init__(self, heads, m):
        self.heads, self.m = np.asarray(heads, float), m

    def log_terms(self, at):
        share, first, second = at
        return [
            math.log(weight) + self.heads * math.log(p) + (self.m - self.heads) * math.log(1 - p)
            for weight, p in ((share, first), (1 - share, second))
        ]

    def value(self, at):
        return float(np.logaddexp(*self.log_terms(at)).sum())

    def step(self, at):
        a, b = self.log_terms(at)
        total = np.logaddexp(a, b)
        w = np.exp(a - total)
        new = [
            w.mean(),
            (w * self.heads).sum() / (w.sum() * self.m),
            ((1 - w) * self.heads).sum() / ((1 - w).sum() * self.m),
        ]
        return Step(float(total.sum()), np.array(new))

    def admitted(self, wanted, near):
        return wanted if ((wanted > 0) & (wanted < 1)).all() else None


def plain(problem, at, steps):
    for _ in range(steps):
        at = problem.step(at).parameters
    return at


@pytest.mark.parametrize("seed", range(40))
def test_climbs_never_fall_and_end_at_a_stationary_point(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 12))
    p = np.where(rng.random(300) < rng.uniform(0.2, 0.8), *rng.uniform(0.15, 0.85, 2))
    problem = TwoCoins(rng.binomial(m, p), m)
    found = climb(problem, rng.uniform(0.2, 0.8, 3))
    assert found.converged and found.flaw is None
    gains = np.diff(found.objectives)
    assert (gains >= -1e-12 * abs(found.objective)).all()
    assert found.objective == found.objectives[-1] == problem.value(found.parameters)
    # The gradient by differences, where the maximum is inside.
    at = found.parameters
    if (np.minimum(at, 1 - at) > 1e-3).all():
        for k in range(3):
            h = np.zeros(3)
            h[k] = 1e-5
            slope = (problem.value(at + h) - problem.value(at - h)) / 2e-5
            curvature = (
                problem.value(at + h) - 2 * problem.value(at) + problem.value(at - h)
            ) / 1e-10
            assert abs(slope) <= 1e-3 + 1e-6 * abs(curvature)
    # No plain step of EM goes anywhere from here.
    assert np.abs(plain(problem, at, 200) - at).max() <= 1e-7


def test_acceleration_ends_where_plain_steps_end_and_sooner():
    rng = np.random.default_rng(5)
    m = 4
    problem = TwoCoins(rng.binomial(m, np.where(rng.random(400) < 0.5, 0.42, 0.62)), m)
    start = np.array([0.4, 0.3, 0.7])
    found = climb(problem, start)
    slow = plain(problem, start, 60_000)
    assert found.converged
    np.testing.assert_allclose(found.parameters, slow, atol=1e-7)
    assert found.steps < 6_000


@pytest.mark.parametrize("enough", [1e-3, 1e-5, 1e-7])
def test_a_climb_for_the_height_alone_ends_sooner_and_does_not_claim_the_end(enough):
    rng = np.random.default_rng(5)
    problem = TwoCoins(rng.binomial(4, np.where(rng.random(400) < 0.5, 0.42, 0.62)), 4)
    start = np.array([0.4, 0.3, 0.7])
    whole, rough = climb(problem, start), climb(problem, start, enough=enough)
    assert rough.steps < whole.steps and not rough.converged
    assert rough.remaining_gain <= enough
    # Aitken estimates what is left; it does not bound it.
    assert 0 <= whole.objective - rough.objective <= 1e-3 * abs(whole.objective)
    assert climb_from(problem, [start], 1, enough=enough).best.objective == rough.objective


def test_a_climb_that_is_cut_short_says_so():
    problem = TwoCoins([0, 1, 1, 2, 3, 4, 4], 4)
    start = np.array([0.4, 0.3, 0.7])
    cut = climb(problem, start, most_steps=4)
    assert not cut.converged and cut.in_time and cut.steps <= 6
    late = climb(problem, start, deadline=Deadline(0))
    assert not late.converged and not late.in_time
    assert late.objective == problem.value(start)


def test_a_climb_has_converged_only_when_plain_steps_have_confirmed_its_end():
    problem = TwoCoins([0, 1, 1, 2, 3, 4, 4], 4)
    start = np.array([0.4, 0.3, 0.7])
    whole = climb(problem, start)
    cuts = [climb(problem, start, most_steps=steps) for steps in range(1, whole.steps)]
    assert whole.converged and not any(cut.converged for cut in cuts)
    # The last of these found four times that nothing is left.
    assert [max(cut.remaining_gain, cut.remaining_change) <= 1e-9 for cut in cuts[-5:]] == [
        False,
        *[True] * 4,
    ]


class Fragile(TwoCoins):
    """Refuses to be where a coin nearly always falls on one side."""

    def step(self, at):
        if at[1] < 0.1:
            raise Collapsed("the first coin")
        return super().step(at)


def test_ends_that_collapse_are_never_the_best():
    heads = [0] * 20 + [1] * 10 + [5, 6, 7, 8] * 10
    starts = [np.array([0.5, 0.2, 0.7]), np.array([0.5, 0.7, 0.2]), np.array([0.4, 0.6, 0.3])]
    found = climb_from(Fragile(heads, 10), starts, 3)
    assert [one.flaw for one in found.all] == ["the first coin", None, None]
    assert found.best is found.all[1]
    assert found.times_best == 2 and len(found.flawed) == 1
    none = climb_from(Fragile(heads, 10), starts[:1], 1)
    assert isinstance(none, Climbs) and none.best.flaw == "the first coin"
    assert not none.best.converged


class Flat:
    def step(self, at):
        return Step(-3.0, at.copy())

    def admitted(self, wanted, near):
        return wanted


def test_nothing_to_climb_is_an_end():
    start = np.array([0.25, 0.75])
    found = climb(Flat(), start)
    assert found.converged and found.objective == -3.0 and found.remaining_change == 0
    # The first step, and five that find that nothing is left.
    assert found.steps == 6
    # Heights are found by three steps, and the parameters of the best by five more.
    several = climb_from(Flat(), [start, start], 2)
    assert several.best.converged and [one.steps for one in several.all] == [10, 4]
    cut = climb_from(Flat(), [start, start], 2, most_steps=9)
    assert not cut.best.converged


def test_of_several_starts_only_the_best_goes_on_to_its_end():
    heads = [0] * 20 + [1] * 10 + [5, 6, 7, 8] * 10
    problem = TwoCoins(heads, 10)
    starts = [np.array([0.5, 0.2, 0.7]), np.array([0.4, 0.6, 0.3]), np.array([0.3, 0.45, 0.5])]
    found = climb_from(problem, starts, 3)
    alone = climb(problem, starts[0])
    assert found.best is found.all[0] and found.times_best == 3
    assert found.best.converged and found.best.remaining_change <= 1e-9
    assert found.best.parameters == pytest.approx(alone.parameters, abs=1e-8)
    for one in found.all:
        heights = np.array(one.objectives)
        assert (np.diff(heights) >= -1e-12 * abs(heights[-1])).all()
        assert one.objective == pytest.approx(alone.objective, rel=1e-8)
