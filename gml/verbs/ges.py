"""Greedy equivalence search on a table: gml.ges, `gml ges`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from gml.data.options import names_of
from gml.errors import UsageError, parameter, quote, unknown_name
from gml.graph.equivalence import equivalence_class
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.learners import ges as learner
from gml.learners.search import SearchResult, Trace
from gml.progress import reporter
from gml.scores.base import Score
from gml.scores.registry import SCORES
from gml.verbs.shared.data_input import Data
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.knowledge_input import Arcs, Tiers
from gml.verbs.shared.planned_call import plannable
from gml.verbs.shared.recording import records_keywords
from gml.verbs.shared.rival_searches import search_by_each
from gml.verbs.shared.score_search import (
    OpenSearch,
    request_search,
    require_restarts,
    tracing,
)
from gml.verbs.shared.structural_search import search_incomplete


@front_door(SCORES)
@plannable("ges")
@records_keywords
def ges(
    data: Data | Score,
    *,
    score: str | None = None,
    edge_penalty: float = 0.0,
    phases: str | Sequence[str] = learner.PHASES,
    extended: bool = False,
    max_parents: int | None = None,
    restarts: int = 0,
    perturb: int | None = None,
    seed: int | None = None,
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
    """Learn a CPDAG by greedy search over equivalence classes.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter; or a score of your own.
    score
        One of `gml.SCORES` that gives equivalent DAGs the same value, `bic` by default; or
        `bic-either`, for the better of the graphs by `bic-dg` and `bic-cg`.
    edge_penalty
        Nats that each edge costs.
    phases
        `forward`, `backward` and `turning`, repeated in the order given until none gains.
    extended
        Prefer deletions to insertions, and try what comes of taking out each edge, and all edges
        of each node: slower, and better by far where nodes have many neighbours.
    max_parents
        Most parents of a node.
    restarts, perturb, seed
        How many more searches to run, each from the best graph with this many random changes.
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
    >>> gml.ges("sample_data/asia.csv", score="bdeu", ess=1).graph.n_edges
    8
    """
    phases = names_of("phases", phases)
    for number, phase in enumerate(phases):
        if phase not in learner.PHASES:
            raise UsageError(unknown_name("phase", phase, learner.PHASES))
        if phase in phases[:number]:
            raise UsageError(f"{parameter('phases')} lists {quote(phase)} twice")
    if not phases:
        raise UsageError(f"{parameter('phases')} lists no phase")
    seed = require_restarts(restarts, perturb, seed, options.get("missing"))
    request = request_search(
        "ges",
        data,
        score=score,
        edge_penalty=edge_penalty,
        max_parents=max_parents,
        max_seconds=max_seconds,
        threads=threads,
        asked=asked,
        options=options,
    )
    request.require_equivalent("ges")
    if max_parents is not None:
        reporter().warn(
            f"with {parameter('max_parents')} GES need not find the true class, however many rows"
        )
    with tracing(trace) as told:

        def learn(search: OpenSearch, start: Graph | None, told: Trace | None) -> SearchResult:
            return learner.ges(
                search.score,
                phases=phases,
                extended=extended,
                max_parents=max_parents,
                knowledge=search.knowledge,
                restarts=restarts,
                perturb=perturb,
                seed=seed,
                threads=threads,
                deadline=search.deadline,
                trace=told,
            )

        if request.keeps_missing:
            read = request.open_incomplete(knowledge, require, forbid, tiers)
            return search_incomplete(
                read,
                learn,
                shown=lambda dag: equivalence_class(dag, read.knowledge),
                seed=seed,
                threads=threads,
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
                trace=told,
            )
        search = request.open(knowledge, require, forbid, tiers)
        return search.finished(learn(search, None, told))
