"""An undirected model of a table: gml.mrf, `gml mrf`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from gml.data.column_kinds import require_kinds
from gml.errors import UsageError, parameter, require_one_of
from gml.model.markovnet import MarkovNet
from gml.model.training import training_behind
from gml.model.undirected.fit import BY_CHAINS, Chains, chosen_method, fit_markov
from gml.model.undirected.fitting import Penalty
from gml.model.undirected.gauge import SUM_TO_ZERO
from gml.model.undirected.terms import FACTORS, Terms
from gml.parameters import LABELS
from gml.progress import Deadline, reporter
from gml.scores.registry import SCORES
from gml.verbs.shared.data_input import Data, is_read, open_data
from gml.verbs.shared.dialects import asked_with, with_policy
from gml.verbs.shared.fitted_models import accepted, fitted_by, warn_of_deliveries
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.graph_input import (
    GraphLike,
    common_dialect,
    declared_columns,
    given_graph,
)
from gml.verbs.shared.recording import records_keywords
from gml.verbs.shared.swapped import answers_swapped
from gml.verbs.shared.undirected_input import without_arrows
from gml.verbs.shared.undirected_structures import choose_structure

_PAIRWISE = ("l1", "complete")
_OF_CHAINS = ("chains", "sweeps", "iterations", "rate", "trace")


@front_door(SCORES)
@records_keywords
@answers_swapped("graph")
def mrf(
    data: Data,
    graph: GraphLike | None = None,
    *,
    factors: str | None = None,
    clique: Sequence[Sequence[str]] = (),
    structure: str | None = None,
    score: str | None = None,
    edge_penalty: float | None = None,
    max_clique: int | None = None,
    prune: str | None = None,
    alpha: float | None = None,
    criterion: str | None = None,
    gamma: float | None = None,
    rule: str | None = None,
    folds: int | None = None,
    method: str = "auto",
    coding: str = SUM_TO_ZERO,
    l1: float = 0.0,
    l2: float = 0.0,
    smoothing: float = 0.0,
    errors: bool = False,
    intervals: float | None = None,
    chains: int | None = None,
    sweeps: int | None = None,
    iterations: int | None = None,
    rate: float | None = None,
    trace: str | os.PathLike[str] | Callable[[Any], None] | None = None,
    safe_csv: bool = False,
    seed: int = 0,
    accept: bool = False,
    max_seconds: float | None = None,
    threads: int | None = None,
    asked: Mapping[str, Any] | None = None,
    **options: Any,
) -> MarkovNet:
    """Fit an undirected model, p(x) = exp(Σ λ_c(x_c)) / Z: a Markov random field.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter.
    graph
        A graph, a path, or the result of a learner, whose cliques are the factors; a DAG is
        moralised. Without it and without `clique`, the structure is learned.
    factors
        `cliques` of the graph, or `pairs`, its edges: the default where the structure is `l1` or
        `complete`.
    clique
        Factors as sets of columns, such as [["A", "B"], ["A", "C"]]; other columns are independent.
    structure
        `forward` (the default): greedy search over decomposable graphs; `tree`: that of Chow & Liu;
        `l1`: neighbourhoods by penalised regressions; `complete`: all pairs.
    score, edge_penalty, max_clique
        Of `forward`: `bic` (the default), `aic`, `bdeu` or another score-equivalent one, nats that
        each edge costs, and the most columns of a clique.
    prune, alpha
        Of `tree`: `bic` or `g` for a forest, and the level of the G test.
    criterion, gamma, rule, folds
        Of `l1`: `ebic` with its gamma, 0.25, or `folds` of cross-validation choose the penalty of
        each regression; an edge needs both regressions (`and`) or one (`or`).
    method
        `exact`: maximum likelihood; `pl`: pseudo-likelihood; `pcd`, `cd`: (persistent) contrastive
        divergence; `auto`: exact where the tables are small, else pl and then pcd.
    coding
        `sum-to-zero`, or `01`: for two levels each, terms that count where both are the second.
    l1, l2, smoothing
        Penalties of the strengths of terms over two or more columns, and rows spread evenly over
        the joint table.
    errors, intervals
        Add standard errors; add bounds that hold the truth with this probability.
    chains, sweeps, iterations, rate, trace, safe_csv
        Of `pcd` and `cd`: chains of samples, sweeps between two steps, steps, the size of the first
        ones, and a CSV file for the moments at every step (or a function that gets them), safe for
        spreadsheets or not.
    seed
        Seed of the random numbers.
    accept
        Accept what the model's own rows break, as `gml.check(data, model).accepted()` does.
    max_seconds
        Stop after this time with what is reached; the model says so.
    threads
        Threads; all cores by default.
    asked
        What the provenance records as asked for; by default the keywords of the call.
    **options
        Options of the score, and how to read the data; see `gml.read`.

    Examples
    --------
    >>> import gml
    >>> net = gml.mrf("sample_data/asia.csv", clique=[["smoke", "lung"], ["smoke", "bronc"]])
    >>> net.graph.n_edges, net.summary.algorithm
    (2, 'closed-form')
    """
    deadline, is_complete = Deadline(max_seconds), True
    penalty = Penalty(l1, l2, smoothing)
    walk = Chains(chains, sweeps, iterations, rate)
    given = {
        "score": score,
        "edge_penalty": edge_penalty,
        "max_clique": max_clique,
        "prune": prune,
        "alpha": alpha,
        "criterion": criterion,
        "gamma": gamma,
        "rule": rule,
        "folds": folds,
    }
    asked_for = {name: value for name, value in given.items() if value is not None} | options
    chosen, reading = choose_structure(structure, asked_for)
    _require_one_source(graph, clique, structure, [n for n in asked_for if n not in reading])
    cliques = _cliques(clique)
    if factors is not None:
        require_one_of("factors", factors, FACTORS)
        if cliques:
            raise UsageError(f"{parameter('factors')} is about a graph, not {parameter('clique')}")
    of_chains = zip(_OF_CHAINS, (chains, sweeps, iterations, rate, trace), strict=True)
    unused = [parameter(name) for name, value in of_chains if value is not None]
    if unused and method not in BY_CHAINS:
        raise UsageError(f"{unused[0]} belongs to {parameter('method', 'pcd')} or cd")
    found = None if graph is None else given_graph(graph)
    if found is not None and is_read(data):
        reading = with_policy(reading, common_dialect([found]), ("drop", "level"))
        asked = asked_with(asked, reading)
    if reading.get("missing") == "available":
        raise UsageError(
            f"{parameter('missing', 'available')}: margins counted on different rows may "
            "contradict one another; use drop or level"
        )
    structured = None if found is None else without_arrows(found)
    counter = open_data(
        data,
        fractional=True,
        offer_available=False,
        takes_numbers="",
        used=None if found is None else found.columns(),
        declared=None if found is None else declared_columns([found]),
        refuse_many_numbers=found is not None,
        threads=threads,
        **reading,
    )
    require_kinds("an undirected model", (LABELS,), counter.variables)
    learning = fitted_by("mrf", counter, asked or {})
    if cliques:
        terms = Terms.of(counter.variables, cliques)
    elif structured is not None:
        terms = Terms.of_graph(counter.variables, structured, factors or "cliques")
    else:
        learned = chosen.learn(counter, deadline=deadline, threads=threads, seed=seed)
        factors = factors or ("pairs" if chosen.name in _PAIRWISE else "cliques")
        terms = Terms.of_graph(counter.variables, learned.graph, factors)
        learning = learning.also(learned={**chosen.shown, **learned.found})
        is_complete = learned.complete
    method = chosen_method(method, terms)
    if unused and method not in BY_CHAINS:
        reporter().warn(f"{', '.join(unused)}: not used, as the exact fit draws no chains")
        trace = None
    with _tracing(trace, terms, safe_csv) as told:
        net = fit_markov(
            counter,
            terms,
            method=method,
            penalty=penalty,
            coding=coding,
            errors=errors,
            intervals=intervals,
            chains=walk,
            seed=seed,
            trace=told,
            threads=threads,
            deadline=deadline,
        )
    assert net.summary is not None
    if not is_complete or (deadline.passed and not net.summary.converged):
        learning = learning.also(complete=False)
        reporter().warn(f"stopped by {parameter('max_seconds')}: this is the model so far")
    training = training_behind(counter)
    if training is not None and training.rows is not None:
        warn_of_deliveries(training.rows)
    net = replace(net, learning=learning, training=training)
    return replace(net, baseline=accepted(net, counter, threads)) if accept else net


def _require_one_source(
    graph: GraphLike | None,
    clique: Sequence[Sequence[str]],
    structure: str | None,
    options: Sequence[str],
) -> None:
    """Refuse two answers to the question what the factors are."""
    named = ["a graph"] * (graph is not None) + [parameter("clique")] * bool(clique)
    if structure is not None:
        named.append(parameter("structure"))
    if len(named) > 1:
        raise UsageError(
            f"{named[0]} and {named[1]} exclude one another: each says what the factors are"
        )
    if named and structure is None and options:
        raise UsageError(
            f"{parameter(options[0])} is about learning a structure, and {named[0]} gives one"
        )


def _cliques(given: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the sets of columns that were listed; refuse a plain list of names, which is none."""
    found = []
    for names in () if isinstance(given, str) else given:
        columns = () if isinstance(names, str) else tuple(names)
        if not columns or len(set(columns)) < len(columns):
            break
        found.append(columns)
    if isinstance(given, str) or len(found) < len(given):
        raise UsageError(
            f"{parameter('clique')} must have sets of different columns, such as A,B (in Python, "
            '[["A", "B"], ["B", "C"]])'
        )
    return found


def _tracing(
    trace: str | os.PathLike[str] | Callable[[Any], None] | None, terms: Terms, safe_csv: bool
) -> AbstractContextManager[Callable[[Any], None] | None]:
    """Open what takes the moments of every step: a file, a function, or nothing."""
    if trace is None or callable(trace):
        return nullcontext(trace)
    from gml.formats.moment_trace import written_moment_trace

    return written_moment_trace(trace, terms, safe_csv=safe_csv)
