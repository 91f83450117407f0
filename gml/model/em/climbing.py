"""Climb to a maximum by steps of EM, accelerated, and know when the top is reached.

A step of EM never lowers the objective (Dempster, Laird & Rubin 1977, JRSS B 39:1), but it may gain
ever less for thousands of steps. Two of them, r = θ₁ − θ₀ and v = (θ₂ − θ₁) − r, point further: the
squared extrapolation

    θ' = θ₀ − 2αr + α²v,   α = −‖r‖/‖v‖

of Varadhan & Roland (2008, Scand. J. Stat. 35:335, scheme S3) is taken where it is at least as high
as θ₁, and otherwise the climb goes on from θ₂: so the objective never falls. Steps longer than any
that was good are tried only after such a one: the bound on −α begins at 1 and is quadrupled.

A climb has ended when, by Aitken's extrapolation, what is left is nothing: with ρ = ‖θ₂ − θ₁‖/‖r‖,
a parameter still changes by |θ₂ − θ₁|·ρ/(1 − ρ), and the objective, whose gains shrink by ρ², gains
(f(θ₁) − f(θ₀))·ρ²/(1 − ρ²). Both must be below 1e-9, the second relative to the objective. An
extrapolation leaves little of what changes slowly, so that ρ is too small right after it: five
plain steps of EM in a row have to find the end, and a climb that is cut before has not converged.
What changes by no more than rounding has ended, too; and so has a climb that gained nothing in 200
steps and changed by less than 1e-10 in the last, where rounding keeps parameters in motion.

Of several starts the highest end counts; of ends that are equal but for rounding, that of the
earlier start. How high an end is shows long before its parameters stand still: so climbs from
several starts stop when the objective has nothing to gain, and the best goes on to its end. A
caller that needs the height alone says what share of it may be left to gain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gml.progress import Deadline, reporter
from gml.stopping import check_stopped

TOLERANCE = 1e-9
"""What may be left of changes of parameters, and of the gain as a share of the objective."""
MOST_STEPS = 100_000
# So many steps in a row must find that nothing is left.
_CONFIRMING_STEPS = 5
# With two, starts that reach the same end may stop at heights that differ by more than `_SAME_END`.
_CONFIRMING_HEIGHT = 3
_LONGER = 4.0
# A climb that is no higher after so many steps is at its end.
_IDLE_STEPS = 200
# Sums of many terms differ by this much of their size when nothing has changed.
_ROUNDING = 1e-13
# Ends that differ by less, as a share of their size, are the same.
_SAME_END = 1e-8

Vector = NDArray[np.float64]


class Step(NamedTuple):
    """The objective at some parameters, and the parameters that one step of EM makes of them."""

    objective: float
    parameters: Vector


class Collapsed(Exception):
    """Raised by a step that leads to where the likelihood has no bound."""


class Problem(Protocol):
    """What EM is to maximise: parameters are one vector, on scales where 1e-9 is nothing."""

    def step(self, at: Vector) -> Step:
        """Take one step of EM."""

    def admitted(self, wanted: Vector, near: Vector) -> Vector | None:
        """Return legal parameters close to those wanted, never on a boundary that `near` is not on.

        None if there are none, and the climb is to go on without the extrapolation.
        """


@dataclass(frozen=True)
class Climb:
    """Where a climb ended, and how sure that is the top."""

    parameters: Vector
    objective: float
    objectives: tuple[float, ...]
    """The objective after each step that counted, which never falls."""
    steps: int
    """Steps of EM, those of extrapolations that were given up included."""
    remaining_gain: float
    """The estimate of what is left to gain, as a share of the objective."""
    remaining_change: float
    """The estimate of how far any parameter still is from its end."""
    converged: bool
    in_time: bool = True
    flaw: str | None = None
    """Why this end does not count: where the likelihood had no bound."""


@dataclass(frozen=True)
class Climbs:
    """The climbs from all starts, and which of them is the best."""

    all: tuple[Climb, ...]
    best: Climb

    @property
    def times_best(self) -> int:
        """How many climbs reached the best end."""
        return sum(
            one.flaw is None and is_same_end(one.objective, self.best.objective) for one in self.all
        )

    @property
    def flawed(self) -> tuple[Climb, ...]:
        """The climbs that do not count."""
        return tuple(one for one in self.all if one.flaw is not None)


def is_same_end(a: float, b: float) -> bool:
    """Whether two objectives are equal but for what climbs leave."""
    return abs(a - b) <= _SAME_END * (1 + abs(b))


def climb(
    problem: Problem,
    start: Vector,
    *,
    most_steps: int = MOST_STEPS,
    deadline: Deadline | None = None,
    enough: float | None = None,
) -> Climb:
    """Climb from a start until nothing is left to gain, or steps or time run out.

    `enough` is the share of the objective that may be left to gain, whatever parameters do.

    Examples
    --------
    The genetic linkage of Rao (1965), the example of Dempster, Laird & Rubin:

    >>> class Linkage:
    ...     def step(self, at):
    ...         p = at[0]
    ...         hidden = 125 * p / (2 + p)
    ...         worth = 125 * math.log(2 + p) + 38 * math.log(1 - p) + 34 * math.log(p)
    ...         return Step(worth, np.array([(hidden + 34) / (hidden + 72)]))
    ...
    ...     def admitted(self, wanted, near):
    ...         return wanted if 0 < wanted[0] < 1 else None
    >>> found = climb(Linkage(), np.array([0.5]))
    >>> round(float(found.parameters[0]), 13), found.converged
    (0.626821497871, True)
    """
    climber = _Climber(problem, most_steps, deadline or Deadline(), enough=enough)
    return climber.run(start, _CONFIRMING_STEPS if enough is None else _CONFIRMING_HEIGHT)


class _Left(NamedTuple):
    """What is left to gain and to change, as far as can be told."""

    gain: float
    change: float

    @property
    def is_nothing(self) -> bool:
        return self.gain <= TOLERANCE and self.change <= TOLERANCE


class _Climber:
    """The state of one climb."""

    def __init__(
        self,
        problem: Problem,
        most_steps: int,
        deadline: Deadline,
        *,
        enough: float | None = None,
    ) -> None:
        self._problem = problem
        self._enough = enough
        self._most_steps = most_steps
        self._deadline = deadline
        self._longest = 1.0
        self._steps = 0
        self._objectives: list[float] = []
        self._left = _Left(math.inf, math.inf)
        self._is_at_end = False
        self._highest = -math.inf
        self._idle_since = 0

    def run(self, start: Vector, confirming_steps: int) -> Climb:
        at = start
        try:
            here = self._step(at)
            confirmed = 0
            while confirmed < confirming_steps and not self._is_over():
                self._objectives.append(here.objective)
                ahead = self._step(here.parameters)
                self._left = _left(at, here, ahead)
                if self._is_near_enough():
                    confirmed += 1
                    self._is_at_end = confirmed == confirming_steps and self._enough is None
                    at, here = here.parameters, ahead
                    continue
                moved = float(np.abs(ahead.parameters - here.parameters).max(initial=0.0))
                if self._is_idle(ahead.objective) and moved <= TOLERANCE / 10:
                    self._left = _Left(0.0, moved)
                    self._is_at_end = True
                    break
                confirmed = 0
                self._objectives.append(ahead.objective)
                at, here = self._further(at, here, ahead)
            # The step from the last parameters is not taken, but it says how high they are.
            self._objectives.append(here.objective)
        except Collapsed as error:
            return self._ended(at, -math.inf, flaw=str(error))
        return self._ended(at, here.objective)

    def _is_near_enough(self) -> bool:
        if self._enough is None:
            return self._left.is_nothing
        return self._left.gain <= self._enough

    def _step(self, at: Vector) -> Step:
        check_stopped()
        self._steps += 1
        return self._problem.step(at)

    def _is_idle(self, objective: float) -> bool:
        """Whether nothing was gained for long."""
        if not objective <= self._highest + _ROUNDING * abs(objective):
            self._highest = objective
            self._idle_since = self._steps
        return self._steps - self._idle_since > _IDLE_STEPS

    def _is_over(self) -> bool:
        return self._steps >= self._most_steps or self._deadline.passed

    def _further(self, at: Vector, here: Step, ahead: Step) -> tuple[Vector, Step]:
        """Extrapolate from two steps; the parameters to go on from, and the step from there."""
        r = here.parameters - at
        v = ahead.parameters - here.parameters - r
        bend = float(np.linalg.norm(v))
        length = min(float(np.linalg.norm(r)) / bend, self._longest) if bend > 0 else 1.0
        if length > 1:
            wanted = at + 2 * length * r + length * length * v
            tried = self._problem.admitted(wanted, ahead.parameters)
            if tried is not None:
                try:
                    found = self._step(tried)
                except Collapsed:
                    found = Step(-math.inf, tried)
                if found.objective >= ahead.objective - _ROUNDING * abs(ahead.objective):
                    if length == self._longest:
                        self._longest *= _LONGER
                    return tried, found
            self._longest = max(1.0, length / _LONGER)
        elif length == self._longest:
            self._longest *= _LONGER
        return ahead.parameters, self._step(ahead.parameters)

    def _ended(self, at: Vector, objective: float, flaw: str | None = None) -> Climb:
        return Climb(
            at,
            objective,
            tuple(self._objectives),
            self._steps,
            self._left.gain,
            self._left.change,
            converged=flaw is None and self._is_at_end,
            in_time=not self._deadline.passed,
            flaw=flaw,
        )


def _left(at: Vector, here: Step, ahead: Step) -> _Left:
    """Extrapolate from two steps of EM what all later ones would still change."""
    first = here.parameters - at
    second = ahead.parameters - here.parameters
    size = float(np.abs(at).max(initial=1.0))
    change = float(np.abs(second).max(initial=0.0))
    scale = abs(ahead.objective) or 1.0
    gain = max(0.0, ahead.objective - here.objective)
    if change <= _ROUNDING * size:
        return _Left(0.0 if gain <= _ROUNDING * scale else gain / scale, 0.0)
    rate = float(np.linalg.norm(second) / np.linalg.norm(first)) if first.any() else math.inf
    if not rate < 1:
        return _Left(math.inf, math.inf)
    return _Left(gain * rate**2 / (1 - rate**2) / scale, change * rate / (1 - rate))


def climb_from(
    problem: Problem,
    starts: Iterable[Vector],
    n_starts: int,
    *,
    most_steps: int = MOST_STEPS,
    deadline: Deadline | None = None,
    enough: float | None = None,
) -> Climbs:
    """Climb from each start; after the deadline no further one is begun.

    `enough` is for a single start: how much of the objective may be left to gain.
    Where every climb collapsed, the best is the first, with its flaw.
    """
    limit = deadline or Deadline()
    climbs: list[Climb] = []
    with reporter().counting("starts of EM", n_starts) as count:
        for start in starts:
            if n_starts == 1:
                climbs.append(
                    climb(problem, start, most_steps=most_steps, deadline=limit, enough=enough)
                )
                break
            climbs.append(
                climb(problem, start, most_steps=most_steps, deadline=limit, enough=TOLERANCE)
            )
            count(len(climbs))
            if limit.passed:
                break
    best = _best(climbs)
    # The best may yet collapse on its way to the end, and then another one is the best.
    while n_starts > 1 and best.flaw is None and not best.converged and not limit.passed:
        if best.steps >= most_steps:
            break
        further = climb(
            problem, best.parameters, most_steps=most_steps - best.steps, deadline=limit
        )
        ended = replace(
            further,
            objectives=best.objectives + further.objectives[1:],
            steps=best.steps + further.steps,
        )
        climbs[next(k for k, one in enumerate(climbs) if one is best)] = ended
        if ended.flaw is None:
            best = ended
            break
        best = _best(climbs)
    return Climbs(tuple(climbs), best)


def _best(climbs: list[Climb]) -> Climb:
    best = climbs[0]
    for one in climbs[1:]:
        if best.flaw is not None or (
            one.objective > best.objective and not is_same_end(one.objective, best.objective)
        ):
            best = one if one.flaw is None else best
    return best
