"""Fitting by EM as callers ask for it: which nodes are hidden, from how many starts, how long.

EM runs where missing values stay (`missing="em"`) or nodes are hidden, by the option or by the file
of the graph; incomplete rows may be dropped before hidden nodes are fitted. What says how EM runs
is refused where it does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from gml.counts.counter import Counter
from gml.data.dataset import Dataset, empty_rows, missing_mask
from gml.data.options import EM
from gml.data.row_groups import joined_rows
from gml.errors import (
    CannotAnswer,
    DataError,
    UsageError,
    counted,
    csv_record,
    listing,
    parameter,
    quote,
    unknown_name,
)
from gml.model.em.fitting import EmSettings
from gml.progress import Deadline, reporter
from gml.verbs.shared.declared_columns import DeclaredColumns
from gml.verbs.shared.graph_input import GivenGraph

LEAST_LEVELS = 2
# A weight takes as much as eight codes.
_TIMES_FEWER = 4


@dataclass(frozen=True)
class EmRequest:
    """What was asked of EM."""

    hidden: Mapping[str, int]
    """How many levels each hidden node has, by the option or by the file of the graph."""
    named: frozenset[str]
    """Those that the option names."""
    settings: EmSettings
    keeps_missing: bool
    """Whether missing values stay; else rows were treated in another way."""

    def without_hidden(self, declared: DeclaredColumns) -> DeclaredColumns:
        """Return what is declared about columns: hidden nodes that have levels have no column."""
        kept = {name: some for name, some in declared.levels.items() if name not in self.hidden}
        return replace(declared, levels=kept)

    def rows_of(self, counter: Counter) -> Dataset:
        """Return the rows that observe something, of the columns that do."""
        what = parameter("missing", EM) if self.keeps_missing else parameter("hidden")
        rows = counter.require_rows(what)
        for name in sorted(self.named & {*rows.names}):
            if not missing_mask(rows.columns[rows.index(name)]).all():
                raise UsageError(
                    f"{parameter('hidden')}: {quote(name)} is a column of the data, with values; "
                    f"leave it out with {parameter('exclude')} if they are not to be used"
                )
        rows = rows.select(name for name in rows.names if name not in self.named)
        _require_values(rows)
        return observing(rows, weighed=True)

    def unseen(self, rows: Dataset) -> dict[str, int]:
        """The hidden nodes, of which the file may name some that these rows have values of."""
        return {name: levels for name, levels in self.hidden.items() if name not in rows.names}


def em_request(
    given: GivenGraph,
    reading: dict[str, Any],
    *,
    hidden: Mapping[str, int] | None = None,
    is_read: bool = True,
    deadline: Deadline | None = None,
    others: Mapping[str, Any] | None = None,
    **how: Any,
) -> EmRequest | None:
    """Return what is asked of EM, and take it out of the keywords of reading; None if nothing is.

    `how` are `em_restarts`, `em_steps` and `seed`, `others` what else belongs to EM; those that are
    None were not given. `is_read` says whether the data are read, and so by keywords.
    """
    keeps_missing = reading.get("missing") == EM
    named = _hidden_nodes(hidden, given)
    declared = {
        name: len(given.graph.levels[name])
        for name in given.graph.hidden
        if len(given.graph.levels.get(name, ())) >= LEAST_LEVELS
    }
    if not keeps_missing and not named and not declared:
        for name, value in {**how, **(others or {})}.items():
            if value is not None:
                raise UsageError(
                    f"{parameter(name)} belongs to {parameter('missing', EM)} and to "
                    + parameter("hidden")
                )
        return None
    if not keeps_missing and reading.get("missing") == "available":
        raise UsageError(
            f"{parameter('missing', 'available')} counts each family on other rows; hidden nodes "
            f"are fitted to rows as a whole: use {parameter('missing', EM)} or drop"
        )
    if keeps_missing:
        # Missing cells are read as they stand.
        reading["missing"] = "available" if is_read else None
    names = {"em_restarts": "restarts", "em_steps": "most_steps", "seed": "seed"}
    settings = EmSettings(
        **{names[name]: value for name, value in how.items() if value is not None},
        deadline=deadline or Deadline(),
    )
    return EmRequest({**declared, **named}, frozenset(named), settings, keeps_missing)


def _hidden_nodes(hidden: Mapping[str, int] | None, given: GivenGraph) -> dict[str, int]:
    """Check the nodes that the option names, and how many levels they are to have."""
    if hidden is None:
        return {}
    asked: object = hidden
    if not isinstance(asked, Mapping):
        raise UsageError(
            f"{parameter('hidden')} must give the number of levels by node, as {{'H': 3}}, not "
            f"{hidden!r}"
        )
    for name, levels in hidden.items():
        if name not in given.graph.names:
            raise UsageError(
                f"{parameter('hidden')}: {unknown_name('node', name, given.graph.names)}"
            )
        given_as: object = levels
        if isinstance(given_as, bool) or not isinstance(given_as, Integral):
            raise UsageError(
                f"{parameter('hidden')}: the number of levels of {quote(name)} must be a whole "
                f"number, not {levels!r}"
            )
        if levels < LEAST_LEVELS:
            raise UsageError(
                f"{parameter('hidden')}: {quote(name)} must have at least {LEAST_LEVELS} levels, "
                f"not {levels}"
            )
    return {name: int(levels) for name, levels in hidden.items()}


def _require_values(rows: Dataset) -> None:
    """Refuse columns that have neither values nor levels, of which nothing can be said."""
    empty = [variable.name for variable in rows.variables if variable.levels == ()]
    if empty:
        hidden = csv_record([f"{name}=2" for name in empty])
        raise DataError(
            f"no values in column {listing(empty)}: name it as a hidden node and say how many "
            f"levels it has ({parameter('hidden')}: {hidden}), or declare its levels "
            f"({parameter('levels')}) and give it a prior ({parameter('method', 'bayes')})"
        )


def observing(rows: Dataset, *, weighed: bool = False) -> Dataset:
    """Leave out rows that observe nothing: whatever the model is, they say nothing about it.

    Where many rows are equal, those that are left stand once each, with weights: far fewer codes
    than a second table would have. Rows with numbers differ; if they may be `weighed`, those that
    observe nothing stay and count 0 times.
    """
    empty = empty_rows(rows.columns)
    if not len(empty):
        return rows
    if len(empty) == rows.n_rows:
        raise CannotAnswer("no row has a value in any of the columns used")
    left_out = len(empty) if rows.weights is None else int(rows.weights[empty].sum())
    if left_out:
        left = counted(rows.in_rows(left_out), "row")
        reporter().tell(f"{left} without any value in the columns used left out")
    if not any(variable.is_continuous for variable in rows.variables):
        fewer = joined_rows(rows)
        if _TIMES_FEWER * fewer.n_rows <= rows.n_rows:
            rows, empty = fewer, empty_rows(fewer.columns)
    elif weighed:
        kept = np.ones(rows.n_rows, dtype=np.int64) if rows.weights is None else rows.weights.copy()
        kept[empty] = 0
        counting = replace(rows, weights=kept)
        # What reads complete rows takes no gap for an answer, though it count 0 times.
        if counting.missing:
            return counting
    keep = np.ones(rows.n_rows, dtype=bool)
    keep[empty] = False
    return rows.rows(keep)
