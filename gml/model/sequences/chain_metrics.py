"""How good predictions of sequences are, where the truth is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.sequences import SequenceRows
from gml.errors import counted
from gml.model.notebook_table import NotebookTable
from gml.model.prediction_metrics import UNKNOWN, NotCounted

__all__ = ["UNKNOWN", "ChainMetrics"]

Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class ChainMetrics(NotebookTable):
    """How good predictions of sequences are; rows without a known true label do not count."""

    target: str
    n_rows: int
    """Rows that count."""
    n_right: int
    n_sequences: int
    """Sequences of which every row counts."""
    n_whole: int
    """Those of them that are right in every row."""
    log_loss: float
    """Mean over rows of −ln p of the true label, given all rows of the sequence."""
    missing: int = 0
    unknown: int = 0

    @property
    def rows(self) -> int:
        """The rows that count, as other figures call them."""
        return self.n_rows

    @property
    def not_counted(self) -> NotCounted:
        """Rows that no figure counts."""
        return NotCounted(self.missing, self.unknown)

    @property
    def accuracy(self) -> float:
        """The share of rows that are right; NaN without any."""
        return self.n_right / self.n_rows if self.n_rows else math.nan

    @property
    def hamming_loss(self) -> float:
        """The share of rows that are wrong."""
        return 1 - self.accuracy

    @property
    def whole_sequences(self) -> float:
        """The share of sequences that are right in every row."""
        return self.n_whole / self.n_sequences if self.n_sequences else math.nan

    def figures(self) -> dict[str, float]:
        """The figures by name."""
        return {
            "accuracy": self.accuracy,
            "hamming_loss": self.hamming_loss,
            "whole_sequences": self.whole_sequences,
            "log_loss": self.log_loss,
        }

    @classmethod
    def of(
        cls,
        target: str,
        true: Integers,
        found: Integers,
        losses: Numbers,
        rows: SequenceRows,
    ) -> ChainMetrics:
        """Compare labels with true ones, both as codes, row by row as in the table.

        `losses` are −ln p of the true labels, where these are known.
        """
        counts = true >= 0
        n_rows = int(counts.sum())
        sequence = np.repeat(np.arange(rows.n_sequences), np.diff(rows.starts))
        in_order_counts, in_order_right = counts[rows.order], (true == found)[rows.order]
        full = np.ones(rows.n_sequences, dtype=np.bool_)
        full[sequence[~in_order_counts]] = False
        whole = full.copy()
        whole[sequence[~in_order_right]] = False
        return cls(
            target,
            n_rows,
            int((true == found)[counts].sum()),
            int(full.sum()),
            int(whole.sum()),
            # Sums are exact, so that the order of rows does not matter.
            math.fsum(losses[counts]) / n_rows if n_rows else math.nan,
            int(np.count_nonzero(true == -1)),
            int(np.count_nonzero(true == UNKNOWN)),
        )

    def __repr__(self) -> str:
        figures = ", ".join(f"{name}={value:.6g}" for name, value in self.figures().items())
        size = f"{counted(self.n_rows, 'row')}, {counted(self.n_sequences, 'sequence')}"
        return f"ChainMetrics({self.target!r}, {size}: {figures})"

    def written(self) -> dict[str, Any]:
        """The figures as JSON has them: what they follow from, and the shares."""
        shares = {name: value for name, value in self.figures().items() if math.isfinite(value)}
        return {
            "rows": self.n_rows,
            "right": self.n_right,
            "sequences": self.n_sequences,
            "whole": self.n_whole,
            "missing": self.missing,
            "unknown": self.unknown,
            **shares,
        }

    @classmethod
    def added(cls, parts: Sequence[ChainMetrics]) -> ChainMetrics:
        """Return the figures of several tables together."""
        n_rows = sum(part.n_rows for part in parts)
        losses = math.fsum(part.log_loss * part.n_rows for part in parts if part.n_rows)
        return cls(
            parts[0].target,
            n_rows,
            sum(part.n_right for part in parts),
            sum(part.n_sequences for part in parts),
            sum(part.n_whole for part in parts),
            losses / n_rows if n_rows else math.nan,
            sum(part.missing for part in parts),
            sum(part.unknown for part in parts),
        )
