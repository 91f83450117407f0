"""Fit: are the new rows as likely under the model as the rows that it was fitted on?

What is compared is the mean ln p per row; D is the difference. Tables are the model's counts with ½
per cell (Jeffreys), so that no row is impossible. In-sample, the old rows look better than they
would have as new ones, by about one nat per parameter and n₀ rows; so each is left out of the
counts in turn, which the counts alone allow:

    L₀ = Σ N/n₀ · ln((N − ½)/(N_row − 1 + r/2)).

Without a change D has mean 0 for a graph that was not chosen by the old rows, true or not, and

    Var D = s²(1/n + 1/n₀) + 2·dim/n₀²,

with s² the variance of ln p over rows; the last term is the variance of χ²/n₀, by which the fitted
tables are off both ways. The old rows are not kept, and a few new ones may by chance lack those
that vary most: a loss that may decide is judged by the variance of the new rows and by that of rows
drawn from the model, whichever makes it less certain. What the old rows may have gained by the
choice of the graph is an allowance (`selection`), which the loss must exceed; where that is more
than a tenth of ln p, the rows cannot tell. The lower tail is that of a gamma distribution with the
skewness of D. The effect is −D in nats per row, less the allowance.

A model without counts is taken as exact: L₀ is then the mean of ln p given the parents of each new
row, and the variance that of these terms, which are uncorrelated. A loss that may decide is settled
by Chernoff's bound, which rare levels cannot deceive: with S = −Σ ln p and K(λ) = Σ ln Σ p^(1−λ)
over all terms, E exp(λS − K(λ)) = 1 for any λ below 1, node by node and row by row, so that p is at
most exp(K − λS); the best of four λ is used, times four.

Nothing can be said about tables that were fitted on different rows, as with
`missing="available"`. (Drawing tables from their posterior, and rows from these, would keep the
optimism of the old rows when compared with them, and otherwise put weight on cells that never
occur.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.dataset import Dataset
from gml.errors import agreeing, counted
from gml.gate.check import INSUFFICIENT, LIKELIHOOD, NATS_PER_ROW, PASS, Check, Figure, UnlikelyRow
from gml.gate.check_ids import FIT_ID
from gml.gate.enough_rows import enough_rows
from gml.gate.families import FamilyCounts
from gml.gate.monte_carlo import MonteCarlo
from gml.gate.question import Question, Settle
from gml.gate.selection import Selection
from gml.gate.tails import log_skewed_tail
from gml.kernel.pool import in_order
from gml.model.bayesnet import BayesNet
from gml.resources import available_threads

CHERNOFF = "chernoff"
_BINS = 1 << 16
_ROWS_PER_BLOCK = 1 << 17
_SHOWN_NODES = 5
_ROWS_PER_THREAD = 1 << 16
# Rows drawn from the model for the variance of ln p.
_DRAWN_ROWS = 1 << 15
# Share of the mean ln p: a loss as large as this may be due to the choice of the graph.
LARGEST_ALLOWANCE = 0.1
# λ for levels so rare that a few rows determine ln p.
_TILTS = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class RowMoments:
    """How many rows are complete, and the variance and third moment of their ln p."""

    n: int
    variance: float
    third: float


@dataclass(frozen=True)
class RowProbabilities:
    """ln p of each row, NaN where a value is missing or unknown to the model."""

    log_p: NDArray[np.float64]
    tables: list[NDArray[np.float64]]
    families: Sequence[FamilyCounts]


def smoothed_logs(family: FamilyCounts) -> NDArray[np.float64]:
    """ln P(level | row) by what the model knows: its counts with ½ per cell, or its own tables."""
    if family.old is None:
        with np.errstate(divide="ignore"):
            return np.log(family.probabilities[:, : family.n_known])
    counts = family.old[:, : family.n_known] + 0.5
    logs: NDArray[np.float64] = np.log(counts / counts.sum(axis=1, keepdims=True))
    return logs


def row_probabilities(
    families: Sequence[FamilyCounts], rows: Dataset, threads: int | None = None
) -> RowProbabilities:
    """Return ln p of every row; nodes are summed in the order of their names."""
    families = sorted(families, key=lambda family: family.variable.name)
    tables = [smoothed_logs(family) for family in families]
    members = [
        [rows.index(v.name) for v in (*family.parents, family.variable)] for family in families
    ]
    known = {v.name: len(v.levels or ()) for f in families for v in (*f.parents, f.variable)}
    n_levels = [known.get(name, 1) for name in rows.names]
    flat = [np.ascontiguousarray(table.reshape(-1)) for table in tables]
    columns = [np.ascontiguousarray(column) for column in rows.columns]
    compute = kernel.active().row_log_probabilities

    def part(first: int) -> NDArray[np.float64]:
        last = min(first + _ROWS_PER_THREAD, rows.n_rows)
        found: NDArray[np.float64] = compute(columns, n_levels, members, flat, first, last)
        return found

    starts = range(0, rows.n_rows, _ROWS_PER_THREAD)
    parts = in_order(part, starts, threads or available_threads())
    return RowProbabilities(np.concatenate([np.empty(0), *parts]), tables, families)


def fit_check(
    net: BayesNet,
    families: Sequence[FamilyCounts],
    selection: Selection,
    found: RowProbabilities | None,
    rows: Dataset | None,
) -> Question:
    """Ask whether the new rows are less likely than the old ones."""
    variables = tuple(family.variable.name for family in families)
    if found is None or rows is None or not families:
        reason = "no rows to look at" if families else "no table to compare"
        return Question(cannot_tell(variables, reason))
    if len({None if f.old is None else int(f.old.sum()) for f in families}) > 1:
        return Question(
            cannot_tell(variables, "the tables of the model were fitted on different rows")
        )
    moments = row_moments(found.log_p, rows.weights)
    if not enough_rows(moments.n):
        return Question(cannot_tell(variables, f"{moments.n} complete rows are too few"))
    rows_old = None if families[0].old is None else int(families[0].old.sum())
    impossible = int(np.count_nonzero(np.isneginf(found.log_p)))
    check = Check(
        id=FIT_ID,
        family="fit",
        kind=LIKELIHOOD,
        variables=variables,
        test=LIKELIHOOD,
        effect_unit=NATS_PER_ROW,
        rows_old=rows_old,
        rows_new=moments.n,
        status=PASS,
    )
    if impossible:
        rows_are = f"{counted(impossible, 'row')} {agreeing(impossible, 'is', 'are')}"
        return Question(
            replace(
                check,
                message=f"{rows_are} impossible under the model",
                log_p=-math.inf,
                new={"impossible rows": impossible},
            )
        )
    terms = {
        family.variable.name: mean_terms(family, table)
        for family, table in zip(found.families, found.tables, strict=True)
    }
    before = math.fsum(old for old, _ in terms.values())
    after = math.fsum(new for _, new in terms.values())
    if np.isnan(found.log_p).any():
        after = mean_of_rows(found.log_p, rows.weights)
    allowance = 0.0
    settle: Settle
    if rows_old is None:
        spread = replace(_conditional_moments(families), n=moments.n)
        log_p = log_p_of_loss(before - after, spread, None, 0)

        def settle(monte_carlo: MonteCarlo) -> tuple[float, str]:
            return _log_chernoff(families, spread, monte_carlo.level), CHERNOFF

    else:
        allowance = selection.allowance(families)
        excess, dimension = before - after - allowance, dimension_of(families)
        log_p = log_p_of_loss(excess, moments, rows_old, dimension)

        def settle(monte_carlo: MonteCarlo) -> tuple[float, str]:
            drawn = replace(moments_of_draws(net, families, monte_carlo.seed), n=moments.n)
            return max(log_p, log_p_of_loss(excess, drawn, rows_old, dimension)), LIKELIHOOD

    left_out = rows.n - moments.n
    aside = f" ({counted(left_out, 'row')} with missing or unknown values left out)"
    old: dict[str, Figure] = {"mean ln p": before}
    new: dict[str, Figure] = {"mean ln p": after}
    worst = sorted(terms, key=lambda name: (terms[name][1] - terms[name][0], name))[:_SHOWN_NODES]
    for name in worst:
        if terms[name][1] < terms[name][0]:
            old[f"of {name}"], new[f"of {name}"] = terms[name]
    if allowance:
        new["allowance"] = allowance
    return Question(
        replace(
            check,
            message=f"mean ln p of a row {before:.4g} → {after:.4g}{aside if left_out else ''}",
            statistic=after - before,
            log_p=log_p,
            effect=max(0.0, before - after - allowance),
            old=old,
            new=new,
            status=INSUFFICIENT if allowance > LARGEST_ALLOWANCE * abs(before) else PASS,
        ),
        settle,
    )


def cannot_tell(variables: tuple[str, ...], message: str) -> Check:
    """The check of the fit without an answer."""
    return Check(FIT_ID, "fit", LIKELIHOOD, variables, message=message, status=INSUFFICIENT)


def mean_of_rows(log_p: NDArray[np.float64], weights: NDArray[np.int64] | None) -> float:
    """Mean over the complete rows, whatever their order."""
    finite = np.isfinite(log_p)
    times = np.ones(len(log_p), dtype=np.int64) if weights is None else weights
    return math.fsum((log_p[finite] * times[finite]).tolist()) / int(times[finite].sum())


def _conditional_moments(families: Sequence[FamilyCounts]) -> RowMoments:
    """Sums of the variances and third moments of ln p of each node given its parents."""
    variance, third = [], []
    for family in families:
        weights = family.new.sum(axis=1) / max(1, int(family.new.sum()))
        p = family.probabilities
        logs = np.log(np.where(p > 0, p, 1.0))
        centred = logs - (p * logs).sum(axis=1, keepdims=True)
        variance.append(float(np.sum(weights * (p * centred**2).sum(axis=1))))
        third.append(float(np.sum(weights * (p * centred**3).sum(axis=1))))
    return RowMoments(0, math.fsum(variance), math.fsum(third))


def _log_chernoff(families: Sequence[FamilyCounts], spread: RowMoments, level: float) -> float:
    """ln of a bound on P(the rows are this unlikely), whatever their levels."""
    # The best λ if ln p were normal and the p-value exactly at the level.
    usual = math.sqrt(2 * -math.log(level) / max(spread.n * spread.variance, 1e-300))
    tilts = sorted({min(usual, _TILTS[-1]), *_TILTS})
    bounds = []
    for tilt in tilts:
        terms = []
        for family in families:
            new, p = family.new[:, : family.n_known], family.probabilities[:, : family.n_known]
            possible = p > 0
            logs = np.log(np.where(possible, p, 1.0))
            tilted = np.where(possible, np.exp((1 - tilt) * logs), 0.0).sum(axis=1)
            rows = new.sum(axis=1)
            terms.append(float(np.sum(rows * np.log(np.where(rows > 0, tilted, 1.0)))))
            terms.append(tilt * float(np.sum(new * logs)))
        bounds.append(math.fsum(terms))
    return min(0.0, min(bounds) + math.log(len(tilts)))


def moments_of_draws(net: BayesNet, families: Sequence[FamilyCounts], seed: int) -> RowMoments:
    """The moments of ln p over rows drawn from the model itself."""
    from gml.model.sample import sample

    drawn = sample(net, _DRAWN_ROWS, seed=seed, threads=1)
    return row_moments(row_probabilities(families, drawn, 1).log_p, None)


def mean_terms(family: FamilyCounts, logs: NDArray[np.float64]) -> tuple[float, float]:
    """Mean ln p of a node over the old rows, each left out in turn, and over the new ones."""
    new = family.new[:, : family.n_known]
    seen = new > 0
    after = float(np.sum(new[seen] * logs[seen])) / max(1, int(new.sum()))
    if family.old is None:
        weights = new.sum(axis=1) / max(1, int(new.sum()))
        p = family.probabilities[:, : family.n_known]
        entropy = -np.sum(np.where(p > 0, p * np.where(p > 0, logs, 0.0), 0.0), axis=1)
        return -float(np.sum(weights * entropy)), after
    old = family.old[:, : family.n_known]
    seen = old > 0
    left = old.sum(axis=1, keepdims=True) - 1 + family.n_known / 2
    without = np.log(np.where(seen, old - 0.5, 1.0) / np.where(seen, left, 1.0))
    return float(np.sum(old[seen] * without[seen])) / max(1, int(old.sum())), after


def dimension_of(families: Sequence[FamilyCounts]) -> int:
    """The number of free parameters that the old rows say something about."""
    return sum(
        int(np.maximum(np.count_nonzero(family.old, axis=1) - 1, 0).sum())
        for family in families
        if family.old is not None
    )


def log_p_of_loss(loss: float, moments: RowMoments, rows_old: int | None, dimension: int) -> float:
    """ln P(a loss as large); a model without rows is exact."""
    one_old = 0.0 if not rows_old else 1 / rows_old
    one_new = 1 / moments.n
    variance = moments.variance * (one_new + one_old) + 2 * dimension * one_old**2
    if variance <= 0:
        return 0.0 if loss <= 1e-9 else -math.inf
    deviation = math.sqrt(variance)
    # Skewness of −D: rows far less likely than the others skew it upwards, old ones downwards.
    skewness = -moments.third * (one_new**2 - one_old**2) / deviation**3
    return log_skewed_tail(loss / deviation, skewness)


def row_moments(log_p: NDArray[np.float64], weights: NDArray[np.int64] | None) -> RowMoments:
    """The moments of ln p over the complete rows; by a histogram, so row order has no effect."""
    low, high = _finite_range(log_p)
    if low > high:
        return RowMoments(0, 0.0, 0.0)
    a_step = _BINS / (high - low) if high > low else 0.0
    counts = np.zeros(_BINS)
    # In blocks, which stay in the cache.
    for first in range(0, len(log_p), _ROWS_PER_BLOCK):
        values = log_p[first : first + _ROWS_PER_BLOCK]
        finite = np.isfinite(values)
        bins = np.minimum((values[finite] - low) * a_step, _BINS - 1).astype(np.int64)
        times = None if weights is None else weights[first : first + _ROWS_PER_BLOCK][finite]
        counts += np.bincount(bins, times, minlength=_BINS)
    # Middles of bins, not their edges: with few distinct values the histogram is exact enough.
    centres = low + (high - low) / _BINS * (np.arange(_BINS) + 0.5)
    n = int(counts.sum())
    mean = float(np.sum(counts * centres)) / n
    variance = float(np.sum(counts * (centres - mean) ** 2)) / n
    third = float(np.sum(counts * (centres - mean) ** 3)) / n
    return RowMoments(n, variance if high > low else 0.0, third)


def _finite_range(values: NDArray[np.float64]) -> tuple[float, float]:
    """The least and the greatest of the finite ones; +inf and -inf without any."""
    low = float(np.min(values, initial=np.inf))
    high = float(np.max(values, initial=-np.inf))
    if math.isfinite(low) and math.isfinite(high):
        return low, high
    finite = values[np.isfinite(values)]
    return float(np.min(finite, initial=np.inf)), float(np.max(finite, initial=-np.inf))


# ---------------------------------------------------------------------- rows


def least_likely(found: RowProbabilities, rows: Dataset, how_many: int) -> tuple[UnlikelyRow, ...]:
    """Return the least likely rows, the least likely first."""
    hidden = np.isnan(found.log_p)
    if rows.weights is not None:
        hidden |= rows.weights == 0
    log_p = np.where(hidden, np.inf, found.log_p)
    how_many = min(how_many, int(np.count_nonzero(~hidden)))
    if how_many == 0:
        return ()
    bound = np.partition(log_p, how_many - 1)[how_many - 1]
    candidates = np.concatenate(
        [np.flatnonzero(log_p < bound), np.flatnonzero(log_p == bound)[:how_many]]
    )
    order = np.lexsort((candidates, log_p[candidates]))[:how_many]
    return tuple(_described(found, rows, int(row)) for row in candidates[order])


def _described(found: RowProbabilities, rows: Dataset, row: int) -> UnlikelyRow:
    worst: tuple[float, UnlikelyRow] | None = None
    for family, logs in zip(found.families, found.tables, strict=True):
        at = 0
        given = []
        for parent in family.parents:
            code = int(rows.columns[rows.index(parent.name)][row])
            at = at * len(parent.levels or ()) + code
            given.append((parent.name, (parent.levels or ())[code]))
        code = int(rows.columns[rows.index(family.variable.name)][row])
        term = float(logs[at, code])
        if worst is None or term < worst[0]:
            name, level = family.variable.name, family.levels[code]
            total = float(found.log_p[row])
            worst = (
                term,
                UnlikelyRow(None, row + 1, total, name, level, tuple(given), math.exp(term)),
            )
    assert worst is not None
    return worst[1]
