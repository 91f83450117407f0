"""Sums over new rows that compare the regressions of a node with those of the model.

Each configuration of labels has a regression. Its terms are 1 and the parents in the old means and
standard deviations, its target the error under the model, in standard deviations of the old errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gml.counts.float_sums import FloatSums
from gml.counts.number_rows import NumberRows
from gml.counts.orthogonal_terms import AtBases, Design, Group, leverage_of, products_of, upper_half
from gml.counts.row_sums import Sums
from gml.data.dataset import Variable
from gml.model.bayesnet import LinearGaussian
from gml.model.regression_rows import Vector, counts_within, errors_under


@dataclass(frozen=True)
class Line:
    """A regression of the model, its parents in the order of their names.

    `means` and `sds` are those of the parents, None where nothing is kept of the model's rows;
    `cuts` divide the errors, or the values of a node without parents.
    """

    intercept: float
    slopes: tuple[float, ...]
    sd: float
    means: tuple[float, ...] | None
    sds: tuple[float, ...]
    cuts: tuple[float, ...]

    @classmethod
    def of(cls, cpd: LinearGaussian) -> Line:
        """What is used of a regression."""
        order, rows = by_name(cpd), cpd.rows
        slopes = tuple(cpd.coefficients[k] for k in order)
        if rows is None:
            return cls(cpd.intercept, slopes, cpd.sd, None, (), ())
        means, sds = (tuple(of[k] for k in order) for of in (rows.means, rows.sds))
        cuts = rows.error_cuts if order else rows.cuts
        return cls(cpd.intercept, slopes, cpd.sd, means, sds, cuts)

    def errors(self, parents: Sequence[Vector], child: Vector) -> Vector:
        """Errors of rows, in standard deviations."""
        return errors_under(self.intercept, self.slopes, self.sd, parents, child)


def by_name(cpd: LinearGaussian) -> list[int]:
    """The places of the parents of a regression, in the order of their names."""
    return sorted(range(len(cpd.parents)), key=lambda k: cpd.parents[k].name)


@dataclass(frozen=True)
class RegressionDesign(Design):
    """The regressions of a node, which add up counts between cuts beside products of terms."""

    child: str
    parents: tuple[str, ...]
    sizes: Mapping[str, int]
    """How many levels the labels that are parents have."""
    lines: tuple[Line, ...]

    @classmethod
    def of(
        cls, regressions: Sequence[LinearGaussian], label_parents: Sequence[Variable]
    ) -> RegressionDesign:
        """The regressions of a node, one per configuration of labels."""
        first = regressions[0]
        names = tuple(first.parents[k].name for k in by_name(first))
        sizes = {parent.name: len(parent.levels or ()) for parent in label_parents}
        return cls(first.variable.name, names, sizes, tuple(map(Line.of, regressions)))

    @property
    def names(self) -> Sequence[str]:
        return (self.child, *self.parents, *self.sizes)

    @property
    def n_terms(self) -> int:
        return len(self.parents) + 1

    @property
    def n_targets(self) -> int:
        return 1

    @property
    def n_groups(self) -> int:
        return len(self.lines)

    @property
    def n_counts(self) -> int:
        return sum(len(line.cuts) + 1 for line in self.lines)

    def groups(self, rows: NumberRows) -> Iterator[Group]:
        for place, line, complete in self._complete(rows):
            if line.means is not None:
                yield self._group(place, line, complete)

    def over(self, rows: NumberRows) -> Iterator[tuple[int, Sums]]:
        for place, line, complete in self._complete(rows):
            if line.means is None:
                yield place, Sums(complete.n)
                continue
            group = self._group(place, line, complete)
            values = group.targets[0] if self.parents else complete.columns[self.child]
            counts = counts_within(line.cuts, values, complete.times)
            yield place, products_of(group, counts)

    def _complete(self, rows: NumberRows) -> Iterator[tuple[int, Line, NumberRows]]:
        for place, found in rows.by_configuration(self.sizes):
            yield place, self.lines[place], found.complete([self.child, *self.parents])

    def _group(self, place: int, line: Line, rows: NumberRows) -> Group:
        assert line.means is not None
        inputs = [rows.columns[name] for name in self.parents]
        child = rows.columns[self.child]
        terms = [np.ones(len(child))]
        for column, mean, sd in zip(inputs, line.means, line.sds, strict=True):
            terms.append((column - mean) / sd)
        return Group(place, terms, [line.errors(inputs, child)], rows)


@dataclass(frozen=True)
class ErrorSums(AtBases[RegressionDesign]):
    """Σ e², Σ e⁴ and Σ zz′(e/(1−h))² of regressions on bases of their terms."""

    @property
    def n_sums(self) -> int:
        return self.n_groups * (2 + len(upper_half(self.design.n_terms)))

    def over(self, rows: NumberRows) -> Iterator[tuple[int, Sums]]:
        for group, basis in self.at(rows):
            columns = basis.columns(group.terms)
            (errors,) = basis.errors(columns, group.targets)
            away = errors / (1 - leverage_of(columns))
            scaled = [term * away for term in group.terms]
            pairs = [(0, 0), (1, 1), *upper_half(len(scaled), 2)]
            sums = FloatSums.of_products([errors, errors * errors, *scaled], pairs, group.times)
            yield group.place, Sums(group.rows.n, sums)
