"""Raking of cells: which of them can have weight at all, and the projection onto the targets.

The projection may have to leave out cells: where a target is 0, and where the other targets leave
no weight for a cell, which a linear programme finds. Newton's method alone would approach such
zeros without end, as sweeps do. The programme knows numbers to about 1e-7 only: what it says is
taken over only if the projection without these cells meets the targets too, or if none does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, parameter, quote
from gml.model.raking.cells import CodedMargin, TableCells, first_few
from gml.model.raking.feasible import raise_contradiction, raise_narrow_bounds, reachable
from gml.model.raking.projection import CONVERGED, Projection, project
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
    found = _projected(cells, kept, bounds)
    may_be_0 = bounds is None or bounds[0] == 0
    if may_be_0 and (not found.converged or found.ratios[kept].min() < _TINY):
        found = _without_zeros(cells, kept, bounds, found)
    if not found.converged:
        raise _unmet(cells, kept, bounds, found)
    if found.gap > CONVERGED:
        reporter().warn(
            f"the margins disagree by up to {disagreement(cells.margins):.2g}, so that the targets "
            f"are met to {found.gap:.2g} of each only"
        )
    return found


def _without_zeros(
    cells: TableCells,
    kept: NDArray[np.bool_],
    bounds: tuple[float, float] | None,
    found: Projection,
) -> Projection:
    """Return the projection without the cells that have to weigh nothing, if that is better."""
    support = reachable(_margins(cells, kept))
    if support is None:
        return found
    possible = kept.copy()
    possible[kept] = support
    gone = kept & ~possible
    if not gone.any() or (found.converged and found.ratios[gone].max() >= _TINY):
        return found
    reduced = _projected(cells, possible, bounds)
    if not reduced.converged:
        return found
    reporter().warn(
        "the targets leave no weight for rows with "
        + first_few([cells.title(k) for k in np.flatnonzero(gone).tolist()])
    )
    return reduced


def _unmet(
    cells: TableCells,
    kept: NDArray[np.bool_],
    bounds: tuple[float, float] | None,
    found: Projection,
) -> CannotAnswer:
    """Say why the targets are not met, as well as can be found out."""
    margins, where = _margins(cells, kept), _where(kept)
    if bounds is None:
        raise_contradiction(margins, where)
    else:

        def would_do(wider: tuple[float, float]) -> bool:
            return _projected(cells, kept, wider).converged

        raise_narrow_bounds(cells.base[kept], margins, bounds, would_do, where)
        if _projected(cells, kept, None).converged:
            return CannotAnswer(
                f"no weights from {bounds[0]:g} to {bounds[1]:g} times those before were found "
                f"that meet the targets: the nearest are off by {found.gap:.3g} of a target; widen "
                f"{parameter('bounds')} a little"
            )
    return CannotAnswer(
        f"the targets cannot be met: after {found.steps} steps the largest gap is "
        f"{found.gap:.3g} of its target; they may contradict one another by very little"
    )


def disagreement(margins: Sequence[CodedMargin]) -> float:
    """Return by how much margins differ at most in what they say of columns that they share."""
    largest = 0.0
    for j, one in enumerate(margins):
        for other in margins[:j]:
            names = sorted({*one.names}.intersection(other.names))
            if names:
                first, second = one.collapsed(names), other.collapsed(names)
                gaps = (
                    abs(first.get(cell, 0.0) - second.get(cell, 0.0)) for cell in {*first, *second}
                )
                largest = max(largest, *gaps)
    return largest


def _require_rows(cells: TableCells) -> None:
    """Refuse a target that no row has."""
    for margin in cells.margins:
        empty = (np.bincount(margin.of_cell, minlength=len(margin.labels)) == 0) & (
            margin.targets > 0
        )
        if empty.any():
            k = int(np.argmax(empty))
            near = margin.meant_by(k)
            way_out = (
                "merge it with another level, in the data and the targets"
                if near is None
                else f"did you mean {quote(near)}?"
            )
            raise CannotAnswer(
                f"no row has {margin.title(k)}, whose target is {margin.targets[k]:.4g}, so that "
                f"no weights can meet it; {way_out}"
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


def _where(kept: NDArray[np.bool_]) -> str:
    return "" if kept.all() else " without a target of 0"


def _margins(cells: TableCells, kept: NDArray[np.bool_]) -> Sequence[CodedMargin]:
    return [margin.among(kept) for margin in cells.margins]


def _projected(
    cells: TableCells, kept: NDArray[np.bool_], bounds: tuple[float, float] | None
) -> Projection:
    found = project(
        cells.base[kept],
        _margins(cells, kept),
        bounds,
        disagreement=disagreement(cells.margins),
    )
    ratios = np.zeros(len(cells.base))
    ratios[kept] = found.ratios
    return replace(found, ratios=ratios)
