"""One regression from exact cross-products: least squares, with variance SSE/n.

Its intervals are those of the posterior under Jeffreys' prior: Student's t with n − |pa| − 1
degrees of freedom for the coefficients, χ² for the variance. What a prior adds counts like rows
(`regression_prior`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import chain

from gml.counts.answers import Moments
from gml.counts.exact_algebra import inverse, regression
from gml.data.dataset import Variable
from gml.errors import CannotAnswer, DataError, listing, quote
from gml.model.regression_prior import Augmented
from gml.model.regressions import LinearGaussian


def fitted_regression(
    variable: Variable,
    parents: tuple[Variable, ...],
    moments: Moments | Augmented,
    *,
    unit: float = 1.0,
    level: float | None = None,
) -> LinearGaussian:
    """Regress a variable on its parents; `moments` have the parents first, and the variable last.

    `unit` is how many rows a count of 1 stands for, `level` that of the intervals. `n` is that of
    the moments.
    """
    names = [one.name for one in (*parents, variable)]
    if moments.cross[-1][-1] == 0:
        raise DataError(
            f"column {quote(names[-1])} has only one value; no normal distribution fits"
        )
    exact, left = regression(moments.cross, names)
    scales = moments.scales
    sd_q = math.sqrt(float(left / moments.n**2))
    try:
        # q = x·2^scale: coefficients of q become those of x.
        coefficients = [
            math.ldexp(float(value), scales[k] - scales[-1]) for k, value in enumerate(exact)
        ]
        intercept = moments.means[-1] - math.fsum(
            value * moments.means[k] for k, value in enumerate(coefficients)
        )
        sd = math.ldexp(sd_q, -scales[-1])
        vanished = any(value and not kept for value, kept in zip(exact, coefficients, strict=True))
    except OverflowError:
        vanished = True
    if vanished:
        raise DataError(f"the magnitudes of the numbers of {listing(names)} differ too much")
    n = float(moments.n) * unit
    n_rows = int(moments.n) if unit == 1 and isinstance(moments, Moments) else n
    fitted = LinearGaussian(variable, parents, intercept, tuple(coefficients), sd, n_rows)
    if level is None:
        return fitted
    return replace(fitted, intervals=_intervals(fitted, moments, sd_q, n, level))


def degrees_of_freedom(n: float, n_parents: int) -> float:
    """What rows leave to judge the errors by."""
    return n - n_parents - 1


def _intervals(
    fitted: LinearGaussian, moments: Moments | Augmented, sd_q: float, n: float, level: float
) -> tuple[tuple[float, float], ...]:
    """Bounds of the intercept, the coefficients and the standard deviation.

    Computed for the columns in fixed point, whose numbers are of moderate size, then scaled back.
    """
    from scipy.special import chdtri, stdtrit

    size = len(fitted.parents)
    df = degrees_of_freedom(n, size)
    name = fitted.variable.name
    if df <= 0:
        raise CannotAnswer(f"{n:g} rows are too few for intervals of {quote(name)}")
    exact = inverse([row[:size] for row in moments.cross[:size]])
    means = [
        Fraction(mean) * Fraction(2) ** scale
        for mean, scale in zip(moments.means[:size], moments.scales[:size], strict=True)
    ]
    about_zero = sum(
        (means[i] * exact[i][j] * means[j] for i in range(size) for j in range(size)), Fraction(0)
    )
    t = float(stdtrit(df, 0.5 + level / 2)) * sd_q / math.sqrt(df)
    n_squared = Fraction(moments.n) ** 2
    spread = [
        1.0 + float(n_squared * about_zero),
        *(float(n_squared * exact[k][k]) for k in range(size)),
    ]
    # The intercept has the scale of the child, a coefficient that of child over parent.
    shifts = [-moments.scales[-1], *(s - moments.scales[-1] for s in moments.scales[:-1])]
    bounds = []
    for estimate, part, shift in zip(
        (fitted.intercept, *fitted.coefficients), spread, shifts, strict=True
    ):
        try:
            half = math.ldexp(t * math.sqrt(part), shift)
        except OverflowError:
            half = math.inf
        bounds.append((estimate - half, estimate + half))
    if not all(map(math.isfinite, chain.from_iterable(bounds))):
        raise CannotAnswer(
            f"the intervals of {quote(name)} are beyond 1.8e+308; give its numbers in other units"
        )
    tail = (1 - level) / 2
    low, high = float(chdtri(df, tail)), float(chdtri(df, 1 - tail))
    return (*bounds, (fitted.sd * math.sqrt(n / low), fitted.sd * math.sqrt(n / high)))
