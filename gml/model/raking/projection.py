"""The weights nearest to given ones that have given margins: Newton's method on the dual.

Raking minimises Σ w ln(w/d) − w + d over weights w with A w = t, where A adds up the cells of each
margin: the projection of Csiszár (1975, Ann. Probab. 3:146), to which the sweeps of Deming &
Stephan (1940, Ann. Math. Stat. 11:427) converge. The solution is w = d F(Aᵀλ) with F = exp, and
with bounds L < w/d < U that of the logit distance of Deville & Särndal (1992, JASA 87:376):

    F(u) = L + (U − L) / (1 + exp(−(a u + c))),  a = (U − L) / ((1 − L)(U − 1)),
    c = ln((1 − L) / (U − 1))

λ maximises the concave λᵀt − Σ d ∫F(Aᵀλ), with gradient t − A w and Hessian −A diag(d F') Aᵀ.
Newton steps are quadratic near the solution, where sweeps are linear, and slow where margins nearly
contradict one another. Margins are redundant (each adds up to 1), so the Hessian is singular: it is
scaled to a unit diagonal and has 1e-10 added there, which only margins that nearly contradict
notice, by a few more steps; with many cells the steps come from conjugate gradients. A step is
halved while the slope at its end says that it went much too far. The end is a gap of at most 1e-12,
relative to each target, and one more step if that is better still. Margins that disagree by a
little, as rounded ones do, cannot all be met: they may be off by as much, and steps go on while
they help. Targets that contradict one another send some weights towards their limits without end:
the end is there once weights are far out and the gap no longer falls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gml.kernel.blas import one_blas_thread
from gml.model.raking.cells import CodedMargin
from gml.progress import reporter
from gml.resources import require_memory
from gml.stopping import check_stopped

CONVERGED = 1e-12
"""The largest gap of a target, relative to it."""
_MOST_STEPS = 200
_MOST_HALVINGS = 60
# |ln w/d|, or how far within its bounds a weight is, beyond what base weights span, from which a
# gap that does not fall, by so much in so many steps, is taken to stay.
_FAR = 40.0
_PATIENCE = 10
_FALL = 0.9
# The largest change of it that one step may make.
_STRIDE = 8.0
_RIDGE = 1e-10
_OVERSHOOT = -0.9
_MOST_DENSE = 1200

Vector = NDArray[np.float64]
_Function = Callable[[Vector], Vector]


@dataclass(frozen=True)
class Projection:
    """The ratio w/d of each cell, the steps until it converged, and the largest relative gap.

    The excess is what the gap has beyond that which a disagreement of the margins explains.
    """

    ratios: Vector
    steps: int
    gap: float
    excess: float

    @property
    def converged(self) -> bool:
        """Whether the margins are those asked for."""
        return self.excess <= CONVERGED


@dataclass(frozen=True)
class Ratio:
    """F and its derivative, and what a step of 1 in u moves."""

    of: _Function
    slope: _Function
    rate: float


def ratio_within(bounds: tuple[float, float] | None) -> Ratio:
    """Return F: exp, or the logistic function between two bounds.

    Examples
    --------
    >>> import numpy as np
    >>> [ratio_within(bounds).of(np.zeros(1)).round(12).tolist() for bounds in (None, (0.5, 3))]
    [[1.0], [1.0]]
    """
    if bounds is None:
        return Ratio(np.exp, np.exp, 1.0)
    low, high = bounds
    rate = (high - low) / ((1 - low) * (high - 1))
    shift = float(np.log((1 - low) / (high - 1)))

    def share(u: Vector) -> Vector:
        shifted = np.clip(rate * u + shift, -700.0, 700.0)
        found: Vector = 1 / (1 + np.exp(-shifted))
        return found

    def slope(u: Vector) -> Vector:
        # Of −|u|, as the rest to 1 of a share near 1 would be lost to rounding.
        tail = np.exp(-np.minimum(np.abs(rate * u + shift), 700.0))
        found: Vector = (high - low) * rate * tail / (1 + tail) ** 2
        return found

    return Ratio(lambda u: low + (high - low) * share(u), slope, rate)


class _Margins:
    """A and Aᵀ, without their matrix: all cells of all margins one after the other."""

    def __init__(self, margins: Sequence[CodedMargin]) -> None:
        sizes = [len(margin.labels) for margin in margins]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        self.targets = np.concatenate([margin.targets for margin in margins])
        self._of_cell = [margin.of_cell for margin in margins]
        self._sizes = sizes

    def sums(self, values: Vector) -> Vector:
        """A v."""
        parts = zip(self._of_cell, self._sizes, strict=True)
        return np.concatenate([np.bincount(at, values, minlength=size) for at, size in parts])

    def spread(self, multipliers: Vector) -> Vector:
        """Aᵀ λ."""
        found = np.zeros(len(self._of_cell[0]))
        for at, start in zip(self._of_cell, self.starts, strict=False):
            found += multipliers[start + at]
        return found

    def gram(self, values: Vector) -> Vector:
        """A diag(v) Aᵀ."""
        size = self.starts[-1]
        found = np.empty((size, size))
        for j, (at, width, start) in enumerate(
            zip(self._of_cell, self._sizes, self.starts, strict=False)
        ):
            for k in range(j, len(self._sizes)):
                other, first = self._sizes[k], self.starts[k]
                block = np.bincount(at * other + self._of_cell[k], values, minlength=width * other)
                table = block.reshape(width, other)
                found[start : start + width, first : first + other] = table
                found[first : first + other, start : start + width] = table.T
        return found


def project(
    base: Vector,
    margins: Sequence[CodedMargin],
    bounds: tuple[float, float] | None = None,
    *,
    disagreement: float = 0.0,
) -> Projection:
    """Return the ratios to base weights that give the margins their targets, all above 0.

    Every cell of every margin must have a cell with base weight. Where no weights do, the gap that
    is left says so. `disagreement` is by how much margins differ from one another where they
    should not, so that their targets can be met no better.
    """
    ratio, of = ratio_within(bounds), _Margins(margins)
    size = of.starts[-1]
    if size <= _MOST_DENSE:
        require_memory(4 * 8 * size**2, None, f"the equations of {size} targets")
    with np.errstate(divide="ignore"):
        far = _FAR + float(np.log(base.max()) - np.log(base.min()))
    multipliers = np.zeros(size)
    u, steps, stalled = np.zeros(len(base)), 0, 0
    best = _state(base, of, ratio, u, disagreement)
    weights = base * ratio.of(u)
    with one_blas_thread(), np.errstate(over="ignore", under="ignore"):
        while steps < _MOST_STEPS:
            check_stopped()
            slack = of.targets - of.sums(weights)
            step = _newton_step(of, base * ratio.slope(u), slack)
            change = of.spread(step)
            length = _length(base, of, ratio, u, step, change, slack)
            if length == 0.0:
                break
            was_there = best.converged
            multipliers, steps = multipliers + length * step, steps + (not was_there)
            # Added up anew from the multipliers: a cell owes nothing to the path that led here.
            u = of.spread(multipliers)
            weights = base * ratio.of(u)
            found = _state(base, of, ratio, u, disagreement)
            reporter().status(f"raking: step {steps}, largest gap {found.gap:.3g}")
            falls = found.gap < _FALL * best.gap
            stalled = 0 if falls else stalled + 1
            if found.gap < best.gap:
                best = found
            if was_there and (best.gap <= CONVERGED or not falls):
                break
            if stalled >= _PATIENCE and ratio.rate * np.abs(u).max() > far:
                break
    reporter().status(None)
    return replace(best, steps=steps)


def _state(base: Vector, of: _Margins, ratio: Ratio, u: Vector, disagreement: float) -> Projection:
    ratios = ratio.of(u)
    off = np.abs(of.sums(base * ratios) - of.targets)
    gap, excess = off / of.targets, (off - disagreement) / of.targets
    return Projection(ratios, 0, float(gap.max()), float(excess.max()))


def _newton_step(of: _Margins, slopes: Vector, slack: Vector) -> Vector:
    """Solve A diag(d F') Aᵀ s = t − A w, nearly."""
    scale = 1 / np.sqrt(np.maximum(of.sums(slopes), np.finfo(float).tiny))
    if len(slack) > _MOST_DENSE:
        return scale * _conjugate_gradients(
            lambda v: scale * of.sums(slopes * of.spread(scale * v)) + _RIDGE * v, scale * slack
        )
    matrix = of.gram(slopes) * scale * scale[:, None]
    matrix[np.diag_indices_from(matrix)] += _RIDGE
    found: Vector = scale * np.linalg.solve(matrix, scale * slack)
    return found


def _conjugate_gradients(product: _Function, right: Vector) -> Vector:
    """Solve a positive definite system until the rest is 1e-10 of what it was."""
    x, rest = np.zeros_like(right), right.copy()
    along, size = rest.copy(), float(rest @ rest)
    enough = 1e-20 * size
    for _ in range(4 * len(right)):
        if size <= enough:
            break
        check_stopped()
        image = product(along)
        length = size / float(along @ image)
        x += length * along
        rest -= length * image
        before, size = size, float(rest @ rest)
        along = rest + (size / before) * along
    return x


def _length(
    base: Vector,
    of: _Margins,
    ratio: Ratio,
    u: Vector,
    step: Vector,
    change: Vector,
    slack: Vector,
) -> float:
    """How much of a step to take; 0 if it leads nowhere, which is where rounding ends the way."""
    rise = float(slack @ step)
    largest = ratio.rate * float(np.abs(change).max())
    if not np.isfinite(rise) or rise <= 0 or not np.isfinite(largest):
        return 0.0
    length = min(1.0, _STRIDE / largest) if largest > 0 else 1.0
    for _ in range(_MOST_HALVINGS):
        weights = base * ratio.of(u + length * change)
        slope = float((of.targets - of.sums(weights)) @ step)
        if np.isfinite(slope) and slope >= _OVERSHOOT * rise:
            return length
        length /= 2
    return 0.0
