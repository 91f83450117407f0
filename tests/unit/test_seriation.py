"""Seriation: the best order of its tree, whatever the order of the input."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from gml.pictures.plots.seriation import seriated

UNIT = 1 << 20


def related(n, seed):
    factors = np.random.default_rng(seed).normal(size=(n, 3))
    return np.abs(factors @ factors.T)


def similarities(values):
    sizes = values.copy()
    np.fill_diagonal(sizes, 0)
    return np.rint(np.sqrt(sizes / sizes.max()) * UNIT).astype(int)


def orders_by_definition(similar):
    """All orders of the tree of average linkage."""
    trees = {k: ([k], [[k]]) for k in range(len(similar))}
    while len(trees) > 1:
        pairs = [(i, j) for i in trees for j in trees if i < j]
        i, j = max(
            pairs,
            key=lambda pair: Fraction(
                sum(int(similar[a, b]) for a in trees[pair[0]][0] for b in trees[pair[1]][0]),
                len(trees[pair[0]][0]) * len(trees[pair[1]][0]),
            ),
        )
        (some, left), (others, right) = trees.pop(i), trees.pop(j)
        found = [a + b for a in left for b in right] + [b + a for a in left for b in right]
        trees[i] = (some + others, found)
    return next(iter(trees.values()))[1]


def length(order, similar):
    return sum(UNIT - int(similar[a, b]) for a, b in pairwise(order))


@pytest.mark.parametrize("seed", range(12))
def test_no_order_of_the_tree_has_more_similar_neighbours(seed):
    values = related(4 + seed % 5, seed)
    names = [f"v{k}" for k in range(len(values))]
    similar = similarities(values)
    best = min(length(order, similar) for order in orders_by_definition(similar))
    assert length(seriated(names, values), similar) == best


@pytest.mark.parametrize("n", [2, 3, 7, 40])
def test_the_order_of_the_input_does_not_show(n):
    # Whole numbers have many ties.
    values = np.random.default_rng(n).integers(0, 3, size=(n, n)).astype(float)
    names = [f"v{k}" for k in range(n)]
    expected = [names[k] for k in seriated(names, values)]
    for seed in range(5):
        mixed = np.random.default_rng(seed).permutation(n)
        turned = [names[k] for k in mixed]
        found = seriated(turned, values[np.ix_(mixed, mixed)])
        assert [turned[k] for k in found] == expected


def test_blocks_come_out_as_blocks():
    block = np.repeat(range(4), 6)
    values = np.where(block[:, None] == block[None, :], 0.5, 0.01)
    mixed = np.random.default_rng(3).permutation(24)
    found = seriated([f"v{k}" for k in mixed], values[np.ix_(mixed, mixed)])
    of_found = block[mixed][found]
    assert np.count_nonzero(np.diff(of_found)) == 3


def test_a_chain_comes_out_as_a_chain():
    place = np.arange(15)
    values = np.exp(-np.abs(place[:, None] - place[None, :]).astype(float))
    mixed = np.random.default_rng(0).permutation(15)
    found = mixed[seriated([f"v{k:02d}" for k in mixed], values[np.ix_(mixed, mixed)])]
    assert found.tolist() == list(range(15))


def test_signs_and_directions_do_not_matter_and_gaps_count_as_nothing():
    values = related(9, 5)
    names = [f"v{k}" for k in range(9)]
    expected = seriated(names, values)
    assert seriated(names, -values) == expected
    assert seriated(names, np.triu(values)) == expected
    gaps = np.where(np.triu(np.ones((9, 9)), 1) > 0, values, np.nan)
    assert seriated(names, gaps) == expected


@pytest.mark.parametrize("fill", [0.0, 1.0, np.nan, np.inf])
def test_where_all_are_alike_every_variable_is_there_once(fill):
    found = seriated(list("edcba"), np.full((5, 5), fill))
    assert sorted(found) == list(range(5))
    assert found[0] > found[-1]


def test_one_pair_that_is_infinitely_related_stands_together():
    values = related(6, 1)
    values[1, 4] = values[4, 1] = np.inf
    found = seriated(list("abcdef"), values)
    assert abs(found.index(1) - found.index(4)) == 1
