"""Which columns of a table are linear functions of one another: no normal distribution fits them.

Columns join one by one, those with the fewest gaps first and by name, in the rows that have all of
them so far. One after which the numbers and indicators are linearly dependent is named with the
columns that the dependence is between: those with a weight in the last right singular vector.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, missing_mask
from gml.errors import listing, quote
from gml.name_order import NameOrder

_ROUNDING = 1e-9
# Less than this share of the largest weight is none.
_WEIGHT = 1e-6


class Dependence(NamedTuple):
    """A column to leave out, since others determine it or it varies too little beside them."""

    column: str
    why: str


def dependent_columns(dataset: Dataset) -> Dependence | None:
    """Find columns that depend on one another, and one of them to leave out; None if none does."""
    masks = [missing_mask(column) for column in dataset.columns]
    order = sorted(NameOrder(dataset.names).positions.tolist(), key=lambda j: int(masks[j].sum()))
    rows = np.ones(dataset.n_rows, dtype=bool)
    if dataset.weights is not None:
        rows &= dataset.weights > 0
    chosen: list[int] = []
    for j in order:
        if _is_constant(dataset, j):
            continue
        rows &= ~masks[j]
        chosen.append(j)
        involved = _dependence(dataset, chosen, rows)
        if involved is None:
            continue
        last = dataset.names[j]
        if not rows.any():
            return Dependence(last, "no row has it and all columns with fewer gaps")
        names = [dataset.names[k] for k in involved]
        if len(names) == 1:
            others = "all columns with fewer gaps" if names[0] == last else quote(last)
            return Dependence(names[0], f"does not vary enough in the rows that have {others}")
        least_seen = last if last in names else names[-1]
        others = listing([name for name in names if name != least_seen])
        return Dependence(least_seen, f"follows from {others} in the rows that have them")
    return None


def dependent_numbers(values: NDArray[np.float64]) -> list[int]:
    """Columns that determine one another in the rows that have them; none if no rows tell.

    Examples
    --------
    >>> x, y = np.array([1.0, 2.0, 4.0, 7.0]), np.array([2.0, 1.0, 0.0, 5.0])
    >>> dependent_numbers(np.column_stack([x, y, x + y]))
    [0, 1, 2]
    >>> dependent_numbers(np.column_stack([x, y]))
    []
    """
    holes = np.isnan(values)
    rows = np.ones(len(values), dtype=bool)
    chosen: list[int] = []
    for j in np.argsort(holes.sum(axis=0), kind="stable").tolist():
        rows &= ~holes[:, j]
        chosen.append(j)
        # So few rows depend on one another whatever they hold.
        if np.count_nonzero(rows) <= len(chosen):
            return []
        weights = _null_vector(values[rows][:, chosen])
        if weights is not None:
            return sorted(chosen[k] for k in np.flatnonzero(weights > _WEIGHT * weights.max()))
    return []


def _is_constant(dataset: Dataset, j: int) -> bool:
    """Whether a column has one value at most, and so takes no part."""
    column = dataset.columns[j]
    return len(np.unique(column[~missing_mask(column)])) < 2


def _dependence(dataset: Dataset, chosen: list[int], rows: NDArray[np.bool_]) -> list[int] | None:
    """The columns between which there is a linear dependence, in these rows."""
    if not rows.any():
        return chosen
    owners: list[int] = []
    columns = []
    for j in chosen:
        variable, column = dataset.variables[j], dataset.columns[j]
        if variable.is_continuous:
            owners.append(j)
            columns.append(column[rows])
            continue
        seen = np.unique(column[~missing_mask(column)]).tolist()
        for code in seen[1:]:
            owners.append(j)
            columns.append((column[rows] == code).astype(np.float64))
    if not columns:
        return None
    weights = _null_vector(np.column_stack(columns))
    if weights is None:
        return None
    involved = {owners[k] for k in np.flatnonzero(weights > _WEIGHT * weights.max()).tolist()}
    return [j for j in chosen if j in involved]


def _null_vector(columns: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The sizes of weights with which columns add up to a constant; None if there are none."""
    table = columns - columns.mean(axis=0)
    sizes = np.sqrt((table**2).sum(axis=0))
    still = sizes <= _ROUNDING * (1 + np.abs(columns).max(axis=0))
    if still.any():
        alone: NDArray[np.float64] = np.zeros(len(still))
        alone[int(np.argmax(still))] = 1.0
        return alone
    _, values, right = np.linalg.svd(table / sizes, full_matrices=len(table) < table.shape[1])
    if len(table) >= table.shape[1] and values[-1] > _ROUNDING * values[0]:
        return None
    found: NDArray[np.float64] = np.abs(right[-1])
    return found
