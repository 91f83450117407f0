"""Common levels for tables that were read apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gml.data.dataset import Dataset, Variable, code_type, missing_mask
from gml.data.levels import order_levels


def with_common_levels(
    first: Dataset, second: Dataset, *, decimal: str = "."
) -> tuple[Dataset, Dataset]:
    """Give columns of the same name the levels of both tables, in level order.

    Examples
    --------
    >>> a = Dataset((Variable("A", ("x",)),), (np.array([0, 0], dtype=np.uint8),))
    >>> b = Dataset((Variable("A", ("w", "x")),), (np.array([1, 0], dtype=np.uint8),))
    >>> [data.columns[0].tolist() for data in with_common_levels(a, b)]
    [[1, 1], [1, 0]]
    """
    levels = {}
    for variable in first.variables:
        other = second.variables[second.index(variable.name)].levels
        if variable.levels is None or other is None or variable.levels == other:
            continue
        labels = list(dict.fromkeys([*variable.levels, *other]))
        levels[variable.name] = order_levels(labels, decimal=decimal)
    return _with_levels(first, levels), _with_levels(second, levels)


def with_levels_first(data: Dataset, levels: Mapping[str, tuple[str, ...]]) -> Dataset:
    """Give columns some levels in their order, and after them the others that they have.

    Examples
    --------
    >>> data = Dataset((Variable("A", ("w", "x")),), (np.array([1, 0], dtype=np.uint8),))
    >>> with_levels_first(data, {"A": ("x", "y")}).variables[0].levels
    ('x', 'y', 'w')
    """
    wanted = {}
    for variable in data.variables:
        first = levels.get(variable.name)
        if variable.levels is None or first is None or variable.levels[: len(first)] == first:
            continue
        wanted[variable.name] = tuple(dict.fromkeys([*first, *variable.levels]))
    return _with_levels(data, wanted)


def _with_levels(data: Dataset, levels: dict[str, tuple[str, ...]]) -> Dataset:
    variables, columns = list(data.variables), list(data.columns)
    for name, wanted in levels.items():
        j = data.index(name)
        rank = {level: code for code, level in enumerate(wanted)}
        narrow = code_type(len(wanted))
        lookup = np.array([rank[level] for level in variables[j].levels or ()], dtype=narrow)
        gaps = missing_mask(columns[j])
        codes = np.full(len(gaps), np.iinfo(narrow).max, dtype=narrow)
        codes[~gaps] = lookup[columns[j][~gaps]]
        variables[j], columns[j] = Variable(name, wanted), codes
    return replace(data, variables=tuple(variables), columns=tuple(columns))
