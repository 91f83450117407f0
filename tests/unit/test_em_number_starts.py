"""EM for numbers that begins with a model that it is given."""

import numpy as np
import pytest

from gml.model.em.em_report import EmSettings
from gml.model.em.fitting import fit_em
from gml.model.sample import sample
from tests.mixed_networks import random_mixed
from tests.numbers_with_holes import with_holes


def settings(restarts=1, **given):
    return EmSettings(restarts=restarts, information=False, expected_counts=False, **given)


def rows_of(seed):
    rng = np.random.default_rng(seed)
    net = random_mixed(rng, 2, 3, most_levels=2, scale=1e3)
    return net, with_holes(rng, sample(net, 400, seed=seed), 0.3)


@pytest.mark.parametrize("seed", range(2))
def test_a_climb_goes_on_from_a_given_model(seed):
    net, data = rows_of(seed)
    whole = fit_em(net.graph, data, settings=settings())
    rough = fit_em(net.graph, data, settings=settings(enough=1e-4))
    on = fit_em(net.graph, data, settings=settings(start=rough.net))
    again = fit_em(net.graph, data, settings=settings(start=whole.net))
    assert whole.report.steps > again.report.steps
    for found in (on, again):
        assert found.report.converged
        assert found.report.objective == pytest.approx(whole.report.objective, rel=1e-9)


def test_it_stands_in_for_the_first_of_several_starts():
    net, data = rows_of(0)
    drawn = fit_em(net.graph, data, settings=settings(restarts=3, most_steps=1))
    given = fit_em(net.graph, data, settings=settings(restarts=3, most_steps=1, start=net))
    assert len(given.report.ends) == 3
    assert given.report.ends[1:] == drawn.report.ends[1:]
    assert given.report.ends[0] != drawn.report.ends[0]
