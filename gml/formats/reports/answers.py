"""The report of `gml query`: rows of an answer, with the probability of the evidence."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gml.formats.content_hash import NO_INPUTS, Hashes
from gml.formats.json_document import SCHEMA, document_text
from gml.formats.reports.rows import as_csv, as_jsonl, as_markdown, as_text
from gml.model.answer import Answer, log10


def _facts(answer: Answer) -> dict[str, Any]:
    """What is known besides the rows."""
    what = "density" if answer.is_density else "probability"
    found: dict[str, Any] = {"given": dict(answer.given)} if answer.given else {}
    found |= {
        "evidence": dict(answer.evidence),
        "do": dict(answer.do),
        **({"rests_on": list(map(list, answer.rests_on))} if answer.do else {}),
        f"evidence_{what}": _exp(answer.log_evidence),
        f"log10_evidence_{what}": log10(answer.log_evidence),
    }
    if answer.log_probability is not None:
        assigned = "density" if answer.assigns_density else "probability"
        found[assigned] = _exp(answer.log_probability)
        found[f"log10_{assigned}"] = log10(answer.log_probability)
    return found


def _exp(log_p: float) -> float | None:
    return math.exp(log_p) if log_p < 700 else None


def _as_json(answer: Answer, *, inputs: Hashes = NO_INPUTS) -> str:
    return document_text({"schema": SCHEMA, **_facts(answer), "results": answer.rows()}, inputs)


def _as_csv(answer: Answer, *, safe_csv: bool = False) -> str:
    return as_csv(answer.rows(), safe_csv=safe_csv)


def _with_heading(answer: Answer, table: str, *, blank: bool) -> str:
    lines = answer.heading()
    return "".join(line + "\n" for line in lines) + ("\n" if blank and lines else "") + table


FORMATS: dict[str, Callable[..., str]] = {
    "text": lambda answer: _with_heading(answer, as_text(answer.rows()), blank=False),
    "json": _as_json,
    "jsonl": lambda answer: as_jsonl(answer.rows()),
    "csv": _as_csv,
    "markdown": lambda answer: _with_heading(answer, as_markdown(answer.rows()), blank=True),
}
"""From an answer to text; that of JSON takes `inputs` too, and that of CSV `safe_csv`."""
