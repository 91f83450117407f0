"""Rows that are equal, in all columns or in some labels, and how often each occurs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.dataset import Dataset
from gml.progress import reporter
from gml.stopping import check_stopped

# Rows among which equal ones are looked for at a time.
_PART_ROWS = 1 << 17


@dataclass(frozen=True)
class EqualRows:
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
    rows = row_bytes([comparable(column) for column in columns])
    reporter().status(f"looking for equal rows: {len(rows):,}")
    groups = kernel.active().group_rows(rows, len(rows))
    reporter().status(None)
    assert groups is not None
    return EqualRows(groups.firsts, group_sums(groups.of_row, len(groups.firsts), weights))


def distinct_rows(table: Dataset) -> Dataset:
    """Return the rows of a table of labels with equal ones taken together, as far as parts show.

    They are found in parts of the table, so that no more than these is held beside the codes: some
    rows may still be equal.

    Examples
    --------
    >>> import gml
    >>> rows = gml.read("sample_data/asia.csv")
    >>> distinct_rows(rows).n_rows, distinct_rows(rows).n
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


def distinct_patterns(
    flags: NDArray[np.bool_],
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """The different rows of a matrix of flags, and which of them each row is.

    Examples
    --------
    >>> patterns, of_row = distinct_patterns(np.array([[True], [False], [True]]))
    >>> patterns[of_row].tolist()
    [[True], [False], [True]]
    """
    if flags.shape[1] == 0:
        return flags[:1], np.zeros(len(flags), dtype=np.int64)
    packed = np.packbits(flags, axis=1)
    wide = np.zeros((len(flags), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    wide[:, : packed.shape[1]] = packed
    words = wide.view(np.uint64)
    keys = words[:, 0] if words.shape[1] == 1 else words
    _, first, of_row = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return flags[first], of_row.reshape(-1).astype(np.int64)
