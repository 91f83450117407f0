"""Graphs scored on a table: gml.score, `gml score`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gml.counts.counter import Counter, rows_counted
from gml.data.options import EM, names_of
from gml.errors import GraphError, UsageError, listing, parameter, require_whole, unknown_name
from gml.graph.graph import Graph
from gml.parameters import FOR_LABELS
from gml.progress import reporter
from gml.scores.base import same_rows
from gml.scores.ranking import ScoredGraph, decisive_values, ranked, scored_graph
from gml.scores.registry import FAMILIES, SCORES
from gml.verbs.shared.chosen_methods import (
    DEFAULT_SCORE,
    ChosenScore,
    choose_scores,
    score_of_numbers,
)
from gml.verbs.shared.data_input import Data, is_read, open_data, require_whole_rows
from gml.verbs.shared.dialects import with_policy
from gml.verbs.shared.em_scores import EM_FAMILIES, em_requests, em_scored, refuse_beside_em
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.graph_input import (
    GivenGraph,
    GraphLike,
    GraphsLike,
    common_dialect,
    declared_columns,
    given_graph,
    named_graphs,
)
from gml.verbs.shared.holdout_input import Splits, splits_of
from gml.verbs.shared.planned_call import plannable
from gml.verbs.shared.result_frames import frame_of, html_of_rows, shown_rows
from gml.verbs.shared.swapped import answers_swapped
from gml.verbs.shared.undirected_scores import (
    Factors,
    default_prior,
    factors_to_fit,
    fitted_scores,
    require_by_likelihood,
    warn_of_different_priors,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class ScoreReport(Sequence[ScoredGraph]):
    """Scored graphs, the best first, and the number of rows.

    `is_worse` says whether a graph is worse than the one to compare with, or below the bound.
    """

    graphs: tuple[ScoredGraph, ...]
    rows: int | float
    is_worse: bool = False

    @property
    def complete(self) -> bool:
        """Whether no limit of time stopped a fit."""
        return all(scored.in_time for scored in self.graphs)

    def __getitem__(self, k: Any) -> Any:
        return self.graphs[k]

    def __len__(self) -> int:
        return len(self.graphs)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each graph, or for each node and the graph as a whole."""
        from gml.formats.reports.scores import rows_of_graphs

        return frame_of(rows_of_graphs(self.graphs, self.rows))

    def __repr__(self) -> str:
        from gml.formats.reports.scores import rows_of_graphs

        return shown_rows("ScoreReport", rows_of_graphs(self.graphs, self.rows))

    def _repr_html_(self) -> str:
        from gml.formats.reports.scores import rows_of_graphs

        return html_of_rows(rows_of_graphs(self.graphs, self.rows), ["graph"])


@front_door(SCORES)
@plannable("score")
@answers_swapped("graphs", "compare_to")
def score(
    data: Data,
    graphs: GraphsLike,
    *,
    score: str | Sequence[str] | None = None,
    edge_penalty: float = 0.0,
    per_node: bool = False,
    explain: bool = False,
    fail_under: float | None = None,
    compare_to: GraphLike | None = None,
    holdout: Data | None = None,
    folds: int | None = None,
    predict: str | None = None,
    prior: str | None = None,
    hidden: Mapping[str, int] | None = None,
    em_restarts: int | None = None,
    em_steps: int | None = None,
    seed: int | None = None,
    max_seconds: float | None = None,
    threads: int | None = None,
    **options: Any,
) -> ScoreReport:
    """Score graphs on data (higher is better); several are ranked by the first score.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter.
    graphs
        One or more graphs, paths, or results of learners; in a dictionary by their names.
    score
        One or more of `gml.SCORES`; by default bic, bic-g if all columns are numbers, bic-dg if
        some are.
    edge_penalty
        Nats that each edge costs.
    per_node, explain
        Whether to add the score of each node; the likelihood as n(ΣI(x;pa) − ΣH(x)) by node.
    fail_under, compare_to
        A bound, or a graph, that no graph may be below; `is_worse` says whether one is.
    holdout, folds, prior, seed
        Fit on `data` and predict other data, or the same by cross-validation; the prior of the
        tables (`jeffreys`, or `bdeu` if a graph is undirected and not decomposable), and the seed
        of the folds.
    predict
        A column that is predicted from the others in the rows that were not fitted; its log loss
        then ranks the graphs.
    hidden, em_restarts, em_steps, max_seconds
        With `missing="em"`, and for nodes that are not columns (`{"H": 3}`), scores are of what was
        seen of each row, fitted by EM as in `gml.fit_params`.
    threads
        Threads; all cores by default.
    **options
        Options of the scores, and how to read the data; see `gml.read`.

    Examples
    --------
    >>> import gml
    >>> gml.score("sample_data/asia.csv", "sample_data/asia.dot", score=["bic", "bdeu"])
    ScoreReport(1 row)
    graph                      bic      bdeu  dim
    sample_data/asia.dot  -11184.1  -11170.2   18
    """
    several = [
        given_graph(some, f"graph {k}") for k, some in enumerate(named_graphs(graphs), start=1)
    ]
    if is_read(data):
        options = with_policy(options, common_dialect(several), ("drop", "level", EM))
    chosen, reading = _chosen_scores(score, edge_penalty, options, hidden)
    by_em = reading.get("missing") == EM or bool(hidden)
    own_seed = None if by_em else seed
    _require_fitting(chosen, reading, holdout, folds, fail_under, prior, own_seed)
    if predict is not None and holdout is None and folds is None:
        raise UsageError(
            f"{parameter('predict')} needs {parameter('folds')} or {parameter('holdout')}: rows "
            "that were fitted flatter"
        )
    if not several:
        raise UsageError("give at least one graph to score")
    given, factors = _given_graphs(
        [*several, *([] if compare_to is None else [compare_to])], chosen
    )
    ways = {"em_restarts": em_restarts, "em_steps": em_steps, "max_seconds": max_seconds}
    requests = em_requests(given, reading, hidden, is_read(data), ways, seed if by_em else None)
    if requests:
        beside = {"per_node": per_node, "explain": explain, "holdout": holdout, "folds": folds}
        looped = [one.name for one, fitted in zip(given, factors, strict=True) if fitted]
        refuse_beside_em({**beside, "predict": predict, "prior": prior}, looped)
    if (per_node or explain) and any(fitted is not None for fitted in factors):
        undirected = next(some for some, fitted in zip(given, factors, strict=True) if fitted)
        raise UsageError(
            f"{parameter('per_node' if per_node else 'explain')}: {undirected.name} is undirected "
            "and not decomposable, so that its score is no sum over nodes"
        )
    if predict is not None and predict not in given[0].graph.names:
        raise UsageError(unknown_name("node", predict, given[0].graph.names))
    # A score of numbers looks at the edges alone, whatever levels the graphs were learned with.
    undeclared = chosen[0].undeclared
    declared = declared_columns(given)
    if undeclared == "numbers":
        declared = replace(declared, levels={})
    if is_read(data) and chosen[0].takes_numbers and not any(key in reading for key in FOR_LABELS):
        named = [*names_of("numeric", reading.get("numeric") or ()), *_numbers_of(given)]
        reading["numeric"] = list(dict.fromkeys(named)) or None
    unseen = {name for request in requests for name in request.hidden}
    for request in requests:
        declared = request.without_hidden(declared)
    counter = open_data(
        data,
        fractional=True,
        used=given[0].columns(unseen),
        declared=declared,
        refuse_many_numbers=True,
        undeclared=undeclared,
        offer_available=all(some.takes_gaps for some in chosen),
        offer_em=True,
        settles_empty=bool(requests),
        takes_numbers=score_of_numbers(),
        threads=threads,
        **reading,
    )
    if requests:
        found, chosen, rows = em_scored(given, counter, requests, chosen, threads)
        return _report(found, chosen, fail_under, compare_to is not None, rows)
    if predict is not None:
        require_whole_rows(counter.unit)
    chosen = [some.for_columns(counter.variables) for some in chosen]
    asked = given
    given = [
        _scorable(some, fitted, chosen, counter)
        for some, fitted in zip(given, factors, strict=True)
    ]
    scores = [some.make(counter) for some in chosen]
    likelihood = chosen[0].likelihood(counter)
    found = [
        fitted_scores(some, fitted, counter, chosen)
        if (fitted := factors[k]) is not None
        else scored_graph(
            some.name, some.graph, scores, likelihood, per_node=per_node or explain, explain=explain
        )
        for k, some in enumerate(given)
    ]
    for remark in scores[0].remarks():
        reporter().warn(remark)
    if holdout is not None or folds is not None:
        splits = splits_of(
            counter, holdout, folds, seed or 0, given[0], declared, undeclared, reading
        )
        how = {"prior": prior or default_prior(factors), "ess": options.get("ess", 1.0)}
        how["threads"] = threads
        warn_of_different_priors(how["prior"], given, factors)
        fitted_graphs = [
            one.dag_of_kinds(counter.variables) if fitted is None else some.graph
            for one, some, fitted in zip(asked, given, factors, strict=True)
        ]
        found = [
            _with_held_out(one, graph, fitted, splits, predict, how)
            for one, graph, fitted in zip(found, fitted_graphs, factors, strict=True)
        ]
    return _report(found, chosen, fail_under, compare_to is not None, rows_counted(counter))


def _chosen_scores(
    score: str | Sequence[str] | None,
    edge_penalty: float,
    options: Mapping[str, Any],
    hidden: Mapping[str, int] | None,
) -> tuple[list[ChosenScore], dict[str, Any]]:
    by_em = options.get("missing") == EM or bool(hidden)
    names = [DEFAULT_SCORE] if score is None else names_of("score", score)
    return choose_scores(names, edge_penalty, options, EM_FAMILIES if by_em else FAMILIES)


def _numbers_of(given: Sequence[GivenGraph]) -> list[str]:
    """The columns that a graph declares to be numbers, and none gives levels to."""
    levels = {name for some in given for name in some.graph.levels}
    return [name for some in given for name in some.graph.numeric if name not in levels]


def _scorable(
    given: GivenGraph, fitted: Factors | None, scores: Sequence[ChosenScore], counter: Counter
) -> GivenGraph:
    """The graph as these scores can score it, now that the kinds of the columns are known."""
    if fitted is not None:
        require_by_likelihood(given, scores)
        return given
    return GivenGraph(scores[0].dag_of(given, counter.variables), given.name)


def _with_held_out(
    scored: ScoredGraph,
    graph: Graph,
    factors: Factors | None,
    splits: Splits,
    predict: str | None,
    how: Mapping[str, Any],
) -> ScoredGraph:
    from gml.model.heldout import held_out

    found = held_out(graph, splits(), factors=factors, predict=predict, **how)
    return replace(
        scored,
        heldout=found.loss,
        heldout_by_fold=found.by_split,
        prediction=found.prediction,
    )


def _report(
    found: list[ScoredGraph],
    chosen: Sequence[ChosenScore],
    fail_under: float | None,
    is_compared: bool,
    rows: int | float,
) -> ScoreReport:
    decisive = decisive_values(found, chosen[0].name)
    bounds = [] if fail_under is None else [fail_under]
    asked = decisive
    if is_compared:
        bounds.append(decisive[-1])
        asked = decisive[:-1]
        found[-1] = replace(found[-1], is_baseline=True)
    factors = [some.name for some in chosen if some.has_bayes_factors]
    return ScoreReport(
        tuple(ranked(found, decisive, factors)),
        rows,
        any(value < bound for value in asked for bound in bounds),
    )


def _require_fitting(
    chosen: Sequence[ChosenScore],
    reading: Mapping[str, Any],
    holdout: Data | None,
    folds: int | None,
    fail_under: float | None,
    prior: str | None,
    seed: int | None,
) -> None:
    """Refuse what does not go together."""
    apart = holdout is not None or folds is not None
    if holdout is not None and folds is not None:
        raise UsageError(f"{parameter('holdout')} and {parameter('folds')} exclude one another")
    if fail_under is not None and apart:
        raise UsageError(
            f"{parameter('fail_under')} is for the score; with {parameter('holdout')} or "
            f"{parameter('folds')}, use {parameter('compare_to')}"
        )
    if fail_under is not None and fail_under != fail_under:
        raise UsageError(f"{parameter('fail_under')} is not a number")
    if not apart and prior is not None:
        raise UsageError(
            f"{parameter('prior')} is for {parameter('holdout')} and {parameter('folds')}"
        )
    require_whole(2, folds=folds)
    if folds is None and seed is not None:
        raise UsageError(f"{parameter('seed')} is for {parameter('folds')}")
    if reading.get("weights_fractional") is not None and folds is not None:
        raise UsageError(
            f"{parameter('folds')} splits whole rows, so {parameter('weights_fractional')} "
            "contradicts it"
        )
    if reading.get("missing") == "available":
        if not all(some.takes_gaps for some in chosen):
            raise same_rows()
        if apart:
            raise UsageError(
                f"{parameter('missing', 'available')}: rows that were not fitted must be complete; "
                "use drop or level"
            )


def _given_graphs(
    graphs: Sequence[GraphLike], scores: Sequence[ChosenScore]
) -> tuple[list[GivenGraph], list[Factors | None]]:
    """Graphs over the same nodes, each with a DAG or, if there is none, what is to be fitted."""
    found: list[GivenGraph] = []
    factors: list[Factors | None] = []
    for number, graph in enumerate(graphs, start=1):
        given = given_graph(graph, f"graph {number}")
        bad = [some.name for some in scores if not some.is_equivalent]
        if given.graph.kind != "dag" and bad:
            raise UsageError(
                f"{given.name}: a graph of kind {given.graph.kind} has no score by "
                f"{', '.join(bad)}, which tells equivalent DAGs apart"
            )
        if found and set(given.graph.names) != set(found[0].graph.names):
            other = set(given.graph.names) ^ set(found[0].graph.names)
            raise GraphError(
                f"{given.name} and {found[0].name} have different nodes: {listing(sorted(other))}"
            )
        fitted = factors_to_fit(given)
        if fitted is not None:
            require_by_likelihood(given, scores)
        else:
            given.dag()
        found.append(given)
        factors.append(fitted)
    return found, factors
