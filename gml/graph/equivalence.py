"""The equivalence class of a DAG as a graph, and the one DAG that stands for it."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import numpy as np

from gml.graph.bits import bits_of, sets_in_columns
from gml.graph.edges import Mark
from gml.graph.essential import compelled_parents
from gml.graph.extension import consistent_extension
from gml.graph.graph import Graph, require_marks
from gml.graph.knowledge import Knowledge
from gml.graph.open_arrows import with_compelled, without_compelled
from gml.graph.orientation import maximally_oriented
from gml.name_order import NameOrder

# Matrices of n × n bytes that are held at one time.
_MATRICES = 8


def equivalence_class(dag: Graph, knowledge: Knowledge | None = None) -> Graph:
    """Return the CPDAG of a DAG or, with knowledge that it obeys, its maximally oriented PDAG.

    Examples
    --------
    >>> dag = Graph.from_edges("ABC", [("A", "-->", "B"), ("B", "-->", "C")])
    >>> equivalence_class(dag).kind, [edge.type for edge in equivalence_class(dag).edges]
    ('cpdag', ['---', '---'])
    >>> told = equivalence_class(dag, Knowledge(require=(("A", "B"),)))
    >>> told.kind, [edge.type for edge in told.edges]
    ('pdag', ['-->', '-->'])
    """
    require_marks(len(dag.names), _MATRICES)
    matrix = (dag.marks == Mark.ARROW) & (dag.marks.T == Mark.TAIL)
    directed = maximally_oriented(matrix, knowledge.decided(dag.names) if knowledge else None)
    marks = np.zeros_like(dag.marks)
    marks[matrix | matrix.T] = Mark.TAIL
    marks[directed] = Mark.ARROW
    found = replace(dag, marks=marks, kind="pdag" if knowledge else "cpdag")
    left_open: list[tuple[int, int]] = []
    if knowledge and knowledge.told is not knowledge:
        settled = maximally_oriented(matrix, knowledge.told.decided(dag.names))
        left_open = [(i, j) for i, j in np.argwhere(directed & ~settled).tolist()]
    return without_compelled(found, left_open)


def as_chosen(dag: Graph, knowledge: Knowledge | None = None) -> Graph:
    """Return a DAG that was chosen from its class, with `compelled` on its edges.

    Directions that knowledge forces, which the DAG obeys, are compelled; those that only a score
    demands are not (`gml.graph.open_arrows`).

    Examples
    --------
    >>> dag = Graph.from_edges("ABC", [("A", "-->", "B"), ("B", "-->", "C")])
    >>> [edge.attributes for edge in as_chosen(dag).edges]
    [{'compelled': False}, {'compelled': False}]
    >>> told = as_chosen(dag, Knowledge(require=(("A", "B"),)))
    >>> [edge.attributes for edge in told.edges]
    [{'compelled': True}, {'compelled': True}]
    """
    told = Knowledge() if knowledge is None else knowledge.told
    if not told:
        return with_compelled(dag, compelled_parents([bits_of(some) for some in dag.parent_sets()]))
    require_marks(len(dag.names), _MATRICES)
    matrix = (dag.marks == Mark.ARROW) & (dag.marks.T == Mark.TAIL)
    directed = maximally_oriented(matrix, told.decided(dag.names))
    return with_compelled(dag, sets_in_columns(directed))


def class_key(dag: Graph) -> bytes:
    """What equivalent DAGs over the same nodes, in any order, have in common, and no others.

    Examples
    --------
    >>> there = Graph.from_edges("AB", [("A", "-->", "B")])
    >>> back = Graph.from_edges("BA", [("B", "-->", "A")])
    >>> class_key(there) == class_key(back) != class_key(Graph.from_edges("AB", []))
    True
    """
    order = NameOrder(dag.names).positions
    return sha256(equivalence_class(dag).marks[np.ix_(order, order)].tobytes()).digest()


def representative(dag: Graph, knowledge: Knowledge | None = None) -> Graph:
    """Return the DAG that stands for the class of a DAG: the same one for all DAGs of the class.

    With knowledge, it stands for those DAGs of the class that obey it.

    Examples
    --------
    >>> dag = Graph.from_edges("ABC", [("A", "-->", "B"), ("B", "-->", "C")])
    >>> [(edge.source, edge.target) for edge in representative(dag).edges]
    [('B', 'A'), ('C', 'B')]
    """
    return consistent_extension(equivalence_class(dag, knowledge))
