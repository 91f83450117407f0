"""The scores by their short labels, and the checks of what is asked of them.

A score is a class that describes itself (`FamilyScore`); to add one, write its module and a line
here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gml.counts.counter import Counter
from gml.errors import UsageError, parameter, quote, unknown_name
from gml.parameters import FOR_LABELS, LABELS, Option, options_of, owners_of
from gml.scores.base import DecomposableScore, EdgePrior, FamilyScore
from gml.scores.dirichlet import K2, Bd, Bdeu, Bdj, Bds
from gml.scores.gaussian import AicG, Bge, BicG, LogLikelihoodG
from gml.scores.likelihood import Aic, Bic, Ebic, LogLikelihood
from gml.scores.nml import Fnml, Qnml

SCORES: dict[str, type[FamilyScore]] = {
    score.name: score
    for score in (
        *(LogLikelihood, Aic, Bic, Ebic),
        *(Bd, Bdeu, Bds, Bdj, K2),
        *(Fnml, Qnml),
        *(LogLikelihoodG, AicG, BicG, Bge),
    )
}

EDGE_PENALTY = Option(
    "edge_penalty",
    "real",
    0.0,
    "Structure prior: nats that each edge costs; 0: all graphs alike",
)


def make_score(
    name: str, counter: Counter, *, edge_penalty: float = 0.0, **options: Any
) -> DecomposableScore:
    """Return a score over the columns of a counter, by its label and options.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> score = make_score("bdeu", counter, ess=10)
    >>> score.name, score.equivalent
    ('bdeu', True)
    >>> make_score("bic", counter, ess=10)
    Traceback (most recent call last):
        ...
    gml.errors.UsageError: `ess` does not go with `score='bic'` (only with bdeu, bds)
    """
    check_scores([name], options)
    penalty = EDGE_PENALTY.checked(edge_penalty)
    score = SCORES[name](counter, **options)
    return EdgePrior(score, penalty) if penalty else score


def check_scores(names: Sequence[str], given: Iterable[str]) -> None:
    """Refuse unknown scores, scores that do not go together, and parameters that mean nothing.

    These are options of scores, each of which must mean something to one of them, and those that
    say how values become labels.
    """
    if not names:
        raise UsageError(f"{parameter('score')} lists no score; there are {', '.join(SCORES)}")
    for k, name in enumerate(names):
        if name not in SCORES:
            raise UsageError(unknown_name("score", name, SCORES))
        if name in names[:k]:
            raise UsageError(f"{parameter('score')} lists {quote(name)} twice")
    kinds = SCORES[names[0]].columns
    if any(SCORES[name].columns != kinds for name in names):
        raise UsageError(
            f"scores of numbers ({', '.join(scores_of_numbers())}) do not go with others"
        )
    for option in given:
        _check_option(option, names)


def _check_option(option: str, names: Sequence[str]) -> None:
    if option == EDGE_PENALTY.name:
        return
    if option in FOR_LABELS:
        if not any(LABELS in SCORES[name].columns for name in names):
            raise UsageError(f"{parameter(option)} does not go with scores of numbers")
        return
    owners = owners_of(SCORES, option)
    if not owners:
        known = ", ".join(map(parameter, options_of(SCORES)))
        raise UsageError(f"no score has an option {parameter(option)}; there are {known}")
    if not set(owners) & set(names):
        raise UsageError(
            f"{parameter(option)} does not go with {parameter('score', ','.join(names))} "
            f"(only with {', '.join(owners)})"
        )


def scores_of_numbers() -> list[str]:
    """Return the scores that are for numbers alone."""
    return [name for name, score in SCORES.items() if LABELS not in score.columns]
