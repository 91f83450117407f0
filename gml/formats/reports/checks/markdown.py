"""The report as a comment on a pull request, or the summary of a workflow step.

GitHub refuses comments of more than 65536 characters, so every part has its share of that and says
what it left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gml.errors import printable
from gml.formats.reports.checks.wording import (
    comparisons,
    culprits_shown,
    effect_shown,
    p_shown,
    place_of_row,
    rows_shown,
    sentence,
    subjects,
    verdict,
    verdict_sentence,
    whose_settings,
    why_unlikely,
)
from gml.gate.result import BASELINED, FAIL, INSUFFICIENT, WARN, Check, CheckReport

# Shares of the 65536 bytes; together with the headings they stay below.
_FAILURES, _WARNINGS, _UNDECIDED, _ROWS, _NOTES = 30_000, 12_000, 6_000, 8_000, 4_000
_LONGEST_CELL = 400


def as_markdown(report: CheckReport) -> str:
    """Return the comment: the verdict, a table of failures, the rest folded away."""
    data, model = subjects(report)
    parts = [
        f"## gml check: {verdict(report)}",
        f"{_escaped(verdict_sentence(report))}.",
        f"{_escaped(data)} against {_escaped(model)}.",
    ]
    if settings := whose_settings(report):
        parts.append(f"With {_escaped(settings)}.")
    parts += [f"**{_escaped(culprit)}**" for culprit in culprits_shown(report)]
    if failures := report.ranked(FAIL):
        parts.append(_table(failures, _FAILURES))
    if warnings := report.ranked(WARN):
        parts.append(_folded("Warnings", len(warnings), _table(warnings, _WARNINGS)))
    for status, title in ((INSUFFICIENT, "Insufficient data"), (BASELINED, "Baselined")):
        if checks := report.ranked(status):
            items = [f"- {_escaped(sentence(check))}" for check in checks]
            parts.append(_folded(title, len(checks), _cut(items, _UNDECIDED // 2)))
    if report.unlikely:
        items = [f"- {place_of_row(row)}: {_escaped(why_unlikely(row))}" for row in report.unlikely]
        parts.append(_folded("Least likely rows", len(report.unlikely), _cut(items, _ROWS)))
    if report.notes:
        parts.append(_cut([f"- {_escaped(printable(note))}" for note in report.notes], _NOTES))
    return "\n\n".join(parts) + "\n"


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
    return f"{text}\n\nand {left} more (see -f json)" if left else text


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
