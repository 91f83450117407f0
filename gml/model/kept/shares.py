"""The part of each regression in how likely whole rows are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gml.counts.float_sums import FloatSums
from gml.counts.number_rows import NumberRows
from gml.counts.orthogonal_terms import Group
from gml.counts.row_sums import NumberTable, RowSums, Sums
from gml.model.kept.moments import FittedNode, at_rows
from gml.model.regression_rows import FitShare, Vector


@dataclass(frozen=True)
class _Shares(RowSums):
    """By regression, the sum of what its ln densities have in common with those of whole rows."""

    nodes: Sequence[FittedNode]
    means: Sequence[float]
    """Of the ln densities of each node."""
    first: Sequence[int]
    """The place of the first regression of each node."""

    @property
    def names(self) -> Sequence[str]:
        return [name for one in self.nodes for name in one.node.names]

    @property
    def n_sums(self) -> int:
        return self.n_groups

    @property
    def n_groups(self) -> int:
        return sum(len(one.lines) for one in self.nodes)

    def over(self, rows: NumberRows) -> Iterator[tuple[int, Sums]]:
        size = int(rows.numbers.max(initial=-1)) + 1
        total = np.zeros(size)
        parts: list[tuple[int, Group, Vector]] = []
        for one, mean, first in zip(self.nodes, self.means, self.first, strict=True):
            for group in one.terms.groups(rows):
                *_, own = at_rows(one.terms, one.lines[group.place].basis, group)
                own -= mean
                total[group.rows.numbers] += own
                parts.append((first + group.place, group, own))
        for place, group, own in parts:
            products = [own * total[group.rows.numbers]]
            yield place, Sums(group.rows.n, FloatSums.of(products, group.times))


def shares_of(table: NumberTable, nodes: Sequence[FittedNode]) -> dict[str, dict[int, FitShare]]:
    """The share of each regression, by node and place, where all nodes have the same rows."""
    if any(len(one.lines) < len(one.node.lines) for one in nodes):
        return {}
    means = [math.fsum(line.densities for line in one.lines.values()) / table.n for one in nodes]
    sizes = [max(one.node.lines) + 1 for one in nodes]
    first = [sum(sizes[:k]) for k in range(len(sizes))]
    (found,) = table.sums([_Shares(nodes, means, first)])
    return {
        one.node.name: {
            place: FitShare(
                line.densities / line.basis.n,
                float(found[start + place].rounded()[0]) / line.basis.n,
            )
            for place, line in one.lines.items()
        }
        for one, start in zip(nodes, first, strict=True)
    }


@dataclass(frozen=True)
class _Complete(RowSums):
    """How many rows have all of some columns."""

    columns: tuple[str, ...]

    @property
    def names(self) -> Sequence[str]:
        return self.columns

    @property
    def n_sums(self) -> int:
        return 0

    def over(self, rows: NumberRows) -> Iterator[tuple[int, Sums]]:
        yield 0, Sums(rows.complete(self.columns).n)


def has_gaps(table: NumberTable, names: Sequence[str]) -> bool:
    """Whether some row lacks a value in one of these columns."""
    (found,) = table.sums([_Complete(tuple(names))])
    return found[0].n < table.n
