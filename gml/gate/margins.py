"""Margins: how each column is distributed by itself, in the model's rows and in new ones.

A broken column need not look broken by itself, and whether it does tells what happened to it
(`culprits`). Old and new counts are compared by G. The p-value is not part of the decision of a
run: margins are looked at once it has failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gml.gate.families import CheckedModel, FamilyCounts, level_counts
from gml.gate.schema_checks import ColumnCounts
from gml.gate.two_sample import compare_rows, total_variation


@dataclass(frozen=True)
class Margin:
    """The levels of a column with their shares before and now, and how surely these differ."""

    levels: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    total_variation: float
    log_p: float


def column_margins(
    net: CheckedModel,
    columns: Mapping[str, ColumnCounts],
    families: list[FamilyCounts],
) -> dict[str, Margin]:
    """Compare the columns that the model has counts for and the new rows have values of.

    Columns that were not counted by themselves are taken from their families.
    """
    counted = {
        family.variable.name: ColumnCounts(family.levels, family.new.sum(axis=0))
        for family in families
    } | dict(columns)
    found = {}
    for name in net.names:
        column = counted.get(name)
        if column is None or not column.counts.any():
            continue
        old = level_counts(net, name)
        if old is None or not old.any():
            continue
        old = np.pad(old, (0, len(column.levels) - len(old)))
        before, after = old / old.sum(), column.counts / column.counts.sum()
        found[name] = Margin(
            column.levels,
            tuple(before.tolist()),
            tuple(after.tolist()),
            float(total_variation(before, after)),
            float(compare_rows(old[None], column.counts[None]).log_p[0]),
        )
    return found
