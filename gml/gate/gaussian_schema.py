"""Schema of a model of numbers: columns, cells that are no numbers, gaps, drift.

A cell that is no number fails, however rare: the model has no place for it. A column drifts if its
values lie elsewhere among the deciles of the model's rows: the counts between these are compared as
those of a table's row (`two_sample`). The effect is the share of rows, or its change, and the total
variation for a drift.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from gml.gate.check import INSUFFICIENT, Check
from gml.gate.families import label
from gml.gate.number_rows import NumberRows, Texts
from gml.gate.question import Question
from gml.gate.schema_checks import MissingCells, column_check, missing_check
from gml.gate.within_cuts import compared_within
from gml.model.bayesnet import BayesNet, LinearGaussian

_SHOWN = 5


def gaussian_schema_checks(
    net: BayesNet,
    rows: NumberRows,
    *,
    left_out: Collection[str],
    other_columns: Collection[str],
    missing_before: Mapping[str, MissingCells],
    missing_now: Mapping[str, MissingCells],
) -> list[Question]:
    """Ask for every node: is there a column of numbers, with as many gaps, that lie as they did?"""
    questions = []
    for name in (name for name in net.names if name not in left_out):
        questions.append(column_check(name, name in rows.columns, other_columns))
        if name not in rows.columns:
            continue
        questions.append(_numbers(name, rows.texts[name], rows.n))
        if name in missing_before and name in missing_now:
            questions.append(missing_check(name, missing_before[name], missing_now[name]))
        cpd = net.cpd(name)
        assert isinstance(cpd, LinearGaussian)
        questions.append(_drift(cpd, rows))
    return questions


def _numbers(name: str, texts: Texts, n: int) -> Question:
    total = sum(texts.counts.values())
    most = sorted(texts.counts, key=lambda text: (-texts.counts[text], text))
    shown = ", ".join(f"{text!r} ({texts.counts[text]})" for text in most[:_SHOWN])
    more = f" and {len(most) - _SHOWN} more" if len(most) > _SHOWN else ""
    return Question(
        Check(
            id=f"schema:numbers:{label(name)}",
            family="schema",
            kind="numbers",
            variables=(name,),
            message=f"{name}: not numbers: {shown}{more}" if total else f"{name}: all are numbers",
            statistic=float(total),
            log_p=-math.inf if total else None,
            effect=total / n if n else 0.0,
            effect_unit="share of rows",
            new={"texts": total, "text": most} if total else {"texts": 0},
            rows_new=n,
            row=texts.row,
        )
    )


def _drift(cpd: LinearGaussian, rows: NumberRows) -> Question:
    name = cpd.variable.name
    kept = cpd.rows
    (column,) = rows.complete([name])
    check = Check(
        id=f"schema:drift:{label(name)}",
        family="schema",
        kind="drift",
        variables=(name,),
        message=f"{name}: the model keeps nothing of its rows to compare with"
        if kept is None
        else f"{name}: no rows to compare",
        rows_new=len(column),
        status=INSUFFICIENT,
    )
    if kept is None:
        return Question(check)
    return compared_within(check, kept.cuts, kept.counts, column, f"{name}: share")
