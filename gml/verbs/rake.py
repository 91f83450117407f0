"""Row weights that give a table known margins: gml.rake, `gml rake`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter
from gml.data.dataset import Dataset, fractional_weights, has_missing, integer_weights, missing_mask
from gml.data.frames import is_frame
from gml.data.missing import FRAME, apply_missing_policy, why_no_rows
from gml.data.options import ReadingKeywords, ReadOptions
from gml.data.reading import read_dataset
from gml.errors import (
    CannotAnswer,
    UsageError,
    agreeing,
    counted,
    listing,
    parameter,
    place,
    unknown_name,
)
from gml.model.entropy.constraints import Constraints
from gml.model.raking.cells import table_cells
from gml.model.raking.result import Raking, exact_sum, raking_of
from gml.model.raking.solve import rake_cells
from gml.progress import reporter
from gml.verbs.shared.data_input import Data, options_for
from gml.verbs.shared.keywords import answers_misspelling
from gml.verbs.shared.raking_targets import Targets, targets_of

Bounds = tuple[float, float]
_Kept = slice | NDArray[np.intp]


@answers_misspelling()
def rake(
    data: Data,
    targets: Targets,
    *,
    bounds: Sequence[float] | None = None,
    normalise: bool = False,
    **reading: Unpack[ReadingKeywords],
) -> Raking:
    """Weight the rows of a table so that it has known margins, as near to equal weights as can be.

    The weights w minimise Σ w ln(w/d), d being what rows count before: raking, or iterative
    proportional fitting. They add up to the number of rows.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter that has rows.
    targets
        The margins: a constraint file; a dictionary by column, or by a tuple of columns, of
        numbers by level (or tuple of levels); a DataFrame like a constraint file; a Series, or
        several, whose index has the names of the columns. Counts of all margins must have the same
        total.
    bounds
        The smallest and largest ratio of a weight to what it was before, such as (0.3, 3): then
        the distance is the logit of Deville & Särndal.
    normalise
        Scale every margin to 1, whatever it adds up to.
    **reading
        How to read the data; see `gml.read`. With `missing="drop"`, rows with missing values in a
        column that has a target get NaN; with `level`, targets may have a level NA. `weights` or
        `weights_fractional` names what rows count before.

    Examples
    --------
    >>> import gml
    >>> known = {"smoke": {"no": 70, "yes": 30}, "dysp": {"no": 60, "yes": 40}}
    >>> raking = gml.rake("sample_data/asia.csv", known, bounds=(0.5, 2))
    >>> print(raking.to_frame().round(4).to_string(index=False))
    margin level  rows  before  target  after
     smoke    no  2501  0.5002     0.7    0.7
     smoke   yes  2499  0.4998     0.3    0.3
      dysp    no  2832  0.5664     0.6    0.6
      dysp   yes  2168  0.4336     0.4    0.4
    >>> float(raking.weights.sum().round(6)), round(raking.design_effect, 4)
    (5000.0, 1.1613)
    """
    wanted, within = targets_of(targets, normalise=normalise), checked_bounds(bounds)
    options = options_for(data, reading)
    rows = _rows(data, options, wanted)
    return raked(rows, wanted, options, within, where=_where(data))


def checked_bounds(bounds: Any) -> Bounds | None:
    """Refuse what are not two numbers around 1.

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
        f"1, not {bounds!r}"
    )


def _where(data: object) -> str:
    if is_frame(data):
        return FRAME
    return place(data) if isinstance(data, str | os.PathLike) else "the data"


def _rows(data: Data, options: ReadOptions, wanted: Constraints) -> Dataset:
    """Return all rows of the columns that have targets, and of the weights as numbers."""
    if isinstance(data, Dataset | Counter):
        rows = data if isinstance(data, Dataset) else data.require_rows("raking")
        return rows.select(columns_with_targets(wanted, None)(rows.names))
    used = columns_with_targets(wanted, options.weights_column)
    return read_dataset(data, as_they_are(options, wanted), used=used)


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
        options, missing="available", weights=None, weights_fractional=None, numeric=numeric
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
                raise UsageError(f"{wanted.where}: {unknown_name('column', name, known)}")
        return names if weights is None else [*names, weights]

    return pick


def raked(
    rows: Dataset, wanted: Constraints, options: ReadOptions, bounds: Bounds | None, *, where: str
) -> Raking:
    """Rake rows that were read as they are."""
    before = _Before.of(rows, options, where)
    names = sorted({name for margin in wanted.margins for name in margin.names})
    table = replace(rows.select(names), weights=None, unit=1.0)
    _refuse_numbers([v.name for v in table.variables if v.is_continuous])
    if table.n_rows == 0:
        raise CannotAnswer(f"{where}: {why_no_rows(where, weighted=before is not None)}")
    incomplete = _incomplete(table)
    declared = {*options.levels.levels, *options.levels.intervals}
    table = apply_missing_policy(
        table, options.missing, where, offer_available=False, declared=declared
    )
    kept: _Kept = np.flatnonzero(~incomplete) if options.missing == "drop" else slice(None)
    if table.n_rows == 0:
        dropped = parameter("missing", "drop")
        raise CannotAnswer(f"{where}: no rows are left: all have missing values ({dropped})")
    if before is not None:
        before = before.of_rows(kept)
        if not before.units.any():
            raise CannotAnswer(f"{where}: {why_no_rows(where, weighted=True)}")

    def place_of(row: int) -> str:
        number = row if isinstance(kept, slice) else int(kept[row])
        if rows.first_line is None:
            return f"{where}: data row {number + 1}"
        return f"{where}: line {rows.first_line + number}"

    cells = table_cells(
        table.variables,
        table.columns,
        wanted.margins,
        weights=None if before is None else before.units,
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
        weights[kept] *= before.values * (table.n_rows / exact_sum(before.values))
    equal = before is None
    return raking_of(cells, found, wanted.margins, weights, bounds, equal_before=equal)


class _Before(NamedTuple):
    """What rows count before they are raked: as it was given, and in units that add up exactly."""

    values: NDArray[np.float64]
    units: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Dataset, options: ReadOptions, where: str) -> _Before | None:
        """What a column of weights says, or what a dataset knows."""
        name = options.weights_column
        if name is None:
            if rows.weights is None:
                return None
            return cls(rows.weights * np.float64(rows.unit), rows.weights)
        values = np.asarray(rows.columns[rows.names.index(name)], dtype=np.float64)
        if options.weights is not None:
            return cls(values, integer_weights(values, where))
        return cls(values, fractional_weights(values, where)[0])

    def of_rows(self, kept: _Kept) -> _Before:
        """Those of some rows."""
        return _Before(self.values[kept], self.units[kept])


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
