"""From rows to a fitted field with all that is said about it: the penalty, the fit, the figures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gml.errors import UsageError, parameter, quote
from gml.model.conditional.figures import FieldFigures, FieldTally
from gml.model.conditional.fit import DEFAULT_L2, FieldFitter, FieldPenalty
from gml.model.conditional.folds import FOLDS, L2_GRID, ByFolds, judged_by_folds
from gml.model.conditional.rows import FieldRows
from gml.model.conditional.summary import FieldSummary
from gml.model.conditional.terms import Scope, Table
from gml.progress import Deadline

AUTO = "auto"
"""The penalty l2 that folds choose."""


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
    deadline: Deadline | None = None,
) -> Estimated:
    """Choose the penalty, if that is asked for, fit the field, and judge it.

    `folds` judges it by cross-validation; `holdout` are other rows to judge it by.

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
    penalty = checked_penalty(l1, l2)
    fitter = FieldFitter(rows)
    judged: ByFolds | None = None
    n_folds = FOLDS if folds is None and l2 == AUTO else folds
    if n_folds is not None:
        grid = L2_GRID if l2 == AUTO else (penalty.l2,)
        judged = judged_by_folds(
            fitter, rows, grid, l1=l1, folds=n_folds, seed=seed, deadline=deadline
        )
        if judged is not None:
            penalty = FieldPenalty(l1, judged.l2)
    found = fitter.fit(rows, penalty, deadline=deadline)
    heldout, by = None if judged is None else judged.figures, "folds"
    if holdout is not None:
        heldout, by = _figures(found.tables, holdout), "holdout"
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
        training=_figures(found.tables, rows),
        heldout=heldout,
        heldout_by=None if heldout is None else by,
        folds=n_folds if judged is not None else None,
        path=judged.path if judged is not None and l2 == AUTO else (),
    )
    in_time = n_folds is None or judged is not None
    return Estimated(found.tables, summary, in_time and (found.converged or not deadline.passed))


def _figures(tables: dict[Scope, Table], rows: FieldRows) -> FieldFigures:
    tally = FieldTally(rows.terms)
    tally.add(tables, rows)
    return tally.figures()
