"""How a graph differs from a reference, as colours, line styles and words.

An edge is `added` if only the graph has it, `missing` if only the reference does, `reversed` if
both have an arrow, each its own way, and has an `other mark` if they differ otherwise. `gml
compare` calls the same differences extra, missing, reversed, and directed, undirected or marks; as
there, a DAG stands for its CPDAG where the other graph is no DAG, and PAGs compare with PAGs only.
But two DAGs are compared arrow by arrow, as `gml compare` does for its dag_shd: their arrows are
what a picture shows. The legend says which. Nodes that only one of the two has are shown too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gml.graph.edge_numbers import as_share
from gml.graph.graph import Graph
from gml.pictures.edge_marks import Stroke
from gml.pictures.themes import Theme

ADDED, MISSING, REVERSED, OTHER_MARK, IN_BOTH = (
    "added",
    "missing",
    "reversed",
    "other mark",
    "in both",
)
STATES = (ADDED, MISSING, REVERSED, OTHER_MARK, IN_BOTH)
_STATE_OF = {"extra": ADDED, "missing": MISSING, "reversed": REVERSED}
_TURNED = {"<--": "-->", "<-o": "o->", "--o": "o--"}


@dataclass(frozen=True)
class DrawnEdge:
    """An edge of a picture, by the names of its ends."""

    source: str
    target: str
    type: str
    attributes: Mapping[str, Any]
    state: str | None = None
    """How it differs from the reference, if there is one."""
    instead: str | None = None
    """What the reference has instead."""

    @property
    def words(self) -> str:
        """The edge as text formats write it."""
        return _read(self.source, self.type, self.target)


def name_in_words(name: str) -> str:
    """Return a name that is seen even if it is empty."""
    return name or "''"


def edges_by_name(graph: Graph) -> list[DrawnEdge]:
    """Return the edges in the order of the names of their ends, whatever that of the nodes.

    An edge with the same mark at both ends is read from the first one by name, and so is what its
    attributes say of a direction.

    Examples
    --------
    >>> graph = Graph.from_edges("ba", [("b", "---", "a", {"strength": 1.0, "direction": 0.25})])
    >>> [(edge.words, dict(edge.attributes)) for edge in edges_by_name(graph)]
    [('a --- b', {'strength': 1.0, 'direction': 0.75})]
    """
    found = []
    for edge in graph.edges:
        source, target = edge.source, edge.target
        attributes = edge.attributes
        if edge.type in ("---", "<->", "o-o") and target < source:
            source, target = target, source
            attributes = _turned(attributes)
        found.append(DrawnEdge(source, target, edge.type, attributes))
    return sorted(found, key=lambda edge: (edge.source, edge.target))


def _turned(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attributes of an edge that is read the other way round.

    Of those that gml gives, only `direction` depends on it: the share from the first end to the
    second, with half of the undirected ones.
    """
    direction = as_share(attributes.get("direction"))
    return attributes if direction is None else {**attributes, "direction": 1 - direction}


def edges_against(graph: Graph, reference: Graph) -> list[DrawnEdge]:
    """Return the edges of a graph, and those that only the reference has, each with its state."""
    from gml.graph.comparison import edge_differences

    names = sorted({*graph.names, *reference.names})
    mine, theirs = edges_by_name(graph), edges_by_name(reference)
    differing = {
        (difference.x, difference.y): difference
        for difference in edge_differences(_over(names, reference), _over(names, graph))
    }
    drawn = []
    for edge in mine:
        difference = differing.get(_pair(edge))
        state = _STATE_OF.get(difference.kind, OTHER_MARK) if difference else IN_BOTH
        instead = None
        if difference is not None and difference.a is not None:
            instead = _read(difference.x, difference.a, difference.y)
        drawn.append(
            DrawnEdge(edge.source, edge.target, edge.type, edge.attributes, state, instead)
        )
    present = {_pair(edge) for edge in mine}
    for edge in theirs:
        if _pair(edge) not in present:
            drawn.append(DrawnEdge(edge.source, edge.target, edge.type, {}, MISSING))
    return sorted(drawn, key=lambda edge: (edge.source, edge.target))


def comparison_in_words(graph: Graph, reference: Graph) -> str:
    """Return how the edges of two graphs are compared, as `edge_differences` does."""
    kinds = {graph.kind, reference.kind}
    if kinds == {"dag"}:
        return "two DAGs, compared arrow by arrow"
    if kinds <= {"dag", "cpdag"}:
        return "compared as CPDAGs"
    if kinds == {"undirected"}:
        return "compared edge by edge"
    return "compared mark by mark" + (", a DAG as its CPDAG" if "dag" in kinds else "")


def node_states(graph: Graph, reference: Graph) -> dict[str, str]:
    """Return the state of each node that only one of the graphs has."""
    mine, theirs = set(graph.names), set(reference.names)
    return {
        name: ADDED if name in mine else MISSING
        for name in sorted(mine | theirs)
        if name not in mine or name not in theirs
    }


def stroke_of(state: str, theme: Theme) -> Stroke:
    """Return the line of an edge in this state."""
    return {
        ADDED: Stroke(theme.added, 2.8),
        MISSING: Stroke(theme.missing, 1.8, "8 4"),
        REVERSED: Stroke(theme.reversed, 2.0, "10 3 2 3"),
        OTHER_MARK: Stroke(theme.remarked, 2.0, "2 2.5"),
        IN_BOTH: Stroke(theme.muted, 1.1),
    }[state]


def state_in_words(state: str, reference: str) -> str:
    """Return what a state means."""
    return {
        ADDED: f"added (not in {reference})",
        MISSING: f"missing (only in {reference})",
        REVERSED: "reversed",
        OTHER_MARK: "other mark",
        IN_BOTH: "in both",
    }[state]


def counts_of(edges: Iterable[DrawnEdge]) -> dict[str, int]:
    """Return how many edges are in each state."""
    counts = Counter(edge.state for edge in edges)
    return {state: counts[state] for state in STATES}


def _pair(edge: DrawnEdge) -> tuple[str, str]:
    first, second = sorted((edge.source, edge.target))
    return first, second


def _read(x: str, type_: str, y: str) -> str:
    """Return an edge in the direction that exists."""
    if type_ in _TURNED:
        x, type_, y = y, _TURNED[type_], x
    return f"{name_in_words(x)} {type_} {name_in_words(y)}"


def _over(names: list[str], graph: Graph) -> Graph:
    """Return a graph over more nodes, of the same kind."""
    edges = ((edge.source, edge.type, edge.target) for edge in edges_by_name(graph))
    return Graph.from_edges(names, edges, kind=graph.kind)
