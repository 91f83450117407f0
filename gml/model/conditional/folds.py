"""Choose the penalty of a field, and judge it, by folds.

Rows are split into k folds (`gml.data.resampling`), whatever their order. For each penalty of the
grid 10^-3, 10^-2.5, …, 10^2 the field is fitted without each fold and its log loss −ln p(y | x) is
found on the fold; the smallest mean over all rows wins, ties going to the larger penalty. Fits go
from the largest penalty down, each begun where the one before ended.
"""

from __future__ import annotations

from typing import NamedTuple

from gml.model.conditional.figures import FieldFigures, FieldTally
from gml.model.conditional.fit import FieldFitter, FieldPenalty, FittedField
from gml.model.conditional.rows import FieldRows
from gml.progress import Deadline, reporter

L2_GRID = tuple(10.0 ** (exponent / 2) for exponent in range(-6, 5))
"""10^-3 to 10^2 in half decades."""
FOLDS = 10


class ByFolds(NamedTuple):
    """What the folds say: the best penalty, how good it is, and the log loss of each penalty."""

    l2: float
    figures: FieldFigures
    path: tuple[tuple[float, float], ...]


def judged_by_folds(
    fitter: FieldFitter,
    rows: FieldRows,
    grid: tuple[float, ...],
    *,
    l1: float = 0.0,
    folds: int = FOLDS,
    seed: int = 0,
    deadline: Deadline | None = None,
) -> ByFolds | None:
    """Judge each penalty of a grid by folds; None if time was up before all were done.

    Examples
    --------
    >>> import gml
    >>> from gml.model.conditional.terms import FieldTerms
    >>> data = gml.read("sample_data/asia.csv", columns=["bronc", "smoke", "dysp"])
    >>> bronc, smoke, dysp = data.variables
    >>> rows = FieldRows.of(FieldTerms.complete([bronc], [smoke, dysp]), data)
    >>> found = judged_by_folds(FieldFitter(rows), rows, (0.1, 1.0, 10.0), folds=5)
    >>> found.l2, [round(loss, 4) for _, loss in found.path]
    (1.0, [0.4101, 0.4101, 0.4103])
    """
    deadline = deadline or Deadline()
    descending = sorted(grid, reverse=True)
    tallies = {l2: FieldTally(rows.terms) for l2 in descending}
    done, total = 0, folds * len(descending)
    for rest, fold in rows.folds(folds, seed=seed):
        start: FittedField | None = None
        for l2 in descending:
            start = fitter.fit(
                rest, FieldPenalty(l1, l2), start=start, roughly=True, deadline=deadline
            )
            if not start.converged and deadline.passed:
                return None
            tallies[l2].add(start.tables, fold)
            done += 1
            reporter().advance("folds", done, total)
    losses = {l2: tallies[l2].log_loss for l2 in descending}
    # The first of equal ones, and so the largest, as they descend.
    best = min(descending, key=losses.__getitem__)
    path = tuple((l2, losses[l2]) for l2 in sorted(grid))
    return ByFolds(best, tallies[best].figures(), path)
