"""The types that the compiled kernel and its reference exchange with the rooms above."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

BLOCK_BYTES = 1 << 20
"""Bytes requested from a source at a time."""

READ_AHEAD = 64
"""Bytes that must be readable behind each block of a CSV file (csv_reader.h)."""

DENSE_CELLS = 1 << 16
"""The largest table that is always counted with one cell per possible configuration."""

MOST_AXES = 62
"""Of a table (elimination.c); with two levels each, it has more cells than any machine."""

FLOAT_LIMBS = 69
"""Limbs of 32 bits of a sum of doubles without rounding (float_sums.h)."""

FLOAT_SUM_WORDS = FLOAT_LIMBS + 3
"""The limbs, and how often ∞, −∞ and NaN were there."""

# What a column of a CSV file becomes (csv_reader.h).
SKIP, CODES8, CODES16, NUMBERS, OVERFLOW, CODES32 = range(6)

# What can be wrong with a CSV file (csv_reader.h).
(
    OK,
    RAGGED,
    BAD_UTF8,
    UNTERMINATED,
    FIELD_TOO_LONG,
    RECORD_TOO_LONG,
    UNDECLARED,
    NOT_A_NUMBER,
    NO_MEMORY,
    NOT_A_COUNT,
    TOO_MANY_ROWS,
) = range(11)
CELL_BYTES = {SKIP: 0, CODES8: 1, CODES16: 2, CODES32: 4, NUMBERS: 8, OVERFLOW: 0}


# The values of families (families.h), and what the count of a prior is for.
LIKELIHOOD, DIRICHLET, REGRET, JOINT = range(4)
OF_CELL, OF_TABLE, OF_SEEN = range(3)


class FamilyRule(NamedTuple):
    """A decomposable score: the value of a child given its parents.

    LIKELIHOOD is Σ n ln(n/nⱼ); DIRICHLET the logarithm of the marginal likelihood under a symmetric
    Dirichlet prior, whose count is for each cell, for all cells of the table, or for those of the
    configurations of the parents that occur; REGRET is Σ ln C(nⱼ, r) of the NML distribution.
    JOINT is DIRICHLET for all columns of the family taken as one variable, with its number of
    observed levels as the ceiling; no value may be missing.
    """

    kind: int
    share: int = OF_CELL
    prior: float = 0.0
    unit: float = 1.0
    """How many rows a count of 1 stands for."""


class FamilyWorth(NamedTuple):
    """The value of a family, and what it would be if every cell were a stratum of its own."""

    value: float
    ceiling: float


class FamilyWorths(NamedTuple):
    """The values of many families, and what each would be if every cell were a stratum."""

    values: NDArray[np.float64]
    ceilings: NDArray[np.float64]


class RowGroups(NamedTuple):
    """The number of the distinct row that each row is, by first appearance, and where that is."""

    of_row: NDArray[np.int32]
    firsts: NDArray[np.int64]


class GrownSets(NamedTuple):
    """Sets of variables as bits, and the best score, in units, of the subsets of each."""

    sets: NDArray[np.uint64]
    best: NDArray[np.int64]


# What an elimination step does with its variable (elimination.h).
STEP_SUM, STEP_MAX, STEP_KEEP = range(3)


NEVER = np.iinfo(np.int64).min
"""The score, in units, of an impossible set (subsets.h)."""

# How a search over orders continues (order_search.h).
SEARCH_MORE, SEARCH_DONE, SEARCH_FULL = range(3)

NO_BOUND = (1 << 64) - 1
"""More than any sum of losses, in units (order_search.h)."""

SEARCH_FAR = 1 << 57
"""The loss of a variable none of whose sets of parents fits (order_search.h)."""


class Source(Protocol):
    """Where bytes come from: a file, a pipe, a decompressor."""

    size: int | None
    """The total number of bytes, if that is known; a hint."""

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer as far as possible; 0 at the end."""


@dataclass(frozen=True)
class ColumnSpec:
    """What to make of one column."""

    kind: int
    max_levels: int = 255
    declared: tuple[str, ...] | None = None
    known: tuple[str, ...] = ()
    """Labels that are levels even where they mean missing elsewhere; others may come."""
    numbers_on_overflow: bool = False
    plain_numbers: bool = False
    """Whether 01234 is a label and no number."""
    counts: bool = False


FIELD_LIMIT, RECORD_LIMIT = 1 << 20, 1 << 26
"""The most bytes of a field and of a record."""


@dataclass(frozen=True)
class CsvDialect:
    """How the file is written."""

    delimiter: str
    decimal: str
    na: tuple[str, ...]
    field_limit: int = FIELD_LIMIT
    record_limit: int = RECORD_LIMIT
    cells_limit: int | None = None
    """Bytes that the cells of all columns may take that were read and not taken yet."""
    strip: bool = False
    """Whether blanks around a field are not part of it."""


class CsvColumn(NamedTuple):
    """Cells of one column: codes of `labels` in order of appearance, or numbers.

    A reader has one list of labels per column, to which later pieces of the file only add.
    """

    kind: int
    labels: list[str]
    cells: NDArray[Any] | None


class CsvResult(NamedTuple):
    """All columns of a CSV file, or of a piece of it."""

    n_rows: int
    columns: list[CsvColumn]
    n_lines: int
    """Physical lines of them; as many as rows iff each row is on a line of its own."""


class CsvProblem(Exception):
    """The file breaks a rule; `gml.data` turns this into a message for people."""

    def __init__(self, status: int, line: int, column: int, fields: int, value: bytes) -> None:
        super().__init__(status, line, column, fields, value)
        self.status = status
        self.line = line
        self.column = column
        self.fields = fields
        self.value = value


PAIR_BITS = 10
"""Inner and middle variables of models of pairs (pair_sums.h)."""


class PairSums(NamedTuple):
    """Sums over the states of blocks, each to be multiplied by exp of its scale (pair_sums.h)."""

    scales: NDArray[np.float64]
    moments: NDArray[np.float64]
    """Blocks × (all states, then those where each inner variable is 1) × the same of the middle."""
    by_inner: NDArray[np.float64]
    by_middle: NDArray[np.float64]
    scale: float
    """Of the sums by configuration, which are over all blocks."""


class GroupResiduals(NamedTuple):
    """A regression within groups of rows (regressions.h)."""

    log_sum: float
    """The sum over groups of rows times ln of the residual variance, divisor the rows."""
    least_pivot: float
    """The least share of a variance that is left, over columns and groups; 0: none."""
    fewest_rows: int
    """Of a group with rows; 0 without rows."""
    n_groups: int
    n_rows: int
    """Weighted."""


@dataclass(frozen=True)
class TableStatistics:
    """Statistics of many tables (x, y | Z): floats (tables × 7) and ints (tables × 8)."""

    floats: NDArray[np.float64]
    ints: NDArray[np.int64]

    @classmethod
    def zeros(cls, n: int) -> TableStatistics:
        """Room for n tables."""
        return cls(np.zeros((n, 7)), np.zeros((n, 8), dtype=np.int64))

    @classmethod
    def concatenate(cls, parts: list[TableStatistics]) -> TableStatistics:
        """The tables of all parts, in order."""
        if not parts:
            return cls.zeros(0)
        return cls(
            np.concatenate([part.floats for part in parts]),
            np.concatenate([part.ints for part in parts]),
        )

    @property
    def g(self) -> NDArray[np.float64]:
        """2 Σ O ln(O/E)."""
        return self.floats[:, 0]

    @property
    def x2(self) -> NDArray[np.float64]:
        """Σ (O−E)²/E over cells with E > 0."""
        return self.floats[:, 1]

    @property
    def v_denominator(self) -> NDArray[np.float64]:
        """Σₛ nₛ (min(rₛ, cₛ) − 1) over strata with df > 0."""
        return self.floats[:, 2]

    @property
    def n(self) -> NDArray[np.int64]:
        """Rows counted."""
        return self.ints[:, 0]

    @property
    def df_adjusted(self) -> NDArray[np.int64]:
        """Σₛ (non-empty rows − 1)(non-empty columns − 1)."""
        return self.ints[:, 1]

    @property
    def seen_x(self) -> NDArray[np.int64]:
        """Levels of x seen."""
        return self.ints[:, 2]

    @property
    def seen_y(self) -> NDArray[np.int64]:
        """Levels of y seen."""
        return self.ints[:, 3]

    @property
    def seen_strata(self) -> NDArray[np.int64]:
        """Configurations of Z seen."""
        return self.ints[:, 4]

    @property
    def cells_xyz(self) -> NDArray[np.int64]:
        """Non-empty cells of the table."""
        return self.ints[:, 5]

    @property
    def cells_xz(self) -> NDArray[np.int64]:
        """Non-empty cells of the margin of x and Z."""
        return self.ints[:, 6]

    @property
    def cells_yz(self) -> NDArray[np.int64]:
        """Non-empty cells of the margin of y and Z."""
        return self.ints[:, 7]

    @property
    def seen_z(self) -> NDArray[np.float64]:
        """∏ levels seen over the variables of Z (1 without Z); may be astronomical."""
        return self.floats[:, 3]

    @property
    def x2_mean(self) -> NDArray[np.float64]:
        """Mean of X² under independence, given the margins of every stratum."""
        return self.floats[:, 4]

    @property
    def x2_variance(self) -> NDArray[np.float64]:
        """Variance of X² under independence, given the margins of every stratum."""
        return self.floats[:, 5]

    @property
    def x2_third(self) -> NDArray[np.float64]:
        """Third central moment of the same; NaN where G serves, as it keeps its level there.

        Where neither G nor X² is clearly above its mean, or G very far, no more is found out than
        is at hand: NaN where G would serve if the margins were even; else 0 in the former case.
        """
        return self.floats[:, 6]
