"""Layouts of any graph: no order shows, nothing overlaps; ranks and orders against brute force."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from gml.pictures.layout.geometry import Layout, Link, Size
from gml.pictures.layout.layered import layered
from gml.pictures.layout.layers import layers_of
from gml.pictures.layout.network_simplex import Span, shortest_ranks
from gml.pictures.layout.ordering import order_ranks
from gml.pictures.layout.orientation import acyclic
from gml.pictures.layout.rank_crossings import Side
from tests.drawn import edges_through_nodes, overlapping_nodes


@st.composite
def graphs(draw, most=12):
    """Boxes, links of all kinds and widths, cycles among them, and tiers of some nodes."""
    n = draw(st.integers(1, most))
    side = st.integers(10, 120)
    sizes = [Size(draw(side), draw(side)) for _ in range(n)]
    pairs = list(combinations(range(n), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=2 * n)) if pairs else []
    links = []
    for a, b in chosen:
        kind = draw(st.sampled_from(["down", "up", "undirected"]))
        marks = [Size(*draw(st.sampled_from([(0, 0), (8.5, 8.6), (14, 15)]))) for _ in range(2)]
        ends = (b, a) if kind == "up" else (a, b)
        links.append(
            Link(*ends, kind != "undirected", draw(st.sampled_from([0, 1.3, 4.5])), *marks)
        )
    tiers = draw(st.none() | st.lists(st.sampled_from([None, 0, 1, 2]), min_size=n, max_size=n))
    return sizes, links, tiers


def names_of(sizes):
    return [f"n{i:02}" for i in range(len(sizes))]


@given(graphs())
@settings(max_examples=60)
def test_nothing_overlaps(graph):
    sizes, links, tiers = graph
    found = layered(sizes, links, names=names_of(sizes), tiers=tiers)
    assert overlapping_nodes(sizes, found) == []
    assert edges_through_nodes(sizes, links, found) == []
    for centre, size in zip(found.centres, sizes, strict=True):
        assert size.width / 2 - 1e-6 <= centre.x <= found.width - size.width / 2 + 1e-6
        assert size.height / 2 - 1e-6 <= centre.y <= found.height - size.height / 2 + 1e-6
    for link, route in zip(links, found.routes, strict=True):
        assert len(route) % 3 == 1
        assert all(0 <= x <= found.width and 0 <= y <= found.height for x, y in route)
        for node, end in ((link.source, route[0]), (link.target, route[-1])):
            centre, size = found.centres[node], sizes[node]
            assert abs(abs(end.y - centre.y) - size.height / 2) < 1e-6
            assert abs(end.x - centre.x) <= size.width / 2


@given(graphs())
@settings(max_examples=60)
def test_tiers_are_strictly_above_each_other(graph):
    sizes, links, tiers = graph
    found = layered(sizes, links, names=names_of(sizes), tiers=tiers)
    placed = [
        (tier, c.y) for tier, c in zip(tiers or [], found.centres, strict=False) if tier is not None
    ]
    assert all(a[1] < b[1] for a in placed for b in placed if a[0] < b[0])


@given(graphs(), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_no_order_shows(graph, random):
    """Neither that of the nodes, nor that of the links, nor that of the ends of an undirected one."""
    sizes, links, tiers = graph
    names = names_of(sizes)
    expected = layered(sizes, links, names=names, tiers=tiers)
    nodes, line = list(range(len(sizes))), list(range(len(links)))
    random.shuffle(nodes)
    random.shuffle(line)
    turned = [not links[i].directed and random.random() < 0.5 for i in line]
    moved = []
    for i, turn in zip(line, turned, strict=True):
        source, target = nodes.index(links[i].source), nodes.index(links[i].target)
        link = links[i]._replace(source=source, target=target)
        moved.append(link.turned if turn else link)
    found = layered(
        [sizes[node] for node in nodes],
        moved,
        names=[names[node] for node in nodes],
        tiers=tiers and [tiers[node] for node in nodes],
    )
    assert found == Layout(
        tuple(expected.centres[node] for node in nodes),
        tuple(
            expected.routes[i][::-1] if turn else expected.routes[i]
            for i, turn in zip(line, turned, strict=True)
        ),
        expected.width,
        expected.height,
    )


@given(graphs())
def test_no_cycles_are_left(graph):
    sizes, links, _ = graph
    pairs = acyclic(len(sizes), links)
    assert [{*pair} for pair in pairs] == [{link.source, link.target} for link in links]
    left = set(range(len(sizes)))
    while left:
        free = {node for node in left if not any(b == node and a in left for a, b in pairs)}
        assert free
        left -= free


@given(st.integers(2, 10), st.data())
def test_arrows_without_a_cycle_all_point_down(n, data):
    order = data.draw(st.permutations(range(n)))
    chosen = data.draw(st.lists(st.sampled_from(list(combinations(range(n), 2))), unique=True))
    links = [Link(order[a], order[b]) for a, b in chosen]
    assert acyclic(n, links) == [link[:2] for link in links]


@st.composite
def connected_spans(draw):
    n = draw(st.integers(2, 9))
    tree = [(draw(st.integers(0, node - 1)), node) for node in range(1, n)]
    more = draw(st.lists(st.sampled_from(list(combinations(range(n), 2))), max_size=12))
    return n, [
        Span(a, b, draw(st.integers(0, 3)), draw(st.integers(0, 3))) for a, b in [*tree, *more]
    ]


@given(connected_spans())
def test_the_network_simplex_finds_the_least_length(problem):
    n, spans = problem
    rank = shortest_ranks(n, spans)
    assert min(rank) == 0
    assert all(rank[s.head] - rank[s.tail] >= s.least for s in spans)
    cost, rows = np.zeros(n), np.zeros((len(spans), n))
    for row, span in zip(rows, spans, strict=True):
        cost[span.head] += span.weight
        cost[span.tail] -= span.weight
        row[span.tail], row[span.head] = 1, -1
    best = linprog(cost, A_ub=rows, b_ub=[-s.least for s in spans], bounds=[(0, 3 * n)] * n)
    assert float(cost @ rank) == pytest.approx(best.fun, abs=1e-6)


def brute_crossings(neighbours, order, other):
    """Pairs of links whose ends are in opposite orders."""
    links = [
        (place, list(other).index(end)) for place, i in enumerate(order) for end in neighbours[i]
    ]
    return sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(links, 2))


@given(st.integers(1, 5), st.integers(1, 5), st.data())
def test_crossings_are_counted(n, m, data):
    ends = st.lists(st.integers(0, m - 1), unique=True)
    neighbours = [data.draw(ends) for _ in range(n)]
    order, other = (np.array(data.draw(st.permutations(range(k)))) for k in (n, m))
    side = Side(neighbours, m)
    assert side.crossings(order, other) == brute_crossings(neighbours, order, other)
    costs = side.left_of(other)
    for i, j in permutations(range(n), 2):
        alone = [found if k in (i, j) else [] for k, found in enumerate(neighbours)]
        first = [i, j, *(k for k in range(n) if k not in (i, j))]
        assert costs[i, j] == brute_crossings(alone, first, other)


@given(st.integers(2, 4), st.integers(2, 4), st.data())
@settings(max_examples=40)
def test_orders_of_two_small_ranks_have_the_fewest_crossings(n, m, data):
    pairs = data.draw(
        st.lists(st.sampled_from([(a, n + b) for a in range(n) for b in range(m)]), unique=True)
    )
    # Connected, as orders are sought of connected graphs only.
    pairs = sorted({*pairs, *((0, n + b) for b in range(m)), *((a, n) for a in range(n))})
    layers = layers_of(pairs, [0] * n + [1] * m)
    neighbours = [[b - n for a, b in pairs if a == node] for node in range(n)]
    upper, lower = order_ranks(layers)
    fewest = min(
        brute_crossings(neighbours, order, other)
        for order in permutations(range(n))
        for other in permutations(range(m))
    )
    assert brute_crossings(neighbours, upper, [node - n for node in lower]) == fewest


@given(connected_spans(), st.integers(0, 50))
def test_the_least_length_does_not_depend_on_the_start(problem, longer):
    n, spans = problem
    start = [0] * n
    for span in sorted(spans):
        start[span.head] = max(start[span.head], start[span.tail] + span.least)
    # Later nodes further down: all edges lead from a node to a later one.
    moved = [rank + i * longer for i, rank in enumerate(start)]
    expected, found = shortest_ranks(n, spans), shortest_ranks(n, spans, moved)
    lengths = [
        sum(s.weight * (rank[s.head] - rank[s.tail]) for s in spans) for rank in (expected, found)
    ]
    assert lengths[0] == lengths[1]
    assert all(found[s.head] - found[s.tail] >= s.least for s in spans)
