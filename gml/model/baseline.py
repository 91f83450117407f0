"""What was accepted with a model: known violations, and how independences looked.

A check whose violation was accepted leaves the family before p-values are adjusted. An independence
that was not violated is remembered with its statistic, so that it later fails only if the
dependence has grown (`structure`); one that could not be tested is not known to have held, and so
there is nothing to compare it with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Reference:
    """What an independence looked like when the model was accepted."""

    statistic: float
    df: float
    n: int


@dataclass(frozen=True)
class Baseline:
    """Identifiers of accepted checks, and references of independences by identifier.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> gml.check("sample_data/asia.csv", net).accepted()
    Baseline(0 accepted, 20 references, rows=5000)
    """

    accepted: frozenset[str] = frozenset()
    references: Mapping[str, Reference] = field(default_factory=dict)
    rows: int | None = None
    model: str | None = None
    """Hash of the model that it was written for, if known."""

    def __repr__(self) -> str:
        return (
            f"Baseline({len(self.accepted)} accepted, {len(self.references)} references, "
            f"rows={self.rows})"
        )
