"""What the cells of rows observe of a model's nodes, and what is said of those that cannot be used.

Columns that are nodes observe them; a missing cell observes nothing, and columns without a node are
ignored. Nodes that an answer needs, as a conditional field needs its inputs, must be there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.data.levels import NA_LEVEL
from gml.errors import (
    DataError,
    UsageError,
    agreeing,
    listing,
    parameter,
    quote,
    unknown_name,
)
from gml.model.evidence import Circumstances, Meaning
from gml.model.model import AskedModel
from gml.progress import reporter

_MISSING = ("unobserved", "level")


def missing_input(where: str, variable: Variable) -> str:
    """Say that an input of a conditional field is missing, and what helps."""
    if variable.levels is None:
        helps = f"{parameter('ignore_unknown')} takes the mean of the rows that it was fitted on"
    elif NA_LEVEL in variable.levels:
        helps = f"{parameter('missing', 'level')} takes its level {quote(NA_LEVEL)}"
    else:
        helps = (
            f"{parameter('ignore_unknown')} leaves out what it would add, and a model fitted with "
            f"{parameter('missing', 'level')} knows what a gap says"
        )
    return f"{where} is missing, and the model needs it; {helps}"


def warn_of_unknown(counts: Mapping[str, int]) -> None:
    """Say how many cells of columns have values that the model does not know."""
    shown = ", ".join(f"{quote(name)} {n}" for name, n in counts.items())
    reporter().warn(f"values that the model does not know, treated as missing: {shown}")


def warn_of_left_out(counts: Mapping[str, int]) -> None:
    """Say how many cells of inputs are missing, in rows that are answered without them."""
    shown = ", ".join(f"{quote(name)} {n}" for name, n in counts.items())
    reporter().warn(f"missing inputs, whose rows are answered without them: {shown}")


class RowEvidence:
    """What the cells of a table observe: codes of levels, -1 for none, or numbers, NaN for none.

    Where the model has both, all are numbers.

    `names` are the nodes observed: those of the columns at `at`, then those of the evidence that
    all rows share.
    """

    def __init__(
        self,
        given: Circumstances[AskedModel],
        columns: Sequence[str],
        targets: Sequence[str],
        where: str,
        *,
        missing: str = "unobserved",
        ignore_unknown: bool = False,
        decimal: str = ".",
        needed: Sequence[str] = (),
    ) -> None:
        if missing not in _MISSING:
            choices = " or ".join(map(repr, _MISSING))
            raise UsageError(f"{parameter('missing')} must be {choices}, not {missing!r}")
        self._where = where
        self._missing_is_level = missing == "level"
        self._ignore_unknown = ignore_unknown
        variables = {variable.name: variable for variable in given.net.variables}
        observed = [name for name in columns if name in variables and name not in targets]
        twice = sorted({name for name in observed if observed.count(name) > 1})
        if twice:
            raise DataError(f"{where}: the header has {listing(twice)} more than once")
        for values, option in ((given.evidence, "evidence"), (given.do, "do")):
            both = [name for name in observed if name in values]
            if both:
                raise UsageError(
                    f"{listing(both)} is in {parameter(option)} and a column of {where}"
                )
        if not given.evidence and not given.do:
            _require_nodes(columns, variables, where)
        warn_of_ignored(columns, variables)
        self.variables = [variables[name] for name in observed]
        self._meanings = [Meaning(variable, decimal) for variable in self.variables]
        self.at = [columns.index(name) for name in observed]
        self._fixed = [
            value if (levels := variables[name].levels) is None else levels.index(str(value))
            for name, value in given.evidence.items()
        ]
        self._has_numbers = any(variable.is_continuous for variable in given.net.variables)
        self._unknown: dict[str, int] = {}
        self._left_out: dict[str, int] = {}
        self._gaps_with_level: set[str] = set()
        self.names = [*observed, *given.evidence]
        given.warn_of_open_arrows(targets, observed)
        self._needed = frozenset(needed)
        absent = [name for name in needed if name not in self.names]
        if absent:
            raise DataError(
                f"{where}: no column {listing(absent)}, and the model says nothing without "
                + agreeing(len(absent), "it", "them")
            )
        others = [name for name in observed if needed and name not in self._needed]
        if others:
            reporter().warn(
                f"{listing(others)} {agreeing(len(others), 'is', 'are')} known in {where}, and so "
                "evidence for the other targets"
            )

    def room(self, n_rows: int) -> NDArray[Any]:
        """Return rows × names, with the evidence that all rows share."""
        values = np.empty((n_rows, len(self.names)), np.float64 if self._has_numbers else np.int64)
        for k, value in enumerate(self._fixed, start=len(self.at)):
            values[:, k] = value
        return values

    def known(self, k: int) -> dict[str, float]:
        """Return the levels of a column, which need not be looked up."""
        return {level: code for code, level in enumerate(self.variables[k].levels or ())}

    def find(self, k: int, value: object, place: str, times: int = 1) -> float | None:
        """Return what a value of a column means; None if it is unknown and may be ignored."""
        found = self._meanings[k].code_of(value)
        if found is not None or not times:
            return found
        variable = self.variables[k]
        if not self._ignore_unknown:
            if variable.levels is None:
                what = f"{quote(variable.name)}: {quote(str(value))} is not a number"
            else:
                known = unknown_name("level", str(value), variable.levels, owner=variable.name)
                what = f"{known} in the model"
            raise DataError(
                f"{self._where}: {place}: column {what}; {parameter('ignore_unknown')} treats it "
                "as missing"
            )
        self._unknown[variable.name] = self._unknown.get(variable.name, 0) + times
        return None

    @property
    def nothing(self) -> float:
        """What stands for a cell that observes nothing."""
        return math.nan if self._has_numbers else -1

    def missing(self, k: int, place: str, times: int = 1) -> float | None:
        """Return what a missing cell of a column observes.

        One that is needed is refused; None if it may be ignored all the same, which is counted.
        """
        variable = self.variables[k]
        has_level = variable.levels is not None and NA_LEVEL in variable.levels
        if has_level and self._missing_is_level:
            return (variable.levels or ()).index(NA_LEVEL)
        if variable.name in self._needed:
            if not self._ignore_unknown:
                where = f"{self._where}: {place}: column {quote(variable.name)}"
                raise DataError(missing_input(where, variable))
            self._left_out[variable.name] = self._left_out.get(variable.name, 0) + times
            return None
        if has_level:
            self._gaps_with_level.add(variable.name)
        return self.nothing

    def warn(self) -> None:
        """Warn about unknown values and unused missing levels."""
        if self._unknown:
            warn_of_unknown(self._unknown)
        if self._left_out:
            warn_of_left_out(self._left_out)
        if self._gaps_with_level:
            reporter().warn(
                f"missing cells of {listing(sorted(self._gaps_with_level))} observe nothing, but "
                f"the model has a level {NA_LEVEL!r}: {parameter('missing', 'level')} observes that"
            )


def _require_nodes(columns: Sequence[str], nodes: Mapping[str, Variable], where: str) -> None:
    """Refuse rows that say nothing, where nothing else does: all answers would be the same."""
    if columns and not any(name in nodes for name in columns):
        said = (
            f"{where}: none of its columns is in the model: it has {listing(columns)}, and the "
            f"model {listing(list(nodes))}"
        )
        raise DataError("; ".join([said, *_meant(columns, nodes)]))


def warn_of_ignored(columns: Sequence[str], nodes: Mapping[str, Variable]) -> None:
    """Say which columns are not nodes, and which node one of them may be meant for."""
    ignored = [name for name in columns if name not in nodes]
    if not ignored:
        return
    said = f"not in the model, ignored: {listing(ignored)}"
    reporter().warn("; ".join([said, *_meant(columns, nodes)]))


def _meant(columns: Sequence[str], nodes: Mapping[str, Variable]) -> list[str]:
    """At most one guess at a node that a column is meant for."""
    import difflib

    free = [name for name in nodes if name not in columns]
    hints = [
        f"did you mean {quote(near[0])} by {quote(name)}?"
        for name in columns
        if name not in nodes and (near := difflib.get_close_matches(name, free, n=1, cutoff=0.6))
    ]
    return hints[:1]
