"""The report as workflow commands of GitHub Actions, which it shows beside the changed files.

GitHub keeps ten annotations of a kind per step and silently drops the rest, so at most ten are
written, and the last says how many more there are: the summary of the step has them.
"""

from __future__ import annotations

from dataclasses import dataclass

from gml.errors import counted, encodable, printable
from gml.formats.reports.checks.wording import (
    comparisons,
    culprits_shown,
    numbers,
    place_of_row,
    sentence,
    verdict,
    verdict_sentence,
    why_unlikely,
)
from gml.gate.result import FAIL, WARN, CheckReport

_MOST = 10


@dataclass(frozen=True)
class _Annotation:
    level: str
    title: str
    message: str
    line: int | None = None

    def command(self, file: str) -> str:
        """Return the workflow command."""
        properties = {} if file == "-" else {"file": printable(encodable(file))}
        if properties and self.line is not None:
            properties["line"] = str(self.line)
        properties["title"] = self.title
        listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
        return f"::{self.level} {listed}::{_data(self.message)}\n"


def as_github(report: CheckReport) -> str:
    """Return the commands, one per line: culprits, failures, warnings, rows to look at."""
    found = _annotations(report)
    if not found:
        said = f"{verdict(report)}: {verdict_sentence(report)}"
        found = [_Annotation("notice", "gml check", said)]
    if len(found) > _MOST:
        left = found[_MOST - 1 :]
        found = [*found[: _MOST - 1], _Annotation("notice", "gml check", _more(left))]
    return "".join(annotation.command(report.data) for annotation in found)


def _annotations(report: CheckReport) -> list[_Annotation]:
    level = "error" if report.failed else "warning"
    found = [_Annotation(level, "gml check", said) for said in culprits_shown(report)]
    for check in report.ranked(FAIL, WARN):
        figures = [*numbers(check), *comparisons(check)]
        message = "\n".join([sentence(check), *([", ".join(figures)] if figures else [])])
        level = "error" if check.status == FAIL else "warning"
        title = f"gml check: {check.family} {check.kind}"
        found.append(_Annotation(level, printable(title), message, check.line))
    # Some rows are always the least likely; if all is well, they need no attention.
    for row in report.unlikely if found else ():
        message = f"{place_of_row(row)}: {why_unlikely(row)}"
        found.append(_Annotation("notice", "gml check: unlikely row", message, row.line))
    return found


def _more(left: list[_Annotation]) -> str:
    nouns = {"error": "failure", "warning": "warning", "notice": "unlikely row"}
    counts = {level: sum(item.level == level for item in left) for level in nouns}
    said = ", ".join(counted(count, nouns[level]) for level, count in counts.items() if count)
    return f"and {said} more: see the summary of the step, or another report"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
