"""MVPC: PC on incomplete rows, corrected for what makes values missing (Tu, Zhang, Ackermann,
Mohan, Kjellström & Zhang 2019, "Causal discovery in the presence of missing data", AISTATS, PMLR
89:1762).

PC that tests on the rows that have the columns of each test (test-wise deletion) conditions on
R = 0, the indicators of missing values of x, y and Z. If these are effects of both x and y, it
finds them dependent though they are not: edges are too many, never too few (their proposition 2).
An extraneous edge x — y arises only where an indicator is a common effect of x and y, or a
descendant of one (proposition 3). The steps here:

1. The skeleton by test-wise deletion (`gml.learners.skeleton`).
2. The causes W_i of each indicator R_i (`gml.learners.missingness_causes`).
3. The tests that may be wrong, of pairs that still have an edge, are made again with a correction,
   level by level as in PC-stable; the first that finds independence removes the edge.
4. Colliders (`gml.learners.colliders`), with the correction for the tests that need it.

A test of x and y given Z needs the correction if, for the indicator R_i of one of its columns,
neither W_i ⊆ Z ∪ {x} nor W_i ⊆ Z ∪ {y}, and either x and y both are in W_i, or a member of W_i is
reached, by edges of the skeleton at the beginning of the level and not through x, y or Z, from a
neighbour of both. (If Z held a node on the way to R_i, it would join x and y by itself.)

The correction is the paper's density ratio weighting. Indicators have no effects, so they are
independent given their causes, and with S = {x, y} ∪ Z and the causes of missing values in S, the
causes of missing values in these, and so on,

    P(S) = P(S, R_S = 0) / Π_i P(R_i = 0 | W_i, R_(W_i) = 0),   i ∈ S with missing values

(the paper's equation for β; Mohan, Pearl & Tian 2013, NIPS 26, theorem 2). A row without gaps in S
counts 1/Π π_i(w_i), with π_i as `gml.independence.presence` estimates it, and the tests of
`gml.independence.reweighted` take these weights. The other method of the paper, which draws
new rows from regressions on permuted causes, assumes that these are linear and is not used here.
There are no random numbers.

For labels, factors with W_i ⊆ Z ∪ {x} or W_i ⊆ Z ∪ {y} are left out: they multiply P(x, y, z) by a
function of (x, z) or (y, z) and leave x ⟂ y | Z as it is, so that rows need not be weighted for
them. For numbers they stay, because regressions would bend without them.

A weighted test has no answer where its rows are worth less than a tenth of their number, because a
few have most of the weight: it would hardly find anything. Without an answer an edge stays. Assumed
are: no self-masking, no indicator that causes another, no hidden causes, and that no configuration
of the causes makes a value certain to be missing; columns of which the last is not true are named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import Counter, Triple, TripleArray
from gml.data.column_kinds import kinds_of
from gml.data.dataset import Variable
from gml.errors import UsageError, parameter
from gml.graph.knowledge import Knowledge
from gml.graph.orientation import Matrix
from gml.independence.base import CIResult, CounterTest, IndependenceTest, ResultArrays
from gml.independence.presence import Floats, IncompleteRows, presence
from gml.independence.registry import TESTS
from gml.independence.reweighted import (
    WeightedTable,
    weighted_correlation_test,
    weighted_table_test,
)
from gml.kernel.interface import ConditioningSets
from gml.learners.missingness_causes import MakeTest, MissingnessCauses, missingness_causes
from gml.learners.skeleton import Answers, Asker, Log, Skeleton
from gml.name_order import NameOrder
from gml.parameters import LABELS, NUMBERS
from gml.progress import Deadline, reporter
from gml.stopping import check_stopped

MVPC = "mvpc"
CORRECTIONS = ("none", MVPC)
CORRECTED_TESTS = {LABELS: ("auto", "g", "chi2"), NUMBERS: ("auto", "fisher-z")}
"""The tests that have a weighted form, by what the columns hold."""

# Weighted tests look at all rows: so few at once that a deadline is kept.
_AT_ONCE = 64
_SETS_AHEAD = 256
# Rows that are worth less than this share of their number cannot tell.
_LEAST_WORTH = 0.1


@dataclass(frozen=True)
class Corrected:
    """What the correction found: causes by column, edges removed, and the tests it took."""

    causes: MissingnessCauses
    removed: tuple[tuple[str, str], ...]
    tests: int
    never_there: tuple[str, ...]
    """Columns without a value in any row of some configuration of their causes."""


class CorrectedTest(IndependenceTest):
    """A test that weights rows where deletion would mislead it; columns as in the test within.

    `adjacent` is the skeleton, in the order of names, by which it judges where that is.
    """

    def __init__(
        self, plain: CounterTest, rows: IncompleteRows, causes: Mapping[str, Sequence[str]]
    ) -> None:
        self.name = plain.name
        self.names = plain.names
        self.df_rule = plain.df_rule
        self._plain = plain
        self._rows = rows
        self._rank = NameOrder(plain.names).rank
        at = {name: j for j, name in enumerate(rows.names)}
        self._causes = {
            at[name]: frozenset(at[cause] for cause in some)
            for name, some in causes.items()
            if some
        }
        self._of_labels = not any(rows.is_number)
        self._presence: dict[int, Floats] = {}
        self._known: dict[tuple[int, ...], CIResult] = {}
        self.adjacent: Matrix = np.zeros((len(at), len(at)), dtype=bool)

    @property
    def never_there(self) -> tuple[str, ...]:
        """Columns that some configuration of their causes leaves without any value."""
        found = [i for i, share in self._presence.items() if (share == 0).any()]
        return tuple(self._rows.names[i] for i in sorted(found))

    def margins(self, results: ResultArrays, alpha: float) -> NDArray[np.float64]:
        """As the test within has them."""
        return self._plain.margins(results, alpha)

    def batch(self, triples: Sequence[Triple]) -> ResultArrays:
        """Run many tests, with weights where these are needed."""
        rank = self._rank
        ranked = [(*sorted((rank[x], rank[y])), *sorted(rank[j] for j in z)) for x, y, z in triples]
        biased = np.array([self.is_biased(row) for row in ranked], dtype=bool)
        if not biased.any():
            return self._plain.batch(triples)
        found = ResultArrays.blank(len(triples))
        details = np.full(len(triples), None, dtype=object)
        others = np.flatnonzero(~biased)
        if others.size:
            rows = triples.rows[others] if isinstance(triples, TripleArray) else None
            some = [triples[k] for k in others.tolist()] if rows is None else TripleArray(rows)
            found.place(others, self._plain.batch(some))
        weighted = np.flatnonzero(biased)
        results = [self._weighted(ranked[k]) for k in weighted.tolist()]
        found.place(weighted, ResultArrays.of(results))
        details[weighted] = [result.details for result in results]
        if self.name == "auto" and not self._of_labels:
            assert found.by is not None
            found.by[weighted] = list(TESTS).index("fisher-z")
        return replace(found, details=details)

    def is_biased(self, row: Sequence[int]) -> bool:
        """Whether deletion may join x and y of a test (x, y, *Z), numbered by name, on its own."""
        x, y, *given = row
        opened = [
            self._causes[i]
            for i in row
            if i in self._causes and not self._is_harmless(self._causes[i], x, y, given)
        ]
        if not opened:
            return False
        if any(x in some and y in some for some in opened):
            return True
        start = np.flatnonzero(self.adjacent[x] & self.adjacent[y])
        return bool(frozenset().union(*opened) & self._reached(start.tolist(), row))

    def _is_harmless(self, causes: frozenset[int], x: int, y: int, given: Iterable[int]) -> bool:
        """Whether the probability of a value is a function of (x, z), or of (y, z)."""
        return causes <= {x, *given} or causes <= {y, *given}

    def _reached(self, start: Iterable[int], avoided: Iterable[int]) -> set[int]:
        """The nodes on paths of the skeleton from some nodes, those left out that are avoided."""
        closed = set(avoided)
        reached = set(start) - closed
        waiting = list(reached)
        while waiting:
            new = set(np.flatnonzero(self.adjacent[waiting.pop()]).tolist()) - closed - reached
            reached |= new
            waiting += new
        return reached

    def _weighted(self, row: tuple[int, ...]) -> CIResult:
        """The weighted test of (x, y, *Z), numbered by name; each is made once."""
        if row not in self._known:
            check_stopped()
            weighted, members = self._factors(row)
            usable = self._rows.are_complete(members)
            weights = np.ones(np.count_nonzero(usable))
            for i in weighted:
                weights /= self._probability(i)[usable]
            result = (self._table if self._of_labels else self._correlation)(row, usable, weights)
            causes = sorted(frozenset().union(*(self._causes[i] for i in weighted)))
            details = {
                "corrected_for": tuple(self._rows.names[j] for j in causes),
                **(result.details or {}),
            }
            if details["effective_n"] < _LEAST_WORTH * result.n:
                result = replace(result, sufficient=False, log_p=None)
            self._known[row] = replace(result, details=details)
        return self._known[row]

    def _factors(self, row: Sequence[int]) -> tuple[list[int], list[int]]:
        """The columns whose indicators are weighted for, and all that rows must have."""
        x, y, *given = row
        weighted, members = [], set(row)
        waiting = sorted(row, reverse=True)
        while waiting:
            i = waiting.pop()
            causes = self._causes.get(i, frozenset())
            if not causes or (self._of_labels and self._is_harmless(causes, x, y, given)):
                continue
            weighted.append(i)
            waiting += sorted(causes - members, reverse=True)
            members |= causes
        return sorted(weighted), sorted(members)

    def _probability(self, column: int) -> Floats:
        if column not in self._presence:
            self._presence[column] = presence(self._rows, column, sorted(self._causes[column]))
        return self._presence[column]

    def _table(self, row: tuple[int, ...], usable: NDArray[np.bool_], weights: Floats) -> CIResult:
        rows = self._rows
        x, y, *given = row
        strata, n_strata = rows.configurations(given, usable)
        cells = [strata, *(rows.columns[j][usable].astype(np.int64) for j in (x, y))]
        shape = (n_strata, rows.n_levels[x], rows.n_levels[y])
        table = WeightedTable.of(cells, shape, rows.counts[usable], weights)
        return weighted_table_test(table, self._plain.options.get("min_per_cell", 0.0))

    def _correlation(
        self, row: tuple[int, ...], usable: NDArray[np.bool_], weights: Floats
    ) -> CIResult:
        x, y, *given = (self._rows.columns[j][usable] for j in row)
        return weighted_correlation_test((x, y), given, self._rows.counts[usable], weights)


class MissingnessCorrection:
    """What MVPC does after the skeleton, for one table."""

    def __init__(
        self, counter: Counter, make_test: MakeTest, test: CounterTest, threads: int | None = None
    ) -> None:
        """Take the test of the run, and what makes it over other columns."""
        self._rows = counter.require_rows(parameter("missing_correction", MVPC))
        self._make_test = make_test
        self._test = test
        self._threads = threads

    def correct(
        self,
        skeleton: Skeleton,
        knowledge: Knowledge,
        *,
        alpha: float,
        on_insufficient: str,
        max_cond: int | None,
        deadline: Deadline,
        log: Log | None,
    ) -> tuple[Asker | None, Corrected]:
        """Remove extraneous edges; returns also who answers from now on, if that is another."""
        causes = missingness_causes(
            self._rows,
            self._make_test,
            alpha=alpha,
            on_insufficient=on_insufficient,
            max_cond=max_cond,
            deadline=deadline,
            threads=self._threads,
        )
        skeleton.complete &= causes.complete
        if not (causes.complete and any(causes.of.values())):
            return None, Corrected(causes, (), 0, ())
        test = CorrectedTest(self._test, IncompleteRows(self._rows), causes.of)
        asker = Asker(
            test, alpha=alpha, on_insufficient=on_insufficient, log=log, most_at_once=_AT_ONCE
        )
        search = _Correction(asker, test, skeleton, knowledge, deadline)
        search.run(max_cond)
        removed = tuple((asker.names[x], asker.names[y]) for x, y in sorted(search.removed))
        return asker, Corrected(causes, removed, search.tests, test.never_there)


class _Correction:
    """The levels of step 3."""

    def __init__(
        self,
        asker: Asker,
        test: CorrectedTest,
        skeleton: Skeleton,
        knowledge: Knowledge,
        deadline: Deadline,
    ) -> None:
        self._asker = asker
        self._test = test
        self._skeleton = skeleton
        required = knowledge.required(asker.names)
        self._testable = np.triu(~(required | required.T))
        self._tiers = knowledge.tiers_of(asker.names)
        self._deadline = deadline
        self.tests = 0
        self.removed: list[tuple[int, int]] = []

    def run(self, max_cond: int | None) -> None:
        """Test sets of every size that the skeleton was tested with."""
        for size in range(len(self._skeleton.tests)):
            if max_cond is not None and size > max_cond:
                break
            before = self._skeleton.adjacent.copy()
            self._test.adjacent = before
            pairs = np.ascontiguousarray(np.argwhere(before & self._testable), dtype=np.int32)
            sets = kernel.active().ConditioningSets(before, self._tiers, pairs, size)
            separated = []
            for k, total in enumerate(sets.totals.tolist()):
                found = self._first_separating(sets, k, total)
                if found is not None:
                    separated.append(found)
                if not self._skeleton.complete:
                    break
            for row, answers in separated:
                self._skeleton.add(row, answers)
                self.removed.append((int(row[0, 0]), int(row[0, 1])))
            if not self._skeleton.complete:
                break
        self._test.adjacent = self._skeleton.adjacent
        reporter().status(None)

    def _first_separating(
        self, sets: ConditioningSets, k: int, total: int
    ) -> tuple[NDArray[np.int32], Answers] | None:
        """Make the tests of a pair that deletion may bias, until one separates it."""
        for row in _sets_of(sets, k, total):
            if not self._test.is_biased(row.tolist()):
                continue
            if self._deadline.passed:
                self._skeleton.complete = False
                return None
            answers = self._asker.ask(row[None, :])
            self._asker.record("correction", row[None, :], answers)
            self.tests += 1
            reporter().status(f"correction: {self.tests:,} weighted tests", self.tests)
            if answers.margins[0] >= 0 and not answers.unanswered[0]:
                return row[None, :], answers
        return None


def _sets_of(sets: ConditioningSets, k: int, total: int) -> Iterator[NDArray[np.int32]]:
    """Yield the rows (x, y, *Z) of a pair, in order."""
    for start in range(0, total, _SETS_AHEAD):
        count = min(_SETS_AHEAD, total - start)
        yield from sets.fill(np.array([k]), np.array([start]), np.array([count]))


def require_weighted_form(
    test: str, options: Mapping[str, Any], variables: Iterable[Variable]
) -> None:
    """Refuse columns and tests for which there is no weighted test."""
    asked = parameter("missing_correction", MVPC)
    kinds = kinds_of(variables)
    if len(kinds) > 1:
        raise UsageError(
            f"{asked} is for labels alone or numbers alone, and the table has both; choose columns "
            f"of one kind ({parameter('columns')}), or leave it out"
        )
    known = CORRECTED_TESTS[kinds[0]]
    if test not in known:
        raise UsageError(
            f"{asked} has no weighted form of {parameter('test', test)} for {kinds[0]}; use "
            f"{' or '.join(parameter('test', name) for name in known)}"
        )
    if options.get("transform", "none") != "none":
        raise UsageError(f"{asked} does not go with {parameter('transform')}")
