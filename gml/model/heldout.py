"""How well a graph predicts rows that its tables have not seen: the mean −ln p per row.

And, if asked for, how well it predicts one column of them from the others.

Tables are fitted on some rows, under the Jeffreys prior (½ per cell) unless said otherwise, and the
others are predicted. Levels are those of all rows, so that no row has probability 0. Regressions
are those of maximum likelihood, or, with labels among the columns, those under the prior `pooled`
of one row (`regression_prior`), so that no configuration of labels lacks one. For undirected
models that no DAG stands for, priors are those of gml.model.undirected.scoring.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter
from gml.counts.memory import MemoryCounter
from gml.data.alignment import common_levels
from gml.data.dataset import Dataset
from gml.errors import parameter
from gml.graph.graph import Graph
from gml.kernel.processes import in_processes_if_long
from gml.model.bayesnet import BayesNet
from gml.model.evidence import circumstances
from gml.model.fit import fit
from gml.model.likelihood import log_likelihood
from gml.model.markovnet import MarkovNet
from gml.model.prediction_metrics import Metrics, Tally
from gml.model.row_answers import Predictions
from gml.model.row_inference import RowInference
from gml.model.undirected.terms import Terms
from gml.progress import reporter
from gml.resources import available_threads


class HeldOut(NamedTuple):
    """The mean −ln p per row, how good the predictions of a column are, and the loss by split."""

    loss: float
    prediction: Metrics | None = None
    by_split: tuple[float, ...] = ()


def held_out(
    graph: Graph,
    splits: Sequence[tuple[Dataset | Counter, Dataset | Counter]],
    *,
    factors: Sequence[Sequence[str]] | None = None,
    predict: str | None = None,
    prior: str = "jeffreys",
    ess: float = 1.0,
    threads: int | None = None,
    max_memory: int | None = None,
) -> HeldOut:
    """Judge a graph by all (fitted on, predicted) splits.

    Given `factors`, the undirected model with these largest terms is judged instead. Splits are
    judged in as many processes as there are threads, if they take long.
    """

    def judged(number: int) -> _Judged:
        counter, predicted = (
            MemoryCounter(part, threads=threads, max_memory=max_memory)
            if isinstance(part, Dataset)
            else part
            for part in splits[number]
        )
        how = _Prior(prior, ess, max_memory)
        net = how.fitted(graph, counter) if factors is None else how.undirected(factors, counter)
        found = log_likelihood(net, predicted), predicted.n * predicted.unit
        if predict is None:
            return _Judged(*found)
        levels = net.variables[net.index(predict)].levels
        return _Judged(*found, levels, _predict(net, predict, predicted, max_memory))

    total: list[float] = []
    rows: list[float] = []
    tally: Tally | None = None
    workers = threads or available_threads()
    for one in in_processes_if_long(judged, len(splits), workers):
        total.append(one.log_likelihood)
        rows.append(one.rows)
        if predict is not None and one.prediction is not None:
            tally = tally or Tally(predict, one.levels)
            tally.add(*one.prediction)
        reporter().advance("folds", len(rows), len(splits))
    return HeldOut(
        -math.fsum(total) / sum(rows),
        None if tally is None else tally.metrics(),
        tuple(-one / n for one, n in zip(total, rows, strict=True)),
    )


_Prediction = tuple[Predictions, NDArray[Any], NDArray[np.int64] | None]
"""What is predicted, what is true, and the weights of the rows."""


class _Judged(NamedTuple):
    """What a split says of a graph."""

    log_likelihood: float
    rows: float
    levels: Sequence[str] | None = None
    prediction: _Prediction | None = None


class _Prior(NamedTuple):
    """How models are fitted to predict by."""

    prior: str
    ess: float
    max_memory: int | None

    def fitted(self, dag: Graph, counter: Counter) -> BayesNet:
        """Fit a DAG."""
        # Of numbers alone nothing can be unseen; groups of rows by labels can be, or be few.
        numeric = all(counter.variables[j].is_continuous for j in _columns(dag, counter))
        method = "mle" if numeric else "bayes"
        return fit(dag, counter, method=method, **self._asdict())

    def undirected(self, factors: Sequence[Sequence[str]], counter: Counter) -> MarkovNet:
        """Fit an undirected model."""
        from gml.model.undirected.scoring import fit_smoothed

        return fit_smoothed(counter, Terms.of(counter.variables, factors), **self._asdict())


def _columns(dag: Graph, counter: Counter) -> list[int]:
    nodes = set(dag.names)
    return [j for j, variable in enumerate(counter.variables) if variable.name in nodes]


def _predict(
    net: BayesNet | MarkovNet, target: str, predicted: Counter, max_memory: int | None
) -> _Prediction:
    """Predict the column from the others; both sides have the same levels."""
    rows = predicted.require_rows(parameter("predict"))
    others = [name for name in net.names if name != target]
    asked = RowInference(
        circumstances(net, None, None), [target], predict=True, max_memory=max_memory
    )
    kind = np.int64 if all(v.levels is not None for v in net.variables) else np.float64
    evidence = np.empty((rows.n_rows, len(others)), dtype=kind)
    for k, name in enumerate(others):
        evidence[:, k] = rows.columns[rows.index(name)]
    answers = asked.of(others, evidence)
    assert isinstance(answers, Predictions)
    return answers, rows.columns[rows.index(target)], rows.weights


def with_common_levels(
    fitted: Counter, predicted: Counter, *, decimal: str = "."
) -> tuple[Counter, Counter]:
    """Give the columns of two engines the levels of both; `decimal` is the decimal mark."""
    mark = fitted.decimal or decimal
    levels = common_levels(fitted.variables, predicted.variables, decimal=mark)
    return fitted.with_levels(levels), predicted.with_levels(levels)
