"""The tables of a network end to end, and what incomplete rows ask of them.

What a row does not observe falls into parts that meet in no family: the missing nodes of a part,
and the families in which they are. Rows whose parts are alike in that and in the values around them
ask the same of the tables, so each such question is kept once, with its weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class FamilyLayout(NamedTuple):
    """Family f is node f and its parents; its table is a run of cells, the last member fastest."""

    sizes: NDArray[np.int32]
    """Levels of each node."""
    member_starts: NDArray[np.int64]
    members: NDArray[np.int32]
    """The nodes of family f are members[member_starts[f]:member_starts[f + 1]], the child last."""
    strides: NDArray[np.int64]
    """How far apart the cells of neighbouring levels are, for each of the members."""
    table_starts: NDArray[np.int64]
    """Where each table begins; the last number is how many cells there are."""
    order: NDArray[np.int32]
    """The nodes, parents before children."""

    @property
    def n_cells(self) -> int:
        """Cells of all tables."""
        return int(self.table_starts[-1])


class MissingParts(NamedTuple):
    """The distinct questions of incomplete rows, sorted by what they ask, not by who asks.

    Shape p has some missing nodes and families; its questions differ in the values around them: the
    first cells of its families, where the levels of missing nodes are 0.
    """

    node_starts: NDArray[np.int64]
    nodes: NDArray[np.int32]
    family_starts: NDArray[np.int64]
    families: NDArray[np.int32]
    question_starts: NDArray[np.int64]
    """The questions of shape p are those from question_starts[p] to question_starts[p + 1]."""
    base_starts: NDArray[np.int64]
    bases: NDArray[np.int32]
    """The first cells, question after question: one number per family of the shape."""
    weights: NDArray[np.int64]
    first_rows: NDArray[np.int64]
    """The first row that asks each question."""

    @property
    def n_shapes(self) -> int:
        """How many kinds of questions there are."""
        return len(self.node_starts) - 1

    @property
    def n_questions(self) -> int:
        """How many distinct questions there are."""
        return len(self.weights)


class Expectation(NamedTuple):
    """The log-likelihood of some questions, and the first of them that is impossible, or -1."""

    log_likelihood: float
    impossible: int


CROSSED, DRAWN, TOO_LARGE, IMPOSSIBLE = range(4)
"""What became of a row that was completed, as completion.h numbers it."""


class CompleteRows(NamedTuple):
    """The ways in which rows may be complete, row after row.

    All states where a row has at most so many points, otherwise that many draws; a row with a part
    of too many states, or of probability 0, has none.
    """

    points: NDArray[np.int32]
    """The level of every node: points × nodes."""
    weights: NDArray[np.float64]
    """Those of a row add up to 1."""
    n_points: NDArray[np.int64]
    became: NDArray[np.uint8]
