"""What becomes of missing values: an error, dropped rows, a level of their own, or kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, Variable, code_type, has_missing, missing_mask
from gml.data.levels import NA_LEVEL
from gml.errors import DataError, UsageError, counted, listing, parameter, quote, share_of
from gml.progress import reporter

FRAME = "the frame"
"""What messages call a DataFrame."""

_MANY_DROPPED = 0.2
_MOST_NAMED = 100


def count_missing(dataset: Dataset, policy: str, tokens: Collection[str]) -> dict[str, int]:
    """Return the missing cells of columns that have some, with their weights (in units).

    Where a level `NA` is declared for missing cells, a cell that says `NA` is missing too.
    """
    counts: dict[str, int] = {}
    for variable, column in zip(dataset.variables, dataset.columns, strict=True):
        cells = dataset.count(missing_mask(column)) if has_missing(column) else 0
        levels = variable.levels or ()
        if policy == "level" and NA_LEVEL in levels and NA_LEVEL in tokens:
            cells += dataset.count(column == levels.index(NA_LEVEL))
        if cells:
            counts[variable.name] = cells
    return counts


def missing_as_read(dataset: Dataset) -> tuple[int, Mapping[str, int]]:
    """The rows of a table that was read, and its missing cells, before these were treated.

    Rows may have been chosen since: then these are all, but for those that had been dropped.
    """
    origin = dataset.origin
    if origin is not None and origin.policy == "drop":
        return origin.n, origin.missing
    if origin is None or origin.policy != "level":
        return dataset.n, count_missing(dataset, "available", ())
    cells = {}
    for name in origin.missing:
        if name in dataset.names:
            j = dataset.index(name)
            level = (dataset.variables[j].levels or ()).index(NA_LEVEL)
            cells[name] = dataset.count(dataset.columns[j] == level)
    return dataset.n, {name: n for name, n in cells.items() if n}


def why_empty(dataset: Dataset | None, where: str) -> str:
    """Say why nothing is left of a table to count."""
    origin = None if dataset is None else dataset.origin
    if dataset is None or origin is None:
        return "no rows are left to count"
    if origin.n == 0:
        return why_no_rows(where, weighted=dataset.weights is not None)
    return f"no rows are left to count: all have missing values ({parameter('missing', 'drop')})"


def why_no_rows(where: str, *, weighted: bool) -> str:
    """Say that a table had no rows to begin with."""
    if weighted:
        return "no rows are left to count: there are none, or all weigh 0"
    return "has no rows" if where == FRAME else "has a header, but no rows"


def apply_missing_policy(
    dataset: Dataset,
    policy: str,
    where: str,
    *,
    offer_available: bool = True,
    offer_em: bool = False,
    advice: str | None = None,
    declared: Collection[str] = (),
    unweighed: Mapping[str, NDArray[np.bool_]] | None = None,
) -> Dataset:
    """Treat the missing cells of all columns; `declared` names those whose levels are declared.

    `level` turns missing cells into a declared level `NA`; a label `NA` in the data collides with
    it, and numbers with gaps are refused. `unweighed` says, by the column of weights, which rows
    are to be dropped for lack of one.
    """
    if policy == "available":
        return dataset
    gaps = {
        j: missing_mask(column) for j, column in enumerate(dataset.columns) if has_missing(column)
    }
    numbers = [dataset.names[j] for j in gaps if dataset.variables[j].is_continuous]
    if policy == "level" and numbers:
        raise numbers_have_no_level(numbers)
    if not gaps and not unweighed:
        return dataset
    if policy == "error":
        found = {dataset.names[j]: int(np.count_nonzero(mask)) for j, mask in gaps.items()}
        raise refused_gaps(
            found,
            where,
            numbers,
            offer_available=offer_available,
            offer_em=offer_em,
            advice=advice,
        )
    if policy == "drop":
        by_name = {dataset.names[j]: mask for j, mask in gaps.items()}
        return _complete_rows(dataset, {**by_name, **(unweighed or {})})
    variables, columns = list(dataset.variables), list(dataset.columns)
    for j, mask in gaps.items():
        known = variables[j].name in declared
        variables[j], columns[j] = _as_level(variables[j], columns[j], mask, declared=known)
    return replace(dataset, variables=tuple(variables), columns=tuple(columns))


def refused_gaps(
    gaps: Mapping[str, int],
    where: str,
    numbers: Collection[str],
    *,
    offer_available: bool,
    offer_em: bool,
    advice: str | None = None,
) -> DataError:
    """Say how many rows lack a value, by column, and what can be done; `numbers` are no labels.

    `advice` is said in place of the choices.
    """
    per_column = ", ".join(
        f"{quote(name)} {count}" for name, count in islice(gaps.items(), _MOST_NAMED)
    )
    if len(gaps) > _MOST_NAMED:
        per_column += f" and {len(gaps) - _MOST_NAMED} more columns"
    if advice is not None:
        return DataError(f"{where}: missing values: {per_column}; {advice}")
    choices = [f"{parameter('missing', 'drop')} (complete rows only)"]
    choices += ["level (a level of their own)"] * (not numbers)
    choices += ["available (rows complete in each table)"] * offer_available
    choices += ["em (fit to what was seen of each row)"] * offer_em
    *first, last = choices
    chosen = f"{', '.join(first)} or {last}" if first else last
    return DataError(f"{where}: missing values: {per_column}; choose {chosen}")


def numbers_have_no_level(names: Sequence[str]) -> UsageError:
    """Say that a missing number is no level."""
    has = "has numbers" if len(names) == 1 else "have numbers"
    return UsageError(
        f"{parameter('missing', 'level')} is for labels, and {listing(names)} {has}, with "
        f"missing values among them; choose {parameter('missing', 'drop')}"
    )


def tell_dropped(dropped: int, n_rows: int, gaps: Mapping[str, int]) -> None:
    """Say how many rows are dropped, given how many lack each column; if many, as a warning."""
    worst = max(gaps, key=lambda name: gaps[name])
    message = (
        f"{dropped} of {counted(n_rows, 'row')} dropped for missing values "
        f"({share_of(dropped, n_rows)}), {gaps[worst]} of them missing {quote(worst)}"
    )
    many = dropped > _MANY_DROPPED * n_rows
    (reporter().warn if many else reporter().tell)(message)


def _complete_rows(dataset: Dataset, gaps: dict[str, NDArray[np.bool_]]) -> Dataset:
    """Drop incomplete rows, and say how many."""
    incomplete = np.logical_or.reduce(list(gaps.values()))
    found = {name: int(np.count_nonzero(mask)) for name, mask in gaps.items()}
    tell_dropped(int(np.count_nonzero(incomplete)), dataset.n_rows, found)
    return dataset.rows(~incomplete)


def _as_level(
    variable: Variable, column: NDArray[Any], mask: NDArray[np.bool_], *, declared: bool
) -> tuple[Variable, NDArray[Any]]:
    assert variable.levels is not None
    levels = levels_with_gaps(variable, declared=declared)
    codes = column.astype(code_type(len(levels)))
    codes[mask] = levels.index(NA_LEVEL)
    return Variable(variable.name, levels), codes


def levels_with_gaps(variable: Variable, *, declared: bool) -> tuple[str, ...]:
    """The levels of a column whose missing cells are one of them."""
    levels = variable.levels or ()
    if declared and NA_LEVEL in levels:
        return levels
    if NA_LEVEL in levels:
        raise DataError(
            f"column {quote(variable.name)}: {parameter('missing', 'level')} would add "
            f"{NA_LEVEL!r}, which is already a label"
        )
    return (*levels, NA_LEVEL)
