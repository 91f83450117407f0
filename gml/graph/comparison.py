"""How two graphs over the same nodes differ.

The structural Hamming distance (SHD) is the number of pairs of nodes whose marks differ between the
two CPDAGs, each counting 1 (as in Tsamardinos, Brown & Aliferis 2006, Machine Learning 65:31, where
an edge of another direction is one error). A DAG stands for its CPDAG; a CPDAG, a PDAG and
an undirected graph are compared as they are: knowledge directs edges of a PDAG that the CPDAG
leaves open, and these count. The SHD of two DAGs compares their arrows instead.

An arrowhead is an ordered pair (i, j) with an arrow at j. Precision is the share of the second
graph's edges or arrowheads that the first has too, recall the reverse; what would be 0/0 is None.
Differences are in the order of the names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gml.errors import GraphError, UsageError, parameter, quote
from gml.graph.edges import Mark
from gml.graph.equivalence import equivalence_class
from gml.graph.extension import consistent_extension
from gml.graph.graph import Graph, require_marks
from gml.graph.sid import SidBounds, sid_bounds
from gml.name_order import NameOrder

VIEWS = ("cpdag", "dag")

# Matrices of n × n bytes that are held at one time.
_MATRICES = 10

_AT_FIRST = {Mark.TAIL: "-", Mark.ARROW: "<", Mark.CIRCLE: "o"}
_AT_SECOND = {Mark.TAIL: "-", Mark.ARROW: ">", Mark.CIRCLE: "o"}


@dataclass(frozen=True)
class Rates:
    """Precision, recall and their harmonic mean; None for 0/0."""

    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(frozen=True)
class Difference:
    """A pair of nodes, x before y by name, and the edge from x to y in each graph, or None.

    `kind` says what the edge of the second graph is, compared with the first: `missing`, `extra`,
    `reversed`, `directed`, `undirected`, or `marks` for edges that only PAGs have.
    """

    x: str
    y: str
    a: str | None
    b: str | None
    kind: str


@dataclass(frozen=True)
class Comparison:
    """How a second graph differs from a first one.

    `shd` compares CPDAGs (or graphs as they are), `dag_shd` DAGs; `differences`, the rates and
    `distance`, the number of differences, belong to the view asked for.
    """

    shd: int
    dag_shd: int | None
    skeleton: Rates
    arrowheads: Rates
    differences: tuple[Difference, ...]
    sid: SidBounds | None

    @property
    def distance(self) -> int:
        """The SHD of the view asked for."""
        return len(self.differences)


def compare_graphs(reference: Graph, other: Graph, *, view: str = "cpdag") -> Comparison:
    """Compare a graph with a reference over the same nodes, in any order.

    Parameters
    ----------
    reference, other
        Any graphs; PAGs compare with PAGs only.
    view
        `cpdag` compares equivalence classes; `dag` compares DAGs, a class being represented by
        the first of its DAGs by name.

    Whatever the view, the SID compares the graphs as they are given; it is None unless the
    reference is a DAG and the other graph stands for at least one.

    Examples
    --------
    >>> chain = Graph.from_edges("ABC", [("A", "-->", "B"), ("B", "-->", "C")])
    >>> other = Graph.from_edges("CAB", [("C", "-->", "B"), ("B", "-->", "A")])
    >>> found = compare_graphs(chain, other)
    >>> found.shd, found.dag_shd, found.sid.upper, found.differences
    (0, 2, 6, ())
    """
    if view not in VIEWS:
        raise UsageError(f"{parameter('view')} must be one of {', '.join(VIEWS)}, not {view!r}")
    require_same_nodes(reference, other)
    require_marks(len(reference.names), _MATRICES)
    a, b = _by_name(reference), _by_name(other)
    require_comparable(a, b)
    as_classes = [equivalence_class(g) if g.kind == "dag" else g for g in (a, b)]
    shd = _distance(*as_classes)
    compared, dag_shd = as_classes, None
    if view == "dag":
        compared = [consistent_extension(a), consistent_extension(b)]
        dag_shd = _distance(*compared)
    elif a.kind == b.kind == "dag":
        dag_shd = _distance(a, b)
    skeletons, arrowheads = (
        _rates(*(graph.marks == Mark.ARROW if heads else graph.marks != 0 for graph in compared))
        for heads in (False, True)
    )
    return Comparison(shd, dag_shd, skeletons, arrowheads, _differences(*compared), _sid(a, b))


def require_same_nodes(
    reference: Graph, other: Graph, first: str = "the first graph", second: str = "the second graph"
) -> None:
    """Raise an error that names a node of one graph that the other lacks."""
    for one, two, has, lacks in (
        (reference, other, first, second),
        (other, reference, second, first),
    ):
        missing = sorted(set(one.names) - set(two.names))
        if missing:
            raise GraphError(f"{lacks}: node {quote(missing[0])} of {has} is missing")


def require_comparable(a: Graph, b: Graph) -> None:
    """Refuse a PAG beside another graph: its marks mean something else."""
    if (a.kind == "pag") != (b.kind == "pag"):
        raise GraphError("a PAG can be compared with PAGs only")


def edge_differences(reference: Graph, other: Graph) -> tuple[Difference, ...]:
    """Return how the edges of a graph differ from those of a reference over the same nodes.

    Two DAGs are compared arrow by arrow; beside another graph, a DAG stands for its CPDAG, as in
    `compare_graphs`, and PAGs compare with PAGs only.

    Examples
    --------
    >>> chain = Graph.from_edges("AB", [("A", "-->", "B")])
    >>> edge_differences(chain, Graph.from_edges("AB", [("B", "-->", "A")]))
    (Difference(x='A', y='B', a='-->', b='<--', kind='reversed'),)
    >>> edge_differences(chain, Graph.from_edges("AB", [("A", "---", "B")]))
    ()
    """
    require_same_nodes(reference, other)
    a, b = _by_name(reference), _by_name(other)
    require_comparable(a, b)
    if "dag" in (a.kind, b.kind) and a.kind != b.kind:
        a, b = (equivalence_class(graph) if graph.kind == "dag" else graph for graph in (a, b))
    return _differences(a, b)


def is_equivalence_class(graph: Graph) -> bool:
    """Whether a graph is the CPDAG of some DAG, whatever its kind says.

    Examples
    --------
    >>> names = ["A", "B", "C"]
    >>> is_equivalence_class(Graph.from_edges(names, [("A", "---", "B"), ("B", "---", "C")]))
    True
    >>> is_equivalence_class(Graph.from_edges(names, [("A", "-->", "B"), ("B", "---", "C")]))
    False
    """
    try:
        dag = consistent_extension(graph)
    except GraphError:
        return False
    return bool(np.array_equal(equivalence_class(dag).marks, graph.marks))


def _by_name(graph: Graph) -> Graph:
    order = NameOrder(graph.names)
    return replace(graph, names=order.names, marks=order.matrix(graph.marks), attributes={})


def _differing(a: Graph, b: Graph) -> NDArray[np.bool_]:
    """Return the pairs that differ, each once, in the order of their names."""
    differ = a.marks != b.marks
    upper: NDArray[np.bool_] = np.triu(differ | differ.T)
    return upper


def _distance(a: Graph, b: Graph) -> int:
    return int(np.count_nonzero(_differing(a, b)))


def _rates(in_a: NDArray[np.bool_], in_b: NDArray[np.bool_]) -> Rates:
    """Return the rates; in symmetric matrices every pair counts twice, which no rate shows."""
    both, size_a, size_b = (int(np.count_nonzero(some)) for some in (in_a & in_b, in_a, in_b))
    return Rates(
        both / size_b if size_b else None,
        both / size_a if size_a else None,
        2 * both / (size_a + size_b) if size_a + size_b else None,
    )


def _differences(a: Graph, b: Graph) -> tuple[Difference, ...]:
    found = []
    for i, j in np.argwhere(_differing(a, b)).tolist():
        in_a, in_b = _edge(a, i, j), _edge(b, i, j)
        found.append(Difference(a.names[i], a.names[j], in_a, in_b, _kind(in_a, in_b)))
    return tuple(found)


def _edge(graph: Graph, i: int, j: int) -> str | None:
    """The type of the edge read from i to j, even if its arrow points back."""
    at_i, at_j = Mark(graph.marks[j, i]), Mark(graph.marks[i, j])
    return None if at_j == Mark.NONE else f"{_AT_FIRST[at_i]}-{_AT_SECOND[at_j]}"


def _kind(a: str | None, b: str | None) -> str:
    if b is None:
        return "missing"
    if a is None:
        return "extra"
    arrows = ("-->", "<--")
    if a in arrows and b in arrows:
        return "reversed"
    if a in arrows and b == "---":
        return "undirected"
    return "directed" if a == "---" and b in arrows else "marks"


def _sid(a: Graph, b: Graph) -> SidBounds | None:
    if a.kind != "dag":
        return None
    if b.kind == "dag":
        return sid_bounds(a, b)
    try:
        dag = consistent_extension(b)
    except GraphError:
        return None
    is_class = np.array_equal(equivalence_class(dag).marks, b.marks)
    return sid_bounds(a, b, is_class=is_class)
