"""The report as a comment on a pull request, or the summary of a workflow step.

GitHub refuses comments of more than 65536 characters, so every part has its share of that and says
what it left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gml.errors import place
from gml.formats.reports.checks.wording import (
    Reported,
    comparisons,
    culprits_shown,
    effect_shown,
    p_shown,
    place_of_row,
    rows_shown,
    run_model,
    sentence,
    subjects,
    verdict,
    verdict_sentence,
    whose_settings,
    why_unlikely,
)
from gml.gate.check import BASELINED, FAIL, INSUFFICIENT, WARN, Check
from gml.gate.deliveries import CheckReports
from gml.gate.result import CheckReport
from gml.printable_text import printable

# Shares of the 65536 bytes; together with the headings they stay below.
_FAILURES, _WARNINGS, _UNDECIDED, _ROWS, _NOTES = 30_000, 12_000, 6_000, 8_000, 4_000
_DELIVERIES = 10_000
_MOST_SECTIONS = 8
_LONGEST_CELL = 400


def as_markdown(report: Reported) -> str:
    """Return the comment: the verdict, a table of failures, the rest folded away."""
    parts = _run(report) if isinstance(report, CheckReports) else _delivery(report, "##", 1.0)
    return "\n\n".join(parts) + "\n"


def _run(reports: CheckReports) -> list[str]:
    """A table of the deliveries, then a section on each that does not pass, as far as they fit."""
    parts = [
        f"## gml check: {verdict(reports)}",
        f"{_escaped(verdict_sentence(reports))}.",
        f"Against {_escaped(run_model(reports))}.",
        *_settings(reports),
        _overview(reports),
    ]
    broken = [report for report in reports if report.failed]
    # All sections together have three quarters of the room.
    shown = broken[:_MOST_SECTIONS]
    for report in shown:
        parts += _delivery(report, "###", 0.75 / len(shown))
    if len(broken) > len(shown):
        parts.append(
            f"and {len(broken) - len(shown)} more that do not pass (see the report as JSON)"
        )
    return parts + _notes(reports, 0.25)


def _overview(reports: CheckReports) -> str:
    rows = [
        f"| {_escaped(printable(place(report.data)))} | {verdict(report)} "
        f"| {'-' if report.error is not None else report.rows} "
        f"| {_escaped(verdict_sentence(report))} |"
        for report in reports
    ]
    head = "| delivery | verdict | rows | what |\n|---|---|---|---|\n"
    return head + _cut(rows, _DELIVERIES)


def _delivery(report: CheckReport, heading: str, room: float) -> list[str]:
    """The parts of one report, in this share of the room."""
    data, model = subjects(report)
    title = "gml check" if heading == "##" else _escaped(printable(place(report.data)))
    parts = [
        f"{heading} {title}: {verdict(report)}",
        f"{_escaped(verdict_sentence(report))}.",
        f"{_escaped(data)} against {_escaped(model)}.",
        *_settings(report),
    ]
    parts += [f"**{_escaped(culprit)}**" for culprit in culprits_shown(report)]
    if failures := report.ranked(FAIL):
        parts.append(_table(failures, int(room * _FAILURES)))
    if warnings := report.ranked(WARN):
        table = _table(warnings, int(room * _WARNINGS))
        parts.append(_folded("Warnings", len(warnings), table))
    for status, title in ((INSUFFICIENT, "Insufficient data"), (BASELINED, "Baselined")):
        if checks := report.ranked(status):
            items = [f"- {_escaped(sentence(check))}" for check in checks]
            parts.append(_folded(title, len(checks), _cut(items, int(room * _UNDECIDED) // 2)))
    if report.unlikely:
        items = [f"- {place_of_row(row)}: {_escaped(why_unlikely(row))}" for row in report.unlikely]
        rows = _cut(items, int(room * _ROWS))
        parts.append(_folded("Least likely rows", len(report.unlikely), rows))
    return parts + _notes(report, room)


def _settings(report: Reported) -> list[str]:
    settings = whose_settings(report)
    return [] if settings is None else [f"With {_escaped(settings)}."]


def _notes(report: Reported, room: float) -> list[str]:
    items = [f"- {_escaped(printable(note))}" for note in report.notes]
    return [_cut(items, int(room * _NOTES))] if items else []


def _table(checks: Sequence[Check], share: int) -> str:
    head = "| family | what | adjusted p | effect | old → new | rows, old → new |\n"
    rows = [
        "| "
        + " | ".join(
            [
                _escaped(printable(check.family)),
                _escaped(sentence(check)),
                p_shown(check.log_p_adjusted),
                _escaped(effect_shown(check)),
                "<br>".join(_escaped(item) for item in comparisons(check)[:8]) or "-",
                rows_shown(check),
            ]
        )
        + " |"
        for check in checks
    ]
    return head + "|---|---|---|---|---|---|\n" + _cut(rows, share)


def _folded(title: str, count: int, content: str) -> str:
    return f"<details><summary>{title}: {count}</summary>\n\n{content}\n\n</details>"


def _cut(lines: Sequence[str], share: int) -> str:
    """Return the lines that fit, and how many do not."""
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line.encode("utf-8", "replace")) + 1
        if size > share:
            break
        kept.append(line)
    text = "\n".join(kept)
    left = len(lines) - len(kept)
    return f"{text}\n\nand {left} more (see the report as JSON)" if left else text


def _escaped(text: str) -> str:
    r"""Let nothing in a name be markup, a mention of a person or a reference to an issue.

    Examples
    --------
    >>> print(_escaped('a|b <i> @me'))
    a\|b &lt;i&gt; @<!-- -->me
    """
    if len(text) > _LONGEST_CELL:
        text = text[: _LONGEST_CELL - 3] + "..."
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_\[\]~|$])", r"\\\1", text)
    text = re.sub(r"([@#])(?=\w)", r"\1<!-- -->", text)
    return re.sub(r"://|(?<=www)\.", lambda found: "<!-- -->" + found[0], text)
