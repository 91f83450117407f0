"""What becomes of missing values: an error, dropped rows, a level of their own, or kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, Variable, code_type, missing_mask
from gml.errors import DataError, UsageError, listing, quote

NA_LEVEL = "NA"


def apply_missing_policy(dataset: Dataset, policy: str, where: str) -> Dataset:
    """Treat the missing cells of all columns."""
    if policy == "available":
        return dataset
    missing = [missing_mask(column) for column in dataset.columns]
    counts = [int(np.count_nonzero(mask)) for mask in missing]
    if not any(counts):
        return dataset
    if policy == "error":
        per_column = ", ".join(
            f"{quote(name)} {count}"
            for name, count in zip(dataset.names, counts, strict=True)
            if count
        )
        raise DataError(
            f"{where}: missing values: {per_column}; choose --missing drop (complete rows only), "
            "level (a level of their own) or available (rows complete in each table)"
        )
    if policy == "drop":
        incomplete = np.zeros(dataset.n_rows, dtype=bool)
        for mask in missing:
            incomplete |= mask
        return dataset.rows(~incomplete)
    numbers = [variable.name for variable in dataset.variables if variable.is_continuous]
    if numbers:
        raise UsageError(f"--missing level: {listing(numbers)} has numbers, not levels")
    variables, columns = [], []
    for variable, column, mask, count in zip(
        dataset.variables, dataset.columns, missing, counts, strict=True
    ):
        if count:
            variable, column = _as_level(variable, column, mask)
        variables.append(variable)
        columns.append(column)
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
