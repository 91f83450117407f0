"""The graphical lasso: a sparse undirected graph of numbers (Friedman, Hastie & Tibshirani 2008).

Columns i and j are joined where the penalised precision matrix Θ has an entry that is not 0
(`gml.learners.sparse_precision` finds it, `gml.learners.penalty_choice` the penalty). S is the
matrix of correlations, or with `raw` of covariances SSE/n, from exact moments; the diagonal is not
penalised. `transform="rank"` takes 2·sin(π·ρ_S/6) for the correlations, `normal` those of normal
scores (`gml.counts.rank_correlations`); a matrix with negative eigenvalues has these raised to 0.
Folds of ranks are ranked on their own, and their loss is that of normal columns with these
correlations; normal scores are those of all rows.

An edge has −Θ_ij/√(Θ_ii·Θ_jj), the partial correlation of its ends given all other columns. Where
the penalty is chosen, Θ is the maximum-likelihood estimate on the graph that it gives (`refit`);
where it is given, Θ is the penalised estimate, with partial correlations nearer to 0.

A column with only one value is an error. Columns that determine one another are no problem for a
penalty above 0; without a penalty they are an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.counts.correlations import correlations_of, deviations_of
from gml.counts.counter import Counter, Moments
from gml.counts.exact_moments import moments_of
from gml.counts.rank_correlations import (
    rank_correlations,
    rank_transformed,
    without_negative_eigenvalues,
)
from gml.data.column_kinds import require_kinds
from gml.data.dataset import Dataset
from gml.data.problems import require_moderate
from gml.data.resampling import folds as folds_of
from gml.errors import (
    CannotAnswer,
    DataError,
    UsageError,
    counted,
    listing,
    parameter,
    quote,
    require_one_of,
    require_whole,
)
from gml.graph.graph import Graph, require_marks
from gml.learners.checked_input import constant_among, require_variance
from gml.learners.penalty_choice import PathPoint, Rule, Sample, Split, walk_path
from gml.parameters import NUMBERS, TRANSFORMS
from gml.progress import Deadline, reporter
from gml.resources import available_threads, require_memory
from gml.synonyms import AnswersSynonyms

Matrix = NDArray[np.float64]

CRITERIA = ("ebic", "folds")
MOST_PENALTIES = 10_000
# Matrices of all columns that one estimate holds at a time.
_MATRICES = 24
# The share of its variance that a column may have left given others, to be no function of them.
_COLLINEAR = 1e-12
_DOWN_TO, _DOWN_TO_WITH_FEW_ROWS = 0.001, 0.1


@dataclass(frozen=True)
class GlassoResult(AnswersSynonyms):
    """The graph, the precision matrix behind it, and the path of penalties."""

    graph: Graph
    """Edges carry `partial_correlation` and `precision`, their entry of the matrix."""
    precision: Matrix
    """Of the columns in the order of the graph: standardised ones, unless `raw`."""
    l1: float
    """The penalty chosen, or given."""
    path: tuple[PathPoint, ...]
    """All penalties, from the largest."""
    best: int
    """Which of them was chosen."""
    least_eigenvalue: float | None = None
    """That of the correlations of ranks, if it had to be raised to 0."""
    complete: bool = True

    @property
    def chosen(self) -> PathPoint:
        """What is known of the penalty chosen."""
        return self.path[self.best]

    @property
    def gap(self) -> float:
        """How far the penalised objective is above its minimum, at most: nats per row, twice."""
        return self.chosen.gap


@dataclass(frozen=True)
class GlassoSettings:
    """What a graphical lasso may be told, checked before there are data."""

    l1: float | None = None
    criterion: str = "ebic"
    gamma: float = 0.5
    folds: int = 10
    seed: int = 0
    n_penalties: int = 100
    raw: bool = False
    transform: str = "none"
    refit: bool | None = None
    """Whether graphs are fitted again without a penalty: where it is chosen, by default."""

    @property
    def refits(self) -> bool:
        """Whether graphs are fitted again without a penalty."""
        return self.l1 is None if self.refit is None else self.refit

    def __post_init__(self) -> None:
        require_one_of("criterion", self.criterion, CRITERIA)
        require_one_of("transform", self.transform, TRANSFORMS)
        require_whole(2, folds=self.folds, n_penalties=self.n_penalties)
        if self.n_penalties > MOST_PENALTIES:
            raise UsageError(
                f"{parameter('n_penalties')} must be at most {MOST_PENALTIES}, not "
                f"{self.n_penalties}"
            )
        for name, value in (("gamma", self.gamma), ("l1", self.l1)):
            if value is not None and not 0 <= value < math.inf:
                raise UsageError(f"{parameter(name)} must be 0 or more and finite, not {value}")
        if self.raw and self.transform != "none":
            raise UsageError(
                f"{parameter('raw')} and {parameter('transform', self.transform)} contradict each "
                "other: ranks have no units"
            )


def graphical_lasso(
    counter: Counter,
    settings: GlassoSettings | None = None,
    *,
    threads: int | None = None,
    deadline: Deadline | None = None,
) -> GlassoResult:
    """Learn a sparse undirected graph of numeric columns.

    Parameters
    ----------
    counter : Counter
        The engine over the data; ranks and folds need one with rows.
    settings : GlassoSettings, optional
        The penalty, or how it is chosen, and what is penalised.
    threads : int, optional
        Folds estimated at the same time; by default one per core.
    deadline : Deadline, optional
        When to stop with the penalties looked at so far.

    Examples
    --------
    >>> import gml
    >>> names = ["number", "weight", "crop"]
    >>> data = gml.read("sample_data/crops.csv", columns=names, numeric=names)
    >>> found = graphical_lasso(gml.MemoryCounter(data), GlassoSettings(l1=0.1))
    >>> found.graph.kind, found.graph.n_edges, found.precision.round(4).tolist()[0]
    ('undirected', 3, [1.0604, 0.0324, -0.2715])
    """
    settings = settings or GlassoSettings()
    require_kinds("glasso", (NUMBERS,), counter.variables)
    if counter.missing:
        raise UsageError(
            f"correlations need the same rows in all columns: use {parameter('missing', 'drop')}"
        )
    names = [variable.name for variable in counter.variables]
    require_marks(len(names))
    estimates = 1 + settings.folds * (settings.criterion == "folds")
    room = _MATRICES * estimates * 8 * len(names) ** 2
    require_memory(room, None, f"the precision matrices of {counted(len(names), 'column')}")
    positions = counter.order.positions.tolist()
    sample, least = _sample(counter, positions, settings)
    penalties = _penalties(sample, settings)
    if penalties[-1] == 0:
        _require_regular(sample.correlations, [names[j] for j in positions])
    splits = _splits(counter, positions, settings) if settings.criterion == "folds" else []
    rule = Rule(settings.criterion, settings.gamma, settings.refits, threads or available_threads())
    path = walk_path(sample, penalties, rule, splits, deadline)
    if path.chosen is None or path.best is None:
        raise _no_estimate(path.complete)
    precision = np.empty_like(path.chosen.precision)
    precision[np.ix_(positions, positions)] = path.chosen.precision / sample.scale
    return GlassoResult(
        _graph(names, positions, precision),
        precision,
        path.points[path.best].l1,
        tuple(path.points),
        path.best,
        least,
        path.complete,
    )


def _no_estimate(is_over: bool) -> CannotAnswer:
    if not is_over:
        return CannotAnswer(f"{parameter('max_seconds')} ran out before the first penalty was done")
    return CannotAnswer(
        f"{parameter('refit')}: too few rows to fit this graph without a penalty; leave "
        f"{parameter('refit')} out, or raise {parameter('l1')}"
    )


def _sample(
    counter: Counter, positions: list[int], settings: GlassoSettings
) -> tuple[Sample, float | None]:
    """All rows, the columns in the order of their names; the least eigenvalue of ranks."""
    n, names = float(counter.n), [counter.variables[j].name for j in positions]
    if settings.transform == "none":
        moments = counter.moments(positions)
        require_variance(moments, names)
        deviations = deviations_of(moments)
        if settings.raw or not deviations.all():
            require_moderate(names, deviations.tolist(), "glasso", 1e150)
        return _sample_of(moments, n, settings.raw), None
    rows = counter.require_rows(parameter("transform", settings.transform))
    if settings.transform == "normal":
        moments = moments_of(rank_transformed(rows, positions, "normal"), positions)
        require_variance(moments, names)
        return _unitless(correlations_of(moments), n), None
    require_variance(moments_of(rows, positions), names)
    matrix = rank_correlations(rows, positions)
    fixed = without_negative_eigenvalues(matrix)
    return _unitless(fixed.matrix, n), None if fixed.matrix is matrix else fixed.least


def _sample_of(moments: Moments, n: float, is_raw: bool) -> Sample:
    return Sample(n, correlations_of(moments), deviations_of(moments), is_raw)


def _unitless(correlations: Matrix, n: float) -> Sample:
    return Sample(n, correlations, np.ones(len(correlations)))


def _penalties(sample: Sample, settings: GlassoSettings) -> list[float]:
    """The penalties to look at, from the largest."""
    if settings.l1 is not None:
        return [settings.l1]
    largest = sample.largest
    if largest == 0:
        return [0.0]
    few = sample.n <= len(sample.correlations)
    ratio = _DOWN_TO_WITH_FEW_ROWS if few else _DOWN_TO
    steps = np.arange(settings.n_penalties) / (settings.n_penalties - 1)
    return [largest, *(largest * ratio**step for step in steps[1:].tolist())]


def _require_regular(correlations: Matrix, names: list[str]) -> None:
    """Refuse columns that determine one another, where nothing is penalised."""
    size = len(names)
    left = correlations.copy()
    for k in range(size):
        if left[k, k] <= _COLLINEAR:
            others = np.linalg.lstsq(correlations[:k, :k], correlations[:k, k], rcond=1e-9)[0]
            used = [names[j] for j in range(k) if abs(others[j]) > 1e-6]
            raise DataError(
                f"column {quote(names[k])} is a linear function of {listing(used)}, so there is no "
                f"estimate without a penalty; leave one out ({parameter('exclude')}), or raise "
                f"{parameter('l1')} above 0"
            )
        left -= np.outer(left[:, k], left[k]) / left[k, k]


def _splits(counter: Counter, positions: list[int], settings: GlassoSettings) -> list[Split]:
    rows = counter.require_rows(parameter("criterion", "folds"))
    names = [counter.variables[j].name for j in positions]
    found = []
    if settings.transform == "normal":
        rows = rank_transformed(rows, positions, "normal")
    for rest, fold in folds_of(rows, settings.folds, seed=settings.seed):
        found.append(_split(rest, fold, positions, names, settings))
    return found


def _split(
    rest: Dataset, fold: Dataset, positions: list[int], names: list[str], settings: GlassoSettings
) -> Split:
    learned, tested = moments_of(rest, positions), moments_of(fold, positions)
    if constant := constant_among(learned, names):
        raise CannotAnswer(
            f"outside a fold there is only one value of {listing(constant)}; use fewer "
            f"{parameter('folds')}, or {parameter('criterion', 'ebic')}"
        )
    if settings.transform == "rank":
        matrix = without_negative_eigenvalues(rank_correlations(rest, positions)).matrix
        held_out = rank_correlations(fold, positions)
        return Split(_unitless(matrix, float(learned.n)), held_out, float(tested.n))
    sample = _sample_of(learned, float(learned.n), settings.raw)
    away = (np.array(tested.means) - np.array(learned.means)) / sample.deviations
    spread = deviations_of(tested) / sample.deviations
    held_out = correlations_of(tested) * np.outer(spread, spread) + np.outer(away, away)
    return Split(sample, held_out, float(tested.n))


def _graph(names: list[str], positions: list[int], precision: Matrix) -> Graph:
    """Join the columns whose entry is not 0, ends in the order of names."""
    diagonal = np.sqrt(np.diagonal(precision))
    edges = []
    for number, i in enumerate(positions):
        for j in positions[number + 1 :]:
            entry = float(precision[i, j])
            if entry != 0:
                partial = -entry / float(diagonal[i] * diagonal[j])
                about = {"partial_correlation": partial, "precision": entry}
                edges.append((names[i], "---", names[j], about))
    return Graph.from_edges(names, edges, kind="undirected", numeric=names)


def tell_of(result: GlassoResult) -> None:
    """Say which penalty was chosen, and how."""
    chosen, edges = result.chosen, counted(result.chosen.edges, "edge")
    by = f"eBIC {chosen.ebic:.6f}"
    if chosen.loss is not None:
        by = f"held-out loss {chosen.loss:.6f}"
    reporter().tell(
        f"l1 {chosen.l1:.6g} of {len(result.path)} looked at: {edges}, {by}, "
        f"duality gap {chosen.gap:.1g}"
    )
