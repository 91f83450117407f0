"""Variable and Dataset: the coded table that everything above counts."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.number_summary import NumberValues
from gml.data.problems import GIVE_WEIGHTS, weights_must_be
from gml.errors import DataError, UsageError, counted, listing, unknown_name
from gml.synonyms import AnswersSynonyms

if TYPE_CHECKING:
    import pandas as pd

MAX_LEVELS = 65535
"""The most levels of a column: codes take at most two bytes, and one code means missing. Words and
identifiers, of which nothing is counted, may be more, and then take four."""

# Rows of which masks are made at a time.
_BLOCK_ROWS = 1 << 16


@dataclass(frozen=True)
class Variable:
    """A column's name and its levels in order; `levels` None means continuous.

    Examples
    --------
    >>> Variable("size", ("small", "large")).is_continuous, Variable("age", None).is_continuous
    (False, True)
    """

    name: str
    levels: tuple[str, ...] | None

    @property
    def is_continuous(self) -> bool:
        """Whether the column holds numbers rather than labels."""
        return self.levels is None


def code_type(n_levels: int) -> type[np.uint8] | type[np.uint16] | type[np.uint32]:
    """Return the narrowest type that holds codes of `n_levels` levels and one for missing."""
    if n_levels <= 255:
        return np.uint8
    return np.uint16 if n_levels <= MAX_LEVELS else np.uint32


def missing_code(codes: NDArray[Any]) -> int:
    """Return the code that means missing in a column of codes."""
    return int(np.iinfo(codes.dtype).max)


def missing_mask(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which cells of a column are missing."""
    mask: NDArray[np.bool_]
    mask = np.isnan(column) if column.dtype.kind == "f" else column == missing_code(column)
    return mask


def empty_rows(columns: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """The numbers of the rows in which every column is missing.

    Examples
    --------
    >>> empty_rows([np.array([0, 255, 255], dtype=np.uint8), np.array([1.5, np.nan, 2.5])])
    array([1])
    """
    if not columns or not all(map(has_missing, columns)):
        return np.empty(0, dtype=np.int64)
    found = []
    for start in range(0, len(columns[0]), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        found.append(
            start
            + np.flatnonzero(np.logical_and.reduce([missing_mask(one[part]) for one in columns]))
        )
    return np.concatenate(found)


def has_missing(column: NDArray[Any]) -> bool:
    """Whether a cell of a column is missing; takes no memory."""
    if len(column) == 0:
        return False
    if column.dtype.kind == "f":
        return bool(np.isnan(column.min()))
    return int(column.max()) == missing_code(column)


def is_constant(numbers: NDArray[np.float64]) -> bool:
    """Whether a column of numbers has one value in all cells that are not missing."""
    return bool(np.fmax.reduce(numbers, initial=-np.inf) == np.fmin.reduce(numbers, initial=np.inf))


@dataclass(frozen=True)
class Origin:
    """The table as it was read, before missing values were treated and numbers cut.

    `n` counts rows, and `missing` the missing cells of columns that have some, both weighted (in
    units); `cuts` has the cut points of columns that were cut. What is known of single values goes
    when rows are chosen, the rest stays.
    """

    n: int
    missing: Mapping[str, int]
    cuts: Mapping[str, tuple[float, ...]]
    policy: str = "error"
    """What became of missing values: error, drop, level or available."""
    numbers: Mapping[str, NumberValues] = field(default_factory=dict)
    """The numbers of columns that were cut or put into intervals; of whole rows only."""
    na: tuple[str, ...] | None = None
    """The tokens that meant missing, if that is known."""
    decimal: str = "."
    """The decimal mark of numbers among the labels."""
    by_rule: tuple[str, ...] = ()
    """The columns that are numeric by their values alone."""
    dialect: Mapping[str, Any] = field(default_factory=dict)
    """How the table was read, as far as that is not the default."""
    repeats: Mapping[int, int] | None = None
    """How many different rows occur how often, numbers that were cut as they are."""

    def without_values(self) -> Origin:
        """What is known whichever rows are chosen."""
        return replace(self, numbers={}, repeats=None)


class KeptRows(NamedTuple):
    """Where rows stood in the table that they were chosen from."""

    first_line: int | None
    keep: NDArray[np.bool_]
    """For each row of that table, whether it was chosen: a byte, where numbers take eight."""
    before: int = 0
    """How many of the chosen rows come before these, which are a block of them."""

    def numbers(self) -> NDArray[np.int64]:
        """The numbers of the rows in that table; of a block, there may be more after it."""
        return np.flatnonzero(self.keep)[self.before :]


@dataclass(frozen=True, repr=False)
class Dataset(AnswersSynonyms):
    """Columns of equal length: codes of levels (uint8 or uint16) or float64, and row weights.

    A row counts `weights` times `unit` times; `unit` is 1 unless the weights are fractions.

    Examples
    --------
    >>> import gml, pandas as pd
    >>> data = gml.Dataset.from_frame(pd.DataFrame({"A": ["x", "y", "x"], "B": [1, 10, 2]}))
    >>> data.variables[1]
    Variable(name='B', levels=('1', '2', '10'))
    >>> data.columns[1]
    array([0, 2, 1], dtype=uint8)
    """

    variables: tuple[Variable, ...]
    columns: tuple[NDArray[Any], ...]
    weights: NDArray[np.int64] | None = None
    digest: str | None = None
    unit: float = 1.0
    first_line: int | None = None
    """Physical line of the first row, if every row is on a line of its own."""
    origin: Origin | None = None
    """Known for a table that was read from a file."""
    kept: KeptRows | None = None
    """Which rows these are, where others were left out."""
    _positions: dict[str, int] = field(init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        shown = listing(self.names)
        weighted = "" if self.weights is None else ", weighted"
        size = f"{counted(self.n_rows, 'row')}, {counted(len(self.columns), 'column')}"
        return f"<Dataset: {size}{weighted}: {shown}>"

    def __post_init__(self) -> None:
        for column in self.columns:
            column.flags.writeable = False
        positions = {variable.name: j for j, variable in enumerate(self.variables)}
        object.__setattr__(self, "_positions", positions)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self._positions)

    @property
    def n_rows(self) -> int:
        """Number of rows as they stand in the table."""
        if self.weights is not None:
            return len(self.weights)
        return len(self.columns[0]) if self.columns else 0

    @property
    def n(self) -> int:
        """Number of rows, weighted (in units)."""
        return self.n_rows if self.weights is None else int(self.weights.sum())

    @property
    def decimal(self) -> str:
        """The decimal mark of numbers among the labels."""
        return "." if self.origin is None else self.origin.decimal

    def in_rows(self, units: int) -> int | float:
        """Return a count in units as a number of rows, whole unless the weights are fractions."""
        return units if self.unit == 1 else units * self.unit

    def count(self, rows: NDArray[np.bool_]) -> int:
        """Return the number of rows where `rows` is true, weighted (in units)."""
        return int(np.count_nonzero(rows) if self.weights is None else self.weights[rows].sum())

    @functools.cached_property
    def missing(self) -> bool:
        """Whether a cell of a row that counts is missing."""
        return any(
            has_missing(column if self.weights is None else column[self.weights > 0])
            for column in self.columns
        )

    def index(self, name: str) -> int:
        """Return the position of a column."""
        try:
            return self._positions[name]
        except KeyError:
            raise UsageError(unknown_name("column", name, self.names)) from None

    def select(self, names: Iterable[str]) -> Dataset:
        """Return the dataset of the named columns, in that order."""
        chosen = [self.index(name) for name in names]
        origin = self.origin
        if origin is not None and set(chosen) != set(range(len(self.variables))):
            origin = replace(origin, repeats=None)
        return replace(
            self,
            variables=tuple(self.variables[j] for j in chosen),
            columns=tuple(self.columns[j] for j in chosen),
            origin=origin,
        )

    def rows(self, keep: NDArray[np.bool_]) -> Dataset:
        """Return the dataset of the rows where `keep` is true."""
        return replace(
            self,
            columns=tuple(column[keep] for column in self.columns),
            weights=None if self.weights is None else self.weights[keep],
            first_line=None,
            origin=None if self.origin is None else self.origin.without_values(),
            kept=self.kept_by(keep),
        )

    def kept_by(self, keep: NDArray[np.bool_]) -> KeptRows:
        """Where the rows for which `keep` is true stood in the table as it was read."""
        if self.kept is None:
            return KeptRows(self.first_line, keep)
        still = np.zeros_like(self.kept.keep)
        still[self.kept.numbers()[: len(keep)][keep]] = True
        return KeptRows(self.kept.first_line, still)

    def standing(self) -> tuple[NDArray[np.signedinteger[Any]], int]:
        """Where these rows stood in the table that they were chosen from, and its size."""
        if self.kept is None:
            return np.arange(self.n_rows), self.n_rows
        return self.kept.numbers()[: self.n_rows], len(self.kept.keep)

    def name_of_row(self, row: int) -> str:
        """How a message names a row: by its line where that is known, else by its number.

        Both are those in the table as it was read, whatever rows were left out since.

        Examples
        --------
        >>> import gml
        >>> table = gml.read("sample_data/survey_missing.csv", missing="available")
        >>> table.name_of_row(0), table.rows(np.arange(table.n_rows) > 4).name_of_row(0)
        ('line 2', 'line 7')
        """
        first, number = self.first_line, row
        if self.kept is not None:
            first, number = self.kept.first_line, int(self.kept.numbers()[row])
        return f"data row {number + 1}" if first is None else f"line {first + number}"

    def blocks(self, n_rows: int = _BLOCK_ROWS) -> Iterator[Dataset]:
        """Yield the dataset in blocks of rows, without copying."""
        for start in range(0, self.n_rows, n_rows):
            part = slice(start, start + n_rows)
            yield replace(
                self,
                columns=tuple(column[part] for column in self.columns),
                weights=None if self.weights is None else self.weights[part],
                first_line=None if self.first_line is None else self.first_line + start,
                kept=None
                if self.kept is None
                else self.kept._replace(before=self.kept.before + start),
            )

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame of categorical (and float) columns; weights are left out."""
        import pandas as pd

        content = {}
        for variable, column in zip(self.variables, self.columns, strict=True):
            if variable.levels is None:
                content[variable.name] = pd.Series(column.copy())
                continue
            codes = np.where(missing_mask(column), -1, column.astype(np.int64))
            content[variable.name] = pd.Series(
                pd.Categorical.from_codes(codes.tolist(), categories=list(variable.levels))
            )
        return pd.DataFrame(content)


def fractional_weights(
    values: NDArray[Any], where: str = "weights"
) -> tuple[NDArray[np.int64], float]:
    """Turn weights into whole multiples of a unit, as small as a sum of 62 bits allows.

    Sums of these are exact, and so do not depend on the order of rows.
    """
    numbers = np.asarray(values, dtype=np.float64)
    _refuse_missing_weights(numbers, where)
    bad = ~((numbers >= 0) & np.isfinite(numbers))
    if bad.any():
        row = int(np.argmax(bad))
        wrong = "be finite" if numbers[row] > 0 else "not be negative"
        raise DataError(f"{where}: weights must {wrong}: data row {row + 1} has {numbers[row]:g}")
    try:
        total = math.fsum(numbers)
    except OverflowError:
        raise DataError(f"{where}: the weights add up to more than 1.8e+308") from None
    if not math.isfinite(total) or 0 < total < 1e-290:
        raise DataError(f"{where}: the weights add up to {total:g}")
    bits = 61 - math.frexp(total)[1] if total else 0
    return np.rint(np.ldexp(numbers, bits)).astype(np.int64), math.ldexp(1.0, -bits)


def _refuse_missing_weights(numbers: NDArray[np.float64], where: str, first_row: int = 0) -> None:
    lacking = np.flatnonzero(np.isnan(numbers))
    if len(lacking):
        raise DataError(
            f"{where}: the weight of {counted(len(lacking), 'row')} is missing, first in data row "
            f"{first_row + lacking[0] + 1}; {GIVE_WEIGHTS}"
        )


def integer_weights(
    values: NDArray[Any], where: str = "weights", *, first_row: int = 0
) -> NDArray[np.int64]:
    """Check that weights are whole numbers, 0 or more; `first_row` counts those before them."""
    numbers = np.asarray(values, dtype=np.float64)
    _refuse_missing_weights(numbers, where, first_row)
    bad = ~((numbers >= 0) & (numbers == np.floor(numbers)) & (numbers < 2.0**53))
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"{where}: {weights_must_be(numbers[row])}: data row {first_row + row + 1} has "
            f"{numbers[row]:g}"
        )
    require_countable(numbers.sum(), where)
    return numbers.astype(np.int64)


def require_countable(total: float, where: str) -> None:
    """Refuse weights that add up to more than can be counted."""
    if total >= 2.0**53:
        raise DataError(
            f"{where}: the weights add up to 2^53 or more, which float64 cannot count exactly"
        )
