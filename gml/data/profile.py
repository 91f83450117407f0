"""The profile of a table: levels, their order and counts, cut points, and how much is missing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, Variable, missing_code, missing_mask
from gml.data.discretize import interval_levels
from gml.data.levels import is_numeric
from gml.data.options import ReadOptions
from gml.data.schema import NUMERIC
from gml.errors import counted, listing

if TYPE_CHECKING:
    import pandas as pd

Number = int | float


@dataclass(frozen=True)
class ColumnProfile:
    """A column: its levels, or the cut points that make them, and the rows of each level.

    `type` is numeric, or as declared in a schema. `levels` are given where a schema needs them to
    read the same levels again: not where the cut points say it all, nor where every cell is
    missing. `order` is numeric, codepoint or declared.
    """

    name: str
    type: str | None
    levels: tuple[str, ...] | None
    cuts: tuple[float, ...] | None
    order: str | None
    counts: tuple[Number, ...]
    missing: Number
    rate: float


@dataclass(frozen=True)
class Profile:
    """The weighted number of rows, the columns in order, and the tokens that mean missing."""

    rows: Number
    columns: tuple[ColumnProfile, ...]
    na: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with one row per column."""
        import pandas as pd

        return pd.DataFrame([asdict(column) for column in self.columns])

    def __repr__(self) -> str:
        names = [column.name for column in self.columns]
        return f"Profile({self.rows} rows, {counted(len(names), 'column')}: {listing(names)})"


def profile(dataset: Dataset, options: ReadOptions) -> Profile:
    """Return the profile of a table that was read with these options and `available`.

    Examples
    --------
    >>> from gml.data.reading import read
    >>> options = ReadOptions(columns=("Age",), missing="available")
    >>> data = read("sample_data/survey_missing.csv", columns=("Age",), missing="available")
    >>> (age,) = profile(data, options).columns
    >>> age.levels, age.counts, age.missing
    (('adult', 'old', 'young'), (458, 204, 290), 48)
    """
    columns = tuple(
        _column(dataset, variable, column, options)
        for variable, column in zip(dataset.variables, dataset.columns, strict=True)
    )
    return Profile(dataset.in_rows(dataset.n), columns, options.na_tokens)


def _column(
    dataset: Dataset, variable: Variable, column: NDArray[np.uint8], options: ReadOptions
) -> ColumnProfile:
    name, levels = variable.name, variable.levels or ()
    gaps = dataset.count(missing_mask(column))
    counts: tuple[Number, ...] = ()
    if not variable.is_continuous:
        counts = tuple(map(dataset.in_rows, _counts(dataset, column, len(levels))))
    cuts = dataset.origin.cuts.get(name) if dataset.origin is not None else None
    order = None
    if cuts and interval_levels(cuts) == levels:
        levels = ()
    elif cuts is not None:
        # Empty intervals were not levels, but cut points alone would bring them back.
        cuts, order = None, "numeric"
    elif _is_declared(name, options):
        order = "declared"
    else:
        order = "numeric" if is_numeric(levels, decimal=options.decimal) else "codepoint"
    return ColumnProfile(
        name=name,
        type=NUMERIC if variable.is_continuous else options.levels.kinds.get(name),
        levels=levels or None,
        cuts=cuts,
        order=order if levels else None,
        counts=counts,
        missing=dataset.in_rows(gaps),
        rate=gaps / dataset.n,
    )


def _counts(dataset: Dataset, column: NDArray[np.uint8], n_levels: int) -> list[int]:
    """The weighted number of rows per level (in units)."""
    totals = np.zeros(missing_code(column) + 1, dtype=np.int64)
    np.add.at(totals, column, 1 if dataset.weights is None else dataset.weights)
    found: list[int] = totals[:n_levels].tolist()
    return found


def _is_declared(name: str, options: ReadOptions) -> bool:
    declared = (options.declared_levels(name), options.declared_intervals(name))
    return any(levels is not None for levels in declared)
