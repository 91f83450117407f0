"""How many parameters incomplete rows can tell apart: the rank of the model.

A family that some rows observe as a whole is told by counts. What the others, those with hidden
nodes above all, contribute to the distribution of what is observed is differentiated: at tables
drawn at random, for each kind of part that rows leave open and values around it, listed or drawn,
the derivative of ln P(observed) by a probability θ is E[n]/θ. The rank of these rows, in changes
that keep distributions at sum 1, is that of the Jacobian at all but special tables. With fewer than
there are parameters the model is not identified: other tables fit exactly as well (Goodman 1974,
Biometrika 61:215: three classes and four items of two levels have 14 parameters, and rank 13).

Parts with a junction tree, and those beyond the 200 commonest kinds, are not differentiated: where
the others do not tell all parameters, these might, and the rank is not known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gml.data.name_keys import keys_of_names
from gml.kernel.family_layout import FamilyLayout, MissingParts
from gml.kernel.reference.expectation import posteriors
from gml.model.em.information import free_directions
from gml.model.em.score_rank import ScoreRank
from gml.model.em.table_layout import TableLayout, Vector
from gml.model.em.table_problem import TableProblem
from gml.resources import budget_in_force
from gml.stopping import check_stopped

MOST_DIRECTIONS = 1500
"""Free parameters of families that no row observes as a whole beyond which there is no rank."""
MOST_SHAPES = 200
"""Kinds of parts that are looked at; if they do not tell all parameters, others might."""
# Numbers that exist at once, in a few copies.
_BLOCK = 1 << 20
_LEAST_DRAWS = 256


def model_rank(problem: TableProblem, budget: int | None = None) -> int | None:
    """Return how many parameters can be told apart; None where that would take too long."""
    layout = problem.layout
    total = sum(
        (size - 1) * (len(layout.table(problem.available, node)))
        for node, size in enumerate(layout.sizes)
    )
    untold = [
        node
        for node, size in enumerate(layout.sizes)
        if size > 1 and not layout.table(problem.available, node).any()
    ]
    free = sum((layout.sizes[node] - 1) * len(_rows(layout, node)) for node in untold)
    if free == 0:
        return total
    if free > MOST_DIRECTIONS or 8 * (8 * free * free + 4 * _BLOCK) > budget_in_force(budget):
        return None
    tables = _drawn_tables(layout)
    cells, turn = _turn(layout, tables, untold, free)
    told = ScoreRank(free)
    lengths = turn**2
    parts = problem.parts.small
    rng = np.random.default_rng(keys_of_names(layout.names, 0, "rank of the model").reshape(-1))
    speaking = _speaking_shapes(parts, untold)
    rank = 0
    for shape in speaking[:MOST_SHAPES]:
        one = _with_values(layout.kernel, parts, shape, max(_LEAST_DRAWS, 4 * free), rng)
        for scores in _scores(layout.kernel, one, tables, cells):
            check_stopped()
            told.add(scores @ turn, (scores**2).sum(axis=0) @ lengths)
        rank = told.found()
        if rank == free:
            return total
    # What was left out might tell more.
    of_trees = {family for tree in problem.parts.large.trees for family in tree.families}
    if len(speaking) > MOST_SHAPES or not of_trees.isdisjoint(untold):
        return None
    return total - free + rank


def _rows(layout: TableLayout, node: int) -> range:
    starts = layout.kernel.table_starts
    return range(int(starts[node]), int(starts[node + 1]), layout.sizes[node])


def _drawn_tables(layout: TableLayout) -> Vector:
    found = np.empty(layout.kernel.n_cells)
    keys = keys_of_names(layout.names, 0, "tables at random")
    for node, key in enumerate(keys):
        table = layout.table(found, node)
        drawn = np.random.default_rng(key).uniform(0.2, 1.0, table.shape)
        table[:] = drawn / drawn.sum(axis=1, keepdims=True)
    return found


def _turn(
    layout: TableLayout, tables: Vector, nodes: list[int], free: int
) -> tuple[NDArray[np.int64], Vector]:
    """The cells of some tables, and from derivatives by these to those by free directions."""
    starts = layout.kernel.table_starts
    cells = np.concatenate([np.arange(starts[node], starts[node + 1]) for node in nodes])
    found = np.zeros((len(cells), free))
    row, at = 0, 0
    for node in nodes:
        size = layout.sizes[node]
        for first in _rows(layout, node):
            own = free_directions(tables[first : first + size])
            found[row : row + size, at : at + size - 1] = own
            row, at = row + size, at + size - 1
    return cells, found


def _speaking_shapes(parts: MissingParts, nodes: list[int]) -> list[int]:
    """The shapes with a family of these nodes, those that most rows have first."""
    wanted = set(nodes)
    found = []
    for shape in range(parts.n_shapes):
        run = slice(int(parts.family_starts[shape]), int(parts.family_starts[shape + 1]))
        if not wanted.isdisjoint(parts.families[run].tolist()):
            asked = slice(int(parts.question_starts[shape]), int(parts.question_starts[shape + 1]))
            found.append((-int(parts.weights[asked].sum()), shape))
    return [shape for _, shape in sorted(found)]


def _scores(
    layout: FamilyLayout, one: MissingParts, tables: Vector, cells: NDArray[np.int64]
) -> Iterator[Vector]:
    """Derivatives of ln P of each question of a shape by some cells, in blocks of questions."""
    place = np.full(len(tables), -1, dtype=np.int64)
    place[cells] = np.arange(len(cells))
    n_families = len(one.families)
    states = math.prod(layout.sizes[one.nodes].tolist())
    step = max(1, _BLOCK // max(len(cells), n_families * states))
    bases = one.bases.astype(np.int64).reshape(-1, n_families)
    for begin in range(0, len(bases), step):
        some = _one_shape(one.nodes, one.families, bases[begin : begin + step])
        asked, shares, _ = posteriors(layout, some, 0, tables)
        at = place[asked]
        rows = np.broadcast_to(np.arange(len(at))[:, None, None], at.shape)
        weighed = np.broadcast_to(shares[:, None], at.shape)
        told = at >= 0
        found = np.zeros((len(at), len(cells)))
        np.add.at(found, (rows[told], at[told]), weighed[told])
        yield found / tables[cells]


def _with_values(
    layout: FamilyLayout, parts: MissingParts, shape: int, most: int, rng: np.random.Generator
) -> MissingParts:
    """The shape alone, asked with all values around its missing nodes, or as many drawn ones."""
    nodes = parts.nodes[parts.node_starts[shape] : parts.node_starts[shape + 1]]
    families = parts.families[parts.family_starts[shape] : parts.family_starts[shape + 1]]
    runs = [range(int(layout.member_starts[f]), int(layout.member_starts[f + 1])) for f in families]
    missing = set(nodes.tolist())
    around = sorted({int(layout.members[m]) for run in runs for m in run} - missing)
    sizes = [int(layout.sizes[node]) for node in around]
    if math.prod(sizes) <= most:
        listed = np.indices(sizes).reshape(len(sizes), math.prod(sizes))
    else:
        listed = np.stack([rng.integers(0, size, most) for size in sizes])
    column = {node: k for k, node in enumerate(around)}
    bases = np.empty((listed.shape[1], len(families)), dtype=np.int64)
    for k, (family, run) in enumerate(zip(families.tolist(), runs, strict=True)):
        bases[:, k] = layout.table_starts[family]
        for m in run:
            node = int(layout.members[m])
            if node in column:
                bases[:, k] += layout.strides[m] * listed[column[node]]
    return _one_shape(nodes, families, bases)


def _one_shape(
    nodes: NDArray[np.int32], families: NDArray[np.int32], bases: NDArray[np.int64]
) -> MissingParts:
    n = len(bases)

    def ends(length: int) -> NDArray[np.int64]:
        return np.array([0, length], dtype=np.int64)

    return MissingParts(
        ends(len(nodes)),
        nodes,
        ends(len(families)),
        families,
        ends(n),
        ends(bases.size),
        bases.astype(np.int32).reshape(-1),
        np.ones(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
    )
