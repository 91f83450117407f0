"""Which accepted checks a model can have at all: a name that was mistyped silences nothing.

A run need not ask all that a model can be asked: families and columns may be left out, columns
missing, rows of tables without data. Such checks are accepted as well as any.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from gml.gate.check import FAMILIES
from gml.gate.families import label, listed
from gml.model.bayesnet import BayesNet
from gml.model.network import CPT

_OF_COLUMN = ("column", "levels", "missing", "range", "sentinel", "unique")
_OF_ROWS = "schema:repeats"


@dataclass(frozen=True)
class Asked:
    """What a run asked: the names of its checks, about these columns, in these families."""

    net: BayesNet
    ids: Collection[str]
    columns: Collection[str]
    families: Collection[str]

    def unknown(self, accepted: Iterable[str]) -> list[str]:
        """The accepted names that are no check of the model, in order."""
        known = set(self.ids)
        absent = [label(name) for name in self.net.names if name not in self.columns]
        return [
            name
            for name in sorted(accepted)
            if name not in known
            and not any(column in name for column in absent)
            and not self._is_possible(name)
        ]

    def _is_possible(self, name: str) -> bool:
        family, _, rest = name.partition(":")
        if family in FAMILIES and family not in self.families:
            return True
        if family == "schema":
            return name == _OF_ROWS or any(
                rest == f"{kind}:{label(node)}" for kind in _OF_COLUMN for node in self.net.names
            )
        return family == "tables" and self._is_of_table(rest)

    def _is_of_table(self, rest: str) -> bool:
        """Whether a name is that of a row of a table, or of those without data."""
        for cpd in self.net.cpds:
            before = f"{label(cpd.variable.name)}|"
            if not rest.startswith(before) or not isinstance(cpd, CPT):
                continue
            row = rest[len(before) :]
            names = [parent.name for parent in cpd.parents]
            if row in ("unseen", "numbers") or any(
                row == listed(list(zip(names, levels, strict=True)))
                for levels in cpd.configurations()
            ):
                return True
        return False
