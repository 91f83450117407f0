"""The density of largest entropy with given moments, and why there may be none.

The dual ln Z(λ) − λ·m is minimised by Newton's method on the integrals of quadrature.py; it is
solved for the lower moments first, or on an interval where these alone have no solution.

*No distribution has the moments* (exit 3), or only distributions on a few points, which have no
density (exit 4): moment_frame.py finds out. Where powers are missing, the dual does: it has no
bound, and multipliers whose exponent lies below its expectation on all of the support prove it.

*No density of largest entropy exists* (exit 4)
- without a moment on a half line, or without one of even order on the whole line: there the
  entropy has no bound;
- if the highest moment is odd on the whole line, and the density without it has another: it can
  be had at no cost by mass far out, and the limit does not have it (Cover & Thomas 2006, section
  12.3). Where the density without it has it, to 1e-9 in standard deviations, this is the answer,
  and the multiplier is 0;
- if the highest moment is larger than that of the solution without it: again the limit does not
  have it. On [0, ∞) with mean and variance, that is a variance above mean² (Dowson & Wragg 1973).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, DataError, parameter, quote
from gml.model.entropy.constraints import NumericMoments
from gml.model.entropy.density import Density
from gml.model.entropy.density_dual import dual_at, expectation_of, newton_direction
from gml.model.entropy.moment_frame import Frame, framed, moments_in_words, require_moments
from gml.model.undirected.fitting import OutOfTime
from gml.progress import Deadline
from gml.stopping import check_stopped

Vector = NDArray[np.float64]

_TOLERANCE = 1e-9
_SMALL_SHARE = 1e-3
_SQUARED = 1e-14
_SAME = 1e-10
_MOST_STEPS = 300
_MOST_CUTS = 60
# How steeply the highest power first goes down, at its own size: tried one after the other.
_FIRST_SLOPES = (0.02, 0.5, 0.002)
# The ends of intervals tried in place of a support without an end, in sizes of the moments.
_REACHES = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
# Beside moments of the size of 1.
_WIDE = 8.0
_ROUGHLY = 1e-6
_MOST_EVALUATIONS = 6000
_NOT_FOUND = "no density of largest entropy was found"
_NEXT_TO = "the moments are next to those of a few points, or of mass far out"


@dataclass
class _Problem:
    """What is asked for, as the user and as the solver see it, and what may still be spent."""

    given: NumericMoments
    frame: Frame
    title: str
    where: str
    sign: float
    """−1 if the frame is a mirror image."""
    deadline: Deadline
    left: int = _MOST_EVALUATIONS


class _Fit(NamedTuple):
    multipliers: Vector
    residual: float
    iterations: int
    spread: float = math.inf
    """The least standard deviation of a power."""

    @property
    def is_met(self) -> bool:
        """Whether what is left is small, and small beside the width of the density."""
        return self.residual <= min(_TOLERANCE, _SMALL_SHARE * self.spread)


def fit_density(given: NumericMoments, *, deadline: Deadline | None = None) -> Density:
    """Return the density of largest entropy on an interval, a half line or the whole line.

    Examples
    --------
    >>> found = fit_density(NumericMoments("x", (-math.inf, math.inf), {1: 1.0, 2: 5.0}))
    >>> round(found.multipliers[2], 12), round(found.mean, 12), round(found.variance, 12)
    (-0.125, 1.0, 4.0)
    >>> fit_density(NumericMoments("x", (0.0, math.inf), {1: 1.0, 2: 2.5}))
    Traceback (most recent call last):
    gml.errors.CannotAnswer: 'x': no density has the largest entropy: E x^2 = 2.5 is more than the \
2 of the one without this moment, and mass far out raises it at no cost
    """
    title = quote(given.name)
    powers = tuple(sorted(given.moments))
    _require_bound(given, title)
    low, high = given.support
    # A half line without a lower end is solved as its mirror image.
    is_mirrored = math.isinf(low) and math.isfinite(high)
    frame = framed(_mirrored(given) if is_mirrored else given, title)
    where = f"on [{low:g}, {high:g}]"
    require_moments(given, frame, title, where=where)
    sign = -1.0 if is_mirrored else 1.0
    problem = _Problem(given, frame, title, where, sign, deadline or Deadline())
    found = _without_odd_top(problem, powers) if _has_odd_top(given) else _fitted(problem, powers)
    return Density(
        given.name,
        given.support,
        powers,
        tuple(sign**k * value for k, value in zip(powers, found.multipliers.tolist(), strict=True)),
        sign * frame.centre,
        frame.scale,
        dict(given.moments),
        found.residual,
        found.iterations,
    )


def _mirrored(given: NumericMoments) -> NumericMoments:
    low, high = given.support
    moments = {k: value * (-1) ** k for k, value in given.moments.items()}
    return replace(given, support=(-high, -low), moments=moments)


def _require_bound(given: NumericMoments, title: str) -> None:
    """Refuse supports without an end on which nothing holds the entropy back."""
    low, high = given.support
    powers = sorted(given.moments)
    if math.isfinite(low) and math.isfinite(high):
        return
    if not powers:
        raise CannotAnswer(
            f"{title}: no density has the largest entropy: on a support without an end it grows "
            "without bound; give a mean"
        )
    if math.isinf(low) and math.isinf(high):
        even = [k for k in powers if k % 2 == 0]
        if not even:
            raise CannotAnswer(
                f"{title}: no density has the largest entropy: on the whole line it grows without "
                "bound; give a variance"
            )


def _has_odd_top(given: NumericMoments) -> bool:
    """Whether the highest moment is odd on the whole line."""
    low, high = given.support
    return math.isinf(low) and math.isinf(high) and max(given.moments) % 2 == 1


# ---------------------------------------------------------------------- the multipliers


def _without_odd_top(problem: _Problem, powers: tuple[int, ...]) -> _Fit:
    """Solve without odd moments above all even ones, which must come out as they were given."""
    n = max(at for at, k in enumerate(powers) if k % 2 == 0) + 1
    found, frame = _fitted(problem, powers[:n]), problem.frame
    residuals = [found.residual]
    for k in powers[n:]:
        own = expectation_of(frame, powers[:n], found.multipliers, k)
        residuals.append(abs(own - frame.moments[k]) / max(1.0, abs(frame.moments[k])))
        if not residuals[-1] <= _TOLERANCE:
            raw = expectation_of(frame, powers[:n], found.multipliers, k, raw=True)
            raise CannotAnswer(
                f"{problem.title}: no density has the largest entropy: the highest moment on the "
                f"whole line, E x^{powers[-1]}, is odd, and mass far out gives it any value at no "
                f"cost; without it E x^{k} is {raw:.6g}, not {problem.given.moments[k]:.6g}; give "
                "an even one above it, or an end of the support"
            )
    multipliers = np.append(found.multipliers, np.zeros(len(powers) - n))
    return found._replace(multipliers=multipliers, residual=max(residuals))


def _fitted(problem: _Problem, powers: tuple[int, ...]) -> _Fit:
    """Solve from one start after the other."""
    if not powers:
        return _Fit(np.zeros(0), 0.0, 0)
    found: _Fit | None = None
    for start in _starts(problem, powers):
        tried = _newton(problem, problem.frame, powers, start)
        if tried is not None and (found is None or tried.residual < found.residual):
            found = tried
        if found is not None and found.is_met:
            return found
    reached = "" if found is None else f"; the residual is {found.residual:.3g}"
    raise CannotAnswer(f"{problem.title}: {_NOT_FOUND}: {_NEXT_TO}{reached}")


def _starts(problem: _Problem, powers: tuple[int, ...]) -> Iterator[Vector]:
    """Yield multipliers to start from; refuse a highest moment that is too large."""
    frame = problem.frame
    if math.isfinite(frame.high):
        yield _bounded_start(frame, powers)
        yield np.zeros(len(powers))
        return
    lower, top = powers[:-1], powers[-1]
    is_line = math.isinf(frame.low)
    if is_line and lower and lower[-1] % 2:
        lower = lower[:-1]
    is_possible = any(k % 2 == 0 for k in lower) if is_line else bool(lower)
    if is_possible:
        yield from _starts_above(problem, powers, lower)
    else:
        # Alone, or with odd ones on the line: a scale from the highest moment itself.
        found = np.zeros(len(powers))
        size = frame.moments[1] - frame.low if top == 1 else abs(frame.moments[top])
        found[-1] = -1 / (top * size) if size > 0 else -1.0
        yield found
        yield from _truncated(problem, powers)


def _starts_above(
    problem: _Problem, powers: tuple[int, ...], lower: tuple[int, ...]
) -> Iterator[Vector]:
    """Yield starts from the solution for the lower moments, if there is one.

    Where these alone have no solution, as the highest of them is too large, one more moment may
    well have: it holds back the mass far out.
    """
    try:
        below = _fitted(problem, lower)
    except OutOfTime:
        raise
    except CannotAnswer:
        yield from _truncated(problem, powers)
        return
    frame, top = problem.frame, powers[-1]
    multipliers = np.zeros(len(powers))
    multipliers[: len(lower)] = below.multipliers
    own = expectation_of(frame, lower, below.multipliers, top)
    wanted = frame.moments[top]
    same = _SAME * max(1.0, abs(own))
    if len(lower) == len(powers) - 1 or _is_met(frame, powers, lower, below):
        if wanted > own + same:
            raise CannotAnswer(_too_large(problem, lower, below.multipliers, top))
        if wanted >= own - same:
            yield multipliers
            return
    if powers == (1, 2) and wanted < 0.5 * own:
        yield np.array([0.0, -0.5 / wanted])
    yield from _truncated(problem, powers)
    for slope in _FIRST_SLOPES:
        multipliers[-1] = -slope / max(abs(own), 1.0)
        yield multipliers.copy()


def _bounded_start(frame: Frame, powers: tuple[int, ...]) -> Vector:
    """Start at the uniform density, or where that is too wide at a normal or exponential one."""
    found = np.zeros(len(powers))
    if powers[:2] == (1, 2):
        variance = frame.moments[2] - frame.moments[1] ** 2
        if 0 < variance < (frame.high - frame.low) ** 2 / 24:
            found[:2] = frame.moments[1] / variance, -0.5 / variance
    elif powers and frame.high - frame.low > _WIDE and frame.moments[powers[-1]]:
        found[-1] = -1 / (powers[-1] * frame.moments[powers[-1]])
    return found


def _truncated(problem: _Problem, powers: tuple[int, ...]) -> Iterator[Vector]:
    """Yield solutions on longer and longer intervals that would do without an end."""
    frame = problem.frame
    reach = max(1.0, *(abs(m) ** (1 / k) for k, m in frame.moments.items()))
    start = np.zeros(len(powers))
    for factor in _REACHES:
        high = max(frame.low, 0.0) + factor * reach
        low = frame.low if math.isfinite(frame.low) else -high
        found = _newton(problem, frame._replace(low=low, high=high), powers, start)
        if found is None or not found.residual <= _ROUGHLY:
            start = np.zeros(len(powers))
            continue
        start = found.multipliers
        if start[-1] < 0:
            yield start


def _too_large(problem: _Problem, lower: tuple[int, ...], multipliers: Vector, top: int) -> str:
    """Say that the highest moment is above that of the density without it."""
    frame, sign = problem.frame, problem.sign**top
    given, about = problem.given.moments[top], ""
    own = sign * expectation_of(frame, lower, multipliers, top, raw=True)
    if f"{given:.6g}" == f"{own:.6g}":
        about = f" about {problem.sign * frame.centre:g}"
        given = sign * frame.moments[top] * frame.scale**top
        own = sign * expectation_of(frame, lower, multipliers, top) * frame.scale**top
    more, raises = ("more", "raises") if sign > 0 else ("less", "lowers")
    return (
        f"{problem.title}: no density has the largest entropy: E x^{top} = {given:.6g}{about} is "
        f"{more} than the {own:.6g} of the one without this moment, and mass far out {raises} it "
        "at no cost"
    )


def _is_met(frame: Frame, powers: tuple[int, ...], lower: tuple[int, ...], below: _Fit) -> bool:
    """Whether the solution without the two highest moments has the odd one of them."""
    odd = powers[len(lower)]
    own = expectation_of(frame, lower, below.multipliers, odd)
    return abs(own - frame.moments[odd]) <= _SAME * max(1.0, abs(own))


def _newton(problem: _Problem, frame: Frame, powers: tuple[int, ...], start: Vector) -> _Fit | None:
    """Minimise the dual on the support of a frame, which may be cut off."""
    x, iterations = start, 0
    here = dual_at(frame, powers, x)
    while here is not None and here.off > _SQUARED and iterations < _MOST_STEPS:
        check_stopped()
        if here.is_proof:
            if frame is not problem.frame:
                return None
            said = moments_in_words(problem.given, powers)
            raise DataError(f"{problem.title}: no distribution {problem.where} has {said}")
        direction = newton_direction(here.centred, here.gradient)
        if direction is None:
            break
        slope = float(here.gradient @ direction)
        t, following = 1.0, None
        for _ in range(_MOST_CUTS):
            _spend(problem, here.off)
            tried = dual_at(frame, powers, x + t * direction)
            if tried is not None:
                up = float(tried.gradient @ direction)
                most = here.value + 1e-12 * (1 + abs(here.value))
                if up <= -0.5 * slope and tried.value <= most:
                    following = tried
                    break
            t *= 0.5
        if following is None or (here.off <= _TOLERANCE and following.off >= here.off):
            break
        x, here, iterations = x + t * direction, following, iterations + 1
    if here is None:
        return None
    return _Fit(x, here.off, iterations, math.sqrt((here.centred**2).sum(axis=0).min()))


def _spend(problem: _Problem, off: float) -> None:
    """Count one more evaluation, and give up where there have been too many."""
    problem.left -= 1
    if problem.left < 0:
        raise OutOfTime(f"{problem.title}: {_NOT_FOUND}: {_NEXT_TO}")
    if problem.deadline.passed:
        raise OutOfTime(
            f"{problem.title}: {parameter('max_seconds')} passed with a residual of {off:.3g}"
        )
