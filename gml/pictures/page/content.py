"""What a report is about: plain facts, gathered before anything is drawn."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.data.number_summary import NumberSummary
from gml.gate.result import CheckReport
from gml.model.bayesnet import BayesNet
from gml.scores.ranking import ScoredGraph


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
    """How much each two columns say about one another, in nats; infinite where that is all."""

    names: tuple[str, ...]
    values: NDArray[np.float64]
    is_gaussian: bool = False

    @functools.cached_property
    def _places(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.names)}

    def between(self, x: str, y: str) -> float | None:
        """Return the mutual information of two columns, if both are there and it is finite."""
        i, j = self._places.get(x), self._places.get(y)
        if i is None or j is None or not np.isfinite(self.values[i, j]):
            return None
        return float(self.values[i, j])


@dataclass(frozen=True)
class ExplainedPair:
    """Why two variables have an edge in the graph that was learned, or none."""

    x: str
    y: str
    adjacent: bool
    sentences: tuple[str, ...]
    given: tuple[str, ...] = ()
    log10_p: float | None = None
    """Of the test that came closest to separating them, or that did, given these variables."""


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
    """How certain an edge is, and its direction."""

    source: str
    target: str
    type: str
    strength: float
    direction: float | None = None
    """The share of the graphs with this edge in which it points from its source to its target."""

    def towards(self, target: str) -> float | None:
        """Return the share of those in which the edge points to one of its ends."""
        if self.direction is None or target == self.target:
            return self.direction
        return 1 - self.direction


@dataclass(frozen=True)
class Strengths:
    """The edges of an averaged graph, the strongest first, and the least strength it asked for."""

    edges: tuple[EdgeStrength, ...]
    threshold: float | None
    """None where the file does not say it."""

    @property
    def by_pair(self) -> dict[frozenset[str], EdgeStrength]:
        """The edges by their ends."""
        return {frozenset((edge.source, edge.target)): edge for edge in self.edges}


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
    net: BayesNet
    data: str
    model: str
    rows: int
    columns: Sequence[Column]
    check: CheckReport | None
    scores: Scores
    information: Information | None = None
    tests: ExplainedPairs | None = None
    strengths: Strengths | None = None
    inputs: Sequence[InputFile] = ()
    unchecked: str = ""
    """Why there is no check."""
    fitted_on: bool | None = None
    """Whether the model was fitted on these rows, if that is known."""
