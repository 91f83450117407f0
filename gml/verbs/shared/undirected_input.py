"""What verbs that fit models without arrows ask of their data and of the graph that they get."""

from __future__ import annotations

from gml.errors import counted
from gml.graph.chordal import moral_graph
from gml.graph.graph import Graph
from gml.progress import reporter
from gml.verbs.shared.graph_input import GivenGraph


def without_arrows(given: GivenGraph) -> Graph:
    """Return a graph without arrows; a DAG, or one of a class, is moralised, which is said."""
    if given.graph.kind == "undirected":
        return given.graph
    moral = moral_graph(given.dag())
    added = moral.n_edges - given.graph.n_edges
    reporter().tell(
        f"{given.name} is {given.graph.kind_in_words}: its moral graph is fitted, with "
        f"{counted(added, 'more edge')} between parents of the same node"
    )
    return moral
