"""What a regression keeps of the rows behind it, so that other rows can be compared with them.

Everything is in units that no scale of the columns can spoil: z = (1, parents less their means in
standard deviations), errors e in standard deviations of the errors, all averaged over the rows.
Errors that stand in a covariance are divided by 1 − h, h the leverage of their row (HC3; MacKinnon
& White 1985, J. Econometrics 29:305). The sandwich A⁻¹MA⁻¹/n, with A the average of zz′ and M that
of e²zz′/(1−h)², is the covariance of the coefficients whatever the distribution of the errors
(White 1980, Econometrica 48:817), and the average of e⁴ says how certain the variance of the errors
is.

Sums over rows are not rounded before they are complete, and columns come in the order of their
names, so that neither the order of rows nor that of columns shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gml.counts.orthogonal_terms import MOST_LEVERAGE
from gml.data.row_groups import group_sums

Vector = NDArray[np.float64]

N_CUTS = 9
"""A column is cut at its deciles, as far as they differ."""
ROUNDING = 1e-9
"""Errors that differ by less, in standard deviations, are the same."""


@dataclass(frozen=True)
class FitShare:
    """The part of a node in how likely the rows of a model were.

    `mean` is its mean ln density, each row left out of the fit in turn; `covariance` that of its ln
    density with the sum over all nodes: these add up to the variance of the sum.
    """

    mean: float
    covariance: float


@dataclass(frozen=True)
class RegressionRows:
    """The rows behind a regression; parents come in the order that the regression has them in.

    `means`, `sds` and `correlations` are of the parents and, last, of the variable; `meat` is M, of
    the intercept and the parents, and `fourth` the average of e⁴. `cuts` divide the variable, and
    `counts` says how many rows lie below the first, between two, and at or above the last;
    `error_cuts` and `error_counts` are the same of its errors, where it has parents.
    """

    means: tuple[float, ...]
    sds: tuple[float, ...]
    correlations: tuple[tuple[float, ...], ...]
    meat: tuple[tuple[float, ...], ...]
    fourth: float
    cuts: tuple[float, ...]
    counts: tuple[int, ...]
    error_cuts: tuple[float, ...] = ()
    error_counts: tuple[int, ...] = ()
    fit: FitShare | None = None

    @property
    def is_finite(self) -> bool:
        """Whether all numbers are, and columns vary."""
        fit = () if self.fit is None else (self.fit.mean, self.fit.covariance)
        tables = (*self.correlations, *self.meat)
        numbers = (*self.means, *self.sds, self.fourth, *fit, *(x for row in tables for x in row))
        return all(map(math.isfinite, numbers)) and min(self.sds) > 0

    def in_order(self, order: Sequence[int]) -> RegressionRows:
        """Return the same with the parents in another order, by their positions in this one."""
        whole = [*order, len(order)]
        design = [0, *(k + 1 for k in order)]
        return replace(
            self,
            means=tuple(self.means[k] for k in whole),
            sds=tuple(self.sds[k] for k in whole),
            correlations=tuple(tuple(self.correlations[i][j] for j in whole) for i in whole),
            meat=tuple(tuple(self.meat[i][j] for j in design) for i in design),
        )


def log_densities(errors: Vector, leverage: Vector, n: int, sd: float) -> Vector:
    """ln of the density of each row under the regression of all others, from errors at the fit."""
    left = np.maximum(n - errors**2 / (1 - leverage), MOST_LEVERAGE) / (n - 1)
    away = (errors / (1 - leverage)) ** 2
    found: Vector = -0.5 * (np.log(2 * math.pi * left) + away / left) - math.log(sd)
    return found


def errors_under(
    intercept: float,
    slopes: Sequence[float],
    sd: float,
    parents: Sequence[Vector],
    child: Vector,
) -> Vector:
    """Errors of any rows, in standard deviations; of old and new rows they round alike."""
    errors: Vector = child - intercept
    for column, slope in zip(parents, slopes, strict=True):
        errors -= slope * column
    return errors / sd if sd > 0 else errors


def decile_ranks(n: int) -> list[int]:
    """Where the least and the deciles of so many ordered values are, from 0.

    Examples
    --------
    >>> decile_ranks(100)
    [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]
    """
    at = [math.ceil(n * k / (N_CUTS + 1)) for k in range(1, N_CUTS + 1)]
    return [0, *(min(rank, n - 1) for rank in at)]


def cuts_of(least: float, deciles: Sequence[float]) -> tuple[float, ...]:
    """The deciles of a column, each a value of it, as far as some row lies below them.

    Examples
    --------
    >>> cuts_of(0.0, [0.0, 0.0, 1.0, 2.0]), cuts_of(1.0, [1.0, 1.0])
    ((1.0, 2.0), ())
    """
    return tuple(sorted(value for value in set(deciles) if value > least))


def error_cuts_of(cuts: Sequence[float], below: Sequence[float]) -> tuple[float, ...]:
    """Deciles of errors halfway down to the error below, so that rounding moves none across.

    Examples
    --------
    >>> error_cuts_of([1.0, 2.0], [0.0, 1.0])
    (0.5, 1.5)
    """
    pairs = zip(cuts, below, strict=True)
    return tuple(sorted({(before + cut) / 2 for cut, before in pairs if before > -math.inf}))


def counts_within(
    cuts: Sequence[float], column: Vector, times: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """How many values lie below the first cut, between two, and at or above the last."""
    places = np.searchsorted(np.array(cuts, dtype=np.float64), column, side="right")
    return group_sums(places, len(cuts) + 1, times)
