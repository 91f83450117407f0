"""Regressions: does each node still depend on its parents as it did, with errors as large?

*Regression.* All coefficients together by Wald's statistic with sandwich covariances, by each
side's own errors and by common ones, whichever makes the change less certain (`gaussian_families`).
The effect is the root of the mean square, over the model's rows, of the change in prediction, in
standard deviations of the errors.

*Standard deviation.* ln s² of new and old errors has the variance (κ−1)/n + (κ−1)/n₀, with κ the
kurtosis of either side, or of both together; and s² itself one like it. ln s² has too long a lower
tail and s² too long an upper one, so that the largest of three p-values counts: of ln s² by the
kurtosis of each side, of ln s² and of s² by the common one. (The F test, which takes errors for
normal, rejects 0.104 at level 0.01 on Laplace's.) Errors that grew must exceed what the old ones
may owe to the choice of the parents. The effect is |ln sd − ln sd₀|.

*Errors.* Means and variances of few rows, or of rows with huge errors, say little. So errors under
the model, of new rows and of old ones, are also compared by how many lie between the deciles of the
old ones, which no error can upset (`within_cuts`): a node with parents only, since without any
these are its own deciles, or its own in a configuration of labels. Old and new errors come from the
same coefficients, so that what these miss moves both alike. The effect is the total variation.

Where some parents are weak, p-values are those of the best of many, as for tables (`selection`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gml.gate.check import (
    ERRORS,
    INSUFFICIENT,
    LN_SD,
    PASS,
    REGRESSION,
    SD,
    SD_OF_ERRORS,
    Check,
    Figure,
)
from gml.gate.check_ids import regression_id, regression_part_id
from gml.gate.gaussian_families import (
    GaussianFamily,
    NewRegression,
    OldRegression,
    allowance,
    log_choices,
    spreads,
)
from gml.gate.question import Question
from gml.gate.tails import log_normal_tail
from gml.gate.within_cuts import compared_within

WALD, KURTOSIS = "wald", "kurtosis"


def gaussian_table_checks(families: Sequence[GaussianFamily], n_nodes: int) -> list[Question]:
    """Ask about every regression, the spread of its errors, and where these lie."""
    questions = []
    for family in families:
        questions += [_of_regression(family, n_nodes), _of_sd(family, n_nodes)]
        if family.parents or family.labels:
            questions.append(_of_errors(family, n_nodes))
    return questions


def _blank(family: GaussianFamily, kind: str) -> Check:
    given = (*family.labels, *((parent.name, None) for parent in family.parents))
    return Check(
        id=regression_id(family.name, family.labels)
        if kind == REGRESSION
        else regression_part_id(family.name, kind, family.labels),
        family="tables",
        kind=kind,
        variables=(family.name,),
        given=given,
        message=f"{family.title}: {_why_not(family)}",
        rows_old=family.rows_old,
        rows_new=family.rows_new,
        status=INSUFFICIENT,
    )


def _why_not(family: GaussianFamily) -> str:
    if family.labels and not (family.rows_old and family.rows_new):
        return "no rows to compare"
    if family.cpd.rows is None:
        return "the model keeps nothing of its rows to compare with"
    return "not enough rows to compare"


def _of_regression(family: GaussianFamily, n_nodes: int) -> Question:
    check = _blank(family, REGRESSION)
    old, new = family.old, family.new
    if old is None or new is None:
        return Question(check)
    own, common = (spread.log_p(new.change) for spread in spreads(old, new))
    wald, log_p = max(own, common, key=lambda found: found[1])
    gram = old.gram
    # In the model's rows, terms that only the new rows cannot tell apart are kept as they were.
    change = np.zeros(len(gram))
    change[list(new.kept)] = new.change
    effect = math.sqrt(max(0.0, float(change @ gram @ change)))
    given = f" at the same {', '.join(p.name for p in family.parents)}" if family.parents else ""
    before, after = _figures(family)
    return Question(
        replace(
            check,
            status=PASS,
            message=f"{family.title}{given}: {_most_changed(family, new)}",
            test=WALD,
            statistic=wald,
            df=float(len(new.kept)),
            log_p=min(0.0, log_p + log_choices(family, n_nodes)),
            effect=effect,
            effect_unit=SD_OF_ERRORS,
            old=before,
            new=after,
        )
    )


def _mean_shift(family: GaussianFamily, new: NewRegression) -> float:
    """The change of the prediction where the parents have their old means."""
    return float(new.change[0]) * family.cpd.sd


def _old_level(family: GaussianFamily) -> float:
    """The prediction where the parents have their old means: the old mean of the node."""
    assert family.cpd.rows is not None
    return family.cpd.rows.means[-1]


def _most_changed(family: GaussianFamily, new: NewRegression) -> str:
    """The term whose coefficient changed most, in standard deviations of the errors."""
    most = int(np.argmax(np.abs(new.change)))
    if new.kept[most] == 0:
        level, shift = _old_level(family), _mean_shift(family, new)
        return f"mean {level:.4g} → {level + shift:.4g}"
    k = new.kept[most] - 1
    parent, before, after = family.parents[k].name, family.slopes[k], family.new_slopes[k]
    if after is None:
        return f"the coefficient of {parent} changed"
    return f"coefficient of {parent} {before:.4g} → {after:.4g}"


def _figures(family: GaussianFamily) -> tuple[dict[str, Figure], dict[str, Figure]]:
    """Mean at the old means of the parents, and coefficients, of both sides."""
    assert family.new is not None
    level = _old_level(family)
    before: dict[str, Figure] = {"mean": level}
    after: dict[str, Figure] = {"mean": level + _mean_shift(family, family.new)}
    for parent, old, new in zip(family.parents, family.slopes, family.new_slopes, strict=True):
        before[f"coefficient of {parent.name}"] = old
        after[f"coefficient of {parent.name}"] = new
    return before, after


# ---------------------------------------------------------------------- errors


def _of_sd(family: GaussianFamily, n_nodes: int) -> Question:
    check = _blank(family, SD)
    old, new = family.old, family.new
    if old is None or new is None or new.variance <= 0:
        return Question(check)
    spared = allowance(family, n_nodes)
    z, log_p = _log_p_of_ratio(old, new, spared)
    before, after = family.cpd.sd, family.cpd.sd * math.sqrt(new.variance)
    size = len(old.slopes)
    ratio = 0.5 * math.log(new.variance * (old.n - size) / old.n)
    figures: dict[str, Figure] = {"sd": after}
    if spared and ratio > 0:
        figures["allowance"] = spared
        ratio = max(0.0, ratio - spared)
    return Question(
        replace(
            check,
            status=PASS,
            message=f"{family.title}: sd of the errors {before:.4g} → {after:.4g}",
            test=KURTOSIS,
            statistic=z,
            log_p=min(0.0, log_p + log_choices(family, n_nodes)),
            effect=abs(ratio),
            effect_unit=LN_SD,
            old={"sd": before},
            new=figures,
        )
    )


def _log_p_of_ratio(old: OldRegression, new: NewRegression, spared: float) -> tuple[float, float]:
    """The least certain of three standardised changes of the variance, and its two-sided ln p."""
    s_old = _variance_by_freedom(old)
    s_new = new.variance
    if s_new > s_old:
        s_new = max(s_old, s_new * math.exp(-2 * spared))
    found = []
    for change, variance in changes_of_variance(old, new, s_new):
        deviation = math.sqrt(variance)
        z = abs(change) / deviation if deviation > 0 else (math.inf if change else 0.0)
        found.append(z)
    z = min(found)
    return z, log_two_sided(z)


def log_two_sided(z: float) -> float:
    """ln of the probability of a normal variable as far from 0, either way."""
    return 0.0 if z <= 0 else min(0.0, math.log(2) + log_normal_tail(z))


def _variance_by_freedom(old: OldRegression) -> float:
    """The variance of old errors by their degrees of freedom, in the variance of the model."""
    return old.n / (old.n - len(old.slopes))


def changes_of_variance(
    old: OldRegression, new: NewRegression, s_new: float | None = None
) -> list[tuple[float, float]]:
    """Three measures of the change of the variance, each with its variance.

    ln s² by the kurtosis of each side, ln s² and s² by the common one. `s_new` stands for the new
    variance where it is given.
    """
    n, n_old = new.n, old.n
    # Both by their degrees of freedom, in the variance of the model.
    s_old = _variance_by_freedom(old)
    own_old, own_new = old.fourth / s_old**2 - 1, new.fourth / new.variance**2 - 1
    pooled = (n_old + n * new.variance) / (n_old + n)
    common = (n_old * old.fourth + n * new.fourth) / (n_old + n) / pooled**2 - 1
    spread = max(common, 0.0) * (1 / n + 1 / n_old)
    s_new = new.variance if s_new is None else s_new
    difference = math.log(s_new / s_old)
    return [
        (difference, max(own_old, 0.0) / n_old + max(own_new, 0.0) / n),
        (difference, spread),
        ((s_new - s_old) / pooled, spread),
    ]


def _of_errors(family: GaussianFamily, n_nodes: int) -> Question:
    check = _blank(family, ERRORS)
    kept = family.cpd.rows
    if kept is None or family.old is None:
        return Question(check)
    choices = log_choices(family, n_nodes)
    if not family.parents:
        what = f"{family.title}: share"
        return compared_within(check, kept.cuts, kept.counts, family.counts, what, choices=choices)
    given = ", ".join(p.name for p in family.parents)
    return compared_within(
        check,
        kept.error_cuts,
        kept.error_counts,
        family.counts,
        f"{family.title} given {given}: share of errors",
        choices=choices,
    )
