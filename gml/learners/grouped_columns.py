"""The columns of a table as predictors of each other: indicators of levels, grouped by column.

Each group gets a basis in which its dimensions have mean 0, variance 1 and no correlation over the
rows, so that the norm of a group's coefficients is the root mean square, over the rows, of what the
column adds to the scores: it depends neither on how levels are coded nor on their order. For two
levels this is glmnet's standardisation. The weight of a group's norm is the square root of its
number of parameters (Meier, van de Geer & Bühlmann 2008, J. R. Stat. Soc. B 70:53, equation 2.2),
times √2 where the scores are those of all classes rather than one log odds: with two classes, both
ways of writing the model then have the same penalty.

Rows are distinct, in the order of their cells, and columns in the order of names, so no order of
either shows in any sum.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset
from gml.data.resampling import sorted_equal_rows
from gml.kernel.penalty_paths import GroupedColumns, Response
from gml.name_order import NameOrder
from gml.resources import require_memory


@dataclass(frozen=True)
class PredictorTable:
    """Distinct rows of label columns, in order, as codes of the levels seen and as bits."""

    names: tuple[str, ...]
    codes: tuple[NDArray[np.int32], ...]
    n_levels: tuple[int, ...]
    """Levels seen."""
    counts: NDArray[np.int64]
    """How often each row occurs, in units of the data."""

    @classmethod
    def of(cls, rows: Dataset) -> PredictorTable:
        """Take the rows of a dataset of labels without missing values."""
        positions = NameOrder(rows.names).positions.tolist()
        # Keys, sorted keys and their order, and what counts them.
        cells = sum(column.nbytes for column in rows.columns)
        require_memory(3 * cells + 40 * rows.n_rows, None, "the distinct rows")
        firsts, counts = sorted_equal_rows(rows)
        # A column at a time is sorted, and its codes are 8 bytes before they are 4.
        needed = (4 * len(positions) + 40) * len(firsts)
        require_memory(needed, None, "the codes of the distinct rows")
        codes, seen = [], []
        for j in positions:
            levels, code = np.unique(rows.columns[j][firsts], return_inverse=True)
            codes.append(code.reshape(-1).astype(np.int32))
            seen.append(len(levels))
        bits = sum(seen) * len(firsts) // 8
        require_memory(2 * bits, None, "the indicators of all levels")
        return cls(tuple(rows.names[j] for j in positions), tuple(codes), tuple(seen), counts)

    @functools.cached_property
    def starts(self) -> NDArray[np.int64]:
        """The indicator columns of each column: all its levels but the first have one."""
        return np.concatenate([[0], np.cumsum([seen - 1 for seen in self.n_levels])])

    @functools.cached_property
    def masks(self) -> NDArray[np.uint8]:
        """The indicator columns as bits."""
        found = np.zeros((int(self.starts[-1]), (len(self.counts) + 7) // 8), dtype=np.uint8)
        at = 0
        for code, seen in zip(self.codes, self.n_levels, strict=True):
            for level in range(1, seen):
                found[at] = np.packbits(code == level, bitorder="little")
                at += 1
        return found

    def predictors(self, weights: NDArray[np.float64]) -> Predictors:
        """Find the basis of each column for rows that weigh so much, 1 together."""
        means, bases = [], []
        for code, seen in zip(self.codes, self.n_levels, strict=True):
            shares = np.bincount(code, weights=weights, minlength=seen).astype(np.float64)
            means.append(shares[1:])
            bases.append(_orthonormal(shares))
        sizes = [0, *(basis.size for basis in bases)]
        return Predictors(
            self,
            weights,
            np.concatenate([np.zeros(0), *means]),
            np.array([basis.shape[1] for basis in bases], dtype=np.int32),
            np.concatenate([np.zeros(0), *(basis.reshape(-1) for basis in bases)]),
            np.cumsum(sizes)[:-1].astype(np.int64),
        )


@dataclass(frozen=True)
class Predictors:
    """All columns with their bases for certain weights of the rows."""

    table: PredictorTable
    weights: NDArray[np.float64]
    means: NDArray[np.float64]
    ranks: NDArray[np.int32]
    bases: NDArray[np.float64]
    base_starts: NDArray[np.int64]

    def regression(
        self, column: int, held_out: NDArray[np.float64] | None = None
    ) -> tuple[GroupedColumns, Response]:
        """Set up the regression of a column on all others."""
        code = self.table.codes[column]
        shares = np.bincount(code, weights=self.weights, minlength=self.table.n_levels[column])
        # Rows to be predicted may have levels that the others lack: no penalty is the wiser.
        seen = np.flatnonzero(shares > 0)
        classes = np.zeros(len(shares), dtype=np.int32)
        classes[seen] = np.arange(len(seen), dtype=np.int32)
        if held_out is not None:
            held_out = np.where(shares[code] > 0, held_out, 0.0)
        ranks = self.ranks.copy()
        ranks[column] = 0
        doubled = 1 if len(seen) == 2 else 2
        weights = np.sqrt(doubled * np.maximum(ranks, 1) * (len(seen) - 1.0))
        grouped = GroupedColumns(
            self.table.masks,
            self.table.starts,
            self.means,
            ranks,
            self.bases,
            self.base_starts,
            weights,
        )
        return grouped, Response(classes[code], len(seen), self.weights, held_out)


def _orthonormal(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Indicators of all levels but the first → dimensions of mean square 1, uncorrelated.

    These are Helmert's contrasts under the shares: each level against all before it. A level that
    no row has gets the mean, 0.
    """
    seen = np.flatnonzero(shares > 0)
    values = np.zeros((len(shares), max(0, len(seen) - 1)))
    before = float(shares[seen[0]])
    for m, level in enumerate(seen[1:].tolist()):
        own, both = float(shares[level]), float(before + shares[level])
        values[seen[: m + 1], m] = -math.sqrt(own / (before * both))
        values[level, m] = math.sqrt(before / (own * both))
        before = both
    # As functions of the indicators, up to a constant that centring takes away.
    found: NDArray[np.float64] = values[1:] - values[0]
    return found
