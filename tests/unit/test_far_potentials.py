"""Undirected models whose factors lie further apart than the numbers that a double holds."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest

from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer, GmlWarning
from gml.formats.uai import dump_uai
from gml.model.compare import kl_divergence
from gml.model.inference import Inference
from gml.model.markovnet import MarkovNet
from gml.model.table_elimination import TableElimination
from gml.model.undirected.conversion import directed_model
from gml.model.undirected.directed import directed
from gml.model.undirected.likelihood import log_partition
from gml.model.undirected.potential import Potential
from gml.pictures.page.posteriors import posteriors_of

A, B, C, D = (Variable(name, ("n", "y")) for name in "ABCD")

TRIANGLE = MarkovNet(
    (A, B, C),
    (
        Potential((A, B), np.array([[800.0, 0.0], [0.0, 0.0]])),
        Potential((B, C), np.array([[0.0, -800.0], [0.0, 0.0]])),
        Potential((A, C), np.array([[0.0, 400.0], [800.0, -800.0]])),
    ),
)
"""Three rows at 800; the largest cells of two factors together are at 400."""

REMOTE = MarkovNet(
    (A, B), (Potential((A,), np.array([900.0, -900.0])), Potential((A, B), np.eye(2)))
)


def log_joint(net):
    """ln P of every row of levels, by adding the terms up."""
    sizes = [len(variable.levels) for variable in net.variables]
    total = np.zeros(sizes)
    for potential in net.potentials:
        axes = [net.names.index(name) for name in potential.names]
        order = sorted(range(len(axes)), key=axes.__getitem__)
        shape = [sizes[k] if k in axes else 1 for k in range(len(sizes))]
        total = total + potential.table.transpose(order).reshape(shape)
    return total - log_total(total)


def log_total(logs):
    """ln of the sum of exponentials."""
    return float(np.logaddexp.reduce(logs, axis=None))


def far_model(rng, scale, zeros):
    """Pairs over four nodes, with normal terms of a scale and perhaps impossible cells."""
    variables = tuple(Variable(name, tuple("uvw"[: int(rng.integers(2, 4))])) for name in "ABCD")
    potentials = []
    for i, j in [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)][: int(rng.integers(3, 6))]:
        table = rng.normal(scale=scale, size=[len(variables[k].levels) for k in (i, j)])
        if zeros:
            table[0, 0] = -math.inf
        potentials.append(Potential((variables[i], variables[j]), table))
    return MarkovNet(variables, tuple(potentials))


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("scale", [100, 300, 1000])
def test_answers_are_those_of_the_sum_of_logarithms(scale, zeros):
    for seed in range(12):
        net = far_model(np.random.default_rng([seed, scale]), scale, zeros)
        logs = log_joint(net)
        inference = Inference(net)
        assert inference.joint("ABCD")[0] == pytest.approx(np.exp(logs), abs=1e-9)
        best = inference.mpe()
        found = tuple(v.levels.index(best.levels[v.name]) for v in net.variables)
        assert logs[found] == pytest.approx(logs.max(), abs=1e-9)
        given = np.exp(logs[1] - log_total(logs[1]))
        marginals, log_evidence = inference.posterior({"A": "v"})
        assert log_evidence == pytest.approx(log_total(logs[1]), rel=1e-12, abs=1e-9)
        assert marginals["B"] == pytest.approx(given.sum(axis=(1, 2)), abs=1e-9)
        rows, log_p = inference.marginals_of_rows("D", "A", np.array([[1], [-1]]))
        assert rows["D"][0] == pytest.approx(given.sum(axis=(0, 1)), abs=1e-9)
        assert rows["D"][1] == pytest.approx(np.exp(logs).sum(axis=(0, 1, 2)), abs=1e-9)
        assert log_p == pytest.approx([log_evidence, 0.0], rel=1e-12, abs=1e-9)


def test_a_product_that_is_lost_within_a_step_comes_back():
    names = [f"x{k}" for k in range(40)]
    ends = [Variable(name, ("n", "y")) for name in names]
    # Half of the ends pull one way, the other half back: what is left of A is a tie.
    pulls = [
        Potential((A, end), np.array([[0.0, 0.0], [sign, sign]]))
        for end, sign in zip(ends, [-60.0] * 20 + [60.0] * 20, strict=True)
    ]
    net = MarkovNet((A, *ends), tuple(pulls))
    assert Inference(net).marginals(targets=["A"])["A"] == pytest.approx([0.5, 0.5], abs=1e-9)
    seen = Inference(net).marginals(dict.fromkeys(names, "n"), ["A"])
    assert seen["A"] == pytest.approx([0.5, 0.5], abs=1e-9)


def test_near_potentials_stay_with_the_kernel(monkeypatch):
    monkeypatch.setattr(TableElimination, "_in_logarithms", None)
    rng = np.random.default_rng(0)
    # A long chain spans much altogether, but little in each step.
    chain = [Variable(f"x{k:03}", ("n", "y")) for k in range(300)]
    pairs = itertools.pairwise(chain)
    net = MarkovNet(
        tuple(chain), tuple(Potential(pair, rng.normal(scale=3, size=(2, 2))) for pair in pairs)
    )
    assert math.isfinite(log_partition(net))
    assert math.isfinite(directed(net).log_z)


def test_draws_and_scores_do_not_contradict_the_factors():
    rows = directed(TRIANGLE).net.sample(300, seed=1)
    codes = np.column_stack(rows.columns)
    assert {tuple(row) for row in codes.tolist()} == {(0, 0, 0), (1, 0, 0), (1, 1, 0)}
    one = Dataset(TRIANGLE.variables, tuple(np.array([k], np.uint8) for k in (0, 0, 1)))
    assert TRIANGLE.log_likelihood(one) == pytest.approx(-400 - math.log(3))
    assert log_partition(TRIANGLE) == pytest.approx(800 + math.log(3))


def test_a_possible_level_is_not_called_impossible():
    answer = REMOTE.query("B", {"A": "y"})
    assert answer.log_evidence == pytest.approx(-1800)
    assert answer["B"]["y"] == pytest.approx(math.e / (1 + math.e))


def test_a_divergence_is_finite_where_all_is_possible():
    near = MarkovNet((A, B), (Potential((A, B), np.eye(2)),))
    assert kl_divergence(near, REMOTE).total == pytest.approx(900 - math.log(2), rel=1e-3)


@pytest.mark.parametrize("far", [-600.0, -735.0, -743.0, -760.0, -5000.0])
def test_tables_given_improbable_parents_are_those_of_the_model(far):
    shares = np.array([[0.3, 0.7], [0.9, 0.1]])
    net = MarkovNet(
        (A, B), (Potential((B,), np.array([0.0, far])), Potential((B, A), np.log(shares)))
    )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = {cpd.variable.name: cpd for cpd in directed_model(net).cpds}
    assert [v.name for v in found["A"].parents] == ["B"]
    assert found["A"].table.ravel() == pytest.approx(shares.ravel(), abs=1e-12)
    assert found["B"].table[0, 1] == pytest.approx(math.exp(far), rel=1e-12, abs=1e-310)
    # The one cell that a double cannot hold, and no other.
    assert [str(warning.message)[:24] for warning in said] == ["1 cell of the tables is "] * (
        math.exp(far) == 0
    )


def test_files_say_what_they_cannot_hold():
    with pytest.warns(GmlWarning, match="2 cells of the tables are possible, but too improbable"):
        net = directed_model(REMOTE)
    assert net.cpds[0].table.tolist() == [[1.0, 0.0], [1.0, 0.0]]
    with pytest.warns(GmlWarning, match="2 cells of the factors are possible, but too small"):
        dump_uai(REMOTE)


def test_a_page_does_not_multiply_what_it_would_lose():
    found = posteriors_of(TRIANGLE)
    assert found.mode == "precomputed"
    assert found.why is not None and "too far apart" in found.why
    assert found.prior["A"] == pytest.approx([1 / 3, 2 / 3])
    assert found.given is not None
    assert found.given["B"]["y"]["A"] == pytest.approx([0.0, 1.0])


def test_factors_that_exclude_everything_are_not_evidence():
    never = [Potential((A,), np.array(cells)) for cells in ([0.0, -math.inf], [-math.inf, 0.0])]
    net = MarkovNet((A, B), tuple(never))
    for ask in (net.query, net.mpe, lambda: net.query("B", {"A": "y"})):
        with pytest.raises(CannotAnswer, match="the factors exclude everything"):
            ask()
