"""All that rows of labels and numbers lack: the most probable values, or draws, for many rows.

Rows observe the same nodes. Numbers are eliminated first, for all rows and configurations at once
(elimination.py), then the labels one by one, in logarithms: by their maximum where the best values
are wanted, and by their sum for draws. Backwards, each label takes its best level, or is drawn,
given those eliminated after it, and then each number likewise, from its regression given the labels
and the numbers after it. Of levels that are equally good, up to rounding, the first is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, listing, parameter, quote
from gml.graph.bits import members
from gml.graph.triangulation import eliminate_by_min_fill
from gml.kernel.layout import MOST_AXES
from gml.model.junction_tree import NoRoom
from gml.model.mixed.elimination import Weight, eliminate, log_height, require_finite
from gml.model.mixed.lines import Array, Line, picked
from gml.model.mixed.ranked import RankedNetwork
from gml.model.mixed.row_labels import log_sum, product_of
from gml.model.mixed.strong_order import strong_plan
from gml.resources import budget_in_force, format_size
from gml.stopping import check_stopped

Codes = NDArray[np.int64]

_BLOCK_CELLS = 1 << 21
_MOST_ROWS = 1 << 14
# Products in logarithms, messages, and what is made of them.
_COPIES = 4
_TIE = 1e-12


class Draws(Protocol):
    """Where draws come from, by the rank of a node and the places of some rows."""

    def level(self, node: int, rows: slice, weights: Array) -> Codes:
        """Draw levels; the weights of a row need not add up to 1."""

    def error(self, node: int, rows: slice) -> Array:
        """Draw standard normal errors."""


class _Eliminated(NamedTuple):
    """A label that was eliminated: the others of its table, and ln of that, the label last."""

    node: int
    others: tuple[int, ...]
    logs: Array


class RowCompletion:
    """Fills what rows lack that observe the same nodes, all of them possible."""

    def __init__(
        self,
        net: RankedNetwork,
        observed: Sequence[int],
        *,
        best: bool,
        max_memory: int | None = None,
    ) -> None:
        self._net = net
        self._observed = tuple(observed)
        self._best = best
        self._single = {k: 0 for k in net.labels if net.sizes[k] == 1 and k not in observed}
        seen = {*observed, *self._single}
        self._plan = strong_plan(net, seen, everything=True)
        self._plan.require_room(net, max_memory)
        with np.errstate(divide="ignore"):
            self._logs = {k: _log_table(net, k) for k in net.labels}
        scopes = [[j for j in self._logs[k].labels if j not in seen] for k in net.labels]
        weighty = [k for k in self._plan.numbers if best or k in seen]
        scopes += [list(self._plan.labels[k]) for k in weighty]
        hidden = [k for k in net.labels if k not in seen]
        order = eliminate_by_min_fill(scopes, net.sizes, [hidden])
        self._order = [found.node for found in order]
        cliques = [(*members(found.neighbours), found.node) for found in order]
        sizes = [math.prod(net.sizes[k] for k in clique) for clique in cliques]
        cells = self._plan.cells + _COPIES * sum(sizes)
        cells += sum(math.prod(net.sizes[j] for j in scope) for scope in scopes)
        budget = budget_in_force(max_memory)
        if 8 * cells > budget or max(map(len, cliques), default=0) >= MOST_AXES - 1:
            widest = max(cliques, key=len)
            raise NoRoom(
                f"exact inference would take {format_size(8 * cells)} per row, more than "
                f"{parameter('max_memory')} allows ({format_size(budget)}): the largest table is "
                f"over {listing(net.names[k] for k in widest)}"
            )
        self._rows_at_once = max(1, min(_MOST_ROWS, min(_BLOCK_CELLS, budget // 8) // cells))

    def of(
        self, evidence: Array, draws: Draws | None = None
    ) -> Iterator[tuple[slice, dict[int, Array]]]:
        """Yield rows of evidence, rows × observed nodes, with the values of all other nodes.

        The values are by rank, codes of levels or numbers.
        """
        for start in range(0, len(evidence), self._rows_at_once):
            check_stopped()
            rows = slice(start, min(start + self._rows_at_once, len(evidence)))
            columns = dict(zip(self._observed, evidence[rows].T, strict=True))
            yield rows, self._completed(columns, rows, draws)

    def _completed(
        self, columns: Mapping[int, Array], rows: slice, draws: Draws | None
    ) -> dict[int, Array]:
        net, n_rows = self._net, rows.stop - rows.start
        values = {k: column for k, column in columns.items() if k in net.regressions}
        codes: dict[int, Codes] = {k: np.zeros(1, dtype=np.int64) for k in self._single}
        codes |= {k: column.astype(np.int64) for k, column in columns.items() if k in net.tables}
        found = eliminate(net, self._plan, values, codes)
        require_finite(net, found)
        factors = [
            Weight(*picked(self._logs[k].logs, self._logs[k].labels, codes)) for k in net.labels
        ]
        factors += found.weights
        if self._best:
            factors += [self._height(k, found.lines[k]) for k in self._plan.order]
        for step in reversed(self._eliminated(factors)):
            codes[step.node] = self._level(step, codes, rows, draws)
        for k in reversed(self._plan.order):
            values[k] = self._value(k, found.lines[k], codes, values, rows, draws)
        known = {**codes, **values}
        return {
            k: np.broadcast_to(known[k], (n_rows,)).astype(np.float64)
            for k in known
            if k not in columns
        }

    def _height(self, number: int, line: Line) -> Weight:
        still = line.sd == 0
        if still.any() and not still.all():
            raise CannotAnswer(
                f"{quote(self._net.names[number])} varies in some configurations of labels and "
                f"not in others, so their densities cannot be compared; ask for {parameter('map')} "
                "of the labels"
            )
        return Weight(line.labels, log_height(line))

    def _eliminated(self, factors: Sequence[Weight]) -> list[_Eliminated]:
        """Eliminate all labels, and keep their tables."""
        left, found = list(factors), []
        for node in self._order:
            taken = [factor for factor in left if node in factor.labels]
            left = [factor for factor in left if node not in factor.labels]
            labels = tuple(sorted({k for factor in taken for k in factor.labels}))
            logs = np.moveaxis(product_of(taken, labels), 1 + labels.index(node), -1)
            others = tuple(k for k in labels if k != node)
            found.append(_Eliminated(node, others, logs))
            message = logs.max(axis=-1) if self._best else log_sum(logs, -1)
            left.append(Weight(others, message))
        return found

    def _level(
        self, step: _Eliminated, codes: Mapping[int, Codes], rows: slice, draws: Draws | None
    ) -> Codes:
        logs = _at(step.logs, [codes[k] for k in step.others], rows.stop - rows.start)
        top = logs.max(axis=1, keepdims=True)
        if draws is not None:
            return draws.level(step.node, rows, np.exp(logs - top))
        first: Codes = np.argmax(logs >= top - _TIE, axis=1)
        return first

    def _value(
        self,
        number: int,
        line: Line,
        codes: Mapping[int, Codes],
        values: Mapping[int, Array],
        rows: slice,
        draws: Draws | None,
    ) -> Array:
        n_rows = rows.stop - rows.start
        at = [codes[k] for k in line.labels]
        found = _at(line.intercept, at, n_rows).copy()
        for k, slope in sorted(line.slopes.items()):
            found += _at(slope, at, n_rows) * values[k]
        if draws is not None:
            found += _at(line.sd, at, n_rows) * draws.error(number, rows)
        return found


def _log_table(net: RankedNetwork, label: int) -> Weight:
    """ln of a table, its axes by rank."""
    own = net.tables[label]
    axes = (*own.labels, label)
    by_rank = tuple(sorted(axes))
    return Weight(by_rank, np.log(own.table).transpose([axes.index(k) for k in by_rank]))


def _at(array: Array, codes: Sequence[Codes], n_rows: int) -> Array:
    """The entries of an array over rows and labels that each row has, with what axes are left."""
    rows = np.zeros(1, dtype=np.int64) if array.shape[0] == 1 else np.arange(n_rows)
    index = np.broadcast_arrays(rows, *codes, np.empty(n_rows))[:-1]
    # An axis of one entry is for all levels of a label.
    places = [
        np.zeros_like(own) if array.shape[axis] == 1 else own for axis, own in enumerate(index)
    ]
    found: Array = array[tuple(places)]
    return found
