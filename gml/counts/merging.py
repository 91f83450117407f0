"""Count files added up: the counts of shards together are the counts of the whole.

Labels of the data are united and put in level order again; declared levels must be the same
everywhere, and so must kinds. Sums of numbers are exact, and so is what they add up to. Intervals
that were chosen from the data of a shard differ from those of the whole, so such files are refused.
"""

from __future__ import annotations

import itertools
from collections import Counter as Multiset
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from gml.counts.cell_sums import CellSums, KeyedSums, added_cells, bytes_of_cells
from gml.counts.countfile import (
    CUT,
    DECLARED,
    FROM_DATA,
    MOST_ROWS,
    RULE,
    CountedColumn,
    CountFile,
    CountOptions,
)
from gml.counts.packed_keys import PackedKeys
from gml.data.dataset import MAX_LEVELS
from gml.data.levels import NA_LEVEL, order_levels
from gml.data.resampling import sorted_equal_cells
from gml.errors import DataError, listing, parameter, quote
from gml.kernel.number import number_of
from gml.progress import reporter
from gml.resources import budget_in_force, require_memory

_FIX_CUTS = f"fix the intervals when counting: {parameter('cut')} {{}} or {parameter('levels')}"


def merge_counts(
    files: Sequence[CountFile],
    names: Sequence[str] | None = None,
    *,
    max_memory: int | None = None,
) -> CountFile:
    """Add up files that count the same sets in the same way; `names` name them in messages.

    The columns are in the order of the first file.

    Examples
    --------
    >>> import gml
    >>> from gml.counts.countfile import count_sets
    >>> data = gml.read("sample_data/asia.csv")
    >>> halves = [data.rows(np.arange(data.n) % 2 == k) for k in (0, 1)]
    >>> parts = [count_sets(gml.MemoryCounter(half), [("smoke", "lung")]) for half in halves]
    >>> merge_counts(parts).cells(0)[1].tolist()
    [2475, 2268, 26, 231]
    """
    places = [f"file {k + 1}" for k in range(len(files))] if names is None else names
    first = files[0]
    for other, place in zip(files[1:], places[1:], strict=True):
        _require_alike(first, other, f"{place} and {places[0]}")
    n = sum(file.n for file in files)
    if n >= MOST_ROWS:
        raise DataError(f"{n} rows are more than a count file can hold")
    columns = tuple(_united(name, files, places) for name in first.names)
    require_room(files, max_memory)
    recoded = [_Recoded(file, columns) for file in files]
    codes = [np.empty(0, dtype=np.uint16)]
    counts = [np.empty(0, dtype=np.int64)]
    sizes = np.zeros(len(first.sets), dtype=np.int64)
    sums: dict[int, CellSums] = {}
    for start, stop in _runs(first):
        if start in first.sums:
            packed = PackedKeys([len(columns[j].levels) for j in first.axes[start]])
            found = added_cells([file.keyed(start, packed) for file in recoded])
            sums[start], sizes[start] = found.numbers, len(found.counts)
            codes.append(packed.codes(found.keys).astype(np.uint16).reshape(-1))
            counts.append(found.counts)
            continue
        of_set, new_codes, new_counts = _added_up([file.cells(start, stop) for file in recoded])
        sizes += np.bincount(of_set, minlength=len(sizes))
        codes.append(new_codes.reshape(-1))
        counts.append(new_counts)
        reporter().advance("merging", stop, len(first.sets))
    return replace(
        first,
        columns=columns,
        n=n,
        codes=np.concatenate(codes),
        counts=np.concatenate(counts),
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        dropped=sum(file.dropped for file in files),
        data=tuple(sorted(digest for file in files for digest in file.data)),
        missing=dict(sum((Multiset(file.missing) for file in files), Multiset())),
        sums=sums,
    )


def _runs(file: CountFile) -> Iterator[tuple[int, int]]:
    """Sets of labels of one size that are next to each other, and each set with numbers alone."""
    kinds = ((len(axes), k if k in file.sums else -1) for k, axes in enumerate(file.axes))
    start = 0
    for _, run in itertools.groupby(kinds):
        stop = start + sum(1 for _ in run)
        yield start, stop
        start = stop


def require_room(files: Sequence[CountFile], max_memory: int | None = None) -> None:
    """Refuse files that cannot be added up within the budget: it takes many times their size.

    So it is worth asking before all of them have been read.
    """
    budget = budget_in_force(max_memory)
    cells = sum(len(file.counts) for file in files)
    # The last set of a file is the largest.
    widest = max((len(members) for file in files for members in file.sets[-1:]), default=1)
    sums = sum(bytes_of_cells(len(of), of.n_columns) for file in files for of in file.sums.values())
    require_memory(
        cells * (16 * widest + 64) + sums, budget, f"adding up the tables of {len(files)} files"
    )


def _require_alike(first: CountFile, other: CountFile, both: str) -> None:
    """Refuse files that count different things, or count them in different ways."""
    different = sorted(set(first.names) ^ set(other.names))
    if different:
        raise DataError(f"{both} have different columns: {listing(different)} in one of them")
    for field in fields(CountOptions):
        mine, theirs = getattr(first.options, field.name), getattr(other.options, field.name)
        if mine != theirs:
            raise DataError(
                f"{both} were counted with different {parameter(field.name)}: {_shown(theirs)} and "
                f"{_shown(mine)}"
            )
    mine, theirs = ({file.names_of(k) for k in range(len(file.sets))} for file in (first, other))
    if mine != theirs:
        one = min(mine ^ theirs)
        raise DataError(f"{both} count different sets: {listing(one)} in one of them")


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return listing(value)
    text = str(value)
    return text if len(text) <= 60 else quote(text)


def _united(name: str, files: Sequence[CountFile], places: Sequence[str]) -> CountedColumn:
    """The levels of a column in all files."""
    found = [file.columns[file.names.index(name)] for file in files]
    first = found[0]
    if len(files) == 1:
        return first
    _require_one_kind(found, places)
    settled = DECLARED if all(column.settled == DECLARED for column in found) else RULE
    if first.is_numeric:
        return replace(first, settled=settled)
    cut = next((place for c, place in zip(found, places, strict=True) if c.source == CUT), None)
    if cut is not None:
        raise DataError(
            f"{cut}: the intervals of column {quote(name)} were chosen from the data of this file "
            f"and would differ for all files; {_FIX_CUTS.format(quote(name + '=0,10,20'))}"
        )
    for column, place in zip(found[1:], places[1:], strict=True):
        if column.source != first.source:
            raise DataError(
                f"{place} and {places[0]}: the levels of column {quote(name)} are declared in one "
                f"of them only; count both with the same {parameter('levels')}"
            )
        if first.source != FROM_DATA and column.labels != first.labels:
            raise DataError(
                f"{place} and {places[0]} declare different levels of column {quote(name)}: "
                f"{listing(column.labels)} and {listing(first.labels)}"
            )
    na = any(column.na for column in found)
    labels = first.labels
    if first.source == FROM_DATA:
        together = dict.fromkeys(label for column in found for label in column.labels)
        labels = order_levels(list(together), decimal=files[0].options.decimal)
        _require_labels(name, labels, files[0].options, na)
    levels = (*labels, NA_LEVEL) if na else labels
    return CountedColumn(name, levels, first.source, na, first.type, settled)


def _require_one_kind(found: Sequence[CountedColumn], places: Sequence[str]) -> None:
    """Refuse a column that was counted as numbers in one file, and as labels in another."""
    first = found[0]
    for column, place in zip(found[1:], places[1:], strict=True):
        if column.type != first.type:
            raise DataError(
                f"{place} and {places[0]} count column {quote(first.name)} as different kinds: "
                f"{column.type} ({column.settled}) and {first.type} ({first.settled}); count both "
                f"with the same {parameter('levels')} schema.json"
            )


def _require_labels(name: str, labels: tuple[str, ...], options: CountOptions, na: bool) -> None:
    """Refuse labels that would have been treated differently if they had been seen together."""
    if na and NA_LEVEL in labels:
        raise DataError(
            f"column {quote(name)}: {NA_LEVEL!r} is a label in one file, and stands for missing "
            f"values ({parameter('missing', 'level')}) in another"
        )
    if len(labels) + na > MAX_LEVELS:
        raise DataError(f"column {quote(name)}: more than {MAX_LEVELS} levels")
    if options.bins is None or len(labels) <= options.bins:
        return
    values = {number_of(label, options.decimal) for label in labels}
    if None not in values and len(values) > options.bins:
        raise DataError(
            f"column {quote(name)} has {len(values)} different numbers in all files, more than "
            f"{parameter('bins')} {options.bins}: it would have been cut; "
            f"{_FIX_CUTS.format(quote(name + '=0,10,20'))}"
        )


Cells = tuple[NDArray[np.uint32], NDArray[np.uint16], NDArray[np.int64]]
"""The set of each cell, its codes and its count."""


class _Recoded:
    """The cells of a file in the codes of other levels."""

    def __init__(self, file: CountFile, columns: Sequence[CountedColumn]) -> None:
        self._file = file
        rank_of = {column.name: {v: k for k, v in enumerate(column.levels)} for column in columns}
        new_codes = [[rank_of[column.name][v] for v in column.levels] for column in file.columns]
        # The new codes of all columns end to end, and where those of each column begin.
        self._lookup = np.array([c for codes in new_codes for c in codes], dtype=np.uint16)
        self._starts = np.concatenate([[0], np.cumsum([len(codes) for codes in new_codes])])

    def cells(self, start: int, stop: int) -> Cells:
        """The cells of sets of one size; sets are in the same order in all files."""
        file = self._file
        members = np.array(file.axes[start:stop], dtype=np.int64)
        sizes = np.diff(file.starts[start : stop + 1])
        codes = file.codes[file.code_starts[start] : file.code_starts[stop]]
        codes = codes.reshape(int(sizes.sum()), members.shape[1])
        first_code = np.repeat(self._starts[members], sizes, axis=0)
        counts = file.counts[file.starts[start] : file.starts[stop]]
        of_set = np.repeat(np.arange(start, stop, dtype=np.uint32), sizes)
        return of_set, self._lookup[first_code + codes], counts

    def keyed(self, k: int, packed: PackedKeys) -> KeyedSums:
        """The cells of a set with numbers."""
        _, codes, counts = self.cells(k, k + 1)
        return KeyedSums(packed.keys(list(codes.T), len(codes)), counts, self._file.sums[k])


def _added_up(parts: Sequence[Cells]) -> Cells:
    of_set = np.concatenate([part[0] for part in parts])
    codes = np.concatenate([part[1] for part in parts])
    counts = np.concatenate([part[2] for part in parts])
    firsts, sums = sorted_equal_cells([of_set, *codes.T], counts)
    return of_set[firsts], codes[firsts], sums
