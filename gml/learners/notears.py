"""Linear DAGs by continuous optimisation: NOTEARS (Zheng et al. 2018) in the form of DAGMA.

Bello, Aragam & Ravikumar (2022, NeurIPS 35:8226). W_ij is the weight of i → j, S the matrix of
correlations or covariances. Algorithm 1 minimises, for μ = 1, 0.1, …, 10⁻⁴ and s = 1, 0.9, …, 0.6,
each time from where it was,

    μ·(½ tr((I − W)ᵀ·S·(I − W)) + λ·Σ|W_ij|) + h(W),   h(W) = −ln det(sI − W∘W) + d ln s,

which is 0 for acyclic graphs and positive for others as long as sI − W∘W is an M-matrix, that is,
has no negative entry in its inverse. Weights below the threshold, 0.3, are then left out.

We deviate in how each is minimised: not by tens of thousands of steps of Adam, but by proximal
gradient steps with the step size of Barzilai & Borwein (1988), each entry in units of its own
curvature μ·S_ii + 2·[(sI − W∘W)⁻¹]_ji, and halved until the matrix is an M-matrix and the objective
falls. Weights that the penalty makes 0 are 0. Two standardised columns alone are the same in both
directions, and only rounding would choose one: where a stage begins, weights from earlier names to
later ones are raised by a thousandth, and the others lowered, so that ties break by name. Where the
graph still has a cycle, the threshold is raised to the least weight that leaves none: weights have
to exceed it then.

There are many local minima, and least squares follows variances: with errors of equal variance the
raw columns' variances rise along the arrows, and that is what is found (Reisach, Seiler & Weichwald
2021, NeurIPS 34:27772). `varsortability` is their measure, with the graph that was found in place
of the true one: the share, among all pairs joined by a path of k arrows, for every k, of those
whose raw variance rises, equal ones counting half. Columns are standardised by default.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.counts.correlations import correlations_of, deviations_of
from gml.counts.counter import Counter
from gml.data.column_kinds import require_kinds
from gml.data.problems import require_moderate
from gml.errors import UsageError, counted, parameter
from gml.graph.equivalence import as_chosen
from gml.graph.graph import Graph, require_marks
from gml.graph.order import find_cycle
from gml.kernel.blas import one_blas_thread
from gml.learners.checked_input import require_variance
from gml.parameters import NUMBERS
from gml.progress import Count, Deadline, reporter
from gml.resources import require_memory
from gml.synonyms import AnswersSynonyms

Matrix = NDArray[np.float64]

DEFAULT_L1 = 0.03
DEFAULT_THRESHOLD = 0.3
_STAGES = ((1.0, 1.0), (0.1, 0.9), (0.01, 0.8), (0.001, 0.7), (0.0001, 0.6))
_MOST_STEPS = 20_000
# Steps in a row that may change no weight by more than this.
_SMALL, _SMALL_STEPS = 1e-7, 5
_HALVINGS = 60
_DECREASE = 1e-4
_ROUNDING = 1e-15
_LARGEST_STEP, _SMALLEST_STEP = 1e4, 1e-6
# Entries of an inverse that ought to be 0 may be so far below.
_NEGATIVE = -1e-12
_EQUAL_VARIANCES = 1e-9
# How much more weights from earlier names to later ones are worth at the start of a stage.
_LEAN = 1e-3
_MATRICES = 24


@dataclass(frozen=True)
class NotearsResult(AnswersSynonyms):
    """The DAG, and the weights behind it."""

    graph: Graph
    """Edges carry their `weight`."""
    weights: Matrix
    """All weights, from row to column, before the threshold, in the order of the graph."""
    threshold: float
    """The one in force, which cycles may have raised."""
    varsortability: float | None
    """Of this graph and the raw variances; None without edges."""
    acyclicity: float
    """h of all weights: 0 where these are acyclic."""
    steps: int
    complete: bool = True


@dataclass(frozen=True)
class NotearsSettings:
    """What the search may be told, checked before there are data."""

    l1: float = DEFAULT_L1
    threshold: float = DEFAULT_THRESHOLD
    raw: bool = False

    def __post_init__(self) -> None:
        for name, value in (("l1", self.l1), ("threshold", self.threshold)):
            if not 0 <= value < math.inf:
                raise UsageError(f"{parameter(name)} must be 0 or more and finite, not {value}")


def notears(
    counter: Counter,
    settings: NotearsSettings | None = None,
    *,
    deadline: Deadline | None = None,
) -> NotearsResult:
    """Learn a linear DAG of numeric columns by continuous optimisation.

    Parameters
    ----------
    counter : Counter
        The engine over the data.
    settings : NotearsSettings, optional
        The penalty, the threshold, and whether columns stay as they are.
    deadline : Deadline, optional
        When to stop with the weights so far.

    Examples
    --------
    >>> import gml
    >>> names = ["environment", "vegetative", "weight"]
    >>> data = gml.read("sample_data/crops.csv", columns=names, numeric=names)
    >>> found = notears(gml.MemoryCounter(data))
    >>> found.graph.kind, found.graph.n_edges
    ('dag', 2)
    """
    settings, deadline = settings or NotearsSettings(), deadline or Deadline()
    require_kinds("notears", (NUMBERS,), counter.variables)
    names = [variable.name for variable in counter.variables]
    size = len(names)
    require_marks(size)
    require_memory(_MATRICES * 8 * size**2, None, f"the weights of {counted(size, 'column')}")
    positions = counter.order.positions.tolist()
    moments = counter.moments(positions)
    require_variance(moments, [names[j] for j in positions])
    deviations = deviations_of(moments)
    require_moderate([names[j] for j in positions], deviations.tolist(), "this search")
    matrix = correlations_of(moments)
    if settings.raw:
        matrix = matrix * np.outer(deviations, deviations)
    path = _follow(matrix, settings.l1, deadline)
    kept, threshold = acyclic_part(path.weights, settings.threshold)
    weights = np.zeros((size, size))
    weights[np.ix_(positions, positions)] = path.weights
    edges = [
        (names[positions[i]], "-->", names[positions[j]], {"weight": float(path.weights[i, j])})
        for i, j in zip(*np.nonzero(kept), strict=True)
    ]
    return NotearsResult(
        as_chosen(Graph.from_edges(names, edges, kind="dag", numeric=names)),
        weights,
        threshold,
        varsortability(kept, deviations**2),
        path.acyclicity,
        path.steps,
        path.complete,
    )


def acyclic_part(weights: Matrix, threshold: float) -> tuple[NDArray[np.bool_], float]:
    """Return which weights are kept, and the threshold, raised until these have no cycle.

    Weights that reach the threshold are kept; once it is raised, those that exceed it.

    Examples
    --------
    >>> kept, threshold = acyclic_part(np.array([[0, 0.9, 0], [0.4, 0, 0.7], [0, 0, 0]]), 0.3)
    >>> threshold, kept.tolist()
    (0.4, [[False, True, False], [False, False, True], [False, False, False]])
    """
    sizes = np.abs(weights)
    kept = (sizes >= threshold) & (sizes > 0)
    if not _has_cycle(kept):
        return kept, threshold
    levels = np.unique(sizes[kept])
    low, high = 0, len(levels) - 1
    while low < high:
        middle = (low + high) // 2
        if _has_cycle(sizes > levels[middle]):
            low = middle + 1
        else:
            high = middle
    return sizes > levels[low], float(levels[low])


def _has_cycle(joined: NDArray[np.bool_]) -> bool:
    return find_cycle([f"{j:09}" for j in range(len(joined))], joined) is not None


def varsortability(joined: NDArray[np.bool_], variances: Matrix) -> float | None:
    """Return the share of paths along which variances rise; None without a path.

    Examples
    --------
    >>> chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    >>> varsortability(chain, np.array([1.0, 2.0, 3.0]))
    1.0
    >>> varsortability(chain, np.array([1.0, 1.0, 1.0]))
    0.5
    """
    ratios = variances[None, :] / variances[:, None]
    points = np.where(ratios > 1 + _EQUAL_VARIANCES, 1.0, 0.0)
    points[np.abs(ratios - 1) <= _EQUAL_VARIANCES] = 0.5
    paths, rising, total = joined, 0.0, 0
    while paths.any():
        rising += float(points[paths].sum())
        total += int(paths.sum())
        paths = (paths.astype(np.float64) @ joined.astype(np.float64)) > 0
    return rising / total if total else None


class _Followed(NamedTuple):
    weights: Matrix
    acyclicity: float
    steps: int
    complete: bool


def _follow(matrix: Matrix, l1: float, deadline: Deadline) -> _Followed:
    """Follow the central path."""
    weights, steps, complete = np.zeros_like(matrix), 0, True
    lean = 1 + _LEAN * np.sign(np.triu(np.ones_like(matrix)) - np.tril(np.ones_like(matrix)))
    with one_blas_thread(), reporter().counting("stages", len(_STAGES)) as count:
        for number, (mu, s) in enumerate(_STAGES):
            stage = _Stage(matrix, mu, s, l1)
            weights, complete = stage.minimised(weights * lean, deadline, count, number)
            steps += stage.steps
            if not complete:
                break
            count(number + 1)
    final = _Stage(matrix, 0.0, 1.0, l1).at(weights)
    # Outside the domain of s = 1, h is infinite.
    return _Followed(weights, math.inf if final is None else max(0.0, final.value), steps, complete)


class _Point(NamedTuple):
    """Weights, the objective without the penalty on them, and what its derivatives need."""

    weights: Matrix
    value: float
    gradient: Matrix
    inverse: Matrix


class _Stage:
    """The objective for one μ and s."""

    def __init__(self, matrix: Matrix, mu: float, s: float, l1: float) -> None:
        self._matrix, self._mu, self._s = matrix, mu, s
        self._penalty = mu * l1
        self._identity = np.eye(len(matrix))
        self._variances = np.diagonal(matrix)[:, None]
        self.steps = 0

    def at(self, weights: Matrix) -> _Point | None:
        """Return the objective at some weights; None outside its domain."""
        m_matrix = self._s * self._identity - weights * weights
        sign, log_determinant = np.linalg.slogdet(m_matrix)
        if sign <= 0:
            return None
        inverse: Matrix = np.linalg.inv(m_matrix).astype(np.float64, copy=False)
        if inverse.min() < _NEGATIVE:
            return None
        left = self._identity - weights
        fitted = self._matrix @ left
        h = len(weights) * math.log(self._s) - float(log_determinant)
        value = 0.5 * self._mu * float(np.sum(left * fitted)) + h
        gradient = 2 * weights * inverse.T - self._mu * fitted
        np.fill_diagonal(gradient, 0.0)
        return _Point(weights, value, gradient, inverse)

    def minimised(
        self, weights: Matrix, deadline: Deadline, count: Count, number: int
    ) -> tuple[Matrix, bool]:
        """Go down from some weights; returns where that ends, and whether there was time for it."""
        point = self.at(weights)
        if point is None:
            # The domain shrinks with s: what no longer fits is brought into it.
            return self.minimised(weights * 0.9, deadline, count, number)
        size, still = 0.5, 0
        while self.steps < _MOST_STEPS and still < _SMALL_STEPS:
            if deadline.passed:
                return point.weights, False
            if self.steps % 100 == 0:
                count(number, f"step {self.steps}")
            curvature = self._mu * self._variances + 2 * np.maximum(point.inverse.T, 0.0)
            moved = self._step(point, curvature, size)
            if moved is None:
                break
            self.steps += 1
            change = moved.weights - point.weights
            still = still + 1 if float(np.abs(change).max(initial=0.0)) < _SMALL else 0
            length = float(np.sum(change * change * curvature))
            turned = float(np.sum(change * (moved.gradient - point.gradient)))
            size = length / turned if turned > 0 and length > 0 else 2 * size
            size = min(max(size, _SMALLEST_STEP), _LARGEST_STEP)
            point = moved
        return point.weights, True

    def _step(self, point: _Point, curvature: Matrix, size: float) -> _Point | None:
        """Take a step of at most this size; None if none helps."""
        before = self._whole(point)
        for _ in range(_HALVINGS):
            scaled = size / curvature
            aim = point.weights - scaled * point.gradient
            there = np.sign(aim) * np.maximum(np.abs(aim) - scaled * self._penalty, 0.0)
            np.fill_diagonal(there, 0.0)
            moved = self.at(there)
            if moved is not None:
                change = there - point.weights
                least = _DECREASE / (2 * size) * float(np.sum(change * change * curvature))
                if self._whole(moved) <= before - least + _ROUNDING * abs(before):
                    return moved
            size /= 2
        return None

    def _whole(self, point: _Point) -> float:
        return point.value + self._penalty * float(np.abs(point.weights).sum())
