"""Incomplete rows completed by draws, whatever the network has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.model.network import Network
from gml.model.posterior import posterior_rows

Points = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Values of the missing nodes, points × nodes, and the weights of the points, which add up to 1."""


class RowDraws:
    """Rows drawn from the distribution of what is missing."""

    def __init__(
        self,
        net: Network,
        names: Sequence[str],
        cells: NDArray[np.float64],
        n_points: int,
        seed: int,
    ) -> None:
        self._net, self._names, self._cells = net, names, cells
        self._n_points, self._seed = n_points, seed
        self._nodes = [net.index(name) for name in names]

    def __call__(self, row: int, holes: NDArray[np.int64]) -> Points:
        known = [k for k in range(len(self._names)) if k not in set(holes.tolist())]
        evidence: dict[str, str | float] = {}
        for k in known:
            value = float(self._cells[row, k])
            levels = self._net.variables[self._nodes[k]].levels
            evidence[self._names[k]] = value if levels is None else levels[int(value)]
        rows = posterior_rows(self._net, evidence, seed=self._seed)
        columns = rows.new_columns(self._n_points)
        rows.drawer()(row * self._n_points, columns)
        drawn = np.column_stack([columns[self._nodes[k]].astype(np.float64) for k in holes])
        return drawn, np.full(len(drawn), 1.0 / len(drawn))
