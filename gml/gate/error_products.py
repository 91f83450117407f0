"""Products of the errors of two columns within configurations, from sums over rows.

A first pass finds what takes part (`pair_design`); where numbers are given, one or two more find
the regressions; a last one adds up the products of the errors, over all configurations together. A
label with many columns takes no products of pairs of these (`level_products`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from gml.counts.float_sums import FloatSums
from gml.counts.number_rows import NumberRows
from gml.counts.orthogonal_terms import AtBases, Basis, bases_of, leverage_of, symmetric, upper_half
from gml.counts.row_sums import RowSums, Steps, Sums
from gml.gate.level_products import LevelSums, products_by_level
from gml.gate.pair_design import (
    NOTHING_LEFT,
    PER_TERM,
    ErrorProducts,
    Pair,
    PairDesign,
    PairRanges,
    design_of,
    freedom_of,
    mean_bases,
)
from gml.model.regression_rows import Vector


@dataclass(frozen=True)
class PairSums(AtBases[PairDesign]):
    """Σ e², Σ Ee, Σ EE′ and Σ EE′(e/(1−h))², all configurations together.

    `largest` has the excess of leverage.
    """

    @property
    def n_sums(self) -> int:
        size = self.design.size
        return 1 + size + size * (size + 1)

    def over(self, rows: NumberRows) -> Iterator[tuple[int, Sums]]:
        design, excess, n = self.design, -math.inf, 0
        parts: list[list[Vector]] = []
        times: list[NDArray[np.int64]] = []
        for group, basis in self.at(rows):
            columns = basis.columns(group.terms)
            errors = basis.errors(columns, group.targets)
            leverage = leverage_of(columns)
            excess = max(excess, design.excess(basis, leverage))
            away = errors[0] / (1 - leverage)
            parts.append([*errors, *(error * away for error in errors[1:])])
            n += group.rows.n
            if group.times is not None:
                times.append(group.times)
        if not parts:
            return
        whole = parts[0]
        if len(parts) > 1:
            whole = [np.concatenate(of) for of in zip(*parts, strict=True)]
        size = design.size
        pairs = [(0, k) for k in range(size + 1)]
        pairs += [*upper_half(size, 1), *upper_half(size, size + 1)]
        sums = FloatSums.of_products(whole, pairs, np.concatenate(times) if times else None)
        yield 0, Sums(n, sums, largest=np.array([excess]))

    def products(self, sums: Sums) -> ErrorProducts:
        """What the sums are."""
        size = self.design.size
        totals = sums.rounded()
        half = size * (size + 1) // 2
        shared, spread = totals[size + 1 : size + 1 + half], totals[size + 1 + half :]
        return ErrorProducts(
            float(totals[0]),
            totals[1 : size + 1],
            symmetric(shared, size),
            symmetric(spread, size),
            freedom_of(self.bases),
        )


@dataclass(frozen=True)
class _Squares(RowSums):
    """Σ t² of the scaled numbers of a pair, over all rows that have all columns."""

    design: PairDesign

    @property
    def names(self) -> Sequence[str]:
        return self.design.names

    @property
    def n_sums(self) -> int:
        return len(self.design.targets)

    def over(self, rows: NumberRows) -> Iterator[tuple[int, Sums]]:
        complete = rows.complete(self.names)
        names, scales = self.design.targets, self.design.scales
        columns = [scales[name].of(complete.columns[name]) for name in names]
        pairs = [(k, k) for k in range(len(columns))]
        sums = FloatSums.of_products(columns, pairs, complete.times)
        yield 0, Sums(complete.n, sums)


def error_products(pair: Pair) -> Steps[tuple[int, ErrorProducts | None]]:
    """Find how many rows have all columns, and the products; None if the rows cannot tell."""
    (found,) = yield [PairRanges(pair)]
    all_rows = reduce(Sums.plus, found.values()) if found else Sums(0)
    design = design_of(pair, found, all_rows) if all_rows.n else None
    if design is None:
        return all_rows.n, None
    if design.n_terms == 1:
        bases = mean_bases(design, found)
    else:
        bases = yield from bases_of(design)
    if freedom_of(bases) < PER_TERM:
        return all_rows.n, None
    products = yield from _products(design, bases)
    if products is not None:
        products = yield from _what_is_left(design, bases, products)
    return all_rows.n, products


def _products(design: PairDesign, bases: Mapping[int, Basis]) -> Steps[ErrorProducts | None]:
    wanted = (LevelSums if design.by_level else PairSums)(design, bases)
    (found,) = yield [wanted]
    if any(float(sums.largest[0]) > 0 for sums in found.values()):
        return None
    if isinstance(wanted, PairSums):
        return wanted.products(found[0])
    return products_by_level(design, bases, found)


def _what_is_left(
    design: PairDesign, bases: Mapping[int, Basis], products: ErrorProducts
) -> Steps[ErrorProducts | None]:
    """Leave out the columns that regressions leave nothing of; None if that is one of the two."""
    n = sum(basis.n for basis in bases.values())
    squares = np.array([products.square, *np.diag(products.shared)])
    errors = np.sqrt(np.maximum(squares, 0.0) / n)
    sizes, n_numbers = np.ones(len(errors)), len(design.targets)
    # Scaled numbers have standard deviations of at most 1.
    if (errors[:n_numbers] < NOTHING_LEFT).any():
        (found,) = yield [_Squares(design)]
        sizes[:n_numbers] = np.sqrt(found[0].rounded() / found[0].n)
    varies = errors >= NOTHING_LEFT * sizes
    return products.of(varies[1:]) if varies[0] and varies[1:].any() else None
