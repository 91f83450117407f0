"""Fit of a model of numbers: are the new rows as likely as those that it was fitted on?

As for tables (`fit_checks`): D is the mean ln density of the new rows less that of the old ones,
each of which was left out of the fit in turn when the model was made. Var D = s²/n + s₀²/n₀ + Σ
2c/n₀², s² the variance of ln p over rows and c the parameters of a node, that of the variance times
((κ−1)/2)². It is taken by each side's own s² and by the common one, and the larger p-value counts,
for the reason that `gaussian_families` gives: ln p of rows with large errors has a long lower tail.
What the old rows may owe to the choice of the graph is allowed before the fit counts as worse.

A row is as unlikely as its errors together: P(χ² ≥ Σ e²), with a degree of freedom per node. The
column that is named has the largest error, and `probability` is that of one as large or larger.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gml.counts.number_rows import NumberRows
from gml.counts.row_sums import NumberTable
from gml.errors import counted
from gml.gate.check import INSUFFICIENT, LIKELIHOOD, NATS_PER_ROW, PASS, Check, Figure, UnlikelyRow
from gml.gate.check_ids import FIT_ID
from gml.gate.density_moments import density_moments, read_candidates
from gml.gate.enough_rows import enough_rows
from gml.gate.gaussian_families import GaussianFamily, allowance
from gml.gate.least_rows import Candidate
from gml.gate.likely_rows import RowMoments
from gml.gate.question import Question
from gml.gate.row_densities import NodeDensity, RowDensities
from gml.gate.tails import log_chi2_tail, log_normal_tail
from gml.model.bayesnet import BayesNet
from gml.model.regression_rows import Vector

_SHOWN_NODES = 5


def gaussian_fit_check(
    net: BayesNet, families: Sequence[GaussianFamily], table: NumberTable, how_many_unlikely: int
) -> tuple[Question, tuple[UnlikelyRow, ...]]:
    """Ask whether the new rows are less likely; also returns the least likely ones."""
    families = sorted(families, key=lambda family: family.name)
    variables = tuple(family.name for family in families)
    check = Check(FIT_ID, "fit", LIKELIHOOD, variables, status=INSUFFICIENT)
    if len(families) < len(net.names):
        return Question(replace(check, message="not all columns of the model are there")), ()
    if any(family.cpd.sd == 0 for family in families):
        return Question(replace(check, message="a node has no error of its own")), ()
    shares = [None if f.cpd.rows is None else f.cpd.rows.fit for f in families]
    sizes = {family.cpd.n for family in families}
    told = not any(share is None for share in shares) and len(sizes) == 1 and None not in sizes
    before = {f.name: s.mean for f, s in zip(families, shares, strict=True) if s is not None}
    densities = RowDensities(tuple(NodeDensity.of(family.cpd) for family in families))
    expected = (0.0, math.fsum(before.values())) if told else None
    found, least = density_moments(table, densities, expected, how_many_unlikely)
    unlikely = _least_likely(net, densities, read_candidates(table, densities, least), least)
    if not told:
        why = "the model does not say how likely its rows were, all columns together"
        return Question(replace(check, message=why)), unlikely
    if not found.is_finite:
        why = "some errors are beyond what can be squared"
        return Question(replace(check, message=why)), unlikely
    n, n_rows = found.n, found.n_rows
    if not enough_rows(n) or any(family.old is None for family in families):
        return Question(replace(check, message=f"{n} complete rows are too few")), unlikely
    n_old = int(next(iter(sizes)) or 0)
    after = dict(zip(variables, found.densities, strict=True))
    mean = math.fsum(after.values())
    spared = math.fsum(allowance(family, len(net.names)) for family in families)
    loss = math.fsum(before.values()) - mean
    old = max(0.0, math.fsum(share.covariance for share in shares if share is not None))
    fitted = _spread_of_fit(families) / n_old**2
    z = least_z(loss - spared, found.total, (old, n_old), fitted)
    figures = figures_of_fit(before, after, spared)
    aside = f" ({counted(n_rows - n, 'row')} with missing values left out)" if n < n_rows else ""
    answered = replace(
        check,
        message=f"mean ln p of a row {mean + loss:.4g} → {mean:.4g}{aside}",
        test=LIKELIHOOD,
        statistic=-loss,
        log_p=log_normal_tail(z),
        effect=max(0.0, loss - spared),
        effect_unit=NATS_PER_ROW,
        old=figures[0],
        new=figures[1],
        rows_old=n_old,
        rows_new=n,
        status=PASS,
    )
    return Question(answered), unlikely


def least_z(loss: float, new: RowMoments, old: tuple[float, int], fitted: float) -> float:
    """The loss in standard errors by each side's own variance or the common one, the smaller one.

    `new` is of ln p of the new rows, `old` the variance of that of the old ones, and their number.
    """
    n, (spread, n_old) = new.n, old
    own = new.variance * n / (n - 1)
    common = (n * own + n_old * spread) / (n + n_old)
    return min(
        _standardised(loss, own / n + spread / n_old + fitted),
        _standardised(loss, common * (1 / n + 1 / n_old) + fitted),
    )


def _standardised(loss: float, variance: float) -> float:
    if variance <= 0:
        return math.inf if loss > 0 else 0.0
    return loss / math.sqrt(variance)


def figures_of_fit(
    before: Mapping[str, float], after: Mapping[str, float], spared: float
) -> tuple[dict[str, Figure], dict[str, Figure]]:
    """What a report shows of both sides: all nodes together, and those that lost most."""
    old: dict[str, Figure] = {"mean ln p": math.fsum(before.values())}
    new: dict[str, Figure] = {"mean ln p": math.fsum(after.values())}
    for name in sorted(before, key=lambda name: (after[name] - before[name], name))[:_SHOWN_NODES]:
        if after[name] < before[name]:
            old[f"of {name}"], new[f"of {name}"] = before[name], after[name]
    if spared:
        new["allowance"] = spared
    return old, new


def _spread_of_fit(families: Sequence[GaussianFamily]) -> float:
    """2c, over all nodes."""
    return math.fsum(
        2 * (len(family.old.slopes) + ((family.old.fourth - 1) / 2) ** 2)
        for family in families
        if family.old is not None
    )


def _least_likely(
    net: BayesNet, densities: RowDensities, rows: NumberRows, candidates: Sequence[Candidate]
) -> tuple[UnlikelyRow, ...]:
    """The rows with the largest errors, the least likely first."""
    errors = densities.errors_of(rows)
    return tuple(
        _described(net, rows, np.array([column[k] for column in errors]), k, row.position)
        for k, row in enumerate(candidates)
    )


def _described(
    net: BayesNet, rows: NumberRows, errors: Vector, row: int, position: int
) -> UnlikelyRow:
    names = sorted(net.names)
    worst = int(np.argmax(np.abs(errors)))
    cpd = net.cpd(names[worst])
    given = tuple((p.name, _shown(rows.columns[p.name][row])) for p in cpd.parents)
    tail = log_normal_tail(abs(float(errors[worst]))) + math.log(2)
    with np.errstate(over="ignore"):
        squares = float(np.sum(errors**2))
    return UnlikelyRow(
        None,
        position + 1,
        log_chi2_tail(squares, float(len(names))),
        names[worst],
        _shown(rows.columns[names[worst]][row]),
        given,
        math.exp(min(0.0, tail)),
    )


def _shown(value: float) -> str:
    return f"{float(value):.6g}"
