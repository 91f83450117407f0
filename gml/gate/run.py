"""Run the checks of a model on new rows.

What is asked depends on what the model is of: `level_questions` of labels alone, else
`mixed_questions`; `decision` says what fails.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gml.counts.chunked_rows import chunked_rows
from gml.counts.counted_once import CountedOnce
from gml.counts.counter import Counter
from gml.counts.memory import MemoryCounter
from gml.counts.passes import PassCounter
from gml.data.alignment import with_levels_first
from gml.data.dataset import Dataset
from gml.errors import CannotAnswer, Note, agreeing, counted, listing, parameter
from gml.gate.check import LEVELS, PASS, Check
from gml.gate.clique_tables import moved_with
from gml.gate.decision import decide_together, is_small_enough
from gml.gate.families import CheckedModel, rows_behind
from gml.gate.first_rows import with_first_rows
from gml.gate.level_questions import level_questions
from gml.gate.mixed_questions import mixed_questions, questions_of_sums
from gml.gate.possible_checks import possible_checks
from gml.gate.question import Question
from gml.gate.range_checks import notes_on_codes
from gml.gate.repeat_checks import RowRepeats, notes_on_repeats, notes_on_training, row_repeats
from gml.gate.result import CheckReport
from gml.gate.settings import CheckSettings, Context, MissingCells
from gml.model.baseline import Baseline
from gml.model.bayesnet import BayesNet
from gml.model.em.available_lines import with_lines_of_available_rows
from gml.model.markovnet import MarkovNet

# The share of rows up to which values are rare.
_RARE = 0.05
# How many times fewer rows than the model's deserve a note.
_FEW = 20


@dataclass(frozen=True)
class Examined:
    """One delivery before a decision: what was asked about it, and its report without checks."""

    questions: Sequence[Question]
    counter: Counter
    repeats: RowRepeats | None
    report: CheckReport
    possible: Mapping[str, int] = field(default_factory=dict)
    """How many checks it can have, by family, whatever was asked."""


def check_model(
    net: CheckedModel,
    data: Dataset | Counter,
    settings: CheckSettings | None = None,
    *,
    baseline: Baseline | None = None,
    context: Context | None = None,
) -> CheckReport:
    """Ask whether a model still holds on new rows.

    `data` may lack columns of the model, and have values that it does not know; a counter has its
    levels in the order of the model's, others after them.

    Examples
    --------
    >>> import gml
    >>> rows = gml.read("sample_data/asia.csv")
    >>> net = gml.fit(rows, gml.read_graph("sample_data/asia.dot"))
    >>> report = check_model(net, rows)
    >>> report.failed, report.counts["pass"] > 40
    (False, True)
    """
    settings = settings or CheckSettings()
    examined = examine(net, data, settings, baseline=baseline, context=context)
    (report,) = conclude([examined], settings)
    return report


def examine(
    net: CheckedModel,
    data: Dataset | Counter,
    settings: CheckSettings,
    *,
    baseline: Baseline | None = None,
    context: Context | None = None,
) -> Examined:
    """Ask everything about one delivery, and decide nothing yet."""
    context, baseline = context or Context(), baseline or Baseline()
    if isinstance(net, BayesNet):
        net = with_lines_of_available_rows(net)
    counter = _counter(net, data, settings)
    n_rows = counter.n
    repeats, notes = _repeats(net, counter, context)
    if repeats is not None and repeats.times > 1:
        counter, context = _counted_once(counter, repeats, settings), _once(context, repeats)
    if isinstance(net, BayesNet) and (net.is_gaussian or net.is_mixed):
        rows = chunked_rows(counter, settings.threads)
        # What overflows is recognised where it matters.
        with np.errstate(all="ignore"):
            known = {"references": baseline.references}
            if rows is None:
                asked = questions_of_sums(net, counter, settings, context, **known)
            else:
                asked = mixed_questions(
                    net, counter, rows, settings, context, repeats=repeats, **known
                )
    else:
        asked = level_questions(
            net,
            counter,
            settings,
            context,
            repeats=repeats,
            references=baseline.references,
        )
    report = CheckReport(
        checks=(),
        alpha=settings.alpha,
        data=context.data,
        model=context.model,
        rows=n_rows,
        model_rows=rows_behind(net),
        unlikely=asked.unlikely,
        notes=(
            *context.notes,
            *notes_on_training(net.training),
            *_notes_on_hidden(net),
            *notes,
            *asked.notes,
        ),
        baseline=baseline,
        margins=asked.margins,
        parents=_parents(net),
    )
    names = {variable.name for variable in counter.variables}.difference(context.left_out)
    return Examined(
        asked.questions,
        counter,
        repeats,
        report,
        possible_checks(net, names, context.numbers_before),
    )


def conclude(deliveries: Sequence[Examined], settings: CheckSettings) -> list[CheckReport]:
    """Decide on all deliveries together: if nothing changed, no report fails, except with α."""
    accepted = deliveries[0].report.baseline.accepted if deliveries else ()
    decided = decide_together(
        [d.questions for d in deliveries],
        settings,
        accepted=accepted,
        possible=[d.possible for d in deliveries],
    )
    return [_report(d, checks, settings) for d, checks in zip(deliveries, decided, strict=True)]


def _report(delivery: Examined, checks: Sequence[Check], settings: CheckSettings) -> CheckReport:
    report = delivery.report
    checks = with_first_rows(checks, delivery.counter)
    notes = [
        *_notes(checks, settings, report.rows, report.model_rows),
        *notes_on_codes(checks),
        *notes_on_repeats(delivery.repeats, checks),
        *_rare_values(checks, settings),
    ]
    return replace(report, checks=tuple(checks), notes=(*report.notes, *notes))


def _rare_values(checks: Sequence[Check], settings: CheckSettings) -> list[str]:
    """Name unknown values that are no failure, and say what keeps them from being one."""
    notes: list[str] = []
    for check in checks:
        if check.kind != LEVELS or check.status != PASS or not check.effect:
            continue
        why = "too few to be a change"
        if is_small_enough(check.log_p_adjusted, settings):
            why = f"a share below {parameter('min_effect')}"
        elif check.effect > _RARE and check.log_p_adjusted is not None:
            p, known = math.exp(check.log_p_adjusted), counted(check.rows_old or 0, "row")
            why = f"{check.effect:.0%} of rows, but new values are to be expected "
            why += f"where the model has {known} (adjusted p {p:.2g})"
        notes.append(Note(f"{check.message}; {why}"))
    return notes


def _repeats(
    net: CheckedModel, counter: Counter, context: Context
) -> tuple[RowRepeats | None, list[str]]:
    """How rows repeat; notes say so if that takes too much memory."""
    try:
        return row_repeats(net.training, net.names, counter, context.uncut_repeats), []
    except CannotAnswer as refused:
        return None, [f"{refused}; so how often rows repeat was not looked at"]


def _counted_once(counter: Counter, repeats: RowRepeats, settings: CheckSettings) -> Counter:
    """Rows that were delivered several times, as if they had come once."""
    if isinstance(counter, PassCounter):
        return CountedOnce(counter, repeats.times)
    rows = repeats.once(counter.require_rows("a check"))
    return MemoryCounter(rows, threads=settings.threads)


def _once(context: Context, repeats: RowRepeats) -> Context:
    """What is known about rows that were delivered several times, as if they had come once."""
    return replace(
        context,
        missing_now={
            name: MissingCells(cells.missing // repeats.times, cells.rows // repeats.times)
            for name, cells in context.missing_now.items()
        },
        numbers_now=repeats.numbers_once(context.numbers_now),
    )


def _notes(
    checks: Sequence[Check], settings: CheckSettings, rows: int, model_rows: int | None
) -> list[str]:
    """What the reader of a report that passes should know."""
    notes = []
    if model_rows is not None and rows < model_rows / _FEW:
        notes.append(
            f"{counted(rows, 'row')} beside {model_rows} of the model: only large changes show"
        )
    small = sum(c.status == PASS and is_small_enough(c.log_p_adjusted, settings) for c in checks)
    if small:
        least = parameter("min_effect")
        notes.append(Note(f"{counted(small, 'check')} would fail, but for an effect below {least}"))
    return notes


def _notes_on_hidden(net: CheckedModel) -> list[str]:
    """Say which tables cannot be compared with rows, as they are about what nobody saw."""
    hidden = {*net.graph.hidden}
    if not hidden or isinstance(net, MarkovNet):
        return []
    about = [
        cpd.variable.name
        for cpd in net.cpds
        if not hidden.isdisjoint(v.name for v in (cpd.variable, *cpd.parents))
    ]
    tables = agreeing(len(about), "the table", "the tables")
    seen = f"{listing(sorted(hidden))} {agreeing(len(hidden), 'was', 'were')} never seen"
    return [f"{tables} of {listing(about)} left out: {seen}"]


def _parents(net: CheckedModel) -> dict[str, tuple[str, ...]]:
    """What selecting rows by a column changes beside it, and by what that changes, in turn."""
    if isinstance(net, MarkovNet):
        return moved_with(net)
    return {cpd.variable.name: tuple(p.name for p in cpd.parents) for cpd in net.cpds}


def _counter(net: CheckedModel, data: Dataset | Counter, settings: CheckSettings) -> Counter:
    if not isinstance(data, Dataset):
        return data
    levels = {v.name: v.levels for v in net.variables if v.levels is not None}
    hidden = net.graph.hidden
    present = [name for name in net.names if name in data.names and name not in hidden]
    aligned = with_levels_first(data.select(present), levels)
    return MemoryCounter(aligned, threads=settings.threads)
