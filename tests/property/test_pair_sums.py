"""Sums over the states of models of pairs: kernel, reference and definition agree."""

from __future__ import annotations

import numpy as np
import pytest

from gml.data.dataset import Variable
from gml.kernel import reference
from gml.kernel.layout import PAIR_BITS
from gml.model.entropy.pair_margins import PairMargins
from gml.model.undirected.terms import Terms
from tests.instructions import INSTRUCTIONS, kernel_with

STATES = 1 << PAIR_BITS


def random_parts(seed, n_blocks, size):
    rng = np.random.default_rng(seed)
    inner = np.exp(-np.abs(rng.normal(0, size, STATES)))
    couplings = rng.normal(0, size, (PAIR_BITS, PAIR_BITS))
    return (
        rng.normal(0, size, STATES),
        inner / inner.max(),
        couplings,
        rng.normal(0, 3 * size, (n_blocks, 1 + 2 * PAIR_BITS)),
    )


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("size", [0.1, 1.0, 5.0])
def test_the_kernel_adds_as_its_reference(instructions, size):
    parts = random_parts(7, 3, size)
    with kernel_with("portable") as kernel:
        portable = kernel.pair_sums(*parts)
    with kernel_with(instructions) as kernel:
        found = kernel.pair_sums(*parts)
    for one, other in zip(found, portable, strict=True):
        assert np.array_equal(one, other)
    for one, other in zip(found, reference.pair_sums(*parts), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=0)


def model(seed, n, size, *, step=1):
    """Tables of pairs of n variables, all or some of them, and of all single ones."""
    rng = np.random.default_rng(seed)
    variables = [Variable(f"v{k:02}", ("n", "y")) for k in range(n)]
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)][::step]
    scopes = [*((k,) for k in range(n)), *pairs]
    terms = Terms.of(variables, [[variables[k].name for k in scope] for scope in pairs])
    return terms, scopes, [rng.normal(0, size, (2,) * len(scope)) for scope in scopes]


def test_margins_are_those_of_the_joint_table():
    n = 22
    terms, scopes, tables = model(3, n, 0.6, step=7)
    found = PairMargins(terms, scopes).of(tables)
    logs = np.zeros((2,) * n)
    for scope, table in zip(scopes, tables, strict=True):
        logs += table.reshape([2 if k in scope else 1 for k in range(n)])
    top = logs.max()
    weights = np.exp(logs - top)
    assert found.log_z == pytest.approx(top + np.log(weights.sum()), rel=1e-13)
    weights /= weights.sum()
    for scope, margin in list(zip(scopes, found.margins, strict=True))[::9]:
        others = tuple(k for k in range(n) if k not in scope)
        np.testing.assert_allclose(margin, weights.sum(axis=others), atol=1e-13)


def test_no_number_of_threads_shows():
    terms, scopes, tables = model(5, 25, 0.3)
    one, three = (PairMargins(terms, scopes, threads=threads).of(tables) for threads in (1, 3))
    assert one.log_z == three.log_z
    assert all(np.array_equal(a, b) for a, b in zip(one.margins, three.margins, strict=True))
