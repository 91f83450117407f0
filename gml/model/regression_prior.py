"""Normal–inverse-gamma priors of regressions, as rows that are added to those seen.

The conjugate prior of a regression is what k rows with given moments would say (DeGroot 1970,
chapter 11; Ibrahim & Chen 2000, Stat. Sci. 15:46, eq. 1): with the rows of the data it gives the
least-squares coefficients of both together, which are the posterior means, and the variance
SSE/(n + k). Its k rows have the means and variances of all rows of the data, whatever the labels,
and

- `pooled`: their covariances too, so that regressions of few rows are pulled towards that on all;
- `ridge`: none, so that coefficients are pulled towards 0, as by a ridge of k standardised rows
  (Hoerl & Kennard 1970, Technometrics 12:55); collinear parents then have estimates.

No unit of measurement matters. A node without labels among its parents is, with `pooled`, as
without a prior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from gml.counts.answers import Moments
from gml.errors import UsageError, parameter, require_one_of

NUMBER_PRIORS = ("pooled", "ridge")


@dataclass(frozen=True)
class RegressionPrior:
    """A kind of prior, and how many rows it is worth, in each regression."""

    kind: str = "pooled"
    rows: float = 1.0

    def __post_init__(self) -> None:
        require_one_of("number_prior", self.kind, NUMBER_PRIORS)
        if not 0 < self.rows < math.inf:
            raise UsageError(
                f"{parameter('prior_rows')} must be positive and finite, not {self.rows}"
            )

    def added_to(self, own: Moments | None, pooled: Moments, unit: float) -> Augmented:
        """Return the moments of some rows, if any, with those of the prior.

        `pooled` are the moments of all rows, `unit` is how many rows a count of 1 stands for.
        """
        k = Fraction(self.rows) / Fraction(unit)
        prior = _Sums.of(pooled).per_row()
        if self.kind == "ridge":
            prior = prior.uncorrelated()
        whole = prior.times(k)
        return (whole if own is None else _Sums.of(own).plus(whole)).moments(pooled.scales)


@dataclass(frozen=True)
class Augmented:
    """Moments of rows that need not be whole; the fields are those of `Moments`."""

    n: Fraction
    means: tuple[float, ...]
    cross: tuple[tuple[int, ...], ...]
    scales: tuple[int, ...]


@dataclass(frozen=True)
class _Sums:
    """A number of rows, their means, and the sums of products about these, all exact."""

    n: Fraction
    means: tuple[Fraction, ...]
    products: tuple[tuple[Fraction, ...], ...]

    @classmethod
    def of(cls, moments: Moments) -> _Sums:
        scales = [Fraction(2) ** -scale for scale in moments.scales]
        products = [
            tuple(Fraction(value, moments.n) * a * b for value, b in zip(row, scales, strict=True))
            for row, a in zip(moments.cross, scales, strict=True)
        ]
        return cls(Fraction(moments.n), tuple(map(Fraction, moments.means)), tuple(products))

    def per_row(self) -> _Sums:
        return self.times(1 / self.n)

    def times(self, factor: Fraction) -> _Sums:
        products = tuple(tuple(value * factor for value in row) for row in self.products)
        return _Sums(self.n * factor, self.means, products)

    def uncorrelated(self) -> _Sums:
        products = tuple(
            tuple(value if i == j else Fraction(0) for j, value in enumerate(row))
            for i, row in enumerate(self.products)
        )
        return _Sums(self.n, self.means, products)

    def plus(self, other: _Sums) -> _Sums:
        n = self.n + other.n
        apart = [b - a for a, b in zip(self.means, other.means, strict=True)]
        between = self.n * other.n / n
        size = range(len(apart))
        return _Sums(
            n,
            tuple(a + d * other.n / n for a, d in zip(self.means, apart, strict=True)),
            tuple(
                tuple(
                    self.products[i][j] + other.products[i][j] + between * apart[i] * apart[j]
                    for j in size
                )
                for i in size
            ),
        )

    def moments(self, scales: tuple[int, ...]) -> Augmented:
        """In fixed point, whose rounding is far below that of floats."""
        powers = [Fraction(2) ** scale for scale in scales]
        cross = tuple(
            tuple(round(self.n * value * a * b) for value, b in zip(row, powers, strict=True))
            for row, a in zip(self.products, powers, strict=True)
        )
        return Augmented(self.n, tuple(map(float, self.means)), cross, scales)
