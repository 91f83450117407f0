"""What cutting a column of numbers into intervals loses of what it says about other columns.

Before it is cut, a column is taken at many quantiles, together with its own cut points, so that
intervals only join what was apart. Information is in nats per row, over the rows that have both
values, and corrected for the number of cells that occur (Miller 1955; Madow): without that, many
intervals seem to say much about anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, missing_mask
from gml.data.discretize import Binning
from gml.data.joint_cuts import FIRST_INTERVALS
from gml.data.number_summary import NumberValues
from gml.data.row_groups import group_sums
from gml.name_order import NameOrder
from gml.progress import tracked


class Information(NamedTuple):
    """What a column says about others before and after it was cut, in nats per row."""

    before: float
    after: float

    def written(self) -> dict[str, float | None]:
        """The same as JSON has it, with the share that is lost, if there was any to lose."""
        lost = 1 - self.after / self.before if self.before > 0 else None
        return {"before": self.before, "after": self.after, "lost": lost}


def information_kept(
    dataset: Dataset, numbers: Mapping[str, NDArray[np.float64]], of_class: str | None = None
) -> dict[str, Information]:
    """Return what columns that were cut say about all others, or about a class alone.

    `numbers` has the cells of these columns before they were cut, row by row.

    Examples
    --------
    >>> import gml, pandas as pd
    >>> x = np.arange(64.0)
    >>> frame = pd.DataFrame({"x": x, "y": np.where(x % 32 < 16, "low", "high")})
    >>> found = information_kept(gml.read(frame, cut={"x": [32]}), {"x": x})["x"]
    >>> round(found.before, 3), round(found.after, 3)
    (0.701, -0.008)
    """
    names = NameOrder(dataset.names)
    labels = [
        dataset.names[k] for k in names.positions.tolist() if not dataset.variables[k].is_continuous
    ]
    found = {}
    for name in tracked("columns", list(numbers)):
        fine = _fine_codes(dataset, name, numbers[name])
        kept = _codes(dataset, name)
        before = after = 0.0
        for other in labels:
            if other == name or of_class not in (None, other):
                continue
            beside = _codes(dataset, other)
            before += _information(fine, beside, dataset.weights, dataset.unit)
            after += _information(kept, beside, dataset.weights, dataset.unit)
        found[name] = Information(before, after)
    return found


def _codes(dataset: Dataset, name: str) -> NDArray[np.int64]:
    column = dataset.columns[dataset.index(name)]
    return np.where(missing_mask(column), -1, column.astype(np.int64))


def _fine_codes(dataset: Dataset, name: str, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    values = NumberValues.of(numbers, dataset.weights)
    quantiles = Binning("quantile", FIRST_INTERVALS).cut_points(values.values, values.counts)
    own = () if dataset.origin is None else dataset.origin.cuts.get(name, ())
    cuts = np.array(sorted({*quantiles, *own}))
    return np.where(np.isnan(numbers), -1, np.searchsorted(cuts, numbers, side="right"))


def _information(
    x: NDArray[np.int64], y: NDArray[np.int64], weights: NDArray[np.int64] | None, unit: float
) -> float:
    """I(x;y) of codes, corrected: I − (cells − rows − columns + 1)/2n over those that occur."""
    both = (x >= 0) & (y >= 0)
    if not both.any():
        return 0.0
    n_y = int(y.max()) + 1
    times = None if weights is None else weights[both]
    table = group_sums(x[both] * n_y + y[both], (int(x.max()) + 1) * n_y, times)
    counts = table.reshape(-1, n_y).astype(np.float64)
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    n = counts.sum()
    sums = [
        float((part[part > 0] * np.log(part[part > 0] / n)).sum())
        for part in (counts, rows, columns)
    ]
    cells, n_rows, n_columns = (int(np.count_nonzero(part)) for part in (counts, rows, columns))
    plain = (sums[0] - sums[1] - sums[2]) / n
    return float(plain - (cells - n_rows - n_columns + 1) / (2 * n * unit))
