"""The columns of indicators that stand for a label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.data.row_groups import place_type
from gml.data.row_order import Places, Vector

_LEAST_OF_LEVEL = 10


@dataclass(frozen=True)
class LevelColumns:
    """One column per level but the most frequent one, rare levels together.

    `of_level` says which column each level has, `size` if none.
    """

    of_level: Places
    size: int

    @classmethod
    def of(cls, counts: NDArray[np.int64]) -> LevelColumns | None:
        """The columns of levels that occur so often; None if no two would be told apart.

        Examples
        --------
        >>> LevelColumns.of(np.array([10, 3, 0, 40, 2]))
        LevelColumns(of_level=array([0, 1, 2, 2, 1], dtype=int16), size=2)
        """
        often = np.flatnonzero(counts >= _LEAST_OF_LEVEL)
        rare = np.flatnonzero((counts > 0) & (counts < _LEAST_OF_LEVEL))
        groups = [often[k : k + 1] for k in range(len(often))]
        if len(rare):
            groups.append(rare)
        if len(groups) < 2:
            return None
        del groups[int(np.argmax([counts[group].sum() for group in groups]))]
        found = np.full(len(counts), len(groups), dtype=place_type(len(groups) + 1))
        for k, group in enumerate(groups):
            found[group] = k
        return cls(found, len(groups))

    def codes(self, levels: Vector) -> Places:
        """The column of each row's level."""
        found: Places = self.of_level[levels.astype(np.int64)]
        return found

    def indicators(self, levels: Vector) -> list[Vector]:
        """The columns at some rows."""
        codes = self.codes(levels)
        return [(codes == k).astype(np.float64) for k in range(self.size)]

    def counts(self, of_levels: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many rows there are of each column, by those of each level."""
        found = np.zeros(self.size + 1, dtype=np.int64)
        np.add.at(found, self.of_level, of_levels)
        return found[: self.size]
