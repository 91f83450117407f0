"""Common levels for tables that were read apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, Variable, code_type, missing_mask
from gml.data.levels import order_levels

Recoding = tuple[tuple[str, ...], NDArray[np.int64]]
"""Levels in place of those of a column, and the new code of each old one."""


def common_levels(
    first: Sequence[Variable], second: Sequence[Variable], *, decimal: str = "."
) -> dict[str, tuple[str, ...]]:
    """Return the common levels of columns that two tables share, where their levels differ.

    Examples
    --------
    >>> common_levels([Variable("A", ("x",))], [Variable("A", ("w",))])
    {'A': ('w', 'x')}
    """
    others = {variable.name: variable.levels for variable in second}
    levels = {}
    for variable in first:
        other = others[variable.name]
        if variable.levels is None or other is None or variable.levels == other:
            continue
        labels = list(dict.fromkeys([*variable.levels, *other]))
        levels[variable.name] = order_levels(labels, decimal=decimal)
    return levels


def with_levels_first(data: Dataset, levels: Mapping[str, tuple[str, ...]]) -> Dataset:
    """Give columns the levels listed, in that order, followed by any others that they have.

    Examples
    --------
    >>> data = Dataset((Variable("A", ("w", "x")),), (np.array([1, 0], dtype=np.uint8),))
    >>> with_levels_first(data, {"A": ("x", "y")}).variables[0].levels
    ('x', 'y', 'w')
    """
    return with_levels(data, levels_first(data.variables, levels))


def levels_first(
    variables: Sequence[Variable], levels: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Return the levels of columns with the listed ones first, where they are not first already."""
    wanted = {}
    for variable in variables:
        first = levels.get(variable.name)
        if variable.levels is None or first is None or variable.levels[: len(first)] == first:
            continue
        wanted[variable.name] = tuple(dict.fromkeys([*first, *variable.levels]))
    return wanted


def with_levels(data: Dataset, levels: Mapping[str, tuple[str, ...]]) -> Dataset:
    """Give columns other levels, which include their own.

    Examples
    --------
    >>> data = Dataset((Variable("A", ("x",)),), (np.array([0, 0], dtype=np.uint8),))
    >>> with_levels(data, {"A": ("w", "x")}).columns[0].tolist()
    [1, 1]
    """
    return recoded(data, recodings_to(data.variables, levels))


def recodings_to(
    variables: Sequence[Variable], levels: Mapping[str, tuple[str, ...]]
) -> dict[str, Recoding]:
    """Return the recodings that give columns other levels, which include their own.

    Examples
    --------
    >>> recodings_to([Variable("A", ("x", "y"))], {"A": ("y", "w", "x")})
    {'A': (('y', 'w', 'x'), array([2, 0]))}
    """
    found: dict[str, Recoding] = {}
    for variable in variables:
        if variable.name in levels:
            wanted = levels[variable.name]
            rank = {level: code for code, level in enumerate(wanted)}
            codes = np.array([rank[level] for level in variable.levels or ()], dtype=np.int64)
            found[variable.name] = (wanted, codes)
    return found


def joins_levels(recoding: Recoding) -> bool:
    """Whether two levels of a column become one."""
    codes = recoding[1]
    return len(np.unique(codes)) < len(codes)


def recoded(data: Dataset, recodings: Mapping[str, Recoding]) -> Dataset:
    """Give columns other levels, in which some of their own may be joined.

    Examples
    --------
    >>> data = Dataset((Variable("A", ("x", "y")),), (np.array([0, 1], dtype=np.uint8),))
    >>> recoded(data, {"A": (("w", "z"), np.array([1, 1]))}).columns[0].tolist()
    [1, 1]
    """
    variables, columns = list(data.variables), list(data.columns)
    for name, (wanted, new) in recodings.items():
        j = data.index(name)
        narrow = code_type(len(wanted))
        gaps = missing_mask(columns[j])
        codes = np.full(len(gaps), np.iinfo(narrow).max, dtype=narrow)
        codes[~gaps] = new.astype(narrow)[columns[j][~gaps]]
        variables[j], columns[j] = Variable(name, wanted), codes
    return replace(data, variables=tuple(variables), columns=tuple(columns))
