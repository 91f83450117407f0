"""Raking of cells: which of them can have weight at all, and the projection onto the targets.

The projection may have to leave out cells: where a target is 0, and where the other targets leave
no weight for a cell, which a linear programme finds. Newton's method alone would approach such
zeros without end, as sweeps do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer
from gml.model.raking.cells import CodedMargin, TableCells, first_few
from gml.model.raking.feasible import raise_contradiction, raise_narrow_bounds, reachable
from gml.model.raking.projection import Projection, project
from gml.progress import reporter

# Below this ratio it is asked whether a weight has to be 0.
_TINY = 1e-8


def rake_cells(cells: TableCells, bounds: tuple[float, float] | None = None) -> Projection:
    """Return the ratio of the weight of each cell to its base weight."""
    _require_rows(cells)
    kept = np.ones(len(cells.base), dtype=bool)
    for margin in cells.margins:
        has_target = margin.targets[margin.of_cell] > 0
        if bounds is not None and bounds[0] > 0 and not has_target.all():
            title = margin.title(int(margin.of_cell[np.argmin(has_target)]))
            raise CannotAnswer(
                f"{title} has the target 0, and rows that may not weigh less than {bounds[0]:g} "
                "times what they did; begin the bounds with 0, or leave out these rows"
            )
        kept &= has_target
    _require_cells(cells, kept)
    where = "" if kept.all() else " without a target of 0"
    found = _projected(cells, kept, bounds)
    if bounds is None and (not found.converged or found.ratios[kept].min() < _TINY):
        possible = kept.copy()
        possible[kept] = reachable(_margins(cells, kept), where)
        if not possible[kept].all():
            found = _projected(cells, possible, bounds)
            gone = np.flatnonzero(kept & ~possible).tolist()
            reporter().warn(
                "the targets leave no weight for rows with "
                + first_few([cells.title(k) for k in gone])
            )
    if not found.converged:
        margins = _margins(cells, kept)
        if bounds is not None:
            raise_narrow_bounds(cells.base[kept], margins, bounds, where)
        else:
            raise_contradiction(margins, where)
        raise CannotAnswer(
            f"the targets cannot be met: after {found.steps} steps the largest gap is "
            f"{found.gap:.3g} of its target; they may contradict one another by very little"
        )
    return found


def _require_rows(cells: TableCells) -> None:
    """Refuse a target that no row has."""
    for margin in cells.margins:
        empty = (np.bincount(margin.of_cell, minlength=len(margin.labels)) == 0) & (
            margin.targets > 0
        )
        if empty.any():
            k = int(np.argmax(empty))
            raise CannotAnswer(
                f"no row has {margin.title(k)}, whose target is {margin.targets[k]:.4g}, so that "
                "no weights can meet it; merge it with another level, in the data and the targets"
            )


def _require_cells(cells: TableCells, kept: NDArray[np.bool_]) -> None:
    """Refuse a target all of whose rows have another target that is 0."""
    for margin in cells.margins:
        empty = (np.bincount(margin.of_cell[kept], minlength=len(margin.labels)) == 0) & (
            margin.targets > 0
        )
        if empty.any():
            k = int(np.argmax(empty))
            raise CannotAnswer(
                f"the target of {margin.title(k)} is {margin.targets[k]:.4g}, but each row that "
                "has it is in a cell whose target is 0"
            )


def _margins(cells: TableCells, kept: NDArray[np.bool_]) -> Sequence[CodedMargin]:
    return [margin.among(kept) for margin in cells.margins]


def _projected(
    cells: TableCells, kept: NDArray[np.bool_], bounds: tuple[float, float] | None
) -> Projection:
    found = project(cells.base[kept], _margins(cells, kept), bounds)
    ratios = np.zeros(len(cells.base))
    ratios[kept] = found.ratios
    return replace(found, ratios=ratios)
