"""Trees as `tree` prints folders: a node below its parent, further in.

A forest has its roots where the fewest arrows lead upwards, then where the tree is lowest, then by
name. Of any other graph, a node stands below the nearest of the nodes that come before it; its
other edges follow its name in parentheses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gml.graph.edges import Mark
from gml.graph.graph import Graph
from gml.pictures.text.characters import DOWN, LEFT, RIGHT, UP, Characters
from gml.pictures.text.layers import Neighbours, components, neighbours_of, ranks_of
from gml.printable_text import cell_width


class Tree(NamedTuple):
    """A tree of nodes, and the edges that are not in it, by the lower of their ends."""

    roots: list[int]
    children: dict[int, list[int]]
    others: dict[int, list[int]]


def is_tree(graph: Graph) -> bool:
    """Whether the graph is a forest and no node has two arrows into it."""
    is_forest = graph.n_edges == len(graph.names) - len(components(graph, neighbours_of(graph)))
    return is_forest and bool(((graph.marks == Mark.ARROW).sum(axis=0) <= 1).all())


def draw_tree(
    graph: Graph, names: Sequence[str], characters: Characters, width: int | None = None
) -> list[str]:
    """Return the lines of a tree for each connected part of a graph.

    Other edges of a node that do not fit into the width go on in lines of their own.
    """
    around = neighbours_of(graph)
    lines: list[str] = []
    for component in components(graph, around):
        n_edges = sum(len(around[node]) for node in component) // 2
        if n_edges < len(component):
            tree = _rooted(around, _best_root(graph, around, component))
        else:
            tree = _spanning(graph, around, component)
        lines += _lines(graph, names, characters, tree, width)
    return lines


def _rooted(around: Neighbours, root: int) -> Tree:
    children: dict[int, list[int]] = {}
    waiting = [(root, -1)]
    while waiting:
        node, parent = waiting.pop()
        children[node] = [other for other in around[node] if other != parent]
        waiting += [(child, node) for child in children[node]]
    return Tree([root], children, {})


def _best_root(graph: Graph, around: Neighbours, component: Sequence[int]) -> int:
    """The root with the fewest arrows towards it, then the lowest tree, then the first name."""

    def cost(root: int) -> tuple[int, int]:
        upwards, height = 0, 0
        row, above = [root], {root: -1}
        while row:
            height += 1
            below = [
                (node, child) for node in row for child in around[node] if child != above[node]
            ]
            upwards += sum(graph.marks[child, node] == Mark.ARROW for node, child in below)
            above |= {child: node for node, child in below}
            row = [child for _, child in below]
        return upwards, height

    return min(component, key=cost)


def _spanning(graph: Graph, around: Neighbours, component: Sequence[int]) -> Tree:
    """A tree for a graph that is none."""
    rank = ranks_of(graph, around, component)
    tree = Tree([], {node: [] for node in component}, {})
    for node in component:
        above = [other for other in around[node] if rank[other] < rank[node]]
        if not above:
            tree.roots.append(node)
            continue
        nearest = max(above, key=rank.__getitem__)
        tree.children[nearest].append(node)
        tree.others[node] = [other for other in above if other != nearest]
    return tree


def _lines(
    graph: Graph,
    names: Sequence[str],
    characters: Characters,
    tree: Tree,
    width: int | None,
) -> list[str]:
    def link(left: int, right: int) -> str:
        """The edge between two nodes, read from left to right."""
        return (
            characters.mark(Mark(graph.marks[right, left]), LEFT)
            + characters.lines[LEFT | RIGHT]
            + characters.mark(Mark(graph.marks[left, right]), RIGHT)
        )

    lines = []
    waiting = [(root, "", "") for root in reversed(tree.roots)]
    while waiting:
        node, before, indent = waiting.pop()
        others = [f"{link(node, other)} {names[other]}" for other in tree.others.get(node, ())]
        below = tree.children[node]
        go_on = f"{indent}{characters.lines[UP | DOWN] if below else ' '}    "
        lines += _with_others(before + names[node], others, go_on, width)
        for k in reversed(range(len(below))):
            last = k == len(below) - 1
            branch = characters.last_branch if last else characters.branch
            beside = " " if last else characters.lines[UP | DOWN]
            start = f"{indent}{branch}{link(node, below[k])} "
            waiting.append((below[k], start, f"{indent}{beside}    "))
    return lines


def _with_others(start: str, others: Sequence[str], go_on: str, width: int | None) -> list[str]:
    """A node and, in parentheses, its other edges, as many per line as fit.

    Examples
    --------
    >>> _with_others("a", ["◀── b", "◀── c"], "  ", 12)
    ['a  (◀── b,', '  ◀── c)']
    """
    if not others:
        return [start]
    lines, line = [], f"{start}  ("
    for k, other in enumerate(others):
        text = other + ("," if k < len(others) - 1 else ")")
        if k and width is not None and cell_width(f"{line} {text}") > width:
            lines.append(line)
            line = go_on + text
        else:
            line += f" {text}" if k else text
    return [*lines, line]
