"""pandas DataFrames to datasets, as if they had been written to CSV files and read back.

Cells are text as pandas writes it: 1, 1.0, True. What pandas considers missing is missing, and so
is a text that means missing in a file. Categories are declared levels, in their order, of a nominal
or ordinal column.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from gml.data.coding import build_dataset
from gml.data.columns import Choice, choose_columns, column_specs
from gml.data.dataset import MAX_LEVELS, Dataset, code_type
from gml.data.options import ReadOptions
from gml.data.problems import NotANumber, undeclared
from gml.data.schema import NOMINAL, ORDINAL, Schema, is_text, with_levels
from gml.errors import DataError, UsageError, kind_of, parameter, quote
from gml.kernel.layout import CODES8, CODES16, NUMBERS, OVERFLOW, SKIP, ColumnSpec, CsvColumn
from gml.kernel.number import parse_number

if TYPE_CHECKING:
    import pandas as pd

WHERE = "the frame"
_SKIPPED = CsvColumn(SKIP, [], None)


def is_frame(data: object) -> TypeGuard[pd.DataFrame]:
    """Whether something is a pandas DataFrame; it cannot be if pandas was never imported."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def read_frame(frame: pd.DataFrame, options: ReadOptions, *, used: Choice | None = None) -> Dataset:
    """Code the columns of a frame that `used` picks from those that the options leave."""
    if not is_frame(frame):
        raise UsageError(f"this is no DataFrame, but {kind_of(frame)}; see gml.read")
    for name in ("delimiter", "encoding"):
        if getattr(options, name) is not None:
            raise UsageError(f"{parameter(name)} is for text files, and this is a frame")
    if options.decimal != ".":
        raise UsageError(f"{parameter('decimal')} is for text files, and this is a frame")
    names = [str(name) for name in frame.columns]
    series = [frame.iloc[:, j] for j in range(len(names))]
    options = replace(options, levels=_with_categories(options.levels, names, series))
    chosen = choose_columns(names, options, used, WHERE)
    na = frozenset(token.strip(" ") for token in options.na_tokens)
    columns = [
        _SKIPPED if spec.kind == SKIP else _Column(name, found, spec, na).read()
        for name, found, spec in zip(
            names, series, column_specs(names, chosen, options), strict=True
        )
    ]
    return build_dataset(columns, names, chosen, options, WHERE, None)


def _with_categories(
    schema: Schema, names: Sequence[str], series: Sequence[pd.Series[Any]]
) -> Schema:
    """Declare the categories of columns that the schema does not mention."""
    levels, kinds = {}, dict(schema.kinds)
    for name, column in zip(names, series, strict=True):
        categories = getattr(column.dtype, "categories", None)
        if categories is None:
            continue
        levels[name] = tuple(_texts(categories))
        if len(set(levels[name])) < len(levels[name]):
            raise DataError(f"{WHERE}: column {quote(name)}: two categories have the same label")
        if len(levels[name]) > MAX_LEVELS:
            raise DataError(f"{WHERE}: column {quote(name)}: more than {MAX_LEVELS} categories")
        kinds.setdefault(name, ORDINAL if column.cat.ordered else NOMINAL)
    return replace(with_levels(schema, levels), kinds=kinds)


class _Column:
    """A column of a frame, and what it is read as."""

    def __init__(
        self, name: str, series: pd.Series[Any], spec: ColumnSpec, na: frozenset[str]
    ) -> None:
        self._name = name
        self._series = series
        self._spec = spec
        self._na = na

    def read(self) -> CsvColumn:
        """Return the column in the kernel's form."""
        if self._spec.kind == NUMBERS:
            plain = self._plain_numbers()
            if plain is not None:
                return CsvColumn(NUMBERS, [], plain)
        texts, at = _distinct(self._series)
        return self._numbers(texts, at) if self._spec.kind == NUMBERS else self._codes(texts, at)

    def _plain_numbers(self) -> NDArray[np.float64] | None:
        """Numbers as they stand, unless one (infinite, or a token) has to be looked at as text.

        Narrower floats are written with fewer digits, and so become other numbers.
        """
        dtype = self._series.dtype
        if not isinstance(dtype, np.dtype) or not (dtype.kind in "iu" or dtype == np.float64):
            return None
        found: NDArray[np.float64] = self._series.to_numpy().astype(np.float64)
        parsed = (parse_number(token.encode(), ".") for token in self._na)
        tokens = [number for number in parsed if number is not None]
        if np.isinf(found).any() or any((found == number).any() for number in tokens):
            return None
        return found

    def _numbers(self, texts: Sequence[str], at: NDArray[np.int64]) -> CsvColumn:
        lookup = np.full(len(texts) + 1, np.nan)
        for k, text in enumerate(texts):
            if text.strip(" ") in self._na:
                continue
            number = parse_number(text.encode("utf-8", "replace"), ".")
            if number is None:
                raise NotANumber(str(self._refused(at == k, f"{quote(text)} is not a number")))
            lookup[k] = number
        return CsvColumn(NUMBERS, [], lookup[at])

    def _codes(self, texts: Sequence[str], at: NDArray[np.int64]) -> CsvColumn:
        declared = self._spec.declared
        codes = {label: code for code, label in enumerate(declared or self._spec.known)}
        lookup = np.full(len(texts) + 1, -1, dtype=np.int64)
        for k, text in enumerate(texts):
            if text not in codes:
                if text.strip(" ") in self._na:
                    continue
                if declared is not None:
                    raise self._refused(at == k, undeclared(text, declared))
                if not is_text(text):
                    raise self._refused(at == k, f"{quote(text)} is not valid text")
                codes[text] = len(codes)
            lookup[k] = codes[text]
        labels = list(codes)
        if declared is None and len(labels) > self._spec.max_levels:
            spell = [parse_number(label.encode(), ".") for label in labels]
            if self._spec.numbers_on_overflow and None not in spell:
                numbers = np.array([*spell, np.nan], dtype=np.float64)
                return CsvColumn(NUMBERS, labels, numbers[lookup[at]])
            return CsvColumn(OVERFLOW, labels, None)
        narrow = code_type(len(labels))
        kind = CODES8 if narrow is np.uint8 else CODES16
        # −1 becomes the largest code, which means missing.
        return CsvColumn(kind, labels, lookup[at].astype(narrow))

    def _refused(self, rows: NDArray[np.bool_], why: str) -> DataError:
        row = int(np.argmax(rows)) + 1
        return DataError(f"{WHERE}: data row {row}: column {quote(self._name)}: {why}")


def _distinct(series: pd.Series[Any]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct values of a column as text, and which of them each cell has, or −1."""
    import pandas as pd

    at: NDArray[np.int64]
    dtype = series.dtype
    if hasattr(dtype, "categories"):
        # Categories that occur in no row are not among the values.
        at, found = pd.factorize(series.cat.codes.where(series.notna()))
        texts = _texts(dtype.categories)
        return [texts[int(k)] for k in found], at
    kind = dtype.kind if isinstance(dtype, np.dtype) else ""
    if kind == "f":
        # By their bits, as −0.0 and 0.0 are written differently.
        values = series.to_numpy()
        bits, found = pd.factorize(values[~np.isnan(values)].view(f"u{dtype.itemsize}"))
        return _texts(found.view(dtype)), _placed(np.isnan(values), bits)
    if kind in tuple("iubM") or pd.api.types.infer_dtype(series, skipna=True) == "string":
        at, found = series.factorize()
        return _texts(found), at
    # 1, 1.0 and True are equal, but written differently.
    gaps = series.isna().to_numpy()
    places, found = series[~gaps].astype(object).map(str).factorize()
    return _texts(found), _placed(gaps, places)


def _placed(gaps: NDArray[np.bool_], at: NDArray[Any]) -> NDArray[np.int64]:
    places = np.full(len(gaps), -1, dtype=np.int64)
    places[~gaps] = at
    return places


def _texts(values: Any) -> list[str]:
    """Return values as they stand in a CSV file that pandas writes."""
    if values.dtype.kind == "M":
        values = values.astype(str)
    return [str(value) for value in values]
