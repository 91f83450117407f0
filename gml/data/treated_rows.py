"""Rows in a file that were read with their gaps, and whose missing values are treated later."""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable, missing_mask
from gml.data.levels import NA_LEVEL
from gml.data.missing import (
    levels_with_gaps,
    numbers_have_no_level,
    refused_gaps,
    require_complete,
    tell_dropped,
)
from gml.data.settled_rows import SettledRows


def treated(
    rows: SettledRows,
    policy: str,
    where: str,
    *,
    declared: Collection[str] = (),
    min_complete: int | None = None,
) -> SettledRows:
    """Treat missing cells as `gml.data.missing.apply_missing_policy` does, with its messages."""
    table = rows.table
    gaps = {tally.name: tally.lacking_rows for tally in table.tally.columns if tally.lacking_rows}
    numbers = [v.name for v in rows.variables if v.is_continuous and v.name in gaps]
    if policy == "available" or not gaps:
        return rows
    if policy == "level" and numbers:
        raise numbers_have_no_level(numbers, offer_em=False)
    if policy == "error":
        raise refused_gaps(gaps, where, numbers, offer_available=True, offer_em=False)
    if policy == "drop":
        return _complete(rows, gaps, where, min_complete)
    columns = []
    for column in table.columns:
        name = column.variable.name
        if name in gaps:
            levels = levels_with_gaps(column.variable, declared=name in declared)
            column = replace(
                column,
                variable=Variable(name, levels),
                gap=levels.index(NA_LEVEL),
                _tables={},
            )
        columns.append(column)
    without = (False,) * len(columns)
    return replace(rows, table=table._replace(columns=tuple(columns), gaps=without))


def _complete(
    rows: SettledRows, gaps: dict[str, int], where: str, min_complete: int | None
) -> SettledRows:
    """Leave out rows with missing values; one pass over the columns that have some."""
    table = rows.table
    lacking = [j for j, variable in enumerate(rows.variables) if variable.name in gaps]
    keep: list[NDArray[np.uint8]] = []
    n = n_rows = 0
    for k in range(rows.n_blocks):
        block = rows.block(k, lacking)
        complete = ~np.logical_or.reduce([missing_mask(column) for column in block.columns])
        keep.append(np.packbits(complete))
        n_rows += int(np.count_nonzero(complete))
        n += block.count(complete)
    require_complete(
        n,
        table.tally.n,
        gaps,
        where,
        min_complete=min_complete,
        offer_available=True,
        offer_em=False,
        offer_exclude=False,
    )
    tell_dropped(rows.n_rows - n_rows, rows.n_rows, gaps)
    tally = copy.copy(table.tally)
    tally.n, tally.n_rows, tally.n_dropped = n, n_rows, rows.n_rows - n_rows
    without = (False,) * len(table.columns)
    return replace(rows, table=table._replace(tally=tally, gaps=without), keep=tuple(keep))
