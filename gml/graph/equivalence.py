"""The equivalence class of a DAG as a graph, and the one DAG that stands for it."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import numpy as np

from gml.graph.edges import Mark
from gml.graph.extension import consistent_extension
from gml.graph.graph import Graph, require_marks
from gml.graph.knowledge import Knowledge
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
    decided = None
    if knowledge:
        decided = knowledge.required(dag.names) | knowledge.forbidden(dag.names).T
    directed = maximally_oriented(matrix, decided)
    marks = np.zeros_like(dag.marks)
    marks[matrix | matrix.T] = Mark.TAIL
    marks[directed] = Mark.ARROW
    return replace(dag, marks=marks, kind="pdag" if knowledge else "cpdag")


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
