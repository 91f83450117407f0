"""The report of `gml check`: one function per format, from a `CheckReport` to text."""

from __future__ import annotations

from collections.abc import Callable

from gml.formats.reports.checks.annotations import as_github
from gml.formats.reports.checks.junit import as_junit
from gml.formats.reports.checks.markdown import as_markdown
from gml.formats.reports.checks.objects import as_json
from gml.formats.reports.checks.sarif import as_sarif
from gml.formats.reports.checks.text import as_text

FORMATS: dict[str, Callable[..., str]] = {
    "text": as_text,
    "json": as_json,
    "markdown": as_markdown,
    "junit": as_junit,
    "github": as_github,
    "sarif": as_sarif,
}
"""From a report to text; those of JSON and SARIF take `inputs` too."""
