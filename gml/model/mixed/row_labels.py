"""Joint posteriors of labels for many rows at once, in logarithms.

Factors are arrays of logarithms over rows and labels; labels are summed out one by one, by
min-fill. Every row is summed in the same order whatever rows there are beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gml.errors import listing, parameter
from gml.graph.bits import members
from gml.graph.triangulation import eliminate_by_min_fill
from gml.kernel.layout import MOST_AXES
from gml.model.junction_tree import NoRoom
from gml.model.mixed.elimination import Weight
from gml.model.mixed.lines import Array, spread
from gml.model.mixed.ranked import RankedNetwork
from gml.resources import budget_in_force, format_size


class LabelSums:
    """The order in which labels are summed out of factors, until only some are left."""

    def __init__(
        self, net: RankedNetwork, scopes: Sequence[Sequence[int]], kept: Sequence[int]
    ) -> None:
        self._kept = tuple(sorted(kept))
        others = sorted({k for scope in scopes for k in scope} - {*kept})
        order = eliminate_by_min_fill([*scopes, list(kept)], net.sizes, [others])
        self._order = [found.node for found in order]
        cliques = [(*members(found.neighbours), found.node) for found in order]
        self._widest = max(
            [*cliques, self._kept], key=lambda clique: math.prod(net.sizes[k] for k in clique)
        )
        self.cells = math.prod(net.sizes[k] for k in self._widest)
        """Cells of the largest table of a row."""

    def require_room(self, net: RankedNetwork, max_memory: int | None) -> None:
        """Refuse tables of one row beyond the budget."""
        budget = budget_in_force(max_memory)
        if 3 * 8 * self.cells > budget or len(self._widest) >= MOST_AXES - 1:
            raise NoRoom(
                f"exact inference would take {format_size(3 * 8 * self.cells)} per row, more than "
                f"{parameter('max_memory')} allows ({format_size(budget)}): the largest table is "
                f"over {listing(net.names[k] for k in self._widest)}"
            )

    def of(self, factors: Sequence[Weight], rows: int, sizes: Sequence[int]) -> Array:
        """Return ln of the sums: rows × configurations of the labels kept."""
        left = list(factors)
        for node in self._order:
            taken = [factor for factor in left if node in factor.labels]
            left = [factor for factor in left if node not in factor.labels]
            labels = tuple(sorted({k for factor in taken for k in factor.labels}))
            logs = product_of(taken, labels)
            axis = 1 + labels.index(node)
            left.append(Weight(tuple(k for k in labels if k != node), log_sum(logs, axis)))
        shape = (rows, *(sizes[k] for k in self._kept))
        total = np.broadcast_to(product_of(left, self._kept), shape)
        return np.ascontiguousarray(total).reshape(rows, -1)


def product_of(factors: Sequence[Weight], labels: tuple[int, ...]) -> Array:
    total = np.zeros((1,) * (1 + len(labels)))
    for factor in factors:
        total = total + spread(factor.logs, factor.labels, labels)
    return total


def log_sum(logs: Array, axis: int) -> Array:
    """ln of the sum of exponentials along an axis."""
    last = np.ascontiguousarray(np.moveaxis(logs, axis, -1))
    top = last.max(axis=-1, keepdims=True)
    finite = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total: Array = finite[..., 0] + np.log(np.exp(last - finite).sum(axis=-1))
    return total
