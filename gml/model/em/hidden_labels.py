"""Numbers for the levels of hidden nodes, which the likelihood leaves open.

Permuting the levels of a hidden node, in its own table and in those of its children, changes no
probability of what is observed. So they are numbered by decreasing size (the expected count of the
level); of levels of one size, the one comes first that has the larger number where the tables first
differ: its column in its own table, then what children have for it, numbers before labels, by name.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gml.model.em.table_layout import TableLayout, Vector

# Sizes and probabilities closer than this, as a share, are equal: climbs leave as much.
_SAME = 1e-7
_NOTHING = 1e-9


def numbered(layout: TableLayout, tables: Vector, counts: Vector) -> NDArray[np.int64]:
    """Return which cell of the vectors of tables goes where, once hidden levels are in order."""
    where = np.arange(len(tables))
    for node in sorted(layout.hidden):
        now_tables, now_counts = tables[where], counts[where]
        sizes = layout.table(now_counts, node).sum(axis=0)
        profiles = np.array([_profile(layout, now_tables, node, k) for k in range(len(sizes))])
        order = order_of_levels(sizes, profiles)
        where = _permuted(layout, where, node, order)
    return where


def order_of_levels(sizes: Vector, profiles: Vector) -> list[int]:
    """Order levels by size, then by the first of their numbers (levels × numbers) that differ.

    Numbers in a chain of which each is next to the one before are equal: so what comes out is an
    order, whatever is close to what.

    Examples
    --------
    >>> order_of_levels(np.array([2.0, 5.0, 5.0]), np.array([[0.9], [0.1], [0.3]]))
    [2, 1, 0]
    """
    groups = [list(range(len(sizes)))]
    for values in (sizes, *profiles.T):
        if len(groups) == len(sizes):
            break
        groups = [part for group in groups for part in _split(group, values)]
    return [level for group in groups for level in group]


def _split(group: list[int], values: Vector) -> list[list[int]]:
    """The levels of a group by decreasing value, apart where values differ."""
    by_value = sorted(group, key=lambda level: -values[level])
    found = [by_value[:1]]
    for before, level in pairwise(by_value):
        a, b = float(values[before]), float(values[level])
        if a - b > _SAME * max(abs(a), abs(b)) + _NOTHING:
            found.append([])
        found[-1].append(level)
    return found


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
