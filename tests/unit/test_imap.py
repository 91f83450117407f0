"""Minimal I-maps: against d-separation with an oracle, and against every set of parents by score."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import gml
from gml.data.dataset import Dataset, Variable
from gml.errors import DataError, UsageError
from gml.graph.graph import Graph
from gml.graph.order import topological_order
from gml.independence.base import CIResult
from gml.learners.imap import greedy_imap, minimal_imap
from gml.scores.base import rounded, total

from ..golden.sources import cooper_herskovits
from ..graphs import as_graph, d_separated, random_dag
from ..networks import asia, random_net


def arcs(graph):
    return {(e.source, e.target) for e in graph.edges}


def random_order(rng, names):
    return [names[k] for k in rng.permutation(len(names))]


# ---------------------------------------------------------------------- by tests


def test_parents_are_those_dependent_given_the_other_predecessors():
    rng = np.random.default_rng(1)
    for _ in range(400):
        n = int(rng.integers(2, 9))
        matrix = random_dag(rng, n, rng.uniform(0.1, 0.8))
        dag = as_graph(matrix)
        order = random_order(rng, dag.names)
        found = minimal_imap(gml.OracleTest(dag), order)
        assert found.complete
        assert (found.graph.kind, found.graph.names) == ("dag", dag.names)
        place = [dag.names.index(name) for name in order]
        expected = {
            (dag.names[j], dag.names[x])
            for at, x in enumerate(place)
            for j in place[:at]
            if not d_separated(matrix, x, j, [i for i in place[:at] if i != j])
        }
        assert arcs(found.graph) == expected


def test_topological_order_gives_the_dag_back():
    rng = np.random.default_rng(2)
    for _ in range(200):
        dag = as_graph(random_dag(rng, int(rng.integers(1, 10)), rng.uniform(0.1, 0.8)))
        order = [dag.names[j] for j in topological_order(dag)]
        assert arcs(minimal_imap(gml.OracleTest(dag), order).graph) == arcs(dag)


def is_imap(candidate, truth):
    """Whether every d-separation of a DAG is one of the true DAG; all of them are tried."""
    n = len(truth)
    for x, y in itertools.combinations(range(n), 2):
        others = [z for z in range(n) if z not in (x, y)]
        for size in range(len(others) + 1):
            for given in itertools.combinations(others, size):
                if d_separated(candidate, x, y, given) and not d_separated(truth, x, y, given):
                    return False
    return True


def test_it_is_an_imap_and_no_edge_can_go():
    rng = np.random.default_rng(3)
    for _ in range(40):
        matrix = random_dag(rng, int(rng.integers(2, 6)), rng.uniform(0.3, 0.8))
        dag = as_graph(matrix)
        found = minimal_imap(gml.OracleTest(dag), random_order(rng, dag.names)).graph
        learned = found.marks == 2
        assert is_imap(learned, matrix)
        for i, j in np.argwhere(learned):
            fewer = learned.copy()
            fewer[i, j] = False
            assert not is_imap(fewer, matrix)


class Wobbly:
    """A test of one's own: names and a call, with answers for given triples."""

    name = "wobbly"
    names = ("a", "b", "c", "d")

    def __init__(self, log_p, insufficient=()):
        self._log_p = log_p
        self._insufficient = insufficient
        self.asked = []

    def __call__(self, x, y, given=()):
        key = "".join(self.names[j] for j in (x, y)) + "|" + "".join(self.names[j] for j in given)
        self.asked.append(key)
        sufficient = key not in self._insufficient
        log_p = self._log_p.get(key, 0.0) if sufficient else None
        return CIResult(1.0, None, log_p, None, 10, sufficient=sufficient)


def test_most_dependent_joins_first_and_weakest_goes_first():
    """All three join; beside c and b, a is not needed, and then c is."""
    test = Wobbly(
        {
            "da|": -9.0, "db|": -8.0, "dc|": -7.0,
            "db|a": -6.0, "dc|a": -7.0, "db|ac": -6.0,
            "da|bc": -1.0, "dc|ab": -2.0,
            "dc|b": -9.0, "db|c": -9.0,
        }
    )  # fmt: skip
    found = minimal_imap(test, ["a", "b", "c", "d"])
    assert arcs(found.graph) == {("b", "d"), ("c", "d")}
    of_d = [key for key in test.asked if key.startswith("d")]
    assert of_d == [
        *("da|", "db|", "dc|"),
        *("db|a", "dc|a"),
        "db|ac",
        *("da|bc", "db|ac", "dc|ab"),
        *("db|c", "dc|b"),
    ]
    assert found.asked == len(test.asked)


def test_ties_go_by_name():
    test = Wobbly({"da|": -9.0, "db|": -9.0, "dc|": -9.0})
    assert arcs(minimal_imap(test, ["c", "b", "a", "d"], max_parents=1).graph) == {("a", "d")}
    # neither a nor b is needed beside the other two: the last of them goes first
    joined = {"da|": -9.0, "db|a": -9.0, "dc|ab": -9.0}
    test = Wobbly(joined | {"da|c": -9.0, "dc|a": -5.0})
    assert arcs(minimal_imap(test, ["c", "b", "a", "d"]).graph) == {("a", "d"), ("c", "d")}


def test_without_an_answer_there_is_no_edge():
    test = Wobbly({"da|": -9.0, "db|": -9.0}, insufficient={"db|", "dc|"})
    assert arcs(minimal_imap(test, list("abcd")).graph) == {("a", "d")}
    test = Wobbly({"da|": -9.0, "db|a": -9.0, "da|b": -9.0}, insufficient={"da|b"})
    assert arcs(minimal_imap(test, list("abcd")).graph) == set()


def test_max_parents():
    rng = np.random.default_rng(4)
    for most in (0, 1, 2):
        dag = as_graph(random_dag(rng, 8, 0.7))
        found = minimal_imap(
            gml.OracleTest(dag), random_order(rng, dag.names), max_parents=most
        ).graph
        assert max(len(found.parents(j)) for j in range(8)) == most


def test_knowledge():
    dag = as_graph(random_dag(np.random.default_rng(5), 6, 0.5))
    order = list(dag.names)
    test = gml.OracleTest(dag)
    free = arcs(minimal_imap(test, order).graph)
    gone, new = min(free), min(set(itertools.combinations(order, 2)) - free)
    told = gml.Knowledge(require=(new,), forbid=(gone,))
    found = arcs(minimal_imap(test, order, knowledge=told).graph)
    assert new in found
    assert gone not in found
    score = gml.SCORES["bic"](gml.MemoryCounter(asia().sample(500, seed=1)))
    order = list(score.names)
    told = gml.Knowledge(require=(("asia", "dysp"),), forbid=(("smoke", "bronc"),))
    found = arcs(greedy_imap(score, order, knowledge=told).graph)
    assert ("asia", "dysp") in found
    assert ("smoke", "bronc") not in found


@pytest.mark.parametrize(
    "order,options,match",
    [
        ("abc", {}, "does not have 'd'"),
        ("abcdd", {}, "'d' twice"),
        ("abce", {}, "'e' not found"),
        ("abcd", {"alpha": 0}, "alpha"),
        ("abcd", {"max_parents": -1}, "max_parents"),
        ("abcd", {"knowledge": gml.Knowledge(require=(("b", "a"),))}, "required, but the order"),
        ("abcd", {"knowledge": gml.Knowledge(require=(("a", "e"),))}, "'e' not found"),
        ("abcd", {"knowledge": gml.Knowledge(tiers=(("c",), ("b",)))}, "earlier tier"),
        (
            "abcd",
            {"knowledge": gml.Knowledge(require=(("a", "c"), ("b", "c"))), "max_parents": 1},
            "'c' has 2 required",
        ),
    ],
)
def test_bad_calls(order, options, match):
    with pytest.raises(UsageError, match=match):
        minimal_imap(Wobbly({}), list(order), **options)


def test_contradictory_knowledge():
    with pytest.raises(DataError):
        minimal_imap(
            Wobbly({}), list("abcd"), knowledge=gml.Knowledge((("a", "b"),), (("a", "b"),))
        )


def test_tiers_that_agree_with_the_order():
    told = gml.Knowledge(tiers=(("a", "b"), ("d",)))
    test = Wobbly({"da|": -9.0})
    assert arcs(minimal_imap(test, list("bcad"), knowledge=told).graph) == {("a", "d")}


def test_deadline():
    dag = as_graph(random_dag(np.random.default_rng(6), 6, 0.5))
    found = minimal_imap(gml.OracleTest(dag), dag.names, deadline=gml.Deadline(0))
    assert not found.complete
    assert found.graph.n_edges == 0
    score = gml.SCORES["bic"](gml.MemoryCounter(asia().sample(100, seed=1)))
    found = greedy_imap(score, score.names, deadline=gml.Deadline(0))
    assert (found.complete, found.graph.n_edges) == (False, 0)


@pytest.mark.parametrize("name", ["auto", "g", "chi2", "mi-threshold", "bayes", "permutation"])
def test_every_test_and_no_order_of_columns(name):
    data = asia().sample(2000, seed=3)
    order = ["smoke", "asia", "lung", "tub", "either", "bronc", "dysp", "xray"]
    found = []
    for columns in (list(range(8)), [7, 2, 5, 0, 6, 1, 4, 3]):
        some = Dataset(
            tuple(data.variables[j] for j in columns), tuple(data.columns[j] for j in columns)
        )
        result = minimal_imap(gml.TESTS[name](gml.MemoryCounter(some)), order)
        found.append((arcs(result.graph), result.asked))
    assert found[0] == found[1]
    assert {("smoke", "lung"), ("smoke", "bronc"), ("either", "xray")} <= found[0][0]


def test_numbers():
    rng = np.random.default_rng(11)
    a, b = rng.normal(size=(2, 500))
    columns = (a, b, a + b + 0.5 * rng.normal(size=500), rng.normal(size=500))
    data = Dataset(tuple(Variable(name, None) for name in "abcd"), columns)
    test = gml.TESTS["fisher-z"](gml.MemoryCounter(data))
    assert arcs(minimal_imap(test, list("abdc")).graph) == {("a", "c"), ("b", "c")}
    assert arcs(minimal_imap(test, list("cbad")).graph) == {("c", "b"), ("c", "a"), ("b", "a")}


# ---------------------------------------------------------------------- by a score


def test_published_example_of_k2():
    """x1 -> x2 -> x3 with P(D | B) = 2.23e-9; the other way round the best of all, 2.29e-9."""
    k2 = gml.SCORES["k2"](cooper_herskovits())
    found = greedy_imap(k2, ["x1", "x2", "x3"])
    assert arcs(found.graph) == {("x1", "x2"), ("x2", "x3")}
    assert f"{math.exp(found.score):.2e}" == "2.23e-09"
    found = greedy_imap(k2, ["x3", "x2", "x1"])
    assert arcs(found.graph) == {("x3", "x2"), ("x2", "x1")}
    assert f"{math.exp(found.score):.2e}" == "2.29e-09"


def k2_by_the_paper(score, order, most):
    """The algorithm as it is printed, one node after the other and additions only."""
    names = list(score.names)
    found = set()
    for at, name in enumerate(order):
        x, before = names.index(name), sorted(order[:at])
        parents, best = [], rounded(score.local(x, []))
        while len(parents) < most:
            values = {
                other: rounded(score.local(x, [names.index(p) for p in (*parents, other)]))
                for other in before
                if other not in parents
            }
            if not values or max(values.values()) <= best:
                break
            best = max(values.values())
            parents.append(min(other for other in values if values[other] == best))
        found |= {(parent, name) for parent in parents}
    return found


def test_against_the_printed_algorithm():
    """The same unless taking a parent out pays, and then better."""
    rng = np.random.default_rng(8)
    same = 0
    for k in range(60):
        data = random_net(rng, 6, p=0.5).sample(int(rng.integers(50, 1000)), seed=k)
        name = ["k2", "bdeu", "bic", "aic"][k % 4]
        score = gml.SCORES[name](gml.MemoryCounter(data))
        order, most = random_order(rng, data.names), int(rng.integers(1, 6))
        found = greedy_imap(score, order, max_parents=most)
        printed = k2_by_the_paper(score, order, most)
        plain = Graph.from_edges(data.names, [(a, "-->", b) for a, b in printed], kind="dag")
        assert found.score == pytest.approx(total(score, found.graph), rel=1e-12)
        if arcs(found.graph) == printed:
            same += 1
        else:
            assert found.score > total(score, plain)
    assert same > 40


def test_no_single_change_improves_the_score():
    rng = np.random.default_rng(9)
    for k in range(20):
        data = random_net(rng, 6, p=0.6).sample(400, seed=k)
        score = gml.SCORES["bdeu"](gml.MemoryCounter(data))
        order = random_order(rng, data.names)
        found = greedy_imap(score, order).graph
        place = {name: at for at, name in enumerate(order)}
        for x, name in enumerate(found.names):
            parents = set(found.parents(x))
            best = rounded(score.local(x, sorted(parents)))
            for j, other in enumerate(found.names):
                if place[other] < place[name]:
                    assert rounded(score.local(x, sorted(parents ^ {j}))) <= best


def test_a_parent_that_is_of_no_use_any_more_goes():
    """c joins first, as the best by itself, and is spared once a and b have joined."""

    class Table:
        names = ("a", "b", "c", "d")

        def local(self, child, parents):
            if child != 3:
                return 0.0
            worth = {(): 0.0, (2,): 3.0, (0, 2): 4.0, (0, 1, 2): 5.0, (0, 1): 6.0}
            return worth.get(tuple(sorted(parents)), -1.0 if parents else 0.0)

    found = greedy_imap(Table(), list("abcd"))
    assert arcs(found.graph) == {("a", "d"), ("b", "d")}
    assert found.score == 6


def test_ties_of_scores_go_by_name():
    class Equal:
        names = ("d", "c", "b", "a")

        def local(self, child, parents):
            return float(len(parents) == 1) + 1e-9 * (3 in parents)

    found = greedy_imap(Equal(), list("cbad"))
    assert arcs(found.graph) == {("c", "b"), ("b", "a"), ("a", "d")}


def test_numbers_by_score():
    rng = np.random.default_rng(10)
    a, b = rng.normal(size=(2, 300))
    data = Dataset(
        tuple(Variable(name, None) for name in "abc"), (a, b, a - b + 0.5 * rng.normal(size=300))
    )
    for name in ("bic-g", "bge"):
        score = gml.SCORES[name](gml.MemoryCounter(data))
        assert arcs(greedy_imap(score, list("abc")).graph) == {("a", "c"), ("b", "c")}
