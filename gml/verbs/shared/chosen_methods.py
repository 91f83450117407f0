"""Tests and scores by name, with the options that were given for them, before there are data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gml.data.column_kinds import kinds_of
from gml.errors import UsageError, counted, parameter, require_share
from gml.independence.registry import TESTS, check_test
from gml.parameters import FOR_LABELS, LABELS, NUMBERS, options_of
from gml.progress import reporter
from gml.scores.choosing import check_score_options, check_scores, make_score
from gml.scores.label_order import OTHERWISE, labels_before_numbers
from gml.scores.options import PENALTY
from gml.scores.registry import EITHER, FAMILIES, RIVALS, SCORES, Families

if TYPE_CHECKING:
    from gml.counts.counter import Counter
    from gml.data.dataset import Variable
    from gml.data.options import Undeclared
    from gml.graph.graph import Graph
    from gml.graph.knowledge import Knowledge
    from gml.independence.base import CounterTest
    from gml.scores.base import DecomposableScore, FamilyScore
    from gml.verbs.shared.graph_input import GivenGraph


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
        return "auto" if LABELS in TESTS[self.name].columns else "numbers"

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
    """A score, and the options given for it.

    `by_kinds` has the scores of a family, among which the kinds of columns choose; until there are
    columns, the score is the one of categorical columns, which has the name of the family.
    """

    name: str
    options: Mapping[str, Any]
    edge_penalty: float = 0.0
    by_kinds: Mapping[tuple[str, ...], str] | None = None
    of_complete_rows: Mapping[tuple[str, ...], str] | None = None
    """Among which they choose where nothing is missing, if EM has others."""

    def for_columns(self, variables: Sequence[Variable]) -> ChosenScore:
        """Return the score for such columns; if these choose it, say so where there are numbers."""
        kinds = kinds_of(variables)
        if self.by_kinds is None or kinds not in self.by_kinds:
            return self
        name = self.by_kinds[kinds]
        check_scores([name], self.options)
        if NUMBERS in kinds:
            numbers = sum(variable.is_continuous for variable in variables)
            what = f"{numbers} of {counted(len(variables), 'column')}"
            are = "is a number" if numbers == 1 else "are numbers"
            reporter().tell(
                f"{what} {are}, so the score is {name}{self._why(kinds, name)} "
                f"({parameter('score')} chooses another)"
            )
        return self._replace(name=name, by_kinds=None)

    def _why(self, kinds: tuple[str, ...], name: str) -> str:
        """Why EM has another score for such columns than complete rows have, if it has."""
        usual = name if self.of_complete_rows is None else self.of_complete_rows.get(kinds, name)
        if usual == name:
            return ""
        return f", since {usual} has no distribution of labels for EM"

    def among(self, families: Families) -> ChosenScore:
        """Let the columns choose among the scores that EM has, if they choose at all."""
        if self.by_kinds is None:
            return self
        return self._replace(by_kinds=families[self.name], of_complete_rows=self.by_kinds)

    @property
    def takes_numbers(self) -> bool:
        """Whether columns may be numbers."""
        names = [self.name] if self.by_kinds is None else [*self.by_kinds.values()]
        return any(NUMBERS in SCORES[name].columns for name in names)

    @property
    def takes_gaps(self) -> bool:
        """Whether families may be scored on different rows."""
        return SCORES[self.name].takes_gaps

    @property
    def labels_first(self) -> bool:
        """Whether no number may be a parent of a label."""
        return SCORES[self.name].labels_first

    def limited(
        self, known: Knowledge, variables: Sequence[Variable], *, finds_dag: bool = False
    ) -> Knowledge:
        """Add what the score demands of graphs to what is known; contradictions are errors.

        `finds_dag` says that a DAG is looked for, not a class of them.
        """
        if not self.labels_first or len(kinds_of(variables)) < 2:
            return known
        reporter().tell(
            f"{self.name} takes no number for a parent of a label: the tiers are labels < numbers"
            + (", and a class of DAGs is shown as its maximally oriented PDAG" * (not finds_dag))
        )
        return labels_before_numbers(known, variables, self.name)

    def dag_of(self, given: GivenGraph, variables: Sequence[Variable]) -> Graph:
        """Return a DAG for a graph that the score can score; an error says if there is none."""
        if not self.labels_first:
            return given.dag()
        return given.dag_of_kinds(variables, f"which {self.name} cannot score; {OTHERWISE}")

    @property
    def undeclared(self) -> Undeclared:
        """What a column holds if nothing declares it."""
        return "auto" if LABELS in SCORES[self.name].columns else "numbers"

    @property
    def is_equivalent(self) -> bool:
        """Whether Markov equivalent DAGs have the same score."""
        return SCORES[self.name].equivalent

    @property
    def has_bayes_factors(self) -> bool:
        """Whether differences are, at least approximately, logarithms of Bayes factors."""
        plain = not self.edge_penalty and self.options.get(PENALTY.name, 1.0) == 1.0
        return plain and SCORES[self.name].bayes_factors

    def likelihood(self, counter: Counter) -> FamilyScore:
        """Return the plain likelihood of the same columns."""
        plain = SCORES[SCORES[self.name].likelihood]
        taken = {option.name for option in plain.options}
        return plain(counter, **{k: value for k, value in self.options.items() if k in taken})

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
        if score.equivalent and score.bayes_factors and score.columns == tuple(columns)
    ]


def test_of_numbers() -> str:
    """Return a test that takes undeclared columns as numbers, for advice."""
    return parameter("test", next(n for n, test in TESTS.items() if LABELS not in test.columns))


def score_of_numbers() -> str:
    """Return a score that takes columns as numbers, for advice."""
    return parameter("score", _equivalent_bayes_factors([NUMBERS])[0])


def choose_score(
    name: str | None,
    edge_penalty: float,
    options: Mapping[str, Any],
    by_kinds: Mapping[tuple[str, ...], str] = FAMILIES[DEFAULT_SCORE],
) -> tuple[ChosenScore, dict[str, Any]]:
    """Check the options of one score, which the columns choose if it has no name."""
    if name is not None:
        (chosen,), rest = choose_scores([name], edge_penalty, options)
        return chosen, rest
    own, rest = _split_options(options)
    check_score_options([*by_kinds.values()], [*own, *(key for key in rest if key in FOR_LABELS)])
    return ChosenScore(by_kinds[LABELS,], own, edge_penalty, by_kinds), rest


def choose_rivals(
    edge_penalty: float, options: Mapping[str, Any]
) -> tuple[list[ChosenScore], dict[str, Any]]:
    """Check the options of scores that are tried in turn; each must mean something to one."""
    own, rest = _split_options(options)
    check_score_options(RIVALS[EITHER], [*own, *(key for key in rest if key in FOR_LABELS)])
    return [_fitting(name, edge_penalty, own) for name in RIVALS[EITHER]], rest


def _fitting(
    name: str,
    edge_penalty: float,
    own: Mapping[str, Any],
    by_kinds: Mapping[tuple[str, ...], str] | None = None,
) -> ChosenScore:
    """A score, or a family of them, with those of some options that it has."""
    names = [name] if by_kinds is None else by_kinds.values()
    taken = {option.name for member in names for option in SCORES[member].options}
    kept = {key: value for key, value in own.items() if key in taken}
    return ChosenScore(name, kept, edge_penalty, by_kinds)


def choose_scores(
    names: Sequence[str],
    edge_penalty: float,
    options: Mapping[str, Any],
    families: Families = FAMILIES,
) -> tuple[list[ChosenScore], dict[str, Any]]:
    """Check the options of scores, and return them and the keywords that are not their options."""
    own, rest = _split_options(options)
    check_scores(names, [])
    own_forms = [families[name].values() if name in families else [name] for name in names]
    members = [member for forms in own_forms for member in forms]
    check_score_options(members, [*own, *(key for key in rest if key in FOR_LABELS)])
    return [_fitting(name, edge_penalty, own, families.get(name)) for name in names], rest


def _split_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of scores among keywords, and the others."""
    of_scores = options_of(SCORES)
    own = {key: value for key, value in options.items() if key in of_scores}
    return own, {key: value for key, value in options.items() if key not in of_scores}
