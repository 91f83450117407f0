"""Whether the labels can tell the classes: the rank of a latent class model, and its fit.

A model of labels alone says of each cell of their table how probable it is. The rank of the
Jacobian of these probabilities is the dimension of the model (Goodman 1974, Biometrika 61:215):
where it is below the number of parameters, other parameters give the same probabilities. It is
taken at parameters drawn at random, where it is the same almost surely: at the estimate it may be
less, as probabilities of 0 or 1 hide others. Of a large table, some cells are drawn, more than
there are parameters.

Mixtures of normal distributions are identified (Yakowitz & Spragins 1968, Ann. Math. Stat. 39:209),
and with them the tables of labels given the classes that numbers tell apart.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.model.mixtures.rows import MixtureRows

Vector = NDArray[np.float64]

_MOST_PARAMETERS = 1500
_ALL_CELLS = 4096
# Singular values below this share of the largest are 0.
_RANK_TOLERANCE = 1e-9
# Of numbers that cancel, so much is left.
_ROUNDING = 1e-12


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
    n_parameters = n_classes - 1 + n_classes * sum(size - 1 for size in sizes)
    if n_parameters > _MOST_PARAMETERS:
        return None
    rng = np.random.default_rng(0)
    shares = 0.5 / n_classes + 0.5 * rng.dirichlet(np.ones(n_classes))
    tables = [0.3 / size + 0.7 * rng.dirichlet(np.ones(size), n_classes) for size in sizes]
    cells = _cells(sizes, n_parameters, rng)
    logs = np.log(shares) + sum(
        (np.log(table)[:, cells[:, j]].T for j, table in enumerate(tables)),
        np.zeros((len(cells), n_classes)),
    )
    posterior = np.exp(logs - logs.max(axis=1, keepdims=True))
    posterior /= posterior.sum(axis=1, keepdims=True)
    # Of ln of the probabilities, so that all cells weigh alike.
    by_share = posterior / shares
    columns = [by_share[:, :-1] - by_share[:, -1:]]
    for j, (size, table) in enumerate(zip(sizes, tables, strict=True)):
        at = cells[:, j, None]
        for level in range(1, size):
            columns.append(posterior * ((at == level) / table[:, level] - (at == 0) / table[:, 0]))
    jacobian = np.concatenate(columns, axis=1)
    if jacobian.size == 0:
        return 0
    jacobian *= np.exp(0.5 * (logs.max(axis=1, keepdims=True) - logs.max()))
    lengths = np.linalg.norm(jacobian, axis=0)
    # What two classes say alike, as they do of columns that are constant, cancels but for rounding.
    told = lengths > _ROUNDING * math.sqrt(len(jacobian)) / shares.min()
    if not told.any():
        return 0
    jacobian = jacobian[:, told] / lengths[told]
    singular = np.linalg.svd(jacobian, compute_uv=False)
    return int(np.count_nonzero(singular > _RANK_TOLERANCE * singular[0]))


def _cells(sizes: list[int], n_parameters: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """All cells of a table, or more than there are parameters."""
    n_cells = math.prod(sizes)
    if n_cells <= max(_ALL_CELLS, 2 * n_parameters):
        return np.indices(sizes).reshape(len(sizes), -1).T
    count = 3 * n_parameters + 100
    drawn = np.column_stack([rng.integers(size, size=count) for size in sizes])
    # As np.unique does, which would load masked arrays first.
    drawn = drawn[np.lexsort(drawn.T[::-1])]
    is_new = np.ones(count, dtype=bool)
    is_new[1:] = (drawn[1:] != drawn[:-1]).any(axis=1)
    return drawn[is_new]


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
