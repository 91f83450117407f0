"""The default engine: tables of a dataset in memory, by the kernel.

A batch goes to bit masks and popcounts where level counts are small, to direct counting otherwise,
to weighted distinct rows where many rows are equal, in chunks over threads without the GIL. Tables
too large to hold every possible configuration are counted over the observed ones. x and y are put
in the order of their names, and so is the conditioning set, so that the order of columns or
arguments does not reach the last bit of a statistic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import (
    Counts,
    Family,
    FamilyArray,
    Moments,
    TableSet,
    Triple,
    TripleArray,
    every_configuration,
    tables_of,
)
from gml.data.dataset import Dataset, Variable, missing_mask, require_labels
from gml.errors import UsageError, listing, quote
from gml.kernel.layout import DENSE_CELLS, FamilyRule, TableStatistics
from gml.kernel.pool import in_order
from gml.progress import reporter
from gml.resources import available_threads, default_budget, require_memory

_MASK_LEVELS = 32
_COMPRESS_SETS = 64
_COMPRESS_ROWS = 4096
_COMPRESS_SHARE = 8
_SAMPLE_ROWS = 2048
_GROUP_BLOCK = 1 << 16
_MIN_CHUNK = 16
# Families a column that make up for counting all pairs first.
_FAMILIES_A_COLUMN = 4
_TABLES_AHEAD = 256
_FIXED_POINT_BITS = 52
_MOMENT_BYTES = 40

Part = TypeVar("Part")


class MemoryCounter:
    """Counts a dataset that is in memory.

    Examples
    --------
    >>> import gml
    >>> counter = MemoryCounter(gml.read("sample_data/asia.csv", columns=("smoke", "lung")))
    >>> [counts.table.tolist() for counts in counter.tables([TableSet((0, 1))])]
    [[[[2475, 26], [2268, 231]]]]
    """

    def __init__(
        self, dataset: Dataset, *, threads: int | None = None, max_memory: int | None = None
    ) -> None:
        self.dataset = dataset
        self._threads = threads or available_threads()
        self._budget = default_budget() if max_memory is None else max_memory
        by_name = sorted(range(len(dataset.names)), key=dataset.names.__getitem__)
        self._column_of_rank = np.array(by_name, dtype=np.int32)
        self._rank_of_column = np.argsort(self._column_of_rank).astype(np.int32)
        self._plain: Any = None
        self._compressed: Any = None
        self._families_asked = 0

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The columns that can be counted."""
        return self.dataset.variables

    @property
    def n(self) -> int:
        """Rows counted with their weights."""
        return self.dataset.n

    @property
    def unit(self) -> float:
        """What one of the counts stands for; 1 unless rows have fractional weights."""
        return self.dataset.unit

    @property
    def missing(self) -> bool:
        """Whether some tables leave rows out because a value is missing."""
        return self.dataset.missing

    @property
    def digest(self) -> str | None:
        """SHA-256 of the data, if it was asked for when they were read."""
        return self.dataset.digest

    # ------------------------------------------------------------------ tables

    def tables(self, sets: Iterable[TableSet]) -> Iterator[Counts]:
        """Count a batch of tables; answers come in the order of the questions."""
        sets = list(sets)
        data = self._data(len(sets))
        largest = max((self._bytes(wanted) for wanted in sets), default=0)
        # Tables wait for the caller: as many at a time as the budget holds.
        waiting = min(_TABLES_AHEAD, self._budget // max(largest, 1))
        threads = self._threads if waiting > 1 else 1
        yield from in_order(
            lambda wanted: self._table(data, wanted), sets, threads, ahead=waiting - 1
        )

    def family_tables(self, families: Sequence[Family]) -> Iterator[NDArray[np.int64]]:
        """Count each child given its parents, a row for every configuration, seen or not."""
        data = self._data(len(families))
        for child, parents in families:
            members = [*parents, child]
            n_levels = [self._n_levels(j) for j in members]
            cells = math.prod(n_levels)
            self._require_levels(members)
            self._require(8 * cells, members)
            if cells <= DENSE_CELLS:
                yield data.count(np.array(members, dtype=np.int32)).reshape(-1, n_levels[-1])
            else:
                counts = self._table(data, TableSet((child,), tuple(parents)))
                yield every_configuration(counts, n_levels)

    def _bytes(self, wanted: TableSet) -> int:
        """Return how much a table may take: all configurations, or those that n rows can have."""
        configs = math.prod(self._n_levels(j) for j in wanted.given)
        cells = math.prod(self._n_levels(j) for j in wanted.axes)
        return 8 * cells * min(configs, max(DENSE_CELLS, self.dataset.n_rows))

    def _table(self, data: Any, wanted: TableSet) -> Counts:
        members = [*wanted.given, *wanted.axes]
        self._require_levels(members)
        given = [self._n_levels(j) for j in wanted.given]
        axes = [self._n_levels(j) for j in wanted.axes]
        cells, n_configs = math.prod(axes), math.prod(given)
        if cells * n_configs > DENSE_CELLS and wanted.given:
            return self._sparse_table(wanted, given, axes)
        self._require(8 * cells * n_configs, members)
        flat = data.count(np.array(members, dtype=np.int32))
        table = flat.reshape(n_configs, *axes)
        seen = np.flatnonzero(table.reshape(n_configs, -1).any(axis=1))
        configs = np.zeros((len(seen), 0), dtype=np.int64)
        if given:
            configs = np.column_stack(np.unravel_index(seen, given)).astype(np.int64)
        return Counts(np.ascontiguousarray(table[seen]), configs, n_configs, int(flat.sum()))

    def _sparse_table(self, wanted: TableSet, given: list[int], axes: list[int]) -> Counts:
        """Number the observed configurations one conditioning column at a time."""
        columns = [self.dataset.columns[j] for j in (*wanted.given, *wanted.axes)]
        complete = np.ones(self.dataset.n_rows, dtype=bool)
        for column in columns:
            complete &= ~missing_mask(column)
        # Configurations of weight 0 were not seen.
        weights = self.dataset.weights
        if weights is not None:
            complete &= weights > 0
        rank = np.zeros(np.count_nonzero(complete), dtype=np.int64)
        configs = np.zeros((min(1, len(rank)), 0), dtype=np.int64)
        for column, n_levels in zip(columns, given, strict=False):
            keys, rank = np.unique(rank * n_levels + column[complete], return_inverse=True)
            configs = np.column_stack([configs[keys // n_levels], keys % n_levels])
        cells = math.prod(axes)
        self._require(8 * cells * max(1, len(configs)), [*wanted.given, *wanted.axes])
        index = rank
        for column, n_levels in zip(columns[len(given) :], axes, strict=True):
            index = index * n_levels + column[complete]
        size = cells * len(configs)
        if weights is None:
            flat = np.bincount(index, minlength=size).astype(np.int64)
        else:
            flat = np.zeros(size, dtype=np.int64)
            np.add.at(flat, index, weights[complete])
        table = flat.reshape(len(configs), *axes)
        return Counts(table, configs, math.prod(given), int(flat.sum()))

    # ------------------------------------------------------------------ families

    def family_values(self, families: Sequence[Family], rule: FamilyRule) -> NDArray[np.float64]:
        """What each child is worth given its parents."""
        rule = rule._replace(unit=self.unit)

        def values(data: Any, flat: NDArray[np.int32], starts: NDArray[np.int64]) -> Any:
            return data.family_values(flat, starts, rule)

        def of_table(table: NDArray[np.int64], cells: float) -> Any:
            return kernel.active().family_value(table, cells, rule)

        return self._ask_of_families(families, values, of_table, np.empty(0))

    def family_ceilings(
        self, families: Sequence[Family], rule: FamilyRule, cell_prior: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same, and what each would be worth were every cell a configuration of its own."""
        rule = rule._replace(unit=self.unit)

        def values(data: Any, flat: NDArray[np.int32], starts: NDArray[np.int64]) -> Any:
            return data.family_ceilings(flat, starts, rule, cell_prior)

        def of_table(table: NDArray[np.int64], cells: float) -> Any:
            return kernel.active().family_ceiling(table, cells, rule, cell_prior)

        found = self._ask_of_families(families, values, of_table, np.empty((0, 2)))
        return found[:, 0], found[:, 1]

    def _ask_of_families(
        self,
        families: Sequence[Family],
        values: Callable[[Any, NDArray[np.int32], NDArray[np.int64]], Any],
        of_table: Callable[[NDArray[np.int64], float], Any],
        none: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Ask the kernel in chunks, and by table where it found that too large."""
        flat, starts = self._in_family_order(families)
        n_families = len(starts) - 1
        self._require_levels(np.flatnonzero(np.bincount(flat)).tolist())
        data = self._data(n_families)
        self._families_asked += n_families
        if self._families_asked >= _FAMILIES_A_COLUMN * len(self._rank_of_column):
            self._remember_pairs(data)

        def chunk(start: int, stop: int) -> NDArray[np.float64]:
            first, last = int(starts[start]), int(starts[stop])
            found: NDArray[np.float64] = values(
                data, flat[first:last], starts[start : stop + 1] - first
            )
            unknown = np.isnan(found.reshape(len(found), -1)[:, 0])
            for k in np.flatnonzero(unknown).tolist():
                *parents, child = flat[starts[start + k] : starts[start + k + 1]].tolist()
                counts = self._table(data, TableSet((child,), tuple(parents)))
                cells = float(counts.n_configs) * self._n_levels(child)
                found[k] = of_table(counts.table, cells)
            return found

        return np.concatenate([none, *self._in_chunks(chunk, n_families, self._threads)])

    def _in_family_order(
        self, families: Sequence[Family]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return *parents, child of each family on end, parents by their names, and the starts."""
        if isinstance(families, FamilyArray):
            rows = families.rows
            parents = self._column_of_rank[np.sort(self._rank_of_column[rows[:, 1:]], axis=1)]
            flat = np.hstack([parents, rows[:, :1]]).astype(np.int32).reshape(-1)
            return flat, np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1]
        rank = self._rank_of_column.tolist()
        sets = [[*sorted(parents, key=rank.__getitem__), child] for child, parents in families]
        flat = np.array([j for members in sets for j in members], dtype=np.int32)
        return flat, np.cumsum([0, *map(len, sets)], dtype=np.int64)

    # ------------------------------------------------------------------ statistics

    def statistics(self, triples: Sequence[Triple]) -> TableStatistics:
        """Count a batch of tests and return their statistics without handing out the tables."""
        if isinstance(triples, TripleArray):
            sizes = np.full(len(triples), triples.rows.shape[1])
            flat = self._in_name_order(triples.rows)
        else:
            sets = [[*t.given, *t.axes] for t in tables_of(self.variables, triples)]
            sizes = np.array([len(members) for members in sets], dtype=np.int64)
            flat = np.array([j for members in sets for j in members], dtype=np.int32)
        if np.all(sizes == 2):
            return self.pair_statistics(flat.reshape(-1, 2))
        self._require_levels(np.flatnonzero(np.bincount(flat)).tolist())
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        data = self._data(len(sizes))
        if len(sizes) >= self._column_of_rank.size:
            self._remember_pairs(data)

        def chunk(start: int, stop: int) -> TableStatistics:
            first, last = int(starts[start]), int(starts[stop])
            part = flat[first:last]
            found: TableStatistics = data.set_statistics(part, starts[start : stop + 1] - first)
            for k in np.flatnonzero(found.n < 0).tolist():
                members = flat[starts[start + k] : starts[start + k + 1]].tolist()
                self._fill_large(data, found, k, members)
            return found

        return TableStatistics.concatenate(self._in_chunks(chunk, len(sizes), self._threads))

    def _in_name_order(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return *Z, x, y of each row (x, y, *Z), Z and the pair each in order of their names."""
        rank = self._rank_of_column[rows]
        pair = np.sort(rank[:, :2], axis=1)
        given = np.sort(rank[:, 2:], axis=1)
        return np.ascontiguousarray(self._column_of_rank[np.hstack([given, pair])]).reshape(-1)

    def pair_statistics(self, pairs: NDArray[np.int32]) -> TableStatistics:
        """Statistics of many pairs (pairs × 2 column positions)."""
        pairs = np.asarray(pairs, dtype=np.int32).reshape(-1, 2)
        self._require_levels(np.flatnonzero(np.bincount(pairs.reshape(-1))).tolist())
        rank = self._rank_of_column
        swap = rank[pairs[:, 0]] > rank[pairs[:, 1]]
        pairs = np.where(swap[:, None], pairs[:, ::-1], pairs)
        levels = np.array([self._n_levels(j) for j in range(len(rank))], dtype=np.int64)
        threads = self._threads
        if len(pairs):
            cells = levels[pairs[:, 0]] * levels[pairs[:, 1]]
            largest = int(np.argmax(cells))
            size = 8 * int(cells[largest])
            self._require(size, pairs[largest].tolist())
            # Every thread holds a table of its own.
            threads = max(1, min(threads, self._budget // max(size, 1)))
        data = self._data(len(pairs))

        def chunk(start: int, stop: int) -> TableStatistics:
            part = np.ascontiguousarray(pairs[start:stop], dtype=np.int32)
            found: TableStatistics = data.pair_statistics(part)
            return found

        return TableStatistics.concatenate(self._in_chunks(chunk, len(pairs), threads))

    def _fill_large(self, data: Any, found: TableStatistics, k: int, members: list[int]) -> None:
        """Statistics of a table that the kernel left out for its size."""
        counts = self._table(data, TableSet(tuple(members[-2:]), tuple(members[:-2])))
        one = kernel.active().table_statistics_of(counts.table)
        found.floats[k] = one.floats[0]
        found.ints[k] = one.ints[0]
        found.seen_z[k] = math.prod(float(len(set(column.tolist()))) for column in counts.configs.T)

    def _in_chunks(self, chunk: Callable[[int, int], Part], size: int, threads: int) -> list[Part]:
        # Neighbouring tables are counted together, so that a chunk is no smaller than it must be.
        step = 2048 if threads == 1 else max(_MIN_CHUNK, min(2048, -(-size // (4 * threads))))
        bounds = [(start, min(start + step, size)) for start in range(0, size, step)]
        parts = []
        for part in in_order(lambda bound: chunk(*bound), bounds, threads):
            parts.append(part)
            reporter().advance("counting", bounds[len(parts) - 1][1], size)
        return parts

    # ------------------------------------------------------------------ coded data

    def _remember_pairs(self, data: Any) -> None:
        """Keep the tables of all pairs, if a quarter of the budget holds them."""
        n_levels = sum(self._n_levels(j) for j in range(len(self.variables)))
        if 4 * n_levels**2 <= self._budget // 4:
            data.remember_pairs()

    def _n_levels(self, j: int) -> int:
        # A column whose every cell is missing has no level; one empty level keeps shapes simple.
        return max(1, len(self.variables[j].levels or ()))

    def _require_levels(self, members: Iterable[int]) -> None:
        require_labels(self.variables[j] for j in members)

    def _require(self, n_bytes: int, members: Sequence[int]) -> None:
        if n_bytes > self._budget:
            names = ", ".join(quote(self.variables[j].name) for j in members)
            require_memory(n_bytes, self._budget, f"the table of {names}")

    def _data(self, n_sets: int) -> Any:
        """Return the rows as the kernel wants them: distinct ones if that pays for the batch."""
        if self._compressed is None and (
            n_sets >= _COMPRESS_SETS and self.dataset.n_rows >= _COMPRESS_ROWS
        ):
            self._compressed = self._compress() or False
        if self._compressed:
            return self._compressed
        if self._plain is None:
            self._plain = self._coded(list(self.dataset.columns), self.dataset.weights)
        return self._plain

    def _coded(self, columns: list[NDArray[Any]], weights: NDArray[np.int64] | None) -> Any:
        columns = [
            np.empty(len(column), dtype=np.uint8) if column.dtype.kind == "f" else column
            for column in columns
        ]
        n_levels = [self._n_levels(j) for j in range(len(columns))]
        masked = sum(levels for levels in n_levels if levels <= _MASK_LEVELS)
        mask_bytes = masked * self.dataset.n_rows // 8
        mask_levels = _MASK_LEVELS if mask_bytes < self._budget // 2 else 0
        return kernel.active().CodedData(
            [np.ascontiguousarray(column) for column in columns], n_levels, weights, mask_levels
        )

    def _compress(self) -> Any:
        """Return the distinct rows with their weights, or None where most rows differ."""
        columns = [column for column in self.dataset.columns if column.dtype.kind != "f"]
        if len(columns) != len(self.dataset.columns):
            return None
        n = self.dataset.n_rows
        step = max(1, n // _SAMPLE_ROWS)
        sample = _row_bytes([column[::step] for column in columns])
        group_rows = kernel.active().group_rows
        if group_rows(sample, len(sample) // _COMPRESS_SHARE) is None:
            return None
        chosen: list[NDArray[np.int64]] = []
        counts: list[NDArray[np.int64]] = []
        weights = self.dataset.weights
        for start in range(0, n, _GROUP_BLOCK):
            stop = min(start + _GROUP_BLOCK, n)
            found = group_rows(_row_bytes([c[start:stop] for c in columns]), stop - start)
            assert found is not None
            chosen.append(found[1] + start)
            counts.append(
                _group_sums(
                    found[0], len(found[1]), None if weights is None else weights[start:stop]
                )
            )
        firsts, total = np.concatenate(chosen), np.concatenate(counts)
        found = group_rows(_row_bytes([c[firsts] for c in columns]), n // _COMPRESS_SHARE)
        if found is None:
            return None
        merged = firsts[found[1]]
        return self._coded([c[merged] for c in columns], _group_sums(found[0], len(merged), total))

    # ------------------------------------------------------------------ moments

    def moments(self, columns: Sequence[int]) -> Moments:
        """Moments of numeric columns over the rows complete in all of them."""
        labels = [self.variables[j].name for j in columns if not self.variables[j].is_continuous]
        if labels:
            raise UsageError(f"{listing(labels)} has labels, not numbers")
        # Cross-products are integers of more than 64 bits.
        require_memory(
            _MOMENT_BYTES * len(columns) ** 2,
            self._budget,
            f"the moments of {len(columns)} columns",
        )
        complete = np.ones(self.dataset.n_rows, dtype=bool)
        for j in columns:
            complete &= ~missing_mask(self.dataset.columns[j])
        weights = self.dataset.weights
        if weights is not None:
            complete &= weights > 0
            weights = np.ascontiguousarray(weights[complete])
        n = int(np.count_nonzero(complete)) if weights is None else int(weights.sum())
        fixed = [_fixed_point(self.dataset.columns[j][complete]) for j in columns]
        dot = kernel.active().exact_dot
        one = np.ones(int(np.count_nonzero(complete)), dtype=np.int64)
        sums = [dot(q, one, weights) for q, _, _ in fixed]
        cross = [[0] * len(fixed) for _ in fixed]
        for i, (q, _, _) in enumerate(fixed):
            for k in range(i, len(fixed)):
                value = n * dot(q, fixed[k][0], weights) - sums[i] * sums[k]
                cross[i][k] = cross[k][i] = value
        means = tuple(
            centre + math.ldexp(total / n, -scale) if n else math.nan
            for total, (_, centre, scale) in zip(sums, fixed, strict=True)
        )
        scales = tuple(scale for _, _, scale in fixed)
        return Moments(n, means, tuple(tuple(row) for row in cross), scales)


def _fixed_point(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], float, int]:
    """Integers q with values ≈ centre + q·2^-scale, to 52 bits of the range."""
    if len(values) == 0:
        return np.empty(0, dtype=np.int64), 0.0, 0
    low, high = float(values.min()), float(values.max())
    centre = low / 2 + high / 2
    spread = max(high - centre, centre - low)
    scale = _FIXED_POINT_BITS - math.frexp(spread)[1] if spread else 0
    return np.rint(np.ldexp(values - centre, scale)).astype(np.int64), centre, scale


def _row_bytes(columns: Sequence[NDArray[Any]]) -> NDArray[np.uint8]:
    """Rows as bytes, one row after the other."""
    width = sum(column.dtype.itemsize for column in columns)
    rows = np.empty((len(columns[0]) if columns else 0, width), dtype=np.uint8)
    at = 0
    for column in columns:
        size = column.dtype.itemsize
        rows[:, at : at + size] = np.ascontiguousarray(column).view(np.uint8).reshape(-1, size)
        at += size
    return rows


def _group_sums(
    group: NDArray[np.int32], n_groups: int, weights: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    if weights is None:
        return np.bincount(group, minlength=n_groups).astype(np.int64)
    sums = np.zeros(n_groups, dtype=np.int64)
    np.add.at(sums, group, weights)
    return sums
