"""Scores of undirected graphs and models: as DAGs where one stands for them, else by fitting."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import gml
from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset, Variable
from gml.errors import GmlWarning, GraphError, UsageError
from gml.graph.chordal import perfect_sequence
from gml.graph.graph import Graph
from gml.model.heldout import held_out
from gml.model.likelihood import log_likelihood
from gml.model.markovnet import MarkovNet
from gml.model.undirected.potential import Potential
from gml.model.undirected.scoring import fit_smoothed, largest_log_likelihood
from gml.model.undirected.terms import Terms
from tests.graphs import random_undirected

STUDENTS = [911, 3, 44, 2, 538, 43, 456, 279]


def table_data(names, counts):
    """Weighted rows of a table of two levels each, the first variable fastest."""
    n = len(names)
    cells = np.arange(2**n)
    variables = tuple(Variable(name, ("yes", "no")) for name in names)
    columns = tuple((cells >> k & 1).astype(np.uint8) for k in range(n))
    return Dataset(variables, columns, np.array(counts))


def drawn_rows(seed, n, names):
    """Columns of two and three levels that depend on one another, and not every cell seen."""
    rng = np.random.default_rng(seed)
    columns = []
    for k in range(len(names)):
        column = rng.integers(0, 2 + k % 2, n)
        if columns:
            follow = rng.random(n) < 0.5
            column = np.where(follow, columns[int(rng.integers(k))] % (2 + k % 2), column)
        columns.append(column.astype(np.uint8))
    variables = [Variable(name, tuple("abc"[: 2 + k % 2])) for k, name in enumerate(names)]
    return Dataset(tuple(variables), tuple(columns))


def undirected(names, pairs):
    return Graph.from_edges(names, [(a, "---", b) for a, b in pairs], kind="undirected")


def model_of(variables, scopes):
    """A model with these terms; what it was fitted to does not matter to a score."""
    by_name = {variable.name: variable for variable in variables}
    potentials = []
    for scope in scopes:
        over = tuple(by_name[name] for name in scope)
        potentials.append(Potential(over, np.zeros([len(v.levels) for v in over])))
    return MarkovNet(tuple(variables), tuple(potentials))


def joint_table(data):
    shape = [len(variable.levels) for variable in data.variables]
    table = np.zeros(shape)
    weights = np.ones(data.n_rows) if data.weights is None else data.weights
    np.add.at(table, tuple(column.astype(int) for column in data.columns), weights)
    return table


def fitted_table(table, scopes):
    """Iterative proportional fitting of the joint table."""
    fitted = np.full(table.shape, 1 / table.size)
    for _ in range(3000):
        for scope in scopes:
            others = tuple(k for k in range(table.ndim) if k not in scope)
            ratio = table.sum(others, keepdims=True) / table.sum()
            fitted = fitted * ratio / fitted.sum(others, keepdims=True)
    return fitted


def saturated(counts):
    seen = np.array([count for count in counts if count], dtype=float)
    return float(np.sum(seen * np.log(seen / seen.sum())))


@pytest.mark.parametrize("seed", range(6))
def test_a_decomposable_graph_scores_as_its_dag(seed):
    rng = np.random.default_rng(seed)
    graph = random_undirected(rng, 6, 0.4)
    while perfect_sequence(graph) is None:
        graph = random_undirected(rng, 6, 0.4)
    data = drawn_rows(seed, 200, sorted(graph.names))
    names = ["loglik", "aic", "bic", "ebic", "bdeu", "qnml"]
    cliques = perfect_sequence(graph).cliques
    model = model_of(data.variables, [[graph.names[k] for k in clique] for clique in cliques])
    scored = gml.score(data, [graph, model], score=names)
    assert scored[0].scores == pytest.approx(scored[1].scores, abs=1e-9)
    assert scored[0].dim == scored[1].dim == model.terms.dimension
    fitted = largest_log_likelihood(MemoryCounter(data), model.terms)
    assert scored[0].scores["loglik"] == pytest.approx(fitted, abs=1e-6)
    assert scored[0].scores["bic"] == pytest.approx(
        fitted - 0.5 * math.log(200) * model.terms.dimension, abs=1e-6
    )


def test_the_terms_of_a_model_are_fitted_and_not_the_cliques_of_its_graph():
    """The student survey: all pairs leave G² 0.37398587 with one degree of freedom."""
    data = table_data(["A", "C", "M"], STUDENTS)
    names = ["loglik", "aic", "bic"]
    pairs = model_of(data.variables, ["AC", "AM", "CM"])
    by_name = {one.graph: one for one in gml.score(data, [pairs, pairs.graph], score=names)}
    found, whole = by_name["graph 1"], by_name["graph 2"]
    top = saturated(STUDENTS)
    assert whole.scores["loglik"] == pytest.approx(top, abs=1e-8)
    assert found.scores["loglik"] == pytest.approx(top - 0.37398587 / 2, abs=1e-7)
    assert (found.dim, whole.dim) == (6, 7)
    assert found.scores["aic"] == pytest.approx(found.scores["loglik"] - 6, abs=1e-9)
    half = 0.5 * math.log(sum(STUDENTS))
    assert found.scores["bic"] == pytest.approx(found.scores["loglik"] - 6 * half, abs=1e-9)
    best, _ = gml.score(data, [pairs.graph, pairs], score="bic")
    assert best.graph == "graph 2"


def test_a_maximum_at_infinity_has_a_likelihood():
    counts = [0, 5, 7, 3, 4, 6, 8, 0]
    data = table_data(["A", "B", "C"], counts)
    (scored,) = gml.score(data, model_of(data.variables, ["AB", "AC", "BC"]), score="loglik")
    assert scored.scores["loglik"] == pytest.approx(saturated(counts), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_a_cycle_is_scored_at_its_maximum(seed):
    names = ["d", "a", "c", "b"]
    data = drawn_rows(seed, 300, names)
    square = undirected(names, ["ab", "bc", "cd", "da"])
    table = joint_table(data)
    scopes = [(names.index(a), names.index(b)) for a, b in ("ab", "bc", "cd", "da")]
    fitted = fitted_table(table, scopes)
    seen = table > 0
    wanted = float(np.sum(table[seen] * np.log(fitted[seen])))
    penalised = gml.score(data, square, score=["loglik", "bic"], edge_penalty=2.0)[0]
    plain = gml.score(data, square, score=["loglik", "bic"])[0]
    assert plain.scores["loglik"] == pytest.approx(wanted, abs=1e-5)
    sizes = [len(variable.levels) for variable in data.variables]
    dim = sum(r - 1 for r in sizes) + sum((sizes[i] - 1) * (sizes[j] - 1) for i, j in scopes)
    assert plain.dim == dim
    for name, value in plain.scores.items():
        assert penalised.scores[name] == pytest.approx(value - 8, abs=1e-9)


def test_held_out_rows_are_predicted_by_a_smoothed_fit():
    names = ["d", "a", "c", "b"]
    train, test = drawn_rows(1, 60, names), drawn_rows(2, 500, names)
    pairs = ["ab", "bc", "cd", "da"]
    table = joint_table(train)
    scopes = [(names.index(a), names.index(b)) for a, b in pairs]
    for prior, rows in (("jeffreys", 0.5 * 9), ("k2", 9.0), ("bdeu", 1.0)):
        fitted = fitted_table(table + rows / table.size, scopes)
        wanted = -float(np.sum(joint_table(test) * np.log(fitted))) / 500
        (scored,) = gml.score(
            train,
            undirected(names, pairs),
            score=["loglik"],
            holdout=test,
            prior=prior,
        )
        assert scored.heldout == pytest.approx(wanted, abs=1e-7)


def test_graphs_are_judged_under_the_same_prior():
    """A clique beside them does not smooth a loop more than the graph with a chord."""
    names = ["d", "a", "c", "b", "e", "f"]
    train, test = drawn_rows(1, 60, names), drawn_rows(2, 300, names)
    beside = ["ef", "eb", "fb"]
    loop = undirected(names, ["ab", "bc", "cd", "da", *beside])
    chord = undirected(names, ["ab", "bc", "cd", "da", "ac", *beside])
    plain = {one.graph: one.heldout for one in gml.score(train, [loop, chord], holdout=test)}
    same = gml.score(train, [loop, chord], holdout=test, prior="bdeu")
    assert plain == {one.graph: one.heldout for one in same}
    assert gml.score(train, loop, holdout=test)[0].heldout == plain["graph 1"]
    alone = gml.score(train, chord, holdout=test)[0].heldout
    assert alone == gml.score(train, chord, holdout=test, prior="jeffreys")[0].heldout
    with pytest.warns(GmlWarning, match="of graph 1, which is not decomp.* not under the same"):
        gml.score(train, [loop, chord], holdout=test, prior="jeffreys")


def test_equivalent_priors_of_a_dag_and_of_its_undirected_graph():
    """Rows of bdeu, spread over the joint table, are those of its tables."""
    names = ["a", "b", "c"]
    train, test = drawn_rows(3, 40, names), drawn_rows(4, 100, names)
    chain = Graph.from_edges(names, [("a", "-->", "b"), ("b", "-->", "c")])
    dag, model = (
        held_out(chain, [(train, test)], factors=factors, prior="bdeu", ess=2.5).loss
        for factors in (None, [("a", "b"), ("b", "c")])
    )
    assert model == pytest.approx(dag, abs=1e-9)
    counter = MemoryCounter(train)
    whole = fit_smoothed(counter, Terms.of(train.variables, [names]))
    cells = joint_table(train) + 0.5
    wanted = float(np.sum(joint_table(train) * np.log(cells / cells.sum())))
    assert log_likelihood(whole, counter) == pytest.approx(wanted, abs=1e-6)


def test_columns_are_predicted_in_folds():
    names = ["d", "a", "c", "b"]
    data = drawn_rows(5, 200, names)
    square = undirected(names, ["ab", "bc", "cd", "da"])
    chain = undirected(names, ["ab", "bc", "cd"])
    found = gml.score(data, [square, chain], folds=4, predict="b")
    assert {one.graph for one in found} == {"graph 1", "graph 2"}
    for one in found:
        assert one.prediction.rows == 200
        assert 0 < one.prediction.log_loss < math.log(3)
        assert len(one.heldout_by_fold) == 4


def test_the_order_of_columns_and_of_edges_does_not_matter():
    names = ["a", "b", "c", "d"]
    data = drawn_rows(6, 300, names)
    found = set()
    for order in itertools.islice(itertools.permutations(range(4)), 0, 24, 7):
        turned = Dataset(
            tuple(data.variables[k] for k in order), tuple(data.columns[k] for k in order)
        )
        graph = undirected([names[k] for k in order], ["da", "ab", "cd", "bc"])
        found.add(gml.score(turned, graph)[0].scores["bic"].hex())
    assert len(found) == 1


def test_what_no_likelihood_tells_is_refused():
    names = ["a", "b", "c", "d"]
    data = drawn_rows(7, 50, names)
    square = undirected(names, ["ab", "bc", "cd", "da"])
    with pytest.raises(UsageError, match="graph 1: an undirected graph that is not decomposable"):
        gml.score(data, square, score=["bic", "bdeu"])
    model = model_of(data.variables, ["ab", "bc", "ac", "d"])
    with pytest.raises(UsageError, match="an undirected model that is not decomposable .* bdeu"):
        gml.score(data, model, score="bdeu")
    with pytest.raises(UsageError, match="`per_node`: graph 2 is undirected and not decomposable"):
        gml.score(data, [undirected(names, ["ab"]), square], per_node=True)
    with pytest.raises(UsageError, match="`explain`: graph 1 is undirected"):
        gml.score(data, square, explain=True)
    with pytest.raises(UsageError, match="tells equivalent DAGs apart"):
        gml.score(data, square, score="k2")
    with pytest.raises(GraphError, match="have different nodes"):
        gml.score(data, [square, undirected(["a", "b"], ["ab"])])


def test_nodes_of_a_decomposable_graph_are_those_of_one_dag():
    names = ["a", "b", "c"]
    data = drawn_rows(8, 50, names)
    (scored,) = gml.score(data, undirected(names, ["ab", "bc"]), per_node=True)
    assert sum(node["bic"] for node in scored.nodes.values()) == pytest.approx(scored.scores["bic"])
