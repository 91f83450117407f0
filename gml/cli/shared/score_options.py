"""The options that choose scores, the same for every command that scores."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gml.cli.shared.common_options import ess_option, prior_rows
from gml.cli.shared.numbers import Real
from gml.cli.shared.parameter_types import NameList
from gml.cli.shared.run import was_given
from gml.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from gml.cli.shared.test_options import TestRequest
    from gml.counts.counter import Counter
    from gml.scores.base import EdgePrior, FamilyScore

Function = TypeVar("Function", bound=Callable[..., Any])

ON_LEVELS = ("loglik", "aic", "bic", "ebic", "bd", "bdeu", "bds", "bdj", "k2", "fnml", "qnml")
ON_NUMBERS = ("loglik-g", "aic-g", "bic-g", "bge")
_OPTIONS_OF = {"ess": ("bdeu", "bds"), "prior_count": ("bd",)}
_ON_LEVELS_ONLY = ("bins", "discretize", "cut", "levels")


@dataclass(frozen=True)
class ScoreRequest:
    """Which scores, and what belongs to them."""

    names: tuple[str, ...]
    ess: float
    prior_count: float
    edge_penalty: float

    @property
    def numeric(self) -> bool:
        """Whether the scores are on numbers."""
        return self.names[0] in ON_NUMBERS

    @property
    def not_equivalent(self) -> list[str]:
        """The scores that tell Markov equivalent DAGs apart."""
        from gml.scores.registry import SCORES

        return [name for name in self.names if not SCORES[name].equivalent]

    @property
    def with_bayes_factors(self) -> list[str]:
        """The scores whose differences are logarithms of Bayes factors, at least about."""
        from gml.scores.registry import SCORES

        if self.edge_penalty:
            return []
        return [name for name in self.names if SCORES[name].bayes_factors]

    def check(self) -> None:
        """Refuse names that are no scores, and options that mean nothing to them."""
        _check(self.names)

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
        from gml.scores.registry import SCORES

        known = [name for name in (*ON_LEVELS, *ON_NUMBERS) if SCORES[name].bayes_factors]
        for name in self.names:
            if name not in known:
                raise UsageError(
                    f"{what} needs a marginal likelihood, which {name} is not: {', '.join(known)}"
                )

    def make(self, counter: Counter) -> list[FamilyScore | EdgePrior]:
        """Return the scores over a counter."""
        from gml.scores.base import EdgePrior
        from gml.scores.registry import SCORES

        chosen = []
        for name in self.names:
            options = {
                option: getattr(self, option)
                for option, names in _OPTIONS_OF.items()
                if name in names
            }
            score = SCORES[name](counter, **options)
            chosen.append(EdgePrior(score, self.edge_penalty) if self.edge_penalty else score)
        return chosen


def _check(names: Sequence[str]) -> None:
    known = (*ON_LEVELS, *ON_NUMBERS)
    for name in names:
        if name not in known:
            raise UsageError(unknown_name("score", name, known))
    if not names or len(set(names)) != len(names):
        raise UsageError("--score names different scores")
    if len({name in ON_NUMBERS for name in names}) > 1:
        raise UsageError(f"scores of numbers ({', '.join(ON_NUMBERS)}) do not go with others")
    for option, scores in _OPTIONS_OF.items():
        if was_given(option) and not set(scores) & set(names):
            flag = "--" + option.replace("_", "-")
            raise UsageError(f"{flag} does not go with --score {','.join(names)} (but {scores[0]})")
    if names[0] in ON_NUMBERS:
        for option in _ON_LEVELS_ONLY:
            if was_given(option):
                raise UsageError(f"--{option} does not go with scores of numbers")


_PRIOR_COUNT = click.option(
    "--prior-count",
    type=Real(),
    default=1.0,
    show_default=True,
    callback=prior_rows,
    help="Prior rows a cell of bd.",
)
_EDGE_PENALTY = click.option(
    "--edge-penalty",
    type=Real(),
    default=0.0,
    show_default=True,
    help="Structure prior: nats that each edge costs; 0: all graphs alike.",
)


def score_options(
    *,
    several: bool = True,
    default: str | Callable[[], str] = "bic",
    show_default: bool | str = True,
    checked: bool = True,
) -> Callable[[Function], Function]:
    """--score and what belongs to it, injected as `scoring`; checked later, if at all, by `check`.

    A default that is a function sees the options that are eager.
    """
    known = f"{', '.join(ON_LEVELS)}; for numbers {', '.join(ON_NUMBERS)}."

    def decorate(function: Function) -> Function:
        @click.option(
            "--score",
            "names",
            type=NameList(),
            default=default,
            show_default=show_default,
            metavar="NAMES" if several else "NAME",
            help=f"{'One or more' if several else 'One'} of {known}",
        )
        @ess_option("Equivalent sample size of bdeu and bds.")
        @_PRIOR_COUNT
        @_EDGE_PENALTY
        @functools.wraps(function)
        def wrapper(
            *args: Any,
            names: tuple[str, ...],
            ess: float,
            prior_count: float,
            edge_penalty: float,
            **kwargs: Any,
        ) -> Any:
            if not several and len(names) > 1:
                raise UsageError("--score names one score to search by")
            scoring = ScoreRequest(tuple(names), ess, prior_count, edge_penalty)
            if checked:
                scoring.check()
            return function(*args, scoring=scoring, **kwargs)

        return wrapper  # type: ignore[return-value]

    return decorate


def score_instead_options(function: Function) -> Function:
    """--score NAME in place of the tests, injected as `scoring`; None, and tests, without it.

    Stands below `test_options`, whose --ess is that of the score too.
    """

    @click.option(
        "--score",
        metavar="NAME",
        help=f"Score instead of testing: {', '.join(ON_LEVELS)}; numbers {', '.join(ON_NUMBERS)}.",
    )
    @_PRIOR_COUNT
    @_EDGE_PENALTY
    @functools.wraps(function)
    def wrapper(
        *args: Any,
        score: str | None,
        prior_count: float,
        edge_penalty: float,
        testing: TestRequest,
        **kwargs: Any,
    ) -> Any:
        scoring = None
        if score is None:
            for option in ("prior_count", "edge_penalty"):
                if was_given(option):
                    raise UsageError(f"--{option.replace('_', '-')} belongs to --score")
        else:
            testing.refuse_options()
            scoring = ScoreRequest((score,), testing.options["ess"], prior_count, edge_penalty)
            scoring.check()
        return function(*args, scoring=scoring, testing=testing, **kwargs)

    return wrapper  # type: ignore[return-value]
