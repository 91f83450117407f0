"""Which penalty of a graphical lasso: a path of precision matrices, and what is said of each.

The likelihood is that of n rows with correlations R and standard deviations s_i (divisor n),

    l(Θ) = −(n/2)·(p ln 2π + 2 Σ ln s_i − ln det Θ + tr(RΘ)),

Θ being on the scale of R. With k edges among p columns,

    eBIC = −2 l(Θ) + k ln n + 4γ k ln p   (Foygel & Drton 2010, eq. 1)

at the Θ that is fitted again to the graph of a penalty without it, as the paper has it, or at the
penalised Θ, as qgraph and huge have it, which takes far too many edges: what the penalty takes from
strong edges, only a smaller penalty gives back. Of equal values the larger penalty wins. The path
goes from the smallest penalty without an edge in equal ratios to a thousandth of it, or a tenth
where there are no more rows than columns. It ends before where

- the edges of a graph cost more than the likelihood of the complete graph could still make up for,
  as graphs below hardly ever have fewer;
- with fits without a penalty, ten graphs in a row had more than twice the edges of the best so far,
  and ten more; or there is no such fit, or a column has as many neighbours as half the rows, when
  the likelihood grows without bound.

Held-out loss: the mean of −ln p over the rows of a fold, standardised with the means and deviations
of the other rows; choice by one standard error (Breiman et al. 1984, section 3.4.3): the largest
penalty within one of the smallest mean. A fold is penalised in the same units as all rows. The path
ends before where ten penalties in a row had losses more than one standard error above the smallest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gml.kernel.blas import one_blas_thread
from gml.kernel.pool import in_order
from gml.learners.sparse_precision import SparsePrecision, sparse_precision
from gml.progress import Deadline, reporter

Matrix = NDArray[np.float64]

# Where the estimate without a penalty does not exist, Newton's steps lead further and further away.
_NO_ESTIMATE_GAP = 1e-6
_FAR = 1e8
# How many penalties in a row have to look hopeless.
_PAST = 10


@dataclass(frozen=True)
class Sample:
    """Rows as an estimate sees them: correlations, and the deviations behind them."""

    n: float
    correlations: Matrix
    deviations: Matrix
    """Standard deviations by which the columns were divided; ones where there are no units."""
    is_raw: bool = False
    """Whether the penalty is in units of the covariances."""

    @property
    def largest(self) -> float:
        """The smallest penalty without an edge."""
        size = len(self.correlations)
        covariances = np.abs(self.correlations * self.scale)
        return float(covariances[~np.eye(size, dtype=bool)].max(initial=0.0))

    @property
    def scale(self) -> Matrix:
        """What a correlation is multiplied by in the units of the penalty."""
        if self.is_raw:
            return np.outer(self.deviations, self.deviations)
        return np.ones_like(self.correlations)

    def penalties(self, l1: float) -> Matrix:
        """Return the penalty of each correlation; the diagonal is free."""
        found = l1 / self.scale
        np.fill_diagonal(found, 0.0)
        return found

    def log_likelihood(self, precision: Matrix, log_determinant: float) -> float:
        """Return l(Θ)."""
        return -self.n * self.loss(precision, log_determinant, self.correlations)

    def loss(self, precision: Matrix, log_determinant: float, moments: Matrix) -> float:
        """The mean of −ln p over rows with these second moments, in these units."""
        constant = len(precision) * math.log(2 * math.pi)
        constant += 2 * math.fsum(np.log(self.deviations).tolist())
        return 0.5 * (constant - log_determinant + float(np.sum(moments * precision)))


@dataclass(frozen=True)
class Split:
    """A fold: the rows to learn from, and the second moments of the others in their units."""

    rest: Sample
    held_out: Matrix
    size: float


@dataclass(frozen=True)
class PathPoint:
    """What is known of one penalty."""

    l1: float
    edges: int
    log_likelihood: float
    ebic: float
    gap: float
    """How far the penalised objective is above its minimum, at most."""
    loss: float | None = None
    """The mean held-out loss of a row."""
    error: float | None = None
    """The standard error of that, over the folds."""


@dataclass(frozen=True)
class Rule:
    """How a penalty is chosen."""

    criterion: str = "ebic"
    gamma: float = 0.5
    refit: bool = False
    threads: int = 1


@dataclass
class _Walk:
    """One sample on its way down the path."""

    sample: Sample
    refits: bool
    latest: SparsePrecision | None = None
    fitted: SparsePrecision | None = None

    def to(self, l1: float, deadline: Deadline) -> SparsePrecision | None:
        """Return the estimate at a penalty; None if there was no time for it, or if it is none."""
        start = None if self.latest is None else self.latest.precision
        correlations = self.sample.correlations
        penalised = sparse_precision(
            correlations, self.sample.penalties(l1), start=start, deadline=deadline
        )
        if not penalised.is_wanted:
            return None
        before, self.latest = self.latest, penalised
        if not self.refits:
            self.fitted = penalised
            return penalised
        if before is not None and self.fitted is not None and _same_graph(before, penalised):
            return self.fitted
        neighbours = int(np.count_nonzero(penalised.precision, axis=0).max()) - 1
        if 2 * (neighbours + 1) > self.sample.n:
            return None
        free = np.where(penalised.precision != 0, 0.0, math.inf)
        fitted = sparse_precision(correlations, free, start=penalised.precision, deadline=deadline)
        if not fitted.is_wanted or fitted.gap > _NO_ESTIMATE_GAP:
            return None
        if float(np.max(np.abs(fitted.precision))) > _FAR:
            return None
        self.fitted = fitted
        return fitted


def _same_graph(a: SparsePrecision, b: SparsePrecision) -> bool:
    return bool(np.array_equal(a.precision != 0, b.precision != 0))


@dataclass
class Path:
    """The penalties looked at, and the estimate at the one chosen so far."""

    points: list[PathPoint] = field(default_factory=list)
    best: int | None = None
    chosen: SparsePrecision | None = None
    complete: bool = True


def walk_path(
    sample: Sample,
    penalties: Sequence[float],
    rule: Rule,
    splits: Sequence[Split] = (),
    deadline: Deadline | None = None,
) -> Path:
    """Estimate one penalty after the other, from the largest, and choose one of them."""
    deadline = deadline or Deadline()
    path = Path()
    walks = [_Walk(one, rule.refit) for one in (sample, *(split.rest for split in splits))]
    cost = math.log(max(sample.n, 1)) + 4 * rule.gamma * math.log(max(len(sample.correlations), 1))
    most = None if splits else _most_likelihood(sample)
    losses: list[list[float]] = []
    threads = max(1, min(rule.threads, len(walks)))
    with one_blas_thread(), reporter().counting("penalties", len(penalties)) as count:
        for number, l1 in enumerate(penalties):
            found = list(in_order(partial(_Walk.to, l1=l1, deadline=deadline), walks, threads))
            if found[0] is None or any(one is None for one in found):
                path.complete = not deadline.passed
                break
            point = _described(sample, found[0], walks[0], l1, cost)
            if splits:
                losses.append(_held_out(splits, found[1:]))
                point = _with_losses(point, losses[-1], splits)
            path.points.append(point)
            if not splits and _best_ebic(path.points) == number:
                path.best, path.chosen = number, found[0]
            count(number + 1)
            if _is_past(path.points) if splits else _is_beyond(path.points, cost, most):
                break
            if rule.refit and not splits and _is_crowded(path.points):
                break
    if splits and path.points:
        # All estimates would take more memory than the one chosen takes time.
        path.best = _best_fold(path.points)
        path.chosen = _Walk(sample, rule.refit).to(path.points[path.best].l1, Deadline())
    return path


def _described(
    sample: Sample, found: SparsePrecision, walk: _Walk, l1: float, cost: float
) -> PathPoint:
    edges = (int(np.count_nonzero(found.precision)) - len(found.precision)) // 2
    likelihood = sample.log_likelihood(found.precision, found.log_determinant)
    assert walk.latest is not None
    return PathPoint(l1, edges, likelihood, -2 * likelihood + cost * edges, walk.latest.gap)


def _most_likelihood(sample: Sample) -> float | None:
    """The likelihood of the complete graph; None if there is no such estimate."""
    sign, log_determinant = np.linalg.slogdet(sample.correlations)
    if sign <= 0 or not math.isfinite(log_determinant):
        return None
    identity = np.eye(len(sample.correlations))
    return sample.log_likelihood(identity, -float(log_determinant))


def _is_beyond(points: Sequence[PathPoint], cost: float, most: float | None) -> bool:
    """Whether graphs with no fewer edges than the last cannot have the smallest eBIC."""
    if most is None:
        return False
    return cost * points[-1].edges - 2 * most > min(point.ebic for point in points)


def _is_crowded(points: Sequence[PathPoint]) -> bool:
    """Whether graphs have had many times the edges of the best one for a while."""
    most = 2 * points[_best_ebic(points)].edges + 10
    return len(points) > _PAST and all(point.edges > most for point in points[-_PAST:])


def _is_past(points: Sequence[PathPoint]) -> bool:
    """Whether the held-out loss has been clearly above its smallest value for a while."""
    means = np.array([point.loss for point in points], dtype=float)
    least = int(np.argmin(means))
    above = means > means[least] + (points[least].error or 0.0)
    return len(points) > _PAST and bool(above[-_PAST:].all())


def _best_ebic(points: Sequence[PathPoint]) -> int:
    return int(np.argmin([point.ebic for point in points]))


def _held_out(splits: Sequence[Split], found: Sequence[SparsePrecision | None]) -> list[float]:
    return [
        split.rest.loss(one.precision, one.log_determinant, split.held_out)
        for split, one in zip(splits, found, strict=True)
        if one is not None
    ]


def _with_losses(point: PathPoint, losses: Sequence[float], splits: Sequence[Split]) -> PathPoint:
    sizes = np.array([split.size for split in splits])
    mean = float(sizes @ np.array(losses) / sizes.sum())
    error = float(np.std(losses, ddof=1)) / math.sqrt(len(losses))
    return replace(point, loss=mean, error=error)


def _best_fold(points: Sequence[PathPoint]) -> int:
    """The largest penalty within one standard error of the smallest held-out loss."""
    means = np.array([point.loss for point in points], dtype=float)
    least = int(np.argmin(means))
    return int(np.argmax(means <= means[least] + (points[least].error or 0.0)))
