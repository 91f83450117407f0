"""From rows to a fitted field with all that is said about it: the penalty, the fit, the figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gml.errors import UsageError, parameter, quote
from gml.model.conditional.figures import FieldFigures, FieldTally
from gml.model.conditional.fit import DEFAULT_L2, FieldFitter, FieldPenalty, FittedField
from gml.model.conditional.folds import AUTO, chosen_penalty
from gml.model.conditional.rows import FieldRows
from gml.model.conditional.summary import FieldSummary
from gml.model.conditional.terms import Scope, Table
from gml.progress import Deadline
from gml.resources import available_threads


class Estimated(NamedTuple):
    """The weights, what is known of the fit, and whether there was time for all of it."""

    tables: dict[Scope, Table]
    summary: FieldSummary
    complete: bool


def checked_penalty(l1: float, l2: float | str) -> FieldPenalty:
    """Return the penalty that is asked for; that of `auto` is the default until folds choose."""
    if isinstance(l2, str) and l2 != AUTO:
        raise UsageError(f"{parameter('l2')} must be a number or {AUTO}, not {quote(l2)}")
    return FieldPenalty(l1, DEFAULT_L2 if isinstance(l2, str) else l2)


def estimate_field(
    rows: FieldRows,
    *,
    l1: float = 0.0,
    l2: float | str = DEFAULT_L2,
    folds: int | None = None,
    seed: int = 0,
    holdout: FieldRows | None = None,
    threads: int | None = 1,
    deadline: Deadline | None = None,
) -> Estimated:
    """Choose the penalty, if that is asked for, fit the field, and judge it.

    `folds` judges it by cross-validation, in as many processes as there are `threads` (None: all
    cores); `holdout` are other rows to judge it by.

    Examples
    --------
    >>> import gml
    >>> from gml.model.conditional.terms import FieldTerms
    >>> data = gml.read("sample_data/asia.csv", columns=["bronc", "smoke", "dysp"])
    >>> bronc, smoke, dysp = data.variables
    >>> rows = FieldRows.of(FieldTerms.complete([bronc], [smoke, dysp]), data)
    >>> found = estimate_field(rows, folds=5)
    >>> round(found.summary.training.accuracy, 4), round(found.summary.heldout.accuracy, 4)
    (0.8466, 0.8466)
    """
    deadline = deadline or Deadline()
    checked_penalty(l1, l2)
    fitter = FieldFitter(rows)
    trials = FieldTrials(fitter, rows, l1=l1, seed=seed, deadline=deadline)
    chosen = chosen_penalty(trials, l2, folds=folds, threads=threads or available_threads())
    penalty = FieldPenalty(l1, chosen.l2)
    found = fitter.fit(rows, penalty, deadline=deadline)
    weights = rows.terms.vector(found.tables)
    summary = FieldSummary(
        algorithm="L-BFGS",
        rows=int(rows.n) if rows.unit == 1 else rows.n,
        distinct_inputs=fitter.n_distinct,
        weights=rows.terms.size,
        nonzero=int(np.count_nonzero(weights)),
        converged=found.converged,
        iterations=found.iterations,
        gradient=found.gradient,
        log_likelihood=found.log_likelihood,
        objective=found.objective,
        l1=float(penalty.l1),
        l2=float(penalty.l2),
        training=_figures(found, rows),
        **chosen.heldout(None if holdout is None else _figures(found, holdout)),
    )
    in_time = chosen.in_time and (found.converged or not deadline.passed)
    return Estimated(found.tables, summary, in_time)


class FieldTrials:
    """Folds of the rows of a table (`gml.data.resampling`), whatever their order.

    Fits of folds are rough, each begun where the one of the penalty before ended.

    Examples
    --------
    >>> import gml
    >>> from gml.model.conditional.folds import judged_by_folds
    >>> from gml.model.conditional.terms import FieldTerms
    >>> data = gml.read("sample_data/asia.csv", columns=["bronc", "smoke", "dysp"])
    >>> bronc, smoke, dysp = data.variables
    >>> rows = FieldRows.of(FieldTerms.complete([bronc], [smoke, dysp]), data)
    >>> found = judged_by_folds(FieldTrials(FieldFitter(rows), rows), (0.1, 1.0, 10.0), 5)
    >>> found.l2, [round(loss, 4) for _, loss in found.path]
    (1.0, [0.4101, 0.4101, 0.4103])
    """

    def __init__(
        self,
        fitter: FieldFitter,
        rows: FieldRows,
        *,
        l1: float = 0.0,
        seed: int = 0,
        deadline: Deadline | None = None,
    ) -> None:
        self._fitter = fitter
        self._rows = rows
        self._l1 = l1
        self._seed = seed
        self._deadline = deadline or Deadline()

    def folds(self, k: int) -> Iterator[tuple[FieldRows, FieldRows]]:
        """Yield the rest and the fold, k times."""
        return self._rows.folds(k, seed=self._seed)

    def fit(self, rest: FieldRows, l2: float, start: FittedField | None) -> FittedField | None:
        """Fit a field; None if time was up."""
        found = self._fitter.fit(
            rest, FieldPenalty(self._l1, l2), start=start, roughly=True, deadline=self._deadline
        )
        return None if not found.converged and self._deadline.passed else found

    def tally(self) -> FieldTally:
        """Return a new tally."""
        return FieldTally(self._rows.terms)


def _figures(fitted: FittedField, rows: FieldRows) -> FieldFigures:
    tally = FieldTally(rows.terms)
    tally.add(fitted, rows)
    return tally.figures()
