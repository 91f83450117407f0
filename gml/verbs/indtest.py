"""Independence tests on a table: gml.indtest, `gml indtest`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.calls import ends_at_caller
from gml.counts.counter import Triple, TripleArray
from gml.data.columns import Choice
from gml.data.options import MISSING_POLICIES, column_name, names_of
from gml.errors import UsageError, counted, listing, parameter, quote, unknown_name
from gml.formats.reports.tests import finite, numbers_of
from gml.independence.base import CIResult, IndependenceTest, ResultArrays, probability
from gml.independence.multiplicity import adjusted
from gml.independence.registry import TESTS
from gml.progress import reporter
from gml.resources import require_memory
from gml.synonyms import AnswersSynonyms
from gml.verbs.shared.chosen_methods import DEFAULT_TEST, choose_test, test_of_numbers
from gml.verbs.shared.data_input import Data, is_read, open_data
from gml.verbs.shared.dialects import with_policy
from gml.verbs.shared.front_door import front_door
from gml.verbs.shared.known_names import columns_in
from gml.verbs.shared.planned_call import plannable
from gml.verbs.shared.sparse_tables import warn_of_sparse_tables
from gml.verbs.shared.swapped import answers_swapped

if TYPE_CHECKING:
    import pandas as pd

    from gml.verbs.shared.graph_input import GivenGraph, GraphLike

Question = tuple[str, str, tuple[str, ...]]
Record = dict[str, Any]

ALPHA = 0.05
_BATCH = 1 << 15
# Bytes per test: six numbers and two flags, which are sorted to adjust p-values.
_BYTES_PER_TEST = 58
_BYTES_TO_ADJUST = 56
_SHOWN = 5
_REASONS_AT_ONCE = 1 << 10
_EXPLAINED = 3
"""Tests that are insufficient and said to be so."""


class _OfTheOnlyTest:
    """A figure of the only test of a report; of several tests each has its own."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @ends_at_caller
    def __get__(self, report: TestReport | None, owner: type) -> Any:
        if report is None:
            return self
        if len(report) != 1:
            raise UsageError(
                f"there are {len(report)} tests, each with {self._name!r}: take one, as in "
                f"report[0][{self._name!r}], or to_frame()[{self._name!r}]"
            )
        return report[0][self._name]


class _Questions(NamedTuple):
    """How many questions there are, and how to go through them, as often as needed."""

    number: int
    each: Callable[[], Iterator[Question]]


@dataclass(frozen=True, repr=False)
class TestReport(AnswersSynonyms):
    """One row per test, made again each time the rows are gone through.

    Where there is only one, its figures are attributes, too: `p_value`, `verdict` and the like.
    """

    questions: _Questions
    results: ResultArrays
    test: IndependenceTest
    alpha: float | None
    adjusted: NDArray[np.float64] | None

    statistic = _OfTheOnlyTest()
    df = _OfTheOnlyTest()
    p_value = _OfTheOnlyTest()
    p_adjusted = _OfTheOnlyTest()
    mi = _OfTheOnlyTest()
    cramers_v = _OfTheOnlyTest()
    n = _OfTheOnlyTest()
    verdict = _OfTheOnlyTest()

    def __len__(self) -> int:
        return self.questions.number

    def __iter__(self) -> Iterator[Record]:
        asked = zip(self.questions.each(), self.results, strict=True)
        reasons = self._reasons() if self._tells_why() else None
        for k, ((x, y, given), result) in enumerate(asked):
            log_p = self._log_p(k, result)
            row = {
                "x": x,
                "y": y,
                "given": list(given),
                "test": result.test or self.test.name,
                "df_rule": TESTS[result.test].df_rule if result.test else self.test.df_rule,
                **numbers_of(result),
                "p_adjusted": None if self.adjusted is None else probability(log_p),
                "mi": finite(result.mi),
                "cramers_v": result.cramers_v,
                "n": result.n,
                "alpha": self.alpha,
                "verdict": self.test.verdict(result, self.alpha or 0.0, log_p),
                **(result.details or {}),
            }
            if reasons is not None:
                row["reason"] = next(reasons)
            yield row

    def _reasons(self) -> Iterator[str | None]:
        """Why each test is insufficient, if it is; many at once where that takes a pass."""
        position = {name: j for j, name in enumerate(self.test.names)}
        at_once = _REASONS_AT_ONCE if self.test.pass_rows else 1
        asked, results = self.questions.each(), iter(self.results)
        while some := list(islice(asked, at_once)):
            of_these = list(islice(results, at_once))
            yield from self.test.reasons(_triples(some, position), of_these, self.alpha or 0.0)

    def _log_p(self, k: int, result: CIResult) -> float | None:
        """The logarithm of p that decides."""
        if self.adjusted is None or result.log_p is None:
            return result.log_p
        return float(self.adjusted[k])

    def _tells_why(self) -> bool:
        """Whether a test is insufficient: rows then have a reason, null for all others."""
        undecided = self.alpha is not None and self.test.why_undecided(self.alpha) is not None
        return undecided or not bool(self.results.sufficient.all())

    def __getitem__(self, k: int) -> Record:
        if not -len(self) <= k < len(self):
            raise IndexError(f"there are {len(self)} tests")
        return next(islice(self, k % len(self), None))

    @property
    def verdicts(self) -> set[str]:
        """The verdicts that occur."""
        return {
            self.test.verdict(result, self.alpha or 0.0, self._log_p(k, result))
            for k, result in enumerate(self.results)
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each test."""
        from gml.verbs.shared.result_frames import frame_of

        return frame_of(self)

    def __repr__(self) -> str:
        lines = [f"TestReport({counted(len(self), 'test')} by {self.test.name})"]
        for row in islice(self, _SHOWN):
            given = f" | {', '.join(row['given'])}" if row["given"] else ""
            p = "" if row["p_value"] is None else f"  p {row['p_value']:.4g}"
            lines.append(f"{row['x']} ~ {row['y']}{given}: {row['verdict']}{p}")
        return "\n".join([*lines, *[f"and {len(self) - _SHOWN} more"] * (len(self) > _SHOWN)])

    def _repr_html_(self) -> str:
        from gml.pictures.notebook.tests import tests_html

        return tests_html(self, len(self))


@front_door(TESTS)
@plannable("indtest")
@answers_swapped("implied")
def indtest(
    data: Data,
    x: str | int | None = None,
    y: str | int | None = None,
    given: str | int | Sequence[str | int] = (),
    *,
    all_pairs: bool = False,
    implied: GraphLike | None = None,
    test: str = DEFAULT_TEST,
    alpha: float | None = None,
    adjust: str | None = None,
    threads: int | None = None,
    **options: Any,
) -> TestReport:
    """Test whether x and y are independent, given other columns.

    Parameters
    ----------
    data
        A path, a DataFrame, a Dataset or a Counter.
    x, y, given
        The two columns, and those to condition on.
    all_pairs
        Test every pair of columns instead.
    implied
        Test what this DAG or undirected graph (or a model) implies instead, pair by pair; numbers
        lie in the intervals that it declares.
    test, alpha
        One of `gml.TESTS` (`auto` by default) and its level, 0.05 by default.
    adjust
        Adjust p-values for the number of tests: `bonferroni`, `holm`, `bh` or `by`.
    threads
        Threads; all cores by default.
    **options
        Options of the test, and how to read the data; see `gml.read`.

    Examples
    --------
    >>> import gml
    >>> report = gml.indtest("sample_data/asia.csv", "smoke", "xray", given="lung")
    >>> report.verdict, round(report.p_value, 4)
    ('dependent', 0.0251)
    """
    also = [] if adjust is None else ["adjust"]
    chosen, reading = choose_test(
        test, alpha, options, default_alpha=ALPHA, df="full", also_given=also
    )
    from gml.verbs.shared.graph_input import given_graph

    graph = None if implied is None else given_graph(implied)
    declared = None
    if graph is not None:
        declared = graph.declared_cuts()
        if chosen.undeclared == "numbers":
            declared = replace(declared, levels={})
        if is_read(data):
            reading = with_policy(reading, declared.dialect, MISSING_POLICIES)
    ask, used = _questioner(
        data, column_name(x), column_name(y), names_of("given", given), all_pairs, graph
    )
    counter = open_data(
        data,
        used=used,
        declared=declared,
        undeclared=chosen.undeclared,
        takes_numbers=test_of_numbers(),
        threads=threads,
        **reading,
    )
    questions = ask([variable.name for variable in counter.variables])
    made = chosen.make(counter, threads)
    is_adjusted = adjust not in (None, "none")
    results = _results(questions, made, is_adjusted=is_adjusted)
    warn_of_sparse_tables(made.name, results.strained)
    numbers = {variable.name for variable in counter.variables if variable.is_continuous}
    _tell_what_lacks(questions, made, results, numbers)
    decisive = _adjusted(results, str(adjust)) if is_adjusted else None
    return TestReport(questions, results, made, chosen.reported_alpha, decisive)


def _results(questions: _Questions, test: IndependenceTest, *, is_adjusted: bool) -> ResultArrays:
    """Run the tests in batches, and keep nothing but their numbers."""
    kept = _BYTES_PER_TEST + (_BYTES_TO_ADJUST if is_adjusted else 0)
    require_memory(questions.number * kept, None, f"the results of {questions.number} tests")
    position = {name: j for j, name in enumerate(test.names)}
    asked = questions.each()
    results = None
    for start in range(0, max(1, questions.number), _BATCH):
        if start:
            number = questions.number
            reporter().status(f"testing: {start:,} of {number:,}", start, number)
        part = test.batch(_triples(islice(asked, _BATCH), position))
        if results is None:
            results = ResultArrays.room(questions.number, part)
        results.put(start, part)
    reporter().status(None)
    assert results is not None
    return results


def _tell_what_lacks(
    questions: _Questions, test: IndependenceTest, results: ResultArrays, numbers: Set[str]
) -> None:
    """Say of the first tests that are insufficient what the data lack, if the test knows it.

    Of labels alone the reason stands in the report, and is almost always that nothing varies.
    """
    which = np.flatnonzero(~results.sufficient)[:_EXPLAINED].tolist()
    if not which:
        return
    position = {name: j for j, name in enumerate(test.names)}
    wanted = set(which)
    some = {
        k: (x, y, given)
        for k, (x, y, given) in enumerate(islice(questions.each(), which[-1] + 1))
        if k in wanted and not numbers.isdisjoint({x, y, *given})
    }
    said = test.why_all_insufficient(_triples(some.values(), position), [results[k] for k in some])
    for (x, y, given), why in zip(some.values(), said, strict=True):
        if why is not None:
            beside = f" given {listing(given)}" if given else ""
            reporter().warn(f"insufficient: {quote(x)} and {quote(y)}{beside}: {why}")


def _triples(questions: Iterable[Question], position: Mapping[str, int]) -> Sequence[Triple]:
    triples = [(position[a], position[b], tuple(position[c] for c in z)) for a, b, z in questions]
    if len({len(given) for _, _, given in triples}) != 1:
        return triples
    return TripleArray(np.array([(a, b, *given) for a, b, given in triples], dtype=np.int32))


def _questioner(
    data: Data,
    x: str | None,
    y: str | None,
    given: tuple[str, ...],
    all_pairs: bool,
    implied: GivenGraph | None,
) -> tuple[Callable[[Sequence[str]], _Questions], Choice | None]:
    """Return what to ask, given the names of the columns read, and which columns to read."""
    asked_for = sum((x is not None, all_pairs, implied is not None))
    if asked_for > 1:
        raise UsageError(
            f"X and Y, {parameter('all_pairs')} and {parameter('implied')} exclude one another"
        )
    if asked_for == 0 or (x is None) != (y is None):
        there = f"; there are {listing(columns)}" if (columns := columns_in(data)) else ""
        raise UsageError(
            f"name X and Y, or say {parameter('all_pairs')} or {parameter('implied')} GRAPH{there}"
        )
    named = [name for name in (x, y, *given) if name is not None]
    if len(set(named)) != len(named):
        raise UsageError(f"X, Y and {parameter('given')} must be different columns")
    if x is not None and y is not None:
        one = _Questions(1, lambda: iter([(x, y, given)]))
        return lambda names: one, lambda names: [x, y, *given]
    if all_pairs:
        return lambda names: _pairs(names, given), None
    assert implied is not None
    if given:
        raise UsageError(
            f"{parameter('implied')} brings its own conditioning sets; {parameter('given')} "
            "contradicts"
        )
    return _implied(implied)


def _pairs(names: Sequence[str], given: tuple[str, ...]) -> _Questions:
    for name in given:
        if name not in names:
            raise UsageError(unknown_name("column", name, names))
    rest = sorted(set(names) - set(given))
    if len(rest) < 2:
        raise UsageError(f"{parameter('all_pairs')} needs two columns besides {parameter('given')}")
    return _Questions(
        len(rest) * (len(rest) - 1) // 2,
        lambda: ((a, b, given) for a, b in combinations(rest, 2)),
    )


def _implied(found: GivenGraph) -> tuple[Callable[[Sequence[str]], _Questions], Choice]:
    from gml.independence.implied import each_implied

    graph = found.graph
    n_nodes = len(graph.names)
    questions = _Questions(
        n_nodes * (n_nodes - 1) // 2 - graph.n_edges, lambda: each_implied(graph)
    )
    columns = found.columns()

    def used(names: Sequence[str]) -> Sequence[str]:
        chosen = columns(names)
        if not questions.number:
            reporter().warn("the graph implies no independence: every pair has an edge")
        return chosen

    return lambda names: questions, used


def _adjusted(results: ResultArrays, method: str) -> NDArray[np.float64]:
    log_p = np.nan if results.log_p is None else results.log_p
    return adjusted(np.where(results.sufficient, log_p, np.nan), method)
