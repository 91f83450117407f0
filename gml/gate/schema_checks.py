"""Schema: the columns, their levels, and how often they are missing.

A missing column fails. A level that the model does not know fails if levels were declared or the
model is taken as exact. Otherwise it may just be rare: the rows that the model was fitted on had a
chance to have it, and did not. If nothing changed, all c rows of a level on both sides together
fall on the new side with probability at most (n/(n₀+n))^c, so the p-value is the probability
that as many rows as observed belong to such levels, over all levels seen on either side. Missing
rates are compared by Fisher's exact test, where it is known how often a column was missing before.
The effect is the share of rows, or its change.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.data.levels import NA_LEVEL
from gml.errors import nearest_name
from gml.gate.check import COLUMNS, LEVELS, MISSING, PASS, SHARE_OF_ROWS, Check
from gml.gate.check_ids import column_id
from gml.gate.families import CheckedModel, level_counts
from gml.gate.question import Question
from gml.gate.settings import Context, MissingCells
from gml.gate.tails import log_sum
from gml.gate.two_sample import EXACT, compare_shares

# Without an unknown level, one that is all new with a probability below this could not exist.
_NEVER = 1e-15
_MOST_ROWS = 1 << 14
_SHOWN_LEVELS = 5


@dataclass(frozen=True)
class ColumnCounts:
    """A column of new rows: its levels, the model's first, and the number of rows of each."""

    levels: tuple[str, ...]
    counts: NDArray[np.int64]


def schema_checks(
    net: CheckedModel, columns: Mapping[str, ColumnCounts], context: Context
) -> list[Question]:
    """Ask for every node: is there a column, are its levels known, is it missing more often?"""
    questions = []
    for name in (name for name in net.names if name not in context.left_out):
        questions.append(column_check(name, name in columns, context.other_columns))
        if name not in columns:
            continue
        # A level that means missing is covered by the rate.
        missing = context.missing(name)
        beside = {NA_LEVEL} if missing is not None and missing[1].missing else set()
        questions.append(_levels(net, name, columns[name], context.declared.get(name), beside))
        if missing is not None:
            questions.append(missing_check(name, *missing))
    return questions


def column_check(name: str, present: bool, others: Collection[str]) -> Question:
    """Ask whether a column is there, and for one of a like name if not."""
    near = None if present else nearest_name(name, others)
    hint = "" if near is None else f"; is it {near!r} now?"
    return Question(
        Check(
            id=column_id(COLUMNS, name),
            family="schema",
            kind=COLUMNS,
            variables=(name,),
            message=f"{name}: a column" if present else f"{name}: there is no such column{hint}",
            log_p=None if present else -math.inf,
            status=PASS,
        )
    )


def _levels(
    net: CheckedModel,
    name: str,
    column: ColumnCounts,
    declared: Sequence[str] | None,
    beside: Collection[str],
) -> Question:
    of_model = net.variables[net.index(name)].levels
    known = set(of_model or ()) if declared is None else set(declared)
    rows = int(column.counts.sum())
    new = {
        level: int(count)
        for level, count in zip(column.levels, column.counts, strict=True)
        if level not in known and level not in beside and count
    }
    unseen = sum(new.values())
    most = sorted(new, key=lambda level: (-new[level], level))
    shown = ", ".join(
        f"{level!r} ({new[level]}{_but_for(level, known)})" for level in most[:_SHOWN_LEVELS]
    )
    more = f" and {len(most) - _SHOWN_LEVELS} more" if len(most) > _SHOWN_LEVELS else ""
    before = level_counts(net, name) if declared is None else None
    log_p: float | None
    if before is not None:
        log_p = log_p_of_unseen(before, column.counts, unseen)
    else:
        log_p = -math.inf if unseen else None
    who = "the model" if declared is None else "the schema"
    return Question(
        Check(
            id=column_id(LEVELS, name),
            family="schema",
            kind=LEVELS,
            variables=(name,),
            message=f"{name}: values that {who} does not know: {shown}{more}"
            if new
            else f"{name}: all values are known",
            test=None if log_p is None or math.isinf(log_p) else EXACT,
            statistic=float(unseen),
            log_p=log_p,
            effect=unseen / rows if rows else 0.0,
            effect_unit=SHARE_OF_ROWS,
            old={"levels": len(known)},
            new={"levels": len(known) + len(new), "unknown rows": unseen, "unknown": most},
            rows_old=None if before is None else int(before.sum()),
            rows_new=rows,
        )
    )


def _but_for(level: str, known: Collection[str]) -> str:
    """Say which known level a label equals except for case or blanks."""
    same = [k for k in known if k.strip().casefold() == level.strip().casefold()]
    return f", as {min(same)!r} but for case or blanks" if same else ""


def log_p_of_unseen(
    before: NDArray[np.int64], after: NDArray[np.int64], unseen: int
) -> float | None:
    """ln P(as many rows belong to levels that are all on the new side); None if none can be."""
    pooled = after.copy()
    pooled[: len(before)] += before
    pooled = pooled[pooled > 0]
    share = int(after.sum()) / max(1, int(pooled.sum()))
    if unseen == 0:
        return 0.0 if (share**pooled >= _NEVER).any() else None
    if share == 1:
        return 0.0
    # Limiting the rows keeps the table small; fewer rows are only more probable.
    wanted = min(unseen, _MOST_ROWS)
    log_chance = np.full(wanted + 1, -np.inf)
    log_chance[0] = 0.0
    for count in pooled.tolist():
        together = count * math.log(share)
        moved = np.full_like(log_chance, -np.inf)
        if count < wanted:
            moved[count:wanted] = log_chance[: wanted - count]
        moved[wanted] = log_sum(log_chance[max(0, wanted - count) :])
        apart = math.log(-math.expm1(together))
        log_chance = np.logaddexp(apart + log_chance, together + moved)
    return min(0.0, float(log_chance[wanted]))


def missing_check(name: str, before: MissingCells, now: MissingCells) -> Question:
    """Ask whether a column has gaps as often as before."""
    old_hits, new_hits = before.missing, now.missing
    answered = before.rows > 0 and now.rows > 0
    # A column that is never or always missing leaves nothing to compare.
    varies = 0 < old_hits + new_hits < before.rows + now.rows
    g, log_p, test = (
        compare_shares(old_hits, before.rows, new_hits, now.rows)
        if answered and varies
        else (None, None, None)
    )
    old_rate, new_rate = old_hits / max(1, before.rows), new_hits / max(1, now.rows)
    return Question(
        Check(
            id=column_id(MISSING, name),
            family="schema",
            kind=MISSING,
            variables=(name,),
            message=f"{name}: missing in {old_rate:.3%} → {new_rate:.3%} of rows",
            test=test,
            statistic=g,
            df=None if g is None else 1.0,
            log_p=log_p,
            effect=abs(new_rate - old_rate),
            effect_unit=SHARE_OF_ROWS,
            old={"missing": old_hits, "rate": old_rate},
            new={"missing": new_hits, "rate": new_rate},
            rows_old=before.rows,
            rows_new=now.rows,
        )
    )
