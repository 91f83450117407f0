"""What was accepted with a model: violations that are known, and how independences looked.

A check whose violation was accepted leaves the family before p-values are adjusted. An independence
that was not violated is remembered with its statistic, so that later it fails only if the
dependence grew (`structure`); one that could not be tested is not known to have held, and so has
nothing to be compared with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gml.gate.result import BASELINED, FAIL, WARN, Check
from gml.gate.structure import Reference


@dataclass(frozen=True)
class Baseline:
    """Identifiers of accepted checks, and references of independences by identifier."""

    accepted: frozenset[str] = frozenset()
    references: Mapping[str, Reference] = field(default_factory=dict)
    rows: int | None = None
    model: str | None = None
    """Hash of the model that it was written for, if known."""


def baseline_of(checks: Iterable[Check], rows: int) -> Baseline:
    """Accept what fails, warns or was accepted before; remember the other independences."""
    checks = list(checks)
    accepted = frozenset(c.id for c in checks if c.status in (FAIL, WARN, BASELINED))
    references = {
        c.id: Reference(c.statistic or 0.0, c.df or 0.0, c.rows_new or 0)
        for c in checks
        if c.kind == "independence" and c.id not in accepted
    }
    return Baseline(accepted, references, rows)
