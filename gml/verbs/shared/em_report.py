"""What is said about a fit by EM: on the way, and in the `learning` of its model."""

from __future__ import annotations

import math
from typing import Any

from gml.errors import agreeing, counted, parameter
from gml.model.em.fitting import EmReport
from gml.progress import reporter

AT_RANDOM = "at random"
"""Why values are missing, as far as EM goes."""
_SHOWN_FLAWS = 3


def tell_assumption() -> None:
    """Say on what a fit to incomplete rows relies."""
    reporter().tell(f"missing values are assumed to be missing {AT_RANDOM}")


def tell_report(report: EmReport, of: str = "") -> None:
    """Say how a fit went, `of` what where there are several, and warn of what is wrong with it."""
    where = f"{of}: " if of else ""
    reporter().tell(f"{where}{summary_of(report)}")
    if report.discarded:
        flaws = "; ".join([*dict.fromkeys(report.discarded)][:_SHOWN_FLAWS])
        were = agreeing(len(report.discarded), "was", "were")
        reporter().warn(
            f"{where}{counted(len(report.discarded), 'start')} {were} discarded: {flaws}"
        )
    if not report.in_time:
        reporter().warn(f"{where}stopped by {parameter('max_seconds')}: this is the best so far")
    elif not report.converged:
        reporter().warn(
            f"{where}EM had not converged after {counted(report.steps, 'step')}: about "
            f"{_short(report.remaining_gain * abs(report.objective))} nats were left to gain; "
            f"{parameter('em_steps')} allows more"
        )
    if report.rank is not None and report.rank < report.n_parameters:
        reporter().warn(
            f"{where}the model is not identified: the data tell {report.rank} of its "
            f"{counted(report.n_parameters, 'parameter')}, so that other tables fit as well"
        )
    if report.times_best == 1 and len(report.ends) > 1 and report.in_time:
        reporter().warn(
            f"{where}only 1 of {len(report.ends)} starts reached the best end: more of them "
            f"({parameter('em_restarts', 5 * len(report.ends))}) may find a better one"
        )


def summary_of(report: EmReport) -> str:
    """One line: how likely what was seen is, after how many steps, from how many starts."""
    starts = len(report.ends)
    best = f", reached by {report.times_best} of {starts} starts" * (starts > 1)
    return (
        f"log-likelihood of what was seen {report.log_likelihood:.6f}, after "
        f"{counted(report.steps, 'step')} of EM{best}"
    )


def written(report: EmReport) -> dict[str, Any]:
    """Return the report as `learning` has it; what is not finite is null."""
    return {
        "log_likelihood": report.log_likelihood,
        "objective": report.objective,
        "parameters": report.n_parameters,
        "rank": report.rank,
        "steps": report.steps,
        "converged": report.converged,
        "remaining_gain": _finite(report.remaining_gain),
        "remaining_change": _finite(report.remaining_change),
        "starts": len(report.ends),
        "times_best": report.times_best,
        "ends": [_finite(end) for end in report.ends],
        "discarded": list(report.discarded),
        "missing_information": {
            name: _finite(share) for name, share in report.missing_information.items()
        },
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _short(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "an unknown number of"
