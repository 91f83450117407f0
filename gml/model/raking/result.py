"""What raking found: the weight of each row, and what became of each target.

The design effect is that of Kish (1965, Survey Sampling, section 11.2C): n Σw² / (Σw)² = 1 + cv²,
how many times more rows an unweighted sample could do without; n over it is the effective number of
rows. Sums over rows are exact (`math.fsum`), so that their order does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gml.errors import counted
from gml.model.entropy.constraints import Cell, Margin
from gml.model.notebook_table import NotebookTable
from gml.model.raking.cells import TableCells, exact_sums
from gml.model.raking.projection import Projection

if TYPE_CHECKING:
    import pandas as pd

_BLOCK = 1 << 16


@dataclass(frozen=True)
class RakedCell:
    """A cell of a target: its rows, and its share of all weight before, as asked for, and after."""

    names: tuple[str, ...]
    levels: Cell
    rows: int
    before: float
    target: float
    after: float

    @property
    def residual(self) -> float:
        """What is left between the share and its target."""
        return self.after - self.target


@dataclass(frozen=True, repr=False)
class Raking(NotebookTable):
    """Weights of rows that give a table the margins asked for; they add up to the number of rows.

    Examples
    --------
    >>> import gml
    >>> raking = gml.rake("sample_data/asia.csv", {"smoke": {"no": 70, "yes": 30}})
    >>> raking
    Raking(5000 rows, design effect 1.15968, weights from 0.60024 to 1.39944)
    >>> raking.weights[:2].round(6)
    array([1.39944, 0.60024])
    """

    weights: NDArray[np.float64]
    """In the order of the rows; NaN for rows that were left out for missing values."""
    cells: tuple[RakedCell, ...]
    iterations: int
    bounds: tuple[float, float] | None
    design_effect: float

    def __repr__(self) -> str:
        return (
            f"Raking({counted(self.rows, 'row')}, design effect {self.design_effect:.6g}, weights "
            f"from {self.smallest:.6g} to {self.largest:.6g})"
        )

    @property
    def rows(self) -> int:
        """The rows that have a weight."""
        return len(self.weights) - self.left_out

    @property
    def left_out(self) -> int:
        """The rows that were left out for missing values."""
        return int(np.count_nonzero(np.isnan(self.weights)))

    @property
    def without_weight(self) -> int:
        """The rows whose weight is 0."""
        return int(np.count_nonzero(self.weights == 0))

    @property
    def effective_rows(self) -> float:
        """How many rows of equal weight would be as good."""
        return self.rows / self.design_effect

    @property
    def smallest(self) -> float:
        """The smallest weight."""
        return float(np.nanmin(self.weights))

    @property
    def largest(self) -> float:
        """The largest weight."""
        return float(np.nanmax(self.weights))

    @property
    def residuals(self) -> NDArray[np.float64]:
        """What is left between share and target, in the order of `cells`."""
        return np.array([cell.residual for cell in self.cells])

    @property
    def largest_residual(self) -> float:
        """The largest residual, whatever its sign, relative to its target."""
        return max(
            (abs(cell.residual) / cell.target for cell in self.cells if cell.target), default=0.0
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame of the targets: margin, level, rows, before, target, after."""
        import pandas as pd

        return pd.DataFrame([row_of(cell) for cell in self.cells])


def row_of(cell: RakedCell) -> dict[str, str | int | float]:
    """Return what a table of targets says about one."""
    return {
        "margin": ", ".join(cell.names),
        "level": ", ".join(cell.levels),
        "rows": cell.rows,
        "before": cell.before,
        "target": cell.target,
        "after": cell.after,
    }


def raking_of(
    cells: TableCells,
    found: Projection,
    margins: Sequence[Margin],
    weights: NDArray[np.float64],
    bounds: tuple[float, float] | None,
    *,
    equal_before: bool,
) -> Raking:
    """Put together what was found; the targets stay in their order.

    Shares are those of the weights that are handed out, not of what the projection made of cells.
    `equal_before` says that all rows counted the same, so that those of a cell have one weight.
    """
    values, times = weights[~np.isnan(weights)], np.ones(1)
    if equal_before:
        values, times = found.ratios, cells.counts.astype(np.float64)
        after = times * values
    else:
        after = exact_sums(cells.of_row, len(cells.base), values)
    raked = _raked_cells(cells, after / len(cells.of_row), margins)
    total, squares = exact_sum(times * values), exact_sum(times * values * values)
    effect = len(cells.of_row) * squares / total**2
    return Raking(weights, tuple(raked), found.steps, bounds, effect)


def exact_sum(values: NDArray[np.float64]) -> float:
    """Add up numbers without rounding but at the end, whatever their order.

    Examples
    --------
    >>> exact_sum(np.array([1e16, 1.0, -1e16]))
    1.0
    """
    blocks = (values[k : k + _BLOCK].tolist() for k in range(0, len(values), _BLOCK))
    return math.fsum(chain.from_iterable(blocks))


def _raked_cells(
    cells: TableCells, after_each: NDArray[np.float64], margins: Sequence[Margin]
) -> list[RakedCell]:
    by_names = {}
    for coded in cells.margins:
        rows = np.bincount(coded.of_cell, cells.counts, minlength=len(coded.labels))
        before, after = coded.sums(cells.base), coded.sums(after_each)
        facts = zip(rows.tolist(), before.tolist(), coded.targets, after.tolist(), strict=True)
        by_names[coded.names] = dict(zip(coded.labels, facts, strict=True))
    raked = []
    for margin in margins:
        names = tuple(sorted(margin.names))
        known, order = by_names[names], [margin.names.index(name) for name in names]
        listed = {tuple(cell[axis] for axis in order): cell for cell in margin.cells}
        back = [names.index(name) for name in margin.names]
        unlisted = {
            cell: tuple(cell[axis] for axis in back) for cell in known if cell not in listed
        }
        for cell, shown in {**listed, **unlisted}.items():
            n_rows, before_, target, after_ = known[cell]
            raked.append(
                RakedCell(margin.names, shown, int(n_rows), before_, float(target), after_)
            )
    return raked
