"""Fit of a model of labels and numbers: are the new rows as likely as those it was fitted on?

D is the mean ln density of the new rows less that of the old ones, each of which was left out of
the fit in turn: of labels by the counts (`fit_checks`), of numbers by what each regression keeps
(`gaussian_fit`). In a configuration with too few old rows, a regression says little of other rows,
and its term is left out on both sides. Var D = s²/n + s₀²/n₀ + Σ 2c/n₀², c the parameters. s² is
that of the new rows. s₀² is made up of the variance over the new rows for labels, of what the model
keeps for numbers (the new rows again where a term is left out), and of the correlation of both in
the new rows. D is judged by each side's own variance, by the common one, and with the skewness of
the new rows; a p-value that may decide also by the variance of labels drawn from the model, as
surprising rows may be lacking in few new ones. The largest p-value counts. What the old rows may
owe to the choice of the graph is allowed before the fit counts as worse.

A row is as unlikely as its labels and its errors together: ln P(labels) + ln P(χ² ≥ Σ e²), with a
degree of freedom per number. The column that is named is the least likely: by P(label | parents),
or by the probability of an error as large or larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gml.counts.number_rows import NumberRows
from gml.counts.row_sums import NumberTable
from gml.errors import counted
from gml.gate.check import INSUFFICIENT, LIKELIHOOD, NATS_PER_ROW, PASS, Check, UnlikelyRow
from gml.gate.check_ids import FIT_ID
from gml.gate.density_moments import DensityMoments, density_moments, read_candidates
from gml.gate.enough_rows import enough_rows
from gml.gate.families import FamilyCounts
from gml.gate.fit_checks import dimension_of, log_p_of_loss, mean_terms, moments_of_draws
from gml.gate.gaussian_fit import figures_of_fit, least_z
from gml.gate.least_rows import Candidate
from gml.gate.likely_rows import RowTables
from gml.gate.mixed_families import NumberNode
from gml.gate.monte_carlo import MonteCarlo
from gml.gate.question import Question
from gml.gate.row_densities import NodeDensity, RowDensities
from gml.gate.selection import Selection
from gml.gate.settings import CheckSettings
from gml.gate.tails import log_chi2_tail, log_normal_tail
from gml.model.bayesnet import BayesNet
from gml.model.regression_rows import FitShare

# Variances with a third moment that floats can hold are smaller.
_LARGEST = 1e200


@dataclass(frozen=True)
class _OldNode:
    """What the model keeps of a node: places that count, mean ln density, and its covariance."""

    places: tuple[int, ...]
    mean: float
    covariance: float | None
    """With all numbers of a row; None where a configuration is left out."""
    dimension: float


def mixed_fit_check(
    net: BayesNet,
    label_families: Sequence[FamilyCounts],
    nodes: Sequence[NumberNode],
    selection: Selection,
    table: NumberTable,
    settings: CheckSettings,
) -> tuple[Question, tuple[UnlikelyRow, ...]]:
    """Ask whether the new rows are less likely; also returns the least likely ones."""
    nodes = sorted(nodes, key=lambda node: node.name)
    names = tuple(sorted([*(f.variable.name for f in label_families), *(n.name for n in nodes)]))
    check = Check(FIT_ID, "fit", LIKELIHOOD, names, status=INSUFFICIENT)
    if len(names) < len(net.names):
        return Question(replace(check, message="not all columns of the model are there")), ()
    tables = RowTables.of(label_families)
    old = [_old_node(node) for node in nodes]
    known = [one for one in old if one is not None]
    n_old = _rows_behind(label_families, nodes)
    has_errors = all(line.sd != 0 for node in nodes for line in node.cpd.regressions)
    before: dict[str, float] = {}
    after: dict[str, float] = {}
    for family, logs in zip(tables.families, tables.tables, strict=True):
        before[family.variable.name], after[family.variable.name] = mean_terms(family, logs)
    expected = None
    if has_errors and n_old is not None and len(known) == len(nodes):
        expected = math.fsum(before.values()), math.fsum(one.mean for one in known)
    densities = RowDensities(
        tuple(
            NodeDensity.of(node.cpd, None if one is None else one.places)
            for node, one in zip(nodes, old, strict=True)
        ),
        tables,
    )
    # Ranked by the exponents, which order rows as tails do where it matters; then by tails.
    found, least = density_moments(table, densities, expected, 4 * settings.unlikely_rows)
    unlikely = _least_likely(net, densities, table, least, settings.unlikely_rows)
    if not has_errors:
        return Question(replace(check, message="a node has no error of its own")), unlikely
    if expected is None or n_old is None:
        why = "the model does not say how likely its rows were, all columns together"
        return Question(replace(check, message=why)), unlikely
    n, n_rows = found.n, found.n_rows
    if not enough_rows(n):
        return Question(replace(check, message=f"{n} complete rows are too few")), unlikely
    if not (found.is_finite and found.total.variance < _LARGEST):
        why = "some errors are beyond what can be squared"
        return Question(replace(check, message=why)), unlikely
    for node, one, share in zip(nodes, known, found.densities, strict=True):
        before[node.name], after[node.name] = one.mean, share
    mean = found.mean_of_labels + found.mean_of_numbers
    spared = selection.allowance(label_families) + math.fsum(node.allowance for node in nodes)
    loss = math.fsum(before.values()) - mean
    judged = _Judged(
        loss - spared,
        found,
        None
        if any(one.covariance is None for one in known)
        else max(0.0, math.fsum(one.covariance or 0.0 for one in known)),
        n_old,
        dimension_of(label_families) + math.fsum(one.dimension for one in known),
    )
    log_p = judged.log_p()
    figures = figures_of_fit(before, after, spared)
    aside = f" ({counted(n_rows - n, 'row')} with missing or unknown values left out)"
    answered = replace(
        check,
        message=f"mean ln p of a row {mean + loss:.4g} → {mean:.4g}{aside if n < n_rows else ''}",
        test=LIKELIHOOD,
        statistic=-loss,
        log_p=log_p,
        effect=max(0.0, loss - spared),
        effect_unit=NATS_PER_ROW,
        old={**figures[0], "mean ln p": mean + loss},
        new={**figures[1], "mean ln p": mean},
        rows_old=n_old,
        rows_new=n,
        status=PASS,
    )
    of_labels = BayesNet(tuple(net.cpd(f.variable.name) for f in label_families))

    def settle(monte_carlo: MonteCarlo) -> tuple[float, str]:
        drawn = moments_of_draws(of_labels, label_families, monte_carlo.seed)
        return max(log_p, judged.log_p(drawn.variance)), LIKELIHOOD

    return Question(answered, settle), unlikely


@dataclass(frozen=True)
class _Judged:
    """A loss, and what is known of ln p of the new rows, by which it is judged."""

    loss: float
    new: DensityMoments
    old_variance: float | None
    """Of the numbers in the old rows, if it is known."""
    n_old: int
    dimension: float

    def log_p(self, drawn: float = 0.0) -> float:
        """ln P(a loss as large), with at least this variance of labels."""
        total = self.new.total
        of_labels, of_numbers = self.new.labels.variance, self.new.numbers.variance
        wider = max(0.0, drawn - of_labels)
        together = 0.0
        if of_labels > 0 and of_numbers > 0:
            together = self.new.covariance / math.sqrt(of_labels * of_numbers)
        kept = of_numbers if self.old_variance is None else self.old_variance
        across = 2 * together * math.sqrt((of_labels + wider) * kept)
        old = max(0.0, of_labels + wider + kept + across)
        fitted = 2 * self.dimension / self.n_old**2
        z = least_z(self.loss, total, (old, self.n_old), fitted + wider / total.n)
        moments = replace(total, variance=total.variance + wider)
        skewed = log_p_of_loss(self.loss, moments, self.n_old, math.ceil(self.dimension))
        return max(log_normal_tail(z), skewed)


def _old_node(node: NumberNode) -> _OldNode | None:
    """What the model keeps of the fit of a node; None if that is not all of its rows."""
    n = node.rows_old
    lines = node.cpd.regressions
    shares: dict[int, tuple[int, FitShare]] = {}
    for place, line in enumerate(lines):
        if line.n is None:
            continue
        if line.rows is None or line.rows.fit is None or not isinstance(line.n, int):
            return None
        shares[place] = line.n, line.rows.fit
    if n is None or not shares:
        return None
    told = dict(zip(node.places, node.families, strict=True))
    places = tuple(p for p in shares if p in told and told[p].old is not None)
    mean = math.fsum(shares[p][0] / n * shares[p][1].mean for p in places)
    covariance = math.fsum(rows / n * share.covariance for rows, share in shares.values())
    dimension = 0.0
    for place in places:
        old = told[place].old
        assert old is not None
        dimension += len(old.slopes) + ((old.fourth - 1) / 2) ** 2
    complete = len(places) == len(shares)
    return _OldNode(places, mean, covariance if complete else None, dimension)


def _rows_behind(label_families: Sequence[FamilyCounts], nodes: Sequence[NumberNode]) -> int | None:
    """The rows behind all nodes; None if they differ, or are not known."""
    sizes: set[int | None] = {
        None if family.old is None else int(family.old.sum()) for family in label_families
    }
    sizes |= {node.rows_old for node in nodes}
    return next(iter(sizes)) if len(sizes) == 1 else None


# ---------------------------------------------------------------------- rows


def _least_likely(
    net: BayesNet,
    densities: RowDensities,
    table: NumberTable,
    candidates: Sequence[Candidate],
    how_many: int,
) -> tuple[UnlikelyRow, ...]:
    """The rows whose labels and errors are the least likely together, of some candidates."""
    rows = read_candidates(table, densities, candidates)
    found = densities.of(rows)
    size = float(len(densities.nodes))
    scores = [
        float(labels) + log_chi2_tail(float(squares), size)
        for labels, squares in zip(found.labels, found.squares, strict=True)
    ]
    surprises = _surprises(densities, rows)

    def described(row: int) -> UnlikelyRow:
        by_name = {name: float(logs[row]) for name, logs in surprises.items()}
        column = min(by_name, key=lambda name: (by_name[name], name))

        def shown(name: str) -> str:
            value, levels = float(rows.columns[name][row]), table.reader.levels.get(name)
            return f"{value:.6g}" if levels is None else levels[int(value)]

        return UnlikelyRow(
            None,
            candidates[row].position + 1,
            scores[row],
            column,
            shown(column),
            tuple((parent.name, shown(parent.name)) for parent in net.cpd(column).parents),
            math.exp(by_name[column]),
        )

    order = sorted(range(len(scores)), key=lambda row: (scores[row], candidates[row].position))
    return tuple(described(row) for row in order[:how_many])


def _surprises(densities: RowDensities, rows: NumberRows) -> dict[str, Sequence[float]]:
    """ln P(label | parents), or of an error as large or larger, of each node at rows."""
    found: dict[str, Sequence[float]] = {}
    if densities.tables is not None:
        for family, logs in zip(densities.tables.families, densities.tables.tables, strict=True):
            places = rows.configurations({p.name: len(p.levels or ()) for p in family.parents})
            codes = rows.columns[family.variable.name].astype(np.int64)
            found[family.variable.name] = logs[places, codes].tolist()
    for node, errors in zip(densities.nodes, densities.errors_of(rows), strict=True):
        tails = [log_normal_tail(abs(away)) + math.log(2) for away in errors.tolist()]
        found[node.child] = [min(0.0, tail) for tail in tails]
    return found
