"""The report of `gml query`: rows of an answer, with the probability of the evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gml.errors import printable
from gml.formats.json_document import SCHEMA, document_text
from gml.formats.reports.rows import as_csv, as_jsonl, as_markdown, as_text


@dataclass(frozen=True)
class Answer:
    """Rows with the same keys; what was observed and done; ln P(evidence), or its density."""

    rows: Sequence[dict[str, Any]]
    evidence: Mapping[str, Any]
    do: Mapping[str, Any]
    log_evidence: float
    is_density: bool = False
    log_probability: float | None = None
    """Of a best assignment, given the evidence."""

    def facts(self) -> dict[str, Any]:
        """What is known beside the rows."""
        what = "density" if self.is_density else "probability"
        found: dict[str, Any] = {
            "evidence": dict(self.evidence),
            "do": dict(self.do),
            f"evidence_{what}": _exp(self.log_evidence),
            f"log10_evidence_{what}": _log10(self.log_evidence),
        }
        if self.log_probability is not None:
            found["probability"] = _exp(self.log_probability)
            found["log10_probability"] = _log10(self.log_probability)
        return found

    def heading(self) -> list[str]:
        """The same for people."""
        lines = []
        if self.evidence:
            observed = ", ".join(f"{name}={value}" for name, value in self.evidence.items())
            letter = "p" if self.is_density else "P"
            lines.append(f"{letter}({printable(observed)}) = {_shown(self.log_evidence)}")
        if self.log_probability is not None:
            lines.append(f"P(this | evidence) = {_shown(self.log_probability)}")
        return lines


def _exp(log_p: float) -> float | None:
    return math.exp(log_p) if log_p < 700 else None


def _log10(log_p: float) -> float | None:
    """None of a density whose very logarithm is beyond what a float can hold."""
    return log_p / math.log(10) + 0.0 if math.isfinite(log_p) else None


def _shown(log_p: float) -> str:
    if -700 < log_p < 700:
        return f"{math.exp(log_p):.6g}"
    exponent = _log10(log_p)
    return "0" if exponent is None else f"10^{exponent:.6g}"


def _as_json(answer: Answer) -> str:
    return document_text({"schema": SCHEMA, **answer.facts(), "results": list(answer.rows)})


def _with_heading(answer: Answer, table: str, *, blank: bool) -> str:
    lines = answer.heading()
    return "".join(line + "\n" for line in lines) + ("\n" if blank and lines else "") + table


FORMATS: dict[str, Callable[[Answer], str]] = {
    "text": lambda answer: _with_heading(answer, as_text(answer.rows), blank=False),
    "json": _as_json,
    "jsonl": lambda answer: as_jsonl(answer.rows),
    "csv": lambda answer: as_csv(answer.rows),
    "markdown": lambda answer: _with_heading(answer, as_markdown(answer.rows), blank=True),
}
