"""Count files: the tables of some sets of columns, which can be added up and need no rows.

Tables hold only their non-empty cells. A set of columns with numbers has a table of its labels (one
cell, without any), and in each cell the exact sums of its numbers (`gml.counts.cell_sums`). A file
knows of which kind columns are, where levels come from and with which options they were counted, so
that `merging` can tell what may be added up; `count_parquet` writes and reads them.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gml.counts.cell_sums import CellSums, KeyedSums, SumsInCells, bytes_of_cells
from gml.counts.chunked_rows import chunked_rows
from gml.counts.counter import Counter, TableSet
from gml.counts.packed_keys import PackedKeys
from gml.data.dataset import Dataset, Variable, missing_mask
from gml.data.resampling import sorted_equal_rows
from gml.data.schema import NOMINAL, NUMERIC
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

RULE = "rule"
"""How the kind of a column was settled where nothing declares it."""


@dataclass(frozen=True)
class CountedColumn:
    """A column: its levels, where they come from, and whether the last means missing.

    `type` is its kind as in a schema, and `settled` says how that came to be: "declared" or "rule".
    A column of numbers has no levels.
    """

    name: str
    levels: tuple[str, ...]
    source: str = FROM_DATA
    na: bool = False
    type: str = NOMINAL
    settled: str = DECLARED

    @property
    def is_numeric(self) -> bool:
        """Whether the column holds numbers."""
        return self.type == NUMERIC

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

    `sets` holds positions of columns, in the order of their names; `axes` those of labels. `codes`
    holds the levels of the cells of all sets end to end, one per axis of the set; `counts` one
    number per cell; set k has the cells from `starts[k]` to `starts[k + 1]`, and `sums[k]` those of
    its columns of numbers, if it has any. `dropped` rows are not among the `n` rows
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
    sums: Mapping[int, CellSums] = field(default_factory=dict)

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
    def axes(self) -> tuple[tuple[int, ...], ...]:
        """The columns of labels of each set."""
        numeric = {j for j, column in enumerate(self.columns) if column.is_numeric}
        if not numeric:
            return self.sets
        return tuple(tuple(j for j in members if j not in numeric) for members in self.sets)

    def numbers(self, k: int) -> tuple[int, ...]:
        """The columns of numbers of a set."""
        return tuple(j for j in self.sets[k] if self.columns[j].is_numeric)

    def without_extremes(self) -> CountFile:
        """The same without any number of a single row."""
        sums = {k: of_set.without_extremes() for k, of_set in self.sums.items()}
        return replace(self, sums=sums) if sums else self

    @functools.cached_property
    def code_starts(self) -> NDArray[np.int64]:
        """Where the codes of each set begin."""
        widths = np.array([len(axes) for axes in self.axes], dtype=np.int64)
        return np.concatenate([[0], np.cumsum(widths * np.diff(self.starts))])

    def names_of(self, k: int) -> tuple[str, ...]:
        """The names of the columns of a set."""
        return tuple(self.columns[j].name for j in self.sets[k])

    def cells(self, k: int) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
        """The non-empty cells of a set: one row of codes of labels per cell, and its count."""
        codes = self.codes[self.code_starts[k] : self.code_starts[k + 1]]
        counts = self.counts[self.starts[k] : self.starts[k + 1]]
        return codes.reshape(len(counts), len(self.axes[k])), counts

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
    if options is None:
        options = CountOptions(missing="available" if counter.missing else "error")
    variables = counter.variables
    wanted = _positions([variable.name for variable in variables], sets)
    if options.missing == "available":
        wanted |= {frozenset([j]) for members in wanted for j in members}
    rank = counter.order.rank
    by_name = [counter.order.sorted(members) for members in wanted]
    ordered = sorted(by_name, key=lambda members: _place(members, rank))
    known = columns or {}
    budget = budget_in_force(max_memory)
    numbers = frozenset(j for j, variable in enumerate(variables) if variable.is_continuous)
    in_cells = iter(_sums(counter, [s for s in ordered if numbers & set(s)], numbers, budget))
    tables = _cells(counter, [s for s in ordered if not numbers & set(s)], budget)
    parts, starts, sums, taken = [], [0], {}, 0
    for k, members in enumerate(ordered):
        if numbers & set(members):
            found = next(in_cells)
            axes = PackedKeys([counter.n_levels[j] for j in members if j not in numbers])
            codes, counts = axes.codes(found.keys).astype(np.uint16), found.counts
            sums[k] = found.numbers
        else:
            codes, counts = next(tables)
        taken += codes.nbytes + counts.nbytes
        # Twice: once for the parts, once for the whole.
        if 2 * taken > budget:
            last = listing(variables[j].name for j in members)
            require_memory(2 * taken, budget, f"the tables up to {last}")
        parts.append((codes.reshape(-1), counts))
        starts.append(starts[-1] + len(counts))
        reporter().advance("counting", len(parts), len(ordered))
    if missing is None:
        treated = counter.missing_treatment
        missing = {} if treated is None else treated.cells
    return CountFile(
        tuple(known.get(v.name) or _column_of(v) for v in variables),
        options,
        counter.n,
        tuple(ordered),
        np.concatenate([np.empty(0, dtype=np.uint16), *(codes for codes, _ in parts)]),
        np.concatenate([np.empty(0, dtype=np.int64), *(counts for _, counts in parts)]),
        np.array(starts, dtype=np.int64),
        dropped,
        () if counter.digest is None else (counter.digest,),
        dict(missing),
        sums,
    )


def _column_of(variable: Variable) -> CountedColumn:
    """What is known of a column of an engine."""
    kind = NUMERIC if variable.is_continuous else NOMINAL
    return CountedColumn(variable.name, variable.levels or (), type=kind)


def _sums(
    counter: Counter, sets: Sequence[tuple[int, ...]], numbers: Collection[int], budget: int
) -> list[KeyedSums]:
    """Add up the numbers of sets that have some, in the cells of their labels."""
    if not sets:
        return []
    rows = chunked_rows(counter)
    if rows is None:
        raise CannotAnswer(f"{counter.where}: sums of numbers need rows")
    names = [variable.name for variable in counter.variables]
    split = [
        (
            tuple(j for j in members if j not in numbers),
            tuple(names[j] for j in members if j in numbers),
        )
        for members in sets
    ]
    # How many cells there are is known before anything is added up in them.
    axes = sorted({axes for axes, _ in split if axes})
    n_cells = {(): 1} | {
        of: len(counts) for of, (_, counts) in zip(axes, _cells(counter, axes, budget), strict=True)
    }
    taken = 0
    for of, columns in split:
        taken += bytes_of_cells(n_cells[of], len(columns))
        what = listing([*(names[j] for j in of), *columns])
        require_memory(taken, budget, f"the sums of numbers up to those of {what}")
    work = SumsInCells([(tuple(names[j] for j in of), columns) for of, columns in split])
    used = {j for members in sets for j in members}
    return rows.over([name for j, name in enumerate(names) if j in used], work)


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
