"""A forest from pairs of columns, each on the rows that have both: where structural EM begins.

Rows that a model without edges completes look as if nothing depended on anything, and where much is
missing no search finds more in them. What two columns say of one another needs no model: the gain
of an edge is the local score of y given x less that of y alone, on the rows that have both. The
forest of largest gain (Kruskal, ties by name) is directed away from the first name of each tree;
where numbers may not be parents of labels, an edge between the two leads to the number.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from gml.data.dataset import Dataset, missing_mask
from gml.errors import DataError
from gml.graph.graph import Graph
from gml.graph.spanning import spanning_forest
from gml.progress import tracked
from gml.scores.base import DecomposableScore


def available_forest(rows: Dataset, make_score: Callable[[Dataset], DecomposableScore]) -> Graph:
    """Return a forest over the columns as a DAG."""
    names = sorted(rows.names)
    present = {name: ~missing_mask(rows.columns[rows.index(name)]) for name in names}
    gains: list[tuple[int, int, float]] = []
    for a, b in tracked("pairs of columns", list(combinations(range(len(names)), 2))):
        both = present[names[a]] & present[names[b]]
        if not both.any():
            continue
        try:
            score = make_score(rows.select([names[a], names[b]]).rows(both))
            gain = _gain(score, rows, names[a], names[b])
        except DataError:
            # A column that does not vary in these rows says nothing.
            continue
        if gain > 0:
            gains.append((a, b, gain))
    x, y = (np.array([gain[k] for gain in gains], dtype=np.int64) for k in (0, 1))
    kept = spanning_forest(len(names), x, y, np.array([gain for *_, gain in gains]))
    return _directed(rows, names, [(int(x[k]), int(y[k])) for k in kept.tolist()])


def _gain(score: DecomposableScore, rows: Dataset, x: str, y: str) -> float:
    """What an edge is worth, from the label to the number if there are both."""
    is_number = [rows.variables[rows.index(name)].is_continuous for name in (x, y)]
    parent, child = (1, 0) if is_number == [True, False] else (0, 1)
    values = score.batch([(child, (parent,)), (child, ())])
    return float(values[0] - values[1]) if np.isfinite(values).all() else 0.0


def _directed(rows: Dataset, names: list[str], edges: list[tuple[int, int]]) -> Graph:
    number = [rows.variables[rows.index(name)].is_continuous for name in names]
    arcs = [(a, b) if number[b] else (b, a) for a, b in edges if number[a] != number[b]]
    around: dict[int, list[int]] = {k: [] for k in range(len(names))}
    for a, b in edges:
        if number[a] == number[b]:
            around[a].append(b)
            around[b].append(a)
    seen: set[int] = set()
    for root in range(len(names)):
        if root in seen:
            continue
        seen.add(root)
        waiting = [root]
        while waiting:
            node = waiting.pop()
            for other in sorted(around[node]):
                if other not in seen:
                    seen.add(other)
                    arcs.append((node, other))
                    waiting.append(other)
    return Graph.from_edges(
        list(rows.names), [(names[a], "-->", names[b]) for a, b in sorted(arcs)], kind="dag"
    )
