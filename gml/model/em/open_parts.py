"""What the rows of a table leave open, and the expected counts of that, in blocks of work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.dataset import Dataset
from gml.kernel.family_layout import Expectation, FamilyLayout, MissingParts
from gml.model.em.large_parts import LargeParts, ShapeTree, expect_trees, split_parts, states_of
from gml.model.em.table_layout import TableLayout, Vector
from gml.resources import budget_in_force, format_size, refuse_memory

# Cells that questions speak of, from which a block for another thread pays off.
_BLOCK_WORK = 1 << 17
_MOST_BLOCKS = 8
# An E-step that looks at fewer is over before threads have begun; a number of a tree takes longer.
_THREAD_WORK = 1 << 21
_TREE_PRICE = 16

Work = Callable[[Vector], tuple[Expectation, Vector]]
"""From tables to the likelihood (or the row that is impossible), and expected counts."""


@dataclass(frozen=True)
class OpenParts:
    """Questions that are enumerated, and those that have junction trees."""

    small: MissingParts
    large: LargeParts
    states: NDArray[np.int64]
    """States of the missing nodes of each shape that is enumerated."""

    @property
    def is_empty(self) -> bool:
        """Whether the rows leave nothing open."""
        return self.small.n_questions == 0 and not self.large.trees

    @cached_property
    def is_worth_threads(self) -> bool:
        """Whether an E-step takes so long that threads pay off."""
        in_trees = sum(tree.work for tree in self.large.trees)
        return self.n_cells + _TREE_PRICE * in_trees >= _THREAD_WORK

    def work(self, layout: TableLayout) -> list[Work]:
        """The E-step in blocks, which depend on the questions alone."""
        least = max(_BLOCK_WORK, layout.kernel.n_cells)
        return [
            *(partial(_enumerated, layout.kernel, self.small, span) for span in self._spans(least)),
            *(partial(_eliminated, trees) for trees in self.large.blocks(_MOST_BLOCKS, 8 * least)),
        ]

    def _spans(self, least: int) -> list[tuple[int, int]]:
        """Cut questions into spans of about equal work."""
        return self._cut(min(_MOST_BLOCKS, self.n_cells // least + 1))

    def _cut(self, number: int) -> list[tuple[int, int]]:
        cuts = np.searchsorted(
            self._done, [self.n_cells * k / number for k in range(1, number)]
        ).tolist()
        return [(a, b) for a, b in pairwise([0, *cuts, self.small.n_questions]) if a < b]

    @cached_property
    def _done(self) -> NDArray[np.int64]:
        """Cells that are looked at up to each question."""
        families = np.diff(self.small.family_starts)
        per_question = np.repeat(self.states * families, np.diff(self.small.question_starts))
        done: NDArray[np.int64] = np.cumsum(per_question)
        return done

    @property
    def n_cells(self) -> int:
        """Cells that enumeration looks at."""
        return int(self._done[-1]) if len(self._done) else 0


def _enumerated(
    layout: FamilyLayout, parts: MissingParts, span: tuple[int, int], at: Vector
) -> tuple[Expectation, Vector]:
    counts = np.zeros(len(at))
    found = kernel.active().expected_counts(layout, parts, *span, at, counts)
    if found.impossible >= 0:
        found = found._replace(impossible=int(parts.first_rows[found.impossible]))
    return found, counts


def _eliminated(trees: tuple[ShapeTree, ...], at: Vector) -> tuple[Expectation, Vector]:
    counts = np.zeros(len(at))
    return expect_trees(trees, at, counts), counts


def open_parts(
    layout: TableLayout, data: Dataset, *, keep_barren: bool = False, budget: int | None = None
) -> OpenParts:
    """Collect what the rows of a table leave open.

    Missing nodes below which nothing is observed are left out unless `keep_barren`.
    """
    columns: list[NDArray[Any] | None] = [
        None if node in layout.hidden else data.columns[data.index(name)]
        for node, name in enumerate(layout.names)
    ]
    room = budget_in_force(budget)
    found = kernel.active().missing_parts(
        layout.kernel, columns, data.weights, data.n_rows, keep_barren, room
    )
    if found is None:
        refuse_memory(f"over {format_size(room)}", room, "what incomplete rows leave open")
    small, large = split_parts(layout.kernel, found, layout.names, room)
    return OpenParts(small, large, states_of(layout.kernel, small).astype(np.int64))
