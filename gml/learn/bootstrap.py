"""How sure each edge is: the graph learned on many half-samples, and their average.

G on a bootstrap sample behaves like 2χ² under independence, so that learners that test use
complementary half-samples instead: the rows are split in two at random, without replacement, and
both halves are learned from (Shah & Samworth 2013, J. R. Stat. Soc. B 75:55). The draw is over the
sorted distinct rows with their counts: the order of rows does not change it.

`strength` of an edge is the share of replicates with the adjacency, `direction` of a → b the share
of a → b plus half the share of a — b among those, `undirected` the share of a — b among them. The
averaged graph has the adjacencies of strength at least a threshold; its colliders are weighed by
their log odds over the replicates, ln (c + ½)/(m − c + ½) for c colliders in the m replicates in
which the triple is there and unshielded, and directed as in PC, so that it is always a valid graph.

The default threshold is the one of Scutari & Nagarajan (2013, Artif. Intell. Med. 57:207): the
distribution function of the strengths is compared with that of a set of pairs that have strength 0
or 1; the share t of the former that minimises the L1 distance is the median of the distribution
function's values over [0, 1]; pairs above the t-quantile of the strengths are edges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gml.counts.resources import available_threads
from gml.data.dataset import Dataset
from gml.data.resampling import distinct_rows, require_splittable, resampled
from gml.graph.extension import Triple
from gml.graph.graph import Graph, Mark
from gml.graph.knowledge import Knowledge
from gml.graph.orientation import unshielded_triples
from gml.learn.pc import WeighedTriple, orient
from gml.progress import Deadline, reporter
from gml.scores.base import rounded


@dataclass(frozen=True)
class Averaged:
    """The averaged graph, a consistent extension of it, and what it was made of."""

    graph: Graph
    dag: Graph
    threshold: float
    triples: tuple[WeighedTriple, ...]
    replicates: int


def half_samples(dataset: Dataset, replicates: int, *, seed: int = 0) -> Iterator[Dataset]:
    """Yield half-samples, each followed by its complement."""
    rows, counts = distinct_rows(dataset)
    n = require_splittable(counts, 2)
    splits = np.random.SeedSequence(seed).spawn(-(-replicates // 2))
    for replicate in range(replicates):
        # Drawn anew for the complement: it costs less than to keep it.
        rng = np.random.default_rng(splits[replicate // 2])
        half = rng.multivariate_hypergeometric(counts, n // 2)
        yield resampled(dataset, rows, half if replicate % 2 == 0 else counts - half)


def learn_replicates(
    learn: Callable[[Dataset], Graph | None],
    samples: Iterable[Dataset],
    *,
    total: int,
    threads: int | None = None,
    deadline: Deadline | None = None,
) -> list[Graph]:
    """Learn a graph from each sample, several at a time; at the deadline those that are ready.

    `learn` returns None when it could not finish in time.
    """
    deadline = deadline or Deadline()
    threads = threads or available_threads()
    graphs: list[Graph] = []
    samples = iter(samples)
    from concurrent.futures import ThreadPoolExecutor
    from itertools import islice

    with ThreadPoolExecutor(threads) as pool:
        while not deadline.passed:
            some = list(islice(samples, threads))
            if not some:
                break
            graphs += [graph for graph in pool.map(learn, some) if graph is not None]
            reporter().advance("replicates", len(graphs), total)
    return graphs


def average_graphs(
    graphs: Sequence[Graph], *, threshold: float | None = None, knowledge: Knowledge | None = None
) -> Averaged:
    """Average graphs over the same nodes; edges get strength, direction and undirected."""
    names = graphs[0].names
    by_name = sorted(range(len(names)), key=names.__getitem__)
    marks = np.stack([graph.marks[np.ix_(by_name, by_name)] for graph in graphs])
    adjacent, arrows = marks != Mark.NONE, marks == Mark.ARROW
    present = adjacent.sum(axis=0)
    strength = present / len(graphs)
    upper = np.triu_indices(len(names), 1)
    if threshold is None:
        threshold = data_driven_threshold(strength[upper])
    chosen = (strength >= threshold) & (present > 0)
    weights = {
        (x, k, y): _log_odds(adjacent, arrows, (x, k, y)) for x, k, y in unshielded_triples(chosen)
    }
    knowledge = knowledge or Knowledge()
    oriented = orient([names[j] for j in by_name], chosen, weights, knowledge)
    graph = oriented.graph(names, "pdag" if knowledge else "cpdag")
    rank = np.argsort(by_name)
    directed = arrows & ~arrows.transpose(0, 2, 1)
    undirected = adjacent & ~arrows & ~arrows.transpose(0, 2, 1)

    def described(some: Graph) -> Graph:
        attributes = {}
        for edge in some.edges():
            i, j = rank[edge.source], rank[edge.target]
            line = undirected[:, i, j].sum() / present[i, j]
            attributes[min(edge.source, edge.target), max(edge.source, edge.target)] = {
                "strength": float(strength[i, j]),
                "direction": float(directed[:, i, j].sum() / present[i, j] + line / 2),
                "undirected": float(line),
            }
        return replace(some, attributes=attributes)

    return Averaged(
        described(graph),
        described(oriented.extension(names)),
        threshold,
        oriented.triples(),
        len(graphs),
    )


def _log_odds(adjacent: NDArray[np.bool_], arrows: NDArray[np.bool_], triple: Triple) -> float:
    x, k, y = triple
    there = adjacent[:, x, k] & adjacent[:, y, k] & ~adjacent[:, x, y]
    m = int(np.count_nonzero(there))
    c = int(np.count_nonzero(there & arrows[:, x, k] & arrows[:, y, k]))
    return rounded(math.log((c + 0.5) / (m - c + 0.5)))


def data_driven_threshold(strengths: NDArray[np.float64]) -> float:
    """Return the least strength of an edge by Scutari & Nagarajan.

    Examples
    --------
    >>> data_driven_threshold(np.array([0.0, 0.0, 0.05, 0.1, 0.9, 1.0]))
    0.9
    """
    if not len(strengths):
        return 1.0
    steps, counts = np.unique(strengths, return_counts=True)
    share = np.cumsum(counts) / len(strengths)
    # The distribution function over [0, 1]: its values, and how long it keeps each.
    knots = np.concatenate([[0.0], steps, [1.0]])
    values = np.concatenate([[0.0], share])
    lengths = np.diff(knots)
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(lengths[order])
    t = values[order][np.searchsorted(reached, reached[-1] / 2 * (1 - 1e-12))]
    quantile = steps[np.searchsorted(share, t * (1 - 1e-12))] if t > 0 else 0.0
    above = steps[steps > quantile]
    return float(above[0]) if len(above) else 1.0
