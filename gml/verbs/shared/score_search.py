"""What searches by a score share: the score over the data, and what limits them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from gml.counts.counter import Counter, rows_counted
from gml.data.options import EM, TAKE_EM
from gml.errors import CannotAnswer, UsageError, listing, parameter
from gml.formats.search_trace import written_trace
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.graph.provenance import Provenance
from gml.learners.search import SearchResult, Trace
from gml.progress import Deadline, reporter
from gml.scores.base import DecomposableScore, Score, as_score, same_rows
from gml.scores.registry import EITHER, RIVALS
from gml.verbs.shared.chosen_methods import (
    ChosenScore,
    choose_rivals,
    choose_score,
    score_of_numbers,
)
from gml.verbs.shared.data_input import Data, is_data, open_data, require_decider
from gml.verbs.shared.em_scores import EM_FAMILIES
from gml.verbs.shared.graph_input import GivenGraph
from gml.verbs.shared.knowledge_input import Arcs, Tiers, known_of
from gml.verbs.shared.recording import described, learned_by

_Found = TypeVar("_Found", bound=SearchResult)

TAKE_EITHER = ("ges", "hc")
"""The commands that may search by several scores, and let another choose among the graphs."""


@dataclass(frozen=True)
class OpenSearch:
    """The score to search by, what limits the search, and how it came to be."""

    score: DecomposableScore
    knowledge: Knowledge
    deadline: Deadline
    counter: Counter | None
    learning: Provenance
    chosen: ChosenScore | None = None
    """None for a score that the caller made."""

    def dag_of(self, given: GivenGraph) -> Graph:
        """Return a DAG for a graph that the score can score."""
        if self.chosen is None or self.counter is None:
            return given.dag()
        return self.chosen.dag_of(given, self.counter.variables)

    def finished(self, result: _Found, **found: Any) -> _Found:
        """Return a result that says how it was found; warns if time ran out."""
        _tell_end(result, self.score)
        if not result.dag.n_edges and self.chosen is not None and self.chosen.name == "pnal":
            reporter().warn(
                "no edge is worth its price: pnal charges n^(-1/4) per parameter, far more than "
                f"bic; {parameter('penalty', 0.1)} charges less, and gml hc with "
                f"{parameter('missing', 'em')} compares by bic"
            )
        if self.counter is None:
            return result
        return _recorded(result, self.counter, self.learning, found)


def _tell_end(result: SearchResult, score: DecomposableScore | None) -> None:
    """Say how a search ended, and what is to be said of the score that it was by."""
    reporter().note(
        f"score {result.score:.6f}, {result.steps} steps, {result.families} local scores"
    )
    if not result.complete:
        reporter().warn(f"stopped by {parameter('max_seconds')}: this is the best graph so far")
    if result.score == -math.inf and score is not None:
        _refuse_excluded(score)
    for remark in [] if score is None else score.remarks():
        reporter().warn(remark)


def _refuse_excluded(score: DecomposableScore) -> None:
    """Refuse columns that no graph scores: beside them all graphs are worth the same."""
    excluded = [name for j, name in enumerate(score.names) if score.local(j, ()) == -math.inf]
    if excluded:
        it = "it" if len(excluded) == 1 else "them"
        raise CannotAnswer(
            f"the score excludes {listing(sorted(excluded))}, whatever the parents, as with too "
            f"many levels for the rows; leave {it} out ({parameter('exclude', sorted(excluded))})"
        )


def _recorded(
    result: _Found, counter: Counter, learning: Provenance, found: Mapping[str, Any]
) -> _Found:
    learning = learning.also(
        score=result.score, scores_computed=result.families, steps=result.steps, **found
    )
    if not result.complete:
        learning = learning.also(complete=False)
    return described(result, counter, learning)


@dataclass(frozen=True)
class SearchRequest:
    """A search by a score, with its options checked and nothing read yet."""

    command: str
    data: Data | Score
    chosen: ChosenScore | None
    """None for a score that the caller made."""
    max_parents: int | None
    reading: Mapping[str, Any]
    threads: int | None
    deadline: Deadline
    asked: Mapping[str, Any] | None = None
    """What the provenance records as asked for."""
    rivals: Sequence[ChosenScore] = ()
    """The scores to search by in turn, if a judge is to choose among the graphs."""

    def require_equivalent(self, what: str) -> None:
        """Refuse a score that tells equivalent DAGs apart."""
        if self.chosen is not None:
            self.chosen.require_equivalent(what)
        elif not as_score(cast("Score", self.data)).equivalent:
            raise UsageError(
                f"{what} is over equivalence classes, whose DAGs this score may tell apart; if it "
                "does not, let it say so: equivalent = True"
            )

    def open(
        self,
        knowledge: Knowledge | str | os.PathLike[str] | None,
        require: Arcs,
        forbid: Arcs,
        tiers: Tiers,
    ) -> OpenSearch:
        """Read the data, make the score, and look at what is known beforehand."""
        if self.chosen is None:
            score = as_score(cast("Score", self.data))
            known = known_of(score.names, knowledge, require, forbid, tiers)
            return OpenSearch(score, known, self.deadline, None, Provenance())
        if self.reading.get("missing") == "available" and not self.chosen.takes_gaps:
            raise same_rows()
        return self._read(knowledge, require, forbid, tiers).over(None)

    @property
    def keeps_missing(self) -> bool:
        """Whether the graph is to be learned from incomplete rows, by structural EM."""
        return self.chosen is not None and self.reading.get("missing") == EM

    def open_incomplete(
        self,
        knowledge: Knowledge | str | os.PathLike[str] | None,
        require: Arcs,
        forbid: Arcs,
        tiers: Tiers,
    ) -> ReadSearch:
        """Read the data with their gaps, and look at what is known beforehand."""
        reading = {**self.reading, "missing": "available"}
        chosen = None if self.chosen is None else self.chosen.among(EM_FAMILIES)
        request = replace(self, reading=reading, chosen=chosen)
        return request._read(knowledge, require, forbid, tiers)

    def _read(
        self,
        knowledge: Knowledge | str | os.PathLike[str] | None,
        require: Arcs,
        forbid: Arcs,
        tiers: Tiers,
    ) -> ReadSearch:
        assert self.chosen is not None
        counter, known = self.read(knowledge, require, forbid, tiers)
        chosen = self.chosen.for_columns(counter.variables)
        known = chosen.limited(known, counter.variables, finds_dag=self.command == "hc")
        return self.by(chosen, counter, known)

    def read(
        self,
        knowledge: Knowledge | str | os.PathLike[str] | None,
        require: Arcs,
        forbid: Arcs,
        tiers: Tiers,
    ) -> tuple[Counter, Knowledge]:
        """Read the data, and look at what is known beforehand."""
        assert self.chosen is not None
        counter = open_data(
            cast("Data", self.data),
            fractional=True,
            undeclared=self.chosen.undeclared,
            offer_available=self.chosen.takes_gaps,
            offer_em=self.command in TAKE_EM and not self.chosen.takes_gaps,
            takes_numbers=score_of_numbers(),
            refuses_constants=True,
            threads=self.threads,
            **self.reading,
        )
        names = [variable.name for variable in counter.variables]
        return counter, known_of(names, knowledge, require, forbid, tiers)

    def by(self, chosen: ChosenScore, counter: Counter, known: Knowledge) -> ReadSearch:
        """Return the search by a score of data that were read, limited by what is known."""
        settings = {"score": chosen.name, "max_parents": self.max_parents}
        learning = learned_by(
            self.command, counter, settings, known, self.asked, rows=rows_counted(counter)
        )
        return ReadSearch(counter, chosen, known, self.deadline, learning, self.max_parents)


@dataclass(frozen=True)
class ReadSearch:
    """Data that were read, what is known of them, and the score to search by."""

    counter: Counter
    chosen: ChosenScore
    knowledge: Knowledge
    deadline: Deadline
    learning: Provenance
    max_parents: int | None = None

    def over(self, counter: Counter | None) -> OpenSearch:
        """Make the score over the data, or over others with the same columns."""
        score = self.chosen.make(self.counter if counter is None else counter)
        return OpenSearch(
            score, self.knowledge, self.deadline, self.counter, self.learning, self.chosen
        )

    def finished(
        self, result: SearchResult, score: DecomposableScore | None, **found: Any
    ) -> SearchResult:
        """Return a result that says how it was found, by which score if there was one."""
        _tell_end(result, score)
        return _recorded(result, self.counter, self.learning, found)


def request_search(
    command: str,
    data: Data | Score,
    *,
    score: str | None,
    edge_penalty: float,
    max_parents: int | None,
    max_seconds: float | None,
    threads: int | None,
    asked: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> SearchRequest:
    """Check the options of a search before anything is read."""
    deadline = Deadline(max_seconds)
    if not is_data(data):
        require_decider(data, "score", Score)
        named = {"score": score is not None, "edge_penalty": edge_penalty}
        decided = [*options, *(name for name, is_given in named.items() if is_given)]
        if decided:
            raise UsageError(
                f"{', '.join(map(parameter, decided))}: a score that is given has its options"
            )
        return SearchRequest(command, data, None, max_parents, {}, threads, deadline)
    if score == EITHER and command in TAKE_EITHER:
        rivals, reading = choose_rivals(edge_penalty, options)
        if reading.get("missing") in (EM, "available"):
            raise UsageError(
                f"{parameter('score', EITHER)} compares graphs on complete rows: use "
                f"{parameter('missing')} drop or level, or one of {', '.join(RIVALS[EITHER])}"
            )
        chosen = rivals[0]
    else:
        rivals = []
        chosen, reading = choose_score(score, edge_penalty, options)
    return SearchRequest(
        command, data, chosen, max_parents, reading, threads, deadline, asked, rivals
    )


@contextmanager
def tracing(
    trace: Trace | str | os.PathLike[str] | None, *, safe_csv: bool = False
) -> Iterator[Trace | None]:
    """Yield what takes the steps of a search; a path is a CSV file that appears whole."""
    if isinstance(trace, str | os.PathLike):
        with written_trace(trace, safe_csv=safe_csv) as told:
            yield told
    else:
        yield trace


def require_restarts(
    restarts: int, perturb: int | None, seed: int | None, missing: str | None = None
) -> int:
    """Refuse options of restarts if there are none, and return the seed, which EM has a use for."""
    for name, value in (("perturb", perturb), ("seed", None if missing == EM else seed)):
        if value is not None and not restarts:
            raise UsageError(f"{parameter(name)} is for {parameter('restarts')}")
    return seed or 0
