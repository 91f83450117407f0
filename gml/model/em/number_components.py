"""What has to be worked out for rows with holes, so that equal work is done once.

In a row, the nodes that were not seen fall into components: two of them belong together if some
family has both. Given what was seen, components are independent, and each needs the values of its
families only; families that were seen whole are summed once and for all. Within a component the
labels are enumerated together, childless ones excepted (their expected counts are those of their
parents times their table), and given these all its numbers are normal.

A node that was not seen, with nothing seen below it, does not matter for what was seen: it is left
out with its family, row by row. The likelihood is the same, less is missing, and so EM takes fewer
steps to the same place (Meng & van Dyk 1997, JRSS B 59:511). Sums that say how rows would fall if
they were complete include such families (`keep_barren`). Who asks for the joint distribution of
what a row lacks has childless labels enumerated as well (`leaves_apart=False`), and may leave out
rows with a component of too many configurations.

In a network of numbers alone, if it is not large, the holes of a row are taken together where that
makes fewer groups of rows: there is nothing to enumerate, and the larger are the products of
matrices.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.row_groups import distinct_patterns, rows_by_group
from gml.model.em.number_blocks import Block, Blocks, Touched
from gml.model.em.number_families import Families
from gml.model.em.number_rows import MISSING, NumberRows
from gml.stopping import check_stopped

# With so many numbers or fewer, the holes of a row without labels may be taken together.
_FEW_NUMBERS = 64
# So many groups take less time than what could be saved by having fewer.
_FEW_GROUPS = 64
_MANY_GROUPS = 1000


class Work(NamedTuple):
    """All blocks, and in which rows each family was seen whole, by patterns of holes."""

    blocks: tuple[Block, ...]
    of_row: NDArray[np.signedinteger[Any]]
    """The pattern of each row."""
    whole: NDArray[np.bool_]
    """Whether a family was seen whole and is in no block: nodes × patterns, numbers first."""
    left_out: NDArray[np.bool_]
    """Patterns with a component of too many configurations, which is in no block."""


def work_of(
    families: Families,
    rows: NumberRows,
    *,
    keep_barren: bool = False,
    leaves_apart: bool = True,
    most_configs: int | None = None,
    max_memory: int | None = None,
) -> Work:
    """Plan the E-steps for some rows."""
    plan = _Plan(families, leaves_apart)
    unseen = np.hstack([~rows.seen, rows.codes == MISSING])
    patterns, of_row = distinct_patterns(unseen)
    kinds = plan.kinds(
        [sum(1 << k for k in np.flatnonzero(pattern).tolist()) for pattern in patterns],
        keep_barren=keep_barren,
    )
    del unseen
    by_pattern = rows_by_group(of_row, len(patterns))
    cut = Blocks(families, rows)
    blocks: list[Block] = []
    left_out = np.zeros(len(patterns), dtype=bool)
    for touched in sorted(kinds):
        if most_configs is not None and plan.n_configs(touched) > most_configs:
            left_out[kinds[touched]] = True
            continue
        own = np.concatenate([by_pattern[k] for k in kinds[touched]])
        blocks += cut.of(touched, np.sort(own), max_memory)
    whole = np.array(
        [~patterns[:, plan.members(k)].any(axis=1) for k in range(patterns.shape[1])], dtype=bool
    )
    for touched, numbers in kinds.items():
        # Families that were seen whole may be part of a component, and then count there.
        whole[np.ix_(plan.nodes(touched), numbers)] = False
    return Work(tuple(blocks), of_row, whole, left_out)


class _Plan:
    """Finds components, with nodes as bits: numbers first, then labels."""

    def __init__(self, families: Families, leaves_apart: bool) -> None:
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
        self._childless = sum(
            1 << (shift + k) for k in range(len(self._sizes)) if leaves_apart and k not in parents
        )
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

    def n_configs(self, touched: Touched) -> int:
        """How many configurations of its labels a component has."""
        return math.prod(self._sizes[k] for k in touched.labels)

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
