"""How well the graph of a model fits the data: scores, likelihood, and loss on rows held out."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from gml.counts.counter import Counter, rows_counted
from gml.errors import (
    CannotAnswer,
    DataError,
    GmlError,
    UsageError,
    listing,
    parameter,
    with_flags,
)
from gml.model.bayesnet import BayesNet
from gml.model.likelihood import log_likelihood
from gml.model.markovnet import MarkovNet
from gml.pictures.page.content import Column, Scores
from gml.pictures.page.posteriors import junction_cells
from gml.verbs.score import score
from gml.verbs.shared.graph_input import GivenGraph

_OF_LABELS = ("loglik", "bic", "bdeu")
_OF_NUMBERS = ("loglik-g", "bic-g", "bge")
_OF_BOTH = ("loglik-cg", "bic-cg", "aic-cg")
_BY_LIKELIHOOD = ("loglik", "aic", "bic")
_MOST_CELLS = 20_000
"""Cells of the junction tree of an undirected model that is fitted for each fold."""


def scores_of(
    net: BayesNet | MarkovNet,
    counter: Counter,
    columns: tuple[Column, ...],
    folds: int,
    threads: int | None,
) -> Scores:
    """Score the graph on the data, or say why that cannot be done."""
    there = {variable.name: variable for variable in counter.variables}
    lacking = [name for name in net.names if name not in there]
    rows = rows_counted(counter)
    if lacking:
        return Scores(why_not=f"the data have no column for {listing(lacking)}")
    if counter.missing:
        return Scores(why_not="values are missing, and a score needs complete rows")
    # Values that the model does not know are levels here, so the graph may not declare any.
    graph = GivenGraph(replace(net.graph, levels={}, numeric=()), "the model", net)
    how: dict[str, Any] = {
        "score": _OF_BOTH if net.is_mixed else _OF_NUMBERS if net.is_gaussian else _OF_LABELS,
        # The score of an undirected model has no parts by node.
        "per_node": not isinstance(net, MarkovNet),
        "threads": threads,
    }
    fits = isinstance(net, MarkovNet) and not net.terms.is_decomposable
    if fits:
        how["score"] = _BY_LIKELIHOOD
    known = _log_likelihood(net, counter, columns)
    why = _too_slow(net) if fits else ""
    try:
        if not why:
            found = score(counter, graph, folds=folds, **how)
            return Scores(found[0], known, rows, folds)
    except (CannotAnswer, DataError, UsageError) as error:
        why = _said(error)
    try:
        found = score(counter, graph, **how)
    except (CannotAnswer, DataError, UsageError) as error:
        return Scores(why_not=_said(error))
    return Scores(found[0], known, rows, why_not=with_flags(why))


def _too_slow(net: BayesNet | MarkovNet) -> str:
    """Why a model is not refitted for each fold; nothing if it can be."""
    cells = junction_cells(net)
    if cells <= _MOST_CELLS:
        return ""
    return (
        f"a fit per fold takes long, as the junction tree has {cells:,} cells; gml score "
        f"{parameter('folds')} finds it"
    )


def _said(error: GmlError) -> str:
    return with_flags(str(error))


def _log_likelihood(
    net: BayesNet | MarkovNet, counter: Counter, columns: tuple[Column, ...]
) -> float | None:
    """ln P of the data; a value that the model does not know has probability 0."""
    if any(sum(column.counts[column.n_known :]) for column in columns):
        return -math.inf
    known = {v.name: v for v in net.variables}
    if any(known.get(v.name, v) != v for v in counter.variables):
        return None
    try:
        return log_likelihood(net, counter)
    except CannotAnswer:
        return None
