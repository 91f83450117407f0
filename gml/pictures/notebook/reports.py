"""Reports in notebooks: checks, profiles, knowledge and explanations as tables and lists."""

from __future__ import annotations

import math
from typing import Any

from gml.data.missing_patterns import MissingPatterns
from gml.data.profile import ColumnProfile, Profile
from gml.errors import counted, unmarked
from gml.formats.reports.profiles import rows_of_patterns, words_of_test
from gml.formats.reports.rows import shown
from gml.gate.check import FAIL, WARN, Check
from gml.gate.deliveries import CheckReports
from gml.gate.result import CheckReport
from gml.graph.knowledge import Knowledge
from gml.independence.base import tiny_p
from gml.learners.explain import Explanation
from gml.pictures.notebook.tables import block, bullets, paragraph, strong, table
from gml.pictures.svg import Markup

_SHOWN_LEVELS = 8


def check_html(report: CheckReport) -> str:
    """Return the verdict, the culprits, and then what fails or warns, the most urgent first."""
    if report.error is not None:
        return block(strong(f"not checked: {report.error.message}"))
    urgent = report.ranked(FAIL, WARN)
    content = [strong(_verdict(report)), bullets(each.message for each in report.culprits)]
    if urgent:
        content.append(table([_finding(check) for check in urgent], headers=["status", "family"]))
    return block(*content)


def _verdict(report: CheckReport) -> str:
    found = ", ".join(f"{n} {status}" for status, n in report.counts.items() if n)
    return f"{'fail' if report.failed else 'pass'}: {found or 'no checks'}"


def _finding(check: Check) -> dict[str, Any]:
    log_p = check.log_p_adjusted
    return {
        "status": check.status,
        "family": check.family,
        "finding": check.message,
        "p_adjusted": None if log_p is None else _probability(log_p),
        "effect": check.effect,
        "unit": check.effect_unit,
    }


def _probability(log_p: float) -> float | str:
    """A p-value; one too small for a float comes from its logarithm."""
    p = math.exp(log_p)
    return p if p > 0 or log_p == -math.inf else tiny_p(log_p / math.log(10), 6)


def checks_html(reports: CheckReports) -> str:
    """Return one row per delivery, the first culprit or the error beside it."""
    rows = []
    for report in reports:
        first = next((each.message for each in report.culprits), None)
        rows.append(
            {
                "data": report.data,
                "verdict": "not checked" if report.error else _verdict(report),
                "rows": report.rows,
                "why": report.error.message if report.error else first,
            }
        )
    n = len(reports)
    verdict = (
        f"{'fail' if reports.failed else 'pass'}: {n} {'delivery' if n == 1 else 'deliveries'}"
    )
    return block(strong(verdict), table(rows, headers=["data"]))


def profile_html(profile: Profile) -> str:
    """Return one row per column of the data, and below them the patterns of missing values."""
    size = f"{shown(profile.rows)} rows, {counted(len(profile.columns), 'column')}"
    rows = [_column(column) for column in profile.columns]
    content = [paragraph(size), table(rows, headers=["column"])]
    if profile.patterns is not None:
        content.append(_patterns(profile.patterns))
    return block(*content)


def patterns_html(patterns: MissingPatterns) -> str:
    """Return which columns are missing together, and Little's test."""
    return block(_patterns(patterns))


def _patterns(patterns: MissingPatterns) -> Markup:
    heading = strong("Missing together")
    shown_patterns = table(rows_of_patterns(patterns), headers=["rows", "share"])
    return Markup(heading + shown_patterns + bullets(map(unmarked, words_of_test(patterns))))


def _column(column: ColumnProfile) -> dict[str, Any]:
    values: list[Any] = list(column.levels or column.cuts or ())
    if column.numbers is not None and not values:
        values = [f"{end} {column.numbers[end]:.6g}" for end in ("min", "max")]
    left = len(values) - _SHOWN_LEVELS
    return {
        "column": column.name,
        "guess": column.guess,
        "values": [*values[:_SHOWN_LEVELS], *([f"{left} more"] if left > 0 else [])],
        "distinct": column.distinct,
        "missing": column.missing,
        "not in the schema": column.why,
    }


def knowledge_html(knowledge: Knowledge) -> str:
    """Return the tiers and arcs, a row for each."""
    rows: list[dict[str, Any]] = [
        {"what": f"tier {k}", "columns": ", ".join(tier)} for k, tier in enumerate(knowledge.tiers)
    ]
    for what, arcs in (("required", knowledge.require), ("forbidden", knowledge.forbid)):
        rows += [{"what": what, "columns": f"{cause} → {effect}"} for cause, effect in arcs]
    return block(table(rows, headers=["what"]) if rows else paragraph("no knowledge"))


def explanation_html(explanation: Explanation) -> str:
    """Return the sentences of an explanation."""
    return block(bullets(explanation.sentences), paragraph(f"{len(explanation.tests)} tests"))
