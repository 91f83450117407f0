"""Sequences of rows with sparse attributes, as the kernel goes through them (chain_field.h)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LANES = 4
"""Numbers of all labels take a multiple of so many places."""


@dataclass(frozen=True)
class ChainLayout:
    """Rows of sequences, attributes of rows, and where the weights of an attribute are.

    Sequence s has the rows from sequences[s] to sequences[s+1], row t has the attributes from
    rows[t] to rows[t+1], and attribute a the cells from cells[a] to cells[a+1], each of a label. An
    attribute that goes with many labels has `width` cells, those of all labels in order; any other
    has fewer, for the labels in `labels` (−1 for cells beyond the labels). `values` multiply the
    weights of the attributes of rows; None where all are 1.
    """

    n_labels: int
    sequences: NDArray[np.int64]
    rows: NDArray[np.int64]
    attributes: NDArray[np.int32]
    cells: NDArray[np.int64]
    labels: NDArray[np.int32]
    values: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        ends = (
            (self.sequences, self.n_rows),
            (self.rows, len(self.attributes)),
            (self.cells, len(self.labels)),
        )
        for starts, end in ends:
            if (
                len(starts) == 0
                or starts[0] != 0
                or starts[-1] != end
                or (np.diff(starts) < 0).any()
            ):
                raise ValueError("parts do not cover the whole")
        if self.values is not None and (
            len(self.values) != len(self.attributes) or not np.isfinite(self.values).all()
        ):
            raise ValueError("an attribute has no finite value")
        sizes = np.diff(self.cells)
        full = np.repeat(sizes == self.width, sizes)
        if not 1 <= self.n_labels < 1 << 16 or (sizes > self.width).any():
            raise ValueError("more labels than can be")
        if ((self.labels < 0) & ~full).any() or (self.labels >= self.n_labels).any():
            raise ValueError("cells of no label")
        used = self.attributes
        if len(used) and (used.min() < 0 or used.max() >= self.n_attributes):
            raise ValueError("attributes without cells")

    @property
    def width(self) -> int:
        """Places that numbers of all labels take."""
        return -(-self.n_labels // LANES) * LANES

    @property
    def n_sequences(self) -> int:
        """Number of sequences."""
        return len(self.sequences) - 1

    @property
    def n_rows(self) -> int:
        """Number of rows of all sequences."""
        return len(self.rows) - 1

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return len(self.cells) - 1

    @property
    def n_cells(self) -> int:
        """Number of cells of all attributes."""
        return len(self.labels)
