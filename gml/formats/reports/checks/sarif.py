"""The report as SARIF 2.1.0, the format that code scanning services read.

There is one rule per kind of check, and one result per check that fails, warns or was accepted
before. All results are placed at the header of the data, which names the columns; so that services
do not take them for one, each has its own fingerprint, made from the id of the check; where there
are several deliveries, from the name of the delivery too.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gml import __version__
from gml.errors import encodable, place
from gml.formats.content_hash import NO_INPUTS, Hashes
from gml.formats.json_document import indented_text
from gml.formats.reports.checks.objects import (
    culprit_object,
    error_object,
    number_object,
    row_object,
)
from gml.formats.reports.checks.wording import Reported, sentence, verdict_sentence
from gml.gate.check import BASELINED, FAIL, WARN, Check
from gml.gate.deliveries import CheckReports
from gml.gate.result import CheckReport, Rejection
from gml.printable_text import printable

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_REJECTED = "input.rejected"
_LEVELS = {FAIL: "error", WARN: "warning", BASELINED: "note"}

_RULES = {
    "schema.columns": (
        "A column of the model is missing",
        "The data lack a column that the model has. Restore it, or fit a model without it.",
    ),
    "schema.levels": (
        "A value that the model does not know",
        "A column holds values that the model does not know. Correct them, or fit a model that "
        "has them among its levels.",
    ),
    "schema.missing": (
        "The rate of missing values has changed",
        "A column misses more values, or fewer, than the data that the model was fitted on.",
    ),
    "schema.numbers": (
        "A value is not a number",
        "A column of numbers holds other text, which the model has no place for. Correct it, or "
        "declare it to stand for missing values. The effect is the share of rows.",
    ),
    "schema.range": (
        "Numbers lie beyond the old extremes",
        "More numbers of a column are smaller, or larger, than any in the data that the model was "
        "fitted on than chance explains. The unit may have changed. The effect is the share of "
        "rows beyond the extremes.",
    ),
    "schema.sentinel": (
        "A number looks like a code for missing values",
        "A number far outside the old range, such as 9999 or -1, occurs several times. It was "
        "found by a rule, not by a test. If it stands for missing values, declare it as such. The "
        "effect is the share of rows.",
    ),
    "schema.drift": (
        "Numbers of a column lie elsewhere",
        "The numbers of a column are spread over the old quantiles otherwise than in the data that "
        "the model was fitted on. The effect is the total variation between both.",
    ),
    "schema.unique": (
        "Numbers that were all different repeat",
        "No number of the column occurred twice in the data that the model was fitted on. Rows may "
        "have been delivered twice. The effect is the share of rows.",
    ),
    "schema.repeats": (
        "Rows repeat more often",
        "More rows equal others than in as many rows of the data that the model was fitted on. "
        "They may have been delivered twice, which makes all other tests too sure. The effect is "
        "the share of rows.",
    ),
    "tables.row": (
        "A conditional distribution has changed",
        "Where the parents have these levels, the variable is distributed otherwise than in the "
        "data that the model was fitted on. The effect is the total variation between both.",
    ),
    "tables.table": (
        "A table has shifted",
        "The variable is distributed otherwise than in the data that the model was fitted on, over "
        "all levels of its parents together. The effect is the total variation between both.",
    ),
    "tables.regression": (
        "A regression has changed",
        "The variable depends on its parents otherwise than in the data that the model was fitted "
        "on: its mean there, or a coefficient. The effect is the change of the prediction in "
        "standard deviations of the errors.",
    ),
    "tables.sd": (
        "The errors of a regression are larger or smaller",
        "The standard deviation of the errors is another than in the data that the model was "
        "fitted on. The effect is the change of its logarithm.",
    ),
    "tables.errors": (
        "The errors of a regression lie elsewhere",
        "Given its parents, the variable is distributed about its prediction otherwise than in the "
        "data that the model was fitted on. The effect is the total variation between both.",
    ),
    "structure.independence": (
        "An independence no longer holds",
        "Variables that the model takes for independent, given others, depend on one another in "
        "these data. The effect is in nats. The graph may lack an edge: learn it again.",
    ),
    "structure.edge": (
        "An edge is lost",
        "Variables that an edge joins depend on one another much less than the model says. The "
        "effect is the loss of conditional mutual information.",
    ),
    "fit.likelihood": (
        "The data fit worse",
        "The mean log-likelihood of a row is lower than the model lets expect of rows of its own, "
        "given how surely its tables are known. The effect is in nats per row.",
    ),
}
# Listed only where it was needed.
_OTHER_RULES = {
    _REJECTED: (
        "An input cannot be checked",
        "The data, the model or another input cannot be read, is not what it should be, or has no "
        "rows. The message says what is wrong.",
    ),
}


def as_sarif(report: Reported, *, inputs: Hashes = NO_INPUTS) -> str:
    """Return the log; the order of its results is that of urgency, delivery by delivery."""
    several = isinstance(report, CheckReports)
    reports = list(report) if isinstance(report, CheckReports) else [report]
    is_complete = all(one.error is None for one in reports)
    rule_ids = sorted(_RULES if is_complete else _RULES | _OTHER_RULES)
    run = {
        "tool": {
            "driver": {
                "name": "gml",
                "version": __version__,
                "rules": [_rule(rule_id) for rule_id in rule_ids],
            }
        },
        "invocations": [{"executionSuccessful": is_complete}],
        "columnKind": "unicodeCodePoints",
        "results": [result for one in reports for result in _results(one, rule_ids, apart=several)],
        "properties": _of_run(report) if isinstance(report, CheckReports) else _of_delivery(report),
    }
    # The hash comes into the properties, and can be seen before all the rest.
    log = {"$schema": _SCHEMA, "version": "2.1.0", "properties": {}, "runs": [run]}
    return indented_text(log, inputs)


def _of_delivery(report: CheckReport) -> dict[str, Any]:
    return {
        "verdict": verdict_sentence(report),
        "alpha": report.alpha,
        "data": place(report.data),
        "model": place(report.model),
        **({} if report.settings is None else {"settings": place(report.settings)}),
        **_findings(report),
    }


def _of_run(reports: CheckReports) -> dict[str, Any]:
    return {
        "verdict": verdict_sentence(reports),
        "alpha": reports.alpha,
        "alphaPer": reports.alpha_per,
        "model": place(reports.model),
        **({} if reports.settings is None else {"settings": place(reports.settings)}),
        "summary": reports.counts,
        "deliveries": [
            {
                "verdict": verdict_sentence(report),
                "data": place(report.data),
                **_findings(report),
            }
            for report in reports
        ],
        "notes": list(map(encodable, reports.notes)),
    }


def _findings(report: CheckReport) -> dict[str, Any]:
    error = {} if report.error is None else {"error": error_object(report.error)}
    return {
        **error,
        "rows": None if error else report.rows,
        "modelRows": report.model_rows,
        "summary": report.counts,
        "culprits": [culprit_object(culprit) for culprit in report.culprits],
        "unlikelyRows": [row_object(row) for row in report.unlikely],
        "notes": list(map(encodable, report.notes)),
    }


def _results(report: CheckReport, rule_ids: list[str], *, apart: bool) -> list[dict[str, Any]]:
    """What was found on a delivery; `apart` if another may have found the same."""
    if report.error is not None:
        return [_rejection(report.error, rule_ids, report.data)]
    return [
        _result(check, rule_ids, report.data, place(report.data) if apart else "")
        for check in report.ranked(*_LEVELS)
    ]


def _rejection(error: Rejection, rule_ids: list[str], data: str) -> dict[str, Any]:
    where = _location(error.file or data, error.line or 1)
    return {
        "ruleId": _REJECTED,
        "ruleIndex": rule_ids.index(_REJECTED),
        "level": "error",
        "message": {"text": printable(error.message)},
        **({"locations": [where]} if where else {}),
        "partialFingerprints": _fingerprints(f"{_REJECTED}\0{place(data)}"),
        "properties": error_object(error),
    }


def _fingerprints(text: str) -> dict[str, str]:
    found = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    # GitHub uses the first; otherwise it would hash the line, which is the same for all.
    return {"primaryLocationLineHash": f"{found}:1", "gmlCheck/v1": found}


def _rule_id(check: Check) -> str:
    return f"{check.family}.{check.kind}"


def _rule(rule_id: str) -> dict[str, Any]:
    short, long = (_RULES | _OTHER_RULES)[rule_id]
    return {
        "id": rule_id,
        "shortDescription": {"text": short},
        "fullDescription": {"text": long},
        "help": {"text": long},
        "defaultConfiguration": {"level": "error"},
    }


def _result(check: Check, rule_ids: list[str], data: str, apart: str) -> dict[str, Any]:
    rule_id = _rule_id(check)
    logical = [
        {"name": name, "fullyQualifiedName": name, "kind": "variable"}
        for name in dict.fromkeys(check.variables)
    ]
    where = {
        **_location(data, check.line or 1),
        **({"logicalLocations": logical} if logical else {}),
    }
    result: dict[str, Any] = {
        "ruleId": rule_id,
        "ruleIndex": rule_ids.index(rule_id),
        "level": _LEVELS[check.status],
        "message": {"text": sentence(check)},
        **({"locations": [where]} if where else {}),
        "partialFingerprints": _fingerprints(f"{apart}\0{check.id}" if apart else check.id),
        "properties": {
            "id": printable(check.id),
            "given": dict(check.given),
            **number_object(check),
        },
    }
    if check.status == BASELINED:
        result["suppressions"] = [{"kind": "external", "justification": "accepted in the baseline"}]
    return result


def _location(data: str, line: int) -> dict[str, Any]:
    """Where the data are, relative to the current folder if they are within it."""
    if data == "-":
        return {}
    path = Path(data)
    # A current folder that was removed contains no data.
    with contextlib.suppress(FileNotFoundError):
        if path.is_absolute() and path.is_relative_to(Path.cwd()):
            path = path.relative_to(Path.cwd())
    uri = quote(os.fsencode(path))
    artifact = {"uri": f"file://{uri}"} if path.is_absolute() else {"uri": uri}
    if not path.is_absolute():
        artifact["uriBaseId"] = "%SRCROOT%"
    return {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": line}}}
