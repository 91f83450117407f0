"""pandas DataFrames to datasets, as if they had been written to CSV files and read back.

Cells are text as pandas writes it: 1, 1.0, True. As pandas makes floats of whole numbers where one
is missing, numbers are matched with levels that are known already, those of a model or a schema,
whether these have a point (1.0) or not (1). What pandas considers missing is missing, and so is a
text that means missing in a file. Categories are declared levels, in their order, of a nominal or
ordinal column.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from gml.data.coding import build_dataset
from gml.data.columns import Choice, choose_columns, column_specs
from gml.data.dataset import MAX_LEVELS, Dataset, code_type
from gml.data.missing import FRAME
from gml.data.options import ReadOptions
from gml.data.problems import NotANumber, undeclared
from gml.data.schema import (
    NOMINAL,
    ORDINAL,
    Schema,
    is_text,
    with_categorical,
    with_levels,
)
from gml.errors import DataError, UsageError, kind_of, parameter, quote
from gml.kernel.layout import (
    CODES8,
    CODES16,
    CODES32,
    NUMBERS,
    OVERFLOW,
    SKIP,
    ColumnSpec,
    CsvColumn,
)
from gml.kernel.number import number_of

if TYPE_CHECKING:
    import pandas as pd

_SKIPPED = CsvColumn(SKIP, [], None)
# What pandas calls the objects of a column that are numbers or dates, or none at all.
_NOT_TEXT = (
    *("integer", "floating", "decimal", "mixed-integer-float", "empty"),
    *("date", "datetime", "datetime64", "timedelta", "timedelta64"),
)


def is_frame(data: object) -> TypeGuard[pd.DataFrame]:
    """Whether something is a pandas DataFrame; it cannot be if pandas was never imported."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def is_spark_frame(data: object) -> bool:
    """Whether something is a DataFrame of Spark; it cannot be if pyspark was never imported."""
    sql = sys.modules.get("pyspark.sql")
    return sql is not None and isinstance(data, sql.DataFrame)


def read_frame(frame: pd.DataFrame, options: ReadOptions, *, used: Choice | None = None) -> Dataset:
    """Code the columns of a frame that `used` picks from those that the options leave."""
    if not is_frame(frame):
        raise UsageError(f"this is no DataFrame, but {kind_of(frame)}; see gml.read")
    options = options_for_frame(frame, options)
    names = [str(name) for name in frame.columns]
    chosen = choose_columns(names, options, used, FRAME)
    columns = frame_columns(frame, column_specs(names, chosen, options), options)
    return build_dataset(columns, names, chosen, options, FRAME, None)


def options_for_frame(frame: pd.DataFrame, options: ReadOptions) -> ReadOptions:
    """Return the options with the categories of a frame declared; some are for files only."""
    options = options.without_text()
    for name in ("delimiter", "encoding"):
        if getattr(options, name) is not None:
            raise UsageError(f"{parameter(name)} is for text files, and this is a frame")
    if options.decimal != ".":
        raise UsageError(f"{parameter('decimal')} is for text files, and this is a frame")
    names = [str(name) for name in frame.columns]
    series = [frame.iloc[:, j] for j in range(len(names))]
    schema = _with_categories(options.levels, names, series, strip=options.strip)
    text = [name for name, column in zip(names, series, strict=True) if _is_categorical(column)]
    return replace(options, levels=with_categorical(schema, text))


def frame_columns(
    frame: pd.DataFrame, specs: Sequence[ColumnSpec], options: ReadOptions
) -> list[CsvColumn]:
    """Return the columns of a frame as the kernel would read them."""
    na = frozenset(token.strip(" ") for token in options.na_tokens)
    return [
        _SKIPPED
        if spec.kind == SKIP
        else _Column(str(frame.columns[j]), frame.iloc[:, j], spec, na, options.strip).read()
        for j, spec in enumerate(specs)
    ]


def frame_texts(frame: pd.DataFrame, j: int) -> list[str | None]:
    """Return the cells of a column as texts, None for what pandas considers missing."""
    texts, at = _distinct(frame.iloc[:, j])
    return [None if k < 0 else texts[k] for k in at.tolist()]


def _with_categories(
    schema: Schema, names: Sequence[str], series: Sequence[pd.Series[Any]], *, strip: bool
) -> Schema:
    """Declare the categories of columns that the schema does not mention."""
    levels, kinds = {}, dict(schema.kinds)
    for name, column in zip(names, series, strict=True):
        categories = getattr(column.dtype, "categories", None)
        if categories is None:
            continue
        texts = [text.strip(" ") if strip else text for text in _texts(categories)]
        levels[name] = tuple(dict.fromkeys(texts)) if strip else tuple(texts)
        if len(set(levels[name])) < len(levels[name]):
            raise DataError(f"{FRAME}: column {quote(name)}: two categories have the same label")
        if len(levels[name]) > MAX_LEVELS:
            raise DataError(f"{FRAME}: column {quote(name)}: more than {MAX_LEVELS} categories")
        kinds.setdefault(name, ORDINAL if column.cat.ordered else NOMINAL)
    return replace(with_levels(schema, levels), kinds=kinds)


def _is_categorical(series: pd.Series[Any]) -> bool:
    """Whether the values of a column are categories: texts, truth values, or of several kinds."""
    from pandas.api import types

    if types.is_bool_dtype(series.dtype):
        return True
    if types.is_numeric_dtype(series.dtype) or series.dtype.kind in "mM":
        return False
    return types.infer_dtype(series, skipna=True) not in _NOT_TEXT


class _Column:
    """A column of a frame, and what it is read as."""

    def __init__(
        self, name: str, series: pd.Series[Any], spec: ColumnSpec, na: frozenset[str], strip: bool
    ) -> None:
        self._strip = strip
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
        if self._spec.numbers_on_overflow and self._is_of_numbers():
            plain = self._plain_numbers()
            if plain is not None and _differ_more_than(self._spec.max_levels, plain):
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
        parsed = (number_of(token, ".") for token in self._na)
        tokens = [number for number in parsed if number is not None]
        if np.isinf(found).any() or any((found == number).any() for number in tokens):
            return None
        return found

    def _numbers(self, texts: Sequence[str], at: NDArray[np.int64]) -> CsvColumn:
        lookup = np.full(len(texts) + 1, np.nan)
        for k, text in enumerate(texts):
            if text.strip(" ") in self._na:
                continue
            number = number_of(text, ".")
            if number is None:
                why = f"{quote(text)} is not a number"
                raise NotANumber(str(self._refused(at == k, why)), text)
            lookup[k] = number
        return CsvColumn(NUMBERS, [], lookup[at])

    def _codes(self, texts: Sequence[str], at: NDArray[np.int64]) -> CsvColumn:
        if self._strip:
            texts = [text.strip(" ") for text in texts]
        declared = self._spec.declared
        codes = {label: code for code, label in enumerate(declared or self._spec.known)}
        if self._is_of_numbers():
            known = frozenset(codes)
            texts = [known_spelling(text, known) for text in texts]
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
            spell = [number_of(label, ".") for label in labels]
            if self._spec.numbers_on_overflow and None not in spell:
                numbers = np.array([*spell, np.nan], dtype=np.float64)
                return CsvColumn(NUMBERS, labels, numbers[lookup[at]])
            return CsvColumn(OVERFLOW, labels, None)
        narrow = code_type(len(labels))
        kind = {np.uint8: CODES8, np.uint16: CODES16, np.uint32: CODES32}[narrow]
        # −1 becomes the largest code, which means missing.
        return CsvColumn(kind, labels, lookup[at].astype(narrow))

    def _is_of_numbers(self) -> bool:
        dtype = self._series.dtype
        return isinstance(dtype, np.dtype) and dtype.kind in "iuf"

    def _refused(self, rows: NDArray[np.bool_], why: str) -> DataError:
        row = int(np.argmax(rows)) + 1
        return DataError(f"{FRAME}: data row {row}: column {quote(self._name)}: {why}")


def _differ_more_than(most: int, numbers: NDArray[np.float64]) -> bool:
    """Whether there are more different numbers than so many; some often tell."""
    import pandas as pd

    return any(len(pd.unique(part)) > most + 1 for part in (numbers[: 8 * most], numbers))


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
    # Not a series of texts, which pandas may keep as UTF-8: half a surrogate pair has none.
    written = np.array([str(value) for value in series[~gaps].astype(object)], dtype=object)
    places, found = pd.factorize(written)
    return found.tolist(), _placed(gaps, places)


def _placed(gaps: NDArray[np.bool_], at: NDArray[Any]) -> NDArray[np.int64]:
    places = np.full(len(gaps), -1, dtype=np.int64)
    places[~gaps] = at
    return places


def known_spelling(text: str, known: Collection[str]) -> str:
    """Return the label among those known that is the same whole number, with a point or without.

    Examples
    --------
    >>> known_spelling("1.0", ("1", "2")), known_spelling("1", ("1.0",)), known_spelling("x", ())
    ('1', '1.0', 'x')
    """
    other = text.removesuffix(".0") if text.endswith(".0") else f"{text}.0"
    return other if text not in known and other in known else text


def _texts(values: Any) -> list[str]:
    """Return values as they stand in a CSV file that pandas writes."""
    if values.dtype.kind == "M":
        values = values.astype(str)
    return [str(value) for value in values]
