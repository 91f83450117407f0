"""The curvature of the joint pseudo-likelihood, and the spread of its derivative over rows.

The pseudo-likelihood is Σ over rows and variables of ln p(x_i | all others) (Besag 1975). Its
second derivative is minus the sum of the covariances of the features within these conditional
distributions; its derivative by a row is the sum of what the features exceed their means by.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.model.undirected.coefficients import Coefficients, contrasts_of
from gml.model.undirected.terms import Scope, Terms
from gml.progress import reporter
from gml.resources import require_memory
from gml.stopping import check_stopped

Table = NDArray[np.float64]

_BLOCK_NUMBERS = 1 << 22
_MOST_GROUPS = 1 << 40


def pseudo_information(
    terms: Terms,
    scopes: Sequence[Scope],
    tables: Sequence[Table],
    codes: NDArray[np.intp],
    counts: Table,
    *,
    max_memory: int | None = None,
) -> tuple[Table, Table]:
    """Return H and J of the coefficients, given distinct rows (variables × rows) and counts."""
    coefficients = Coefficients(terms)
    d = coefficients.size
    require_memory(8 * 4 * d**2, max_memory, "the covariance of the model's terms")
    curvature, squares = np.zeros((d, d)), np.zeros((d, d))
    # Sums of numbers that are not whole depend on their order, and no order of rows may show.
    order = np.lexsort(codes[::-1])
    codes, counts = codes[:, order], counts[order]
    step = max(1, _BLOCK_NUMBERS // max(1, d))
    with reporter().counting("sandwich of terms", len(counts)) as count:
        for start in range(0, len(counts), step):
            block = codes[:, start : start + step]
            weights = counts[start : start + step]
            scores = np.zeros((block.shape[1], d))
            for k, size in enumerate(terms.sizes):
                check_stopped()
                if size > 1:
                    _add_node(coefficients, scopes, tables, k, block, weights, scores, curvature)
            squares += (weights[:, None] * scores).T @ scores
            count(min(start + step, len(counts)))
    return curvature, squares


def _add_node(
    coefficients: Coefficients,
    scopes: Sequence[Scope],
    tables: Sequence[Table],
    k: int,
    codes: NDArray[np.intp],
    weights: Table,
    scores: Table,
    curvature: Table,
) -> None:
    """Add what one variable given all others has to say.

    That depends only on the variables that share a table with it, so rows that agree in these are
    taken together.
    """
    terms = coefficients.terms
    touching = sorted({j for scope in (*terms.all, *scopes) if k in scope for j in scope})
    groups = _groups(codes, touching, terms.sizes)
    firsts, of_row = np.unique(groups, return_index=True, return_inverse=True)[1:]
    weights = np.bincount(of_row, weights=weights, minlength=len(firsts)).astype(np.float64)
    codes = codes[:, firsts]
    n_rows, size = len(firsts), terms.sizes[k]
    own = [(c, part) for c, part in zip(terms.all, coefficients.slices, strict=True) if k in c]
    columns = np.concatenate([np.arange(part.start, part.stop) for _, part in own])
    logs = np.zeros((size, n_rows))
    features = np.empty((size, n_rows, len(columns)))
    for level in range(size):
        moved = codes.copy()
        moved[k] = level
        for scope, table in zip(scopes, tables, strict=True):
            if k in scope:
                logs[level] += table[tuple(moved[j] for j in scope)]
        at = 0
        for scope, part in own:
            cells = np.ravel_multi_index(tuple(moved[j] for j in scope), terms.shape(scope))
            width = part.stop - part.start
            features[level, :, at : at + width] = contrasts_of(terms.shape(scope))[cells]
            at += width
    shares = np.exp(logs - logs.max(axis=0))
    shares /= shares.sum(axis=0)
    features -= np.einsum("lr,lrf->rf", shares, features)
    scores[:, columns] += features[codes[k], np.arange(n_rows)][of_row]
    flat = features.reshape(-1, len(columns))
    curvature[np.ix_(columns, columns)] += ((weights * shares).reshape(-1, 1) * flat).T @ flat


def _groups(
    codes: NDArray[np.intp], columns: Sequence[int], sizes: Sequence[int]
) -> NDArray[np.int64]:
    """Return a number for each row, the same for rows that agree in some columns."""
    found, bound = np.zeros(codes.shape[1], dtype=np.int64), 1
    for k in columns:
        if bound * sizes[k] > _MOST_GROUPS:
            found = np.unique(found, return_inverse=True)[1].astype(np.int64)
            bound = codes.shape[1]
        found = found * sizes[k] + codes[k]
        bound *= sizes[k]
    return found
