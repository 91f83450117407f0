"""Where climbs on tables start: from what is available, and at random around that.

Without hidden nodes the first start is the estimate from the rows that observe each family, with
one pseudo-count spread over each distribution, so that nothing is 0. Every other one multiplies
the cells of a centre by draws of an exponential distribution and divides each row by its sum, which
is a draw of Dirichlet(1) where the centre is uniform. The centre is that estimate or, for a family
with a hidden node or never seen together, the margin of the child. A draw depends on the seed, the
number of the start and the name of the node, not on anything's place.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gml.data.name_keys import keys_of_names
from gml.model.em.table_layout import Vector
from gml.model.em.table_problem import TableProblem

_LEAST = 1e-6


def starts(problem: TableProblem, n_starts: int, seed: int) -> Iterator[Vector]:
    """Yield vectors of tables, all positive."""
    centre = _centre(problem)
    first = 0
    if not problem.layout.hidden:
        yield centre
        first = 1
    for number in range(first, n_starts):
        yield _drawn(problem, centre, number, seed)


def _centre(problem: TableProblem) -> Vector:
    layout = problem.layout
    found = np.empty(layout.kernel.n_cells)
    for node, size in enumerate(layout.sizes):
        counts = layout.table(problem.available, node).astype(np.float64)
        table = layout.table(found, node)
        if not counts.any():
            counts = counts + _margin(problem, node)
        table[:] = (counts + 1 / size) / (counts.sum(axis=1, keepdims=True) + 1)
    return found


def _margin(problem: TableProblem, node: int) -> Vector:
    """Rows by level of a node; zeros for a hidden one."""
    layout, data = problem.layout, problem.data
    size = layout.sizes[node]
    if node in layout.hidden:
        return np.zeros(size)
    column = data.columns[data.index(layout.names[node])]
    weights = None if data.weights is None else data.weights.astype(np.float64)
    return np.bincount(column, weights, minlength=size)[:size].astype(np.float64)


def _drawn(problem: TableProblem, centre: Vector, number: int, seed: int) -> Vector:
    layout = problem.layout
    found = np.empty(len(centre))
    keys = keys_of_names(layout.names, seed, f"start {number} of EM")
    for node, key in enumerate(keys):
        rng = np.random.default_rng(key)
        table = layout.table(centre, node)
        drawn = np.maximum(table * rng.standard_exponential(table.shape), _LEAST)
        layout.table(found, node)[:] = drawn / drawn.sum(axis=1, keepdims=True)
    return found
