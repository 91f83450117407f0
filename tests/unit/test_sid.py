"""The structural intervention distance: against paths, interventions and enumerated classes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gml.graph.sid as module
from gml.errors import GraphError
from gml.graph.comparison import compare_graphs
from gml.graph.equivalence import equivalence_class
from gml.graph.graph import Graph
from gml.graph.sid import sid_bounds

from ..graphs import as_graph, equivalent_dags, random_dag

# Peters & Bühlmann 2015, figure 1.
BASE = [("X1", "X2"), *((x, y) for x in ("X1", "X2") for y in ("Y1", "Y2", "Y3"))]


def dag(arcs, names=("X1", "X2", "Y1", "Y2", "Y3")):
    return Graph.from_edges(names, [(a, "-->", b) for a, b in arcs], kind="dag")


def sid(truth, other):
    found = sid_bounds(truth, other)
    assert found.lower == found.upper
    assert found.exact
    return found.lower


def test_published_example():
    """Both have an SHD of 1 by their arrows; one leaves every effect right, the other not."""
    truth = dag(BASE)
    more = dag([*BASE, ("Y1", "Y2")])
    turned = dag([("X2", "X1"), *BASE[1:]])
    assert compare_graphs(truth, more).dag_shd == compare_graphs(truth, turned).dag_shd == 1
    assert (sid(truth, more), sid(truth, turned)) == (0, 8)


def descendants(matrix, i):
    found, new = {i}, {i}
    while new:
        new = {int(k) for j in new for k in np.flatnonzero(matrix[j])} - found
        found |= new
    return found


def paths(matrix, at, end, seen):
    """All paths without repeated nodes, as lists of nodes."""
    if at == end:
        yield [at]
        return
    for k in np.flatnonzero(matrix[at] | matrix[:, at]).tolist():
        if k not in seen:
            for rest in paths(matrix, k, end, seen | {k}):
                yield [at, *rest]


def blocked(matrix, path, given):
    for a, b, c in zip(path, path[1:], path[2:], strict=False):
        collider = matrix[a, b] and matrix[c, b]
        if collider and not descendants(matrix, b) & given:
            return True
        if not collider and b in given:
            return True
    return False


def errors_by_paths(truth, other):
    """Condition (*) word for word, pair by pair and path by path."""
    wrong = set()
    for i, j in itertools.permutations(range(len(truth)), 2):
        given = {int(k) for k in np.flatnonzero(other[:, i])}
        if j in given:
            if j in descendants(truth, i):
                wrong.add((i, j))
            continue
        for path in paths(truth, i, j, {i}):
            if all(truth[a, b] for a, b in itertools.pairwise(path)):
                bad = any(descendants(truth, w) & given for w in path[1:])
            else:
                bad = not blocked(truth, path, given)
            if bad:
                wrong.add((i, j))
                break
    return wrong


def test_against_paths():
    rng = np.random.default_rng(1)
    for _ in range(300):
        n = int(rng.integers(2, 7))
        truth, other = (random_dag(rng, n, rng.uniform(0.2, 0.9)) for _ in range(2))
        wrong = errors_by_paths(truth, other)
        assert sid(as_graph(truth), as_graph(other)) == len(wrong)


def errors_by_interventions(rng, truth, other):
    """Pairs whose effect comes out wrong by numbers, for a random linear Gaussian model."""
    n = len(truth)
    weights = np.where(truth, rng.uniform(0.5, 1.5, (n, n)) * rng.choice([-1, 1], (n, n)), 0)
    mixing = np.linalg.inv(np.eye(n) - weights.T)
    covariance = mixing @ np.diag(rng.uniform(0.5, 2, n)) @ mixing.T
    wrong = set()
    for i, j in itertools.permutations(range(n), 2):
        # do(i) cuts the arrows into i; the effect on the mean of j is then that of one unit of i
        cut = weights.copy()
        cut[:, i] = 0
        effect = np.linalg.inv(np.eye(n) - cut.T)[j, i]
        given = np.flatnonzero(other[:, i]).tolist()
        if j in given:
            claimed = 0.0
        else:
            some = [i, *given]
            claimed = np.linalg.solve(covariance[np.ix_(some, some)], covariance[some, j])[0]
        if abs(effect - claimed) > 1e-8:
            wrong.add((i, j))
    return wrong


def test_against_interventions():
    """What the graph calls right is right by numbers; what it calls wrong is so but by chance.

    In a linear model, the effect may come out right although the distribution does not.
    """
    rng = np.random.default_rng(2)
    equal = 0
    for _ in range(200):
        n = int(rng.integers(2, 7))
        truth, other = (random_dag(rng, n, rng.uniform(0.2, 0.9)) for _ in range(2))
        by_numbers = errors_by_interventions(rng, truth, other)
        by_paths = errors_by_paths(truth, other)
        assert by_numbers <= by_paths
        equal += by_numbers == by_paths
    assert equal > 150


def test_zero_iff_subgraph():
    rng = np.random.default_rng(3)
    for _ in range(300):
        n = int(rng.integers(2, 8))
        truth = random_dag(rng, n, rng.uniform(0.1, 0.7))
        other = random_dag(rng, n, rng.uniform(0.1, 0.9))
        assert sid(as_graph(truth), as_graph(truth)) == 0
        contained = not (truth & ~other).any()
        assert (sid(as_graph(truth), as_graph(other)) == 0) == contained
        order = np.argsort([len(descendants(truth, v)) for v in range(n)])[::-1]
        complete = np.zeros_like(truth)
        for a, b in itertools.combinations(order.tolist(), 2):
            complete[a, b] = True
        if not (truth & ~complete).any():
            assert sid(as_graph(truth), as_graph(complete)) == 0


def test_bounds_of_a_class_are_attained():
    rng = np.random.default_rng(4)
    open_edges = 0
    for _ in range(120):
        n = int(rng.integers(2, 7))
        truth, other = (random_dag(rng, n, rng.uniform(0.2, 1)) for _ in range(2))
        of_each = [sid(as_graph(truth), as_graph(member)) for member in equivalent_dags(other)]
        found = sid_bounds(as_graph(truth), equivalence_class(as_graph(other)))
        assert found == (min(of_each), max(of_each), True)
        open_edges += len(of_each) > 4
    assert open_edges > 20


@pytest.mark.parametrize("states,cliques", [(0, 512), (0, 1)])
def test_bounds_beyond_the_cap_hold_still(monkeypatch, states, cliques):
    monkeypatch.setattr(module, "_MOST_STATES", states)
    monkeypatch.setattr(module, "_MOST_CLIQUES", cliques)
    rng = np.random.default_rng(5)
    for _ in range(60):
        truth, other = (random_dag(rng, 5, rng.uniform(0.2, 1)) for _ in range(2))
        of_each = [sid_bounds(as_graph(truth), as_graph(m)) for m in equivalent_dags(other)]
        found = sid_bounds(as_graph(truth), equivalence_class(as_graph(other)))
        assert found.lower <= min(bounds.lower for bounds in of_each)
        assert found.upper >= max(bounds.upper for bounds in of_each)
        assert not found.exact


def test_a_class_with_knowledge_is_bracketed():
    """Of the DAGs of a class, those with one arc more that knowledge gives."""
    from gml.graph.orientation import maximally_oriented

    rng = np.random.default_rng(6)
    checked = 0
    for _ in range(150):
        truth, other = (random_dag(rng, 5, rng.uniform(0.3, 0.9)) for _ in range(2))
        line = np.argwhere(other & ~maximally_oriented(other))
        if not len(line):
            continue
        i, j = line[rng.integers(len(line))]
        decided = np.zeros_like(other)
        decided[i, j] = True
        directed = maximally_oriented(other, decided)
        names = [f"v{k:02d}" for k in range(5)]
        edges = [
            (names[a], "-->" if directed[a, b] else "---", names[b]) for a, b in np.argwhere(other)
        ]
        pdag = Graph.from_edges(names, edges, kind="pdag")
        of_each = [
            sid(as_graph(truth), as_graph(member))
            for member in equivalent_dags(other)
            if member[i, j]
        ]
        found = compare_graphs(as_graph(truth), pdag).sid
        assert found.lower <= min(of_each) <= max(of_each) <= found.upper
        checked += 1
    assert checked > 50


def test_large_graphs_and_trees():
    rng = np.random.default_rng(7)
    n = 200
    truth = as_graph(random_dag(rng, n, 0.02), [f"v{k:03d}" for k in range(n)])
    tree = np.zeros((n, n), dtype=bool)
    for j in range(1, n):
        tree[rng.integers(j), j] = True
    skeleton = Graph.from_edges(
        truth.names, [(truth.names[i], "---", truth.names[j]) for i, j in np.argwhere(tree)]
    )
    found = compare_graphs(truth, skeleton).sid
    assert found.exact
    assert 0 < found.lower < found.upper < n * (n - 1)
    assert sid(truth, truth) == 0


def test_nodes_must_agree():
    with pytest.raises(GraphError):
        sid_bounds(dag([], "AB"), dag([], "BA"))
