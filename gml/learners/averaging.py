"""One graph from many, or from the probabilities of edges: how certain each edge is.

The `strength` of an edge is the share of graphs with the adjacency; the `direction` of a → b is the
share of a → b plus half the share of a — b among those; `undirected` is the share of a — b among
them. The averaged graph has the adjacencies whose strength reaches a threshold. Of the classes of
DAGs over them, it is the one of least cost (`gml.graph.cheapest`): a triple that contradicts its
evidence costs the |log odds| of the collider, an arrow against the majority ln((1 − d)/d).

The d of an arrow is its direction as (k + ½)/(N + 1), where k of the N graphs with the adjacency
have the arrow (a — b counts as half of one), so that no arrow costs infinitely much.

Over graphs, the log odds of a collider are ln (c + ½)/(m − c + ½) for c colliders in the m graphs
in which the triple exists and is unshielded. Where only the probability of each edge is known, the
two edges x → k and y → k, given that they exist, are treated as independent: c is the product of
their directions. No DAG in which x — k — y is not a collider has both, so their directions add up
to at most 1 and c is at most ¼: a class that has all the probability gives its CPDAG.

The default threshold for graphs is that of Scutari & Nagarajan (2013, Artif. Intell. Med.
57:207): the distribution function of the strengths is compared with that of a set of pairs that
have strength 0 or 1; the share t of the former that minimises the L1 distance is the median of the
distribution function's values over [0, 1]; pairs above the t-quantile of the strengths are edges.
For probabilities it is ½: the graph with the most probable answer for each pair.

Undirected graphs are averaged to one: the edges whose strength reaches the threshold, and nothing
to orient.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.graph.edges import Mark
from gml.graph.extension import Triple
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.graph.orientation import unshielded_triples
from gml.learners.pc import WeighedTriple, orient
from gml.name_order import NameOrder
from gml.resources import require_memory
from gml.scores.base import rounded
from gml.synonyms import AnswersSynonyms

if TYPE_CHECKING:
    import pandas as pd

_SURE = 1e-12
# Shares of a half that rounding moved are no minority.
_HALF = 0.5 - 1e-9
# Matrices of marks in the order of names, and those compared with them.
_MARK_BYTES = 6


class Pair(NamedTuple):
    """Two columns, and what is known of an edge between them, in the words that edges carry.

    `direction` is that of x → y. DAGs have no undirected edges, so `undirected` is then None; both
    are None where no graph has the edge, and in averages of undirected graphs.
    """

    x: str
    y: str
    strength: float
    direction: float | None = None
    undirected: float | None = None


@dataclass(frozen=True)
class Shares:
    """How much of a total has each pair adjacent, directed i → j, or undirected; in name order."""

    names: tuple[str, ...]
    adjacent: NDArray[np.float64]
    directed: NDArray[np.float64]
    undirected: NDArray[np.float64] | None = None
    total: float = 1.0
    directions: bool = True
    """Whether edges have any: those of undirected graphs have a strength alone."""

    @property
    def strength(self) -> NDArray[np.float64]:
        """The share of adjacencies."""
        return self.adjacent / self.total

    def pairs(self) -> Iterator[Pair]:
        """All pairs, by name."""
        for i, x in enumerate(self.names):
            for j in range(i + 1, len(self.names)):
                yield Pair(x, self.names[j], **self._numbers(i, j))

    def described(self, graph: Graph) -> Graph:
        """The graph, its edges with strength, direction and undirected."""
        rank = {name: k for k, name in enumerate(self.names)}
        attributes: dict[tuple[int, int], dict[str, Any]] = {}
        for edge in graph.edges:
            ends = graph.pair(edge)
            known = {} if graph.kind == "undirected" else graph.attributes.get(ends, {})
            attributes[ends] = {**self._numbers(rank[edge.source], rank[edge.target]), **known}
        return replace(graph, attributes=attributes)

    def _numbers(self, i: int, j: int) -> dict[str, float]:
        """What is known of the edge read from i to j; its strength alone, if there is no more."""
        strength = {"strength": float(self.adjacent[i, j] / self.total)}
        if not self.directions or not self.adjacent[i, j]:
            return strength
        direction = self.directed[i, j] / self.adjacent[i, j]
        if self.undirected is None:
            return strength | {"direction": float(direction)}
        line = self.undirected[i, j] / self.adjacent[i, j]
        return strength | {"direction": float(direction + line / 2), "undirected": float(line)}


@dataclass(frozen=True)
class Averaged(AnswersSynonyms):
    """The averaged graph, a consistent extension of it, and what it was made from.

    An undirected graph has no extension.
    """

    graph: Graph
    dag: Graph | None = field(repr=False)
    threshold: float
    triples: tuple[WeighedTriple, ...] = field(repr=False)
    shares: Shares = field(repr=False)
    proven: bool = False
    """Whether no other class of DAGs over these edges contradicts the shares less."""
    complete: bool = True
    """Whether there was time for everything that was to be averaged."""

    @property
    def minority(self) -> list[tuple[str, str, float]]:
        """Arrows against their majority: from, to, and the share of the direction."""
        return [
            (edge.source, edge.target, direction)
            for edge in self.graph.edges
            if edge.type == "-->" and (direction := edge.attributes["direction"]) < _HALF
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a row for each pair: strength and directions."""
        import pandas as pd

        return pd.DataFrame(self.shares.pairs(), columns=list(Pair._fields))

    @property
    def replicates(self) -> int:
        """The number of graphs that were averaged."""
        return int(self.shares.total)


def average_graphs(
    graphs: Sequence[Graph], *, threshold: float | None = None, knowledge: Knowledge | None = None
) -> Averaged:
    """Average graphs over the same nodes; edges get strength, direction and undirected.

    The average of undirected graphs is undirected, and knowledge has no bearing on it.
    """
    names = graphs[0].names
    order = NameOrder(names)
    require_memory(
        _MARK_BYTES * len(graphs) * len(names) ** 2,
        None,
        f"{len(graphs)} graphs of {len(names)} columns",
    )
    marks = np.stack([order.matrix(graph.marks) for graph in graphs])
    adjacent, arrows = marks != Mark.NONE, marks == Mark.ARROW
    shares = Shares(
        order.names,
        adjacent.sum(axis=0),
        (arrows & ~arrows.transpose(0, 2, 1)).sum(axis=0),
        (adjacent & ~arrows & ~arrows.transpose(0, 2, 1)).sum(axis=0),
        len(graphs),
    )
    if threshold is None:
        threshold = data_driven_threshold(shares.strength[np.triu_indices(len(names), 1)])
    chosen = (shares.strength >= threshold) & (shares.adjacent > 0)
    if all(graph.kind == "undirected" for graph in graphs):
        shares = replace(shares, directions=False)
        marks = np.where(chosen, np.uint8(Mark.TAIL), np.uint8(Mark.NONE))
        found = Graph(names, order.restored(marks), "undirected")
        return Averaged(shares.described(found), None, threshold, (), shares, proven=True)
    weights = {
        (x, k, y): _log_odds(adjacent, arrows, (x, k, y)) for x, k, y in unshielded_triples(chosen)
    }
    for_arrow = (shares.adjacent + shares.directed - shares.directed.T) / 2
    direction = (for_arrow + 0.5) / (shares.adjacent + 1)
    return _averaged(names, shares, threshold, chosen, weights, direction, knowledge)


def average_probabilities(
    names: Sequence[str],
    probabilities: NDArray[np.float64],
    *,
    threshold: float = 0.5,
    knowledge: Knowledge | None = None,
) -> Averaged:
    """Average DAGs when only the probability of each edge i → j is known.

    Examples
    --------
    >>> to_b = np.array([[0, 0.9, 0.1], [0.1, 0, 0], [0.1, 0.8, 0]])
    >>> averaged = average_probabilities("ABC", to_b)
    >>> [(edge.source, edge.type, edge.target) for edge in averaged.graph.edges]
    [('A', '-->', 'B'), ('C', '-->', 'B')]
    """
    order = NameOrder(names)
    directed = order.matrix(probabilities)
    adjacent = np.minimum(directed + directed.T, 1.0)
    shares = Shares(order.names, adjacent, directed)
    chosen = (rounded(adjacent) >= threshold) & (adjacent > 0)
    direction = np.divide(directed, adjacent, out=np.zeros_like(directed), where=adjacent > 0)
    weights = {}
    for x, k, y in unshielded_triples(chosen):
        c = min(max(direction[x, k] * direction[y, k], _SURE), 1 - _SURE)
        weights[x, k, y] = rounded(math.log(c / (1 - c)))
    sure = np.clip(direction, _SURE, 1 - _SURE)
    return _averaged(tuple(names), shares, threshold, chosen, weights, sure, knowledge)


def _averaged(
    names: tuple[str, ...],
    shares: Shares,
    threshold: float,
    chosen: NDArray[np.bool_],
    weights: dict[Triple, float],
    direction: NDArray[np.float64],
    knowledge: Knowledge | None,
) -> Averaged:
    knowledge = knowledge or Knowledge()
    log_odds = np.log1p(-direction) - np.log(direction)
    against = rounded(np.where(chosen & (log_odds > 0), log_odds, 0.0))
    oriented = orient(shares.names, chosen, weights, knowledge, against=against)
    return Averaged(
        shares.described(oriented.graph(names, "pdag" if knowledge else "cpdag")),
        shares.described(oriented.extension(names)),
        threshold,
        oriented.triples(),
        shares,
        oriented.proven,
    )


def _log_odds(adjacent: NDArray[np.bool_], arrows: NDArray[np.bool_], triple: Triple) -> float:
    x, k, y = triple
    there = adjacent[:, x, k] & adjacent[:, y, k] & ~adjacent[:, x, y]
    m = int(np.count_nonzero(there))
    c = int(np.count_nonzero(there & arrows[:, x, k] & arrows[:, y, k]))
    return rounded(math.log((c + 0.5) / (m - c + 0.5)))


def data_driven_threshold(strengths: NDArray[np.float64]) -> float:
    """Return the threshold of strength by Scutari & Nagarajan.

    Examples
    --------
    >>> data_driven_threshold(np.array([0.0, 0.0, 0.05, 0.1, 0.9, 1.0]))
    0.9
    """
    if not len(strengths):
        return 1.0
    steps, counts = np.unique(strengths, return_counts=True)
    share = np.cumsum(counts) / len(strengths)
    # The distribution function over [0, 1]: its values, and the lengths over which it has them.
    knots = np.concatenate([[0.0], steps, [1.0]])
    values = np.concatenate([[0.0], share])
    lengths = np.diff(knots)
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(lengths[order])
    t = values[order][np.searchsorted(reached, reached[-1] / 2 * (1 - 1e-12))]
    quantile = steps[np.searchsorted(share, t * (1 - 1e-12))] if t > 0 else 0.0
    above = steps[steps > quantile]
    return float(above[0]) if len(above) else 1.0
