"""Moments of the rows behind regressions, and of their errors there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gml.counts.float_sums import FloatSums
from gml.counts.number_rows import NumberRows
from gml.counts.orthogonal_terms import (
    AtBases,
    Basis,
    Design,
    Group,
    bases_from,
    leverage_of,
    symmetric,
    upper_half,
)
from gml.counts.row_sums import RowSums, Steps, Sums
from gml.model.kept.nodes import Node
from gml.model.regression_rows import Vector, log_densities


@dataclass(frozen=True)
class _Ranges(RowSums):
    """The sums of the members, and the least and largest of each."""

    node: Node

    @property
    def names(self) -> Sequence[str]:
        return self.node.names

    @property
    def n_sums(self) -> int:
        return len(self.node.members) * self.n_groups

    @property
    def n_groups(self) -> int:
        return len(self.node.lines)

    def over(self, rows: NumberRows) -> Iterator[tuple[int, Sums]]:
        for place, found in self.node.rows(rows):
            columns = self.node.columns(found)
            ends = [(-c).max(initial=-math.inf) for c in columns]
            ends += [c.max(initial=-math.inf) for c in columns]
            sums = FloatSums.of(columns, found.times)
            yield place, Sums(found.n, sums, largest=np.array(ends))


@dataclass(frozen=True)
class _Squares(_Ranges):
    """The sums of squares about means, in units that keep them from overflowing."""

    means: Mapping[int, tuple[float, ...]]
    units: Mapping[int, tuple[float, ...]]

    def over(self, rows: NumberRows) -> Iterator[tuple[int, Sums]]:
        for place, found in self.node.rows(rows):
            if place not in self.means:
                continue
            frame = zip(self.means[place], self.units[place], strict=True)
            scaled = [
                (column - mean) / unit
                for column, (mean, unit) in zip(self.node.columns(found), frame, strict=True)
            ]
            pairs = [(k, k) for k in range(len(scaled))]
            yield place, Sums(found.n, FloatSums.of_products(scaled, pairs, found.times))


@dataclass(frozen=True)
class Terms(Design):
    """Terms: 1 and the parents about their means in standard deviations. Targets: the node
    likewise, and the errors of its regression in their standard deviation."""

    node: Node
    means: Mapping[int, tuple[float, ...]]
    sds: Mapping[int, tuple[float, ...]]

    @property
    def names(self) -> Sequence[str]:
        return self.node.names

    @property
    def n_terms(self) -> int:
        return len(self.node.members)

    @property
    def n_targets(self) -> int:
        return 2

    @property
    def n_groups(self) -> int:
        return len(self.node.lines)

    def groups(self, rows: NumberRows) -> Iterator[Group]:
        for place, found in self.node.rows(rows):
            if place not in self.sds:
                continue
            line = self.node.lines[place]
            pairs = zip(self.node.columns(found), self.means[place], strict=True)
            *parents, child = (column - mean for column, mean in pairs)
            errors = child
            for column, slope in zip(parents, line.slopes, strict=True):
                errors = errors - slope * column
            *scales, scale = self.sds[place]
            terms = [c / sd for c, sd in zip(parents, scales, strict=True)]
            targets = [child / scale, errors / line.sd]
            yield Group(place, [np.ones(len(child)), *terms], targets, found)


@dataclass(frozen=True)
class _AtFit(AtBases[Terms]):
    """Σ e⁴, the sum of ln densities, and Σ zz′(e/(1−h))²."""

    @property
    def n_sums(self) -> int:
        return self.n_groups * (2 + len(upper_half(self.design.n_terms)))

    def over(self, rows: NumberRows) -> Iterator[tuple[int, Sums]]:
        for group, basis in self.at(rows):
            errors, leverage, own = at_rows(self.design, basis, group)
            away = errors / (1 - leverage)
            scaled = [term * away for term in group.terms]
            pairs = [(0, 0), (1, -1), *upper_half(len(scaled), 2)]
            sums = FloatSums.of_products([errors * errors, own, *scaled], pairs, group.times)
            yield group.place, Sums(group.rows.n, sums)


def at_rows(design: Terms, basis: Basis, group: Group) -> tuple[Vector, Vector, Vector]:
    """Errors, leverages, and ln densities under the regression of all other rows."""
    errors = group.targets[1]
    leverage = leverage_of(basis.columns(group.terms))
    sd = design.node.lines[group.place].sd
    return errors, leverage, log_densities(errors, leverage, basis.n, sd)


class FittedLine(NamedTuple):
    """What is known of one regression at its rows."""

    basis: Basis
    correlations: Vector
    """Of the members, the node last."""
    meat: Vector
    fourth: float
    """The average of e⁴."""
    densities: float
    """The sum of the ln densities of its rows."""


@dataclass(frozen=True)
class FittedNode:
    """The regressions of a node whose moments floats can hold, by place, and their terms."""

    terms: Terms
    lines: Mapping[int, FittedLine]

    @property
    def node(self) -> Node:
        """The node."""
        return self.terms.node


def fitted_node(node: Node) -> Steps[FittedNode]:
    """Find the moments of the rows of each regression, and of its errors there."""
    (found,) = yield [_Ranges(node)]
    means: dict[int, tuple[float, ...]] = {}
    units: dict[int, tuple[float, ...]] = {}
    for place, sums in found.items():
        if sums.n and np.isfinite(sums.largest).all():
            centres = sums.rounded() / sums.n
            least, greatest = -sums.largest[: len(centres)], sums.largest[len(centres) :]
            away = np.maximum(greatest - centres, centres - least)
            means[place] = tuple(centres.tolist())
            units[place] = tuple(np.where(away > 0, away, 1.0).tolist())
    (squares,) = yield [_Squares(node, means, units)]
    sds: dict[int, tuple[float, ...]] = {}
    for place, unit in units.items():
        sums = squares[place]
        spreads = (np.array(unit) * np.sqrt(sums.rounded() / sums.n)).tolist()
        if min(spreads) > 0:
            sds[place] = tuple(spreads)
    terms = Terms(node, means, sds)
    (products,) = yield [terms]
    bases = yield from bases_from(terms, products)
    (at_fit,) = yield [_AtFit(terms, bases)]
    lines = {}
    for place, basis in bases.items():
        fourths, densities, *meat = at_fit[place].rounded().tolist()
        lines[place] = FittedLine(
            basis,
            _correlations(*terms.matrices(products[place]), basis.n),
            symmetric(meat, terms.n_terms) / basis.n,
            fourths / basis.n,
            densities,
        )
    return FittedNode(terms, lines)


def _correlations(gram: Vector, across: Vector, n: int) -> Vector:
    """Those of the members, by products of the terms, and of these with the targets."""
    whole = np.eye(len(gram))
    whole[:-1, :-1] = gram[1:, 1:] / n
    whole[:-1, -1] = whole[-1, :-1] = across[1:, 0] / n
    np.fill_diagonal(whole, 1.0)
    return whole
