"""The report as JUnit XML: one test case per check, one test suite per family.

It keeps to what both schemas in common use allow: that of Jenkins (junit-10.xsd) and the older one
of Ant (JUnit.xsd by Windy Road). The latter requires a time stamp and a host name for every suite,
which a report that is the same for the same input cannot have: they are constants. It allows no
output within a test case, so warnings are in the output of the suite, after the culprits.
"""

from __future__ import annotations

from collections.abc import Sequence

from gml.errors import place, printable
from gml.formats.reports.checks.wording import (
    comparisons,
    culprits_shown,
    numbers,
    place_of_row,
    sentence,
    why_unlikely,
)
from gml.gate.result import BASELINED, FAIL, FAMILIES, INSUFFICIENT, WARN, Check, CheckReport

_TIMESTAMP = "1970-01-01T00:00:00"
_HOSTNAME = "localhost"
_WHY_SKIPPED = {BASELINED: "accepted in the baseline", INSUFFICIENT: "the data cannot tell"}


def as_junit(report: CheckReport) -> str:
    """Return the XML document; warnings pass, what is baselined or undecided is skipped."""
    found = {check.family: None for check in report.checks}
    families = [family for family in FAMILIES if family in found]
    families += sorted(set(found) - set(FAMILIES))
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for position, family in enumerate(families):
        checks = [check for check in report.checks if check.family == family]
        lines += _suite(family, position, checks, report)
    lines.append("</testsuites>")
    return "\n".join(lines) + "\n"


def _suite(family: str, position: int, checks: Sequence[Check], report: CheckReport) -> list[str]:
    name = f"gml.check.{printable(family)}"
    attributes = {
        "name": name,
        "package": name,
        "id": position,
        "tests": len(checks),
        "failures": sum(check.status == FAIL for check in checks),
        "errors": 0,
        "skipped": sum(check.status in _WHY_SKIPPED for check in checks),
        "time": 0,
        "timestamp": _TIMESTAMP,
        "hostname": _HOSTNAME,
    }
    properties = {
        "alpha": f"{report.alpha:g}",
        "data": place(report.data),
        "model": place(report.model),
        "rows": report.rows,
        **({} if report.settings is None else {"settings": place(report.settings)}),
    }
    lines = [f"  <testsuite {_attributes(attributes)}>", "    <properties>"]
    lines += [
        f"      <property {_attributes({'name': key, 'value': value})}/>"
        for key, value in properties.items()
    ]
    lines.append("    </properties>")
    for check in checks:
        lines += _case(name, check)
    accused = any(check.status in (FAIL, WARN) for check in checks)
    said = culprits_shown(report) if accused else []
    said += [
        f"{check.id}: {line}" for check in checks if check.status == WARN for line in _said(check)
    ]
    if family == "fit":
        said += [f"{place_of_row(row)}: {why_unlikely(row)}" for row in report.unlikely]
    lines += [
        f"    <system-out>{_text(said)}</system-out>",
        "    <system-err></system-err>",
        "  </testsuite>",
    ]
    return lines


def _case(suite: str, check: Check) -> list[str]:
    opening = f"    <testcase {_attributes({'classname': suite, 'name': check.id, 'time': 0})}"
    if check.status == FAIL:
        about = _attributes({"type": f"{check.family}.{check.kind}", "message": sentence(check)})
        inner = f"      <failure {about}>{_text(_said(check))}</failure>"
    elif check.status in _WHY_SKIPPED:
        why = f"{_WHY_SKIPPED[check.status]}: {sentence(check)}"
        inner = f"      <skipped {_attributes({'message': why})}/>"
    else:
        return [f"{opening}/>"]
    return [f"{opening}>", inner, "    </testcase>"]


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
