"""Tests and scores by name, with the options that were given for them, before there are data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gml.errors import UsageError, parameter, require_share
from gml.independence.registry import TESTS, check_test
from gml.parameters import FOR_LABELS, LABELS, NUMBERS, options_of
from gml.scores.registry import SCORES, check_scores, make_score

if TYPE_CHECKING:
    from gml.counts.counter import Counter
    from gml.data.options import Undeclared
    from gml.independence.base import CounterTest
    from gml.scores.base import DecomposableScore, FamilyScore


DEFAULT_TEST = "auto"
DEFAULT_SCORE = "bic"
"""What learners use unless told otherwise."""


class ChosenTest(NamedTuple):
    """A test, its level, and the options given for it."""

    name: str
    alpha: float
    options: Mapping[str, Any]

    @property
    def undeclared(self) -> Undeclared:
        """What a column holds if nothing declares it."""
        return "labels" if LABELS in TESTS[self.name].columns else "numbers"

    @property
    def reported_alpha(self) -> float | None:
        """The level, if the test has one."""
        return self.alpha if TESTS[self.name].p_value else None

    def require_reachable_level(self) -> None:
        """Refuse a test that could never reject."""
        TESTS[self.name].require_level(self.alpha, self.options)

    def require_conditional(self, what: str) -> None:
        """Refuse a test without conditioning sets where there will be some."""
        TESTS[self.name].require_conditional(what)

    def make(self, counter: Counter, threads: int | None) -> CounterTest:
        """Return the test over a counter."""
        return TESTS[self.name](counter, threads=threads, **self.options)


def choose_test(
    name: str | None,
    alpha: float | None,
    options: Mapping[str, Any],
    *,
    default_alpha: float,
    df: str,
    also_given: Sequence[str] = (),
) -> tuple[ChosenTest, dict[str, Any]]:
    """Check the options of a test, and return it and the keywords that are not its options.

    `df` is how degrees of freedom are counted unless told otherwise; `also_given` are other
    keywords that a test may have no use for. Without a name it is the test of the learners.
    """
    name = DEFAULT_TEST if name is None else name
    of_tests = options_of(TESTS)
    own = {key: value for key, value in options.items() if key in of_tests}
    rest = {key: value for key, value in options.items() if key not in of_tests}
    given = [*own, *(key for key in rest if key in FOR_LABELS), *also_given]
    check_test(name, given if alpha is None else [*given, "alpha"])
    alpha = default_alpha if alpha is None else alpha
    require_share(alpha=alpha)
    if "df" in [option.name for option in TESTS[name].options]:
        own.setdefault("df", df)
    return ChosenTest(name, alpha, own), rest


class ChosenScore(NamedTuple):
    """A score, and the options given for it."""

    name: str
    options: Mapping[str, Any]
    edge_penalty: float = 0.0

    @property
    def undeclared(self) -> Undeclared:
        """What a column holds if nothing declares it."""
        return "labels" if LABELS in SCORES[self.name].columns else "numbers"

    @property
    def is_equivalent(self) -> bool:
        """Whether Markov equivalent DAGs have the same score."""
        return SCORES[self.name].equivalent

    @property
    def has_bayes_factors(self) -> bool:
        """Whether differences are, at least approximately, logarithms of Bayes factors."""
        return not self.edge_penalty and SCORES[self.name].bayes_factors

    def likelihood(self, counter: Counter) -> FamilyScore:
        """Return the plain likelihood of the same columns."""
        return SCORES[SCORES[self.name].likelihood](counter)

    @property
    def use_equivalent(self) -> str:
        """Advice to take a score of such columns that does not tell equivalent DAGs apart."""
        best = ", ".join(_equivalent_bayes_factors(SCORES[self.name].columns))
        return f"use {best} or another score-equivalent one"

    def require_equivalent(self, what: str) -> None:
        """Refuse a score that tells equivalent DAGs apart."""
        if not self.is_equivalent:
            raise UsageError(
                f"{what} is over equivalence classes, whose DAGs {self.name} scores differently; "
                + self.use_equivalent
            )

    def require_likelihood(self, what: str) -> None:
        """Refuse a score that is not a marginal likelihood, not even approximately."""
        known = [name for name, score in SCORES.items() if score.bayes_factors]
        if self.name not in known:
            raise UsageError(
                f"{what} needs a marginal likelihood, which {self.name} is not: {', '.join(known)}"
            )

    def make(self, counter: Counter) -> DecomposableScore:
        """Return the score over a counter."""
        return make_score(self.name, counter, edge_penalty=self.edge_penalty, **self.options)


def _equivalent_bayes_factors(columns: Sequence[str]) -> list[str]:
    """The scores of such columns that are the same within a class and tell how certain it is."""
    return [
        name
        for name, score in SCORES.items()
        if score.equivalent and score.bayes_factors and set(columns) & set(score.columns)
    ]


def test_of_numbers() -> str:
    """Return a test that takes columns as numbers, for advice."""
    return parameter("test", next(n for n, test in TESTS.items() if NUMBERS in test.columns))


def score_of_numbers() -> str:
    """Return a score that takes columns as numbers, for advice."""
    return parameter("score", _equivalent_bayes_factors([NUMBERS])[0])


def choose_scores(
    names: Sequence[str], edge_penalty: float, options: Mapping[str, Any]
) -> tuple[list[ChosenScore], dict[str, Any]]:
    """Check the options of scores, and return them and the keywords that are not their options."""
    of_scores = options_of(SCORES)
    own = {key: value for key, value in options.items() if key in of_scores}
    rest = {key: value for key, value in options.items() if key not in of_scores}
    check_scores(names, [*own, *(key for key in rest if key in FOR_LABELS)])
    chosen = []
    for name in names:
        taken = {option.name for option in SCORES[name].options}
        fitting = {key: value for key, value in own.items() if key in taken}
        chosen.append(ChosenScore(name, fitting, edge_penalty))
    return chosen, rest
