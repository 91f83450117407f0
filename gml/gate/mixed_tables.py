"""Regressions per configuration of labels: each by itself, and all of a node together.

Each configuration is asked what a regression is asked (`gaussian_tables`); one with too few rows on
either side cannot tell, and those without any are one check together. A change that is too small to
show in any of them is looked for in all, as for tables (`stratified`):

*Regression* (`tables:A`). The changes of the coefficients, in standard deviations of the errors of
their configurations, are averaged with weights m = n₀n/(n₀+n), and so are the covariances, with m²:
by each side's own errors and by common ones, and the larger p-value counts. Changes that cancel out
do not count.

*Standard deviation* (`tables:A:sd`). The three changes of the variance are averaged likewise; they
must agree in direction, and the least certain one counts. Growth must exceed what the choice of the
parents may have gained.

*Values* (`tables:A:errors`). Without parents that are numbers, where the values of a configuration
lie among its own deciles, pooled over configurations by the test of Mantel & Haenszel. Errors of
regressions are compared in each configuration only: those of the model's rows are a little too
small, as they were fitted, and that adds up over many configurations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gml.errors import counted
from gml.gate.check import (
    ERRORS,
    INSUFFICIENT,
    LN_SD,
    PASS,
    REGRESSION,
    SD,
    SD_OF_ERRORS,
    TOTAL_VARIATION,
    Check,
    Figure,
)
from gml.gate.check_ids import regression_part_id, table_id, unseen_id
from gml.gate.gaussian_families import GaussianFamily, Spread, spreads
from gml.gate.gaussian_tables import (
    KURTOSIS,
    WALD,
    changes_of_variance,
    gaussian_table_checks,
    log_two_sided,
)
from gml.gate.mixed_families import NumberNode
from gml.gate.question import Question
from gml.gate.selection import log_choices_of
from gml.gate.stratified import SHIFT, pooled_shift
from gml.model.regression_rows import N_CUTS, Vector


def mixed_table_checks(node: NumberNode, n_nodes: int) -> list[Question]:
    """Ask about every regression of a node, and about all of them."""
    questions = gaussian_table_checks(node.families, n_nodes)
    unseen = len(node.cpd.regressions) - len(node.families)
    if unseen:
        questions.append(Question(_unseen(node, unseen)))
    choices = log_choices_of(n_nodes, len(node.weak))
    whole = [
        family
        for family in node.families
        if family.old is not None
        and family.new is not None
        and family.new.has_all_terms
        and family.new.variance > 0
    ]
    if node.label_parents and len(whole) > 1:
        questions.append(Question(_of_regressions(node, whole, choices)))
        questions.append(Question(_of_sds(node, whole, choices)))
    if node.label_parents and not node.families[0].parents:
        questions += _of_values(node, choices)
    return questions


def _unseen(node: NumberNode, how_many: int) -> Check:
    """The configurations of labels without rows, together."""
    total = counted(len(node.cpd.regressions), "configuration")
    return replace(
        _blank(node, REGRESSION, ()),
        id=unseen_id(node.name),
        message=f"{node.name}: {how_many} of {total} of its parents have no rows",
        rows_old=0,
        rows_new=0,
        status=INSUFFICIENT,
    )


def _blank(node: NumberNode, kind: str, families: Sequence[GaussianFamily]) -> Check:
    return Check(
        id=table_id(node.name) if kind == REGRESSION else regression_part_id(node.name, kind),
        family="tables",
        kind=kind,
        variables=(node.name,),
        given=tuple((parent.name, None) for parent in node.cpd.parents),
        rows_old=sum(family.rows_old or 0 for family in families),
        rows_new=sum(family.rows_new for family in families),
        status=PASS,
    )


def _same(node: NumberNode) -> str:
    return f"{node.name} at the same {', '.join(parent.name for parent in node.cpd.parents)}"


def _weights(families: Sequence[GaussianFamily]) -> Vector:
    """n₀n/(n₀+n) of each configuration, as shares."""
    sizes = np.array([(family.rows_old or 0, family.rows_new) for family in families], dtype=float)
    harmonic = sizes.prod(axis=1) / sizes.sum(axis=1)
    found: Vector = harmonic / harmonic.sum()
    return found


# ---------------------------------------------------------------------- coefficients


def _of_regressions(node: NumberNode, families: Sequence[GaussianFamily], choices: float) -> Check:
    weights = _weights(families)
    change, gram = np.zeros(1), np.zeros((1, 1))
    pairs: list[tuple[Spread, Spread]] = []
    for weight, family in zip(weights, families, strict=True):
        assert family.old is not None and family.new is not None
        change = change + weight * family.new.change
        gram = gram + weight * family.old.gram
        pairs.append(spreads(family.old, family.new))
    own, common = (
        _pooled([pair[side] for pair in pairs], weights).log_p(change) for side in (0, 1)
    )
    wald, log_p = max(own, common, key=lambda found: found[1])
    before, after = _average_figures(families, weights)
    most = list(before)[int(np.argmax(np.abs(change)))]
    return replace(
        _blank(node, REGRESSION, families),
        message=f"{_same(node)}: {most} {before[most]:.4g} → {after[most]:.4g} on average",
        test=WALD,
        statistic=wald,
        df=float(len(change)),
        log_p=min(0.0, log_p + choices),
        effect=math.sqrt(max(0.0, float(change @ gram @ change))),
        effect_unit=SD_OF_ERRORS,
        old=before,
        new=after,
    )


def _pooled(found: Sequence[Spread], weights: Vector) -> Spread:
    """The covariance of an average, with degrees of freedom as Satterthwaite has them."""
    parts = [weight**2 * one.covariance for weight, one in zip(weights, found, strict=True)]
    total: Vector = np.sum(parts, axis=0)
    inverse = np.linalg.pinv(total)
    shares = [float(np.trace(inverse @ part)) / len(total) for part in parts]
    by_part = math.fsum(share**2 / one.df for share, one in zip(shares, found, strict=True))
    return Spread(total, 1 / by_part if by_part > 0 else float(len(total)))


def _average_figures(
    families: Sequence[GaussianFamily], weights: Vector
) -> tuple[dict[str, float], dict[str, float]]:
    """Means at the old means of the parents, and coefficients, averaged over configurations."""
    before: dict[str, float] = {}
    after: dict[str, float] = {}
    for weight, family in zip(weights.tolist(), families, strict=True):
        assert family.cpd.rows is not None and family.new is not None
        level, shift = family.cpd.rows.means[-1], float(family.new.change[0]) * family.cpd.sd
        figures: list[tuple[str, float, float]] = [("mean", level, level + shift)]
        for parent, old, new in zip(family.parents, family.slopes, family.new_slopes, strict=True):
            figures.append((f"coefficient of {parent.name}", old, old if new is None else new))
        for name, old, new in figures:
            before[name] = before.get(name, 0.0) + weight * old
            after[name] = after.get(name, 0.0) + weight * new
    return before, after


# ---------------------------------------------------------------------- errors


def _of_sds(node: NumberNode, families: Sequence[GaussianFamily], choices: float) -> Check:
    weights = _weights(families)
    measures = []
    for family in families:
        assert family.old is not None and family.new is not None
        measures.append(changes_of_variance(family.old, family.new))
    # Configurations × three measures × (change, variance).
    found = np.array(measures)
    changes = weights @ found[:, :, 0]
    deviations = np.sqrt(weights**2 @ found[:, :, 1])
    ratio = 0.5 * float(changes[0])
    grew = ratio > 0
    spared = 2 * node.allowance if grew else 0.0
    one_way = bool((changes > 0).all() or (changes < 0).all())
    excess = np.maximum(np.abs(changes) - spared, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.where(excess > 0, excess / deviations, 0.0)
    z = float(scores.min()) if one_way else 0.0
    figures: dict[str, Figure] = {"ln sd": ratio}
    if spared:
        figures["allowance"] = node.allowance
    size = math.exp(ratio)
    return replace(
        _blank(node, SD, families),
        message=f"{_same(node)}: sd of the errors {size:.4g} times as large on average",
        test=KURTOSIS,
        statistic=z,
        log_p=min(0.0, log_two_sided(z) + choices),
        effect=max(0.0, abs(ratio) - spared / 2),
        effect_unit=LN_SD,
        old={"ln sd": 0.0},
        new=figures,
    )


def _of_values(node: NumberNode, choices: float) -> list[Question]:
    """Where values lie among the deciles of their configurations, all of these together."""
    old, new, chosen = [], [], []
    for family in node.families:
        kept = family.cpd.rows
        if kept is None or len(kept.cuts) < N_CUTS:
            continue
        old.append(np.array(kept.counts, dtype=np.int64))
        new.append(np.array(family.counts or [0] * len(kept.counts), dtype=np.int64))
        chosen.append(family)
    if not chosen:
        return []
    before = np.array(old)
    shift = pooled_shift(before, np.array(new), before.astype(np.float64))
    if shift is None:
        return []
    most = int(np.argmax(np.abs(shift.after - shift.before)))
    tenths = [f"{k + 1} of {N_CUTS + 1}" for k in range(N_CUTS + 1)]
    check = replace(
        _blank(node, ERRORS, chosen),
        message=f"{_same(node)}: share of tenth {tenths[most]} {shift.before[most]:.3g} → "
        f"{shift.after[most]:.3g}",
        test=SHIFT,
        statistic=shift.statistic,
        df=float(shift.df),
        log_p=min(0.0, shift.log_p + choices),
        effect=0.5 * float(np.abs(shift.after - shift.before).sum()),
        effect_unit=TOTAL_VARIATION,
        old={"levels": tenths, "p": shift.before.tolist()},
        new={"levels": tenths, "p": shift.after.tolist()},
        rows_old=shift.rows_old,
        rows_new=shift.rows_new,
    )
    if shift.is_trusted:
        return [Question(check)]
    return [
        Question(
            check, lambda monte_carlo: shift.settle(check.id, monte_carlo), log_choices=choices
        )
    ]
