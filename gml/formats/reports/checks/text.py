"""The report for people: the verdict, its culprits, what broke, rows to look at, notes."""

from __future__ import annotations

import textwrap

from gml.errors import printable
from gml.formats.reports.checks.wording import (
    comparisons,
    culprits_shown,
    numbers,
    place_of_row,
    sentence,
    subjects,
    verdict,
    verdict_sentence,
    whose_settings,
    why_unlikely,
)
from gml.gate.result import FAIL, WARN, Check, CheckReport, UnlikelyRow

_WIDTH = 100
_INDENT = " " * 6
_SHOWN_CHECKS = 20
_SHOWN_ROWS = 20


def as_text(report: CheckReport) -> str:
    """Return the report as lines of at most 100 characters, names permitting."""
    data, model = subjects(report)
    # In one piece, however long, for grep or head -1.
    lines = [f"{verdict(report)}  {verdict_sentence(report)}"]
    lines += _wrapped(f"      {data} against {model}")
    if settings := whose_settings(report):
        lines += _wrapped(f"      {settings}")
    if culprits := culprits_shown(report):
        lines += ["", *(line for culprit in culprits for line in _wrapped(culprit))]
    broken = report.ranked(FAIL, WARN)
    for check in broken[:_SHOWN_CHECKS]:
        lines += ["", *_check(check)]
    if len(broken) > _SHOWN_CHECKS:
        lines += ["", f"and {len(broken) - _SHOWN_CHECKS} more (see -f json)"]
    if report.unlikely:
        lines += ["", *_rows(report.unlikely)]
    if report.notes:
        lines.append("")
        for note in report.notes:
            lines += _wrapped(f"note: {printable(note)}")
    return "\n".join(lines) + "\n"


def _check(check: Check) -> list[str]:
    head = f"{check.status.upper()}  {check.family}: {sentence(check)}"
    return [*_wrapped(head), *_filled(numbers(check)), *_filled(comparisons(check))]


def _rows(rows: tuple[UnlikelyRow, ...]) -> list[str]:
    shown = rows[:_SHOWN_ROWS]
    width = max(len(place_of_row(row)) for row in shown)
    lines = ["least likely rows"]
    for row in shown:
        lines += _wrapped(f"      {place_of_row(row):<{width}}  {why_unlikely(row)}")
    if len(rows) > _SHOWN_ROWS:
        lines.append(f"      and {len(rows) - _SHOWN_ROWS} more (see -f json)")
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
        if lines and len(lines[-1]) + 2 + len(item) <= _WIDTH:
            lines[-1] += f"  {item}"
        else:
            lines.append(_INDENT + item)
    return lines
