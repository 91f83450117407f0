"""Raking of a table that was read as it is: what `gml.rake` and the rows of `gml rake` share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, fractional_weights, has_missing, integer_weights, missing_mask
from gml.data.missing import apply_missing_policy, why_no_rows
from gml.data.options import ReadOptions
from gml.errors import (
    CannotAnswer,
    UsageError,
    agreeing,
    counted,
    listing,
    parameter,
    quote,
    unknown_name,
)
from gml.formats.constraints_csv import is_of_values
from gml.model.entropy.constraints import Constraints
from gml.model.raking.cells import table_cells
from gml.model.raking.result import Raking, exact_sum, raking_of
from gml.model.raking.solve import rake_cells
from gml.progress import reporter
from gml.verbs.shared.raking_targets import respelled

Bounds = tuple[float, float]


def checked_bounds(bounds: Any, *, shown: str = "") -> Bounds | None:
    """Refuse what are not two numbers around 1; `shown` is how they were typed.

    Examples
    --------
    >>> checked_bounds([0.3, 3])
    (0.3, 3.0)
    >>> checked_bounds((1.5, 3))
    Traceback (most recent call last):
    gml.errors.UsageError: `bounds` must be two numbers, the first from 0 to below 1, the second \
above 1, not (1.5, 3)
    """
    if bounds is None:
        return None
    numbers = list(bounds) if isinstance(bounds, Sequence) and not isinstance(bounds, str) else []
    if len(numbers) == 2 and all(isinstance(number, Real) for number in numbers):
        low, high = map(float, numbers)
        if 0 <= low < 1 < high < float("inf"):
            return low, high
    raise UsageError(
        f"{parameter('bounds')} must be two numbers, the first from 0 to below 1, the second above "
        f"1, not {shown or repr(bounds)}"
    )


def as_they_are(options: ReadOptions, wanted: Constraints) -> ReadOptions:
    """Return the options that read every row, gaps and weights of 0 included, as weights need."""
    if options.missing == "available":
        raise UsageError(
            f"{parameter('missing', 'available')}: a row has one weight for all margins; use drop "
            "or level"
        )
    names = {name for margin in wanted.margins for name in margin.names}
    numbers = sorted(name for name in names if options.is_numeric(name))
    _refuse_numbers(numbers)
    weights = options.weights_column
    numeric = options.numeric if weights is None else (*options.numeric, weights)
    return replace(
        options,
        missing="available",
        weights=None,
        weights_fractional=None,
        kinds="labels",
        numeric=numeric,
    )


def columns_with_targets(
    wanted: Constraints, weights: str | None
) -> Callable[[Sequence[str]], list[str]]:
    """Return what picks the columns that have targets, and that of weights, from all of a table."""
    names = sorted({name for margin in wanted.margins for name in margin.names})
    if weights in names:
        raise UsageError(f"column {weights!r} has the weights, so that it cannot have targets")

    def pick(known: Sequence[str]) -> list[str]:
        for name in names:
            if name not in known:
                second = (
                    f"{quote(name)} is a second column of values: leave one; "
                    if is_of_values(name)
                    else ""
                )
                raise UsageError(f"{wanted.where}: {second}{unknown_name('column', name, known)}")
        return names if weights is None else [*names, weights]

    return pick


def raked(
    rows: Dataset,
    wanted: Constraints,
    options: ReadOptions,
    bounds: Bounds | None,
    *,
    where: str,
    numbers: Collection[str] = (),
) -> Raking:
    """Rake rows that were read as they are.

    `numbers` are the columns whose targets have numbers for labels, spelt with a point or without.
    """
    names = sorted({name for margin in wanted.margins for name in margin.names})
    table = replace(rows.select(names), weights=None, unit=1.0)
    _refuse_numbers([v.name for v in table.variables if v.is_continuous])
    if table.n_rows == 0:
        weighted = options.weights_column is not None or rows.weights is not None
        raise CannotAnswer(f"{where}: {why_no_rows(where, weighted=weighted)}")
    incomplete = _incomplete(table)
    dropped = options.missing == "drop"
    before = _before(rows, options, where, incomplete if dropped else None)
    declared = {name for name in names if options.declares_missing(name)}
    table = apply_missing_policy(
        table,
        options.missing,
        where,
        offer_available=False,
        offer_exclude=False,
        declared=declared,
        min_complete=options.min_complete,
    )
    kept = np.flatnonzero(~incomplete) if dropped else slice(None)
    if before is not None:
        before = before[kept]
        if not before.any():
            raise CannotAnswer(f"{where}: {why_no_rows(where, weighted=True)}")

    def place_of(row: int) -> str:
        number = row if isinstance(kept, slice) else int(kept[row])
        return f"{where}: {rows.name_of_row(number)}"

    if numbers:
        levels = {variable.name: variable.levels or () for variable in table.variables}
        wanted = respelled(wanted, numbers, levels)
    cells = table_cells(
        table.variables,
        table.columns,
        wanted.margins,
        weights=before,
        place_of=place_of,
        targets=wanted.where,
    )
    reporter().note(
        f"{counted(table.n_rows, 'row')} in {counted(len(cells.base), 'cell')} of "
        f"{counted(len(names), 'column')}"
    )
    found = rake_cells(cells, bounds)
    weights = np.full(len(incomplete), np.nan)
    weights[kept] = np.append(found.ratios, 0.0)[cells.of_row]
    if before is not None:
        weights[kept] *= before * (table.n_rows / exact_sum(before))
    equal = before is None
    return raking_of(cells, found, wanted.margins, weights, bounds, equal_before=equal)


def _before(
    rows: Dataset, options: ReadOptions, where: str, dropped: NDArray[np.bool_] | None
) -> NDArray[np.float64] | None:
    """What rows count before they are raked, by a column of weights or by what a dataset knows.

    None if all count the same. What rows that are dropped count is not looked at.
    """
    name = options.weights_column
    if name is None:
        return None if rows.weights is None else rows.weights * np.float64(rows.unit)
    values = np.asarray(rows.columns[rows.names.index(name)], dtype=np.float64)
    if dropped is not None:
        values = np.where(dropped, 0.0, values)
    if options.weights is not None:
        integer_weights(values, where)
    else:
        fractional_weights(values, where)
    return values


def _incomplete(table: Dataset) -> NDArray[np.bool_]:
    """Which rows lack a value."""
    found = np.zeros(table.n_rows, dtype=bool)
    for column in table.columns:
        if has_missing(column):
            found |= missing_mask(column)
    return found


def _refuse_numbers(names: Sequence[str]) -> None:
    if names:
        raise UsageError(
            f"targets are about labels, and {listing(names)} "
            f"{agreeing(len(names), 'has', 'have')} numbers; cut them with {parameter('cut')}"
        )
