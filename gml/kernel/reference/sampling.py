"""Ancestral sampling, one column at a time over all the rows asked for.

A level is found by bisection among the integer thresholds of its row; a normal error is the
quantile of a uniform number (Wichura 1988, algorithm AS 241, relative error about 10⁻¹⁶). The
compiled kernel gives the same codes, and the same numbers where its logarithm is that of `math`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.kernel.plan import GaussianPlan, TablePlan, thresholds
from gml.kernel.reference.random import random_bits
from gml.stopping import check_stopped

# Coefficients of the rational functions, the highest power first.
_CENTRE_ABOVE = (
    2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4,
    4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3,
    1.3314166789178437745e2, 3.3871328727963666080e0,
)  # fmt: skip
_CENTRE_BELOW = (
    5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4,
    2.1213794301586595867e4, 5.3941960214247511077e3, 6.8718700749205790830e2,
    4.2313330701600911252e1, 1.0,
)  # fmt: skip
_SIDE_ABOVE = (
    7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
    1.27045825245236838258e0, 3.64784832476320460504e0, 5.76949722146069140550e0,
    4.63033784615654529590e0, 1.42343711074968357734e0,
)  # fmt: skip
_SIDE_BELOW = (
    1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
    1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e0,
    2.05319162663775882187e0, 1.0,
)  # fmt: skip
_FAR_ABOVE = (
    2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
    2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e0,
    5.46378491116411436990e0, 6.65790464350110377720e0,
)  # fmt: skip
_FAR_BELOW = (
    2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
    7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
    5.99832206555887937690e-1, 1.0,
)  # fmt: skip


class TableSampler:
    """Draws rows of coded columns after a TablePlan."""

    def __init__(self, plan: TablePlan) -> None:
        self._plan = plan
        self._thresholds = [thresholds(step.table) for step in plan.steps]

    def draw(self, first_row: int, columns: list[NDArray[Any]]) -> None:
        """Fill the columns with the rows from first_row on."""
        plan = self._plan
        n_rows = _n_rows(columns, len(plan.n_levels))
        for column, code in plan.fixed.items():
            columns[column][:] = code
        counters = _counters(first_row, n_rows)
        for step, ends in zip(plan.steps, self._thresholds, strict=True):
            check_stopped()
            configurations = np.zeros(n_rows, dtype=np.int64)
            for parent in step.parents:
                configurations = configurations * plan.n_levels[parent] + columns[parent]
            bits = random_bits(plan.keys[step.target], counters) >> np.uint64(1)
            columns[step.target][:] = count_reached(ends, configurations, bits)


def _n_rows(columns: list[NDArray[Any]], n_columns: int) -> int:
    if len(columns) != n_columns or len({len(column) for column in columns}) > 1:
        raise ValueError("these are not the columns of the plan")
    return len(columns[0]) if columns else 0


def _counters(first_row: int, n_rows: int) -> NDArray[np.uint64]:
    return np.uint64(first_row) + np.arange(n_rows, dtype=np.uint64)


def count_reached(
    ends: NDArray[np.uint64], configurations: NDArray[np.int64], bits: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """How many thresholds of its configuration each row's bits reach."""
    reached = np.zeros(len(bits), dtype=np.int64)
    size = ends.shape[1]
    for power in reversed(range(size.bit_length())):
        trial = reached + (1 << power)
        inside = trial <= size
        at = ends[configurations[inside], trial[inside] - 1]
        inside[inside] = bits[inside] >= at
        reached[inside] = trial[inside]
    return reached


class GaussianSampler:
    """Draws rows of columns of numbers after a GaussianPlan."""

    def __init__(self, plan: GaussianPlan) -> None:
        self._plan = plan

    def draw(self, first_row: int, columns: list[NDArray[Any]]) -> None:
        """Fill the columns with the rows from first_row on."""
        plan = self._plan
        n_rows = _n_rows(columns, plan.n_columns)
        for column, value in plan.fixed.items():
            columns[column][:] = value
        counters = _counters(first_row, n_rows)
        for step in plan.steps:
            check_stopped()
            target = columns[step.target]
            target[:] = step.intercept
            for parent, coefficient in zip(step.parents, step.coefficients, strict=True):
                target += coefficient * columns[parent]
            if step.sd != 0:
                target += step.sd * normal_errors(random_bits(plan.keys[step.target], counters))


def normal_errors(bits: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Standard normal errors: the last bit is the sign, the others the tail."""
    z = _lower_quantile(((bits >> np.uint64(1)).astype(np.float64) + 0.5) * 2.0**-64)
    return np.where((bits & np.uint64(1)).astype(bool), -z, z)


def normal_quantile(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quantiles of the standard normal distribution, elementwise, at 0 < p < 1."""
    lower = p <= 0.5
    z = _lower_quantile(np.where(lower, p, 1 - p))
    return np.where(lower, z, -z)


def _lower_quantile(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quantiles at p ≤ ½."""
    q = p - 0.5
    centre = q >= -0.425
    r = 0.180625 - q * q
    z = q * _polynomial(_CENTRE_ABOVE, r) / _polynomial(_CENTRE_BELOW, r)
    # NumPy's own logarithm may differ from the C library's in the last bit.
    r = np.sqrt(np.array([-math.log(tail) for tail in p[~centre].tolist()]))
    side = -_polynomial(_SIDE_ABOVE, r - 1.6) / _polynomial(_SIDE_BELOW, r - 1.6)
    far = -_polynomial(_FAR_ABOVE, r - 5) / _polynomial(_FAR_BELOW, r - 5)
    z[~centre] = np.where(r <= 5, side, far)
    return z


def _polynomial(coefficients: tuple[float, ...], x: NDArray[np.float64]) -> NDArray[np.float64]:
    value = np.full(len(x), coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


def blank_cells(
    columns: list[NDArray[Any]], keys: NDArray[np.uint64], limit: int, first_row: int
) -> None:
    """Make a cell missing where the 63 bits of its row and its column's key are below the limit."""
    counters = _counters(first_row, _n_rows(columns, len(keys)))
    for column, key in zip(columns, keys, strict=True):
        blank = random_bits(key, counters) >> np.uint64(1) < np.uint64(limit)
        column[blank] = np.nan if column.dtype.kind == "f" else np.iinfo(column.dtype).max
