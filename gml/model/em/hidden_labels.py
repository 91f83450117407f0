"""Numbers for the levels of hidden nodes, which the likelihood leaves open.

Permuting the levels of a hidden node, in its own table and in those of its children, changes no
probability of what is observed. So they are numbered by decreasing size (the expected count of the
level); of levels of one size, the one comes first that has the larger number where the tables first
differ: its column in its own table, then its rows in those of its children, by name.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from gml.model.em.table_layout import TableLayout, Vector

# Sizes and probabilities closer than this, as a share, are equal: climbs leave as much.
_SAME = 1e-7


def numbered(layout: TableLayout, tables: Vector, counts: Vector) -> NDArray[np.int64]:
    """Return which cell of the vectors of tables goes where, once hidden levels are in order."""
    where = np.arange(len(tables))
    for node in sorted(layout.hidden):
        now_tables, now_counts = tables[where], counts[where]
        sizes = layout.table(now_counts, node).sum(axis=0)
        profiles = [_profile(layout, now_tables, node, level) for level in range(len(sizes))]
        order = sorted(
            range(len(sizes)),
            key=functools.cmp_to_key(
                lambda a, b, sizes=sizes, profiles=profiles: (
                    _compare(  # type: ignore[misc]
                        sizes[a : a + 1], sizes[b : b + 1]
                    )
                    or _compare(profiles[a], profiles[b])
                )
            ),
        )
        where = _permuted(layout, where, node, order)
    return where


def _compare(a: Vector, b: Vector) -> int:
    """Which of two vectors has the larger number where they first differ: -1 if a has."""
    differ = np.flatnonzero(np.abs(a - b) > _SAME * np.maximum(np.abs(a), np.abs(b)))
    if not len(differ):
        return 0
    return -1 if a[differ[0]] > b[differ[0]] else 1


def _children(layout: TableLayout, node: int) -> list[int]:
    return [child for child, parents in enumerate(layout.parents) if node in parents]


def _profile(layout: TableLayout, tables: Vector, node: int, level: int) -> Vector:
    parts = [layout.table(tables, node)[:, level]]
    for child in _children(layout, node):
        before, size, after = _around(layout, node, child)
        parts.append(layout.table(tables, child).reshape(before, size, after)[:, level].reshape(-1))
    return np.concatenate(parts)


def _around(layout: TableLayout, node: int, child: int) -> tuple[int, int, int]:
    """Cells of a child's table before, along and after the axis of a parent."""
    shape = layout.shape(child)
    axis = layout.parents[child].index(node)
    return int(np.prod(shape[:axis])), shape[axis], int(np.prod(shape[axis + 1 :]))


def _permuted(
    layout: TableLayout, where: NDArray[np.int64], node: int, order: list[int]
) -> NDArray[np.int64]:
    found = where.copy()
    layout.table(found, node)[:] = layout.table(where, node)[:, order]
    for child in _children(layout, node):
        shape = _around(layout, node, child)
        layout.table(found, child).reshape(shape)[:] = layout.table(where, child).reshape(shape)[
            :, order
        ]
    return found
