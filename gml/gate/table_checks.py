"""Tables: is each row of a CPT still as it was, and are all rows of it together?

The counts that the model was fitted on are compared with the new ones, row by row (`two_sample`): a
model that was fitted on few rows is not the truth, and treating it as such raises alarms where
nothing changed. Where some of its parents may owe their place to an accident of these rows,
p-values are those of the best of many (`selection`). A model without counts is taken as exact. Rows
that have data on only one side cannot tell, and those without any data, of which a table may have
very many, are one check together. The effect is the total variation ½ Σ |p − q|. A table with
several rows is also checked as a whole (`stratified`), for a shift that is too small in each row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.gate.check import INSUFFICIENT, PASS, ROW, TABLE, TOTAL_VARIATION, Check, Figure
from gml.gate.check_ids import row_id, table_id, unseen_id
from gml.gate.families import FamilyCounts
from gml.gate.monte_carlo import MonteCarlo
from gml.gate.question import Question, Settle
from gml.gate.selection import Selection
from gml.gate.stratified import SHIFT, Shift, pooled_shift
from gml.gate.two_sample import (
    MOST_ROWS,
    G,
    Homogeneity,
    compare_rows,
    compare_with_probabilities,
    settle_rows,
    settle_with_probabilities,
    total_variation,
)


def table_checks(families: Sequence[FamilyCounts], selection: Selection) -> list[Question]:
    """Ask about every row of every table, and about every table."""
    questions = []
    for family in families:
        choices = selection.log_choices(family)
        questions += _of_family(family, choices)
        shift = pooled_shift(family.old, family.new, family.probabilities)
        if shift is not None:
            questions.append(_of_table(family, shift, choices))
    return questions


def _of_table(family: FamilyCounts, shift: Shift, choices: float) -> Question:
    name = family.variable.name
    parents = tuple((parent.name, None) for parent in family.parents)
    most = int(np.argmax(np.abs(shift.after - shift.before)))
    seen = (shift.before > 0) | (shift.after > 0)
    check = Check(
        id=table_id(*_told_apart(family)),
        family="tables",
        kind=TABLE,
        variables=(name,),
        given=parents,
        message=f"{name} at the same {', '.join(parent for parent, _ in parents)}: "
        f"P({name}={family.levels[most]}) {shift.before[most]:.3g} → {shift.after[most]:.3g}",
        test=SHIFT,
        statistic=shift.statistic,
        df=float(shift.df),
        log_p=min(0.0, shift.log_p + choices),
        effect=float(total_variation(shift.before, shift.after)),
        effect_unit=TOTAL_VARIATION,
        old=_figures(family.levels, seen, shift.before, None),
        new=_figures(family.levels, seen, shift.after, None),
        rows_old=shift.rows_old,
        rows_new=shift.rows_new,
        status=PASS,
    )
    if shift.is_trusted:
        return Question(check)
    return Question(
        check, lambda monte_carlo: shift.settle(check.id, monte_carlo), log_choices=choices
    )


def _of_family(family: FamilyCounts, choices: float) -> list[Question]:
    has_data = family.new.any(axis=1)
    if family.old is not None:
        has_data |= family.old.any(axis=1)
    rows = np.flatnonzero(has_data)
    new = family.new[rows]
    if family.old is None:
        before = family.probabilities[rows]
        found = compare_with_probabilities(before, new)
    else:
        before = _shares(family.old[rows])
        found = compare_rows(family.old[rows], new)
    after = _shares(new)
    effects = total_variation(before, after)
    questions = [
        _of_row(family, row, found, k, before[k], after[k], float(effects[k]), choices)
        for k, row in enumerate(rows.tolist())
    ]
    if len(rows) < len(family.new):
        questions.append(Question(_unseen(family, len(family.new) - len(rows))))
    return questions


def _unseen(family: FamilyCounts, how_many: int) -> Check:
    """The configurations of the parents without data, together."""
    name, total = family.variable.name, len(family.new)
    return Check(
        id=unseen_id(*_told_apart(family)),
        family="tables",
        kind=ROW,
        variables=(name,),
        given=tuple((parent.name, None) for parent in family.parents),
        message=f"{name}: no rows in {how_many} of {total} configurations of its parents",
        rows_old=None if family.old is None else 0,
        rows_new=0,
        status=INSUFFICIENT,
    )


def _told_apart(family: FamilyCounts) -> tuple[str, tuple[str, ...]]:
    name, *given = family.key
    return name, tuple(given)


def _shares(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return shares


def _of_row(
    family: FamilyCounts,
    row: int,
    found: Homogeneity,
    k: int,
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    effect: float,
    choices: float,
) -> Question:
    name = family.variable.name
    given = family.configuration(row)
    old = None if family.old is None else family.old[row]
    new = family.new[row]
    rows_old, rows_new = (None if old is None else int(old.sum())), int(new.sum())
    answered = rows_new > 0 and rows_old != 0
    # With only one level on both sides, nothing could differ.
    tested = answered and (found.df[k] > 0 or np.isinf(found.g[k]))
    seen = (before > 0) | (after > 0)
    place = f" where {', '.join(f'{parent}={level}' for parent, level in given)}" if given else ""
    if answered:
        most = int(np.argmax(np.abs(after - before)))
        change = f"P({name}={family.levels[most]}) {before[most]:.3g} → {after[most]:.3g}"
        message = f"{name}{place}: {change}"
    else:
        message = f"{name}{place}: no rows to compare"
    check = Check(
        id=row_id(name, given),
        family="tables",
        kind=ROW,
        variables=(name,),
        given=given,
        message=message,
        test=G if tested else None,
        statistic=float(found.g[k]) if tested and np.isfinite(found.g[k]) else None,
        df=float(found.df[k]) if tested else None,
        log_p=min(0.0, float(found.log_p[k]) + choices) if tested else None,
        effect=effect if answered else None,
        effect_unit=TOTAL_VARIATION if answered else None,
        old=_figures(family.levels, seen, before, old) if rows_old != 0 else {},
        new=_figures(family.levels, seen, after, new) if rows_new > 0 else {},
        rows_old=rows_old,
        rows_new=rows_new,
        status=PASS if answered else INSUFFICIENT,
    )
    too_many = rows_new + (rows_old or 0) > MOST_ROWS
    if not tested or found.is_trusted(k) or np.isinf(found.g[k]) or too_many:
        return Question(check)
    settle = _settler(check, family, row, float(found.g[k]))
    return Question(check, settle, found.is_sparse(k), choices)


def _settler(check: Check, family: FamilyCounts, row: int, g: float) -> Settle:
    new = family.new[row]
    if family.old is not None:
        old = family.old[row]

        def of_counts(monte_carlo: MonteCarlo) -> tuple[float, str]:
            return settle_rows(old, new, g, check.id, monte_carlo)

        return of_counts
    probabilities = family.probabilities[row]

    def of_probabilities(monte_carlo: MonteCarlo) -> tuple[float, str]:
        return settle_with_probabilities(probabilities, new, g, check.id, monte_carlo)

    return of_probabilities


def _figures(
    levels: Sequence[str],
    seen: NDArray[np.bool_],
    shares: NDArray[np.float64],
    counts: NDArray[np.int64] | None,
) -> dict[str, Figure]:
    """The levels that occur on either side, with their probabilities and counts."""
    chosen = np.flatnonzero(seen).tolist()
    figures: dict[str, Figure] = {
        "levels": [levels[k] for k in chosen],
        "p": [float(shares[k]) for k in chosen],
    }
    if counts is not None:
        figures["counts"] = [int(counts[k]) for k in chosen]
    return figures
