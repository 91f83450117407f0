"""The report as workflow commands of GitHub Actions, which it shows beside the changed files.

GitHub keeps ten annotations of a kind per step and silently drops the rest, so at most ten are
written, and the last says how many more there are: the summary of the step has them.
"""

from __future__ import annotations

from dataclasses import dataclass

from gml.errors import counted, encodable
from gml.formats.reports.checks.wording import (
    Reported,
    comparisons,
    culprits_shown,
    numbers,
    place_of_row,
    sentence,
    verdict,
    verdict_sentence,
    why_unlikely,
)
from gml.gate.check import FAIL, WARN
from gml.gate.deliveries import CheckReports
from gml.gate.result import CheckReport
from gml.printable_text import printable

_MOST = 10
_LEVELS = ("error", "warning", "notice")


@dataclass(frozen=True)
class _Annotation:
    level: str
    title: str
    message: str
    file: str
    line: int | None = None

    def command(self) -> str:
        """Return the workflow command."""
        properties = {} if self.file == "-" else {"file": printable(encodable(self.file))}
        if properties and self.line is not None:
            properties["line"] = str(self.line)
        properties["title"] = self.title
        listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
        return f"::{self.level} {listed}::{_data(self.message)}\n"


def as_github(report: Reported) -> str:
    """Return the commands, one per line: failures, then warnings, then rows to look at."""
    reports = list(report) if isinstance(report, CheckReports) else [report]
    found = [annotation for one in reports for annotation in _annotations(one)]
    if len(reports) > 1:
        found.sort(key=lambda annotation: _LEVELS.index(annotation.level))
    # What is about the run is shown at the first delivery.
    file = reports[0].data if reports else "-"
    if not found:
        said = f"{verdict(report)}: {verdict_sentence(report)}"
        found = [_Annotation("notice", "gml check", said, file)]
    if len(found) > _MOST:
        left = found[_MOST - 1 :]
        found = [*found[: _MOST - 1], _Annotation("notice", "gml check", _more(left), file)]
    return "".join(annotation.command() for annotation in found)


def _annotations(report: CheckReport) -> list[_Annotation]:
    if (error := report.error) is not None:
        message = verdict_sentence(report)
        file = error.file or report.data
        return [_Annotation("error", "gml check: not checked", message, file, error.line)]
    level = "error" if report.failed else "warning"
    found = [_Annotation(level, "gml check", said, report.data) for said in culprits_shown(report)]
    for check in report.ranked(FAIL, WARN):
        figures = [*numbers(check), *comparisons(check)]
        message = "\n".join([sentence(check), *([", ".join(figures)] if figures else [])])
        level = "error" if check.status == FAIL else "warning"
        title = f"gml check: {check.family} {check.kind}"
        found.append(_Annotation(level, printable(title), message, report.data, check.line))
    # Some rows are always the least likely; if all is well, they need no attention.
    for row in report.unlikely if found else ():
        message = f"{place_of_row(row)}: {why_unlikely(row)}"
        found.append(
            _Annotation("notice", "gml check: unlikely row", message, report.data, row.line)
        )
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
