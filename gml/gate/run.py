"""Run the checks of a model on new rows, and decide.

If nothing changed, the answer is no with probability at most α: p-values of all checks that are
not baselined are adjusted together by Holm's method (1979), which needs no independence of the
tests. A check fails iff its adjusted p-value is at most α and its effect at least as large as asked
for. The method of Benjamini & Hochberg only ranks the report.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, TableSet
from gml.counts.memory import MemoryCounter
from gml.data.alignment import with_levels_first
from gml.data.dataset import Dataset
from gml.data.number_summary import NumberSummary, NumberValues
from gml.errors import UsageError, counted, parameter
from gml.gate.families import FamilyCounts, family_counts, rows_behind, table_of
from gml.gate.fit_checks import fit_check, least_likely, row_probabilities
from gml.gate.monte_carlo import MonteCarlo
from gml.gate.question import Question
from gml.gate.range_checks import drift_checks, notes_on_codes, range_checks
from gml.gate.rarefaction import OtherReasons
from gml.gate.repeat_checks import (
    RowRepeats,
    notes_on_repeats,
    other_reasons,
    repeat_check,
    row_repeats,
    unique_checks,
)
from gml.gate.result import (
    BASELINED,
    FAIL,
    FAMILIES,
    INSUFFICIENT,
    PASS,
    WARN,
    Check,
    CheckReport,
    UnlikelyRow,
)
from gml.gate.schema_checks import ColumnCounts, MissingCells, schema_checks
from gml.gate.selection import Selection, weak_parents
from gml.gate.structure_checks import structure_checks
from gml.gate.table_checks import table_checks
from gml.independence.multiplicity import adjust
from gml.model.baseline import Baseline
from gml.model.bayesnet import BayesNet
from gml.model.training import Repeats
from gml.progress import reporter
from gml.resources import available_threads

# p-values within this factor of the level are settled exactly.
_DOUBT = 50
_TIE = 1e-12
_UNLIKELY_ROWS = 5
# The share of rows up to which values are rare.
_RARE = 0.05
# How many times fewer rows than the model's deserve a note.
_FEW = 20


@dataclass(frozen=True)
class CheckSettings:
    """How to decide: the level of the whole run, effects that matter, and what a failure means."""

    alpha: float = 0.01
    min_effect: Mapping[str, float] = field(default_factory=dict)
    """By family; 0 if not given."""
    families: Collection[str] = FAMILIES
    warn: Collection[str] = ()
    """Families whose failures only warn."""
    seed: int = 0
    threads: int | None = None
    unlikely_rows: int = _UNLIKELY_ROWS

    def __post_init__(self) -> None:
        for name in (*self.families, *self.warn, *self.min_effect):
            if name not in FAMILIES:
                raise UsageError(f"{name!r} is not one of {', '.join(FAMILIES)}")
        if not 0 < self.alpha < 1:
            raise UsageError(f"{parameter('alpha')} must be between 0 and 1, not {self.alpha}")


@dataclass(frozen=True)
class Context:
    """What is known about the data besides their rows, and about the past."""

    data: str = "data"
    model: str = "model"
    declared: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Levels that were declared by hand: a value beyond them fails, however rare."""
    other_columns: Collection[str] = ()
    """Columns of the data that the model does not have."""
    left_out: Collection[str] = ()
    """Columns of the model that are not to be checked."""
    missing_before: Mapping[str, MissingCells] = field(default_factory=dict)
    missing_now: Mapping[str, MissingCells] = field(default_factory=dict)
    """Missing cells by column, where they are known."""
    numbers_before: Mapping[str, NumberSummary] = field(default_factory=dict)
    numbers_now: Mapping[str, NumberValues] = field(default_factory=dict)
    """The numbers of columns that were cut, where they are known."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Examined:
    """One delivery before a decision: what was asked about it, and its report without checks."""

    questions: Sequence[Question]
    rows: Dataset | None
    repeats: RowRepeats | None
    report: CheckReport


def check_model(
    net: BayesNet,
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
    net: BayesNet,
    data: Dataset | Counter,
    settings: CheckSettings,
    *,
    baseline: Baseline | None = None,
    context: Context | None = None,
) -> Examined:
    """Ask everything about one delivery, and decide nothing yet."""
    context, baseline = context or Context(), baseline or Baseline()
    counter = _counter(net, data, settings)
    n_rows, rows = counter.n, counter.rows()
    repeats = row_repeats(net.training, net.names, rows)
    if repeats is not None and repeats.times > 1 and rows is not None:
        rows = repeats.once(rows)
        counter = MemoryCounter(rows, threads=settings.threads)
        context = _once(context, repeats)
    numbers = {
        name: (context.numbers_before[name], context.numbers_now[name])
        for name in net.names
        if name in context.numbers_before and name in context.numbers_now
    }
    # The schema needs single columns only, and a count file may have no more.
    families = family_counts(net, counter) if set(settings.families) - {"schema"} else []
    selection = weak_parents(families, len(net.names), settings.alpha)
    notes = list(context.notes)
    if any(table_of(cpd).counts is None for cpd in net.cpds):
        notes.append("the model has no counts, and so its tables are taken as exact")
    if rows is None and "fit" in settings.families:
        notes.append("a count file has no rows, so the fit was not looked at")
    questions: list[Question] = []
    unlikely: tuple[UnlikelyRow, ...] = ()
    if "schema" in settings.families:
        questions += schema_checks(
            net,
            _columns(net, counter),
            declared=context.declared,
            left_out=context.left_out,
            other_columns=context.other_columns,
            missing_before=context.missing_before,
            missing_now=context.missing_now,
        )
        for name, (before, now) in numbers.items():
            questions += range_checks(name, before, now)
        questions += unique_checks(numbers)
        if repeats is not None:
            questions.append(repeat_check(repeats, _reasons(net, counter, families, settings)))
    if "tables" in settings.families:
        questions += table_checks(families, selection)
        for name, (before, now) in numbers.items():
            questions += drift_checks(name, before, now)
    if "structure" in settings.families:
        questions += structure_checks(
            net.graph,
            counter,
            families,
            selection,
            alpha=settings.alpha,
            references=baseline.references,
        )
    if "fit" in settings.families:
        fit, unlikely = _fit(net, families, selection, rows, settings)
        questions.append(fit)
    report = CheckReport(
        checks=(),
        alpha=settings.alpha,
        data=context.data,
        model=context.model,
        rows=n_rows,
        model_rows=rows_behind(net),
        unlikely=unlikely,
        notes=tuple(notes),
        baseline=baseline,
    )
    return Examined(questions, rows, repeats, report)


def conclude(deliveries: Sequence[Examined], settings: CheckSettings) -> list[CheckReport]:
    """Decide on all deliveries together: if nothing changed, no report fails, except with α."""
    accepted = deliveries[0].report.baseline.accepted if deliveries else ()
    decided = decide_together([d.questions for d in deliveries], settings, accepted=accepted)
    return [_report(d, checks, settings) for d, checks in zip(deliveries, decided, strict=True)]


def _report(delivery: Examined, checks: Sequence[Check], settings: CheckSettings) -> CheckReport:
    report, rows = delivery.report, delivery.rows
    if rows is not None:
        checks = [_with_row(check, rows) for check in checks]
    notes = [
        *_notes(checks, settings, report.rows, report.model_rows),
        *notes_on_codes(checks),
        *notes_on_repeats(delivery.repeats, checks),
        *_rare_values(checks, settings),
    ]
    return replace(report, checks=tuple(checks), notes=(*report.notes, *notes))


def _rare_values(checks: Sequence[Check], settings: CheckSettings) -> list[str]:
    """Name unknown values that are no failure, and say what keeps them from being one."""
    notes = []
    for check in checks:
        if check.kind != "levels" or check.status != PASS or not check.effect:
            continue
        why = "too few to be a change"
        if _is_small_enough(check.log_p_adjusted, settings):
            why = "a share below `min_effect`"
        elif check.effect > _RARE and check.log_p_adjusted is not None:
            p, known = math.exp(check.log_p_adjusted), counted(check.rows_old or 0, "row")
            why = f"{check.effect:.0%} of rows, but new values are to be expected "
            why += f"where the model has {known} (adjusted p {p:.2g})"
        notes.append(f"{check.message}; {why}")
    return notes


def _is_small_enough(log_p_adjusted: float | None, settings: CheckSettings) -> bool:
    """Whether a p-value is one at which a check fails, if its effect is large enough."""
    return log_p_adjusted is not None and log_p_adjusted <= math.log(settings.alpha) + _TIE


def _reasons(
    net: BayesNet, counter: Counter, families: Sequence[FamilyCounts], settings: CheckSettings
) -> Callable[[Repeats, int], OtherReasons]:
    def found(old: Repeats, size: int) -> OtherReasons:
        counts = families or family_counts(net, counter)
        return other_reasons(net, counts, old, size, settings.seed)

    return found


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


def _with_row(check: Check, rows: Dataset) -> Check:
    """Name the first row that has the most frequent unknown value."""
    if check.kind != "levels" or not check.new.get("unknown"):
        return check
    (name,), unknown = check.variables, cast(Sequence[str], check.new["unknown"])
    column = rows.columns[rows.index(name)]
    code = (rows.variables[rows.index(name)].levels or ()).index(unknown[0])
    return replace(check, row=int(np.argmax(column == code)) + 1)


def _notes(
    checks: Sequence[Check], settings: CheckSettings, rows: int, model_rows: int | None
) -> list[str]:
    """What the reader of a report that passes should know."""
    notes = []
    if model_rows is not None and rows < model_rows / _FEW:
        notes.append(
            f"{counted(rows, 'row')} beside {model_rows} of the model: only large changes show"
        )
    small = sum(c.status == PASS and _is_small_enough(c.log_p_adjusted, settings) for c in checks)
    if small:
        notes.append(f"{counted(small, 'check')} would fail, but for an effect below `min_effect`")
    return notes


def _counter(net: BayesNet, data: Dataset | Counter, settings: CheckSettings) -> Counter:
    if not isinstance(data, Dataset):
        return data
    levels = {v.name: v.levels for v in net.variables if v.levels is not None}
    present = [name for name in net.names if name in data.names]
    aligned = with_levels_first(data.select(present), levels)
    return MemoryCounter(aligned, threads=settings.threads)


def _columns(net: BayesNet, counter: Counter) -> dict[str, ColumnCounts]:
    wanted = [j for j, v in enumerate(counter.variables) if v.name in net.names]
    found = {}
    for j, counts in zip(wanted, counter.tables([TableSet((j,)) for j in wanted]), strict=True):
        variable = counter.variables[j]
        # Without rows no configuration was seen, not even the empty one.
        cells: NDArray[np.int64] = counts.table.sum(axis=0)
        found[variable.name] = ColumnCounts(variable.levels or (), cells)
    return found


def _fit(
    net: BayesNet,
    families: Sequence[FamilyCounts],
    selection: Selection,
    rows: Dataset | None,
    settings: CheckSettings,
) -> tuple[Question, tuple[UnlikelyRow, ...]]:
    if rows is None or not families:
        return fit_check(net, families, selection, None, None), ()
    found = row_probabilities(families, rows, settings.threads)
    fit = fit_check(net, families, selection, found, rows)
    return fit, least_likely(found, rows, settings.unlikely_rows)


# ---------------------------------------------------------------------- decision


def decide(
    questions: Sequence[Question], settings: CheckSettings, *, accepted: Collection[str]
) -> list[Check]:
    """Settle the p-values that matter, adjust them together, and give each check its status."""
    (checks,) = decide_together([questions], settings, accepted=accepted)
    return checks


def decide_together(
    deliveries: Sequence[Sequence[Question]],
    settings: CheckSettings,
    *,
    accepted: Collection[str],
) -> list[list[Check]]:
    """Do the same for the questions of several deliveries, whose p-values are one family.

    Each delivery draws with a budget of its own, so that their order does not show.
    """
    questions = [question for delivery in deliveries for question in delivery]
    open_ = [
        k
        for k, question in enumerate(questions)
        if question.check.id not in accepted and question.check.log_p is not None
    ]
    level = settings.alpha / max(1, len(open_))
    threads = settings.threads or available_threads()
    draws = [
        monte_carlo
        for delivery in deliveries
        for monte_carlo in [MonteCarlo(level, settings.seed, threads)] * len(delivery)
    ]
    checks = [question.check for question in questions]
    for done, k in enumerate(open_):
        checks[k] = _settled(questions[k], draws[k])
        reporter().advance("checking", done + 1, len(open_))
    log_p = [checks[k].log_p for k in open_]
    decisive = dict(zip(open_, adjust(log_p, "holm"), strict=True))
    ranking = dict(zip(open_, adjust(log_p, "bh"), strict=True))
    result = []
    for k, found in enumerate(checks):
        if found.id in accepted:
            result.append(replace(found, status=BASELINED))
        elif k not in decisive:
            result.append(found)
        else:
            status = _status(found, decisive[k], settings)
            result.append(
                replace(found, log_p_adjusted=decisive[k], log_q=ranking[k], status=status)
            )
    rest = iter(result)
    return [list(itertools.islice(rest, len(delivery))) for delivery in deliveries]


def _settled(question: Question, monte_carlo: MonteCarlo) -> Check:
    check = question.check
    assert check.log_p is not None
    doubtful = question.always or check.log_p <= math.log(_DOUBT * monte_carlo.level)
    if question.settle is None or not doubtful:
        return check
    level = monte_carlo.level * math.exp(-question.log_choices)
    log_p, test = question.settle(replace(monte_carlo, level=level))
    return replace(check, log_p=min(0.0, log_p + question.log_choices), test=test)


def _status(check: Check, log_p_adjusted: float | None, settings: CheckSettings) -> str:
    fails = _is_small_enough(log_p_adjusted, settings)
    matters = check.effect is None or check.effect >= settings.min_effect.get(check.family, 0.0)
    if not (fails and matters):
        return INSUFFICIENT if check.status == INSUFFICIENT else PASS
    return WARN if check.family in settings.warn else FAIL
