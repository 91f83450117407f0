"""Where the values of nodes, and the errors of their regressions, have their deciles."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gml.counts.number_rows import NumberRows
from gml.counts.row_ranks import ColumnCounts, RankedColumn, Values, values_at
from gml.counts.row_sums import Steps, Sums
from gml.model.kept.nodes import Node
from gml.model.regression_rows import (
    ROUNDING,
    counts_within,
    cuts_of,
    decile_ranks,
    error_cuts_of,
    errors_under,
)


@dataclass(frozen=True)
class VariableOfNode(RankedColumn):
    """The values of a node, by its regressions."""

    node: Node

    @property
    def names(self) -> Sequence[str]:
        return self.node.names

    @property
    def n_groups(self) -> int:
        return len(self.node.lines)

    def values(self, rows: NumberRows) -> Iterator[Values]:
        for place, found in self.node.rows(rows):
            yield Values(place, found.columns[self.node.name], found.times)


@dataclass(frozen=True)
class ErrorsOfNode(VariableOfNode):
    """The errors of a node under the model."""

    def values(self, rows: NumberRows) -> Iterator[Values]:
        for place, found in self.node.rows(rows) if self.node.parents else ():
            line = self.node.lines[place]
            *parents, child = self.node.columns(found)
            errors = errors_under(line.intercept, line.slopes, line.sd, parents, child)
            yield Values(place, errors, found.times)


@dataclass(frozen=True)
class _Between(ColumnCounts):
    """Counts between cuts, and the largest value below each of some bounds."""

    cuts: Mapping[int, tuple[float, ...]]
    bounds: Mapping[int, tuple[float, ...]]

    @property
    def n_counts(self) -> int:
        return sum(len(cuts) + 1 for cuts in self.cuts.values())

    def over(self, rows: NumberRows) -> Iterator[tuple[int, Sums]]:
        for place, values, times in self.column.values(rows):
            counts = counts_within(self.cuts.get(place, ()), values, times)
            below = [
                values[values < bound].max(initial=-math.inf)
                for bound in self.bounds.get(place, ())
            ]
            yield place, Sums(int(counts.sum()), counts=counts, largest=np.array(below))


def deciles_of(
    column: VariableOfNode,
) -> Steps[dict[int, tuple[tuple[float, ...], tuple[int, ...]]]]:
    """The deciles of each regression as cuts, and how many values lie between them."""
    found = yield from values_at(column, decile_ranks)
    cuts = {place: cuts_of(least, values) for place, (least, *values) in found.items()}
    if isinstance(column, ErrorsOfNode):
        bounds = {place: tuple(cut - ROUNDING for cut in of) for place, of in cuts.items()}
        (sums,) = yield [_Between(column, {}, bounds)]
        cuts = {
            place: error_cuts_of(of, sums[place].largest.tolist()) for place, of in cuts.items()
        }
    (counts,) = yield [_Between(column, cuts, {})]
    return {place: (of, tuple(counts[place].counts.tolist())) for place, of in cuts.items()}
