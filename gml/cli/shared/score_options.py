"""The options that choose scores, the same for every command that scores."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gml.cli.shared.declared_options import click_option
from gml.cli.shared.parameter_types import NameList
from gml.cli.shared.run import was_given
from gml.errors import UsageError
from gml.parameters import FOR_LABELS, LABELS, Described, options_of, owners_of
from gml.scores.registry import (
    EDGE_PENALTY,
    SCORES,
    check_scores,
    make_score,
    scores_of_numbers,
)

if TYPE_CHECKING:
    from gml.cli.shared.test_options import TestRequest
    from gml.counts.counter import Counter
    from gml.scores.base import DecomposableScore

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class ScoreRequest:
    """Which scores, the options of all scores, and what an edge costs."""

    names: tuple[str, ...]
    options: dict[str, Any]
    edge_penalty: float

    @property
    def numeric(self) -> bool:
        """Whether the scores are for numbers alone."""
        return LABELS not in SCORES[self.names[0]].columns

    @property
    def likelihood(self) -> str:
        """The score that is the plain likelihood of such columns."""
        return SCORES[self.names[0]].likelihood

    @property
    def not_equivalent(self) -> list[str]:
        """The scores that tell Markov equivalent DAGs apart."""
        return [name for name in self.names if not SCORES[name].equivalent]

    @property
    def with_bayes_factors(self) -> list[str]:
        """The scores whose differences are logarithms of Bayes factors, at least about."""
        if self.edge_penalty:
            return []
        return [name for name in self.names if SCORES[name].bayes_factors]

    def check(self) -> None:
        """Refuse names that are no scores, and options that mean nothing to them."""
        known = (*options_of(SCORES), *FOR_LABELS)
        check_scores(self.names, [option for option in known if was_given(option)])

    def require_equivalent(self, command: str) -> None:
        """Refuse a score that tells equivalent DAGs apart."""
        bad = self.not_equivalent
        if bad:
            raise UsageError(
                f"{command} is over equivalence classes, whose DAGs {bad[0]} scores differently; "
                "use bic, bdeu or another score-equivalent one"
            )

    def require_likelihood(self, what: str) -> None:
        """Refuse a score that is no marginal likelihood, not even about."""
        known = [name for name, score in SCORES.items() if score.bayes_factors]
        for name in self.names:
            if name not in known:
                raise UsageError(
                    f"{what} needs a marginal likelihood, which {name} is not: {', '.join(known)}"
                )

    def make(self, counter: Counter) -> list[DecomposableScore]:
        """Return the scores over a counter."""
        return [
            make_score(
                name,
                counter,
                edge_penalty=self.edge_penalty,
                **{option.name: self.options[option.name] for option in SCORES[name].options},
            )
            for name in self.names
        ]


def _known_scores() -> str:
    numbers = scores_of_numbers()
    labels = [name for name in SCORES if name not in numbers]
    return f"{', '.join(labels)}; for numbers {', '.join(numbers)}"


def score_options(
    *,
    several: bool = True,
    default: str | Callable[[], str] = "bic",
    show_default: bool | str = True,
    checked: bool = True,
    shared: Mapping[str, Described] | None = None,
) -> Callable[[Function], Function]:
    """--score and what belongs to it, injected as `scoring`; checked later, if at all, by `check`.

    A default that is a function sees the options that are eager. Entries of `shared` use options of
    the same names too.
    """
    options = [
        click.option(
            "--score",
            "names",
            type=NameList(),
            default=default,
            show_default=show_default,
            metavar="NAMES" if several else "NAME",
            help=f"{'One or more' if several else 'One'} of {_known_scores()}.",
        )
    ]
    for name, option in options_of(SCORES).items():
        others = [shared] if shared and owners_of(shared, name) else []
        options.append(click_option(option, SCORES, *others))
    options.append(click_option(EDGE_PENALTY))

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def wrapper(*args: Any, names: tuple[str, ...], edge_penalty: float, **kwargs: Any) -> Any:
            if not several and len(names) > 1:
                raise UsageError("--score must name one score to search by")
            chosen = {name: kwargs.pop(name) for name in options_of(SCORES)}
            scoring = ScoreRequest(tuple(names), chosen, edge_penalty)
            if checked:
                scoring.check()
            return function(*args, scoring=scoring, **kwargs)

        for option in reversed(options):
            wrapper = option(wrapper)
        return wrapper  # type: ignore[return-value]

    return decorate


def score_instead_options(function: Function) -> Function:
    """--score NAME in place of the tests, injected as `scoring`; None, and tests, without it.

    Stands below `test_options`, whose options are those of the score too where names are the same.
    """
    from gml.independence.registry import TESTS

    own = {
        name: option for name, option in options_of(SCORES).items() if not owners_of(TESTS, name)
    }

    @functools.wraps(function)
    def wrapper(
        *args: Any,
        score: str | None,
        edge_penalty: float,
        testing: TestRequest,
        **kwargs: Any,
    ) -> Any:
        chosen = {name: kwargs.pop(name) for name in own}
        scoring = None
        if score is None:
            for option in (*own, EDGE_PENALTY.name):
                if was_given(option):
                    raise UsageError(f"--{option.replace('_', '-')} belongs to --score")
        else:
            testing.refuse_options(SCORES)
            scoring = ScoreRequest((score,), testing.options | chosen, edge_penalty)
            scoring.check()
        return function(*args, scoring=scoring, testing=testing, **kwargs)

    options = [
        click.option(
            "--score", metavar="NAME", help=f"Score instead of testing: {_known_scores()}."
        ),
        *(click_option(option, SCORES) for option in own.values()),
        click_option(EDGE_PENALTY),
    ]
    for option in reversed(options):
        wrapper = option(wrapper)
    return wrapper  # type: ignore[return-value]
