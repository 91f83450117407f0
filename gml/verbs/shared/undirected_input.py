"""What verbs that fit models without arrows ask of their data and of the graph that they get."""

from __future__ import annotations

from gml.counts.counter import Counter
from gml.errors import UsageError, agreeing, counted, listing, parameter
from gml.graph.chordal import moral_graph
from gml.graph.graph import Graph
from gml.progress import reporter
from gml.verbs.shared.graph_input import GivenGraph


def require_labels(counter: Counter, what: str) -> None:
    """Refuse columns of numbers, for `what` is to be fitted."""
    numbers = [variable.name for variable in counter.variables if variable.is_continuous]
    if numbers:
        raise UsageError(
            f"{what} is over labels, and {listing(numbers)} "
            f"{agreeing(len(numbers), 'has', 'have')} numbers; cut them with "
            f"{parameter('bins')} or {parameter('cut')}"
        )


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
