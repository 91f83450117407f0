"""Minus the conditional log-likelihood of a chain field, and its derivatives.

Sequences are split into blocks of about equally many rows, whose number depends on the rows alone;
each block has sums of its own, which are added in the order of the blocks. So neither the number of
threads nor their timing changes a bit.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.kernel.pool import in_order
from gml.model.sequences.attributes import RowAttributes
from gml.model.sequences.feature_table import (
    TABLES_OF_KERNEL,
    Cells,
    FeatureTable,
    require_pairs_of_labels,
)
from gml.model.undirected.first_order import Function
from gml.resources import require_memory

Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]

_MOST_BLOCKS = 8
_BLOCK_ROWS = 2000


class ChainObjective:
    """−ln p(labels | rows), and its gradient, of the weights of features."""

    def __init__(
        self,
        table: FeatureTable,
        rows: RowAttributes,
        labels: Integers,
        starts: Integers,
        *,
        threads: int,
    ) -> None:
        self._table = table
        self._cells = Cells.of(table)
        self._labels = labels.astype(np.int32)
        self._threads = threads
        self.n_rows = len(labels)
        self.spans = spans_of(starts)
        longest = int(np.diff(starts).max(initial=0))
        n_cells = len(self._cells.labels)
        room = len(self.spans) * n_cells + threads * longest * 2 * (table.n_labels + 4)
        require_memory(8 * room, None, "the sums of the gradient")
        # The weights, the sums of each block and of all, and what each thread makes of the weights.
        at_once = min(threads, len(self.spans))
        require_pairs_of_labels(table.n_labels, len(self.spans) + 2 + TABLES_OF_KERNEL * at_once)
        self._kernel = kernel.active().ChainRows(self._cells.layout(rows, starts, table.n_labels))
        self._sums = [np.zeros(n_cells) for _ in self.spans]

    def likelihood(self, weights: Numbers) -> tuple[float, Numbers]:
        """Return −ln p(labels | rows), summed over the sequences, and its gradient."""
        table, n_states = self._table, len(self._table.states)
        cells = self._cells.weights(weights[:n_states])
        transitions = table.transition_matrix(weights[n_states:])

        def of_block(block: int) -> tuple[float, Numbers]:
            own, pairs = self._sums[block], np.zeros_like(transitions)
            own[:] = 0
            value = self._kernel.gradient(
                cells, transitions, self._labels, self.spans[block], (own, pairs)
            )
            return value, pairs

        value, by_pair = 0.0, np.zeros_like(transitions)
        by_cell = np.zeros(len(cells))
        blocks = in_order(of_block, range(len(self.spans)), self._threads)
        for block, (part, pairs) in enumerate(blocks):
            value += part
            by_pair += pairs
            by_cell += self._sums[block]
        by_state = by_cell[self._cells.of_feature]
        return value, np.concatenate([by_state, by_pair.reshape(-1)[table.transitions]])

    def penalised(self, l2: float) -> Function:
        """Return (−ln p(labels | rows) + l2 · |w|²) / rows, with its gradient, as a function."""

        def value_of(weights: Numbers) -> tuple[float, Numbers]:
            value, gradient = self.likelihood(weights)
            value += l2 * float(weights @ weights)
            gradient += 2 * l2 * weights
            return value / self.n_rows, gradient / self.n_rows

        return value_of


def spans_of(starts: Integers) -> list[tuple[int, int]]:
    """Split sequences into blocks of about equally many rows.

    Examples
    --------
    >>> spans_of(np.array([0, 3000, 6000, 9000]))
    [(0, 1), (1, 2), (2, 3)]
    >>> spans_of(np.array([0, 10, 30]))
    [(0, 2)]
    """
    n_rows = int(starts[-1])
    n_blocks = max(1, min(_MOST_BLOCKS, n_rows // _BLOCK_ROWS))
    wanted = np.linspace(0, n_rows, n_blocks + 1)[1:-1]
    inner = np.searchsorted(starts, wanted).tolist()
    ends = [0, *inner, len(starts) - 1]
    return [(first, last) for first, last in pairwise(ends) if first < last]
