"""How likely rows are under a model with numbers: ln P of its labels and ln densities of its nodes.

What is made of a row depends on no other, and is the same to the last bit whatever chunk it is in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.counts.number_rows import NumberRows, Places
from gml.data.dataset import Dataset
from gml.gate.likely_rows import RowTables
from gml.gate.regression_sums import RegressionDesign
from gml.model.regression_rows import Vector
from gml.model.regressions import NumberCpd

# Codes of levels are smaller.
_UNKNOWN = np.uint16(65535)
_LOG_2PI = math.log(2 * math.pi)


@dataclass(frozen=True)
class NodeDensity:
    """The regressions of a node, by configuration of labels; the last column is of unknown ones."""

    child: str
    parents: tuple[str, ...]
    sizes: Mapping[str, int]
    """How many levels the labels that are parents have."""
    table: Vector
    """Of each regression: ln sd, sd (1 where there is none), intercept, slopes."""
    counted: NDArray[np.bool_]
    """Which regressions count."""

    @classmethod
    def of(cls, cpd: NumberCpd, counted: Sequence[int] | None = None) -> NodeDensity:
        """The regressions of a node, of which some count, or all."""
        design = RegressionDesign.of(cpd.regressions, cpd.label_parents)
        rows = [
            (math.log(x.sd) if x.sd else -math.inf, x.sd or 1.0, x.intercept, *x.slopes)
            for x in design.lines
        ]
        rows.append((math.nan,) * len(rows[0]))
        counts = np.ones(len(rows), dtype=bool)
        if counted is not None:
            counts[: len(design.lines)] = np.isin(np.arange(len(design.lines)), counted)
        return cls(design.child, design.parents, design.sizes, np.array(rows).T, counts)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it is about."""
        return (self.child, *self.parents, *self.sizes)

    def places(self, rows: NumberRows) -> Places | int:
        """Which regression each row is of, or all rows are."""
        return rows.configurations(self.sizes) if self.sizes else 0

    def errors(self, rows: NumberRows, places: Places | int) -> Vector:
        """Errors in standard deviations, as `errors_under` has them; NaN where there is none."""
        _, sd, intercept, *slopes = (column[places] for column in self.table)
        found: Vector = rows.columns[self.child] - intercept
        for slope, name in zip(slopes, self.parents, strict=True):
            found -= slope * rows.columns[name]
        found /= sd
        return found

    def squares_and_densities(self, rows: NumberRows) -> tuple[Vector, Vector]:
        """e² and ln densities, which are 0 where a regression does not count."""
        places = self.places(rows)
        squares = self.errors(rows, places)
        squares *= squares
        found = squares + _LOG_2PI
        found *= -0.5
        found -= self.table[0][places]
        if not self.counted.all():
            found[~self.counted[places] & ~np.isnan(found)] = 0.0
        return squares, found


class DensityRows(NamedTuple):
    """ln P of the labels of rows, ln densities of their numbers by node, and Σ e²."""

    labels: Vector
    densities: list[Vector]
    squares: Vector


@dataclass(frozen=True)
class RowDensities:
    """The labels of a model, if it has some, and its numbers, in the order of their names."""

    nodes: tuple[NodeDensity, ...]
    tables: RowTables | None = None

    @property
    def names(self) -> list[str]:
        """The columns that they are about, in the order of their names."""
        found = {name for node in self.nodes for name in node.names}
        return sorted(found.union(() if self.tables is None else self.tables.names))

    def labels_of(self, rows: NumberRows) -> Vector:
        """ln P of the labels, NaN where one is missing or unknown."""
        if self.tables is None:
            return np.zeros(len(rows.numbers))
        variables = {v.name: v for f in self.tables.families for v in (*f.parents, f.variable)}
        columns = []
        for name, variable in variables.items():
            codes, known = rows.columns[name], len(variable.levels or ())
            columns.append(np.where(codes < known, codes, _UNKNOWN).astype(np.uint16))
        return self.tables.log_p(Dataset(tuple(variables.values()), tuple(columns)))

    def errors_of(self, rows: NumberRows) -> list[Vector]:
        """The errors of each node in standard deviations."""
        with np.errstate(all="ignore"):
            return [node.errors(rows, node.places(rows)) for node in self.nodes]

    def of(self, rows: NumberRows) -> DensityRows:
        """Look at rows."""
        densities = []
        squares = np.zeros(len(rows.numbers))
        # What overflows is recognised where it matters.
        with np.errstate(all="ignore"):
            for node in self.nodes:
                own, found = node.squares_and_densities(rows)
                squares += own
                densities.append(found)
        return DensityRows(self.labels_of(rows), densities, squares)
