"""Rows with holes in blocks, so that what they have in common is worked out once.

Rows whose components (`number_components`) touch the same families, with the same labels seen
there, have the same regressions to be worked out, whichever numbers they lack: they make a group,
cut into blocks of bounded size. In a block, rows with the same holes share an inverse, and rows
with equally many holes one call.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.row_groups import configurations_at, distinct_patterns, place_type, rows_by_group
from gml.errors import listing
from gml.model.em.number_families import Families
from gml.model.em.number_rows import NumberRows
from gml.resources import require_memory

Positions = NDArray[np.int64]
Places = NDArray[np.signedinteger[Any]]
"""Those of rows, in as few bytes as hold them."""

# Figures that a block may take at a time, and rows.
_BLOCK_CELLS = 1 << 20
_BLOCK_ROWS = 1 << 13
_CONFIGURATION_BYTES = 200


class Touched(NamedTuple):
    """What a component consists of and touches: positions of nodes, and of families by child."""

    labels: tuple[int, ...]
    """Labels that are enumerated."""
    leaves: tuple[int, ...]
    """Childless labels that were not seen."""
    tables: tuple[int, ...]
    """Labels whose families have a label that is enumerated, leaves excepted."""
    numbers: tuple[int, ...]
    """Numbers whose families have a node that was not seen."""


class HoleClass(NamedTuple):
    """Rows of a block that lack equally many of its numbers."""

    rows: Places
    patterns: Positions
    """Which numbers they may lack: patterns × numbers of holes, as columns of the block."""
    of_row: Places
    """The pattern of each of the rows."""


class Block(NamedTuple):
    """Rows of a group, and what is to be worked out for them."""

    rows: Places
    columns: Positions
    """The numbers that occur."""
    families: tuple[int, ...]
    members: tuple[Positions, ...]
    """The columns of each family, the child last, by their places among `columns`."""
    regressions: Positions
    """Which regression each family has: different configurations × families."""
    of_config: Positions
    """Which of these a configuration of the enumerated labels has."""
    tables: tuple[tuple[int, Positions, Positions], ...]
    """Of each table the row and the level that a configuration has."""
    leaves: tuple[tuple[int, Positions], ...]
    """Of each table of a leaf the row that a configuration has."""
    holes: tuple[HoleClass, ...]


class Blocks:
    """Cuts rows into blocks."""

    def __init__(self, families: Families, rows: NumberRows) -> None:
        self._families = families
        self._rows = rows
        self._sizes = [family.n_levels for family in families.labels]

    def of(self, touched: Touched, rows: Places, max_memory: int | None) -> Iterator[Block]:
        """The work for all rows with components of one kind."""
        families = self._families
        labels = (*touched.tables, *touched.leaves)
        given = [families.numbers[j].labels for j in touched.numbers]
        given += [families.labels[j].labels for j in labels]
        scope = {k for some in given for k in some}.union(touched.tables)
        known = sorted(scope - {*touched.labels})
        n_configs = math.prod(self._sizes[k] for k in touched.labels)
        wide = len(touched.numbers) + len(touched.tables) + len(touched.leaves) + 1
        names = listing(families.label_variables[k].name for k in touched.labels)
        require_memory(
            n_configs * wide * _CONFIGURATION_BYTES,
            max_memory,
            f"the configurations of {names}, which some rows lack together,",
            "; leave such rows out, or one of these columns, or give them fewer levels",
        )
        enumerated = dict(
            zip(
                touched.labels,
                np.indices([self._sizes[k] for k in touched.labels]).reshape(
                    len(touched.labels), n_configs
                ),
                strict=True,
            )
        )
        codes = self._rows.codes[rows[:, None], known]
        for values, own in _groups(codes, rows):
            at = dict(zip(known, values, strict=True))
            yield from self._group(touched, own, {**at, **enumerated}, n_configs)

    def _group(
        self,
        touched: Touched,
        rows: Places,
        codes: Mapping[int, int | Positions],
        n_configs: int,
    ) -> Iterator[Block]:
        families = self._families

        def config(labels: Sequence[int], sizes: Sequence[int]) -> Positions:
            own = [np.broadcast_to(codes[k], (n_configs,)) for k in labels]
            return configurations_at(sizes, own, n_configs)

        own = [families.numbers[j] for j in touched.numbers]
        columns = sorted({k for f in own for k in f.members})
        place = {k: at for at, k in enumerate(columns)}
        members = tuple(np.array([place[k] for k in f.members], dtype=np.int64) for f in own)
        each = np.array([config(f.labels, f.sizes) for f in own], dtype=np.int64)
        regressions, of_config = np.unique(
            each.reshape(len(own), n_configs).T, axis=0, return_inverse=True
        )
        tables = tuple(
            (
                j,
                config(families.labels[j].labels, families.labels[j].sizes),
                np.broadcast_to(np.asarray(codes[j], dtype=np.int64), (n_configs,)),
            )
            for j in touched.tables
        )
        leaves = tuple(
            (j, config(families.labels[j].labels, families.labels[j].sizes)) for j in touched.leaves
        )
        lacking = ~self._rows.seen[rows[:, None], columns]
        patterns, of_row = distinct_patterns(lacking)
        # Rows with the same holes side by side, so that a block has few patterns.
        by_holes = np.argsort(patterns.sum(axis=1), kind="stable")
        rank = np.empty(len(patterns), dtype=of_row.dtype)
        rank[by_holes] = np.arange(len(patterns))
        patterns, of_row = patterns[by_holes], rank[of_row]
        order = np.concatenate(rows_by_group(of_row, len(patterns)))
        cells = n_configs * (len(columns) + 3) + len(regressions) * len(own)
        size = max(1, min(_BLOCK_ROWS, _BLOCK_CELLS // cells))
        for start in range(0, len(rows), size):
            chosen = order[start : start + size]
            yield Block(
                rows[chosen],
                np.array(columns, dtype=np.int64),
                touched.numbers,
                members,
                regressions.astype(np.int64),
                of_config.reshape(-1).astype(np.int64),
                tables,
                leaves,
                _hole_classes(patterns, of_row[chosen]),
            )


def _groups(codes: Places, rows: Places) -> Iterator[tuple[list[int], Places]]:
    """Rows by the codes that they have."""
    if codes.shape[1] == 0:
        yield [], rows
        return
    values, of_row = np.unique(codes, axis=0, return_inverse=True)
    groups = rows_by_group(of_row.reshape(-1), len(values))
    for value, own in zip(values.tolist(), groups, strict=True):
        yield value, rows[own]


def _hole_classes(patterns: NDArray[np.bool_], of_row: Places) -> tuple[HoleClass, ...]:
    """Sort rows by how many numbers they lack, and which."""
    found = []
    # There are some for every row that lacks something, so they are kept small.
    small = place_type(len(of_row))
    used, own = np.unique(of_row, return_inverse=True)
    own = own.reshape(-1)
    n_holes = patterns[used].sum(axis=1)
    for k in np.unique(n_holes).tolist():
        if k == 0:
            continue
        chosen = np.flatnonzero(n_holes == k)
        rank: Places = np.full(len(used), -1, dtype=small)
        rank[chosen] = np.arange(len(chosen))
        rows: Places = np.flatnonzero(rank[own] >= 0).astype(small)
        holes = np.nonzero(patterns[used[chosen]])[1].reshape(len(chosen), k)
        found.append(HoleClass(rows, holes.astype(np.int64), rank[own[rows]]))
    return tuple(found)
