"""Many tables that are held end to end, with every cell, in NumPy."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from gml.kernel.layout import FamilyRule, FamilyWorths, TableStatistics
from gml.kernel.reference.families import family_ceiling, family_value
from gml.kernel.reference.statistics import table_statistics_of
from gml.stopping import check_stopped


def turned_tables(
    cells: NDArray[np.int64],
    starts: NDArray[np.int64],
    levels: NDArray[np.int32],
    steps: NDArray[np.int64],
    summed: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Tables end to end whose columns, of so many levels, are so many cells apart at `starts`.

    Each is summed over summed[t, 0] levels of another column, which are summed[t, 1] cells apart.
    """
    size = cells.itemsize
    parts = [np.empty(0, dtype=np.int64)]
    for t, start in enumerate(starts.tolist()):
        check_stopped()
        shape = (*levels[t].tolist(), int(summed[t, 0]))
        strides = (*(size * steps[t]).tolist(), size * int(summed[t, 1]))
        parts.append(as_strided(cells[start:], shape, strides).sum(axis=-1).reshape(-1))
    return np.concatenate(parts)


def held_statistics(
    cells: NDArray[np.int64], starts: NDArray[np.int64], levels: NDArray[np.int32]
) -> TableStatistics:
    """Statistics of tables of *Z, x, y, which begin at `starts` and hold every cell."""
    found = []
    for table in _tables(cells, starts, levels):
        given = table.shape[:-2]
        strata = table.reshape(-1, *table.shape[-2:])
        found.append(table_statistics_of(strata))
        seen = np.unravel_index(np.flatnonzero(strata.any(axis=(1, 2))), given) if given else ()
        found[-1].seen_z[0] = math.prod(float(len(np.unique(codes))) for codes in seen)
    return TableStatistics.concatenate(found)


def held_families(
    cells: NDArray[np.int64],
    starts: NDArray[np.int64],
    levels: NDArray[np.int32],
    rule: FamilyRule,
    cell_prior: float | None,
) -> FamilyWorths:
    """Values of families, of tables of *parents, child; ceilings too with a prior (not None)."""
    worths = FamilyWorths(np.zeros(len(starts)), np.zeros(len(starts)))
    for t, table in enumerate(_tables(cells, starts, levels)):
        strata = table.reshape(-1, table.shape[-1])
        if not strata.any():
            continue
        if cell_prior is None:
            worths.values[t] = family_value(strata, float(table.size), rule)
        else:
            worths.values[t], worths.ceilings[t] = family_ceiling(
                strata, float(table.size), rule, cell_prior
            )
    return worths


def _tables(
    cells: NDArray[np.int64], starts: NDArray[np.int64], levels: NDArray[np.int32]
) -> Iterator[NDArray[np.int64]]:
    for start, shape in zip(starts.tolist(), levels.tolist(), strict=True):
        check_stopped()
        yield cells[start : start + math.prod(shape)].reshape(shape)
