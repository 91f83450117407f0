"""How well a fitted model describes the data.

G² = 2 Σ n ln (n / N p̂) and X² = Σ (n − N p̂)² / N p̂ compare with the saturated model (Agresti 2013,
section 9.2). Neither needs the joint table: cells that no row is in add nothing to G², and to X²
together N (1 − Σ p̂) over the cells seen. The degrees of freedom are the cells with p̂ > 0, less 1,
less the rank of the model's features on them, which without fitted zeros is its dimension.

ln Z and the entropy come from the junction tree; where that takes more than the budget, ln Z comes
from annealed importance sampling, and is not known if too few samples count, while the entropy is
not known. aic and bic are those of a maximum of the likelihood, so pseudo-likelihood, penalties and
fits that did not converge have none, nor p-values. A p-value needs at least a row per cell.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import Counter, TableSet, rows_counted
from gml.data.row_groups import equal_rows
from gml.errors import CannotAnswer, counted, quote
from gml.model.undirected.boundary.cliques_of_cells import excluded_cells
from gml.model.undirected.boundary.face import cells_of_face, face_directions
from gml.model.undirected.exact.clique_margins import CliqueMargins
from gml.model.undirected.fitting import Fitted, OutOfTime, Penalty
from gml.model.undirected.observed import observed_margins
from gml.model.undirected.quality.information import log_tables
from gml.model.undirected.quality.summary import FitSummary
from gml.model.undirected.terms import Scope, Terms
from gml.progress import Deadline, reporter

ENUMERABLE = 10_000_000
"""The most cells of a joint table whose degrees of freedom are counted."""
MAXIMUM_LIKELIHOOD = ("exact", "pcd")
"""Methods whose estimate is, or converges to, the maximum of the likelihood."""
_NAMED = 10
_LEAST_SAMPLES = 30

Table = NDArray[np.float64]


def summarise(
    counter: Counter,
    terms: Terms,
    fitted: Fitted,
    penalty: Penalty,
    *,
    max_memory: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    deadline: Deadline | None = None,
) -> FitSummary:
    """Say how well a fitted model describes the data; warns of fitted zeros, by name.

    Examples
    --------
    >>> import gml
    >>> from gml.model.undirected.gauge import terms_of_tables
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv", columns=["smoke", "lung"]))
    >>> terms = Terms.of(counter.variables, [["lung", "smoke"]])
    >>> tables = terms_of_tables(terms, {(0, 1): np.log([[2475, 2268], [26, 231]])})
    >>> fitted = Fitted(tables, "exact", "closed form", True, 1, 0.0, None)
    >>> found = summarise(counter, terms, fitted, Penalty())
    >>> round(found.log_likelihood, 4), found.dimension, found.df
    (-4380.3671, 3, 0)
    """
    scopes, tables = log_tables(terms, fitted)
    normal = _normaliser(terms, scopes, tables, fitted.log_z, max_memory, seed, threads, deadline)
    observed = observed_margins(counter, terms)
    likelihood = None
    if normal.log_z is not None:
        reached = math.fsum(
            float(np.sum(counts * table))
            for counts, table in zip(observed.counts, tables, strict=False)
        )
        likelihood = reached - observed.rows * normal.log_z
    is_maximum = fitted.converged and fitted.method in MAXIMUM_LIKELIHOOD and penalty.is_likelihood
    aic = bic = None
    if is_maximum and likelihood is not None:
        aic = likelihood - terms.dimension
        bic = likelihood - 0.5 * terms.dimension * math.log(observed.rows)
    fit = _saturated(counter, terms, scopes, tables, normal.log_z)
    cells, df = _freedom(terms, fitted, max_memory)
    tested = is_maximum and df and cells is not None and cells <= observed.rows
    log_p = {name: _log_p(fit[name], df) if tested else None for name in fit}
    zeros = excluded_cells(terms, fitted.supports)
    summary = FitSummary(
        method=fitted.method,
        algorithm=fitted.algorithm,
        rows=rows_counted(counter),
        dimension=terms.dimension,
        converged=fitted.converged,
        iterations=fitted.iterations,
        gap=fitted.gap,
        log_likelihood=likelihood,
        pseudo_log_likelihood=fitted.pseudo_log_likelihood,
        aic=aic,
        bic=bic,
        g2=fit["g2"],
        x2=fit["x2"],
        df=df,
        g2_p_value=_exp(log_p["g2"]),
        g2_log10_p=_log10(log_p["g2"]),
        x2_p_value=_exp(log_p["x2"]),
        x2_log10_p=_log10(log_p["x2"]),
        entropy=normal.entropy,
        log_z=normal.log_z,
        log_z_error=normal.error,
        log_z_samples=normal.samples,
        n_zeros=sum(int(np.count_nonzero(~s.possible)) for s in fitted.supports),
        zeros=tuple(itertools.islice(zeros, _NAMED)),
        l1=penalty.l1,
        l2=penalty.l2,
        smoothing=penalty.smoothing,
    )
    if summary.n_zeros:
        reporter().warn(zeros_in_words(summary))
    return summary


def zeros_in_words(summary: FitSummary) -> str:
    """Say which combinations of levels the maximum at infinity makes impossible.

    They may be of different columns, so that their number is not one of cells of any table.

    Examples
    --------
    >>> cells = ({"A": "n", "B": "y"},)
    >>> zeros_in_words(FitSummary("exact", "ipf", 9, 3, True, n_zeros=1, zeros=cells))
    "the maximum lies at infinity: fitted as impossible is 1 combination of levels: 'A'='n' 'B'='y'"
    """
    shown = [
        " ".join(f"{quote(name)}={quote(level)}" for name, level in cell.items())
        for cell in summary.zeros
    ]
    more = summary.n_zeros - len(shown)
    verb = "is" if summary.n_zeros == 1 else "are"
    return (
        f"the maximum lies at infinity: fitted as impossible {verb} "
        f"{counted(summary.n_zeros, 'combination')} of levels: {', '.join(shown)}"
        f"{f', and {more} more' if more else ''}"
    )


class _Normaliser(NamedTuple):
    """ln Z, the entropy if it is known, and how exact an estimate of ln Z is."""

    log_z: float | None
    entropy: float | None = None
    error: float | None = None
    samples: float | None = None


def _normaliser(
    terms: Terms,
    scopes: tuple[Scope, ...],
    tables: list[Table],
    known: float | None,
    max_memory: int | None,
    seed: int,
    threads: int | None,
    deadline: Deadline | None,
) -> _Normaliser:
    try:
        margins = CliqueMargins(terms, scopes, max_memory=max_memory)
    except CannotAnswer:
        if known is not None:
            return _Normaliser(known)
        return _annealed(terms, scopes, tables, seed, threads, deadline)
    log_z, found = margins.of(tables)
    expected = math.fsum(
        float(np.sum(share[share > 0] * table[share > 0]))
        for share, table in zip(found, tables, strict=True)
    )
    # What rounding leaves of a distribution without any doubt.
    return _Normaliser(log_z, max(0.0, log_z - expected))


def _annealed(
    terms: Terms,
    scopes: tuple[Scope, ...],
    tables: list[Table],
    seed: int,
    threads: int | None,
    deadline: Deadline | None,
) -> _Normaliser:
    from gml.model.undirected.chains.annealing import annealed_log_z

    try:
        found = annealed_log_z(terms, scopes, tables, seed=seed, threads=threads, deadline=deadline)
    except OutOfTime as error:
        reporter().warn(f"{error}, so that ln Z and the log-likelihood are not known")
        return _Normaliser(None)
    if found.samples < _LEAST_SAMPLES:
        return _Normaliser(None, samples=found.samples)
    return _Normaliser(found.log_z, error=found.error, samples=found.samples)


def _saturated(
    counter: Counter,
    terms: Terms,
    scopes: tuple[Scope, ...],
    tables: list[Table],
    log_z: float | None,
) -> Mapping[str, float | None]:
    """G² and X² against the saturated model, from the cells that occur."""
    cells = None if log_z is None else cells_seen(counter, terms)
    if cells is None or log_z is None:
        return {"g2": None, "x2": None}
    codes, counts = cells
    log_p = np.full(len(counts), -log_z)
    for scope, table in zip(scopes, tables, strict=True):
        log_p += table[tuple(codes[k] for k in scope)]
    n = math.fsum(counts)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        shares = np.exp(log_p)
        deviations = (counts - n * shares) ** 2 / (n * shares)
    unseen = max(0.0, n * (1 - math.fsum(shares)))
    g2 = max(0.0, 2 * math.fsum(counts * (np.log(counts / n) - log_p)))
    x2 = math.inf if np.isinf(deviations).any() else math.fsum([*deviations, unseen])
    return {"g2": _finite(g2), "x2": _finite(x2)}


def _finite(value: float) -> float | None:
    """A cell may be too improbable for its square to be a number."""
    return value if math.isfinite(value) else None


def cells_seen(counter: Counter, terms: Terms) -> tuple[NDArray[np.intp], Table] | None:
    """Return the codes (variables × cells) of the joint cells that occur, and how often.

    None if the engine does not know.
    """
    rows = counter.rows()
    if rows is not None:
        rows = rows.select(terms.names)
        if rows.missing:
            return None
        groups = equal_rows(rows)
        kept = groups.counts > 0
        codes = np.array([column[groups.firsts[kept]] for column in rows.columns], dtype=np.intp)
        return codes, groups.counts[kept].astype(np.float64) * counter.unit
    position = {variable.name: j for j, variable in enumerate(counter.variables)}
    *given, last = (position[name] for name in terms.names)
    try:
        (found,) = counter.tables([TableSet((last,), tuple(given))])
    except CannotAnswer:
        return None
    at, level = np.nonzero(found.table)
    codes = np.concatenate([found.configs[at].T.reshape(len(given), len(at)), level[None]]).astype(
        np.intp
    )
    return codes, found.table[at, level].astype(np.float64) * counter.unit


def _freedom(terms: Terms, fitted: Fitted, max_memory: int | None) -> tuple[int | None, int | None]:
    """The cells with p̂ > 0, and the degrees of freedom; None where there are too many cells."""
    if math.prod(terms.sizes) > ENUMERABLE:
        return None, None
    rank = terms.dimension
    cells = math.prod(terms.sizes)
    if fitted.supports:
        try:
            cells = cells_of_face(terms, fitted.supports, max_memory=max_memory)
            rank = face_directions(terms, fitted.supports, max_memory=max_memory).shape[1]
        except CannotAnswer:
            return None, None
    df = cells - 1 - rank
    assert df >= 0, f"{cells} cells cannot have {rank} directions"
    return cells, df


def _log_p(statistic: float | None, df: int | None) -> float | None:
    if statistic is None or not df:
        return None
    if statistic <= 0:
        return 0.0
    return float(kernel.active().log_chi2_upper(np.array([statistic]), np.array([float(df)]))[0])


def _exp(log_p: float | None) -> float | None:
    return None if log_p is None else math.exp(log_p)


def _log10(log_p: float | None) -> float | None:
    return None if log_p is None else log_p / math.log(10)
