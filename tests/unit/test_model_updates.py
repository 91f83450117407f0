"""Rows added to a fitted model, or taken away: the model of all rows at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gml
from gml.data.dataset import Variable, fractional_weights
from gml.errors import CannotAnswer, DataError, GraphError, UsageError
from gml.graph.provenance import Provenance
from gml.model.bayesnet import CPT, BayesNet
from gml.model.updating import UpdatedCounts
from tests.networks import random_net

pytestmark = pytest.mark.filterwarnings("ignore:.*never seen:gml.errors.GmlWarning")

HOW = [
    {},
    {"method": "bayes", "prior": "bdeu", "ess": 3.0},
    {"method": "bayes", "prior": "jeffreys", "intervals": 0.9},
]


def parts(seed, n=400, share=0.3):
    """A random network's rows, and which of them are new."""
    net = random_net(np.random.default_rng(seed), 6)
    rows = net.sample(n, seed=seed)
    return net.graph, rows, np.random.default_rng(seed).random(n) < share


def same_tables(one, other):
    for a, b in zip(one.cpds, other.cpds, strict=True):
        assert a.variable == b.variable
        assert a.parents == b.parents
        assert np.array_equal(a.table, b.table)
        assert np.array_equal(a.counts, b.counts)
        assert (a.intervals is None) == (b.intervals is None)
        assert a.intervals is None or np.array_equal(a.intervals, b.intervals)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("seed", range(5))
def test_rows_added_give_the_model_of_all_rows(seed, how):
    graph, rows, new = parts(seed)
    whole = gml.fit(rows, graph, **how)
    begun = gml.fit(rows.rows(~new), graph, **how)
    updated = gml.fit(rows.rows(new), begun, update=True)
    same_tables(updated, whole)
    assert updated.learning.rows == rows.n
    assert updated.learning.options == begun.learning.options
    same_tables(gml.fit(rows.rows(new), updated, forget=True), begun)


def test_the_order_of_parents_in_a_table_does_not_matter():
    graph, rows, new = parts(3)
    begun = gml.fit(rows.rows(~new), graph)
    cpds = [_turned(cpd) for cpd in begun.cpds]
    assert any(len(cpd.parents) > 1 for cpd in cpds)
    turned = BayesNet(tuple(cpds), learning=begun.learning)
    same_tables(gml.fit(rows.rows(new), turned, update=True), gml.fit(rows, graph))


def _turned(cpd):
    sizes = [len(parent.levels) for parent in cpd.parents]
    axes = [*reversed(range(len(sizes))), len(sizes)]

    def turn(cells):
        return cells.reshape(*sizes, -1).transpose(axes).reshape(cells.shape)

    return CPT(cpd.variable, cpd.parents[::-1], turn(cpd.table), turn(cpd.counts))


def test_weights_count_as_rows():
    graph, rows, new = parts(1)
    weights = np.random.default_rng(7).integers(0, 4, rows.n_rows)
    heavy = replace(rows, weights=weights)
    begun = gml.fit(heavy.rows(~new), graph)
    same_tables(gml.fit(heavy.rows(new), begun, update=True), gml.fit(heavy, graph))


def test_fractional_weights_add_up_and_vanish():
    graph, rows, new = parts(2)
    weights, unit = fractional_weights(np.random.default_rng(7).random(rows.n_rows))
    heavy = replace(rows, weights=weights, unit=unit)
    begun, whole = gml.fit(heavy.rows(~new), graph), gml.fit(heavy, graph)
    updated = gml.fit(heavy.rows(new), begun, update=True)
    for a, b in zip(updated.cpds, whole.cpds, strict=True):
        np.testing.assert_allclose(a.counts, b.counts, rtol=1e-13)
    back = gml.fit(heavy.rows(new), updated, forget=True)
    for a, b in zip(back.cpds, begun.cpds, strict=True):
        np.testing.assert_allclose(a.counts, b.counts, rtol=1e-11)
        assert np.array_equal(a.counts == 0, b.counts == 0)


@pytest.mark.parametrize("seed", range(6))
def test_rows_may_be_forgotten_in_other_parts_than_they_were_added(seed):
    rng = np.random.default_rng(seed)
    graph, rows, _ = parts(seed, 1500)
    weights = 10.0 ** rng.uniform(-3, 5, rows.n_rows)
    added, taken = rng.integers(0, 5, rows.n_rows), rng.integers(0, 3, rows.n_rows)

    def of(which):
        some, unit = fractional_weights(weights[which])
        return replace(rows.rows(which), weights=some, unit=unit)

    net = begun = gml.fit(of(added == 0), graph)
    for k in range(1, 5):
        net = gml.fit(of(added == k), net, update=True)
    for k in range(3):
        net = gml.fit(of((added > 0) & (taken == k)), net, forget=True)
    assert net.learning.rows == pytest.approx(begun.learning.rows, rel=1e-14)
    for a, b in zip(net.cpds, begun.cpds, strict=True):
        assert np.array_equal(a.counts == 0, b.counts == 0)


def test_more_than_rounding_is_no_rounding():
    graph, rows, _ = parts(8)

    def weighing(weight):
        weights, unit = fractional_weights(np.full(rows.n_rows, weight))
        return replace(rows, weights=weights, unit=unit)

    with pytest.raises(DataError, match="are to be forgotten"):
        gml.fit(weighing(0.7 + 1e-9), gml.fit(weighing(0.7), graph), forget=True)
    left = gml.fit(weighing(0.7 - 1e-9), gml.fit(weighing(0.7), graph), forget=True)
    assert left.learning.rows == pytest.approx(1e-9 * rows.n_rows, rel=1e-3)


@pytest.mark.parametrize(
    "said",
    [{}, {"rows": 400, "parts": [{"rows": "many"}]}, {"rows": 400, "parts": [{"rows": 5}]}],
)
def test_parts_that_do_not_add_up_are_not_believed(said):
    graph, rows, new = parts(9)
    begun = replace(gml.fit(rows, graph), learning=Provenance(said))
    assert gml.fit(rows.rows(new), begun, forget=True).learning.rows == 400 - new.sum()


def test_a_level_that_rows_do_not_know_is_refused():
    known = Variable("a", ("x", "y"))
    net = BayesNet((CPT(known, (), np.full((1, 2), 0.5), np.array([[3, 3]])),))
    rows = gml.Dataset((Variable("a", ("x",)),), (np.zeros(4, dtype=np.uint8),))
    with pytest.raises(DataError, match="column 'a' lacks the level 'y' of the model"):
        next(UpdatedCounts(net, gml.MemoryCounter(rows)).family_tables([(0, ())]))


def test_an_update_may_choose_another_prior():
    graph, rows, new = parts(4)
    begun = gml.fit(rows.rows(~new), graph)
    updated = gml.fit(rows.rows(new), begun, update=True, method="bayes", prior="k2")
    same_tables(updated, gml.fit(rows, graph, method="bayes", prior="k2"))


def test_the_parts_are_listed():
    graph, rows, new = parts(5)
    begun = gml.fit(rows.rows(~new), graph)
    back = gml.fit(rows.rows(new), gml.fit(rows.rows(new), begun, update=True), forget=True)
    n = int(new.sum())
    assert back.learning["parts"] == [
        {"rows": rows.n - n, "data": None},
        {"rows": n, "data": None},
        {"rows": n, "data": None, "forgotten": True},
    ]
    assert back.learning.rows == rows.n - n


def test_rows_that_were_never_counted_are_not_forgotten():
    graph, rows, new = parts(6)
    begun = gml.fit(rows.rows(~new), graph)
    twice = gml.MemoryCounter(replace(rows.rows(~new), weights=np.full(int((~new).sum()), 2)))
    with pytest.raises(DataError, match=r"the graph counts .* are to be forgotten"):
        gml.fit(twice, begun, forget=True)
    with pytest.raises(CannotAnswer, match="no rows would be left"):
        gml.fit(rows.rows(~new), begun, forget=True)


def test_what_has_no_counts_is_refused():
    graph, rows, new = parts(0)
    some = rows.rows(new)
    with pytest.raises(UsageError, match="needs a model of tables"):
        gml.fit(some, graph, update=True)
    net = gml.fit(some, graph)
    bare = BayesNet(tuple(replace(cpd, counts=None) for cpd in net.cpds))
    with pytest.raises(GraphError, match="no counts for"):
        gml.fit(some, bare, update=True)
    with pytest.raises(UsageError, match="choose one"):
        gml.fit(some, net, update=True, forget=True)
    with pytest.raises(UsageError, match="needs all rows of a model"):
        gml.fit(some, net, update=True, accept=True)
    expected = tuple(replace(cpd, expected_counts=cpd.counts * 1.0) for cpd in net.cpds)
    with pytest.raises(GraphError, match="fitted by EM"):
        gml.fit(some, BayesNet(expected), update=True)


def test_regressions_are_refused():
    reading = {"columns": ["district", "size", "rent"], "numeric": ["size", "rent"]}
    graph = gml.Graph.from_edges(("district", "size", "rent"), [("district", "-->", "rent")])
    net = gml.fit("sample_data/flats.csv", graph, **reading)
    with pytest.raises(GraphError, match="'size', 'rent' have regressions"):
        gml.fit("sample_data/flats.csv", net, update=True)
