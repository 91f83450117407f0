"""What a row of a sequence says: attributes by name, from the row and from its neighbours.

A row has the attribute `bias`, `first` or `last` if it is that of its sequence, and for each input
and each row within the window `column=level` of the row itself, `column[-1]=level` of the row
before, `column[+1]=level` of the next, and so on. A numeric input is one attribute at each row of
the window, whose value is the standardised number, by the mean and sd of all rows. Neighbours
beyond the ends of the sequence, and missing cells, say nothing.

Attributes are numbered in one order, whatever that of the columns of a table: the marks, then the
inputs by name, each with its rows from the first to the last of the window, and their levels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gml.data.discretize import cuts_of_levels
from gml.data.sequences import SequenceRows, codes_in_order, numbers_in_order
from gml.errors import UsageError, parameter
from gml.model.conditional.numeric_inputs import Scale, scales_of
from gml.resources import require_memory

Kind = TypeVar("Kind", bound=np.generic)

BIAS, FIRST, LAST = "bias", "first", "last"
MARKS = (BIAS, FIRST, LAST)
MOST_WINDOW = 100
"""The most rows before and after a row that it may look at."""


class RowAttributes(NamedTuple):
    """The attributes of rows in the order of their sequences: those of row t from rows[t] on.

    All have the value 1, unless there are numbers.
    """

    rows: NDArray[np.int64]
    attributes: NDArray[np.int32]
    values: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class AttributeBlock:
    """Attributes that exclude one another: the levels of a column, at a row of the window.

    A column of numbers has one, and a scale in place of levels.

    Examples
    --------
    >>> AttributeBlock("word", -1, ("the", "a")).names
    ('word[-1]=the', 'word[-1]=a')
    >>> AttributeBlock(None, 0, ("bias",)).names
    ('bias',)
    >>> AttributeBlock("heat", 1, (), Scale(20.0, 4.0)).names
    ('heat[+1] per sd',)
    """

    column: str | None
    """None for a mark, which is its own and only level."""
    offset: int
    levels: tuple[str, ...]
    scale: Scale | None = None

    @property
    def size(self) -> int:
        """The number of attributes."""
        return len(self.levels) if self.scale is None else 1

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes as people read them."""
        if self.column is None:
            return self.levels
        at = f"{self.column}[{self.offset:+d}]" if self.offset else self.column
        if self.scale is not None:
            return (f"{at} per sd",)
        return tuple(f"{at}={level}" for level in self.levels)


@dataclass(frozen=True)
class Attributes:
    """The attributes that were seen in training, in blocks."""

    blocks: tuple[AttributeBlock, ...]

    @property
    def starts(self) -> tuple[int, ...]:
        """The number of the first attribute of each block, and in the end of all of them."""
        return (0, *accumulate(block.size for block in self.blocks))

    def __len__(self) -> int:
        return self.starts[-1]

    def names(self) -> Iterator[str]:
        """The attributes as people read them, in order."""
        for block in self.blocks:
            yield from block.names

    @cached_property
    def input_levels(self) -> Mapping[str, tuple[str, ...]]:
        """The levels of each input that training saw in the row itself, where it saw any."""
        return {
            block.column: block.levels
            for block in self.blocks
            if block.column is not None and block.offset == 0 and block.scale is None
        }

    @cached_property
    def scales(self) -> Mapping[str, Scale]:
        """The mean and sd of each numeric input."""
        return {
            block.column: block.scale
            for block in self.blocks
            if block.column is not None and block.scale is not None
        }

    @property
    def are_numbers(self) -> NDArray[np.bool_]:
        """Which attributes are of numeric inputs."""
        return np.repeat(
            [block.scale is not None for block in self.blocks],
            [block.size for block in self.blocks],
        )

    @cached_property
    def interval_levels(self) -> Mapping[str, tuple[str, ...]]:
        """The levels of inputs that are intervals, into which numbers of new rows are put."""
        return {
            name: levels
            for name, levels in self.input_levels.items()
            if cuts_of_levels(levels) is not None
        }

    @classmethod
    def seen_in(
        cls, rows: SequenceRows, window: int, scales: Mapping[str, Scale] | None = None
    ) -> Attributes:
        """Return the attributes of rows; numbers are standardised by these rows, or by `scales`."""
        require_window(window)
        scales = scales_of(rows.inputs, rows.inputs.names) if scales is None else scales
        blocks = [AttributeBlock(None, 0, (mark,)) for mark in MARKS]
        ends = _Ends(rows.starts)
        for variable in sorted(rows.inputs.variables, key=lambda variable: variable.name):
            if variable.is_continuous:
                blocks += [
                    AttributeBlock(variable.name, offset, (), scales[variable.name])
                    for offset in range(-window, window + 1)
                ]
                continue
            codes = codes_in_order(rows, variable.name)
            levels = variable.levels or ()
            for offset in range(-window, window + 1):
                seen = np.zeros(len(levels) + 1, dtype=np.bool_)
                seen[ends.shifted(codes, offset)] = True
                found = tuple(levels[k] for k in np.flatnonzero(seen[:-1]))
                if found:
                    blocks.append(AttributeBlock(variable.name, offset, found))
        return cls(tuple(blocks))

    def of_rows(self, rows: SequenceRows) -> RowAttributes:
        """Return the attributes of rows; those that training did not see are left out."""
        _require_room(rows.n_rows, len(self.blocks), has_numbers=bool(self.scales))
        ends = _Ends(rows.starts)
        found = np.full((rows.n_rows, len(self.blocks)), -1, dtype=np.int32)
        values = np.ones(found.shape) if self.scales else None
        codes: dict[str, NDArray[np.int64]] = {}
        numbers = {
            name: scale.standardised(numbers_in_order(rows, name))
            for name, scale in self.scales.items()
        }
        for k, (block, start) in enumerate(zip(self.blocks, self.starts[:-1], strict=True)):
            if block.column is None:
                found[ends.marked(block.levels[0]), k] = start
                continue
            if values is not None and block.scale is not None:
                values[:, k] = ends.shifted(numbers[block.column], block.offset, np.nan)
                found[~np.isnan(values[:, k]), k] = start
                continue
            if block.column not in codes:
                codes[block.column] = codes_in_order(rows, block.column)
            number = {level: start + i for i, level in enumerate(block.levels)}
            levels = rows.inputs.variables[rows.inputs.index(block.column)].levels or ()
            lookup = np.array([*(number.get(level, -1) for level in levels), -1], dtype=np.int32)
            found[:, k] = lookup[ends.shifted(codes[block.column], block.offset)]
        present = found >= 0
        counts = present.sum(axis=1, dtype=np.int64)
        return RowAttributes(
            np.concatenate([[0], np.cumsum(counts)]),
            found[present],
            None if values is None else values[present],
        )

    def unseen(self, rows: SequenceRows) -> dict[str, int]:
        """How many cells of each input have a level that training did not see in the row itself."""
        found: dict[str, int] = {}
        for block in self.blocks:
            if block.column is None or block.offset or block.scale is not None:
                continue
            levels = rows.inputs.variables[rows.inputs.index(block.column)].levels or ()
            known = set(block.levels)
            is_new = np.array([*(level not in known for level in levels), False])
            number = int(np.count_nonzero(is_new[codes_in_order(rows, block.column)]))
            if number:
                found[block.column] = number
        return found


def require_window(window: int) -> None:
    """Refuse a window that is none."""
    if not isinstance(window, int) or not 0 <= window <= MOST_WINDOW:
        raise UsageError(
            f"{parameter('window')} must be between 0 and {MOST_WINDOW}, not {window!r}"
        )


def _require_room(n_rows: int, n_blocks: int, *, has_numbers: bool) -> None:
    # The table of attributes, which of its cells are there, and these end to end; values likewise.
    n_bytes = 25 if has_numbers else 9
    require_memory(n_bytes * n_rows * n_blocks, None, f"the attributes of {n_rows} rows")


class _Ends:
    """Where the sequence of each row begins and ends, and its neighbours."""

    def __init__(self, starts: NDArray[np.int64] | Sequence[int]) -> None:
        sizes = np.diff(starts)
        self._first = np.repeat(np.asarray(starts)[:-1], sizes)
        self._end = np.repeat(np.asarray(starts)[1:], sizes)
        self._row = np.arange(len(self._first))

    def shifted(self, values: NDArray[Kind], offset: int, beyond: float = -1) -> NDArray[Kind]:
        """The code, or number, of the row so many rows on, and another beyond the ends."""
        at = self._row + offset
        inside = (at >= self._first) & (at < self._end)
        found = values[np.where(inside, at, 0)]
        found[~inside] = beyond
        return found

    def marked(self, mark: str) -> NDArray[np.bool_]:
        """The rows that a mark is on."""
        found = np.ones(len(self._row), dtype=np.bool_)
        if mark == FIRST:
            found = self._row == self._first
        if mark == LAST:
            found = self._row + 1 == self._end
        return found
