"""Schema of a model of numbers: columns, cells that are no numbers, gaps, drift.

A cell that is not a number fails, however rare: the model has no place for it. A column drifts if
its values lie elsewhere among the deciles of the model's rows: the counts between these are
compared as those of a table's row (`within_cuts`), and the message says if all moved as by another
unit. Of a column with a regression per configuration of labels, the model keeps the deciles of each
configuration, so that the counts between the quantiles of all rows are compared instead
(`range_checks`). The effect is the share of rows, or its change, and the total variation for a
drift.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from gml.counts.number_rows import NumberRows
from gml.counts.row_sums import NumberTable, RowSums, Steps, Sums, together
from gml.data.number_summary import Numbers, NumberSummary
from gml.errors import CannotAnswer
from gml.gate.check import DRIFT, INSUFFICIENT, NUMBERS, SHARE_OF_ROWS, Check
from gml.gate.check_ids import column_id
from gml.gate.question import Question
from gml.gate.range_checks import drift_checks
from gml.gate.schema_checks import column_check, missing_check
from gml.gate.settings import Context
from gml.gate.texts import Texts, texts_of
from gml.gate.units import unit_change
from gml.gate.within_cuts import compared_within
from gml.model.bayesnet import LinearGaussian
from gml.model.regression_rows import counts_within
from gml.model.regressions import NumberCpd

_SHOWN = 5


def number_schema_checks(
    cpds: Sequence[NumberCpd], table: NumberTable, context: Context
) -> list[Question]:
    """Ask for each of these nodes: is there a column of numbers, with as many gaps, as before?"""
    questions = []
    texts = texts_of(table)
    kept = {cpd.variable.name: _kept_cuts(cpd) for cpd in cpds}
    there = [name for name in kept if name in table.names]
    counts = dict(
        zip(there, together(table, (_counts(name, kept[name]) for name in there)), strict=True)
    )
    numbers = context.numbers(kept)
    for cpd in cpds:
        name = cpd.variable.name
        if name in context.left_out:
            continue
        questions.append(column_check(name, name in table.names, context.other_columns))
        if name not in table.names:
            continue
        questions.append(_numbers(name, texts[name], table.n))
        missing = context.missing(name)
        if missing is not None:
            questions.append(missing_check(name, *missing))
        if isinstance(cpd, LinearGaussian):
            both = numbers.get(name)
            questions.append(_drift(cpd, counts[name], _hint(*both) if both else ""))
            continue
        before = context.numbers_before.get(name)
        questions.append(_drift_over_quantiles(name, before, counts[name].n, table))
    return questions


def presence_checks(name: str, there: Collection[str], context: Context) -> list[Question]:
    """Ask whether there is a column, with as many gaps as before."""
    if name in context.left_out:
        return []
    questions = [column_check(name, name in there, context.other_columns)]
    missing = context.missing(name) if name in there else None
    if missing is not None:
        questions.append(missing_check(name, *missing))
    return questions


@dataclass(frozen=True)
class _Between(RowSums):
    """How many values of a column lie between cuts."""

    name: str
    cuts: tuple[float, ...]

    @property
    def names(self) -> Sequence[str]:
        return (self.name,)

    @property
    def n_sums(self) -> int:
        return 0

    @property
    def n_counts(self) -> int:
        return len(self.cuts) + 1

    def over(self, rows: NumberRows) -> Iterator[tuple[int, Sums]]:
        complete = rows.complete([self.name])
        counts = counts_within(self.cuts, complete.columns[self.name], complete.times)
        yield 0, Sums(complete.n, counts=counts)


def _counts(name: str, cuts: tuple[float, ...]) -> Steps[Sums]:
    (found,) = yield [_Between(name, cuts)]
    return found[0]


def _kept_cuts(cpd: NumberCpd) -> tuple[float, ...]:
    """The cuts of a column by itself, none where it has several regressions."""
    return cpd.rows.cuts if isinstance(cpd, LinearGaussian) and cpd.rows is not None else ()


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


def _hint(before: NumberSummary, now: Numbers) -> str:
    return unit_change(before, now.summary()) if now.n else ""


def _no_drift(name: str, n: int, why: str | None = None) -> Check:
    """The check of a drift that cannot be answered."""
    nothing = "the model keeps nothing of its rows to compare with"
    return Check(
        id=column_id(DRIFT, name),
        family="schema",
        kind=DRIFT,
        variables=(name,),
        message=f"{name}: {why or nothing}",
        rows_new=n,
        status=INSUFFICIENT,
    )


def _drift(cpd: LinearGaussian, found: Sums, hint: str) -> Question:
    name, kept = cpd.variable.name, cpd.rows
    if kept is None:
        return Question(_no_drift(name, found.n))
    check = _no_drift(name, found.n, "no rows to compare")
    now = found.counts.tolist()
    return compared_within(check, kept.cuts, kept.counts, now, f"{name}: share", hint=hint)


def _drift_over_quantiles(
    name: str, before: NumberSummary | None, n: int, table: NumberTable
) -> Question:
    if before is None:
        return Question(_no_drift(name, n))
    try:
        found = drift_checks(name, before, table.values(name)) if n else []
    except CannotAnswer as refused:
        return Question(_no_drift(name, n, str(refused)))
    return found[0] if found else Question(_no_drift(name, n, "no rows to compare"))
