"""Searches by two scores, and which of the graphs to keep: `score="bic-either"` of ges and hc.

On numbers beside labels no score is best on all tables: bic-cg sees effects and spreads that differ
from group to group, but no label that depends on a number, and makes up for wrong arrows by more
edges; bic-dg is the other way round. Their values cannot be compared, as they are about different
densities. So both searches are run, and bic-glm, which has a density for any DAG, chooses between
the classes that they found, each by its best member (`gml.learners.class_members`), with the
penalties of the searches. The graph by bic-dg is kept where both are worth the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from gml.counts.counter import Counter
from gml.data.column_kinds import kinds_of
from gml.errors import quote
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.learners.class_members import best_member
from gml.learners.search import SearchResult, Step, Trace
from gml.parameters import LABELS
from gml.progress import reporter
from gml.scores.base import DecomposableScore, rounded
from gml.scores.choosing import check_scores, make_score
from gml.scores.label_order import labels_before_numbers
from gml.scores.registry import JUDGE, SEARCH_SCORES
from gml.verbs.shared.chosen_methods import ChosenScore
from gml.verbs.shared.knowledge_input import Arcs, Tiers
from gml.verbs.shared.score_search import OpenSearch, SearchRequest

Learn = Callable[[OpenSearch, Graph | None, Trace | None], SearchResult]


def search_by_each(
    request: SearchRequest,
    learn: Learn,
    *,
    knowledge: Knowledge | str | os.PathLike[str] | None,
    require: Arcs,
    forbid: Arcs,
    tiers: Tiers,
    start: Graph | None = None,
    trace: Trace | None = None,
) -> SearchResult:
    """Return the graph by the score that fits the table, of those by the rivals of a request."""
    counter, known = request.read(knowledge, require, forbid, tiers)
    rivals = _rivals(request.rivals, counter, known)
    if len(rivals) == 1:
        search = request.by(rivals[0], counter, known).over(None)
        return search.finished(learn(search, start, trace))
    judge = _judge(rivals, counter)
    found: list[tuple[float, OpenSearch, SearchResult]] = []
    for chosen in rivals:
        allowed = known
        if chosen.labels_first:
            allowed = labels_before_numbers(known, counter.variables, chosen.name)
        search = request.by(chosen, counter, allowed).over(None)
        result = learn(search, start, _named(trace, chosen.name))
        found.append((best_member(judge, result.dag, known)[1], search, result))
    # The first of those that are equal.
    _, search, result = max(found, key=lambda one: rounded(one[0]))
    values = {one.chosen.name: value for value, one, _ in found if one.chosen is not None}
    assert search.chosen is not None
    _tell(search.chosen, values, finds_dag=request.command == "hc")
    if not all(one.complete for _, _, one in found):
        result = replace(result, complete=False)
    return search.finished(result, chosen_by={"score": JUDGE, **values})


def _rivals(
    rivals: Sequence[ChosenScore], counter: Counter, known: Knowledge
) -> Sequence[ChosenScore]:
    """The scores to search by; only one, which is said, where there is nothing to choose."""
    kinds = kinds_of(counter.variables)
    first = rivals[0]
    if len(kinds) < 2:
        name = SEARCH_SCORES[kinds]
        options = {key: value for rival in rivals for key, value in rival.options.items()}
        check_scores([name], options)
        are = "labels" if kinds == (LABELS,) else "numbers"
        reporter().tell(f"all columns are {are}: the score is {name}, and there is no other to try")
        return [first._replace(name=name, options=options)]
    is_number = {variable.name: variable.is_continuous for variable in counter.variables}
    for cause, effect in known.require:
        if is_number[cause] and not is_number[effect]:
            (left,) = (rival for rival in rivals if not rival.labels_first)
            reporter().tell(
                f"{quote(cause)} -> {quote(effect)} is required, a number and a label: the score "
                f"is {left.name}, and there is no other to try"
            )
            return [left]
    return rivals


def _judge(rivals: Sequence[ChosenScore], counter: Counter) -> DecomposableScore:
    options = {key: value for rival in rivals for key, value in rival.options.items()}
    return make_score(JUDGE, counter, edge_penalty=rivals[0].edge_penalty, **options)


def _named(trace: Trace | None, score: str) -> Trace | None:
    """Let the steps of a search say which score they are by."""
    if trace is None:
        return None

    def told(step: Step) -> None:
        trace(step._replace(phase=f"{score}: {step.phase}"))

    return told


def _tell(chosen: ChosenScore, values: dict[str, float], *, finds_dag: bool) -> None:
    (other,) = values.keys() - {chosen.name}
    ahead = values[chosen.name] - values[other]
    tiers = ""
    if chosen.labels_first:
        tiers = "; the tiers are labels < numbers"
        tiers += ", and a class of DAGs is shown as its maximally oriented PDAG" * (not finds_dag)
    reporter().tell(
        f"the score is {chosen.name}, as {JUDGE} finds its graph "
        + (f"better than that by {other} by {ahead:.6g} nats" if ahead else "no worse")
        + tiers
    )
