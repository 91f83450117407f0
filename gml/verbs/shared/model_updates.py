"""A model that rows are added to, or taken away from, as a caller asks for it.

What the model records of how it was fitted holds for the updated one, unless the caller asks for
something else: method, prior and intervals, and how missing values were treated, which must be the
same for all rows. `learning.parts` lists what the counts are of: rows, and the hash of each input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gml.counts.counter import Counter, rows_counted
from gml.data.levels import NA_LEVEL
from gml.errors import DataError, UsageError, parameter, quote
from gml.graph.graph import Graph
from gml.graph.provenance import Provenance
from gml.model.bayesnet import CPT, BayesNet
from gml.model.fit import fit
from gml.model.updating import RowHistory, UpdatedCounts, require_counts, rows_after
from gml.progress import reporter
from gml.verbs.shared.fitted_models import fitted_by
from gml.verbs.shared.graph_input import GivenGraph

_HOW = ("method", "prior", "ess", "intervals")
_OF_THIS_RUN = ("update", "forget", "weights", "weights_fractional")


@dataclass(frozen=True)
class ModelChange:
    """A model, and whether rows are added to it or taken away."""

    net: BayesNet
    name: str
    forget: bool

    @property
    def gaps_advice(self) -> str:
        """What to do about rows with gaps, if the model has none."""
        return f"{self.name} has only rows without gaps: {_instead(self.forget)}"

    def fitted(self, dag: Graph, rows: Counter, asked: Mapping[str, Any]) -> BayesNet:
        """Return the model of its own rows and the new ones, or without these."""
        self._require_no_label(rows)
        how = {**self.net.learning.options, **asked}
        net = fit(
            dag,
            UpdatedCounts(self.net, rows, name=self.name, forget=self.forget),
            **{name: how[name] for name in _HOW if how.get(name) is not None},
        )
        return replace(net, learning=self._learning(rows, asked), baseline=self.net.baseline)

    def _require_no_label(self, rows: Counter) -> None:
        """Refuse gaps in a column where the level for them is a label of the model's rows.

        It is one if it was counted, and no gaps were; the rows at once would be refused, too.
        """
        treated, before = rows.missing_treatment, self.net.learning.missing
        if treated is None or treated.policy != "level" or before is None:
            return
        for cpd in self.net.cpds:
            name, levels = cpd.variable.name, cpd.variable.levels or ()
            gaps_before = (before.columns or {}).get(name, 0)
            if not treated.cells.get(name) or gaps_before or NA_LEVEL not in levels:
                continue
            if isinstance(cpd, CPT) and np.asarray(cpd.counts)[:, levels.index(NA_LEVEL)].any():
                raise DataError(
                    f"column {quote(name)}: {parameter('missing', 'level')} would add "
                    f"{NA_LEVEL!r}, which is already a label of {self.name}"
                )

    def _learning(self, rows: Counter, asked: Mapping[str, Any]) -> Provenance:
        before = self.net.learning
        options = {**before.options, **asked}
        learning = fitted_by(
            "fit-params",
            rows,
            {name: value for name, value in options.items() if name not in _OF_THIS_RUN},
        )
        part = {"rows": rows_counted(rows), "data": rows.digest}
        parts = before.get("parts") or [{"rows": before.rows, "data": before.get("data")}]
        self._warn_of_repeats(parts, part)
        learning = learning.also(
            rows=rows_after(self.net, rows, name=self.name, forget=self.forget),
            parts=[*parts, {**part, "forgotten": True} if self.forget else part],
        )
        history = RowHistory.of(self.net).also(rows, forget=self.forget)
        return _with_missing(learning, before, history.rounding, forget=self.forget)

    def _warn_of_repeats(self, parts: list[Any], part: Mapping[str, Any]) -> None:
        """Warn of an input that was added before, or taken away before."""
        if part["data"] is None:
            return
        same = [
            old.get("forgotten", False)
            for old in parts
            if isinstance(old, dict) and old.get("data") == part["data"]
        ]
        known = [old.get("data") for old in parts if isinstance(old, dict)]
        if self.forget and not same and len(known) == len(parts) and None not in known:
            reporter().warn(
                f"the input that is taken away is none of those that {self.name} was fitted to; "
                "that is right only if its rows are among theirs"
            )
        if same and same[-1] == self.forget:
            done = "taken away from" if self.forget else "added to"
            reporter().warn(f"the same input was {done} {self.name} before, and is now once more")


def model_change(
    given: GivenGraph, *, update: bool, forget: bool, accept: bool, reading: dict[str, Any]
) -> ModelChange | None:
    """Return the change of a model that is asked for, if one is; refuse what it cannot be.

    The keywords of reading are given what the rows of the model were read with: what is missing,
    and what becomes of it.
    """
    if not update and not forget:
        return None
    option = parameter("update" if update else "forget")
    if update and forget:
        raise UsageError(
            f"{parameter('update')} adds rows, {parameter('forget')} takes them away; choose one"
        )
    if accept:
        raise UsageError(
            f"{parameter('accept')} needs all rows of a model, and {option} has only some"
        )
    if not isinstance(given.model, BayesNet):
        raise UsageError(f"{option} needs a model of tables, as gml fit-params writes it")
    require_counts(given.model, given.name)
    learning = given.model.learning
    policy = "error" if learning.missing is None else learning.missing.policy
    if learning.na is not None:
        reading.setdefault("na", learning.na)
    asked = reading.setdefault("missing", policy)
    if asked != policy:
        raise UsageError(
            f"{parameter('missing', asked)} is not how {given.name} was fitted, which is by "
            f"{parameter('missing', policy)}; all rows of a model are treated alike: "
            + (_instead(forget) if policy == "error" else "fit all rows again")
        )
    return ModelChange(given.model, given.name, forget)


def _instead(forget: bool) -> str:
    """What can be done with rows that have gaps, and a model of rows without."""
    take_out = "take rows with gaps out of the data"
    if forget:
        return take_out
    return f"{take_out}, or fit the model to all rows again ({parameter('missing', 'drop')} or em)"


def _with_missing(
    learning: Provenance, before: Provenance, rounding: float, *, forget: bool
) -> Provenance:
    """Add up the missing values of both parts; fractions may be off by roundings."""
    old, new = before.missing, learning.missing
    if old is None or new is None or old.columns is None or new.columns is None:
        return learning
    sign = -1 if forget else 1
    cells = dict(old.columns)
    for name, found in new.columns.items():
        cells[name] = cells.get(name, 0) + sign * found
    rows = (old.rows or 0) + sign * (new.rows or 0)
    return learning.also(
        missing={
            "policy": old.policy,
            "rows": rows,
            "columns": {name: n for name, n in cells.items() if abs(n) > _least(n, rounding)},
        }
    )


def _least(number: int | float, rounding: float) -> float:
    """What a number must be above to be more than roundings."""
    return 0 if isinstance(number, int) else rounding
