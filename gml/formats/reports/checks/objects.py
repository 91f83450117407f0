"""The report as JSON, one line per check; of several deliveries, one per delivery."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from gml.errors import encodable, place
from gml.formats.content_hash import NO_INPUTS, Hashes
from gml.formats.json_document import SCHEMA, document_text
from gml.formats.reports.checks.wording import Reported, verdict
from gml.formats.reports.tests import log10
from gml.gate.check import Check, UnlikelyRow
from gml.gate.culprits import Culprit
from gml.gate.deliveries import CheckReports
from gml.gate.result import CheckReport, Rejection


def as_json(report: Reported, *, inputs: Hashes = NO_INPUTS) -> str:
    """Return one object; what does not apply is null, and so is what no number can say."""
    found = _of_run(report) if isinstance(report, CheckReports) else _of_delivery(report)
    return document_text({"schema": SCHEMA, **found}, inputs)


def _of_delivery(report: CheckReport) -> dict[str, Any]:
    return {
        "verdict": verdict(report).lower(),
        **({} if report.error is None else {"error": error_object(report.error)}),
        "alpha": report.alpha,
        "data": place(report.data),
        "model": place(report.model),
        **_settings(report),
        **_findings(report),
    }


def _of_run(reports: CheckReports) -> dict[str, Any]:
    """What holds for all deliveries once, and the rest for each."""
    return {
        "verdict": verdict(reports).lower(),
        "alpha": reports.alpha,
        "alpha_per": reports.alpha_per,
        "model": place(reports.model),
        **_settings(reports),
        "summary": reports.counts,
        "deliveries": [
            {
                "verdict": verdict(report).lower(),
                **({} if report.error is None else {"error": error_object(report.error)}),
                "data": place(report.data),
                **_findings(report),
            }
            for report in reports
        ],
        "notes": list(map(encodable, reports.notes)),
    }


def _settings(report: Reported) -> dict[str, Any]:
    return {} if report.settings is None else {"settings": place(report.settings)}


def _findings(report: CheckReport) -> dict[str, Any]:
    return {
        "rows": None if report.error is not None else report.rows,
        "model_rows": report.model_rows,
        "summary": report.counts,
        "culprits": [culprit_object(culprit) for culprit in report.culprits],
        "checks": [check_object(check) for check in report.checks],
        "unlikely_rows": [row_object(row) for row in report.unlikely],
        "notes": list(map(encodable, report.notes)),
    }


def error_object(error: Rejection) -> dict[str, Any]:
    """Return the JSON object of why nothing was checked."""
    return {
        "exit": error.exit_code,
        "message": encodable(error.message),
        "file": None if error.file is None else place(error.file),
        "line": error.line,
    }


def culprit_object(culprit: Culprit) -> dict[str, Any]:
    """Return the JSON object of a culprit."""
    return {
        "columns": list(culprit.columns),
        "failures": culprit.failures,
        "of": culprit.of,
        "cause": culprit.cause,
        "message": culprit.message,
    }


def check_object(check: Check) -> dict[str, Any]:
    """Return the JSON object of a check."""
    return {
        "id": check.id,
        "family": check.family,
        "kind": check.kind,
        "variables": list(check.variables),
        "given": dict(check.given),
        "status": check.status,
        "message": check.message,
        **number_object(check),
    }


def number_object(check: Check) -> dict[str, Any]:
    """Return the numbers of a check."""
    numbers = {
        "test": check.test,
        "statistic": check.statistic,
        "df": _whole(check.df),
        "p_value": check.p_value,
        "log10_p": log10(check.log_p),
        "p_adjusted": check.p_adjusted,
        "log10_p_adjusted": log10(check.log_p_adjusted),
        "q_value": check.q_value,
        "effect": check.effect,
        "effect_unit": check.effect_unit,
        "old": dict(check.old),
        "new": dict(check.new),
        "rows_old": check.rows_old,
        "rows_new": check.rows_new,
        "row": check.row,
        "line": check.line,
    }
    return {name: _plain(value) for name, value in numbers.items()}


def row_object(row: UnlikelyRow) -> dict[str, Any]:
    """Return the JSON object of a row that the model hardly expects."""
    return {
        "line": row.line,
        "row": row.row,
        "log_probability": _plain(row.log_probability),
        "column": row.column,
        "value": row.value,
        "given": dict(row.given),
        "probability": _plain(row.probability),
    }


def _whole(number: float | None) -> int | float | None:
    return int(number) if number is not None and float(number).is_integer() else number


def _plain(value: Any) -> Any:
    """Numbers as JSON has them: whole ones of any type as int, null for NaN and infinity."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        return number if math.isfinite(number) else None
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    assert isinstance(value, Iterable)
    return [_plain(item) for item in value]
