"""Hill climbing on a table: gml.hc, `gml hc`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gml.errors import parameter
from gml.graph.equivalence import equivalence_class
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.learners.hillclimb import hill_climb
from gml.learners.search import SearchResult, Trace
from gml.scores.base import Score
from gml.scores.registry import SCORES
from gml.verbs.shared.data_input import Data
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.graph_input import GraphLike, given_graph
from gml.verbs.shared.knowledge_input import Arcs, Tiers
from gml.verbs.shared.planned_call import plannable
from gml.verbs.shared.recording import records_keywords
from gml.verbs.shared.rival_searches import search_by_each
from gml.verbs.shared.score_search import (
    OpenSearch,
    ReadSearch,
    request_search,
    require_restarts,
    tracing,
)
from gml.verbs.shared.structural_search import search_incomplete
from gml.verbs.shared.swapped import answers_swapped


@front_door(SCORES)
@plannable("hc")
@records_keywords
@answers_swapped("start")
def hc(
    data: Data | Score,
    *,
    score: str | None = None,
    edge_penalty: float = 0.0,
    max_parents: int | None = None,
    tabu: int = 0,
    restarts: int = 0,
    perturb: int | None = None,
    seed: int | None = None,
    start: GraphLike | None = None,
    cpdag: bool = False,
    knowledge: Knowledge | str | os.PathLike[str] | None = None,
    require: Arcs = (),
    forbid: Arcs = (),
    tiers: Tiers = (),
    max_seconds: float | None = None,
    threads: int | None = None,
    asked: Mapping[str, Any] | None = None,
    trace: Trace | str | os.PathLike[str] | None = None,
    **options: Any,
) -> SearchResult:
    """Learn a DAG that no change of one edge improves.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter; or a score of your own.
    score
        One of `gml.SCORES`, `bic` by default; or `bic-either`, for the better of the graphs by
        `bic-dg` and `bic-cg`.
    edge_penalty
        Nats that each edge costs.
    max_parents
        Most parents of a node.
    tabu
        Go on at a loss for this many moves, leaving the edges of as many last moves alone.
    restarts, perturb, seed
        How many more searches to run, each from the best graph with this many random changes.
    start
        Begin with this graph; by default with the empty one.
    cpdag
        Let `graph` be the equivalence class of the DAG.
    knowledge, require, forbid, tiers
        What is known beforehand: a `Knowledge` or a file, pairs of names, groups of names from
        causes to effects.
    max_seconds
        Stop after this time with the best graph so far; the result says so.
    threads
        Threads; all cores by default.
    trace
        A CSV file for every step of the search; or a function, which gets them.
    asked
        What the provenance records as asked for; by default the keywords of the call.
    **options
        Options of the score (`gml.SCORES[score].options`), and how to read the data; see
        `gml.read`.

    Examples
    --------
    >>> import gml
    >>> result = gml.hc("sample_data/asia.csv")
    >>> result.graph.kind, result.graph.n_edges
    ('dag', 7)
    """
    seed = require_restarts(restarts, perturb, seed, options.get("missing"))
    request = request_search(
        "hc",
        data,
        score=score,
        edge_penalty=edge_penalty,
        max_parents=max_parents,
        max_seconds=max_seconds,
        threads=threads,
        asked=asked,
        options=options,
    )
    if cpdag:
        request.require_equivalent(parameter("cpdag"))
    begin = None if start is None else given_graph(start)
    with tracing(trace) as told:

        def shown(search: OpenSearch | ReadSearch, dag: Graph) -> Graph:
            return equivalence_class(dag, search.knowledge) if cpdag else dag

        def learn(search: OpenSearch, start: Graph | None, told: Trace | None) -> SearchResult:
            if begin is not None:
                begin.require_columns(search.score.names)
            result = hill_climb(
                search.score,
                max_parents=max_parents,
                knowledge=search.knowledge,
                start=start,
                tabu=tabu,
                restarts=restarts,
                perturb=perturb,
                seed=seed,
                threads=threads,
                deadline=search.deadline,
                trace=told,
            )
            return replace(result, graph=shown(search, result.dag)) if cpdag else result

        if request.keeps_missing:
            read = request.open_incomplete(knowledge, require, forbid, tiers)
            return search_incomplete(
                read,
                learn,
                shown=lambda dag: shown(read, dag),
                seed=seed,
                threads=threads,
                start=begin,
                trace=told,
            )
        if request.rivals:
            return search_by_each(
                request,
                learn,
                knowledge=knowledge,
                require=require,
                forbid=forbid,
                tiers=tiers,
                start=None if begin is None else begin.graph,
                trace=told,
            )
        search = request.open(knowledge, require, forbid, tiers)
        return search.finished(learn(search, None if begin is None else begin.graph, told))
