"""The normal distribution of numbers with holes: mean and covariance of highest likelihood.

EM over patterns of missing values (Dempster, Laird & Rubin 1977, section 4.1.3; Little & Rubin
2002, ch. 11.2; Schafer 1997, ch. 5), accelerated. The covariance is parametrised by the regressions
of each column on those before it, so that every step of an extrapolation has one that is positive
definite; columns with fewer holes come first, so that less is missing (`number_components`). A row
in which nothing was seen says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.data.row_groups import row_parts
from gml.data.row_order import order_by_content
from gml.errors import CannotAnswer, DataError
from gml.kernel.blas import one_blas_thread
from gml.model.em.climbing import MOST_STEPS, Climb, climb
from gml.model.em.number_expectations import Expectation, family_sums
from gml.model.em.number_families import Families, NumberFamily, Parameters, Regressions
from gml.model.em.number_maximum import NumberProblem, Priors
from gml.model.em.number_rows import NumberRows, scaled_columns
from gml.progress import Deadline

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NormalFit:
    """A normal distribution, and how sure it is that its likelihood is the highest."""

    mean: Array
    covariance: Array
    log_likelihood: float
    n: float
    """Rows in which something was seen."""
    climb: Climb


def normal_em(
    values: NDArray[Any],
    weights: NDArray[Any] | None = None,
    *,
    names: Sequence[str] | None = None,
    most_steps: int = MOST_STEPS,
    deadline: Deadline | None = None,
    max_memory: int | None = None,
    threads: int = 1,
) -> NormalFit:
    """Fit a normal distribution to rows of numbers, NaN where one is missing.

    Variances have the divisor n. Columns that follow from one another, to 12 digits, have no
    density.

    Examples
    --------
    >>> found = normal_em(np.array([[1.0, 2.0], [2.0, np.nan], [3.0, 3.0], [4.0, 6.0]]))
    >>> found.mean.round(6).tolist(), round(found.log_likelihood, 6)
    ([2.5, 3.464286], -9.600666)
    """
    table = np.asarray(values, dtype=np.float64)
    with one_blas_thread():
        return _fitted(table, weights, names, most_steps, deadline, max_memory, threads)


def _fitted(
    table: Array,
    weights: NDArray[Any] | None,
    names: Sequence[str] | None,
    most_steps: int,
    deadline: Deadline | None,
    max_memory: int | None,
    threads: int,
) -> NormalFit:
    given = [f"column {k + 1}" for k in range(table.shape[1])] if names is None else list(names)
    # Ties go by place.
    holes = [int(np.isnan(column).sum()) for column in table.T]
    order = np.argsort(holes, kind="stable")
    rows = _rows(table, order.tolist(), weights, [given[k] for k in order])
    families = Families(
        tuple(NumberFamily(k, tuple(range(k)), (), ()) for k in range(len(order))),
        (),
        rows.numbers,
        (),
    )
    expectation = Expectation(families, rows, threads=threads, max_memory=max_memory)
    nothing = Priors((None,) * len(order), (), (0.0,) * len(order))
    problem = NumberProblem(families, expectation, nothing, (None,) * len(order), rows.log_scales)
    start = Parameters(tuple(_start(rows, families)), ())
    found = climb(problem, start.vector(), most_steps=most_steps, deadline=deadline)
    if found.flaw is not None:
        raise DataError(f"{found.flaw}: no normal distribution of these columns fits")
    mean, covariance = _moments(families.parameters(found.parameters))
    scales, back = np.array(rows.scales), np.argsort(order)
    return NormalFit(
        (np.array(rows.shifts) + scales * mean)[back],
        (covariance * scales[:, None] * scales[None, :])[np.ix_(back, back)],
        found.objective,
        rows.n,
        found,
    )


def _rows(
    table: Array, by_holes: list[int], weights: NDArray[Any] | None, names: Sequence[str]
) -> NumberRows:
    """Rows in which something was seen, with columns in some order."""
    some = ~np.isnan(table).all(axis=1)
    if weights is not None:
        some &= np.asarray(weights) > 0
    kept = np.flatnonzero(some).astype(np.int32)
    if not len(kept):
        raise CannotAnswer("there are no rows to fit on")
    columns = {str(k): table[:, j] for k, j in enumerate(by_holes)}
    empty = [
        name
        for name, column in zip(names, columns.values(), strict=True)
        if np.isnan(column[kept]).all()
    ]
    if empty:
        raise DataError(f"no values in column {empty[0]!r}")
    places = kept[order_by_content(columns, lambda name: columns[name][kept])]
    if weights is None:
        counts = np.broadcast_to(np.float64(1.0), len(kept))
    else:
        counts = np.asarray(weights)[places].astype(np.float64)
    z = np.empty((len(kept), len(by_holes)))
    for part in row_parts(len(z)):
        z[part] = table[places[part][:, None], by_holes]
    scaled = scaled_columns(z, counts, names)
    return NumberRows(
        tuple(Variable(name, None) for name in names),
        (),
        frozenset(),
        z,
        scaled.seen,
        np.zeros((len(z), 0), dtype=np.int8),
        counts,
        scaled.shifts,
        scaled.scales,
    )


def _start(rows: NumberRows, families: Families) -> list[Regressions]:
    """Mean and variance of each column, where it was seen; none of the columns correlated."""
    alone = replace(
        families, numbers=tuple(NumberFamily(f.child, (), (), ()) for f in families.numbers)
    )
    sums = family_sums(alone, rows, rows.seen.T, ()).products
    found = []
    for family, (products,) in zip(families.numbers, sums, strict=True):
        mean = products[0, 1] / products[0, 0]
        variance = products[1, 1] / products[0, 0] - mean**2
        terms = np.zeros((1, family.n_terms))
        terms[0, 0] = mean
        found.append(Regressions(terms, np.array([0.5 * np.log(variance)])))
    return found


def _moments(at: Parameters) -> tuple[Array, Array]:
    """Mean and covariance of columns that are regressed on all before them."""
    size = len(at.regressions)
    mean, factor = np.zeros(size), np.zeros((size, size))
    for k, (terms, log_sd) in enumerate(at.regressions):
        slopes = terms[0, 1:]
        mean[k] = terms[0, 0] + slopes @ mean[:k]
        factor[k] = slopes @ factor[:k]
        factor[k, k] = np.exp(log_sd[0])
    return mean, factor @ factor.T
