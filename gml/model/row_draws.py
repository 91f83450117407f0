"""Draws for single cells: what is drawn depends on the seed, the row and the name of the node.

The random bits are those of sampling (`gml.kernel.plan`): any rows, in any order, have the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.data.name_keys import keys_of_names
from gml.kernel.plan import thresholds


class RowDraws:
    """Draws of some rows, by their numbers, for the nodes of a network."""

    def __init__(self, names: Sequence[str], seed: int, rows: NDArray[np.int64]) -> None:
        self._keys = keys_of_names(names, seed, "value")
        self._rows = rows.astype(np.uint64)

    def levels(
        self,
        node: int,
        table: NDArray[np.float64],
        configurations: NDArray[np.int64],
        part: slice | NDArray[np.int64] = slice(None),
    ) -> NDArray[np.int64]:
        """Draw a level for each row of a part, from the row of a table that it has."""
        # The reference kernel is small beside what draws take, and has this for any rows.
        from gml.kernel.reference.random import random_bits
        from gml.kernel.reference.sampling import count_reached

        bits = random_bits(self._keys[node], self._rows[part]) >> np.uint64(1)
        return count_reached(thresholds(table), configurations, bits)

    def errors(
        self, node: int, part: slice | NDArray[np.int64] = slice(None)
    ) -> NDArray[np.float64]:
        """Draw a standard normal error for each row of a part."""
        from gml.kernel.reference.random import random_bits
        from gml.kernel.reference.sampling import normal_errors

        return normal_errors(random_bits(self._keys[node], self._rows[part]))
