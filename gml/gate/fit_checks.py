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
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gml.errors import agreeing, counted
from gml.gate.check import INSUFFICIENT, LIKELIHOOD, NATS_PER_ROW, PASS, Check, Figure
from gml.gate.check_ids import FIT_ID
from gml.gate.enough_rows import enough_rows
from gml.gate.families import FamilyCounts
from gml.gate.likely_rows import LikelyRows, RowMoments, moments_of_rows
from gml.gate.monte_carlo import MonteCarlo
from gml.gate.question import Question, Settle
from gml.gate.selection import Selection
from gml.gate.tails import log_skewed_tail
from gml.model.bayesnet import BayesNet

CHERNOFF = "chernoff"
_SHOWN_NODES = 5
# Rows drawn from the model for the variance of ln p.
_DRAWN_ROWS = 1 << 15
# Share of the mean ln p: a loss as large as this may be due to the choice of the graph.
LARGEST_ALLOWANCE = 0.1
# λ for levels so rare that a few rows determine ln p.
_TILTS = (0.25, 0.5, 0.75)


def fit_check(
    net: BayesNet,
    families: Sequence[FamilyCounts],
    selection: Selection,
    found: LikelyRows | None,
    n_rows: int,
) -> Question:
    """Ask whether the new rows, so many, are less likely than the old ones."""
    variables = tuple(family.variable.name for family in families)
    if found is None or not families:
        reason = "no rows to look at" if families else "no table to compare"
        return Question(cannot_tell(variables, reason))
    if len({None if f.old is None else int(f.old.sum()) for f in families}) > 1:
        return Question(
            cannot_tell(variables, "the tables of the model were fitted on different rows")
        )
    moments = found.moments
    if not enough_rows(moments.n):
        return Question(cannot_tell(variables, f"{moments.n} complete rows are too few"))
    rows_old = None if families[0].old is None else int(families[0].old.sum())
    impossible = found.impossible
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
        for family, table in zip(found.tables.families, found.tables.tables, strict=True)
    }
    before = math.fsum(old for old, _ in terms.values())
    after = math.fsum(new for _, new in terms.values())
    if found.unknown and found.mean is not None:
        after = found.mean
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

    left_out = n_rows - moments.n
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
    return moments_of_rows(families, drawn)


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
