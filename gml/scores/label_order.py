"""Graphs in which no number is a parent of a label, as conditional Gaussian scores need them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from gml.data.dataset import Variable
from gml.errors import DataError, GraphError, parameter, quote
from gml.graph.extension import equivalent_with
from gml.graph.graph import Graph, Mark
from gml.graph.knowledge import Knowledge

_OTHERWISE = f"{parameter('score', 'bic-dg')} allows it"


def labels_before_numbers(known: Knowledge, variables: Sequence[Variable], score: str) -> Knowledge:
    """Add to what is known that no number is a parent of a label.

    Where there are tiers already, the edges that they leave open are forbidden one by one.

    Examples
    --------
    >>> columns = [Variable("sex", ("f", "m")), Variable("age", None)]
    >>> labels_before_numbers(Knowledge(), columns, "bic-cg")
    <Knowledge: tiers 'sex', 'age'>
    """
    labels = tuple(v.name for v in variables if not v.is_continuous)
    numbers = tuple(v.name for v in variables if v.is_continuous)
    if not labels or not numbers:
        return known
    for cause, effect in known.require:
        if cause in numbers and effect in labels:
            raise DataError(
                f"contradictory knowledge: {quote(cause)} -> {quote(effect)} is required, and "
                f"{score} takes no number for a parent of a label; {_OTHERWISE}"
            )
    if not known.tiers:
        return replace(known, tiers=(labels, numbers))
    names = [v.name for v in variables]
    is_number = np.array([v.is_continuous for v in variables], dtype=bool)
    open_ = is_number[:, None] & ~is_number[None, :] & ~known.forbidden(names)
    arcs = [(names[x], names[y]) for x, y in np.argwhere(open_).tolist()]
    return replace(known, forbid=(*known.forbid, *sorted(arcs)))


def member_with_labels_first(
    graph: Graph, dag: Graph, numbers: Collection[str], name: str, score: str
) -> Graph:
    """Return a DAG without an edge from a number to a label: `dag`, or one that is equivalent.

    Only a graph that is no DAG itself stands for others.
    """
    names = dag.names
    is_number = np.array([node in numbers for node in names], dtype=bool)
    wrong = is_number[:, None] & ~is_number[None, :]
    edges = (dag.marks == Mark.ARROW) & (dag.marks.T == Mark.TAIL)
    if not (edges & wrong).any():
        return dag
    found = None if graph.kind == "dag" else equivalent_with(edges, wrong.T)
    if found is not None:
        marks = np.zeros_like(dag.marks)
        marks[found], marks[found.T] = Mark.ARROW, Mark.TAIL
        return replace(dag, marks=marks)
    x, y = np.argwhere(edges & wrong)[0].tolist()
    raise GraphError(
        f"{name}: {quote(names[x])} -> {quote(names[y])} leads from a number to a label, which "
        f"{score} cannot score; {_OTHERWISE}"
    )
