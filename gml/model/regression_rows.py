"""What a regression keeps of the rows behind it, so that other rows can be compared with them.

Everything is in units that no scale of the columns can spoil: z = (1, parents less their means in
standard deviations), errors e in standard deviations of the errors, all averaged over the rows.
Errors that stand in a covariance are divided by 1 − h, h the leverage of their row (HC3; MacKinnon
& White 1985, J. Econometrics 29:305). The sandwich A⁻¹MA⁻¹/n, with A the average of zz′ and M that
of e²zz′/(1−h)², is the covariance of the coefficients whatever the distribution of the errors
(White 1980, Econometrica 48:817), and the average of e⁴ says how certain the variance of the errors
is.

Sums depend on the order of their terms in the last digits, so rows are put in an order that depends
on what they hold alone, and columns in that of their names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.row_groups import row_parts

Vector = NDArray[np.float64]
Places = NDArray[np.signedinteger[Any]]

N_CUTS = 9
"""A column is cut at its deciles, as far as they differ."""
# Leverages this close to 1 leave no error to look at.
_MOST_LEVERAGE = 1 - 1e-9
# The share of a term's length that must not follow from the others.
_INDEPENDENT = 1e-8
# Errors that differ by less, in standard deviations, are the same.
_ROUNDING = 1e-9
_MIX = np.uint64(0x9E3779B97F4A7C15)


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


def order_of_rows(columns: Mapping[str, Vector]) -> Places:
    """An order of rows that depends on what they hold, not on where they stand.

    Examples
    --------
    >>> columns = {"a": np.array([3.0, 1.0, 2.0]), "b": np.array([0.0, 0.5, 0.0])}
    >>> turned = {name: column[::-1] for name, column in columns.items()}
    >>> one, other = order_of_rows(columns), order_of_rows(turned)
    >>> (columns["a"][one] == turned["a"][other]).all()
    np.True_
    """
    return order_by_content(columns, columns.__getitem__)


def order_by_content(names: Iterable[str], column_of: Callable[[str], Vector]) -> Places:
    """The same of columns that are asked for one by one, so that no two need be there at a time."""
    mixed: NDArray[np.uint64] | None = None
    for name in sorted(names):
        # One zero and one NaN.
        column = column_of(name) + 0.0
        column[np.isnan(column)] = np.nan
        if mixed is None:
            mixed = np.zeros(len(column), dtype=np.uint64)
        mixed ^= column.view(np.uint64)
        mixed *= _MIX
        mixed ^= mixed >> np.uint64(29)
        del column
    assert mixed is not None
    order: Places = np.argsort(mixed, kind="stable")
    return order.astype(np.int32) if len(order) < 1 << 31 else order


def mean_products(left: Vector, right: Vector, weights: Vector | None = None) -> Vector:
    """The average over rows of the products of columns, in one order of summation."""
    found: Vector = np.zeros((left.shape[1], right.shape[1]))
    for part in row_parts(len(left)):
        scaled = left[part] if weights is None else left[part] * weights[part, None]
        found += np.einsum("ni,nj->ij", scaled, right[part])
    return found / len(left)


@dataclass(frozen=True)
class Orthogonal:
    """A design (rows × terms) whose terms `kept` equal basis · triangle, with orthogonal columns.

    The other terms are, in these rows, linear functions of those: design = design[:, kept] · terms.
    """

    basis: Vector
    triangle: Vector
    terms: Vector
    kept: tuple[int, ...]

    @property
    def leverage(self) -> Vector:
        """How much each row determines its own prediction, short of 1."""
        own: Vector = np.minimum(np.einsum("ni,ni->n", self.basis, self.basis), _MOST_LEVERAGE)
        return own


def orthogonalised(design: Vector) -> Orthogonal:
    """By Gram & Schmidt, twice, as that is enough (Giraud, Langou & Rozložník 2005).

    Loops over terms in one order, so that neither threads nor a library of linear algebra show.
    """
    turned = _turned(design)
    square = turned.triangle[:, turned.kept]
    terms: Vector = np.linalg.solve(square, turned.triangle).astype(np.float64)
    return Orthogonal(np.column_stack(turned.basis), square, terms, turned.kept)


def leverages(design: Vector) -> Vector:
    """How much each row determines its own prediction, short of 1."""
    found = np.zeros(len(design))
    for column in _turned(design).basis:
        found += column**2
    return np.minimum(found, _MOST_LEVERAGE, out=found)


class _Turned(NamedTuple):
    basis: list[Vector]
    triangle: Vector
    kept: tuple[int, ...]


def _turned(design: Vector) -> _Turned:
    basis: list[Vector] = []
    shares: list[list[float]] = []
    kept = []
    for k in range(design.shape[1]):
        left = design[:, k].copy()
        whole = math.sqrt(float(np.sum(left * left)))
        share = [0.0] * len(basis)
        for _ in range(2):
            for i, column in enumerate(basis):
                part = float(np.sum(column * left))
                left -= part * column
                share[i] += part
        length = math.sqrt(float(np.sum(left * left)))
        if length > _INDEPENDENT * whole:
            basis.append(left / length)
            share.append(length)
            kept.append(k)
        shares.append(share)
    size = len(basis)
    triangle = np.zeros((size, design.shape[1]))
    for k, share in enumerate(shares):
        triangle[: len(share), k] = share
    return _Turned(basis, triangle, tuple(kept))


@dataclass(frozen=True)
class FittedRows:
    """A regression at its rows: z, errors in standard deviations, leverages, and that deviation."""

    design: Vector
    errors: Vector
    leverage: Vector
    sd: float

    def log_densities(self) -> Vector:
        """ln of the density of each row under the regression of all others."""
        n = len(self.errors)
        left = np.maximum(n - self.errors**2 / (1 - self.leverage), _MOST_LEVERAGE) / (n - 1)
        away = (self.errors / (1 - self.leverage)) ** 2
        found: Vector = -0.5 * (np.log(2 * math.pi * left) + away / left) - math.log(self.sd)
        return found


def fitted_rows(
    parents: Sequence[Vector], child: Vector, coefficients: Sequence[float], sd: float
) -> FittedRows:
    """Evaluate a least-squares regression at the rows that it was fitted on."""
    # By terms, as these are worked on one by one.
    design = np.ones((len(parents) + 1, len(child))).T
    errors = child - _mean(child)
    for k, (column, coefficient) in enumerate(zip(parents, coefficients, strict=True), start=1):
        centred = column - _mean(column)
        design[:, k] = centred / _spread(centred)
        centred *= coefficient
        errors -= centred
    errors /= sd
    return FittedRows(design, errors, leverages(design), sd)


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


def regression_rows(
    parents: Sequence[Vector],
    child: Vector,
    fitted: FittedRows,
    errors: Vector,
) -> RegressionRows:
    """Keep what a comparison with other rows needs; `errors` are those under the model."""
    columns = (*parents, child)
    means = tuple(_mean(column) for column in columns)
    sds = tuple(_spread(c - m) for c, m in zip(columns, means, strict=True))
    products = np.zeros((len(columns), len(columns)))
    for part in row_parts(len(child)):
        scaled = np.column_stack(
            [(c[part] - m) / s for c, m, s in zip(columns, means, sds, strict=True)]
        )
        products += np.einsum("ni,nj->ij", scaled, scaled)
    at = fitted.errors / (1 - fitted.leverage)
    at *= at
    meat = mean_products(fitted.design, fitted.design, at)
    del at
    ordered, ordered_errors = np.sort(child), np.sort(errors if parents else errors[:0])
    cuts, error_cuts = cut_points(ordered), error_cut_points(ordered_errors)
    return RegressionRows(
        means,
        sds,
        _rows(products / len(child)),
        _rows(meat),
        float(np.mean(fitted.errors**4)),
        cuts,
        _counts_between(cuts, ordered),
        error_cuts,
        _counts_between(error_cuts, ordered_errors) if error_cuts else (),
    )


def cut_points(ordered: Vector) -> tuple[float, ...]:
    """The deciles of an ordered column, each a value of it, as far as some row lies below them.

    Examples
    --------
    >>> cut_points(np.array([0.0] * 8 + [1.0, 2.0])), cut_points(np.ones(4))
    ((1.0, 2.0), ())
    """
    if len(ordered) == 0:
        return ()
    at = [math.ceil(len(ordered) * k / (N_CUTS + 1)) for k in range(1, N_CUTS + 1)]
    found = np.unique(ordered[np.minimum(at, len(ordered) - 1)])
    return tuple(found[found > ordered[0]].tolist())


def error_cut_points(ordered: Vector) -> tuple[float, ...]:
    """Deciles again, each halfway down to the next error, so that rounding moves none across.

    Examples
    --------
    >>> error_cut_points(np.array([0.0, 0.0, 1.0, 2.0]))
    (0.5, 1.5)
    """
    found = []
    for cut in cut_points(ordered):
        below = int(np.searchsorted(ordered, cut - _ROUNDING))
        if below:
            found.append((float(ordered[below - 1]) + cut) / 2)
    return tuple(sorted(set(found)))


def _counts_between(cuts: Sequence[float], ordered: Vector) -> tuple[int, ...]:
    """What `counts_within` finds, of a column in order."""
    ends = np.searchsorted(ordered, np.array(cuts, dtype=np.float64))
    return tuple(np.diff([0, *ends.tolist(), len(ordered)]).tolist())


def counts_within(cuts: Sequence[float], column: Vector) -> NDArray[np.int64]:
    """How many values lie below the first cut, between two, and at or above the last."""
    places = np.searchsorted(np.array(cuts, dtype=np.float64), column, side="right")
    found: NDArray[np.int64] = np.bincount(places, minlength=len(cuts) + 1)
    return found


def _mean(column: Vector) -> float:
    # About a value of its own, so that a large mean does not cost the digits of small differences.
    centre = float(column[0])
    return centre + float(np.mean(column - centre))


def _spread(centred: Vector) -> float:
    largest = float(np.abs(centred).max(initial=0.0))
    if largest == 0:
        return 0.0
    return largest * math.sqrt(float(np.mean((centred / largest) ** 2)))


def _rows(matrix: Vector) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in matrix.tolist())
