"""A forest from pairs of columns, each on the rows that have both: where structural EM begins.

Rows that a model without edges completes look as if nothing depended on anything, and where much is
missing no search finds more in them. What two columns say of one another needs no model: the gain
of an edge is what it adds to the likelihood on the rows that have both, less the price of its
parameters. Edges are taken by decreasing gain (Kruskal, ties by name), after those that are
required, unless they close a cycle, are forbidden in both directions, or would leave some node with
too many parents. An edge that is allowed in one direction has that; the others lead away from the
first name of each tree that they make, or from the one node there that has no room for a parent. A
number whose regressions rows do not determine loses the parents that gain least.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, TableSet
from gml.counts.residuals import SPARE_ROWS
from gml.data.dataset import Dataset, missing_mask
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.graph.spanning import direct_away
from gml.progress import Deadline, reporter
from gml.structural.seen_families import SeenFamilies

# Pairs that are counted before time is looked at.
_BATCH = 64
_ROUNDING = 1e-14

Pair = tuple[int, int]


def available_forest(
    counter: Counter,
    rows: Dataset,
    price: Callable[[float], float],
    *,
    knowledge: Knowledge | None = None,
    max_parents: int | None = None,
    edge_penalty: float = 0.0,
    deadline: Deadline | None = None,
) -> Graph:
    """Return a forest over the columns as a DAG.

    Parameters
    ----------
    counter, rows
        The table with its gaps.
    price
        Nats that a parameter costs, by the number of rows.
    deadline
        After it, the pairs looked at so far make the forest.
    """
    names = sorted(rows.names)
    known = knowledge or Knowledge()
    limits = _Limits(
        known.required(names),
        known.forbidden(names),
        len(names) if max_parents is None else max_parents,
    )
    place = [rows.index(name) for name in names]
    gains: dict[Pair, float] = {}
    pairs = [
        pair
        for pair in combinations(range(len(names)), 2)
        if not (limits.forbidden[pair] and limits.forbidden[pair[::-1]])
    ]
    limit = deadline or Deadline()
    measured = _Gains(counter, rows, price)
    for start in range(0, len(pairs), _BATCH):
        if limit.passed:
            break
        some = pairs[start : start + _BATCH]
        found = measured.of([(place[a], place[b]) for a, b in some])
        gains.update(zip(some, (found - edge_penalty).tolist(), strict=True))
        reporter().advance("pairs of columns", start + len(some), len(pairs))
    arcs = _arcs(len(names), gains, limits)
    kept = _fitted(arcs, gains, limits, place, SeenFamilies(counter))
    return Graph.from_edges(
        list(rows.names), [(names[a], "-->", names[b]) for a, b in sorted(kept)], kind="dag"
    )


class Lost(NamedTuple):
    """A family of one parent that cannot be fitted to what was seen."""

    child: int
    parent: int


def strongest_lost(
    counter: Counter,
    rows: Dataset,
    price: Callable[[float], float],
    knowledge: Knowledge,
    deadline: Deadline,
) -> Lost | None:
    """Return the pair that gains most, if a search by regressions in groups cannot have its edge.

    What such a pair gains is asked of one variance for all groups, which needs no rows in each.
    """
    measured = _Gains(counter, rows, price)
    names = [variable.name for variable in counter.variables]
    forbidden = knowledge.forbidden(names)
    order = counter.order.positions.tolist()
    pairs = [
        pair for pair in combinations(order, 2) if not (forbidden[pair] and forbidden[pair[::-1]])
    ]
    lost = measured.lost(pairs)
    if not lost:
        return None
    best = max(lost, key=lambda pair: lost[pair])
    others = [pair for pair in pairs if pair not in lost]
    for start in range(0, len(others), _BATCH):
        if deadline.passed:
            return None
        if measured.of(others[start : start + _BATCH]).max() >= lost[best]:
            return None
    parent, child = measured.directed(best)
    return Lost(child, parent)


@dataclass(frozen=True)
class _Limits:
    """What a graph may have, by nodes in order of names."""

    required: NDArray[np.bool_]
    forbidden: NDArray[np.bool_]
    max_parents: int


class _Gains:
    """What edges add to the likelihood of the rows that have both columns, less their price."""

    def __init__(self, counter: Counter, rows: Dataset, price: Callable[[float], float]) -> None:
        self._counter = counter
        self._rows = rows
        self._price = price
        self._is_number = [variable.is_continuous for variable in counter.variables]

    def of(self, pairs: Sequence[Pair]) -> NDArray[np.float64]:
        """The gain of each pair; none where rows do not determine it."""
        found = np.zeros(len(pairs))
        labels = [k for k, pair in enumerate(pairs) if not any(self._is_number[j] for j in pair)]
        sets = [TableSet(pairs[k]) for k in labels]
        for k, counts in zip(labels, self._counter.tables(sets), strict=True):
            # Without rows that have both there is no table.
            found[k] = self._of_table(counts.table.sum(axis=0) * self._counter.unit)
        others = sorted(set(range(len(pairs))) - set(labels))
        ordered = [self.directed(pairs[k]) for k in others]
        if ordered:
            left = self._counter.residuals([(child, (parent,)) for parent, child in ordered])
            for k, (parent, child), is_there, log_sum in zip(
                others, ordered, left.sufficient.tolist(), left.log_sum.tolist(), strict=True
            ):
                if is_there:
                    found[k] = self._of_regression(parent, child, log_sum * self._counter.unit)
        return found

    def directed(self, pair: Pair) -> Pair:
        """A pair with at least one number, the parent first: the number is the child.

        Of two, the second is.
        """
        swaps = self._is_number[pair[0]] and not self._is_number[pair[1]]
        return pair[::-1] if swaps else pair

    def lost(self, pairs: Sequence[Pair]) -> dict[Pair, float]:
        """What pairs gain whose regressions rows do not determine, those that gain something."""
        some = [pair for pair in pairs if any(self._is_number[j] for j in pair)]
        if not some:
            return {}
        ordered = [self.directed(pair) for pair in some]
        fits = SeenFamilies(self._counter).fit([(child, (parent,)) for parent, child in ordered])
        gains = {
            pair: self._with_one_variance(*directed)
            for pair, directed, fit in zip(some, ordered, fits.tolist(), strict=True)
            if not fit
        }
        return {pair: gain for pair, gain in gains.items() if gain > 0}

    def _with_one_variance(self, parent: int, child: int) -> float:
        values, weights, both = self._seen_of(parent, child)
        given = self._rows.columns[parent][both]
        n = float(weights.sum())
        if self._is_number[parent]:
            fitted, added = _line(_in_range(given)[0], values, weights), 1
        else:
            _, group = np.unique(given, return_inverse=True)
            sizes = np.bincount(group, weights)
            fitted = (np.bincount(group, weights * values) / sizes)[group]
            added = len(sizes) - 1
        if n - added - 1 < SPARE_ROWS:
            return 0.0
        left = float(weights @ (values - fitted) ** 2)
        whole = float(weights @ (values - weights @ values / n) ** 2)
        if whole == 0:
            return 0.0
        # Sums of squares have an error of some units in the last place.
        if left <= _ROUNDING * whole:
            return math.inf
        return 0.5 * n * math.log(whole / left) - self._price(n) * added

    def _seen_of(
        self, parent: int, child: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """The numbers of a child in rows that have both, at most 1, their weights, and which."""
        columns = self._rows.columns
        both = ~(missing_mask(columns[parent]) | missing_mask(columns[child]))
        times = self._rows.weights
        weights = np.ones(int(both.sum())) if times is None else times[both].astype(np.float64)
        return _in_range(columns[child][both])[0], weights * self._rows.unit, both

    def _of_table(self, table: NDArray[np.float64]) -> float:
        n = float(table.sum())
        if n == 0:
            return 0.0
        independent = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / n
        seen = table > 0
        gain = float(np.sum(table[seen] * np.log(table[seen] / independent[seen])))
        added = int((table.shape[0] - 1) * (table.shape[1] - 1))
        return gain - self._price(n) * added

    def _of_regression(self, parent: int, child: int, log_sum: float) -> float:
        """ln of the variance that is left, against that of the same rows together."""
        values, weights, both = self._seen_of(parent, child)
        n = float(weights.sum())
        mean = float(weights @ values) / n
        variance = float(weights @ (values - mean) ** 2) / n
        if not variance > 0:
            return 0.0
        log_variance = math.log(variance) + 2 * math.log(
            _in_range(self._rows.columns[child][both])[1]
        )
        levels = self._rows.variables[parent].levels
        added = 1 if levels is None else 2 * (len(levels) - 1)
        return 0.5 * (n * log_variance - log_sum) - self._price(n) * added


def _in_range(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Numbers that can be squared, whatever their size, and what they were divided by."""
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    return values / largest, largest


def _line(
    x: NDArray[np.float64], y: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The least-squares line at each x."""
    n = weights.sum()
    x_mean, y_mean = weights @ x / n, weights @ y / n
    spread = weights @ (x - x_mean) ** 2
    slope = weights @ ((x - x_mean) * (y - y_mean)) / spread if spread > 0 else 0.0
    fitted: NDArray[np.float64] = y_mean + slope * (x - x_mean)
    return fitted


@dataclass
class _Tree:
    """Nodes that undirected edges join: at most one of them may have no room for a parent."""

    nodes: list[int] = field(default_factory=list)
    full: int | None = None


def _arcs(n_nodes: int, gains: dict[Pair, float], limits: _Limits) -> list[Pair]:
    """Choose edges by decreasing gain, and direct them."""
    joined = list(range(n_nodes))
    trees = [_Tree([node]) for node in range(n_nodes)]
    n_parents = [0] * n_nodes
    fixed: list[Pair] = []
    free: list[Pair] = []

    def home(node: int) -> int:
        while joined[node] != node:
            node = joined[node]
        return node

    def point(a: int, b: int) -> bool:
        """Direct an edge at b, if there is room for it and for what comes from above."""
        tree = trees[b]
        n = n_parents[b] + 1
        if n > limits.max_parents or (n == limits.max_parents and tree.full not in (None, b)):
            return False
        n_parents[b] = n
        if n == limits.max_parents:
            tree.full = b
        fixed.append((a, b))
        return True

    def join(a: int, b: int) -> bool:
        """Leave the direction of an edge open, if one end may be below the other."""
        one, other = trees[a], trees[b]
        if limits.max_parents < 1 or (one.full is not None and other.full is not None):
            return False
        one.nodes += other.nodes
        one.full = other.full if one.full is None else one.full
        for node in other.nodes:
            trees[node] = one
        free.append((a, b))
        return True

    for a, b in np.argwhere(limits.required).tolist():
        n_parents[b] += 1
        if n_parents[b] >= limits.max_parents:
            trees[b].full = b
        fixed.append((a, b))
        joined[home(a)] = home(b)
    for a, b in sorted(gains, key=lambda pair: (-gains[pair], pair)):
        if gains[a, b] <= 0 or home(a) == home(b):
            continue
        if limits.forbidden[a, b] or limits.forbidden[b, a]:
            is_kept = point(b, a) if limits.forbidden[a, b] else point(a, b)
        else:
            is_kept = join(a, b)
        if is_kept:
            joined[home(a)] = home(b)
    roots = [node for node in range(n_nodes) if trees[node].full == node]
    return [*fixed, *direct_away(n_nodes, free, [*roots, *range(n_nodes)])]


def _fitted(
    arcs: Sequence[Pair],
    gains: dict[Pair, float],
    limits: _Limits,
    place: Sequence[int],
    seen: SeenFamilies,
) -> list[Pair]:
    """Take away the parents that gain least of nodes that rows do not determine."""
    found: list[Pair] = []
    for child in range(len(place)):
        parents = [a for a, b in arcs if b == child]
        parents.sort(key=lambda a: (-gains.get((min(a, child), max(a, child)), math.inf), a))
        while not seen.fit([(place[child], tuple(place[a] for a in parents))])[0]:
            loose = [a for a in parents if not limits.required[a, child]]
            if not loose:
                break
            parents.remove(loose[-1])
        found += [(a, child) for a in parents]
    return found
