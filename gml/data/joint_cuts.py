"""Cut points of several numbers that keep what they say about one another (Hartemink 2001).

Each number is first cut at many quantiles. Then neighbouring intervals are joined, in each column
the pair whose joining loses least of Σⱼ I(Xᵢ;Xⱼ), the mutual information with all other columns, be
they labels or numbers, until as many intervals are left as asked for (Hartemink 2001, Principled
computational methods for the validation and discovery of genetic regulatory networks, MIT, section
2.4). All columns are judged as they stand at the start of a round and joined at its end, so that no
order of columns shows; of pairs that lose equally little, the lowest is joined. Each table of two
columns has the rows complete in both, and its information is per row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gml.data.discretize import Binning
from gml.data.row_groups import group_sums
from gml.errors import parameter
from gml.name_order import NameOrder
from gml.progress import reporter, tracked
from gml.resources import require_memory
from gml.stopping import check_stopped

FIRST_INTERVALS = 60
"""Quantile intervals that a column of numbers is cut into first."""

Codes = tuple[NDArray[np.int64], int]
"""Codes of a column, −1 for missing, and the number of its levels."""


def joint_cuts(
    numbers: Mapping[str, NDArray[np.float64]],
    labels: Mapping[str, Codes],
    bins: int,
    weights: NDArray[np.int64] | None = None,
) -> dict[str, tuple[float, ...]]:
    """Return the cut points of columns of numbers, NaN for missing, beside columns of labels.

    Examples
    --------
    >>> x = np.arange(60.0)
    >>> joint_cuts({"x": x}, {"tall": ((x >= 17).astype(np.int64), 2)}, 2)
    {'x': (17.0,)}
    """
    columns, cuts = _first_codes(numbers, labels, weights)
    names = [*numbers, *labels]
    order = [names[k] for k in NameOrder(names).positions.tolist()]
    cells = sum(columns[name][1] for name in order)
    require_memory(
        8 * cells * sum(columns[name][1] for name in numbers),
        None,
        f"the tables of pairs of columns for {parameter('discretize', 'hartemink')}",
    )
    tables = _Tables(columns, order, [name for name in order if name in numbers], weights)
    with reporter().counting("intervals joined", tables.rounds(bins)) as count:
        for done in range(tables.rounds(bins)):
            tables.join(tables.losses(bins))
            count(done + 1)
    return {
        name: tuple(cuts[name][start - 1] for start in tables.starts[name][1:]) for name in numbers
    }


def _first_codes(
    numbers: Mapping[str, NDArray[np.float64]],
    labels: Mapping[str, Codes],
    weights: NDArray[np.int64] | None,
) -> tuple[dict[str, Codes], dict[str, tuple[float, ...]]]:
    """Cut all numbers at many quantiles; returns the codes of all columns, and the cuts."""
    columns, cuts = dict(labels), {}
    for name, cells in numbers.items():
        present = ~np.isnan(cells)
        values, place = np.unique(cells[present], return_inverse=True)
        times = None if weights is None else weights[present]
        counts = group_sums(place.reshape(-1), len(values), times)
        seen = counts > 0
        cuts[name] = Binning("quantile", FIRST_INTERVALS).cut_points(values[seen], counts[seen])
        codes = np.searchsorted(np.array(cuts[name]), cells, side="right")
        columns[name] = (np.where(present, codes, -1), len(cuts[name]) + 1)
    return columns, cuts


class _Tables:
    """For each number, its tables with all other columns side by side, and what is joined."""

    def __init__(
        self,
        columns: Mapping[str, Codes],
        order: Sequence[str],
        numbers: Sequence[str],
        weights: NDArray[np.int64] | None,
    ) -> None:
        self._numbers = numbers
        self._others = {name: [other for other in order if other != name] for name in numbers}
        self._sizes = {name: size for name, (_, size) in columns.items()}
        self.starts = {name: list(range(self._sizes[name])) for name in numbers}
        """The first of the original intervals in each interval of a column."""
        self._tables = {
            name: [_table(columns[name], columns[other], weights) for other in self._others[name]]
            for name in tracked("columns", numbers)
        }

    def rounds(self, bins: int) -> int:
        """How often intervals must be joined until no column has more than so many."""
        return max(0, *(len(self.starts[name]) - bins for name in self._numbers))

    def losses(self, bins: int) -> dict[str, int]:
        """Return, for each column with too many intervals, after which one to join the next."""
        found = {}
        for name in self._numbers:
            check_stopped()
            if len(self.starts[name]) > bins:
                lost = sum(map(_losses, self._tables[name]), np.zeros(len(self.starts[name]) - 1))
                # Losses are sums of terms of the size of n·ln n, rounded alike in every order.
                found[name] = int(np.argmin(np.round(lost, 12)))
        return found

    def join(self, pairs: Mapping[str, int]) -> None:
        """Join intervals of columns with the next, in all tables."""
        for name, place in pairs.items():
            del self.starts[name][place + 1]
        for name in self._numbers:
            for k, other in enumerate(self._others[name]):
                table = self._tables[name][k]
                if name in pairs:
                    table = _joined(table, pairs[name], 0)
                if other in pairs:
                    table = _joined(table, pairs[other], 1)
                self._tables[name][k] = table


def _joined(table: NDArray[np.float64], place: int, axis: int) -> NDArray[np.float64]:
    keep = [k for k in range(table.shape[axis]) if k != place + 1]
    return np.add.reduceat(table, keep, axis=axis)


def _table(x: Codes, y: Codes, weights: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """Count two columns over the rows that have both."""
    (a, n_a), (b, n_b) = x, y
    both = (a >= 0) & (b >= 0)
    times = None if weights is None else weights[both]
    found = group_sums(a[both] * n_b + b[both], n_a * n_b, times)
    return found.reshape(n_a, n_b).astype(np.float64)


def _losses(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """What I(x;y), in nats per row, loses if a level of x is joined with the next, for each."""
    n = table.sum()
    if n == 0:
        return np.zeros(len(table) - 1)
    cells, margin = _x_log_x(table), _x_log_x(table.sum(axis=1))
    together = _x_log_x(table[:-1] + table[1:])
    rows = table.sum(axis=1)
    both = _x_log_x(rows[:-1] + rows[1:])
    lost = (cells[:-1] + cells[1:] - together).sum(axis=1) - (margin[:-1] + margin[1:] - both)
    result: NDArray[np.float64] = lost / n
    return result


def _x_log_x(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return counts * np.log(np.maximum(counts, 1.0))
