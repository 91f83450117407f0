"""Missing values of rows that are checked, treated as when the model was fitted, and of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import TableSet
from gml.counts.streamed import StreamCounter
from gml.data.dataset import Dataset, missing_mask
from gml.data.levels import NA_LEVEL
from gml.data.missing import (
    apply_missing_policy,
    count_missing,
    missing_as_read,
    require_complete,
)
from gml.data.options import EM
from gml.data.schema import Schema
from gml.errors import place
from gml.gate.families import CheckedModel, rows_behind
from gml.gate.settings import MissingCells

# Commands that fit tables to rows, and by default refuse missing values.
_FITTING = ("fit-params", "mrf")


def missing_cells(
    dataset: Dataset, policy: str, tokens: Collection[str]
) -> tuple[int, Mapping[str, int]]:
    """The rows, and the missing cells by column, before missing values were treated."""
    origin = dataset.origin
    if origin is not None and origin.policy in ("drop", "level"):
        return missing_as_read(dataset)
    return dataset.n, count_missing(dataset, policy, tokens)


def policy_of_fit(net: CheckedModel) -> str:
    """How missing values were treated; if that is not known, there were none."""
    recorded = net.learning.missing
    policy = (None if recorded is None else recorded.policy) or "available"
    # What EM expects in the place of missing values is no row: those that were seen are compared.
    return "available" if policy == EM else policy


def cells_of(net: CheckedModel, rows: int, missing: Mapping[str, int]) -> dict[str, MissingCells]:
    """The missing cells of all columns of a model; a name that is not listed has none."""
    return {name: MissingCells(missing.get(name, 0), rows) for name in net.names}


def missing_before(schema: Schema, net: CheckedModel) -> dict[str, MissingCells]:
    """How often values were missing, from the profile, or from how the model was fitted."""
    found = missing_in_fitting(net)
    if schema.rows is not None:
        rows = int(schema.rows)
        found |= {name: MissingCells(int(n), rows) for name, n in schema.missing.items()}
    return found


def missing_in_fitting(net: CheckedModel) -> dict[str, MissingCells]:
    recorded = net.learning.missing
    if recorded is not None:
        # Fractions of rows cannot be compared by an exact test.
        if not isinstance(recorded.rows, int) or recorded.columns is None:
            return {}
        whole = {name: n for name, n in recorded.columns.items() if isinstance(n, int)}
        return cells_of(net, recorded.rows, whole)
    rows = rows_behind(net)
    # Fitted with the default, under which a missing value is an error.
    if net.learning.command in _FITTING and rows is not None:
        return cells_of(net, rows, {})
    return {}


def treat_missing(
    dataset: Dataset, policy: str, where: str, net: CheckedModel, min_complete: int | None
) -> tuple[Dataset, NDArray[np.int64]]:
    """Apply the policy, and return the remaining rows and their numbers in the file, from 0."""
    numbers = np.arange(dataset.n_rows)
    if policy == "drop":
        gaps = {
            name: missing_mask(column)
            for name, column in zip(dataset.names, dataset.columns, strict=True)
        }
        complete = ~np.logical_or.reduce(list(gaps.values()))
        if complete.all():
            return dataset, numbers
        kept = dataset.rows(complete)
        require_complete(
            kept.n,
            dataset.n,
            {name: n for name, mask in gaps.items() if (n := int(np.count_nonzero(mask)))},
            place(where),
            min_complete=min_complete,
            offer_available=True,
            offer_em=False,
            offer_exclude=False,
        )
        return kept, numbers[complete]
    treated = apply_missing_policy(
        dataset, policy, place(where), declared=set(net.names) if policy == "level" else ()
    )
    return treated, numbers


def missing_cells_of_stream(
    stream: StreamCounter, policy: str, tokens: Collection[str]
) -> dict[str, int]:
    """The missing cells by column of rows that were read in passes, gaps left in."""
    found = dict(stream.lacking)
    if policy == "level" and NA_LEVEL in tokens:
        said = [j for j, v in enumerate(stream.variables) if NA_LEVEL in (v.levels or ())]
        for j, counts in zip(said, stream.tables([TableSet((j,)) for j in said]), strict=True):
            variable = stream.variables[j]
            cells = int(counts.table.sum(axis=0)[(variable.levels or ()).index(NA_LEVEL)])
            found[variable.name] = found.get(variable.name, 0) + cells
    return {name: cells for name, cells in found.items() if cells}
