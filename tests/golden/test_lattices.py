"""Gibbs sampling and annealing on square lattices against transfer matrices and published figures."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gml.model.undirected.chains.annealing import annealed_log_z
from gml.model.undirected.chains.gibbs import GibbsChains
from tests.lattices import free_lattice_moments, lattice

CRITICAL = math.log(1 + math.sqrt(2)) / 2


def test_the_transfer_matrix_itself():
    log_z, means = free_lattice_moments(4, 0.2)
    assert log_z == pytest.approx(11.581576909341, abs=1e-12)
    step = 1e-5
    above, below = (free_lattice_moments(4, 0.2 + sign * step)[0] for sign in (1, -1))
    assert sum(means.values()) == pytest.approx((above - below) / (2 * step), rel=1e-8)


def z_scores(chains, pairs, wanted, *, burn_in, n_states, interval):
    """How many standard errors, from the means of the chains, products of spins are off; the last is their sum."""
    first, second = np.array(pairs).T
    chains.sweep(burn_in)
    sums = np.zeros((len(pairs) + 1, chains.n_chains))
    for _ in range(n_states):
        chains.sweep(interval)
        alike = 1 - 2.0 * (chains.states[first] ^ chains.states[second])
        sums[:-1] += alike
        sums[-1] += alike.sum(axis=0)
    means = sums / n_states
    errors = means.std(axis=1, ddof=1) / math.sqrt(chains.n_chains)
    return (means.mean(axis=1) - [*wanted, sum(wanted)]) / errors


@pytest.mark.parametrize("coupling", [0.2, CRITICAL, 0.6])
def test_gibbs_on_ten_by_ten(coupling):
    _, means = free_lattice_moments(10, coupling)
    terms, tables = lattice(10, coupling)
    chains = GibbsChains(terms, terms.generators, tables, n_chains=1024, seed=1)
    wanted = [means[pair] for pair in terms.generators]
    z = z_scores(chains, terms.generators, wanted, burn_in=20_000, n_states=300, interval=10)
    # Of 181 normal ones, the largest is beyond 4.14 in 1 run of 160, and with this seed it is not.
    assert np.abs(z).max() < 4.14
    assert abs(z[-1]) < 2.6
    # Errors that are too wide would hide a wrong law: the scores spread as standard normal ones do.
    assert 0.7 < np.sqrt((z[:-1] ** 2).mean()) < 1.35


@pytest.mark.parametrize(
    ("coupling", "wanted"), [(0.2, 7.298165913), (CRITICAL, 25.049980602)], ids=["0.2", "critical"]
)
def test_gibbs_on_the_torus(coupling, wanted):
    terms, tables = lattice(4, coupling, torus=True)
    chains = GibbsChains(terms, terms.generators, tables, n_chains=1024, seed=2)
    chains.sweep(1000)
    ones = [table / coupling for table in tables]
    sums = np.zeros(chains.n_chains)
    for _ in range(400):
        chains.sweep(3)
        sums += chains.log_weights(terms.generators, ones)
    means = sums / 400
    error = means.std(ddof=1) / math.sqrt(chains.n_chains)
    assert abs(means.mean() - wanted) < 3 * error < 0.15


FIGURES = [
    (0.2, True, 11.771470358542),
    (CRITICAL, True, 15.521915458755),
    (0.2, False, 11.581576909341),
]


@pytest.mark.parametrize(("coupling", "torus", "wanted"), FIGURES)
def test_annealing_on_four_by_four(coupling, torus, wanted):
    terms, tables = lattice(4, coupling, torus=torus)
    found = annealed_log_z(terms, terms.generators, tables, steps=300, seed=3)
    assert abs(found.log_z - wanted) < 3 * found.error < 0.05
    assert found.samples > 500


def test_annealing_on_ten_by_ten():
    terms, tables = lattice(10, 0.3)
    found = annealed_log_z(terms, terms.generators, tables, steps=400, chains=512)
    assert abs(found.log_z - free_lattice_moments(10, 0.3)[0]) < 3 * found.error < 0.06
