"""The report for people: the verdict, its culprits, what broke, rows to look at, notes."""

from __future__ import annotations

import textwrap

from gml.errors import place
from gml.formats.reports.checks.wording import (
    Reported,
    comparisons,
    culprits_shown,
    numbers,
    place_of_row,
    run_model,
    sentence,
    subjects,
    verdict,
    verdict_sentence,
    whose_settings,
    why_unlikely,
)
from gml.gate.check import FAIL, WARN, Check, UnlikelyRow
from gml.gate.deliveries import CheckReports
from gml.gate.result import CheckReport
from gml.printable_text import cell_width, printable
from gml.text_table import column

_WIDTH = 100
_INDENT = " " * 6
_SHOWN_CHECKS = 20
_SHOWN_ROWS = 20


def as_text(report: Reported) -> str:
    """Return the report as lines of at most 100 characters, names permitting."""
    lines = _run(report) if isinstance(report, CheckReports) else _delivery(report)
    return "\n".join(lines) + "\n"


def _run(reports: CheckReports) -> list[str]:
    """What was found on all deliveries, then the report on each below its name."""
    lines = [f"{verdict(reports)}  {verdict_sentence(reports)}"]
    lines += _wrapped(f"{_INDENT}against {run_model(reports)}")
    lines += [*_settings(reports), *_notes(reports)]
    for report in reports:
        lines += ["", f"== {printable(place(report.data))}", *_delivery(report)]
    return lines


def _delivery(report: CheckReport) -> list[str]:
    data, model = subjects(report)
    # In one piece, however long, for grep or head -1.
    lines = [f"{verdict(report)}  {verdict_sentence(report)}"]
    lines += _wrapped(f"      {data} against {model}")
    lines += _settings(report)
    if culprits := culprits_shown(report):
        lines += ["", *(line for culprit in culprits for line in _wrapped(culprit))]
    broken = report.ranked(FAIL, WARN)
    for check in broken[:_SHOWN_CHECKS]:
        lines += ["", *_check(check)]
    if len(broken) > _SHOWN_CHECKS:
        lines += ["", f"and {len(broken) - _SHOWN_CHECKS} more (see the report as JSON)"]
    if report.unlikely:
        lines += ["", *_rows(report.unlikely)]
    return lines + _notes(report)


def _settings(report: Reported) -> list[str]:
    settings = whose_settings(report)
    return [] if settings is None else _wrapped(f"{_INDENT}{settings}")


def _notes(report: Reported) -> list[str]:
    lines = [""] if report.notes else []
    for note in report.notes:
        lines += _wrapped(f"note: {printable(note)}")
    return lines


def _check(check: Check) -> list[str]:
    head = f"{check.status.upper()}  {check.family}: {sentence(check)}"
    return [*_wrapped(head), *_filled(numbers(check)), *_filled(comparisons(check))]


def _rows(rows: tuple[UnlikelyRow, ...]) -> list[str]:
    shown = rows[:_SHOWN_ROWS]
    lines = ["least likely rows"]
    places = [place_of_row(row).split() for row in shown]
    words = column([word for word, _ in places])
    numbers_of_rows = column([number for _, number in places], to_the_right=True)
    for word, number, row in zip(words, numbers_of_rows, shown, strict=True):
        lines += _wrapped(f"{_INDENT}{word} {number}  {why_unlikely(row)}")
    if len(rows) > _SHOWN_ROWS:
        lines.append(f"      and {len(rows) - _SHOWN_ROWS} more (see the report as JSON)")
    return lines


def _wrapped(text: str) -> list[str]:
    """Break a sentence at spaces, with what follows indented."""
    return textwrap.wrap(
        text,
        _WIDTH,
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _filled(items: list[str]) -> list[str]:
    """Put as many items on a line as it holds."""
    lines: list[str] = []
    for item in items:
        if lines and cell_width(lines[-1]) + 2 + cell_width(item) <= _WIDTH:
            lines[-1] += f"  {item}"
        else:
            lines.append(_INDENT + item)
    return lines
