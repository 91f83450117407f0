"""What rows with the same holes are filled with together: the best values, or draws.

Rows that observe the same nodes share a plan of inference. Numbers have one covariance for all of
them; labels and numbers together are arrays over rows (`mixed/row_completion.py`); labels alone are
in `table_filling`. Distinct rows are asked about once; each row has draws of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gml.model.gaussian import condition, means_of_rows
from gml.model.mixed.ranked import RankedNetwork
from gml.model.mixed.row_completion import RowCompletion
from gml.model.network import Network
from gml.model.posterior import triangular
from gml.model.row_draws import RowDraws

Cells = NDArray[np.float64]
Positions = NDArray[np.int64]


class PatternFilling(Protocol):
    """Fills rows that have values of the nodes `known`, and lack those of `holes`."""

    def best(self, distinct: Cells) -> Cells:
        """The most probable values together: distinct rows × holes."""

    def drawn(self, distinct: Cells, of_row: Positions, numbers: Positions, seed: int) -> Cells:
        """Draws of rows × holes; `of_row` says which distinct row each is, `numbers` its number."""


class GaussianFilling:
    """Of a network of numbers."""

    def __init__(self, net: Network, known: Sequence[str], holes: Sequence[str]) -> None:
        self._net = net
        self._known = list(known)
        self._holes = list(holes)

    def best(self, distinct: Cells) -> Cells:
        """The means, which are the most probable values."""
        return means_of_rows(self._net, self._holes, self._known, distinct)[0]

    def drawn(self, distinct: Cells, of_row: Positions, numbers: Positions, seed: int) -> Cells:
        """Means plus errors that are correlated as the holes are."""
        net = self._net
        means = self.best(distinct)
        # Which values there are does not matter for the covariance.
        evidence = {net.index(n): float(x) for n, x in zip(self._known, distinct[0], strict=True)}
        given = condition(net, evidence)
        places = [given.names.index(name) for name in self._holes]
        turn = sorted(range(len(places)), key=places.__getitem__)
        unit, deviations = triangular(given.factor[[places[k] for k in turn]])
        draws = RowDraws(net.names, seed, numbers)
        errors = [
            deviations[i] * draws.errors(net.index(self._holes[k])) for i, k in enumerate(turn)
        ]
        found = means[of_row]
        for i, k in enumerate(turn):
            for j in range(i + 1):
                if unit[i, j] != 0:
                    found[:, k] += unit[i, j] * errors[j]
        return found


class MixedFilling:
    """Of a network of labels and numbers."""

    def __init__(
        self,
        net: RankedNetwork,
        known: Sequence[str],
        holes: Sequence[str],
        *,
        max_memory: int | None = None,
    ) -> None:
        self._net = net
        self._observed = [net.rank[name] for name in known]
        self._holes = [net.rank[name] for name in holes]
        self._max_memory = max_memory

    def best(self, distinct: Cells) -> Cells:
        """The values whose density together is highest."""
        plan = RowCompletion(self._net, self._observed, best=True, max_memory=self._max_memory)
        found = np.empty((len(distinct), len(self._holes)))
        for rows, values in plan.of(distinct):
            for place, node in enumerate(self._holes):
                found[rows, place] = values[node]
        return found

    def drawn(self, distinct: Cells, of_row: Positions, numbers: Positions, seed: int) -> Cells:
        """Draws: the labels, and then the numbers."""
        plan = RowCompletion(self._net, self._observed, best=False, max_memory=self._max_memory)
        draws = _MixedDraws(RowDraws(self._net.names, seed, numbers))
        found = np.empty((len(numbers), len(self._holes)))
        for rows, values in plan.of(distinct[of_row], draws):
            for place, node in enumerate(self._holes):
                found[rows, place] = values[node]
        return found


class _MixedDraws:
    """Draws by the rank of a node."""

    def __init__(self, draws: RowDraws) -> None:
        self._draws = draws

    def level(self, node: int, rows: slice, weights: Cells) -> Positions:
        """Draw a level for each row."""
        return self._draws.levels(node, weights, np.arange(len(weights)), rows)

    def error(self, node: int, rows: slice) -> Cells:
        """Draw an error for each row."""
        return self._draws.errors(node, rows)
