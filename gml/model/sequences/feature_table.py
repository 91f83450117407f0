"""Features of chains: the pairs of attribute and label, and of labels in a row, that training saw.

As CRFsuite does by default (Okazaki 2007), only pairs that occur have a weight; all others have the
weight 0, which is no impossibility. The kernel wants the weights of an attribute next to one
another: an attribute that goes with half of the labels or more has a place for each of them, and
sums over it take a few instructions; any other has places for its own labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.kernel.chain_layout import LANES, ChainLayout
from gml.model.sequences.attributes import RowAttributes
from gml.resources import require_memory

Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]

# Pairs that are looked for in a table of all, rather than by sorting.
_FEW_PAIRS = 1 << 26
TABLES_OF_KERNEL = 3
"""Tables of all pairs of labels that the kernel makes for each block it is at (chain_field.c)."""


@dataclass(frozen=True)
class FeatureTable:
    """Features as numbers: attribute · labels + label, and first label · labels + second."""

    n_labels: int
    n_attributes: int
    states: Integers
    transitions: Integers

    @classmethod
    def seen_in(
        cls,
        rows: RowAttributes,
        labels: Integers,
        starts: Integers,
        *,
        n_labels: int,
        n_attributes: int,
    ) -> FeatureTable:
        """Return the features of rows with their labels, in the order of their sequences.

        Examples
        --------
        >>> rows = RowAttributes(np.array([0, 1, 2]), np.array([0, 1], dtype=np.int32))
        >>> found = FeatureTable.seen_in(
        ...     rows, np.array([1, 0]), np.array([0, 2]), n_labels=2, n_attributes=2)
        >>> found.states.tolist(), found.transitions.tolist()
        ([1, 2], [2])
        """
        require_memory(16 * len(rows.attributes), None, "the pairs of attribute and label")
        of_cell = np.repeat(labels, np.diff(rows.rows))
        states = _distinct(rows.attributes * np.int64(n_labels) + of_cell, n_labels * n_attributes)
        inside = np.ones(len(labels), dtype=np.bool_)
        inside[starts[:-1]] = False
        later = np.flatnonzero(inside)
        pairs = labels[later - 1] * n_labels + labels[later]
        return cls(n_labels, n_attributes, states, _distinct(pairs, n_labels**2))

    def times_seen(self, rows: RowAttributes, labels: Integers, starts: Integers) -> Integers:
        """Return how often rows with their labels have each feature.

        Examples
        --------
        >>> rows = RowAttributes(np.array([0, 1, 2]), np.array([0, 0], dtype=np.int32))
        >>> table = FeatureTable(2, 1, np.array([1]), np.array([3]))
        >>> table.times_seen(rows, np.array([1, 1]), np.array([0, 2])).tolist()
        [2, 1]
        """
        of_cell = np.repeat(labels, np.diff(rows.rows))
        inside = np.ones(len(labels), dtype=np.bool_)
        inside[starts[:-1]] = False
        later = np.flatnonzero(inside)
        pairs = labels[later - 1] * self.n_labels + labels[later]
        states = rows.attributes * np.int64(self.n_labels) + of_cell
        return np.concatenate([_times(self.states, states), _times(self.transitions, pairs)])

    def __len__(self) -> int:
        return len(self.states) + len(self.transitions)

    @property
    def state_labels(self) -> Integers:
        """The label of each feature of an attribute."""
        return self.states % self.n_labels

    @property
    def state_attributes(self) -> Integers:
        """The attribute of each feature of one."""
        return self.states // self.n_labels

    def transition_matrix(self, weights: Numbers) -> Numbers:
        """Return weights of all pairs of labels: first × second."""
        require_pairs_of_labels(self.n_labels)
        found = np.zeros(self.n_labels**2)
        found[self.transitions] = weights
        return found.reshape(self.n_labels, self.n_labels)

    def some(self, kept: NDArray[np.bool_]) -> FeatureTable:
        """Return the table of some of the features."""
        n = len(self.states)
        return FeatureTable(
            self.n_labels, self.n_attributes, self.states[kept[:n]], self.transitions[kept[n:]]
        )


def require_pairs_of_labels(n_labels: int, n_tables: int = 1) -> None:
    """Refuse more labels than there is room for tables of all pairs of them."""
    require_memory(8 * n_labels**2 * n_tables, None, f"the transitions of {n_labels} labels")


def _distinct(numbers: Integers, limit: int) -> Integers:
    """Which whole numbers below a limit there are, in order."""
    if limit > _FEW_PAIRS:
        return np.unique(numbers)
    seen = np.zeros(limit, dtype=np.bool_)
    seen[numbers] = True
    return np.flatnonzero(seen)


def _times(numbers: Integers, found: Integers) -> Integers:
    """How often each of some numbers, in order, is among others, which are all of them."""
    return np.bincount(np.searchsorted(numbers, found), minlength=len(numbers))


@dataclass(frozen=True)
class Cells:
    """Where the kernel has the weights of features: the cells of each attribute, end to end."""

    starts: Integers
    labels: NDArray[np.int32]
    of_feature: Integers
    """The cell of each feature of an attribute."""

    @classmethod
    def of(cls, table: FeatureTable) -> Cells:
        """Lay out the features of attributes."""
        n_labels, width = table.n_labels, -(-table.n_labels // LANES) * LANES
        attributes, labels = table.state_attributes, table.state_labels
        counts = np.bincount(attributes, minlength=table.n_attributes)
        firsts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        is_full = 2 * counts >= n_labels
        sizes = np.where(is_full, width, counts)
        if not sizes.any():
            # The kernel wants a cell at least: one of no weight, as where l1 left no feature.
            sizes[0] = 1
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        require_memory(20 * int(starts[-1]), None, f"the weights of {len(attributes)} features")
        rank = np.arange(len(attributes)) - firsts[attributes]
        places = starts[attributes] + np.where(is_full[attributes], labels, rank)
        of_cell = np.full(int(starts[-1]), -1, dtype=np.int32)
        all_labels = starts[:-1][is_full][:, None] + np.arange(n_labels)
        of_cell[all_labels] = np.arange(n_labels)
        of_cell[places] = labels
        if not len(attributes):
            of_cell[:] = 0
        return cls(starts, of_cell, places)

    def layout(self, rows: RowAttributes, sequences: Integers, n_labels: int) -> ChainLayout:
        """Return what the kernel needs to know about rows."""
        return ChainLayout(
            n_labels, sequences, rows.rows, rows.attributes, self.starts, self.labels, rows.values
        )

    def weights(self, of_features: Numbers) -> Numbers:
        """Return the weights of the cells."""
        found = np.zeros(len(self.labels))
        found[self.of_feature] = of_features
        return found
