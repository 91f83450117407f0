"""Undirected graphs learned from a table, by the names that `mrf` and `average` know them by.

- `forward`: a greedy search over decomposable graphs (gml.learners.decomposable);
- `tree`: the tree of maximum likelihood, or a forest (gml.learners.chowliu);
- `l1`: neighbourhoods by penalised regressions (gml.learners.neighbourhoods);
- `complete`: all pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from gml.errors import UsageError, parameter, require_one_of, require_share, require_whole
from gml.graph.graph import Graph
from gml.parameters import options_of
from gml.progress import Deadline
from gml.scores.registry import SCORES
from gml.verbs.shared.chosen_methods import DEFAULT_SCORE, ChosenScore, choose_scores
from gml.verbs.shared.structure_names import STRUCTURES

if TYPE_CHECKING:
    from gml.counts.counter import Counter
    from gml.learners.search import Trace

DEFAULT_STRUCTURE = "forward"

OPTIONS_OF: Mapping[str, tuple[str, ...]] = {
    "forward": ("score", "edge_penalty", *options_of(SCORES), "max_clique"),
    "tree": ("prune", "alpha"),
    "l1": ("criterion", "gamma", "rule", "folds", "n_penalties"),
    "complete": (),
}
"""What can be said about each."""

_ALPHA = 0.05


class Learned(NamedTuple):
    """An undirected graph, whether there was time for it, and what a provenance says of it."""

    graph: Graph
    complete: bool = True
    found: Mapping[str, Any] = {}


@dataclass(frozen=True)
class ChosenStructure:
    """How to learn an undirected graph, its options checked, before there are data."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    score: ChosenScore | None = None
    """For `forward`."""

    @property
    def shown(self) -> dict[str, Any]:
        """What a provenance says of it."""
        score = {} if self.score is None else {"score": self.score.name}
        return {"structure": self.name, **score, **self.settings}

    @property
    def tests(self) -> bool:
        """Whether what is learned hangs on tests or penalties rather than on a score.

        These take every repeated row of a bootstrap sample for evidence of its own.
        """
        return self.name == "l1" or self.settings.get("prune") == "g"

    def learn(
        self,
        counter: Counter,
        *,
        deadline: Deadline | None = None,
        threads: int | None = None,
        seed: int = 0,
        trace: Trace | None = None,
    ) -> Learned:
        """Learn the graph; the seed is for folds, the trace for the steps of `forward`."""
        if self.name == "forward":
            assert self.score is not None
            return forward(counter, self.score, deadline=deadline, trace=trace, **self.settings)
        if self.name == "tree":
            return tree(counter, **self.settings)
        if self.name == "complete":
            return complete(counter)
        return l1(counter, seed=seed, threads=threads, deadline=deadline, **self.settings)


def choose_structure(
    name: str | None, options: Mapping[str, Any]
) -> tuple[ChosenStructure, dict[str, Any]]:
    """Check what is said about a structure; returns it, and the keywords that are not about any."""
    name = DEFAULT_STRUCTURE if name is None else name
    require_one_of("structure", name, STRUCTURES)
    settings, rest = {}, {}
    for option, value in options.items():
        owners = [one for one in STRUCTURES if option in OPTIONS_OF[one]]
        if not owners:
            rest[option] = value
        elif name in owners:
            settings[option] = value
        else:
            raise UsageError(
                f"{parameter(option)} does not go with {parameter('structure', name)} (only with "
                f"{', '.join(owners)})"
            )
    if name == "forward":
        return _chosen_forward(**settings), rest
    if name == "tree":
        _check_tree(settings)
    elif name == "l1":
        _check_l1(settings)
    return ChosenStructure(name, settings), rest


def _chosen_forward(
    score: str = DEFAULT_SCORE,
    edge_penalty: float = 0.0,
    max_clique: int | None = None,
    **options: Any,
) -> ChosenStructure:
    require_whole(1, max_clique=max_clique)
    (chosen,), _ = choose_scores([score], edge_penalty, options)
    if not chosen.is_equivalent:
        raise UsageError(
            f"{parameter('structure', 'forward')} needs a score that is the same for equivalent "
            f"DAGs, which {score} is not; use bic, aic or bdeu"
        )
    if chosen.undeclared == "numbers":
        raise UsageError(
            f"{parameter('score', score)} is for numbers, and undirected models are over labels; "
            f"use {parameter('score', DEFAULT_SCORE)}"
        )
    return ChosenStructure("forward", {"max_clique": max_clique}, chosen)


def _check_tree(settings: Mapping[str, Any]) -> None:
    require_one_of("prune", settings.get("prune", "none"), ("none", "bic", "g"))
    if "alpha" in settings:
        if settings.get("prune") != "g":
            raise UsageError(f"{parameter('alpha')} belongs to {parameter('prune', 'g')}")
        require_share(alpha=settings["alpha"])


def _check_l1(settings: Mapping[str, Any]) -> None:
    from gml.learners.neighbourhoods import check_settings

    check_settings(**settings)
    criterion = settings.get("criterion", "ebic")
    for option, owner in (("gamma", "ebic"), ("folds", "folds")):
        if option in settings and criterion != owner:
            raise UsageError(f"{parameter(option)} belongs to {parameter('criterion', owner)}")


def forward(
    counter: Counter,
    score: ChosenScore,
    *,
    max_clique: int | None = None,
    deadline: Deadline | None = None,
    trace: Trace | None = None,
) -> Learned:
    """Add and delete edges of a decomposable graph while that raises the score."""
    from gml.learners.decomposable import forward_decomposable

    result = forward_decomposable(
        score.make(counter), max_clique=max_clique, deadline=deadline, trace=trace
    )
    found = {
        "score": result.score,
        "scores_computed": result.families,
        "steps": result.steps,
    }
    return Learned(result.graph, result.complete, found)


def tree(counter: Counter, *, prune: str = "none", alpha: float = _ALPHA) -> Learned:
    """Learn the tree of maximum likelihood, or the edges of it that pay or are significant."""
    from gml.learners.chowliu import chow_liu

    result = chow_liu(counter, directed=False, prune=prune, alpha=alpha)
    return Learned(result.graph, found={"pairs": result.n_pairs, "total_mi": result.total_mi})


def l1(
    counter: Counter,
    *,
    seed: int = 0,
    threads: int | None = None,
    deadline: Deadline | None = None,
    **settings: Any,
) -> Learned:
    """Select the neighbours of each column by penalised regressions on all others.

    If time runs out before all of them are done, there is no graph, and the learner says so.
    """
    from gml.learners.neighbourhoods import neighbourhood_graph

    return Learned(
        neighbourhood_graph(
            counter, seed=seed, threads=threads, deadline=deadline, **settings
        ).graph
    )


def complete(counter: Counter) -> Learned:
    """Join all pairs of columns."""
    names = [variable.name for variable in counter.variables]
    edges = [(a, "---", b) for a, b in combinations(sorted(names), 2)]
    return Learned(Graph.from_edges(names, edges, kind="undirected"))
