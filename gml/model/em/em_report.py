"""How EM is to go, and how it went: settings, the report, and the fit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gml.errors import CannotAnswer, DataError, UsageError, listing, parameter
from gml.model.bayesnet import BayesNet
from gml.model.em.climbing import MOST_STEPS, Climbs
from gml.progress import Deadline, reporter

RESTARTS = 20
"""Starts of EM, by default."""


@dataclass(frozen=True)
class EmSettings:
    """How long EM may look, and from where."""

    restarts: int = RESTARTS
    """Starts, the first included; one where nothing is missing."""
    most_steps: int = MOST_STEPS
    """The most steps of EM from each start."""
    seed: int = 0
    deadline: Deadline = field(default_factory=Deadline)
    information: bool = True
    """Whether to find out how much information is missing, and whether the model is identified."""
    expected_counts: bool = True
    """Whether the network is to say how all rows would fall if they were complete."""
    enough: float | None = None
    """With one start: the share of the objective that may be left to gain; None: nothing."""
    start: BayesNet | None = None
    """A model of the same graph to begin with, instead of the first start: what is 0 stays 0."""

    def __post_init__(self) -> None:
        for name, value in (("em_restarts", self.restarts), ("em_steps", self.most_steps)):
            if value < 1:
                raise UsageError(f"{parameter(name)} must be at least 1, not {value}")


@dataclass(frozen=True)
class EmReport:
    """How a fit by EM went."""

    log_likelihood: float
    """Of what was observed, in natural logarithms, with all constants."""
    objective: float
    """What was maximised: the log-likelihood, and Σ α ln θ where there are priors."""
    steps: int
    """Steps of EM from the start with the best end."""
    converged: bool
    remaining_gain: float
    """An estimate of what was left to gain, as a share of the objective."""
    remaining_change: float
    """An estimate of how far any parameter still was from its end."""
    in_time: bool
    ends: tuple[float, ...]
    """The objective at the end of each climb, in the order of starts."""
    times_best: int
    """How many climbs reached the best end."""
    discarded: tuple[str, ...]
    """Why climbs do not count, for each that collapsed."""
    n_parameters: int
    """Free parameters."""
    rank: int | None
    """How many of them the data can tell apart; None if that was not found out."""
    missing_information: Mapping[str, float]
    """The fraction of information that is missing, by the node whose table it is about."""

    @classmethod
    def of(
        cls,
        climbs: Climbs,
        *,
        log_likelihood: float,
        n_parameters: int,
        rank: int | None = None,
        missing_information: Mapping[str, float] | None = None,
    ) -> EmReport:
        """Say how climbs went, the best of which counts."""
        best = climbs.best
        return cls(
            log_likelihood=log_likelihood,
            objective=best.objective,
            steps=best.steps,
            converged=best.converged,
            remaining_gain=best.remaining_gain,
            remaining_change=best.remaining_change,
            in_time=all(one.in_time for one in climbs.all),
            ends=tuple(-math.inf if one.flaw else one.objective for one in climbs.all),
            times_best=0 if best.flaw else climbs.times_best,
            discarded=tuple(one.flaw for one in climbs.flawed if one.flaw is not None),
            n_parameters=n_parameters,
            rank=rank,
            missing_information=missing_information or {},
        )


@dataclass(frozen=True)
class EmFit:
    """A network fitted by EM, and how that went."""

    net: BayesNet
    report: EmReport
    counts_all: bool = True
    """Whether expected counts are those of all rows, with what has nothing seen below it."""


def warn_of_left_out(error: CannotAnswer) -> None:
    """Say that expected counts are not those of all rows, since these would take too much."""
    reporter().warn(f"expected counts leave out what has nothing seen below it: {error}")


def refuse_silent(names: Sequence[str]) -> None:
    """Refuse labels that were seen in no row, where no prior says anything of them."""
    if names:
        raise DataError(
            f"column {listing(names)} has no value in any row: leave it out of the data and name "
            f"it with {parameter('hidden')}, or give it a prior ({parameter('method', 'bayes')})"
        )
