"""What incomplete rows ask of the tables of a network (missing_parts.c)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.kernel.family_layout import FamilyLayout, MissingParts

_Key = tuple[tuple[int, ...], tuple[int, ...]]


def missing_parts(
    layout: FamilyLayout,
    columns: list[NDArray[Any] | None],
    weights: NDArray[np.int64] | None,
    n_rows: int,
    keep_barren: bool,
    most_bytes: int,
) -> MissingParts | None:
    """Collect the questions of all rows; None if they take more bytes than allowed.

    A missing node below which nothing is observed says nothing of the row, whose probability does
    not depend on it: it is left out, with its family, unless `keep_barren`.
    """
    found: dict[_Key, dict[tuple[int, ...], list[int]]] = {}
    rows = RowSplitter(layout, columns)
    for row in range(n_rows):
        weight = 1 if weights is None else int(weights[row])
        if not weight:
            continue
        for key, bases in rows.parts(row, keep_barren):
            counted = found.setdefault(key, {}).setdefault(bases, [0, row])
            counted[0] += weight
    parts = _sorted_parts(found)
    return parts if sum(array.nbytes for array in parts) <= most_bytes else None


class RowSplitter:
    """Splits rows into their parts."""

    def __init__(self, layout: FamilyLayout, columns: list[NDArray[Any] | None]) -> None:
        self._columns = columns
        self._sizes = layout.sizes.tolist()
        self._order = layout.order.tolist()
        starts = layout.member_starts.tolist()
        members, strides = layout.members.tolist(), layout.strides.tolist()
        self._families = [
            list(zip(members[first:last], strides[first:last], strict=True))
            for first, last in pairwise(starts)
        ]
        self._table_starts = layout.table_starts.tolist()
        self._children: list[list[int]] = [[] for _ in self._sizes]
        for child, family in enumerate(self._families):
            for parent, _ in family[:-1]:
                self._children[parent].append(child)

    def parts(self, row: int, keep_barren: bool) -> list[tuple[_Key, tuple[int, ...]]]:
        codes = [
            -1 if column is None or column[row] >= size else int(column[row])
            for column, size in zip(self._columns, self._sizes, strict=True)
        ]
        matters = [keep_barren] * len(codes)
        for node in reversed(self._order):
            matters[node] |= codes[node] >= 0 or any(matters[c] for c in self._children[node])
        root = list(range(len(codes)))

        def root_of(node: int) -> int:
            while root[node] != node:
                node = root[node]
            return node

        for child, family in enumerate(self._families):
            missing = [node for node, _ in family if codes[node] < 0]
            if matters[child] and missing:
                for node in missing[1:]:
                    a, b = root_of(missing[0]), root_of(node)
                    root[max(a, b)] = min(a, b)
        nodes: dict[int, list[int]] = {}
        families: dict[int, list[int]] = {}
        for node, code in enumerate(codes):
            if code < 0 and matters[node]:
                nodes.setdefault(root_of(node), []).append(node)
        for child, family in enumerate(self._families):
            missing = [node for node, _ in family if codes[node] < 0]
            if matters[child] and missing:
                families.setdefault(root_of(missing[0]), []).append(child)
        found = []
        for part, inside in nodes.items():
            bases = tuple(
                self._table_starts[f]
                + sum(stride * codes[node] for node, stride in self._families[f] if codes[node] > 0)
                for f in families[part]
            )
            found.append(((tuple(inside), tuple(families[part])), bases))
        return found


def _sorted_parts(found: dict[_Key, dict[tuple[int, ...], list[int]]]) -> MissingParts:
    shapes = sorted(found)
    questions = [sorted(found[shape].items()) for shape in shapes]
    bases = [base for asked in questions for key, _ in asked for base in key]
    counted = [pair for asked in questions for _, pair in asked]

    def ends(lengths: list[int]) -> NDArray[np.int64]:
        return np.cumsum([0, *lengths], dtype=np.int64)

    return MissingParts(
        ends([len(nodes) for nodes, _ in shapes]),
        np.array([node for nodes, _ in shapes for node in nodes], dtype=np.int32),
        ends([len(families) for _, families in shapes]),
        np.array([family for _, families in shapes for family in families], dtype=np.int32),
        ends([len(asked) for asked in questions]),
        ends([len(asked) * len(shape[1]) for asked, shape in zip(questions, shapes, strict=True)]),
        np.array(bases, dtype=np.int32),
        np.array([weight for weight, _ in counted], dtype=np.int64),
        np.array([row for _, row in counted], dtype=np.int64),
    )
