"""Expected counts of parts with too many states to enumerate: a junction tree for each shape.

The missing nodes of a shape are eliminated one by one, and a pass back gives the posterior of every
clique, and so of every family, once per question. What doubles cannot hold is done in logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.kernel.family_layout import Expectation, FamilyLayout, MissingParts
from gml.kernel.layout import STEP_SUM
from gml.model.elimination_steps import Steps, compiled_steps
from gml.model.em.table_layout import Vector
from gml.model.flat_tables import logarithms
from gml.model.junction_tree import build_tree
from gml.resources import require_memory
from gml.stopping import check_stopped

MOST_STATES = 512
"""States of the missing nodes of a part beyond which they are eliminated, not enumerated."""


@dataclass(frozen=True)
class ShapeTree:
    """The junction tree of a shape, and its questions."""

    steps: Steps
    program: Any
    n_nodes: int
    families: tuple[int, ...]
    bases: NDArray[np.int64]
    weights: Vector
    first_rows: NDArray[np.int64]
    offsets: NDArray[np.int64]
    most_levels: int

    @property
    def work(self) -> int:
        """About how many numbers are looked at."""
        return len(self.bases) * self.steps.room

    def expect(self, tables: Vector, counts: Vector) -> tuple[float, int]:
        """Add expected counts; ln of the probability of all questions, and an impossible one."""
        log_p = np.zeros(len(self.bases))
        out = np.empty(self.most_levels)
        self.program.expectations(
            tables, self.bases, self.weights, self.offsets, out, counts, log_p
        )
        for k in np.flatnonzero(log_p == -math.inf).tolist():
            some = slice(k, k + 1)
            self._in_logarithms().expectations(
                logarithms(tables),
                self.bases[some],
                self.weights[some],
                self.offsets,
                out,
                counts,
                log_p[some],
            )
            if log_p[k] == -math.inf:
                return -math.inf, k
        return float((self.weights * log_p).sum()), -1

    def _in_logarithms(self) -> Any:
        # Seldom needed, and it brings the whole reference kernel.
        from gml.model.log_elimination import LogElimination

        steps = self.steps
        return LogElimination(steps.code, steps.starts, steps.room, self.n_nodes)


@dataclass(frozen=True)
class LargeParts:
    """The shapes with many states."""

    trees: tuple[ShapeTree, ...]

    def blocks(self, n_blocks: int, least: int) -> list[tuple[ShapeTree, ...]]:
        """Cut the shapes into runs of about equal work."""
        work = np.cumsum([tree.work for tree in self.trees])
        total = int(work[-1]) if len(work) else 0
        number = min(n_blocks, total // least + 1)
        cuts = np.searchsorted(work, [total * k / number for k in range(1, number)]).tolist()
        return [self.trees[a:b] for a, b in pairwise([0, *cuts, len(self.trees)]) if a < b]


def expect_trees(trees: tuple[ShapeTree, ...], tables: Vector, counts: Vector) -> Expectation:
    """Add the expected counts of some shapes; what is impossible is named by its row."""
    total = 0.0
    for tree in trees:
        log_p, impossible = tree.expect(tables, counts)
        if impossible >= 0:
            return Expectation(-math.inf, int(tree.first_rows[impossible]))
        total += log_p
    return Expectation(total, -1)


def split_parts(
    layout: FamilyLayout, parts: MissingParts, names: tuple[str, ...], budget: int
) -> tuple[MissingParts, LargeParts]:
    """Separate the shapes that are enumerated from those with a junction tree."""
    states = states_of(layout, parts)
    large = np.flatnonzero(states > MOST_STATES)
    if not len(large):
        return parts, LargeParts(())
    trees = tuple(_trees(layout, parts, large.tolist(), names, budget))
    return _chosen(parts, states <= MOST_STATES), LargeParts(trees)


def states_of(layout: FamilyLayout, parts: MissingParts) -> Vector:
    """How many states the missing nodes of each shape have."""
    sizes = layout.sizes[parts.nodes].astype(np.float64)
    if not len(sizes):
        return np.zeros(0)
    found: Vector = np.multiply.reduceat(sizes, parts.node_starts[:-1])
    return found


def _trees(
    layout: FamilyLayout,
    parts: MissingParts,
    shapes: list[int],
    names: tuple[str, ...],
    budget: int,
) -> Iterator[ShapeTree]:
    sizes = layout.sizes.tolist()
    taken = 0
    for shape in shapes:
        check_stopped()
        nodes = parts.nodes[parts.node_starts[shape] : parts.node_starts[shape + 1]].tolist()
        run = slice(int(parts.family_starts[shape]), int(parts.family_starts[shape + 1]))
        families = parts.families[run].tolist()
        inside = set(nodes)
        factors = []
        for family in families:
            members = range(
                int(layout.member_starts[family]), int(layout.member_starts[family + 1])
            )
            factors.append(
                [
                    (int(layout.members[m]), int(layout.strides[m]))
                    for m in members
                    if int(layout.members[m]) in inside
                ]
            )
        tree = build_tree([[node for node, _ in factor] for factor in factors], sizes, [nodes])
        tree.require_room(names, budget - taken)
        steps = compiled_steps(tree, factors, [STEP_SUM] * len(tree.cliques))
        asked = slice(int(parts.question_starts[shape]), int(parts.question_starts[shape + 1]))
        bases = parts.bases[int(parts.base_starts[shape]) : int(parts.base_starts[shape + 1])]
        taken += 8 * (steps.room + len(steps.code) + len(bases) + 2 * (asked.stop - asked.start))
        require_memory(taken, budget, "the junction trees of incomplete rows")
        yield ShapeTree(
            steps,
            kernel.active().Elimination(steps.code, steps.starts, steps.room, len(sizes)),
            len(sizes),
            tuple(families),
            bases.reshape(-1, len(families)).astype(np.int64),
            parts.weights[asked].astype(np.float64),
            parts.first_rows[asked],
            np.zeros(len(tree.cliques), dtype=np.int64),
            max(sizes[node] for node in nodes),
        )


def _chosen(parts: MissingParts, keep: NDArray[np.bool_]) -> MissingParts:
    """The parts of some shapes only."""

    def starts(old: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        lengths = np.diff(old)
        ends: NDArray[np.int64] = np.cumsum([0, *lengths[keep].tolist()], dtype=np.int64)
        return ends, np.repeat(keep, lengths)

    node_starts, nodes = starts(parts.node_starts)
    family_starts, families = starts(parts.family_starts)
    question_starts, questions = starts(parts.question_starts)
    base_starts, bases = starts(parts.base_starts)
    return MissingParts(
        node_starts,
        parts.nodes[nodes],
        family_starts,
        parts.families[families],
        question_starts,
        base_starts,
        parts.bases[bases],
        parts.weights[questions],
        parts.first_rows[questions],
    )
