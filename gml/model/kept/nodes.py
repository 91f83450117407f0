"""The nodes of a model whose regressions are looked at again at their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gml.counts.number_rows import NumberRows
from gml.model.regression_rows import Vector
from gml.model.regressions import LinearGaussian, NumberCpd
from gml.name_order import NameOrder


@dataclass(frozen=True)
class Line:
    """A regression, its slopes in the order of the names of the parents."""

    intercept: float
    slopes: tuple[float, ...]
    sd: float


@dataclass(frozen=True)
class Node:
    """A node of numbers: its regressions that have enough rows behind them."""

    name: str
    parents: tuple[str, ...]
    """Those that are numbers, in the order of their names."""
    sizes: Mapping[str, int]
    """How many levels the other ones have."""
    lines: Mapping[int, Line]

    @classmethod
    def of(cls, cpd: NumberCpd) -> Node:
        """What is used of a node."""
        order = _by_name(cpd.regressions[0])
        lines = {
            place: Line(line.intercept, tuple(line.coefficients[k] for k in order), line.sd)
            for place, line in enumerate(cpd.regressions)
            if line.n is not None and has_enough(line)
        }
        parents = tuple(cpd.regressions[0].parents[k].name for k in order)
        sizes = {parent.name: len(parent.levels or ()) for parent in cpd.label_parents}
        return cls(cpd.variable.name, parents, sizes, lines)

    @property
    def members(self) -> tuple[str, ...]:
        """The parents and, last, the node."""
        return (*self.parents, self.name)

    @property
    def names(self) -> Sequence[str]:
        """All columns that it takes."""
        return (*self.members, *self.sizes)

    def rows(self, rows: NumberRows) -> Iterator[tuple[int, NumberRows]]:
        """The rows of each regression that have all its values."""
        for place, found in rows.by_configuration(self.sizes):
            if place in self.lines:
                yield place, found.complete(self.members)

    def columns(self, rows: NumberRows) -> list[Vector]:
        """The members at some rows."""
        return [rows.columns[name] for name in self.members]


def has_enough(cpd: LinearGaussian) -> bool:
    """Whether rows are left to tell the size of its errors, each left out of the fit in turn."""
    return (cpd.n or 0) > len(cpd.parents) + 2


def _by_name(cpd: LinearGaussian) -> list[int]:
    """The positions of the parents, in the order of their names."""
    found: list[int] = NameOrder([parent.name for parent in cpd.parents]).positions.tolist()
    return found
