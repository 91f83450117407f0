"""From sequences to a trained field with all that is said about it: penalty, training, figures.

Folds are of whole sequences. A penalty is judged by −ln p(labels | rows) per row of the sequences
left out; the grid, and who wins a tie, are those of fields of tables
(`gml.model.conditional.folds`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from gml.data.sequences import SequenceRows
from gml.model.conditional.estimation import AUTO, checked_penalty
from gml.model.conditional.folds import FOLDS, L2_GRID
from gml.model.sequences.chain_field import ChainField
from gml.model.sequences.chain_metrics import ChainMetrics
from gml.model.sequences.decoding import ChainAnswers
from gml.model.sequences.objective import ChainObjective
from gml.model.sequences.subsets import fold_sequences
from gml.model.sequences.summary import ChainSummary
from gml.model.sequences.training import ChainFit, train_chain
from gml.progress import Deadline, reporter
from gml.resources import available_threads


def estimate_chain(
    rows: SequenceRows,
    *,
    window: int = 1,
    l1: float = 0.0,
    l2: float | str = 1.0,
    folds: int | None = None,
    seed: int = 0,
    holdout: SequenceRows | None = None,
    threads: int | None = None,
    deadline: Deadline | None = None,
) -> tuple[ChainField, bool]:
    """Choose the penalty, if that is asked for, train the field, and judge it.

    Returns the field with its summary, and whether there was time for all of it. `holdout` are rows
    to judge it by.

    Examples
    --------
    >>> import pandas as pd
    >>> from gml.data.options import ReadOptions
    >>> from gml.data.sequences import read_sequences
    >>> frame = pd.DataFrame({"id": [1, 1, 2, 2, 3], "word": ["the", "dog", "a", "cat", "dog"],
    ...                       "tag": ["D", "N", "D", "N", "N"]})
    >>> rows = read_sequences(frame, ReadOptions(), sequence="id", target="tag")
    >>> field, complete = estimate_chain(rows, folds=3)
    >>> field.summary.training.accuracy, field.summary.heldout.n_rows, complete
    (1.0, 5, True)
    """
    deadline = deadline or Deadline()
    penalty = checked_penalty(l1, l2)
    how = _Training(window, l1, threads, deadline)
    n_folds = FOLDS if folds is None and l2 == AUTO else folds
    judged: dict[float, tuple[float, ChainMetrics]] | None = None
    chosen = penalty.l2
    if n_folds is not None:
        grid = L2_GRID if l2 == AUTO else (penalty.l2,)
        judged = _judged(rows, grid, n_folds, seed, how)
    if judged is not None:
        # The first of equal ones, and so the largest, as they descend.
        chosen = min(sorted(judged, reverse=True), key=lambda one: judged[one][0])
    fit = how.train(rows, chosen)
    heldout = None if judged is None else judged[chosen][1]
    by = "folds"
    if holdout is not None:
        heldout = ChainAnswers(fit.field, holdout, threads=threads).metrics()
        by = "holdout"
    summary = ChainSummary(
        algorithm="OWL-QN" if l1 else "L-BFGS",
        rows=fit.n_rows,
        sequences=fit.n_sequences,
        features=fit.n_features,
        nonzero=int((fit.field.weights != 0).sum()),
        converged=fit.converged,
        iterations=fit.iterations,
        gradient=fit.gradient,
        log_likelihood=fit.log_likelihood,
        objective=-fit.objective,
        l1=float(fit.l1),
        l2=float(fit.l2),
        training=ChainAnswers(fit.field, rows, threads=threads).metrics(),
        heldout=heldout,
        heldout_by=None if heldout is None else by,
        folds=n_folds if judged is not None else None,
        path=()
        if judged is None or l2 != AUTO
        else tuple((one, judged[one][0]) for one in sorted(judged)),
    )
    in_time = n_folds is None or judged is not None
    complete = in_time and (fit.converged or not deadline.passed)
    return replace(fit.field, summary=summary), complete


class _Training(NamedTuple):
    """How fields are trained, whatever their penalty l2."""

    window: int
    l1: float
    threads: int | None
    deadline: Deadline

    def train(self, rows: SequenceRows, l2: float) -> ChainFit:
        """Train a field."""
        return train_chain(rows, l2=l2, **self._asdict())


def _judged(
    rows: SequenceRows,
    grid: tuple[float, ...],
    folds: int,
    seed: int,
    how: _Training,
) -> dict[float, tuple[float, ChainMetrics]] | None:
    """Judge penalties by folds; None if time was up before all were done."""
    losses: dict[float, float] = dict.fromkeys(grid, 0.0)
    figures: dict[float, list[ChainMetrics]] = {l2: [] for l2 in grid}
    done = 0
    for rest, fold in fold_sequences(rows, folds, seed=seed):
        for l2 in grid:
            fit = how.train(rest, l2)
            if not fit.converged and how.deadline.passed:
                return None
            losses[l2] += minus_log_likelihood(fit.field, fold, threads=how.threads)
            figures[l2].append(ChainAnswers(fit.field, fold, threads=how.threads).metrics())
            done += 1
            reporter().advance("folds", done, folds * len(grid))
    return {l2: (losses[l2] / rows.n_rows, ChainMetrics.added(figures[l2])) for l2 in grid}


def minus_log_likelihood(
    field: ChainField, rows: SequenceRows, *, threads: int | None = None
) -> float:
    """Return −ln p(labels | rows), summed over sequences whose labels are those of the field."""
    objective = ChainObjective(
        field.features,
        field.attributes.of_rows(rows),
        rows.labels[rows.order],
        rows.starts,
        threads=threads or available_threads(),
    )
    return objective.likelihood(field.weights)[0]
