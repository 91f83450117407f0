"""Count files added up: what shards count together is what the whole counts.

Labels of the data are united and put in level order anew; levels that were declared must be the
same everywhere. Intervals that were chosen on the data of a shard are others than those of the
whole, so that such files are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from gml.counts.countfile import CUT, FROM_DATA, MOST_ROWS, CountedColumn, CountFile, CountOptions
from gml.counts.resources import default_budget, require_memory
from gml.data.dataset import MAX_LEVELS, Dataset, Variable
from gml.data.levels import NA_LEVEL, order_levels
from gml.data.resampling import distinct_rows
from gml.errors import DataError, listing, quote
from gml.kernel.number import parse_number
from gml.progress import reporter


def merge_counts(
    files: Sequence[CountFile],
    names: Sequence[str] | None = None,
    *,
    max_memory: int | None = None,
) -> CountFile:
    """Add up files that count the same sets in the same way; `names` are theirs, for messages.

    The columns stand in the order of the first file.

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
    budget = default_budget() if max_memory is None else max_memory
    # The cells of all files, and those of the result while it grows.
    taken = 2 * sum(file.codes.nbytes + file.counts.nbytes for file in files)
    require_memory(taken, budget, "the tables of all files")
    recoded = [_Recoded(file, columns) for file in files]
    parts, starts = [], [0]
    for k in range(len(first.sets)):
        codes, counts = _added_up([file.cells(k) for file in recoded], first.names_of(k))
        parts.append((codes.reshape(-1), counts))
        starts.append(starts[-1] + len(counts))
        reporter().advance("merging", k + 1, len(first.sets))
    return replace(
        first,
        columns=columns,
        n=n,
        codes=np.concatenate([np.empty(0, dtype=np.uint16), *(codes for codes, _ in parts)]),
        counts=np.concatenate([np.empty(0, dtype=np.int64), *(counts for _, counts in parts)]),
        starts=np.array(starts, dtype=np.int64),
        dropped=sum(file.dropped for file in files),
        data=tuple(sorted(digest for file in files for digest in file.data)),
    )


def _require_alike(first: CountFile, other: CountFile, both: str) -> None:
    """Refuse files that count other things, or count them in another way."""
    different = sorted(set(first.names) ^ set(other.names))
    if different:
        raise DataError(f"{both} have different columns: {listing(different)} in one of them")
    for field in fields(CountOptions):
        mine, theirs = getattr(first.options, field.name), getattr(other.options, field.name)
        if mine != theirs:
            raise DataError(
                f"{both} were counted with different --{field.name}: {_shown(theirs)} and "
                f"{_shown(mine)}"
            )
    mine, theirs = ({file.names_of(k) for k in range(len(file.sets))} for file in (first, other))
    if mine != theirs:
        one = min(mine ^ theirs)
        raise DataError(f"{both} count different sets: {listing(one)} in one of them")


def _shown(value: object) -> str:
    if value is None:
        return "none"
    return listing(value) if isinstance(value, tuple) else str(value)


def _united(name: str, files: Sequence[CountFile], places: Sequence[str]) -> CountedColumn:
    """The levels of a column in all files."""
    found = [file.columns[file.names.index(name)] for file in files]
    first = found[0]
    if len(files) == 1:
        return first
    cut = next((place for c, place in zip(found, places, strict=True) if c.source == CUT), None)
    if cut is not None:
        raise DataError(
            f"{cut}: the intervals of column {quote(name)} were chosen on the data of this file, "
            "and would be others for all of them; fix them when counting, by --cut "
            f"{quote(name + '=0,10,20')} or --levels"
        )
    for column, place in zip(found[1:], places[1:], strict=True):
        if column.source != first.source:
            raise DataError(
                f"{place} and {places[0]}: the levels of column {quote(name)} are declared in one "
                "of them only; count both with the same --levels"
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
    return CountedColumn(name, (*labels, NA_LEVEL) if na else labels, first.source, na)


def _require_labels(name: str, labels: tuple[str, ...], options: CountOptions, na: bool) -> None:
    """Refuse labels that would have been treated in another way, had they been seen together."""
    if na and NA_LEVEL in labels:
        raise DataError(
            f"column {quote(name)}: {NA_LEVEL!r} is a label in one file, and stands for missing "
            "values (--missing level) in another"
        )
    if len(labels) + na > MAX_LEVELS:
        raise DataError(f"column {quote(name)}: more than {MAX_LEVELS} levels")
    if options.bins is None or len(labels) <= options.bins:
        return
    values = {parse_number(label.encode(), options.decimal) for label in labels}
    if None not in values and len(values) > options.bins:
        raise DataError(
            f"column {quote(name)} has {len(values)} numbers in all files, more than --bins "
            f"{options.bins}: it would have been cut; fix the intervals when counting, by --cut "
            f"{quote(name + '=0,10,20')} or --levels"
        )


class _Recoded:
    """The cells of a file in the codes of other levels, and sets in the order of another file."""

    def __init__(self, file: CountFile, columns: Sequence[CountedColumn]) -> None:
        self._file = file
        self._lookup = []
        rank_of = {column.name: {v: k for k, v in enumerate(column.levels)} for column in columns}
        for column in file.columns:
            rank = rank_of[column.name]
            self._lookup.append(np.array([rank[v] for v in column.levels], dtype=np.uint16))

    def cells(self, k: int) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
        """The cells of a set; sets stand in the same order in all files."""
        codes, counts = self._file.cells(k)
        members = self._file.sets[k]
        columns = [self._lookup[j][codes[:, i]] for i, j in enumerate(members)]
        return np.column_stack(columns), counts


def _added_up(
    parts: Sequence[tuple[NDArray[np.uint16], NDArray[np.int64]]], names: Sequence[str]
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    codes = np.concatenate([codes for codes, _ in parts])
    counts = np.concatenate([counts for _, counts in parts])
    rows = Dataset(
        tuple(Variable(name, ()) for name in names),
        tuple(np.ascontiguousarray(column) for column in codes.T),
        counts,
    )
    firsts, sums = distinct_rows(rows)
    return codes[firsts], sums
