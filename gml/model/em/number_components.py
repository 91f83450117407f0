"""What has to be worked out for rows with holes, so that equal work is done once.

In a row, the nodes that were not seen fall into components: two of them belong together if some
family has both. Given what was seen, components are independent, and each needs the values of its
families only; families that were seen whole are summed once and for all. Within a component the
labels are enumerated together, childless ones excepted (their expected counts are those of their
parents times their table), and given these all its numbers are normal.

A node that was not seen, with nothing seen below it, does not matter for what was seen: it is left
out with its family, row by row. The likelihood is the same, less is missing, and so EM takes fewer
steps to the same place (Meng & van Dyk 1997, JRSS B 59:511). Sums that say how rows would fall if
they were complete include such families (`keep_barren`).

Rows whose components touch the same families, with the same labels seen there, have the same
regressions to be worked out, whichever numbers they lack: they make a group, cut into blocks. In a
network of numbers alone, if it is not large, the holes of a row are taken together where that makes
fewer groups: there is nothing to enumerate, and the larger are the products of matrices.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import listing
from gml.model.configurations import configurations_at
from gml.model.em.number_families import Families
from gml.model.em.number_rows import MISSING, NumberRows
from gml.resources import require_memory
from gml.stopping import check_stopped

Positions = NDArray[np.int64]

# With so many numbers or fewer, the holes of a row without labels may be taken together.
_FEW_NUMBERS = 64
# So many groups take less time than what could be saved by having fewer.
_FEW_GROUPS = 64
_MANY_GROUPS = 1000
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

    rows: Positions
    patterns: Positions
    """Which numbers they may lack: patterns × numbers of holes, as columns of the block."""
    of_row: Positions
    """The pattern of each of the rows."""


class Block(NamedTuple):
    """Rows of a group, and what is to be worked out for them."""

    rows: Positions
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


class Work(NamedTuple):
    """All blocks, and the rows in which each family was seen whole."""

    blocks: tuple[Block, ...]
    whole_numbers: tuple[NDArray[np.bool_], ...]
    whole_labels: tuple[NDArray[np.bool_], ...]


def work_of(
    families: Families,
    rows: NumberRows,
    *,
    keep_barren: bool = False,
    max_memory: int | None = None,
) -> Work:
    """Plan the E-steps for some rows."""
    plan = _Plan(families, rows)
    unseen = np.hstack([~rows.seen, rows.codes == MISSING])
    patterns, of_row = distinct_patterns(unseen)
    kinds = plan.kinds(
        [sum(1 << k for k in np.flatnonzero(pattern).tolist()) for pattern in patterns],
        keep_barren=keep_barren,
    )
    by_pattern = np.argsort(of_row, kind="stable")
    starts = np.searchsorted(of_row[by_pattern], np.arange(len(patterns) + 1))
    blocks: list[Block] = []
    for touched in sorted(kinds):
        own = np.concatenate([by_pattern[starts[k] : starts[k + 1]] for k in kinds[touched]])
        blocks += plan.blocks(touched, np.sort(own), max_memory)
    whole: list[NDArray[np.bool_]] = [
        np.logical_not(unseen[:, plan.members(k)].any(axis=1)) for k in range(unseen.shape[1])
    ]
    for touched, numbers in kinds.items():
        # Families that were seen whole may be part of a component, and then count there.
        taken = np.zeros(len(patterns), dtype=bool)
        taken[numbers] = True
        for node in plan.nodes(touched):
            whole[node] &= ~taken[of_row]
    n_numbers = len(families.numbers)
    return Work(tuple(blocks), tuple(whole[:n_numbers]), tuple(whole[n_numbers:]))


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


class _Plan:
    """Finds components, with nodes as bits: numbers first, then labels."""

    def __init__(self, families: Families, rows: NumberRows) -> None:
        self._families = families
        self._rows = rows
        self._n_numbers = len(families.numbers)
        self._sizes = [family.n_levels for family in families.labels]
        shift = self._n_numbers
        self._number_bits = [
            sum(1 << k for k in f.members) | sum(1 << (shift + k) for k in f.labels)
            for f in families.numbers
        ]
        self._label_bits = [
            sum(1 << (shift + k) for k in (*f.labels, f.child)) for f in families.labels
        ]
        parents = {k for f in families.all for k in f.labels}
        self._childless = sum(1 << (shift + k) for k in range(len(self._sizes)) if k not in parents)
        n_nodes = shift + len(self._sizes)
        every = [*self._number_bits, *self._label_bits]
        self._families_of = [
            [k for k in range(n_nodes) if every[k] >> j & 1] for j in range(n_nodes)
        ]
        """For each node, the families that have it, by child."""
        self._bits = every
        self._children = [0] * n_nodes
        for node, bits in enumerate(every):
            for parent in _bits(bits & ~(1 << node)):
                self._children[parent] |= 1 << node
        self._children_first = _children_first(self._children)

    def members(self, node: int) -> list[int]:
        """The nodes of a family, by its child: numbers first, then labels."""
        return list(_bits(self._bits[node]))

    def nodes(self, touched: Touched) -> list[int]:
        """The children of all families that are touched."""
        labels = (*touched.tables, *touched.leaves)
        return [*touched.numbers, *(self._n_numbers + k for k in labels)]

    def kinds(self, unseen: Sequence[int], *, keep_barren: bool) -> dict[Touched, list[int]]:
        """Which components there are, and in which of some patterns of holes each occurs."""
        if self._sizes or self._n_numbers > _FEW_NUMBERS:
            return self._kinds(unseen, self._components, keep_barren)
        found = self._kinds(unseen, self._together, keep_barren)
        if len(found) > _FEW_GROUPS:
            apart = self._kinds(unseen, self._components, keep_barren)
            if len(apart) <= _MANY_GROUPS:
                return apart
            return self._kinds(unseen, self._together, keep_barren=True)
        return found

    def _kinds(
        self,
        unseen: Sequence[int],
        split: Callable[[int, int], Iterator[Touched]],
        keep_barren: bool,
    ) -> dict[Touched, list[int]]:
        found: dict[Touched, list[int]] = defaultdict(list)
        for number, nodes in enumerate(unseen):
            if not number % 256:
                check_stopped()
            barren = 0 if keep_barren else self._barren(nodes)
            for touched in split(nodes & ~barren, barren):
                found[touched].append(number)
        return found

    def _barren(self, unseen: int) -> int:
        """The nodes of some that have no other descendants than these."""
        found = 0
        for node in self._children_first:
            if unseen >> node & 1 and not self._children[node] & ~found:
                found |= 1 << node
        return found

    def _together(self, unseen: int, barren: int) -> Iterator[Touched]:
        """Take the holes of a row without labels as one component."""
        if unseen:
            own = tuple(k for k in range(self._n_numbers) if not barren >> k & 1)
            yield Touched((), (), (), own)

    def _components(self, unseen: int, barren: int) -> Iterator[Touched]:
        """Split the nodes that a row lacks."""
        left = unseen
        while left:
            component = left & -left
            waiting = component
            while waiting:
                node = waiting.bit_length() - 1
                waiting &= ~(1 << node)
                for family in self._families_of[node]:
                    if not barren >> family & 1:
                        new = self._bits[family] & left & ~component
                        component |= new
                        waiting |= new
            left &= ~component
            yield self._touched(component, barren)

    def _touched(self, component: int, barren: int) -> Touched:
        labels = component >> self._n_numbers
        leaves = (component & self._childless) >> self._n_numbers
        return Touched(
            tuple(_bits(labels & ~leaves)),
            tuple(_bits(leaves)),
            tuple(
                k
                for k, bits in enumerate(self._label_bits)
                if bits & component
                and not leaves >> k & 1
                and not barren >> (self._n_numbers + k) & 1
            ),
            tuple(
                k
                for k, bits in enumerate(self._number_bits)
                if bits & component and not barren >> k & 1
            ),
        )

    def blocks(self, touched: Touched, rows: Positions, max_memory: int | None) -> Iterator[Block]:
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
        rows: Positions,
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
        order = np.lexsort((of_row, patterns.sum(axis=1)[of_row]))
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


def _children_first(children: Sequence[int]) -> list[int]:
    """Nodes in an order in which each follows its children."""
    found: list[int] = []
    done = 0
    while len(found) < len(children):
        for node, below in enumerate(children):
            if not done >> node & 1 and not below & ~done:
                found.append(node)
                done |= 1 << node
    return found


def _bits(flags: int) -> Iterator[int]:
    while flags:
        lowest = flags & -flags
        yield lowest.bit_length() - 1
        flags &= ~lowest


def _groups(codes: Positions, rows: Positions) -> Iterator[tuple[list[int], Positions]]:
    """Rows by the codes that they have."""
    if codes.shape[1] == 0:
        yield [], rows
        return
    values, of_row = np.unique(codes, axis=0, return_inverse=True)
    of_row = of_row.reshape(-1)
    order = np.argsort(of_row, kind="stable")
    starts = np.searchsorted(of_row[order], np.arange(len(values) + 1))
    for k, value in enumerate(values.tolist()):
        yield value, rows[order[starts[k] : starts[k + 1]]]


def _hole_classes(patterns: NDArray[np.bool_], of_row: Positions) -> tuple[HoleClass, ...]:
    """Sort rows by how many numbers they lack, and which."""
    found = []
    used, own = np.unique(of_row, return_inverse=True)
    own = own.reshape(-1)
    n_holes = patterns[used].sum(axis=1)
    for k in np.unique(n_holes).tolist():
        if k == 0:
            continue
        chosen = np.flatnonzero(n_holes == k)
        rank = np.full(len(used), -1, dtype=np.int64)
        rank[chosen] = np.arange(len(chosen))
        rows = np.flatnonzero(rank[own] >= 0)
        holes = np.nonzero(patterns[used[chosen]])[1].reshape(len(chosen), k)
        found.append(HoleClass(rows, holes.astype(np.int64), rank[own[rows]]))
    return tuple(found)
