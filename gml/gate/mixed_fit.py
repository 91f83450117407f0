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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset
from gml.data.row_groups import configurations_at
from gml.errors import counted
from gml.gate.check import INSUFFICIENT, LIKELIHOOD, NATS_PER_ROW, PASS, Check, UnlikelyRow
from gml.gate.check_ids import FIT_ID
from gml.gate.enough_rows import enough_rows
from gml.gate.families import FamilyCounts
from gml.gate.fit_checks import dimension_of, log_p_of_loss, mean_terms, moments_of_draws
from gml.gate.gaussian_fit import figures_of_fit, least_z
from gml.gate.likely_rows import RowMoments, RowTables
from gml.gate.mixed_families import NumberNode, errors_of_rows, places_of_rows
from gml.gate.monte_carlo import MonteCarlo
from gml.gate.number_rows import NumberRows
from gml.gate.question import Question
from gml.gate.selection import Selection
from gml.gate.settings import CheckSettings
from gml.gate.tails import log_chi2_tail, log_normal_tail
from gml.model.bayesnet import BayesNet
from gml.model.regression_rows import FitShare, Vector


@dataclass(frozen=True)
class RowErrors:
    """Numbers at the rows: nodes by name × rows, in standard deviations, and these deviations."""

    names: tuple[str, ...]
    errors: Vector
    sds: Vector
    places: NDArray[np.int64]

    def log_densities(self, node: int, counted_places: Sequence[int]) -> Vector:
        """ln of the density of one node, 0 in configurations that are left out."""
        found: Vector = -0.5 * (math.log(2 * math.pi) + self.errors[node] ** 2) - np.log(
            self.sds[node]
        )
        left_out = (self.places[node] >= 0) & ~np.isin(self.places[node], counted_places)
        return np.where(left_out & ~np.isnan(found), 0.0, found)


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
    rows: NumberRows,
    data: Dataset,
    settings: CheckSettings,
) -> tuple[Question, tuple[UnlikelyRow, ...]]:
    """Ask whether the new rows are less likely; also returns the least likely ones.

    `data` has the labels in the order that `rows.numbers` refers to.
    """
    nodes = sorted(nodes, key=lambda node: node.name)
    names = tuple(sorted([*(f.variable.name for f in label_families), *(n.name for n in nodes)]))
    check = Check(FIT_ID, "fit", LIKELIHOOD, names, status=INSUFFICIENT)
    if len(names) < len(net.names):
        return Question(replace(check, message="not all columns of the model are there")), ()
    found = RowTables.of(label_families)
    of_rows = found.log_p(data, settings.threads)
    errors = _row_errors(nodes, rows)
    unlikely = _least_likely(net, found, of_rows, errors, rows, data, settings.unlikely_rows)
    old = [_old_node(node) for node in nodes]
    n_old = _rows_behind(label_families, nodes)
    if any(line.sd == 0 for node in nodes for line in node.cpd.regressions):
        return Question(replace(check, message="a node has no error of its own")), unlikely
    if n_old is None or any(one is None for one in old):
        why = "the model does not say how likely its rows were, all columns together"
        return Question(replace(check, message=why)), unlikely
    known = [one for one in old if one is not None]
    labels = of_rows[rows.numbers]
    terms = {node.name: errors.log_densities(k, known[k].places) for k, node in enumerate(nodes)}
    numbers = np.sum(list(terms.values()), axis=0)
    seen = ~np.isnan(labels + numbers)
    n = int(np.count_nonzero(seen))
    if not enough_rows(n):
        return Question(replace(check, message=f"{n} complete rows are too few")), unlikely
    if not np.isfinite(numbers[seen]).all():
        why = "some errors are beyond what can be squared"
        return Question(replace(check, message=why)), unlikely
    before = {node.name: one.mean for node, one in zip(nodes, known, strict=True)}
    after = {name: float(np.mean(term[seen])) for name, term in terms.items()}
    for family, table in zip(found.families, found.tables, strict=True):
        before[family.variable.name], after[family.variable.name] = mean_terms(family, table)
    mean = float(np.mean(labels[seen])) + float(np.mean(numbers[seen]))
    spared = selection.allowance(label_families) + math.fsum(node.allowance for node in nodes)
    loss = math.fsum(before.values()) - mean
    judged = _Judged(
        loss - spared,
        labels[seen],
        numbers[seen],
        None
        if any(one.covariance is None for one in known)
        else max(0.0, math.fsum(one.covariance or 0.0 for one in known)),
        n_old,
        dimension_of(label_families) + math.fsum(one.dimension for one in known),
    )
    log_p = judged.log_p()
    figures = figures_of_fit(before, after, spared)
    aside = f" ({counted(rows.n - n, 'row')} with missing or unknown values left out)"
    answered = replace(
        check,
        message=f"mean ln p of a row {mean + loss:.4g} → {mean:.4g}{aside if n < rows.n else ''}",
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
    """A loss, and ln p of labels and of numbers at the new rows, by which it is judged."""

    loss: float
    labels: Vector
    numbers: Vector
    old_variance: float | None
    """Of the numbers in the old rows, if it is known."""
    n_old: int
    dimension: float

    def log_p(self, drawn: float = 0.0) -> float:
        """ln P(a loss as large), with at least this variance of labels."""
        total = self.labels + self.numbers
        of_labels, of_numbers = float(np.var(self.labels)), float(np.var(self.numbers))
        wider = max(0.0, drawn - of_labels)
        together = 0.0
        if of_labels > 0 and of_numbers > 0:
            shared = float(np.mean((self.labels - np.mean(self.labels)) * self.numbers))
            together = shared / math.sqrt(of_labels * of_numbers)
        kept = of_numbers if self.old_variance is None else self.old_variance
        across = 2 * together * math.sqrt((of_labels + wider) * kept)
        old = max(0.0, of_labels + wider + kept + across)
        fitted = 2 * self.dimension / self.n_old**2
        z = least_z(self.loss, total, (old, self.n_old), fitted + wider / len(total))
        away = total - np.mean(total)
        moments = RowMoments(len(total), float(np.mean(away**2)) + wider, float(np.mean(away**3)))
        skewed = log_p_of_loss(self.loss, moments, self.n_old, math.ceil(self.dimension))
        return max(log_normal_tail(z), skewed)


def _row_errors(nodes: Sequence[NumberNode], rows: NumberRows) -> RowErrors:
    errors, sds, places = [], [], []
    for node in nodes:
        at = places_of_rows(node.cpd, rows)
        own, deviations = errors_of_rows(node.cpd, rows, at)
        errors.append(own)
        sds.append(deviations)
        places.append(at)
    names = tuple(node.name for node in nodes)
    return RowErrors(names, np.array(errors), np.array(sds), np.array(places))


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
    found: RowTables,
    log_p: NDArray[np.float64],
    errors: RowErrors,
    rows: NumberRows,
    data: Dataset,
    how_many: int,
) -> tuple[UnlikelyRow, ...]:
    """The rows whose labels and errors are the least likely together."""
    squares = np.sum(errors.errors**2, axis=0)
    labels = log_p[rows.numbers]
    complete = np.flatnonzero(~np.isnan(squares + labels))
    _, once = np.unique(rows.numbers[complete], return_index=True)
    chosen = complete[once]
    size = float(len(errors.names))
    # Ranked by the exponents, which order rows as tails do where it matters; then by tails.
    rough = labels[chosen] - squares[chosen] / 2
    first = chosen[np.lexsort((rows.numbers[chosen], rough))][: 4 * how_many]
    scores = {
        int(row): float(labels[row]) + log_chi2_tail(float(squares[row]), size) for row in first
    }
    order = sorted(scores, key=lambda row: (scores[row], int(rows.numbers[row])))[:how_many]
    return tuple(_described(net, found, errors, rows, data, row, scores[row]) for row in order)


def _described(
    net: BayesNet,
    found: RowTables,
    errors: RowErrors,
    rows: NumberRows,
    data: Dataset,
    row: int,
    log_probability: float,
) -> UnlikelyRow:
    at = int(rows.numbers[row])
    surprises: dict[str, float] = {}
    for family, logs in zip(found.families, found.tables, strict=True):
        sizes = [len(parent.levels or ()) for parent in family.parents]
        codes = [rows.columns[parent.name][row : row + 1] for parent in family.parents]
        (place,) = configurations_at(sizes, codes, 1).tolist()
        surprises[family.variable.name] = float(
            logs[place, int(rows.columns[family.variable.name][row])]
        )
    for k, name in enumerate(errors.names):
        away = abs(float(errors.errors[k, row]))
        surprises[name] = min(0.0, log_normal_tail(away) + math.log(2))
    column = min(surprises, key=lambda name: (surprises[name], name))
    levels: Mapping[str, tuple[str, ...]] = {
        variable.name: variable.levels for variable in data.variables if variable.levels is not None
    }
    numeric = {v.name for v in net.variables if v.is_continuous}

    def shown(name: str) -> str:
        value = float(rows.columns[name][row])
        return f"{value:.6g}" if name in numeric else levels[name][int(value)]

    given = tuple((parent.name, shown(parent.name)) for parent in net.cpd(column).parents)
    return UnlikelyRow(
        None,
        at + 1,
        log_probability,
        column,
        shown(column),
        given,
        math.exp(surprises[column]),
    )
