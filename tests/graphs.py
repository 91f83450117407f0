"""Random graphs, and slow definitions of what the library computes cleverly."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from gml.graph.graph import Graph


def random_dag(rng, n, p):
    """A DAG over a random order, each edge with probability p."""
    order = rng.permutation(n)
    matrix = np.zeros((n, n), dtype=bool)
    for i, j in itertools.combinations(range(n), 2):
        matrix[order[i], order[j]] = rng.random() < p
    return matrix


@functools.cache
def all_dags(n):
    """Every DAG over n nodes (25, 543, 29281 for 3, 4, 5), a row of the parents of each as bits."""
    sets = [np.array([s for s in range(1 << n) if not s >> x & 1], np.uint8) for x in range(n)]
    parents = np.stack(np.meshgrid(*sets, indexing="ij"), axis=-1).reshape(-1, n)
    left = np.full(len(parents), (1 << n) - 1, np.uint8)
    for _ in range(n):
        for x in range(n):
            is_sink = np.ones(len(parents), dtype=bool)
            for child in range(n):
                is_sink &= (parents[:, child] >> x & left >> child & 1) == 0
            left = np.where(is_sink, left & ((1 << n) - 1 - (1 << x)), left)
    return parents[left == 0].astype(np.int64)


def linear_extensions(parents):
    """How many orders of the nodes have each behind its parents; `parents` as bits."""
    n = len(parents)
    ways = [1] + [0] * ((1 << n) - 1)
    for before in range(1 << n):
        for x in range(n):
            if not before >> x & 1 and parents[x] & ~before == 0:
                ways[before | 1 << x] += ways[before]
    return ways[-1]


def as_graph(matrix, names=None):
    """The DAG of a matrix as a Graph."""
    names = names or [f"v{i:02d}" for i in range(len(matrix))]
    edges = [(names[i], "-->", names[j]) for i, j in np.argwhere(matrix)]
    return Graph.from_edges(names, edges, kind="dag")


def named_edges(graph):
    """The edges of a Graph as (source, type, target), by name."""
    return {(e.source, e.type, e.target) for e in graph.edges}


def is_acyclic(matrix):
    left = matrix.copy()
    alive = np.ones(len(matrix), dtype=bool)
    while alive.any():
        sinks = alive & ~left.any(axis=1)
        if not sinks.any():
            return False
        alive &= ~sinks
        left[:, sinks] = False
    return True


def colliders(matrix):
    """Unshielded colliders (x, k, y) of a DAG, by their definition."""
    adjacent = matrix | matrix.T
    return {
        (x, k, y)
        for k in range(len(matrix))
        for x, y in itertools.combinations(np.flatnonzero(matrix[:, k]).tolist(), 2)
        if not adjacent[x, y]
    }


def equivalent_dags(matrix):
    """All DAGs with the skeleton and the colliders of a DAG (Verma & Pearl 1990), by enumeration."""
    edges = [(i, j) for i, j in np.argwhere(np.triu(matrix | matrix.T))]
    wanted = colliders(matrix)
    for flips in itertools.product((False, True), repeat=len(edges)):
        other = np.zeros_like(matrix)
        for (i, j), flip in zip(edges, flips, strict=True):
            other[(j, i) if flip else (i, j)] = True
        if is_acyclic(other) and colliders(other) == wanted:
            yield other


def compelled(dags):
    """The arcs that all of some DAGs have."""
    dags = list(dags)
    return np.logical_and.reduce(dags)


def cpdag_by_labelling(matrix):
    """Directed edges of the CPDAG by Chickering's (1995) labelling of ordered edges."""
    n = len(matrix)
    order, left = [], set(range(n))
    while left:
        node = min(v for v in left if not any(matrix[u, v] for u in left))
        order.append(node)
        left.remove(node)
    place = {v: i for i, v in enumerate(order)}
    edges = [
        (x, y)
        for y in order
        for x in sorted(np.flatnonzero(matrix[:, y]).tolist(), key=lambda v: -place[v])
    ]
    label = {}
    for x, y in edges:
        if (x, y) in label:
            continue
        parents = np.flatnonzero(matrix[:, y]).tolist()
        done = False
        for w in np.flatnonzero(matrix[:, x]).tolist():
            if label[w, x] != "compelled":
                continue
            if not matrix[w, y]:
                for p in parents:
                    label[p, y] = "compelled"
                done = True
                break
            label[w, y] = "compelled"
        if done:
            continue
        compelled_here = any(z != x and not matrix[z, x] for z in parents)
        for p in parents:
            if (p, y) not in label:
                label[p, y] = "compelled" if compelled_here else "reversible"
    directed = np.zeros_like(matrix)
    for edge, kind in label.items():
        directed[edge] = kind == "compelled"
    return directed


def d_separated(matrix, x, y, given):
    """d-separation by the moral graph of the ancestors (Lauritzen et al. 1990)."""
    wanted = {x, y, *given}
    while True:
        more = wanted | {int(p) for v in wanted for p in np.flatnonzero(matrix[:, v])}
        if more == wanted:
            break
        wanted = more
    linked = np.zeros_like(matrix)
    for v in wanted:
        parents = [int(p) for p in np.flatnonzero(matrix[:, v])]
        for p in parents:
            linked[p, v] = linked[v, p] = True
        for p, q in itertools.combinations(parents, 2):
            linked[p, q] = linked[q, p] = True
    reached, new = {x}, {x}
    while new:
        new = {int(j) for i in new for j in np.flatnonzero(linked[i])} & wanted
        new -= reached | set(given)
        reached |= new
    return y not in reached


def is_cpdag(graph):
    """Whether a graph is the CPDAG of some DAG: by an extension found by trying every sink."""
    directed = (graph.marks == 2) & (graph.marks.T == 1)
    adjacent = graph.marks > 0
    left, dag = set(range(len(adjacent))), np.zeros_like(adjacent)
    while left:
        for v in sorted(left):
            around = [u for u in left if adjacent[u, v]]
            if any(directed[v, u] for u in around):
                continue
            lines = [u for u in around if not directed[u, v]]
            if all(adjacent[u, w] for u in lines for w in around if u != w):
                break
        else:
            return False
        for u in around:
            dag[u, v] = True
        left.remove(v)
    return bool(np.array_equal(cpdag_by_labelling(dag), directed))


def random_undirected(rng, n, p):
    """An undirected graph, each edge with probability p, its nodes not in the order of names."""
    names = [f"v{k:02d}" for k in rng.permutation(n)]
    edges = [
        (names[i], "---", names[j])
        for i, j in itertools.combinations(range(n), 2)
        if rng.random() < p
    ]
    return Graph.from_edges(names, edges, kind="undirected")


def all_trees(n):
    """Every labelled tree on n nodes, by Prüfer sequence."""
    for sequence in itertools.product(range(n), repeat=n - 2):
        degree = [1 + sequence.count(i) for i in range(n)]
        edges = []
        for node in sequence:
            leaf = next(i for i in range(n) if degree[i] == 1)
            edges.append((leaf, node))
            degree[leaf] -= 1
            degree[node] -= 1
        edges.append(tuple(i for i in range(n) if degree[i] == 1))
        yield edges
