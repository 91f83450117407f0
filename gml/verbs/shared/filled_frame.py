"""A DataFrame whose holes are filled, and nothing else changed: neither other cells nor dtypes.

A level is filled in as the column spells it elsewhere: 2 in a column of numbers, True among truth
values. A column of whole numbers that can be missing becomes one of fractions if a fraction is
filled in, and a categorical one gets the categories that it lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gml.data.dataset import Dataset, Variable
from gml.data.discretize import cuts_of_levels
from gml.kernel.number import number_of
from gml.model.evidence import Meaning
from gml.verbs.shared.imputed_rows import FilledCell

if TYPE_CHECKING:
    import pandas as pd


def filled_frame(
    frame: pd.DataFrame, cells: Iterable[FilledCell], variables: Mapping[str, Variable]
) -> pd.DataFrame:
    """Return a copy of a table with some cells filled."""
    whole = frame.copy()
    by_column: dict[str, list[FilledCell]] = {}
    for cell in cells:
        by_column.setdefault(cell.column, []).append(cell)
    names = [str(name) for name in frame.columns]
    for name, own in by_column.items():
        at = names.index(name)
        whole.isetitem(at, _filled(whole.iloc[:, at], own, variables[name]))
    return whole


def with_numbers(rows: Dataset, cells: Iterable[FilledCell]) -> pd.DataFrame:
    """Return rows as a table, whose labels are numbers where numbers are filled in."""
    found = rows.to_frame()
    for name in {cell.column for cell in cells if not isinstance(cell.value, str)}:
        if found[name].dtype.kind == "f":
            continue
        numbers = [number_of(str(label), rows.decimal) for label in found[name].cat.categories]
        if all(number is not None for number in numbers):
            meant = dict(zip(found[name].cat.categories, numbers, strict=True))
            found[name] = found[name].map(meant).astype("float64")
    return found


def _filled(column: pd.Series, cells: list[FilledCell], variable: Variable) -> pd.Series:
    spelled = _Spelling(column, variable)
    values = [spelled.of(cell) for cell in cells]
    column = column.copy()
    kind = column.dtype.kind
    if _is_categorical(column):
        column = column.cat.add_categories(sorted({*values} - {*column.cat.categories}, key=str))
    elif kind in "fiub" and any(isinstance(value, str) for value in values):
        column = column.astype(object)
    elif kind in "iu" and any(value != int(value) for value in values):
        column = column.astype("Float64")
    column.iloc[[cell.row - 1 for cell in cells]] = values
    return column


def _is_categorical(column: pd.Series) -> bool:
    return str(column.dtype) == "category"


class _Spelling:
    """How a column spells levels and numbers."""

    def __init__(self, column: pd.Series, variable: Variable) -> None:
        seen = column.cat.categories if _is_categorical(column) else column.dropna().unique()
        self._of_level: dict[str, Any] = {}
        self._is_text = any(isinstance(value, str) for value in seen)
        if variable.levels is not None and cuts_of_levels(variable.levels) is None:
            meaning = Meaning(variable)
            # Of several spellings the level itself is taken, or otherwise the first as text.
            for value in sorted(seen, key=str, reverse=True):
                code = meaning.code_of(value)
                level = None if code is None else variable.levels[int(code)]
                if level is not None and self._of_level.get(level) != level:
                    self._of_level[level] = value
        self._is_number = column.dtype.kind in "fiu"

    def of(self, cell: FilledCell) -> Any:
        """Return a value as the column has it."""
        if not isinstance(cell.value, str):
            return cell.text() if self._is_text else cell.value
        if cell.value in self._of_level:
            return self._of_level[cell.value]
        number = number_of(cell.value, ".") if self._is_number else None
        return cell.value if number is None else number
