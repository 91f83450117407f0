"""What is said about mixtures: on the way, and in the `learning` of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gml.counts.counter import Counter
from gml.data.dataset import Dataset, empty_rows, has_missing
from gml.data.options import EM
from gml.errors import CannotAnswer, agreeing, counted, parameter
from gml.graph.provenance import Provenance
from gml.model.mixtures.choosing import Choice
from gml.model.mixtures.fitting import MixtureFit
from gml.model.mixtures.result import classes_in_words, summary_of
from gml.progress import reporter
from gml.verbs.shared.em_report import AT_RANDOM, tell_assumption, written
from gml.verbs.shared.fitted_models import fitted_by

_MOST_SHOWN = 3


def tell_of_holes(table: Dataset) -> None:
    """Say on what a fit to incomplete rows relies."""
    if not any(map(has_missing, table.columns)):
        return
    tell_assumption()
    count = len(empty_rows(table.columns))
    if count:
        are = agreeing(count, "is", "are")
        reporter().tell(f"{counted(count, 'row')} with nothing observed {are} left out")


def nothing_left(choice: Choice) -> CannotAnswer:
    flaws = [flaw for fit in choice.fits for flaw in fit.discarded]
    shown = "; ".join([*dict.fromkeys(flaws)][:_MOST_SHOWN])
    return CannotAnswer(
        f"all {counted(len(flaws), 'start')} of EM ended where the likelihood has no bound: "
        f"{shown}; try fewer components, a simpler {parameter('covariance')}, or "
        f"{parameter('regularise', 0.01)}"
    )


def tell(choice: Choice, best: MixtureFit, counts: Sequence[int]) -> None:
    """Say what was found, and warn of what is wrong with it."""
    model = "" if best.covariance is None else f", {best.covariance}"
    starts = len(best.ends)
    reached = f", reached by {best.times_best} of {starts} starts" * (starts > 1)
    reporter().tell(
        f"{classes_in_words(best.n_classes)}{model}: log-likelihood "
        f"{best.log_likelihood:.6f}, bic {best.bic:.6f}{reached}"
    )
    _warn_of_flaws(choice)
    if not choice.complete:
        reporter().warn(
            f"stopped by {parameter('max_seconds')}: this is the best of "
            f"{counted(len(choice.fits), 'mixture')} so far"
        )
    elif not best.converged:
        reporter().warn(
            f"EM had not converged after {counted(best.steps, 'step')}; {parameter('em_steps')} "
            "allows more"
        )
    if not best.is_identified:
        reporter().warn(
            f"the model is not identified: the table of labels tells {best.rank} of its "
            f"{counted(best.n_parameters, 'parameter')}, so that other classes fit as well"
        )
    if best.times_best == 1 and starts > 1 and choice.complete:
        reporter().warn(
            f"only 1 of {starts} starts reached the best end: more of them "
            f"({parameter('em_restarts', 5 * starts)}) may find a better one"
        )
    if len(counts) > 1 and best.n_classes == counts[-1]:
        reporter().tell(
            f"{best.n_classes} is the largest number of classes looked at; more may be better "
            f"({parameter('components')})"
        )


def _warn_of_flaws(choice: Choice) -> None:
    flaws = [
        f"{fit.n_classes}{'' if fit.covariance is None else f' {fit.covariance}'}: {flaw}"
        for fit in choice.fits
        for flaw in fit.discarded
    ]
    if flaws:
        shown = "; ".join([*dict.fromkeys(flaws)][:_MOST_SHOWN])
        more = ", …" if len({*flaws}) > _MOST_SHOWN else ""
        were = agreeing(len(flaws), "was", "were")
        lost = [fit for fit in choice.fits if fit.parameters is None]
        help_ = f"; {parameter('regularise', 0.01)} gives mixtures without an end one" * bool(lost)
        reporter().warn(
            f"{counted(len(flaws), 'start')} {were} discarded, where the likelihood has no bound, "
            f"or whole rows no density: {shown}{more}{help_}"
        )


def learning_of(
    counter: Counter,
    asked: Mapping[str, Any],
    choice: Choice,
    best: MixtureFit,
    criterion: str,
    *,
    integrates: bool,
    rows: int | float,
) -> Provenance:
    """What the model says of how it was fitted."""
    learning = fitted_by("mixture", counter, asked)
    treated = learning.get("missing")
    if integrates and isinstance(treated, Mapping):
        learning = learning.also(missing={**treated, "policy": EM, "assumed": AT_RANDOM})
    assert best.report is not None
    em = written(best.report)
    found = {
        "components": best.n_classes,
        "covariance": best.covariance,
        "criterion": criterion,
        "fits": [summary_of(fit) for fit in choice.fits],
    }
    learning = learning.also(rows=rows, em=em, mixture=found)
    return learning if choice.complete else learning.also(complete=False)
