"""Schema of a model of numbers: columns, cells that are no numbers, gaps, drift.

A cell that is not a number fails, however rare: the model has no place for it. A column drifts if
its values lie elsewhere among the deciles of the model's rows: the counts between these are
compared as those of a table's row (`within_cuts`), and the message says if all moved as by another
unit. The effect is the share of rows, or its change, and the total variation for a drift.
"""

from __future__ import annotations

import math

from gml.data.number_summary import NumberSummary, NumberValues
from gml.gate.check import DRIFT, INSUFFICIENT, NUMBERS, SHARE_OF_ROWS, Check
from gml.gate.check_ids import column_id
from gml.gate.number_rows import NumberRows, Texts
from gml.gate.question import Question
from gml.gate.schema_checks import column_check, missing_check
from gml.gate.settings import Context
from gml.gate.units import unit_change
from gml.gate.within_cuts import compared_within
from gml.model.bayesnet import BayesNet, LinearGaussian

_SHOWN = 5


def gaussian_schema_checks(net: BayesNet, rows: NumberRows, context: Context) -> list[Question]:
    """Ask for every node: is there a column of numbers, with as many gaps, that lie as they did?"""
    questions, numbers = [], context.numbers(net.names)
    for name in (name for name in net.names if name not in context.left_out):
        questions.append(column_check(name, name in rows.columns, context.other_columns))
        if name not in rows.columns:
            continue
        questions.append(_numbers(name, rows.texts[name], rows.n))
        missing = context.missing(name)
        if missing is not None:
            questions.append(missing_check(name, *missing))
        cpd = net.cpd(name)
        assert isinstance(cpd, LinearGaussian)
        questions.append(_drift(cpd, rows, _hint(*numbers[name]) if name in numbers else ""))
    return questions


def _numbers(name: str, texts: Texts, n: int) -> Question:
    total = sum(texts.counts.values())
    most = sorted(texts.counts, key=lambda text: (-texts.counts[text], text))
    shown = ", ".join(f"{text!r} ({texts.counts[text]})" for text in most[:_SHOWN])
    more = f" and {len(most) - _SHOWN} more" if len(most) > _SHOWN else ""
    return Question(
        Check(
            id=column_id(NUMBERS, name),
            family="schema",
            kind=NUMBERS,
            variables=(name,),
            message=f"{name}: not numbers: {shown}{more}" if total else f"{name}: all are numbers",
            statistic=float(total),
            log_p=-math.inf if total else None,
            effect=total / n if n else 0.0,
            effect_unit=SHARE_OF_ROWS,
            new={"texts": total, "text": most} if total else {"texts": 0},
            rows_new=n,
            row=texts.row,
        )
    )


def _hint(before: NumberSummary, now: NumberValues) -> str:
    return unit_change(before, now.summary()) if now.n else ""


def _drift(cpd: LinearGaussian, rows: NumberRows, hint: str) -> Question:
    name = cpd.variable.name
    kept = cpd.rows
    (column,) = rows.complete([name])
    check = Check(
        id=column_id(DRIFT, name),
        family="schema",
        kind=DRIFT,
        variables=(name,),
        message=f"{name}: the model keeps nothing of its rows to compare with"
        if kept is None
        else f"{name}: no rows to compare",
        rows_new=len(column),
        status=INSUFFICIENT,
    )
    if kept is None:
        return Question(check)
    return compared_within(check, kept.cuts, kept.counts, column, f"{name}: share", hint=hint)
