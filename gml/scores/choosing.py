"""Scores by their labels: made over a counter, and checked before there is one.

Like the registry, this module imports nothing that computes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gml.errors import UsageError, parameter, quote, unknown_name
from gml.parameters import FOR_LABELS, LABELS, options_of, owners_of
from gml.scores.options import EDGE_PENALTY
from gml.scores.registry import EITHER, JUDGE, RIVALS, SCORES

if TYPE_CHECKING:
    from gml.counts.counter import Counter
    from gml.scores.base import DecomposableScore


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
    return SCORES[name](counter, **options).with_edge_penalty(penalty)


def check_scores(names: Sequence[str], given: Iterable[str]) -> None:
    """Refuse unknown scores, scores that do not go together, and parameters that mean nothing.

    These are options of scores, each of which must mean something to one of them, and those that
    say how values become labels.
    """
    if not names:
        raise UsageError(f"{parameter('score')} lists no score; there are {', '.join(SCORES)}")
    for k, name in enumerate(names):
        if name == EITHER:
            raise UsageError(
                f"{EITHER} is a choice between graphs by {' and '.join(RIVALS[EITHER])}, for gml "
                f"ges and gml hc alone; {JUDGE} is the score that chooses"
            )
        if name not in SCORES:
            raise UsageError(unknown_name("score", name, (*SCORES, *RIVALS)))
        if name in names[:k]:
            raise UsageError(f"{parameter('score')} lists {quote(name)} twice")
    first = SCORES[names[0]]
    for name in names[1:]:
        if SCORES[name].likelihood != first.likelihood:
            raise UsageError(
                f"{names[0]} and {name} do not go together: they are about different likelihoods "
                f"({first.likelihood} and {SCORES[name].likelihood}), which cannot be compared"
            )
    for option in given:
        _check_option(option, names)


def check_score_options(names: Sequence[str], given: Iterable[str]) -> None:
    """Refuse parameters that mean nothing to any of some scores, the first of which is named."""
    for option in given:
        if not set(owners_of(SCORES, option)) & set(names):
            _check_option(option, names[:1])


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
