"""Undirected models, asked: against sums over all rows of levels, and models with arrows."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings

import gml
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer, DataError, GmlWarning, GraphError, UsageError
from gml.graph.chordal import moral_graph, perfect_sequence
from gml.model.bayesnet import CPT, BayesNet
from gml.model.compare import kl_divergence
from gml.model.likelihood import log_likelihood
from gml.model.markovnet import MarkovNet
from gml.model.query import query
from gml.model.undirected.conversion import directed_model, undirected_model
from gml.model.undirected.potential import Potential
from gml.model.undirected.quality.summary import FitSummary
from gml.model.undirected.terms import Terms
from tests.model_files import joint_of, random_gaussian, random_markov_net, random_network
from tests.unit.test_model_formats import SEEDS

A, B, C, D = (Variable(name, ("n", "y")) for name in "ABCD")


def ising(*pairs):
    """A model of couplings ±0.5."""
    variables = sorted({end for pair in pairs for end in pair}, key=lambda v: v.name)
    table = np.array([[0.5, -0.5], [-0.5, 0.5]])
    return MarkovNet(tuple(variables), tuple(Potential(pair, table) for pair in pairs))


SQUARE = ising((A, B), (B, C), (C, D), (A, D))


def rows_of(net, n, seed=0):
    """Rows drawn evenly from the levels of a model, possible or not."""
    rng = np.random.default_rng(seed)
    columns = [
        rng.integers(len(variable.levels), size=n).astype(np.uint8) for variable in net.variables
    ]
    return Dataset(net.variables, tuple(columns))


# ---------------------------------------------------------------------- questions


@settings(max_examples=30)
@given(SEEDS)
def test_answers_are_sums_over_the_joint(seed):
    net = random_markov_net(np.random.default_rng(seed), "DBCA", "uvwx", zeros=True)
    joint = joint_of(net)
    observed = int(np.argmax(joint.sum(axis=(1, 2, 3))))
    evidence = {"D": net.variables[0].levels[observed]}
    share = joint[observed].sum()
    answer = net.query(evidence=evidence)
    assert answer.log_evidence == pytest.approx(math.log(share), abs=1e-12)
    for k, name in enumerate("BCA"):
        others = tuple(axis for axis in range(3) if axis != k)
        expected = joint[observed].sum(axis=others) / share
        np.testing.assert_allclose(answer[name].table, expected, atol=1e-13)
    np.testing.assert_allclose(
        net.query(["A", "B"], evidence).table, joint[observed].sum(axis=1).T / share, atol=1e-13
    )
    best = net.mpe(evidence)
    assert best.log_probability == pytest.approx(math.log(joint[observed].max() / share), abs=1e-12)
    pair = net.map(["B", "A"], evidence)
    most = joint[observed].sum(axis=1).max() / share
    assert pair.log_probability == pytest.approx(math.log(most), abs=1e-12)


def test_rows_are_predicted_as_the_joint_says():
    net = random_markov_net(np.random.default_rng(8), "ABC", "uvw")
    joint = joint_of(net)
    data = rows_of(net, 40)
    found = net.predict(data, "B")
    a, c = (np.asarray(data.columns[k], dtype=int) for k in (0, 2))
    given = joint[a, :, c]
    np.testing.assert_allclose(found.table, given / given.sum(axis=1, keepdims=True), rtol=1e-12)
    assert found.metrics is not None
    same = gml.query(net, "B", batch=data)
    np.testing.assert_array_equal(same["B"], found.table)


def test_an_intervention_needs_arrows():
    message = "`do` cuts nodes off from their parents, and an undirected model has none"
    with pytest.raises(UsageError, match=message):
        query(SQUARE, "A", do={"B": "y"})
    with pytest.raises(UsageError, match=message):
        gml.query(SQUARE, "A", do={"B": "y"}, batch=rows_of(SQUARE, 3))
    assert query(SQUARE, "A", do={})["A"]["y"] == pytest.approx(0.5, abs=1e-15)


def test_evidence_that_is_impossible_is_an_error():
    never = Potential((A,), np.array([0.0, -math.inf]), is_boundary=True)
    net = MarkovNet(SQUARE.variables, (*SQUARE.potentials, never))
    assert net.query("A")["A"].table.tolist() == [1.0, 0.0]
    with pytest.raises(CannotAnswer, match="the evidence has probability 0"):
        net.query("B", {"A": "y"})


def test_what_needs_arrows_says_so():
    with pytest.raises(GraphError, match=r"^gml draw .* needs a directed model.*\(`to='dag'`\)$"):
        gml.draw(SQUARE, kind="cpt", node="A")


# ---------------------------------------------------------------------- likelihood


@settings(max_examples=30)
@given(SEEDS)
def test_the_likelihood_is_that_of_every_row(seed):
    net = random_markov_net(np.random.default_rng(seed), "DBCA", "uvwx", zeros=seed % 3 == 0)
    data = rows_of(net, 30, seed)
    cells = joint_of(net)[tuple(np.asarray(column, dtype=int) for column in data.columns)]
    with np.errstate(divide="ignore"):
        expected = float(np.log(cells).sum())
    assert net.log_likelihood(data) == pytest.approx(expected, rel=1e-12)
    shuffled = Dataset(data.variables[::-1], data.columns[::-1])
    assert net.log_likelihood(shuffled) == net.log_likelihood(data)


def test_a_potential_far_from_0_keeps_its_digits():
    """The numbers themselves would overflow, or be 0."""
    far = Potential((A,), np.array([2000.0, 0.0]))
    net = MarkovNet((A,), (far,))
    data = Dataset((A,), (np.array([0, 0, 1], dtype=np.uint8),))
    assert net.log_likelihood(data) == -2000.0


def test_ln_z_of_the_fit_is_used_where_the_exact_one_does_not_fit():
    data = rows_of(SQUARE, 10)
    exact = SQUARE.log_likelihood(data)
    with pytest.raises(CannotAnswer, match="exact inference would take"):
        log_likelihood(SQUARE, data, max_memory=100)
    log_z = math.log(sum(math.exp(sum(p)) for p in _energies()))
    summary = FitSummary("pcd", "pcd", 10, 4, True, log_z=log_z + 0.25, log_z_error=0.3)
    told = dataclasses.replace(SQUARE, summary=summary)
    assert told.log_likelihood(data) == exact
    with pytest.warns(GmlWarning, match=r"that of the fit, by annealing, .* error of 0\.3: exact"):
        found = log_likelihood(told, data, max_memory=100)
    assert found == pytest.approx(exact - 10 * 0.25, abs=1e-12)


def _energies():
    for code in range(16):
        a, b, c, d = ((code >> k & 1) * 2 - 1 for k in range(4))
        yield 0.5 * a * b, 0.5 * b * c, 0.5 * c * d, 0.5 * a * d


def test_the_likelihood_needs_the_columns_and_levels_of_the_model():
    with pytest.raises(UsageError, match="no column for 'D'"):
        SQUARE.log_likelihood(rows_of(ising((A, B), (B, C)), 3))
    other = Variable("D", ("n", "z"))
    with pytest.raises(DataError, match="the levels of 'D' are different in the data"):
        SQUARE.log_likelihood(rows_of(MarkovNet((A, B, C, other), ()), 3))


# ---------------------------------------------------------------------- divergence


def relabelled(net, rng):
    """The same distribution with the levels of every node in another order."""
    orders = {v.name: rng.permutation(len(v.levels)) for v in net.variables}
    new = {
        v.name: Variable(v.name, tuple(v.levels[k] for k in orders[v.name])) for v in net.variables
    }
    potentials = []
    for potential in net.potentials:
        table = potential.table
        for axis, name in enumerate(potential.names):
            table = table.take(orders[name], axis)
        potentials.append(Potential(tuple(new[name] for name in potential.names), table))
    return MarkovNet(tuple(new[v.name] for v in reversed(net.variables)), tuple(potentials))


@settings(max_examples=30)
@given(SEEDS)
def test_the_divergence_is_a_sum_over_the_joint(seed):
    rng = np.random.default_rng(seed)
    p = random_markov_net(rng, "DBCA", "uv")
    q = MarkovNet(
        p.variables,
        tuple(
            Potential(potential.scope, rng.normal(size=potential.table.shape))
            for potential in random_markov_net(np.random.default_rng(seed + 1), "DBCA", "uv").potentials
            if all(variable in p.variables for variable in potential.scope)
        ),
    )  # fmt: skip
    one, two = joint_of(p), joint_of(q)
    expected = float((one * np.log(one / two)).sum())
    assert kl_divergence(p, q).total == pytest.approx(expected, abs=1e-12)
    assert kl_divergence(p, relabelled(q, rng)).total == pytest.approx(expected, abs=1e-12)
    assert kl_divergence(p, relabelled(p, rng)).total < 1e-12
    assert kl_divergence(p, q).nodes == {}


def test_a_divergence_is_infinite_where_the_second_excludes_what_the_first_allows():
    never = Potential((A, C), np.array([[0.0, 0.0], [0.0, -math.inf]]), is_boundary=True)
    less = MarkovNet(SQUARE.variables, (*SQUARE.potentials, never))
    found = kl_divergence(SQUARE, less)
    assert (found.total, found.excluded) == (math.inf, ("A", "C"))
    joint, part = joint_of(SQUARE), joint_of(less)
    held = part > 0
    expected = float((part[held] * np.log(part[held] / joint[held])).sum())
    assert kl_divergence(less, SQUARE).total == pytest.approx(expected, abs=1e-12)
    with pytest.warns(GmlWarning, match="KL is infinite, as it excludes what .* at 'A', 'C'"):
        gml.compare(SQUARE, less)


def test_models_of_numbers_or_other_levels_have_no_divergence():
    numbers = random_gaussian(np.random.default_rng(0), "ABCD")
    with pytest.raises(
        GraphError, match="node 'A' has levels in one network and numbers in the other"
    ):
        kl_divergence(SQUARE, numbers)
    other = MarkovNet((A, B, C, Variable("D", ("n", "z"))), ())
    with pytest.raises(GraphError, match="node 'D' has the levels"):
        kl_divergence(SQUARE, other)
    with pytest.raises(CannotAnswer, match="exact inference would take"):
        kl_divergence(SQUARE, SQUARE, max_memory=100)


# ---------------------------------------------------------------------- with arrows and without


@settings(max_examples=40)
@given(SEEDS)
def test_arrows_go_and_the_distribution_stays(seed):
    net = random_network(np.random.default_rng(seed), list("DBCA"), list("uvwx"))
    found = undirected_model(net)
    assert found.graph == dataclasses.replace(
        moral_graph(net.graph), attributes=found.graph.attributes
    )
    assert kl_divergence(net, found).total < 1e-12
    assert kl_divergence(found, net).total < 1e-12
    np.testing.assert_allclose(joint_of(found), joint_of(net), atol=1e-15)


@settings(max_examples=40)
@given(SEEDS)
def test_arrows_come_and_the_distribution_stays(seed):
    net = random_markov_net(np.random.default_rng(seed), "DBCA", "uvwx", zeros=seed % 2 == 0)
    if perfect_sequence(net.graph) is None:
        with pytest.raises(
            GraphError, match="the model is not decomposable: its graph has a cycle"
        ):
            directed_model(net)
        return
    found = directed_model(net)
    assert ((found.graph.marks != 0) == (net.graph.marks != 0)).all()
    assert kl_divergence(net, found).total < 1e-12
    assert kl_divergence(found, net).total < 1e-12
    assert kl_divergence(found, undirected_model(found)).total < 1e-12


def test_rows_that_add_up_only_after_rounding_make_no_difference():
    """Tables of other programs do; a network of them has the distribution of their shares."""
    tables = np.array([[0.5, 0.5 + 9e-10], [0.25, 0.75 - 9e-10]])
    net = BayesNet((CPT(A, (), np.array([[0.3, 0.7 + 5e-10]])), CPT(B, (A,), tables)))
    found = undirected_model(net)
    assert abs(kl_divergence(net, found).whole) < 1e-15
    assert abs(kl_divergence(found, net).whole) < 1e-15


def test_zeros_of_tables_stay_zeros():
    net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot", method="mle")
    found = undirected_model(net)
    assert (net.cpt("either").table == 0).any()
    with pytest.raises(CannotAnswer, match="probability 0"):
        found.query("asia", {"lung": "yes", "either": "no"})
    assert not any(potential.is_boundary for potential in found.potentials)


def test_a_row_that_cannot_occur_is_uniform():
    never = Potential((B,), np.array([0.0, -math.inf]), is_boundary=True)
    pair = ising((A, B))
    found = directed_model(MarkovNet(pair.variables, (*pair.potentials, never)))
    assert [parent.name for parent in found.cpt("A").parents] == ["B"]
    assert found.cpt("A").table[1].tolist() == [0.5, 0.5]


def test_what_is_impossible_may_tie_nodes_that_no_term_does():
    """Then the graph alone does not say which arrows there are."""
    tie = Potential((A, C), np.array([[0.0, 0.0], [0.0, -math.inf]]), is_boundary=True)
    chain = ising((A, B), (B, C))
    net = MarkovNet(chain.variables, (*chain.potentials, tie))
    assert net.graph.n_edges == 2
    with pytest.warns(GmlWarning, match="has 1 edge more than the model: .* joins 'A' and 'C', wh"):
        found = directed_model(net)
    assert found.graph.n_edges == 3
    assert kl_divergence(net, found).total < 1e-12


def test_numbers_have_no_undirected_model():
    with pytest.raises(GraphError, match="an undirected model is over labels"):
        undirected_model(random_gaussian(np.random.default_rng(0), "AB"))


def test_the_rows_behind_tables_go_along():
    counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    net = gml.fit(counter, gml.chow_liu(counter))
    found = undirected_model(net)
    for cpd in net.cpds:
        scope = sorted([cpd.variable.name, *(parent.name for parent in cpd.parents)])
        assert found.potential(*scope).counts.sum() == 5000
    again = directed_model(found)
    expected = gml.fit(counter, again.graph)
    for name in net.names:
        assert again.cpt(name).counts.tolist() == expected.cpt(name).counts.tolist()
        assert again.cpt(name).counts.dtype == np.int64
    assert directed_model(ising((A, B))).cpt("A").counts is None


def test_rows_that_contradict_each_other_do_not_go_along():
    table = np.full((1, 2), 0.5)
    cpds = [
        CPT(A, (), table, np.array([[5, 5]])),
        CPT(B, (A,), np.full((2, 2), 0.5), np.array([[1, 2], [1, 2]])),
    ]
    with pytest.warns(GmlWarning, match="the rows behind the tables do not go along: .* differ in"):
        net = undirected_model(BayesNet(tuple(cpds)))
    assert all(potential.counts is None for potential in net.potentials)


def test_provenance_and_training_go_along():
    net = gml.fit("sample_data/asia.csv", gml.chow_liu("sample_data/asia.csv"))
    found = undirected_model(net)
    assert (found.learning, found.training) == (net.learning, net.training)
    assert directed_model(found).learning == net.learning


def test_the_first_generator_that_contains_a_scope():
    terms = Terms.of([A, B, C, D], [["A", "B", "C"], ["B", "D"], ["C", "D"]])
    assert terms.generators == ((1, 3), (2, 3), (0, 1, 2))
    assert [terms.generator_of(s) for s in [(), (3,), (2,), (1, 2)]] == [
        (1, 3),
        (1, 3),
        (2, 3),
        (0, 1, 2),
    ]
    with pytest.raises(GraphError, match="no generator contains 'A', 'D'"):
        terms.generator_of((0, 3))
