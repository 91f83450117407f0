"""From sequences to a trained field with all that is said about it: penalty, training, figures.

Folds are of whole sequences. A penalty is judged by −ln p(labels | rows) per row of the sequences
left out; the grid, and who wins a tie, are those of fields of tables
(`gml.model.conditional.folds`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gml.data.sequences import SequenceRows
from gml.model.conditional.estimation import checked_penalty
from gml.model.conditional.folds import chosen_penalty
from gml.model.conditional.numeric_inputs import scales_of
from gml.model.sequences.chain_field import ChainField
from gml.model.sequences.chain_metrics import ChainMetrics
from gml.model.sequences.decoding import ChainAnswers
from gml.model.sequences.objective import ChainObjective
from gml.model.sequences.subsets import fold_sequences
from gml.model.sequences.summary import ChainSummary
from gml.model.sequences.training import ChainFit, train_chain
from gml.progress import Deadline
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
    checked_penalty(l1, l2)
    trials = ChainTrials(rows, window=window, l1=l1, seed=seed, threads=threads, deadline=deadline)
    chosen = chosen_penalty(trials, l2, folds=folds)
    fit = trials.train(rows, chosen.l2)
    on_holdout = None
    if holdout is not None:
        on_holdout = ChainAnswers(fit.field, holdout, threads=threads).metrics()
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
        **chosen.heldout(on_holdout),
    )
    complete = chosen.in_time and (fit.converged or not deadline.passed)
    return replace(fit.field, summary=summary), complete


class ChainTrials:
    """Folds of whole sequences, and how fields are trained, whatever their penalty l2."""

    def __init__(
        self,
        rows: SequenceRows,
        *,
        window: int,
        l1: float,
        seed: int,
        threads: int | None,
        deadline: Deadline,
    ) -> None:
        self._rows = rows
        self._seed = seed
        self._threads = threads
        self._deadline = deadline
        scales = scales_of(rows.inputs, rows.inputs.names)
        self._how: dict[str, Any] = {"window": window, "l1": l1, "scales": scales}

    def train(self, rows: SequenceRows, l2: float) -> ChainFit:
        """Train a field."""
        return train_chain(rows, l2=l2, threads=self._threads, deadline=self._deadline, **self._how)

    def folds(self, k: int) -> Iterator[tuple[SequenceRows, SequenceRows]]:
        """Yield the rest and the fold, k times."""
        return fold_sequences(self._rows, k, seed=self._seed)

    def fit(self, rest: SequenceRows, l2: float, start: ChainFit | None) -> ChainFit | None:
        """Train a field from 0, as folds differ in their features; None if time was up."""
        del start
        found = self.train(rest, l2)
        return None if not found.converged and self._deadline.passed else found

    def tally(self) -> ChainTally:
        """Return a new tally."""
        return ChainTally(self._threads)


class ChainTally:
    """Adds up how good fields are on folds of sequences."""

    def __init__(self, threads: int | None) -> None:
        self._threads = threads
        self._losses: list[float] = []
        self._figures: list[ChainMetrics] = []

    def add(self, fitted: ChainFit, fold: SequenceRows, /) -> None:
        """Add what a field says of a fold."""
        self._losses.append(minus_log_likelihood(fitted.field, fold, threads=self._threads))
        self._figures.append(ChainAnswers(fitted.field, fold, threads=self._threads).metrics())

    @property
    def log_loss(self) -> float:
        """The mean −ln p(labels | rows) per row so far."""
        return math.fsum(self._losses) / sum(figures.n_rows for figures in self._figures)

    def figures(self) -> ChainMetrics:
        """What was found so far."""
        return ChainMetrics.added(self._figures)


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
