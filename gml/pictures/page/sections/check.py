"""What a check of the model on the data found: culprits first, then what fails."""

from __future__ import annotations

from collections.abc import Sequence

from gml.errors import counted, with_flags
from gml.formats.reports.checks.wording import (
    comparisons,
    effect_shown,
    p_shown,
    place_of_row,
    rows_shown,
    sentence,
    verdict,
    verdict_sentence,
    why_unlikely,
)
from gml.gate.check import BASELINED, FAIL, INSUFFICIENT, WARN, Check
from gml.gate.result import CheckReport
from gml.pictures.page.content import ReportContent
from gml.pictures.page.html import NOTHING, Heading, folded, items, paragraph, table, tag
from gml.pictures.page.sections.section import Section
from gml.pictures.svg import Markup, label

_MOST_ROWS = 200
_HEADINGS = (
    Heading("family"),
    Heading("what"),
    Heading("adjusted p", is_number=True),
    Heading("effect", is_number=True),
    Heading("old → new"),
    Heading("rows, old → new", is_number=True),
)


def check_section(content: ReportContent) -> Section:
    """Return the answer, who is behind it, and the checks that give it."""
    report = content.check
    if report is None:
        why_not = paragraph(f"Not checked: {content.unchecked}.", class_="absent")
        return Section("check", "Check", (why_not,))
    answer = tag("p", _verdict(report), label(f" {verdict_sentence(report)}."))
    culprits = [culprit.message for culprit in report.culprits]
    return Section(
        "check",
        "Check",
        (
            answer,
            _culprits(culprits),
            _table("Failures", report.ranked(FAIL)),
            _table("Warnings", report.ranked(WARN)),
            _undecided("Insufficient data", report, INSUFFICIENT),
            _undecided("Accepted before", report, BASELINED),
            _unlikely(report),
            items([with_flags(note) for note in report.notes], class_="note"),
        ),
    )


def check_summary(content: ReportContent) -> Markup:
    """Return the answer in a line with its first culprit, for readers who see nothing else."""
    report = content.check
    link = tag("a", label("Check"), href="#check")
    if report is None:
        return tag("p", label("Not checked (see "), link, label(")"), class_="answer")
    culprits = report.culprits
    said = f"culprit: {culprits[0].message}" if culprits else verdict_sentence(report)
    if len(culprits) > 1:
        said += f"; and {counted(len(culprits) - 1, 'more culprit')}"
    return tag("p", _verdict(report), label(f" {said} (see "), link, label(")"), class_="answer")


def _verdict(report: CheckReport) -> Markup:
    said = verdict(report)
    return tag("strong", label(said), class_=f"verdict {said.lower()}")


def _culprits(messages: Sequence[str]) -> Markup:
    if not messages:
        return NOTHING
    return tag("div", tag("h3", label("Culprits")), items(messages), class_="culprits")


def _table(title: str, checks: Sequence[Check]) -> Markup:
    if not checks:
        return NOTHING
    rows = [
        [
            label(check.family),
            label(sentence(check)),
            label(p_shown(check.log_p_adjusted)),
            label(effect_shown(check)),
            label("; ".join(comparisons(check))),
            label(rows_shown(check)),
        ]
        for check in checks[:_MOST_ROWS]
    ]
    left = len(checks) - len(rows)
    more = paragraph(f"and {left} more: gml check lists them all") if left else NOTHING
    return tag("div", table(title, _HEADINGS, rows), more)


def _undecided(title: str, report: CheckReport, status: str) -> Markup:
    checks = report.ranked(status)
    if not checks:
        return NOTHING
    lines = [sentence(check) for check in checks[:_MOST_ROWS]]
    if len(checks) > _MOST_ROWS:
        lines.append(f"and {len(checks) - _MOST_ROWS} more")
    return folded(f"{title}: {counted(len(checks), 'check')}", items(lines))


def _unlikely(report: CheckReport) -> Markup:
    if not report.unlikely:
        return NOTHING
    lines = [f"{place_of_row(row)}: {why_unlikely(row)}" for row in report.unlikely]
    return folded(f"Least likely rows: {len(lines)}", items(lines))
