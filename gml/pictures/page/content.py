"""What a report is about: plain facts, gathered before anything is drawn."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.data.number_summary import NumberSummary
from gml.gate.result import CheckReport
from gml.graph.edge_numbers import Directions
from gml.model.bayesnet import BayesNet
from gml.model.markovnet import MarkovNet
from gml.scores.ranking import ScoredGraph

NO_ROWS = "no rows in common"
"""Why two columns have no mutual information that could be known."""


@dataclass(frozen=True)
class Histogram:
    """How many numbers lie from each edge to the next."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Column:
    """A column of the data that the model has: its levels with their rows, or its numbers.

    `n_known` of the levels are those of the model, the others are values that it does not know.
    """

    name: str
    missing: int
    rows: int
    levels: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    n_known: int = 0
    numbers: NumberSummary | None = None
    histogram: Histogram | None = None


@dataclass(frozen=True)
class Information:
    """How much each two columns say about one another, in nats.

    It is infinite where one column of numbers follows from the other, and NaN where no row has
    both. `kind` is that of the columns: "labels", "numbers" or "both".
    """

    names: tuple[str, ...]
    values: NDArray[np.float64]
    kind: str = "labels"

    @functools.cached_property
    def _places(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.names)}

    def between(self, x: str, y: str) -> float | None:
        """Return the mutual information of two columns, if both are there."""
        i, j = self._places.get(x), self._places.get(y)
        return None if i is None or j is None else float(self.values[i, j])


@dataclass(frozen=True)
class ExplainedPair:
    """Why two variables have an edge in the graph that was learned, or none."""

    x: str
    y: str
    adjacent: bool
    sentences: tuple[str, ...]
    log10_p: float | None = None
    """Of the test that came closest to separating them, or that did."""


@dataclass(frozen=True)
class ExplainedPairs:
    """The pairs of a run of PC: edges first, then those nearest to one; the rest is left out."""

    pairs: tuple[ExplainedPair, ...]
    left_out: int = 0

    @property
    def by_pair(self) -> dict[frozenset[str], ExplainedPair]:
        """The pairs by their two variables."""
        return {frozenset((pair.x, pair.y)): pair for pair in self.pairs}


@dataclass(frozen=True)
class EdgeStrength:
    """How certain an edge is, and its direction, if that is known."""

    source: str
    target: str
    type: str
    strength: float
    directions: Directions | None = None

    def towards(self, target: str) -> Directions | None:
        """Return its directions, forward being that to one of its ends."""
        if self.directions is None or target == self.target:
            return self.directions
        return self.directions.turned()


@dataclass(frozen=True)
class Strengths:
    """The edges of an averaged graph with a strength, the strongest first."""

    edges: tuple[EdgeStrength, ...]
    threshold: float | None
    """The least strength that an edge needed to be in the graph, if it is known."""
    nodes: frozenset[str] = frozenset()
    unmeasured: frozenset[frozenset[str]] = frozenset()
    """The ends of edges of the graph that have no strength."""

    @functools.cached_property
    def by_pair(self) -> dict[frozenset[str], EdgeStrength]:
        """The edges by their ends."""
        return {frozenset((edge.source, edge.target)): edge for edge in self.edges}

    def is_below(self, x: str, y: str) -> bool:
        """Whether an edge is known to be weaker than those of the graph, as it has none."""
        pair = frozenset((x, y))
        return pair <= self.nodes and pair not in self.by_pair and pair not in self.unmeasured


@dataclass(frozen=True)
class Scores:
    """How well the graph fits the data, or why that cannot be said."""

    graph: ScoredGraph | None = None
    log_likelihood: float | None = None
    """Of the data under the model as it is."""
    rows: float = 0
    folds: int | None = None
    why_not: str | None = None


@dataclass(frozen=True)
class InputFile:
    """A file that the report was made from."""

    role: str
    name: str
    digest: str | None


@dataclass(frozen=True)
class ReportContent:
    """All facts of a report; what is None was not asked for."""

    title: str
    net: BayesNet | MarkovNet
    data: str
    model: str
    rows: int
    """Those that are counted."""
    columns: Sequence[Column]
    check: CheckReport | None
    scores: Scores
    information: Information | None = None
    tests: ExplainedPairs | None = None
    strengths: Strengths | None = None
    inputs: Sequence[InputFile] = ()
    rows_left_out: int = 0
    """Those with missing values, where these are dropped."""
    unchecked: str = ""
    """Why there is no check."""
    fitted_on: bool | None = None
    """Whether the model was fitted on these rows, if that is known."""
