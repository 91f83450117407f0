"""Standard errors of the cells of terms.

A maximum of the likelihood has the covariance I⁻¹, where the Fisher information I of the
coefficients is n times the covariance of the features (information.py); with s rows of smoothing it
is that of the smoothed estimate, n / (n + s)² times the inverse of that covariance. Pseudo-
likelihood is not the likelihood of the rows, so its estimate has the covariance H⁻¹ J H⁻¹ (Besag
1974; Varin, Reid & Firth 2011, section 2.3), where H is minus the second derivative and J adds up
the squared derivatives of single rows. Cells are linear in the coefficients, and so are the numbers
of the coding 01, whence their errors.

Where the maximum lies at infinity, only some directions are known; a cell that others move has no
error (NaN). Penalised estimates are biased by as much as they vary, and those of contrastive
divergence and of fits that did not converge are not maxima: they have none at all.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import Counter
from gml.errors import CannotAnswer, require_one_of
from gml.model.undirected.boundary.face import deviations, face_directions
from gml.model.undirected.coefficients import Coefficients, contrasts_of
from gml.model.undirected.fitting import Fitted, OutOfTime, Penalty
from gml.model.undirected.gauge import CODINGS, SUM_TO_ZERO, require_two_levels
from gml.model.undirected.pseudo.information import pseudo_information
from gml.model.undirected.quality.goodness import MAXIMUM_LIKELIHOOD, cells_seen
from gml.model.undirected.quality.information import (
    feature_covariance,
    log_tables,
    sampled_covariance,
)
from gml.model.undirected.terms import Scope, Terms
from gml.progress import Deadline, reporter

Table = NDArray[np.float64]

_KNOWN = 1e-7
_SINGULAR = 1e-12


def standard_errors(
    counter: Counter,
    terms: Terms,
    fitted: Fitted,
    penalty: Penalty,
    *,
    coding: str = SUM_TO_ZERO,
    max_memory: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    deadline: Deadline | None = None,
) -> list[Table]:
    """Return the standard error of each cell of each term; NaN where there is none.

    With the coding 01, those of the last cells; the other cells are 0 by definition.

    Examples
    --------
    >>> import gml
    >>> from gml.model.undirected.gauge import terms_of_tables
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv", columns=["smoke", "lung"]))
    >>> terms = Terms.of(counter.variables, [["lung", "smoke"]])
    >>> counts = np.array([[2475.0, 2268.0], [26.0, 231.0]])
    >>> tables = terms_of_tables(terms, {(0, 1): np.log(counts)})
    >>> fitted = Fitted(tables, "exact", "closed form", True, 1, 0.0, None)
    >>> errors = standard_errors(counter, terms, fitted, Penalty(), coding="01")
    >>> bool(np.isclose(errors[-1][1, 1], (1 / counts).sum() ** 0.5, rtol=1e-10))
    True
    """
    require_one_of("coding", coding, CODINGS)
    if coding != SUM_TO_ZERO:
        require_two_levels(terms)
    refused = _refused(fitted, penalty)
    if refused:
        return _none(terms, refused)
    try:
        found = _covariance(counter, terms, fitted, penalty, max_memory, seed, threads, deadline)
    except OutOfTime as error:
        return _none(terms, str(error))
    return _of_cells(terms, found) if coding == SUM_TO_ZERO else _of_zero_one(terms, found)


def intervals(table: Table, errors: Table, level: float = 0.95) -> Table:
    """Return the bounds of each cell, in a last axis, by the normal distribution.

    Examples
    --------
    >>> intervals(np.array([0.5]), np.array([0.1])).round(4).tolist()
    [[0.304, 0.696]]
    """
    reach = float(kernel.active().normal_quantile(np.array([(1 + level) / 2]))[0]) * errors
    return np.stack([table - reach, table + reach], axis=-1)


def _none(terms: Terms, reason: str) -> list[Table]:
    reporter().warn(f"no standard errors: {reason}")
    return [np.full(terms.shape(scope), np.nan) for scope in terms.all]


def _refused(fitted: Fitted, penalty: Penalty) -> str | None:
    """Why an estimate has no standard errors, if it has none."""
    if not fitted.converged:
        return "the fit did not converge"
    if penalty.l1 or penalty.l2:
        return "the estimate is penalised, and so biased"
    if fitted.method == "pl":
        return "smoothed pseudo-likelihood has none" if penalty.smoothing else None
    if fitted.method not in MAXIMUM_LIKELIHOOD:
        return f"an estimate by {fitted.method} is not a maximum of the likelihood"
    return None


class _Covariance(NamedTuple):
    """The covariance of the coefficients, and the directions about which nothing is known."""

    known: Table
    unknown: Table


def _covariance(
    counter: Counter,
    terms: Terms,
    fitted: Fitted,
    penalty: Penalty,
    max_memory: int | None,
    seed: int,
    threads: int | None,
    deadline: Deadline | None,
) -> _Covariance:
    scopes, tables = log_tables(terms, fitted)
    directions = np.eye(terms.dimension)
    if fitted.method == "pl":
        rows = cells_seen(counter, terms)
        if rows is None:
            raise CannotAnswer(
                f"{counter.where}: standard errors of a pseudo-likelihood need complete rows"
            )
        curvature, squares = pseudo_information(terms, scopes, tables, *rows, max_memory=max_memory)
        inverse, unknown = _inverse(curvature, directions)
        return _Covariance(inverse @ squares @ inverse, unknown)
    n = float(counter.n * counter.unit)
    try:
        covariance = feature_covariance(terms, scopes, tables, max_memory=max_memory)
        if fitted.supports:
            directions = face_directions(terms, fitted.supports, max_memory=max_memory)
    except CannotAnswer:
        if fitted.method == "exact":
            raise
        covariance = sampled_covariance(
            terms,
            scopes,
            tables,
            seed=seed,
            threads=threads,
            max_memory=max_memory,
            deadline=deadline,
        )
    inverse, unknown = _inverse(covariance, directions)
    return _Covariance(inverse * (n / (n + penalty.smoothing) ** 2), unknown)


def _inverse(matrix: Table, directions: Table) -> tuple[Table, Table]:
    """The inverse among some directions, and a basis of those where there is none."""
    inner = directions.T @ matrix @ directions
    scale = deviations(inner)
    values, vectors = np.linalg.eigh(inner / np.outer(scale, scale))
    kept = values > _SINGULAR * max(1.0, float(values.max(initial=0.0)))
    half = directions @ (vectors[:, kept] / scale[:, None]) / np.sqrt(values[kept])
    if half.shape[1] == len(matrix):
        return half @ half.T, np.zeros((len(matrix), 0))
    # A function of the parameters is known iff it lies in the range of the matrix.
    spanned = np.linalg.qr(directions @ (vectors[:, kept] * scale[:, None]))[0]
    left, sizes, _ = np.linalg.svd(np.eye(len(matrix)) - spanned @ spanned.T)
    return half @ half.T, left[:, sizes > 0.5]


def _errors(rows: Table, covariance: Table, unknown: Table) -> Table:
    """The standard errors of linear functions of parameters."""
    variances = np.einsum("ij,jk,ik->i", rows, covariance, rows, optimize=True)
    errors: Table = np.sqrt(np.maximum(variances, 0.0))
    if unknown.shape[1]:
        errors[np.abs(rows @ unknown).max(axis=1) > _KNOWN] = np.nan
    return errors


def _of_cells(terms: Terms, found: _Covariance) -> list[Table]:
    tables = []
    for scope, part in zip(terms.all, Coefficients(terms).slices, strict=True):
        shape = terms.shape(scope)
        errors = _errors(contrasts_of(shape), found.known[part, part], found.unknown[part])
        tables.append(errors.reshape(shape))
    return tables


def _of_zero_one(terms: Terms, found: _Covariance) -> list[Table]:
    """The errors of θ, each a sum of the last cells of the terms that contain its scope."""
    errors = _errors(_zero_one_rows(terms), found.known, found.unknown)
    tables = []
    for scope, error in zip(terms.all, errors.tolist(), strict=True):
        table = np.zeros(terms.shape(scope))
        table[(-1,) * len(scope)] = error
        tables.append(table)
    return tables


def _zero_one_rows(terms: Terms) -> Table:
    at: dict[Scope, int] = {scope: k for k, scope in enumerate(terms.all)}
    rows = np.zeros((len(terms.all), terms.dimension))
    for scope, part in zip(terms.all, Coefficients(terms).slices, strict=True):
        last = contrasts_of(terms.shape(scope))[-1]
        for size in range(1, len(scope) + 1):
            for subset in combinations(scope, size):
                rows[at[subset], part] = last * 2.0**size * (-1.0) ** (len(scope) - size)
    return rows
