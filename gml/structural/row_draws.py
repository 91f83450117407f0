"""Incomplete rows completed by draws, whatever the network has.

Rows of labels have one plan of inference together where that is small (`TableFilling`), into which
the evidence of each is entered: to make a plan takes some hundred times as long as to run it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.model.inference import Inference
from gml.model.network import Network
from gml.model.posterior import posterior_rows
from gml.model.table_filling import TableFilling
from gml.stopping import check_stopped

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


class LabelDraws:
    """Many rows of labels at a time, drawn from the distribution of what each lacks."""

    def __init__(
        self,
        net: Network,
        names: Sequence[str],
        cells: NDArray[np.float64],
        n_points: int,
        seed: int,
    ) -> None:
        self._cells, self._n_points, self._seed = cells, n_points, seed
        self._together = TableFilling(Inference(net), names, entered=True)
        self._single = RowDraws(net, names, cells, n_points, seed)

    def __call__(self, rows: NDArray[np.int64], gaps: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Complete rows, the points of the first and then those of the next; all weigh the same."""
        of_row = np.repeat(np.arange(len(rows)), self._n_points)
        codes = np.where(gaps, -1, self._cells[rows]).astype(np.int64)
        if self._together.takes_any_holes:
            numbers = rows[of_row] * self._n_points + np.arange(len(of_row)) % self._n_points
            return self._together.drawn(codes, of_row, numbers, self._seed).astype(np.int32)
        found = codes[of_row].astype(np.int32)
        for k, row in enumerate(rows.tolist()):
            check_stopped()
            holes = np.flatnonzero(gaps[k])
            points = slice(k * self._n_points, (k + 1) * self._n_points)
            found[points, holes] = self._single(row, holes)[0]
        return found
