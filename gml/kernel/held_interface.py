"""What both kernels offer for tables that are held end to end, with every cell."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gml.kernel.layout import FamilyRule, FamilyWorths, TableStatistics


class HeldTablesKernel(Protocol):
    """Tables of as many columns each: `starts` among the cells, and levels of columns by table."""

    def turned_tables(
        self,
        cells: NDArray[np.int64],
        starts: NDArray[np.int64],
        levels: NDArray[np.int32],
        steps: NDArray[np.int64],
        summed: NDArray[np.int64],
    ) -> NDArray[np.int64]: ...

    def held_statistics(
        self, cells: NDArray[np.int64], starts: NDArray[np.int64], levels: NDArray[np.int32]
    ) -> TableStatistics: ...

    def held_families(
        self,
        cells: NDArray[np.int64],
        starts: NDArray[np.int64],
        levels: NDArray[np.int32],
        rule: FamilyRule,
        cell_prior: float | None,
    ) -> FamilyWorths: ...
