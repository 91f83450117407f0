"""The M-step of networks with numbers, and the problem that EM climbs.

A regression comes from expected sums of products as from those of complete rows: least squares,
with variance SSE/n of the expected rows of its configuration; a table from expected counts. Priors
are those of complete rows (`regression_prior`), as rows that are added: what is maximised is the
log-likelihood of what was seen, plus that of these rows, plus Σ α ln θ of the tables. The rows of
the prior `pooled` have the mean and the covariance that maximise the likelihood of the numbers of
the family, whatever the labels; those of `ridge` the mean and the variance of each column where it
was seen. So nothing of a prior changes during a climb, and where nothing is missing both are what
they are for complete rows.

The likelihood has no bound where errors vanish: a regression with less than 1e-12 of the variance
of its column, parents that follow from one another to as many digits, or too few expected rows end
a climb (`Collapsed`). A configuration of labels that were seen, but never together, has no rows of
its own: its regression stays that of all rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.errors import quote
from gml.model.conditional_fit import SPARE_ROWS
from gml.model.em.climbing import Collapsed, Step
from gml.model.em.number_expectations import (
    Expectation,
    log_density_of,
    log_probability_of,
)
from gml.model.em.number_families import (
    Families,
    NumberFamily,
    Parameters,
    Regressions,
    Statistics,
)

Array = NDArray[np.float64]

FLOOR = 1e-12
"""The share of a variance that is rounding."""


@dataclass(frozen=True)
class Priors:
    """What is added to the sums of each family."""

    products: tuple[Array | None, ...]
    """Of each number, for each of its configurations alike."""
    alphas: tuple[float, ...]
    """Of each label, per cell."""
    log_scales: tuple[float, ...]
    """ln of the unit of each number, which the density of added rows is in."""


@dataclass(frozen=True)
class Fixed:
    """Configurations of a number whose regressions are not estimated, and what they are."""

    configs: NDArray[np.bool_]
    regression: Array
    log_sd: float


class NumberProblem:
    """EM for one network and its rows."""

    def __init__(
        self,
        families: Families,
        expectation: Expectation,
        priors: Priors,
        fixed: Sequence[Fixed | None],
        log_scales: float,
    ) -> None:
        self.families = families
        self.expectation = expectation
        self._priors = priors
        self._fixed = tuple(fixed)
        self._log_scales = log_scales

    def estimated(self, number: int) -> NDArray[np.bool_]:
        """Which regressions of a number are estimated."""
        fixed = self._fixed[number]
        if fixed is None:
            return np.ones(self.families.numbers[number].n_configs, dtype=bool)
        return ~fixed.configs

    def added_products(self, number: int) -> Array | None:
        """The sums of the rows that a prior adds to each regression of a number."""
        return self._priors.products[number]

    def added_rows(self, number: int) -> float:
        """How many rows a prior adds to each regression of a number."""
        added = self._priors.products[number]
        return 0.0 if added is None else float(added[0, 0])

    def alpha(self, label: int) -> float:
        """The pseudo-count of each cell of a table."""
        return self._priors.alphas[label]

    def step(self, at: Array) -> Step:
        """Take one step of EM."""
        here = self.families.parameters(at)
        found = self.expectation(here)
        objective = found.log_likelihood - self._log_scales + self.log_prior(here)
        if not math.isfinite(objective):
            raise Collapsed("the likelihood has no bound, or is none")
        return Step(objective, self.maximum(found).vector())

    def admitted(self, wanted: Array, near: Array) -> Array | None:
        """Probabilities that left their range stay at a tenth of what they were."""
        if not np.isfinite(wanted).all():
            return None
        there, old = self.families.parameters(wanted), self.families.parameters(near)
        tables = []
        for table, before in zip(there.tables, old.tables, strict=True):
            legal = np.where(before > 0, np.where(table > 0, table, before / 10), 0.0)
            tables.append(legal / legal.sum(axis=1, keepdims=True))
        return Parameters(there.regressions, tuple(tables)).vector()

    def log_likelihood(self, at: Parameters) -> float:
        """ln of the density of what was seen, in the units of the columns."""
        return self.expectation(at).log_likelihood - self._log_scales

    def log_prior(self, at: Parameters) -> float:
        """ln of the density of the rows that priors add, but for constants."""
        parts = []
        for one, added, fixed, log_scale in zip(
            at.regressions,
            self._priors.products,
            self._fixed,
            self._priors.log_scales,
            strict=True,
        ):
            if added is not None:
                used = np.ones(len(one.log_sd), bool) if fixed is None else ~fixed.configs
                own = Regressions(one.terms[used], one.log_sd[used])
                n = len(own.log_sd)
                parts.append(log_density_of(np.broadcast_to(added, (n, *added.shape)), own))
                parts.append(-n * float(added[0, 0]) * log_scale)
        for table, alpha in zip(at.tables, self._priors.alphas, strict=True):
            if alpha > 0:
                parts.append(log_probability_of(np.full(table.shape, alpha), table))
        return math.fsum(parts)

    def maximum(self, found: Statistics) -> Parameters:
        """The parameters that maximise what is expected of the likelihood."""
        regressions = [
            self._regressions(j, family, products)
            for j, (family, products) in enumerate(
                zip(self.families.numbers, found.products, strict=True)
            )
        ]
        tables = [
            probabilities(counts, alpha)
            for counts, alpha in zip(found.counts, self._priors.alphas, strict=True)
        ]
        return Parameters(tuple(regressions), tuple(tables))

    def _regressions(self, j: int, family: NumberFamily, products: Array) -> Regressions:
        added, fixed = self._priors.products[j], self._fixed[j]
        own = np.arange(len(products)) if fixed is None else np.flatnonzero(~fixed.configs)
        terms = np.empty((len(products), family.n_terms))
        log_sd = np.empty(len(products))
        if fixed is not None:
            terms[fixed.configs], log_sd[fixed.configs] = fixed.regression, fixed.log_sd
        sums = products[own] if added is None else products[own] + added
        least = family.n_terms + SPARE_ROWS if added is None and family.labels else 0
        try:
            terms[own], log_sd[own] = least_squares(sums, least)
        except _Degenerate as error:
            name = quote(self.families.number_variables[family.child].name)
            where = self.families.where(family, int(own[error.config]))
            raise Collapsed(f"the regression of {name}{where} {error.flaw}") from None
        return Regressions(terms, log_sd)


class _Degenerate(Exception):
    """Sums that determine no regression, and which."""

    def __init__(self, config: int, flaw: str) -> None:
        super().__init__(flaw)
        self.config = config
        self.flaw = flaw


def least_squares(products: Array, least: float = 0.0) -> Regressions:
    """Regress the last column of sums of products on the others, for each configuration.

    Raises if one has fewer rows than `least`, or errors or parents without a variance.
    """
    n = products[:, 0, 0]
    _refuse(n < max(least, FLOOR), f"has fewer than the {least:g} rows that it needs")
    means = products[:, 0, 1:] / n[:, None]
    centred = products[:, 1:, 1:] / n[:, None, None] - means[:, :, None] * means[:, None, :]
    variances = np.einsum("cii->ci", centred)
    _refuse((variances <= FLOOR).any(axis=1), "is on too few different values")
    sizes = np.sqrt(variances)
    scaled = centred / (sizes[:, :, None] * sizes[:, None, :])
    size = scaled.shape[1] - 1
    slopes = np.zeros((len(products), size))
    if size:
        _refuse_collinear(scaled[:, :size, :size])
        solved = np.linalg.solve(scaled[:, :size, :size], scaled[:, :size, size:])
        slopes = solved[:, :, 0] * sizes[:, size:] / sizes[:, :size]
    error = np.column_stack([-slopes, np.ones(len(slopes))])
    left = np.einsum("ci,cij,cj->c", error, centred, error)
    _refuse(left <= FLOOR, "has no errors left")
    intercept = np.einsum("ci,ci->c", error, means)
    return Regressions(np.column_stack([intercept, slopes]), 0.5 * np.log(left))


def _refuse(bad: NDArray[np.bool_], flaw: str) -> None:
    if bad.any():
        raise _Degenerate(int(np.argmax(bad)), flaw)


def _refuse_collinear(correlations: Array) -> None:
    try:
        factors = np.linalg.cholesky(correlations)
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(correlations)[:, 0]
        raise _Degenerate(int(np.argmin(smallest)), "is on collinear parents") from None
    left = np.einsum("cii->ci", factors).min(axis=1) ** 2
    _refuse(left <= FLOOR, "is on collinear parents")


def can_fit(products: Array, least: float = 0.0) -> NDArray[np.bool_]:
    """Which configurations have sums that determine a regression."""
    found = np.zeros(len(products), dtype=bool)
    for k in range(len(products)):
        try:
            least_squares(products[k : k + 1], least)
        except _Degenerate:
            continue
        found[k] = True
    return found


def probabilities(counts: Array, alpha: float) -> Array:
    """(n + α)/(nⱼ + rα); uniform without rows."""
    totals = counts.sum(axis=1, keepdims=True) + counts.shape[1] * alpha
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Array = np.where(totals > 0, (counts + alpha) / totals, 1.0 / counts.shape[1])
    return found


def added_rows(n: float, means: Array, covariance: Array) -> Array:
    """Sums of products of 1 and some columns over rows with given moments."""
    size = len(means)
    products = np.empty((size + 1, size + 1))
    products[0, 0] = 1.0
    products[0, 1:] = products[1:, 0] = means
    products[1:, 1:] = covariance + np.outer(means, means)
    return n * products
