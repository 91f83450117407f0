"""Graph: nodes in order, and a mark at each end of each edge.

One type serves DAGs, CPDAGs, PAGs, trees and undirected graphs: an edge between i and j has a mark
at j, `marks[i, j]`, and one at i, `marks[j, i]`; both are NONE where there is no edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gml.calls import ends_at_caller
from gml.errors import GraphError, UsageError, counted, parameter, quote, unknown_name
from gml.graph.edges import COMPELLED, EDGE_TYPES, RESERVED, TYPE_OF, Edge, Edges, Mark
from gml.graph.order import find_cycle
from gml.graph.provenance import Provenance
from gml.printable_text import printable
from gml.resources import FEW_BYTES, require_memory
from gml.synonyms import AnswersSynonyms

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    import pydot

_EDGES_SHOWN = 8
_Node = TypeVar("_Node", str, int)
KINDS = ("dag", "cpdag", "pdag", "pag", "undirected")


@dataclass(frozen=True, repr=False)
class Graph(AnswersSynonyms):
    """Names, marks and kind; levels of the nodes and attributes of the edges where known.

    Examples
    --------
    >>> graph = Graph.from_edges(["A", "B", "C"], [("C", "-->", "A"), ("A", "-->", "B")])
    >>> graph.kind, [(edge.source, edge.type, edge.target) for edge in graph.edges]
    ('dag', [('A', '-->', 'B'), ('C', '-->', 'A')])
    >>> graph.parents("B"), graph.neighbours("A"), graph.adjacent("B", "C")
    (['A'], ['B', 'C'], False)
    """

    names: tuple[str, ...]
    marks: NDArray[np.uint8]
    kind: str
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    attributes: Mapping[tuple[int, int], Mapping[str, Any]] = field(default_factory=dict)
    learning: Provenance = field(default_factory=Provenance)
    numeric: tuple[str, ...] = ()
    """The nodes whose columns hold numbers; those without levels may hold anything."""
    hidden: tuple[str, ...] = ()
    """The nodes that have no column: nobody saw their values."""

    if TYPE_CHECKING:
        # The package adds these to the class: formats and pictures are above this room.
        def to_pydot(self) -> pydot.Dot: ...
        @staticmethod
        def from_pydot(graph: pydot.Dot) -> Graph: ...
        def _repr_svg_(self) -> str | None: ...
        def _repr_html_(self) -> str | None: ...

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise GraphError(f"kind {quote(self.kind)} is not one of {', '.join(KINDS)}")
        self.marks.flags.writeable = False

    @classmethod
    def from_edges(
        cls,
        names: Iterable[str],
        edges: Iterable[tuple[Any, ...]],
        *,
        kind: str | None = None,
        levels: Mapping[str, tuple[str, ...]] | None = None,
        learning: Provenance | None = None,
        numeric: Iterable[str] = (),
        hidden: Iterable[str] = (),
    ) -> Graph:
        """Build a graph from (source, type, target[, attributes]); the kind follows from the edges.

        Attributes with which formats write the edge itself (`RESERVED`) are left out. A kind that
        the edges contradict, a cycle of arrows, a loop and a second edge between two nodes are
        errors.
        """
        # As the columns of a frame, nodes may come with numbers for names.
        names = tuple(map(str, names))
        index = {name: i for i, name in enumerate(names)}
        if len(index) != len(names):
            twice = next(name for i, name in enumerate(names) if index[name] != i)
            raise GraphError(f"node {quote(twice)} is there twice")
        known = {str(name): found for name, found in (levels or {}).items()}
        for name, found in known.items():
            if len(set(found)) != len(found):
                raise GraphError(f"node {quote(name)} has a level twice")
        require_marks(len(names))
        marks = np.zeros((len(names), len(names)), dtype=np.uint8)
        attributes: dict[tuple[int, int], Mapping[str, Any]] = {}
        said: Mapping[str, Any] = {}
        kept: Mapping[str, Any] = {}
        for one, type_, other, *rest in edges:
            source, target = str(one), str(other)
            for name in (source, target):
                if name not in index:
                    raise GraphError(unknown_name("node", name, names))
            if type_ not in EDGE_TYPES:
                raise GraphError(
                    f"edge type {quote(str(type_))} is not one of {' '.join(EDGE_TYPES)}"
                )
            i, j = index[source], index[target]
            if i == j:
                raise GraphError(f"node {quote(source)} has an edge to itself")
            if marks[i, j]:
                raise GraphError(f"there are two edges between {quote(source)} and {quote(target)}")
            marks[j, i], marks[i, j] = EDGE_TYPES[type_]
            if rest and rest[0] is not said:
                # Edges of one statement share their attributes, and go on sharing them.
                said = rest[0]
                kept = {k: v for k, v in said.items() if k not in RESERVED}
                if not isinstance(kept.get(COMPELLED, False), bool):
                    raise GraphError(
                        f"{quote(COMPELLED)} of the edge between {quote(source)} and "
                        f"{quote(target)} must be true or false, not {quote(str(kept[COMPELLED]))}"
                    )
            if rest and kept:
                attributes[min(i, j), max(i, j)] = kept
        implied = implied_kind(names, marks)
        if kind is None:
            kind = implied
        graph = cls(
            names,
            marks,
            kind,
            known,
            attributes,
            learning or Provenance(),
            tuple(map(str, numeric)),
            tuple(map(str, hidden)),
        )
        _check_kind(graph, implied)
        return graph

    @property
    def kind_in_words(self) -> str:
        """The kind as a noun with its article, for messages."""
        return "an undirected graph" if self.kind == "undirected" else f"a {self.kind}"

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(np.count_nonzero(self.marks)) // 2

    @ends_at_caller
    def index(self, name: str) -> int:
        """Return the position of a node."""
        try:
            return self._positions[name]
        except KeyError:
            raise GraphError(unknown_name("node", name, self.names)) from None

    def position(self, node: str | int) -> int:
        """Return the position of a node that is given by its name, or by that already."""
        given: object = node
        if isinstance(given, str):
            return self.index(given)
        if not isinstance(given, Integral) or not 0 <= int(given) < len(self.names):
            raise UsageError(
                "a node is given by its name, or by its position: a whole number from 0 to "
                f"{len(self.names) - 1}, not {given!r}"
            )
        return int(given)

    def _as_given(self, node: _Node, positions: NDArray[np.int64]) -> list[_Node]:
        """Nodes by their names if one was given by its name, else by their positions."""
        found: list[Any] = positions.tolist()
        return [self.names[i] for i in found] if isinstance(node, str) else found

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def pair(self, edge: Edge) -> tuple[int, int]:
        """Return the positions of the ends of an edge, the lower first: its key in `attributes`."""
        i, j = self.index(edge.source), self.index(edge.target)
        return min(i, j), max(i, j)

    @ends_at_caller
    def edge_type(self, a: str | int, b: str | int) -> str | None:
        """Return the type of the edge read from a to b; None if there is none, or reversed."""
        i, j = self.position(a), self.position(b)
        return TYPE_OF.get((self.marks[j, i], self.marks[i, j]))

    @cached_property
    def edges(self) -> Edges:
        """Each edge once, in the order of source and target."""
        return Edges(self._each_edge())

    def _each_edge(self) -> Iterator[Edge]:
        for i, others, there, here in _edges_by_node(self.marks):
            ends = zip(others.tolist(), there.tolist(), here.tolist(), strict=True)
            for j, at_j, at_i in ends:
                # Read from the other end, an edge with two equal marks appears a second time.
                type_ = TYPE_OF.get((at_i, at_j))
                if type_ is not None and (at_i != at_j or i < j):
                    known = self.attributes.get((min(i, j), max(i, j)), {})
                    yield Edge(self.names[i], self.names[j], type_, known)

    @ends_at_caller
    def parents(self, node: _Node) -> list[_Node]:
        """Return the nodes with an arrow to a node; positions if it is given by its position."""
        j = self.position(node)
        arrows = (self.marks[:, j] == Mark.ARROW) & (self.marks[j, :] == Mark.TAIL)
        return self._as_given(node, np.flatnonzero(arrows))

    @ends_at_caller
    def children(self, node: _Node) -> list[_Node]:
        """Return the nodes that a node has an arrow to, as `parents` does."""
        i = self.position(node)
        arrows = (self.marks[i, :] == Mark.ARROW) & (self.marks[:, i] == Mark.TAIL)
        return self._as_given(node, np.flatnonzero(arrows))

    @ends_at_caller
    def neighbours(self, node: _Node) -> list[_Node]:
        """Return the nodes that share an edge of any type with a node, as `parents` does."""
        return self._as_given(node, np.flatnonzero(self.marks[self.position(node)]))

    def parent_sets(self) -> list[tuple[int, ...]]:
        """Return the parents of every node."""
        return [
            tuple(others[(there == Mark.TAIL) & (here == Mark.ARROW)].tolist())
            for _, others, there, here in _edges_by_node(self.marks)
        ]

    @ends_at_caller
    def adjacent(self, a: str | int, b: str | int) -> bool:
        """Whether there is an edge between two nodes."""
        return bool(self.marks[self.position(a), self.position(b)])

    def about_column(self, name: str) -> dict[str, Any]:
        """Return what is known about the column of a node, as JSON and networkx have it."""
        found: dict[str, Any] = {}
        if name in self.levels:
            found["levels"] = list(self.levels[name])
        elif name in self.numeric:
            found["type"] = "numeric"
        return found | ({"hidden": True} if name in self.hidden else {})

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a row for each edge: ends, type and what is known.

        Examples
        --------
        >>> graph = Graph.from_edges("ABC", [("A", "---", "B", {"strength": 0.7})])
        >>> print(graph.to_frame().to_string(index=False))
        source target type  strength
             A      B  ---       0.7
        """
        import pandas as pd

        rows = [(edge.source, edge.target, edge.type) for edge in self.edges]
        frame = pd.DataFrame(rows, columns=["source", "target", "type"])
        for key in dict.fromkeys(key for edge in self.edges for key in edge.attributes):
            frame[key] = [edge.attributes.get(key) for edge in self.edges]
        return frame

    def to_networkx(self) -> nx.DiGraph | nx.Graph:
        """Return a networkx graph with the type and attributes of each edge.

        A graph without arrows becomes an undirected one. In a directed one, an edge that has the
        same mark at both ends goes both ways.

        Examples
        --------
        >>> graph = Graph.from_edges("ABC", [("A", "---", "B"), ("B", "-->", "C")])
        >>> list(graph.to_networkx().edges)
        [('A', 'B'), ('B', 'A'), ('B', 'C')]
        """
        import networkx as nx

        result = nx.Graph() if self.kind == "undirected" else nx.DiGraph()
        for name in self.names:
            result.add_node(name, **self.about_column(name))
        for edge in self.edges:
            ends = edge.source, edge.target
            result.add_edge(*ends, type=edge.type, **edge.attributes)
            tail, head = EDGE_TYPES[edge.type]
            if tail == head and result.is_directed():
                result.add_edge(*reversed(ends), type=edge.type, **edge.attributes)
        return result

    def __repr__(self) -> str:
        shown = [
            f"{edge.source} {edge.type} {edge.target}"
            for edge in islice(self._each_edge(), _EDGES_SHOWN)
        ]
        if self.n_edges > _EDGES_SHOWN:
            shown.append("…")
        edges = f": {', '.join(shown)}" if shown else ""
        return printable(
            f"<Graph: {self.kind}, {counted(len(self.names), 'node')}, "
            f"{counted(self.n_edges, 'edge')}{edges}>"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return (
            self.names == other.names
            and self.kind == other.kind
            and bool(np.array_equal(self.marks, other.marks))
            and dict(self.levels) == dict(other.levels)
            and set(self.numeric) == set(other.numeric)
            and set(self.hidden) == set(other.hidden)
            and {k: dict(v) for k, v in self.attributes.items()}
            == {k: dict(v) for k, v in other.attributes.items()}
            and self.learning.written() == other.learning.written()
        )

    __hash__ = None  # type: ignore[assignment]


def require_marks(n: int, matrices: int = 1) -> None:
    """Refuse matrices of n × n bytes that would not fit; small ones always do."""
    if matrices * n * n > FEW_BYTES:
        require_memory(
            matrices * n * n,
            None,
            f"a graph of {n} nodes",
            "; gml keeps one byte per pair of nodes: split the graph, or raise "
            f"{parameter('max_memory')}",
        )


def _edges_by_node(
    marks: NDArray[np.uint8],
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint8]]]:
    """Yield each node with its neighbours, the marks at their ends and the marks at its own.

    Row by row, as most graphs are sparse and another n × n matrix would be large.
    """
    for i, row in enumerate(marks):
        others = np.flatnonzero(row)
        yield i, others, row[others], marks[others, i]


def implied_kind(names: tuple[str, ...], marks: NDArray[np.uint8]) -> str:
    """Return the narrowest kind that the marks allow; a cycle of arrows is an error."""
    seen = np.zeros(16, dtype=np.int64)
    successors = []
    for _, others, there, here in _edges_by_node(marks):
        pairs = 4 * here + there
        seen += np.bincount(pairs, minlength=16)
        successors.append(others[pairs == 4 * Mark.TAIL + Mark.ARROW].tolist())
    cycle = find_cycle(names, successors)
    if cycle is not None:
        raise GraphError("the graph has a cycle: " + " -> ".join(quote(name) for name in cycle))
    found = {pair for pair in TYPE_OF if seen[4 * pair[0] + pair[1]]}
    if found - {EDGE_TYPES["-->"], EDGE_TYPES["---"]}:
        return "pag"
    if EDGE_TYPES["-->"] not in found:
        return "undirected" if found else "dag"
    return "pdag" if EDGE_TYPES["---"] in found else "dag"


_ALLOWED = {
    "dag": ("dag",),
    "cpdag": ("dag", "undirected", "pdag"),
    "pdag": ("dag", "undirected", "pdag"),
    "pag": ("dag", "undirected", "pdag", "pag"),
    "undirected": ("undirected",),
}


def _check_kind(graph: Graph, implied: str) -> None:
    if graph.n_edges and implied not in _ALLOWED[graph.kind]:
        raise GraphError(f"by its edges, the kind of the graph is {implied}, not {graph.kind}")
