"""Edges: a mark at each end, the types that these make, and an edge by the names of its ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any


class Mark(IntEnum):
    """What stands at one end of an edge.

    Examples
    --------
    >>> from gml.graph.graph import Graph
    >>> graph = Graph.from_edges(["a", "b"], [("a", "-->", "b")])
    >>> Mark(graph.marks[0, 1]), Mark(graph.marks[1, 0])
    (<Mark.ARROW: 2>, <Mark.TAIL: 1>)
    """

    NONE = 0
    TAIL = 1
    ARROW = 2
    CIRCLE = 3


EDGE_TYPES: dict[str, tuple[Mark, Mark]] = {
    "-->": (Mark.TAIL, Mark.ARROW),
    "---": (Mark.TAIL, Mark.TAIL),
    "<->": (Mark.ARROW, Mark.ARROW),
    "o->": (Mark.CIRCLE, Mark.ARROW),
    "o-o": (Mark.CIRCLE, Mark.CIRCLE),
    "o--": (Mark.CIRCLE, Mark.TAIL),
}
RESERVED = frozenset(
    {
        *("source", "target", "type", "key", "id", "mark_source", "mark_target"),
        *("dir", "arrowhead", "arrowtail"),
    }
)
COMPELLED = "compelled"
"""The attribute of edges that `gml.graph.open_arrows` is about."""
TYPE_OF = {marks: name for name, marks in EDGE_TYPES.items()}


def oriented(a: str, mark_a: Mark, b: str, mark_b: Mark) -> tuple[str, str, str]:
    """Return (source, type, target) of the edge with these marks, in the direction that exists.

    Examples
    --------
    >>> oriented("A", Mark.ARROW, "B", Mark.TAIL)
    ('B', '-->', 'A')
    """
    if (mark_a, mark_b) in TYPE_OF:
        return a, TYPE_OF[mark_a, mark_b], b
    return b, TYPE_OF[mark_b, mark_a], a


@dataclass(frozen=True)
class Edge:
    """An edge read from one node to another, by their names; its attributes are what is known.

    Examples
    --------
    >>> Edge("smoke", "lung", "-->", {"strength": 0.9}).attributes["strength"]
    0.9
    """

    source: str
    target: str
    type: str
    attributes: Mapping[str, Any] = field(default_factory=dict, hash=False)


class Edges(tuple[Edge, ...]):
    """The edges of a graph; a call returns them as well, as in networkx.

    Examples
    --------
    >>> from gml.graph.graph import Graph
    >>> graph = Graph.from_edges(["rain", "wet"], [("rain", "-->", "wet")])
    >>> graph.edges[0] == graph.edges()[0] == Edge("rain", "wet", "-->")
    True
    """

    __slots__ = ()

    def __call__(self) -> Edges:
        return self
