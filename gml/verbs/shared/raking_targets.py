"""What raking takes as its targets: a file, or the same in Python, plain or from pandas."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from gml.data.frames import frame_texts, is_frame, known_spelling
from gml.data.options import column_name
from gml.errors import DataError, UsageError, kind_of, parameter, quote
from gml.formats.constraints import constraints_of, only_margins, read_margins
from gml.formats.constraints_csv import constraints_of_csv
from gml.model.entropy.constraints import (
    Cell,
    Constraints,
    Margin,
    common_total,
    margin_of_values,
    require_agreement,
)

if TYPE_CHECKING:
    import pandas as pd

Targets: TypeAlias = (
    "str | os.PathLike[str] | Mapping[Any, Any] | Constraints | pd.DataFrame | pd.Series[Any] | "
    "Sequence[Any]"
)
"""A path, margins by column, what a constraint file holds, a frame like one, or Series."""

_HERE = "the targets"
_FILE_KEYS = ("constraints", "variables", "numeric")


def targets_of(given: Targets, *, normalise: bool = False) -> Constraints:
    """Return the margins that are asked for, which must agree with one another.

    Examples
    --------
    >>> found = targets_of({"sex": {"m": 490, "f": 510}, ("age", "sex"): {("old", "m"): 490,
    ...                     ("old", "f"): 510}})
    >>> [margin.names for margin in found.margins], found.total
    ([('sex',), ('age', 'sex')], 1000.0)
    """
    found = _constraints(given, normalise)
    margins = found.margins
    if not margins:
        raise DataError(f"{found.where}: there are no margins")
    require_agreement(margins, found.where)
    return found


def _constraints(given: Any, normalise: bool) -> Constraints:
    if isinstance(given, str | os.PathLike):
        return read_margins(given, normalise=normalise)
    if isinstance(given, Constraints):
        return only_margins(given, given.where)
    if is_frame(given):
        text = text_of_frame(given)
        return only_margins(constraints_of_csv(text, _HERE, normalise=normalise), _HERE)
    if isinstance(given, Mapping) and any(isinstance(given.get(key), list) for key in _FILE_KEYS):
        return only_margins(constraints_of(given, _HERE, normalise=normalise), _HERE)
    margins: list[Margin] = []
    totals: list[tuple[Margin, float]] = []
    for names, values in _margins(given):
        if values is None:
            margins.append(names)
            continue
        margin, total = margin_of_values(
            names, _cells(names, values), "counts", normalise=normalise
        )
        margins.append(margin)
        totals.append((margin, total))
    try:
        total_of_all = common_total(totals, normalise=normalise)
    except DataError as error:
        raise DataError(f"{_HERE}: {error}") from None
    return Constraints(tuple(margins), where=_HERE, total=total_of_all)


def text_of_frame(frame: pd.DataFrame) -> str:
    """A frame as a constraint file, with cells as texts as in a frame of data."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([str(name) for name in frame.columns])
    columns = [frame_texts(frame, j) for j in range(frame.shape[1])]
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def columns_of_numbers(given: Targets) -> frozenset[str]:
    """The columns of a frame of targets whose labels are numbers, if targets are a frame.

    Examples
    --------
    >>> columns_of_numbers({"sex": {1: 490, 2: 510}})
    frozenset()
    """
    if not is_frame(given):
        return frozenset()
    dtypes = [given.iloc[:, j].dtype for j in range(given.shape[1])]
    return frozenset(
        str(name) for name, dtype in zip(given.columns, dtypes, strict=True) if dtype.kind in "iuf"
    )


def respelled(
    wanted: Constraints, numbers: Collection[str], levels: Mapping[str, Collection[str]]
) -> Constraints:
    """Return the margins with the numbers of some columns spelt as levels are: 1 or 1.0.

    pandas makes floats of whole numbers where one is missing, as in a frame of several margins.

    Examples
    --------
    >>> found = targets_of({"sex": {"1.0": 1, "2.0": 3}})
    >>> respelled(found, ["sex"], {"sex": ["1", "2"]}).margins[0].cells
    {('1',): 0.25, ('2',): 0.75}
    """

    def spelt(margin: Margin, cell: Cell) -> Cell:
        return tuple(
            known_spelling(label, levels[name]) if name in numbers else label
            for name, label in zip(margin.names, cell, strict=True)
        )

    margins = tuple(
        replace(margin, cells={spelt(margin, cell): p for cell, p in margin.cells.items()})
        for margin in wanted.margins
    )
    return replace(wanted, items=margins)


def _margins(given: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the columns and the values of each margin; a Margin comes as it is, without values."""
    if isinstance(given, Mapping):
        for key, values in given.items():
            yield tuple(map(_name, key)) if isinstance(key, tuple) else (_name(key),), values
        return
    if _is_series(given):
        given = [given]
    if not isinstance(given, Sequence) or not given:
        raise UsageError(
            f"{parameter('targets')} must be a path, a dictionary by column, a DataFrame or "
            f"Series, not {kind_of(given)}"
        )
    for one in given:
        if isinstance(one, Margin):
            yield one, None
        elif _is_series(one):
            names = list(one.index.names)
            if None in names:
                raise UsageError(
                    f"{parameter('targets')}: the index of a Series must have the names of the "
                    "columns that it is about"
                )
            yield tuple(map(_name, names)), one
        else:
            raise UsageError(
                f"{parameter('targets')}: a list must hold Series or Margins, not {kind_of(one)}"
            )


def _is_series(given: object) -> bool:
    return hasattr(given, "index") and hasattr(given, "items") and hasattr(given.index, "names")


def _cells(names: tuple[str, ...], values: Any) -> dict[tuple[str, ...], Any]:
    """Return numbers by cell; for several columns, by tuples of labels or nested by label."""
    if not isinstance(values, Mapping) and not _is_series(values):
        raise UsageError(
            f"{parameter('targets')}: what {', '.join(map(quote, names))} should have must be a "
            f"dictionary by level, not {kind_of(values)}"
        )
    found: dict[tuple[str, ...], Any] = {}
    for key, value in values.items():
        labels = tuple(map(_label, key)) if isinstance(key, tuple) else (_label(key),)
        if len(labels) < len(names):
            rest = _cells(names[len(labels) :], value)
            inner = {(*labels, *below): number for below, number in rest.items()}
        else:
            inner = {labels: _number(value)}
        twice = [cell for cell in inner if cell in found]
        if twice or any(len(cell) != len(names) for cell in inner):
            raise DataError(
                f"{_HERE}: {', '.join(map(quote, names))}: {', '.join(map(quote, labels))} "
                + ("appears twice" if twice else "has too many labels")
            )
        found |= inner
    return found


def _name(name: Any) -> str:
    name = column_name(name)
    if not isinstance(name, str):
        raise UsageError(f"{parameter('targets')}: {name!r} is not the name of a column")
    return name


def _label(label: Any) -> str:
    """A label as the text that a table would have for it."""
    return label if isinstance(label, str) else str(label)


def _number(value: Any) -> Any:
    """A number of NumPy as one of Python; what is wrong with others is said later."""
    return value.item() if hasattr(value, "item") else value
