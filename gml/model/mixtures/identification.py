"""Whether the labels can tell the classes: the rank of a latent class model, and its fit.

A model of labels alone says of each cell of their table how probable it is. The rank of the
Jacobian of these probabilities is the dimension of the model (Goodman 1974, Biometrika 61:215):
where it is below the number of parameters, other parameters give the same probabilities. It is that
of the network in which the class is a hidden parent of all labels.

Mixtures of normal distributions are identified (Yakowitz & Spragins 1968, Ann. Math. Stat. 39:209),
and with them the tables of labels given the classes that numbers tell apart.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset, Variable, code_type
from gml.graph.graph import Graph
from gml.model.em.identification import MOST_DIRECTIONS, model_rank
from gml.model.em.table_fitting import table_problem
from gml.model.mixtures.rows import MixtureRows

Vector = NDArray[np.float64]

_CLASS = "class"


class TableFit(NamedTuple):
    """How well a latent class model fits the table of its labels."""

    g2: float | None
    """2 Σ observed · ln(observed / expected); None where labels are missing."""
    df: int | None
    """Cells − 1 − rank; None where the rank is not known."""
    cells: int
    is_sufficient: bool
    """Whether there are at least as many rows as cells."""


def generic_rank(labels: tuple[Variable, ...], n_classes: int) -> int | None:
    """Return the rank of a latent class model; None where there are too many parameters.

    Examples
    --------
    >>> items = tuple(Variable(name, ("n", "y")) for name in "ABCD")
    >>> generic_rank(items, 2), generic_rank(items, 3)
    (9, 13)
    """
    sizes = [len(variable.levels or ()) for variable in labels]
    if n_classes - 1 + n_classes * sum(size - 1 for size in sizes) > MOST_DIRECTIONS:
        return None
    # The names say nothing, so that none of them is that of the class.
    items = [replace(variable, name=str(j)) for j, variable in enumerate(labels)]
    graph = Graph.from_edges(
        [_CLASS, *(item.name for item in items)], [(_CLASS, "-->", item.name) for item in items]
    )
    # What a model can tell does not depend on rows, if some row has all items.
    row = Dataset(tuple(items), tuple(np.zeros(1, dtype=code_type(size)) for size in sizes))
    return model_rank(table_problem(graph, row, hidden={_CLASS: n_classes}, alpha=None))


def table_fit(rows: MixtureRows, log_densities: Vector, rank: int | None) -> TableFit:
    """Compare the table of labels with what a model expects of it, row by distinct row."""
    cells = math.prod(len(variable.levels or ()) for variable in rows.labels)
    g2 = None
    if not rows.has_holes:
        there = rows.weights > 0
        seen = rows.weights[there]
        terms = seen * (np.log(seen / rows.n) - log_densities[there])
        g2 = max(0.0, 2 * math.fsum(terms.tolist()))
    df = None if rank is None else cells - 1 - rank
    return TableFit(g2, df, cells, cells <= rows.n)
