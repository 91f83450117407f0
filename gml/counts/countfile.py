"""Count files: the tables of some sets of columns, which can be added up and need no rows.

Tables hold only their non-empty cells. A file knows where levels come from and with which options
they were counted, so that `merging` can tell what may be added up; `count_parquet` writes and reads
them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, TableSet
from gml.data.column_kinds import require_labels
from gml.data.dataset import Dataset, missing_mask
from gml.data.resampling import sorted_equal_rows
from gml.errors import CannotAnswer, UsageError, counted, listing, unknown_name
from gml.kernel.layout import DENSE_CELLS
from gml.progress import reporter
from gml.resources import budget_in_force, require_memory

MOST_ROWS = 1 << 53
"""The most rows that can be counted, so that counts are exact as floating-point numbers."""

SET_BYTES = 1000
"""Bytes that a set takes at least while it is counted, mostly names and numbers; measured."""

FROM_DATA, DECLARED, CUT = "data", "declared", "cut"
"""Where levels come from: the labels of the data, a declaration, or intervals chosen from them."""


@dataclass(frozen=True)
class CountedColumn:
    """A column: its levels, where they come from, and whether the last means missing."""

    name: str
    levels: tuple[str, ...]
    source: str = FROM_DATA
    na: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """The levels without the one that means missing."""
        return self.levels[:-1] if self.na else self.levels


@dataclass(frozen=True)
class CountOptions:
    """The options of the reader that matter for adding files up."""

    missing: str = "error"
    decimal: str = "."
    na: tuple[str, ...] = ()
    weights: str | None = None
    bins: int | None = None


@dataclass(frozen=True, eq=False)
class CountFile:
    """The tables of some sets of columns, without empty cells.

    `sets` holds positions of columns, in the order of their names. `codes` holds the levels of the
    cells of all sets end to end, one per column of the set; `counts` one number per cell; set k has
    the cells from `starts[k]` to `starts[k + 1]`. `dropped` rows are not among the `n` rows
    counted, because values were missing; `data` lists the SHA-256 of what was counted; `missing`
    has the missing cells of columns that had some, dropped rows included.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> counts = count_sets(counter, [("smoke", "lung"), ("asia",)])
    >>> for codes, count in zip(*counts.cells(1)):
    ...     print(codes, count)
    [0 0] 2475
    [0 1] 2268
    [1 0] 26
    [1 1] 231
    """

    columns: tuple[CountedColumn, ...]
    options: CountOptions
    n: int
    sets: tuple[tuple[int, ...], ...]
    codes: NDArray[np.uint16]
    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    dropped: int = 0
    data: tuple[str, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"CountFile({counted(self.n, 'row')}, {counted(len(self.sets), 'table')} of "
            f"{counted(len(self.columns), 'column')}, {counted(len(self.counts), 'cell')})"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    @functools.cached_property
    def code_starts(self) -> NDArray[np.int64]:
        """Where the codes of each set begin."""
        widths = np.array([len(members) for members in self.sets], dtype=np.int64)
        return np.concatenate([[0], np.cumsum(widths * np.diff(self.starts))])

    def names_of(self, k: int) -> tuple[str, ...]:
        """The names of the columns of a set."""
        return tuple(self.columns[j].name for j in self.sets[k])

    def cells(self, k: int) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
        """The non-empty cells of a set: one row of codes per cell, and its count."""
        codes = self.codes[self.code_starts[k] : self.code_starts[k + 1]]
        counts = self.counts[self.starts[k] : self.starts[k + 1]]
        return codes.reshape(len(counts), len(self.sets[k])), counts

    @functools.cached_property
    def rows(self) -> NDArray[np.int64]:
        """Rows counted in each set; fewer than `n` where values are missing."""
        sums = np.concatenate([[0], np.cumsum(self.counts)])
        rows: NDArray[np.int64] = np.diff(sums[self.starts])
        return rows


# ---------------------------------------------------------------------- counting


def count_sets(
    counter: Counter,
    sets: Iterable[Sequence[str]],
    *,
    options: CountOptions | None = None,
    columns: Mapping[str, CountedColumn] | None = None,
    dropped: int = 0,
    missing: Mapping[str, int] | None = None,
    max_memory: int | None = None,
) -> CountFile:
    """Count sets of columns; what `columns` says beyond their levels is for merging.

    `missing` has the missing cells of columns, by default those that the engine knows of.

    Where `missing` is "available", each column is also counted on its own, as no other table has
    the same rows.
    """
    if counter.unit != 1:
        raise UsageError("count files hold whole rows, so fractional weights cannot be counted")
    if counter.n >= MOST_ROWS:
        raise CannotAnswer(f"{counter.n} rows are more than a count file can hold")
    require_labels(counter.variables)
    if options is None:
        options = CountOptions(missing="available" if counter.missing else "error")
    names = [variable.name for variable in counter.variables]
    wanted = _positions(names, sets)
    if options.missing == "available":
        wanted |= {frozenset([j]) for members in wanted for j in members}
    rank = counter.order.rank
    by_name = [counter.order.sorted(members) for members in wanted]
    ordered = sorted(by_name, key=lambda members: _place(members, rank))
    known = columns or {}
    budget = budget_in_force(max_memory)
    parts, starts, taken = [], [0], 0
    for members, (codes, counts) in zip(ordered, _cells(counter, ordered, budget), strict=True):
        taken += codes.nbytes + counts.nbytes
        # Twice: once for the parts, once for the whole.
        if 2 * taken > budget:
            last = listing(names[j] for j in members)
            require_memory(2 * taken, budget, f"the tables up to {last}")
        parts.append((codes.reshape(-1), counts))
        starts.append(starts[-1] + len(counts))
        reporter().advance("counting", len(parts), len(ordered))
    if missing is None:
        treated = counter.missing_treatment
        missing = {} if treated is None else treated.cells
    return CountFile(
        tuple(known.get(v.name, CountedColumn(v.name, v.levels or ())) for v in counter.variables),
        options,
        counter.n,
        tuple(ordered),
        np.concatenate([np.empty(0, dtype=np.uint16), *(codes for codes, _ in parts)]),
        np.concatenate([np.empty(0, dtype=np.int64), *(counts for _, counts in parts)]),
        np.array(starts, dtype=np.int64),
        dropped,
        () if counter.digest is None else (counter.digest,),
        dict(missing),
    )


def _place(members: Sequence[int], rank: Sequence[int]) -> int:
    """A number by which sets are in order: the smaller first, then by the ranks of their members.

    One number, as comparing lists of many sets would keep an interrupt waiting.
    """
    place = len(members)
    for j in members:
        place = place * len(rank) + rank[j]
    return place


def _positions(names: Sequence[str], sets: Iterable[Sequence[str]]) -> set[frozenset[int]]:
    position = {name: j for j, name in enumerate(names)}
    wanted = set()
    for members in sets:
        for name in members:
            if name not in position:
                raise UsageError(unknown_name("column", name, names))
        wanted.add(frozenset(position[name] for name in members))
    return wanted


def _names(dataset: Dataset, members: Iterable[int]) -> list[str]:
    return [dataset.names[j] for j in members]


def _cells(
    counter: Counter, sets: Sequence[tuple[int, ...]], budget: int
) -> Iterator[tuple[NDArray[np.uint16], NDArray[np.int64]]]:
    """Yield the non-empty cells of each set, in order of their codes."""
    rows = None if counter.pass_rows else counter.rows()
    # Small tables are counted with all their cells; for large ones the rows are sorted.
    small = [
        rows is None or _product(counter.n_levels[j] for j in members) <= DENSE_CELLS
        for members in sets
    ]
    tables = counter.tables(
        TableSet(members[-1:], members[:-1])
        for members, is_small in zip(sets, small, strict=True)
        if is_small
    )
    for members, is_small in zip(sets, small, strict=True):
        if rows is not None and not is_small:
            yield _distinct_cells(rows, members, budget)
            continue
        found = next(tables)
        config, last = np.nonzero(found.table)
        codes = np.column_stack([found.configs[config], last]).astype(np.uint16)
        yield codes, found.table[config, last]


def _product(sizes: Iterable[int]) -> int:
    """The number of cells; sizes are at least 1."""
    product = 1
    for size in sizes:
        product *= size
        if product > DENSE_CELLS:
            break
    return product


def _distinct_cells(
    dataset: Dataset, members: tuple[int, ...], budget: int
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    chosen = dataset.select(_names(dataset, members))
    width = sum(column.dtype.itemsize for column in chosen.columns)
    require_memory(
        dataset.n_rows * (4 * width + 32), budget, f"counting {listing(_names(dataset, members))}"
    )
    complete = np.ones(chosen.n_rows, dtype=bool)
    for column in chosen.columns:
        complete &= ~missing_mask(column)
    if not complete.all():
        chosen = chosen.rows(complete)
    rows, counts = sorted_equal_rows(chosen)
    codes = np.column_stack([column[rows] for column in chosen.columns]).astype(np.uint16)
    return codes, counts
