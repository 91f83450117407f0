"""Regressions of a number on numbers, one per configuration of the labels among its parents.

By maximum likelihood each comes from the rows of its configuration alone, with variance SSE/n of
the group. That needs the coefficients, the intercept counted, and two rows more, and rows that do
not lie on a line: else the configuration is named and refused. A configuration that occurs in no
row has the regression on all rows together, whatever their labels, and no `n`.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gml.counts.counter import Counter, Moments
from gml.counts.exact_algebra import CollinearError
from gml.data.dataset import Variable
from gml.data.row_groups import configurations_at
from gml.errors import CannotAnswer, DataError, counted, listing, parameter, quote
from gml.model.configurations import described_row
from gml.model.regression_fit import degrees_of_freedom, fitted_regression
from gml.model.regression_prior import Augmented, RegressionPrior
from gml.model.regressions import ConditionalGaussian, LinearGaussian, NumberCpd
from gml.stopping import check_stopped

SPARE_ROWS = 2
"""The rows that a regression needs beyond its coefficients."""


def fit_number(
    counter: Counter,
    child: int,
    parents: Sequence[int],
    *,
    prior: RegressionPrior | None = None,
    level: float | None = None,
) -> NumberCpd:
    """Fit a node of numbers given its parents; without a prior by maximum likelihood."""
    labels = [j for j in parents if not counter.variables[j].is_continuous]
    if labels:
        return _Conditional(counter, child, parents, prior, level).fitted(labels)
    variables = tuple(counter.variables[j] for j in parents)
    moments = counter.moments([*parents, child])
    unit = counter.unit
    if prior is None or prior.kind == "pooled":
        with _offering_ridge():
            return fitted_regression(
                counter.variables[child], variables, moments, unit=unit, level=level
            )
    given = prior.added_to(moments, moments, unit)
    found = fitted_regression(counter.variables[child], variables, given, unit=unit, level=level)
    return replace(found, n=counter.in_rows(moments.n))


@contextlib.contextmanager
def _offering_ridge() -> Iterator[None]:
    """Say what has estimates even where columns follow from one another."""
    try:
        yield
    except CollinearError as error:
        ridge = f"{parameter('method', 'bayes')} and {parameter('number_prior', 'ridge')}"
        raise DataError(f"{error}, or give {ridge}") from None


def _way_out() -> str:
    return f"{parameter('method', 'bayes')} draws on the other rows"


class NoEstimate(Exception):
    """Some regression has no estimate of highest likelihood; another graph may have them all."""


class TooFewRows(NoEstimate, CannotAnswer):
    """Configurations of labels have fewer rows than a regression needs."""


def too_few_rows(
    variable: Variable, n_configs: int, least: int, where: str, rows: float
) -> TooFewRows:
    """Say that configurations have fewer rows than a regression needs: how many, and the first."""
    have = "has" if n_configs == 1 else "have"
    return TooFewRows(
        f"{counted(n_configs, 'configuration')} of the labels of {quote(variable.name)} {have} "
        f"fewer than the {least} rows that a regression needs, the first{where} only {rows:g}; "
        f"{_way_out()}"
    )


class _Conditional:
    """The regressions of one node."""

    def __init__(
        self,
        counter: Counter,
        child: int,
        parents: Sequence[int],
        prior: RegressionPrior | None,
        level: float | None,
    ) -> None:
        self._counter = counter
        self._variable = counter.variables[child]
        self._parents = tuple(counter.variables[j] for j in parents)
        self._numbers = tuple(v for v in self._parents if v.is_continuous)
        self._members = [*(j for j in parents if counter.variables[j].is_continuous), child]
        self._prior = prior
        self._level = level

    def fitted(self, labels: Sequence[int]) -> ConditionalGaussian:
        """Fit the regression of every configuration of the labels, seen or not."""
        counter = self._counter
        found = counter.moments(self._members, labels)
        label_parents = tuple(counter.variables[j] for j in labels)
        sizes = [len(variable.levels or ()) for variable in label_parents]
        at = configurations_at(sizes, list(found.configs.T), len(found.configs))
        by_row = dict(zip(at.tolist(), found.moments, strict=True))
        if self._prior is None:
            self._require_rows(by_row, label_parents)
        lines = []
        for row in range(found.n_configs):
            check_stopped()
            own = by_row.get(row)
            if own is None:
                lines.append(self._unseen)
            else:
                lines.append(self._seen(own, described_row(label_parents, row)))
        return ConditionalGaussian(self._variable, self._parents, tuple(lines))

    def _require_rows(self, by_row: dict[int, Moments], labels: Sequence[Variable]) -> None:
        """Refuse groups with too few rows, all of them in one message."""
        unit = self._counter.unit
        least = len(self._numbers) + 1 + SPARE_ROWS
        few = [row for row, own in sorted(by_row.items()) if own.n * unit < least]
        if few:
            where = described_row(labels, few[0])
            rows = self._counter.in_rows(by_row[few[0]].n)
            raise too_few_rows(self._variable, len(few), least, where, rows)

    @property
    def _way_out(self) -> str:
        return _way_out()

    def _seen(self, own: Moments, where: str) -> LinearGaussian:
        unit = self._counter.unit
        if self._prior is None:
            return self._by_likelihood(own, where)
        given = self._prior.added_to(own, self._pooled, unit)
        has_bounds = degrees_of_freedom(float(given.n) * unit, len(self._numbers)) > 0
        with _offering_ridge():
            found = fitted_regression(
                self._variable,
                self._numbers,
                given,
                unit=unit,
                level=self._level if has_bounds else None,
            )
        return replace(found, n=self._counter.in_rows(own.n))

    def _by_likelihood(self, own: Moments, where: str) -> LinearGaussian:
        """Refuse a group in which a column does not vary, or follows from the others."""
        names = [variable.name for variable in (*self._numbers, self._variable)]
        still = [name for k, name in enumerate(names) if own.cross[k][k] == 0]
        what = f"the regression of {quote(self._variable.name)}{where}"
        if still:
            have = "has" if len(still) == 1 else "have"
            n = self._counter.in_rows(own.n)
            raise DataError(
                f"{what}: {listing(still)} {have} only one value in its {n:g} rows; {self._way_out}"
            )
        try:
            return fitted_regression(
                self._variable, self._numbers, own, unit=self._counter.unit, level=self._level
            )
        except DataError as error:
            raise DataError(f"{what}: {error}; or {self._way_out}") from None

    @functools.cached_property
    def _pooled(self) -> Moments:
        """The moments of all rows, whatever their labels."""
        return self._counter.moments(self._members)

    @functools.cached_property
    def _unseen(self) -> LinearGaussian:
        """The regression where no row was seen: that of all, or what the prior says."""
        unit = self._counter.unit
        given: Moments | Augmented = self._pooled
        if self._prior is not None:
            given = self._prior.added_to(None, self._pooled, unit)
        with _offering_ridge():
            found = fitted_regression(self._variable, self._numbers, given, unit=unit)
        return replace(found, n=None)
