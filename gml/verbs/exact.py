"""The DAG with the highest score on a table: gml.exact, `gml exact`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gml.errors import UsageError, parameter
from gml.graph.equivalence import equivalence_class
from gml.graph.knowledge import Knowledge
from gml.learners import exact as learner
from gml.learners.exact import ExactResult
from gml.progress import reporter
from gml.scores.base import Score, rounded, total
from gml.scores.registry import SCORES
from gml.verbs.shared.data_input import Data
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.graph_input import GivenGraph, GraphLike, given_graph
from gml.verbs.shared.knowledge_input import Arcs, Tiers
from gml.verbs.shared.planned_call import plannable
from gml.verbs.shared.recording import records_keywords
from gml.verbs.shared.result_frames import frame_of
from gml.verbs.shared.score_search import request_search
from gml.verbs.shared.swapped import answers_swapped

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Gap:
    """A graph, its score, and how far it is below the optimum, in nats."""

    graph: str
    score: float
    gap: float


@dataclass(frozen=True)
class OptimumFound(ExactResult):
    """The optimum, and the gaps of other graphs to it, the best first."""

    gaps: tuple[Gap, ...] = field(default=(), repr=False)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for the optimum, and one for each graph it was compared with."""
        return frame_of(vars(gap) for gap in self.gaps)


@front_door(SCORES)
@plannable("exact")
@records_keywords
@answers_swapped("against")
def exact(
    data: Data | Score,
    *,
    score: str | None = None,
    edge_penalty: float = 0.0,
    max_parents: int | None = None,
    against: GraphLike | Sequence[GraphLike] = (),
    cpdag: bool = False,
    knowledge: Knowledge | str | os.PathLike[str] | None = None,
    require: Arcs = (),
    forbid: Arcs = (),
    tiers: Tiers = (),
    max_seconds: float | None = None,
    threads: int | None = None,
    asked: Mapping[str, Any] | None = None,
    **options: Any,
) -> OptimumFound:
    """Learn the DAG with the highest score, for certain.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter; or a score of your own.
    score
        One of `gml.SCORES`, `bic` by default.
    edge_penalty
        Nats that each edge costs.
    max_parents
        Most parents of a node.
    against
        Graphs whose gaps to the optimum are wanted.
    cpdag
        Let `graph` be the equivalence class of the DAG.
    knowledge, require, forbid, tiers
        What is known beforehand: a `Knowledge` or a file, pairs of names, groups of names from
        causes to effects.
    max_seconds
        Stop after this time with the best graph so far; the result says so.
    threads
        Threads; all cores by default.
    asked
        What the provenance records as asked for; by default the keywords of the call.
    **options
        Options of the score (`gml.SCORES[score].options`), and how to read the data; see
        `gml.read`.

    Examples
    --------
    >>> import gml
    >>> result = gml.exact("sample_data/asia.csv", against="sample_data/asia.dot")
    >>> [(gap.graph, round(gap.gap, 3)) for gap in result.gaps]
    [('optimum', 0.0), ('sample_data/asia.dot', 1.351)]
    """
    request = request_search(
        "exact",
        data,
        score=score,
        edge_penalty=edge_penalty,
        max_parents=max_parents,
        max_seconds=max_seconds,
        threads=threads,
        asked=asked,
        options=options,
    )
    chosen = request.chosen
    if cpdag and chosen is not None and not chosen.is_equivalent:
        raise UsageError(
            f"{parameter('cpdag')}: {chosen.name} tells equivalent DAGs apart; leave it out, or "
            + chosen.use_equivalent
        )
    rivals = _rivals(against, None if chosen is None or chosen.is_equivalent else chosen.name)
    search = request.open(knowledge, require, forbid, tiers)
    for rival in rivals:
        rival.require_columns(search.score.names)
    rivals = [GivenGraph(search.dag_of(rival), rival.name) for rival in rivals]
    result = learner.exact(
        search.score,
        max_parents=max_parents,
        knowledge=search.knowledge,
        deadline=search.deadline,
    )
    parts = ", ".join(map(str, result.components)) or "one variable each"
    reporter().note(f"{result.kept} sets of parents worth having; parts of {parts} variables")
    found = OptimumFound(**vars(result), gaps=tuple(_gaps(rivals, search.score, result)))
    if cpdag:
        found = replace(found, graph=equivalence_class(result.dag, search.knowledge))
    return search.finished(found, sets_kept=result.kept, components=list(result.components))


def _rivals(
    against: GraphLike | Sequence[GraphLike], telling_apart: str | None
) -> list[GivenGraph]:
    """The graphs to compare with, each of which has a DAG; `telling_apart`: by what score."""
    several = against if isinstance(against, list | tuple) else [against]
    rivals = []
    for number, graph in enumerate(several, start=1):
        given = given_graph(graph, f"graph {number}")
        if given.graph.kind != "dag" and telling_apart is not None:
            raise UsageError(
                f"{given.name}: a graph of kind {given.graph.kind} has no score by "
                f"{telling_apart}, which tells equivalent DAGs apart"
            )
        given.dag()
        rivals.append(given)
    return rivals


def _gaps(rivals: Sequence[GivenGraph], score: Score, result: ExactResult) -> list[Gap]:
    """The optimum and each graph, the best first, ties in the order given."""
    scores = [total(score, rival.graph) for rival in rivals]
    gaps = [
        Gap(rival.name, value, rounded(result.score - value) + 0.0)
        for rival, value in zip(rivals, scores, strict=True)
    ]
    best = "optimum" if result.complete else "best so far"
    return [Gap(best, result.score, 0.0), *sorted(gaps, key=lambda gap: gap.gap)]
