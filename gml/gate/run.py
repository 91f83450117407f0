"""Run the checks of a model on new rows, and decide.

If nothing changed, the answer is no with probability at most α: p-values of all checks that are
not baselined are adjusted together by Holm's method (1979), which needs no independence of the
tests. A check fails iff its adjusted p-value is at most α and its effect at least as large as asked
for. The method of Benjamini & Hochberg only ranks the report.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, TableSet
from gml.counts.memory import MemoryCounter
from gml.data.alignment import with_levels_first
from gml.data.dataset import Dataset
from gml.errors import CannotAnswer, UsageError, counted, parameter
from gml.gate.baseline import Baseline
from gml.gate.families import FamilyCounts, family_counts, rows_behind, table_of
from gml.gate.fit_checks import fit_check, least_likely, row_probabilities
from gml.gate.gaussian_questions import gaussian_questions
from gml.gate.monte_carlo import MonteCarlo
from gml.gate.question import Asked, Question
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
from gml.model.bayesnet import BayesNet
from gml.progress import reporter
from gml.resources import available_threads

# p-values within this factor of the level are settled exactly.
_DOUBT = 50
_TIE = 1e-12
_UNLIKELY_ROWS = 5
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
    notes: tuple[str, ...] = ()
    decimal: str = "."
    """The decimal mark of numbers that were read as labels."""


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
    settings, context = settings or CheckSettings(), context or Context()
    baseline = baseline or Baseline()
    counter = _counter(net, data, settings)
    rows = counter.rows()
    asked = (
        _of_numbers(net, rows, settings, baseline, context)
        if net.is_gaussian
        else _of_levels(net, counter, settings, baseline, context)
    )
    questions, unlikely = asked.questions, asked.unlikely
    notes = [*context.notes, *asked.notes]
    checks = decide(questions, settings, accepted=baseline.accepted)
    if rows is not None:
        checks = [_with_row(check, rows) for check in checks]
    notes += _notes(checks, settings, counter.n, rows_behind(net))
    rare = [c.message for c in checks if c.kind == "levels" and c.status == PASS and c.effect]
    notes += [f"{message}; too few to be a change" for message in rare]
    return CheckReport(
        checks=tuple(checks),
        alpha=settings.alpha,
        data=context.data,
        model=context.model,
        rows=counter.n,
        model_rows=rows_behind(net),
        unlikely=unlikely,
        notes=tuple(notes),
        baseline=baseline,
    )


def _of_numbers(
    net: BayesNet,
    rows: Dataset | None,
    settings: CheckSettings,
    baseline: Baseline,
    context: Context,
) -> Asked:
    """Ask what a model of numbers is asked."""
    if rows is None:
        raise CannotAnswer("a count file has no rows, and a model of numbers is checked on rows")
    # What overflows is recognised where it matters.
    with np.errstate(all="ignore"):
        return gaussian_questions(
            net,
            rows,
            families=settings.families,
            alpha=settings.alpha,
            decimal=context.decimal,
            left_out=context.left_out,
            other_columns=context.other_columns,
            missing_before=context.missing_before,
            missing_now=context.missing_now,
            references=baseline.references,
            unlikely_rows=settings.unlikely_rows,
        )


def _of_levels(
    net: BayesNet,
    counter: Counter,
    settings: CheckSettings,
    baseline: Baseline,
    context: Context,
) -> Asked:
    """Ask what a model of tables is asked."""
    rows = counter.rows()
    # The schema needs single columns only, and a count file may have no more.
    families = family_counts(net, counter) if set(settings.families) - {"schema"} else []
    selection = weak_parents(families, len(net.names), settings.alpha)
    notes = []
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
    if "tables" in settings.families:
        questions += table_checks(families, selection)
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
    return Asked(questions, unlikely, notes)


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
    level = math.log(settings.alpha) + _TIE
    small = sum(
        c.status == PASS and c.log_p_adjusted is not None and c.log_p_adjusted <= level
        for c in checks
    )
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
    open_ = [
        k
        for k, question in enumerate(questions)
        if question.check.id not in accepted and question.check.log_p is not None
    ]
    level = settings.alpha / max(1, len(open_))
    monte_carlo = MonteCarlo(level, settings.seed, settings.threads or available_threads())
    checks = [question.check for question in questions]
    for done, k in enumerate(open_):
        checks[k] = _settled(questions[k], monte_carlo)
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
    return result


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
    assert log_p_adjusted is not None
    fails = log_p_adjusted <= math.log(settings.alpha) + _TIE
    matters = check.effect is None or check.effect >= settings.min_effect.get(check.family, 0.0)
    if not (fails and matters):
        return INSUFFICIENT if check.status == INSUFFICIENT else PASS
    return WARN if check.family in settings.warn else FAIL
