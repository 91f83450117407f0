"""The steps of an elimination as a program that the kernel runs (elimination.h)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.model.flat_tables import strides_of
from gml.model.junction_tree import JunctionTree

_HEADER = 7

FactorStrides = Sequence[tuple[int, int]]
"""The variables of a factor, and how far apart the numbers of neighbouring levels are."""


class Steps(NamedTuple):
    """A program, where its steps begin, the room that it needs, and where tables stand there."""

    code: NDArray[np.int64]
    starts: NDArray[np.int64]
    room: int
    table_starts: list[int]


def compiled_steps(
    tree: JunctionTree, factors: Sequence[FactorStrides], operations: Sequence[int]
) -> Steps:
    """Give each factor to the first step that has one of its variables, and each message its place.

    Examples
    --------
    >>> from gml.model.junction_tree import build_tree
    >>> tree = build_tree([[0, 1]], [2, 3], [[0, 1]])
    >>> compiled_steps(tree, [[(0, 3), (1, 1)]], [0, 0]).room
    13
    """
    sizes = tree.sizes
    placed: list[list[tuple[int, dict[int, int]]]] = [[] for _ in tree.cliques]
    for k, factor in enumerate(factors):
        first = tree.place_of([node for node, _ in factor])
        placed[first].append((-1 - k, dict(factor)))
    for s, parent in enumerate(tree.parents):
        if parent >= 0:
            around = tree.cliques[s][:-1]
            strides = strides_of([sizes[node] for node in around])
            placed[parent].append((s, dict(zip(around, strides, strict=True))))
    code: list[int] = []
    starts, table_starts, places = [], [], {}
    room = 0
    for s, clique in enumerate(tree.cliques):
        starts.append(len(code))
        table_starts.append(room)
        message = room + tree.cells(clique)
        code += [operations[s], len(clique), room, message, len(placed[s])]
        code += [tree.parents[s], 0]
        code += [sizes[node] for node in clique]
        code += clique
        room = message + tree.cells(clique[:-1])
        for source, along in placed[s]:
            places[source] = len(code) + 1
            code += [source, *(along.get(node, 0) for node in clique)]
    for s, parent in enumerate(tree.parents):
        if parent >= 0:
            code[starts[s] + _HEADER - 1] = places[s]
    return Steps(np.array(code, np.int64), np.array(starts, np.int64), room, table_starts)
