"""What becomes of missing values: an error, dropped rows, a level of their own, or kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, Variable, code_type, has_missing, missing_mask
from gml.errors import DataError, UsageError, listing, quote

NA_LEVEL = "NA"


def apply_missing_policy(dataset: Dataset, policy: str, where: str) -> Dataset:
    """Treat the missing cells of all columns."""
    if policy == "available":
        return dataset
    gaps = {
        j: missing_mask(column) for j, column in enumerate(dataset.columns) if has_missing(column)
    }
    if not gaps:
        return dataset
    if policy == "error":
        per_column = ", ".join(
            f"{quote(dataset.names[j])} {np.count_nonzero(mask)}" for j, mask in gaps.items()
        )
        raise DataError(
            f"{where}: missing values: {per_column}; choose --missing drop (complete rows only), "
            "level (a level of their own) or available (rows complete in each table)"
        )
    if policy == "drop":
        return dataset.rows(~np.logical_or.reduce(list(gaps.values())))
    numbers = [variable.name for variable in dataset.variables if variable.is_continuous]
    if numbers:
        raise UsageError(f"--missing level: {listing(numbers)} has numbers, not levels")
    variables, columns = list(dataset.variables), list(dataset.columns)
    for j, mask in gaps.items():
        variables[j], columns[j] = _as_level(variables[j], columns[j], mask)
    return Dataset(tuple(variables), tuple(columns), dataset.weights, dataset.digest)


def _as_level(
    variable: Variable, column: NDArray[Any], mask: NDArray[np.bool_]
) -> tuple[Variable, NDArray[Any]]:
    assert variable.levels is not None
    if NA_LEVEL in variable.levels:
        raise DataError(
            f"column {quote(variable.name)}: --missing level would add {NA_LEVEL!r}, which is a "
            "label already"
        )
    levels = (*variable.levels, NA_LEVEL)
    codes = column.astype(code_type(len(levels)))
    codes[mask] = len(levels) - 1
    return Variable(variable.name, levels), codes
