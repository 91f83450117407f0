"""The report as JUnit XML: one test case per check, one test suite per family or per delivery.

It keeps to what both schemas in common use allow: that of Jenkins (junit-10.xsd) and the older one
of Ant (JUnit.xsd by Windy Road). The latter requires a time stamp and a host name for every suite,
which a report that is the same for the same input cannot have: they are constants. It allows no
output within a test case, so warnings are in the output of the suite, after the culprits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gml.errors import place
from gml.formats.reports.checks.wording import (
    Reported,
    comparisons,
    culprits_shown,
    numbers,
    place_of_row,
    sentence,
    why_unlikely,
)
from gml.gate.check import BASELINED, FAIL, FAMILIES, INSUFFICIENT, WARN, Check
from gml.gate.deliveries import CheckReports
from gml.gate.result import CheckReport, Rejection
from gml.printable_text import printable

_TIMESTAMP = "1970-01-01T00:00:00"
_HOSTNAME = "localhost"
# In the place of a family, for a delivery that could not be checked.
_INPUT = "input"
_WHY_SKIPPED = {BASELINED: "accepted in the baseline", INSUFFICIENT: "the data cannot tell"}


@dataclass(frozen=True)
class _Suite:
    """Checks of a report under one name; `before` is what the classes of its cases begin with."""

    name: str
    before: str
    checks: Sequence[Check]
    report: CheckReport
    with_rows: bool
    """Whether its output has the least likely rows."""


def as_junit(report: Reported) -> str:
    """Return the XML document; warnings pass, what is baselined or undecided is skipped."""
    suites = _of_run(report) if isinstance(report, CheckReports) else _of_delivery(report)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for position, suite in enumerate(suites):
        lines += _suite(suite, position)
    lines.append("</testsuites>")
    return "\n".join(lines) + "\n"


def _of_delivery(report: CheckReport) -> list[_Suite]:
    """One suite per family; that of an error has no check."""
    found = {check.family: None for check in report.checks}
    families = [family for family in FAMILIES if family in found]
    families += sorted(set(found) - set(FAMILIES))
    if report.error is not None:
        families = [_INPUT]
    return [
        _Suite(
            f"gml.check.{printable(family)}",
            "gml.check.",
            [check for check in report.checks if check.family == family],
            report,
            family == "fit",
        )
        for family in families
    ]


def _of_run(reports: CheckReports) -> list[_Suite]:
    """One suite per delivery, and its name in the classes: cases of deliveries must differ."""
    return [
        _Suite(name := place(report.data), f"{name}.", report.checks, report, with_rows=True)
        for report in reports
    ]


def _suite(suite: _Suite, position: int) -> list[str]:
    checks, report = suite.checks, suite.report
    attributes = {
        "name": suite.name,
        "package": suite.name,
        "id": position,
        "tests": len(checks) + (report.error is not None),
        "failures": sum(check.status == FAIL for check in checks),
        "errors": int(report.error is not None),
        "skipped": sum(check.status in _WHY_SKIPPED for check in checks),
        "time": 0,
        "timestamp": _TIMESTAMP,
        "hostname": _HOSTNAME,
    }
    properties = {
        "alpha": f"{report.alpha:g}",
        "data": place(report.data),
        "model": place(report.model),
        **({"rows": report.rows} if report.error is None else {}),
        **({} if report.settings is None else {"settings": place(report.settings)}),
    }
    lines = [f"  <testsuite {_attributes(attributes)}>", "    <properties>"]
    lines += [
        f"      <property {_attributes({'name': key, 'value': value})}/>"
        for key, value in properties.items()
    ]
    lines.append("    </properties>")
    for check in checks:
        lines += _case(f"{suite.before}{printable(check.family)}", check)
    if report.error is not None:
        lines += _error(f"{suite.before}{_INPUT}", report.data, report.error)
    accused = any(check.status in (FAIL, WARN) for check in checks)
    said = culprits_shown(report) if accused else []
    said += [
        f"{check.id}: {line}" for check in checks if check.status == WARN for line in _said(check)
    ]
    if suite.with_rows:
        said += [f"{place_of_row(row)}: {why_unlikely(row)}" for row in report.unlikely]
    lines += [
        f"    <system-out>{_text(said)}</system-out>",
        "    <system-err></system-err>",
        "  </testsuite>",
    ]
    return lines


def _case(class_: str, check: Check) -> list[str]:
    opening = f"    <testcase {_attributes({'classname': class_, 'name': check.id, 'time': 0})}"
    if check.status == FAIL:
        about = _attributes({"type": f"{check.family}.{check.kind}", "message": sentence(check)})
        inner = f"      <failure {about}>{_text(_said(check))}</failure>"
    elif check.status in _WHY_SKIPPED:
        why = f"{_WHY_SKIPPED[check.status]}: {sentence(check)}"
        inner = f"      <skipped {_attributes({'message': why})}/>"
    else:
        return [f"{opening}/>"]
    return [f"{opening}>", inner, "    </testcase>"]


def _error(class_: str, data: str, error: Rejection) -> list[str]:
    about = _attributes({"type": f"exit {error.exit_code}", "message": error.message})
    opening = _attributes({"classname": class_, "name": place(data), "time": 0})
    return [
        f"    <testcase {opening}>",
        f"      <error {about}>{_text([error.message])}</error>",
        "    </testcase>",
    ]


def _said(check: Check) -> list[str]:
    return [sentence(check), *numbers(check), *comparisons(check)]


def _text(lines: Sequence[str]) -> str:
    return "\n".join(_content(printable(line)) for line in lines)


def _attributes(values: dict[str, object]) -> str:
    return " ".join(f"{key}={_attribute(printable(str(value)))}" for key, value in values.items())


# Those of the standard library are in modules that cost more to import than all the rest.
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_IN_QUOTES = str.maketrans({'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _content(text: str) -> str:
    return text.translate(_MARKUP)


def _attribute(text: str) -> str:
    return f'"{text.translate(_MARKUP).translate(_IN_QUOTES)}"'
