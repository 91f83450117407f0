"""Rows that are equal, in all columns or in some labels, and how often each occurs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.dataset import Dataset
from gml.progress import reporter
from gml.stopping import check_stopped

# Rows among which equal ones are looked for at a time.
_PART_ROWS = 1 << 17
# Rows of which something is worked out at a time.
_LOOKED_AT = 1 << 16


class EqualRows(NamedTuple):
    """The first of each group of equal rows, and how often it occurs."""

    firsts: NDArray[np.int64]
    counts: NDArray[np.int64]


def equal_rows(dataset: Dataset) -> EqualRows:
    """Group the rows of a dataset; what is missing equals what is missing.

    Examples
    --------
    >>> import gml
    >>> found = equal_rows(gml.read("sample_data/asia.csv"))
    >>> len(found.firsts), int(found.counts.sum())
    (52, 5000)
    """
    return equal_cells(dataset.columns, dataset.weights)


def equal_cells(
    columns: Sequence[NDArray[Any]], weights: NDArray[np.int64] | None = None
) -> EqualRows:
    """Group the rows of columns likewise."""
    rows = _comparable_bytes(columns)
    reporter().status(f"looking for equal rows: {len(rows):,}")
    groups = kernel.active().group_rows(rows, len(rows))
    reporter().status(None)
    assert groups is not None
    return EqualRows(groups.firsts, group_sums(groups.of_row, len(groups.firsts), weights))


def joined_rows(table: Dataset) -> Dataset:
    """Return the rows of a table of labels with equal ones taken together, as far as parts show.

    They are found in parts of the table, so that no more than these is held beside the codes: some
    rows may still be equal.

    Examples
    --------
    >>> import gml
    >>> rows = gml.read("sample_data/asia.csv")
    >>> joined_rows(rows).n_rows, joined_rows(rows).n
    (5000, 5000)
    """
    while table.n_rows > _PART_ROWS:
        parts = []
        keep = np.zeros(table.n_rows, dtype=bool)
        for start in range(0, table.n_rows, _PART_ROWS):
            check_stopped()
            rows = slice(start, start + _PART_ROWS)
            columns = [column[rows] for column in table.columns]
            found = equal_cells(columns, None if table.weights is None else table.weights[rows])
            parts.append(([column[found.firsts] for column in columns], found.counts))
            keep[start + found.firsts] = True
        fewer = replace(
            table,
            columns=tuple(
                np.concatenate(some) for some in zip(*(c for c, _ in parts), strict=True)
            ),
            weights=np.concatenate([counts for _, counts in parts]),
            first_line=None,
            kept=table.kept_by(keep),
        )
        # Where most rows differ, another round would find no more.
        is_enough = fewer.n_rows > table.n_rows // 2
        table = fewer
        if is_enough:
            break
    return table


def multiplicities(counts: NDArray[np.signedinteger[Any]]) -> dict[int, int]:
    """How many rows occur how often, from how often each does; those that never do are left out."""
    times, rows = np.unique(counts[counts > 0], return_counts=True)
    return dict(zip(times.tolist(), rows.tolist(), strict=True))


def comparable(column: NDArray[Any]) -> NDArray[Any]:
    """Numbers with one zero and one NaN, so that equal ones have equal bytes."""
    return np.where(np.isnan(column), np.nan, column + 0.0) if column.dtype.kind == "f" else column


def row_bytes(columns: Sequence[NDArray[Any]]) -> NDArray[np.uint8]:
    """Rows as bytes, one row after the other."""
    width = sum(column.dtype.itemsize for column in columns)
    rows = np.empty((len(columns[0]) if columns else 0, width), dtype=np.uint8)
    at = 0
    for column in columns:
        size = column.dtype.itemsize
        rows[:, at : at + size] = np.ascontiguousarray(column).view(np.uint8).reshape(-1, size)
        at += size
    return rows


def _comparable_bytes(columns: Sequence[NDArray[Any]]) -> NDArray[np.uint8]:
    """Rows as bytes that are equal where rows are, made in parts."""
    n_rows = len(columns[0]) if columns else 0
    width = sum(column.dtype.itemsize for column in columns)
    rows = np.empty((n_rows, width), dtype=np.uint8)
    for part in row_parts(n_rows):
        rows[part] = row_bytes([comparable(column[part]) for column in columns])
    return rows


def configurations_at(
    sizes: Sequence[int], codes: Sequence[NDArray[Any]], n_rows: int
) -> NDArray[np.int64]:
    """Return the configuration of some labels in each row of their codes, the last label fastest.

    Where a code is that of no level (a missing value, or NaN), it is −1.

    Examples
    --------
    >>> configurations_at([2, 3], [np.array([0, 1, 0]), np.array([2, 1, 3])], 3)
    array([ 2,  4, -1])
    """
    found = np.zeros(n_rows, dtype=np.int64)
    known = np.ones(n_rows, dtype=bool)
    for size, column in zip(sizes, codes, strict=True):
        inside = column < size
        known &= inside
        found = found * size + np.where(inside, column, 0).astype(np.int64)
    found[~known] = -1
    return found


def group_sums(
    group: NDArray[np.signedinteger[Any]], n_groups: int, weights: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """How often the rows of each group count together."""
    if weights is None:
        return np.bincount(group, minlength=n_groups).astype(np.int64)
    sums = np.zeros(n_groups, dtype=np.int64)
    np.add.at(sums, group, weights)
    return sums


def place_type(n: int) -> type[np.int16] | type[np.int32] | type[np.int64]:
    """A small type that holds the positions of n things, of which there may be one per row."""
    return np.int16 if n < 1 << 15 else np.int32 if n < 1 << 31 else np.int64


def distinct_patterns(
    flags: NDArray[np.bool_],
) -> tuple[NDArray[np.bool_], NDArray[np.signedinteger[Any]]]:
    """The different rows of a matrix of flags, and which of them each row is.

    Examples
    --------
    >>> patterns, of_row = distinct_patterns(np.array([[True], [False], [True]]))
    >>> patterns[of_row].tolist()
    [[True], [False], [True]]
    """
    n_rows, width = flags.shape
    if width == 0:
        return flags[:1], np.zeros(n_rows, dtype=np.int16)
    packed = np.packbits(flags, axis=1)
    if width > 16:
        return _sorted_patterns(flags, packed)
    keys = packed[:, 0] if width <= 8 else packed.view("<u2")[:, 0]
    # Few keys are possible, so that the rows need not be sorted.
    there = np.zeros(1 << (8 * packed.shape[1]), dtype=bool)
    for part in row_parts(n_rows):
        there[keys[part]] = True
    used = np.flatnonzero(there)
    place = np.zeros(len(there), dtype=place_type(len(used)))
    place[used] = np.arange(len(used))
    of_row = np.empty(n_rows, dtype=place.dtype)
    for part in row_parts(n_rows):
        of_row[part] = place[keys[part]]
    shown = used.astype(keys.dtype)[:, None].view(np.uint8)
    return np.unpackbits(shown, axis=1, count=width).astype(bool), of_row


def _sorted_patterns(
    flags: NDArray[np.bool_], packed: NDArray[np.uint8]
) -> tuple[NDArray[np.bool_], NDArray[np.signedinteger[Any]]]:
    wide = np.zeros((len(flags), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    wide[:, : packed.shape[1]] = packed
    words = wide.view(np.uint64)
    keys = words[:, 0] if words.shape[1] == 1 else words
    _, first, of_row = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return flags[first], of_row.reshape(-1).astype(place_type(len(first)))


def row_parts(n_rows: int) -> Iterator[slice]:
    """Rows in parts: what is made of one at a time takes no memory beside the rows."""
    for start in range(0, n_rows, _LOOKED_AT):
        yield slice(start, min(start + _LOOKED_AT, n_rows))


def rows_by_group(
    of_row: NDArray[np.integer[Any]], n_groups: int
) -> list[NDArray[np.signedinteger[Any]]]:
    """The rows of each group in their order, given the group of each row.

    Examples
    --------
    >>> [rows.tolist() for rows in rows_by_group(np.array([2, 0, 2]), 3)]
    [[1], [], [0, 2]]
    """
    order: NDArray[np.signedinteger[Any]] = np.argsort(of_row, kind="stable")
    if len(of_row) < 1 << 31:
        order = order.astype(np.int32)
    ends = np.cumsum(np.bincount(of_row, minlength=n_groups)).tolist()
    return [order[start:end] for start, end in zip([0, *ends], ends, strict=False)]
