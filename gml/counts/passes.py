"""An engine over rows that are somewhere else: every batch of questions is a pass over chunks.

A subclass says how work is done on each chunk of rows and how the partial answers get together
(`over_chunks`), be it one chunk after the other from a file, or many at once elsewhere. All else
follows: counts and sums are exact integers, so that their totals do not depend on the chunks, and
what is made of the totals is made as by the engine over rows in memory, to the last bit.

A pass is dear, so batches should be large. Tables are counted in one pass as far as an eighth of
the budget holds them, and small ones are kept in as much: what is known, or is a margin of what is
known, needs no pass. Learners say which tables they are likely to ask for next (`expect`), and the
next pass counts them too. Numbers become integers about the middle of their range, so a first pass
finds the ranges. Without missing values these are the same whatever is asked, and found once.
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.counts.answered_tables import AnsweredTables
from gml.counts.answers import MissingTreatment, Moments, StratifiedMoments
from gml.counts.batched_tables import BatchedTables
from gml.counts.exact_moments import Frame, moments_from_sums
from gml.counts.expanded_moments import ExpandedMoments
from gml.counts.number_questions import RowsBehind
from gml.counts.pass_correlations import expanded_in_passes
from gml.counts.pass_regressions import residuals_in_passes
from gml.counts.pass_repeats import numbers_in_passes, repeats_in_passes
from gml.counts.pass_work import (
    CompleteRows,
    Extremes,
    Partial,
    Ranges,
    Recoded,
    Seen,
    SeenInRows,
    SumsWithin,
    Work,
)
from gml.counts.questions import Family, Question, TableSet
from gml.counts.residuals import Residuals
from gml.counts.table_answers import TableAnswers
from gml.counts.table_batch import TableBatch
from gml.data.alignment import Recoding, recoded
from gml.data.dataset import Dataset, Variable
from gml.data.number_summary import Numbers
from gml.errors import UsageError, unknown_name
from gml.resources import budget_in_force, require_memory


@dataclass(frozen=True)
class RowFacts:
    """What is known of rows beforehand.

    `n_rows` counts rows as they stand, `n` weighted ones (in units). `gaps` says of each column
    whether a row that counts has no value in it.
    """

    variables: tuple[Variable, ...]
    n: int
    n_rows: int
    gaps: tuple[bool, ...]
    unit: float = 1.0
    digest: str | None = None
    missing_treatment: MissingTreatment | None = None
    decimal: str | None = None
    by_rule: tuple[str, ...] = ()
    where: str = "the rows"
    extremes: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    """The least and the largest number of columns, where they are known."""


class PassCounter(TableAnswers):
    """Answers each batch of questions by a pass over the rows.

    A subclass has `over_chunks`. Chunks are Datasets with the columns asked for, in that order,
    and with the variables of the engine.
    """

    kind = "an engine that reads rows in passes"
    keeps_order: bool = False
    """Whether chunks come, and are added, in the order of the rows."""

    def __init__(self, facts: RowFacts, *, max_memory: int | None = None) -> None:
        self.facts = facts
        self._budget = budget_in_force(max_memory)
        self._ranges = dict(facts.extremes)
        self._batched = BatchedTables(
            facts.variables, facts.gaps, self._budget, self.over_chunks, self._require
        )

    @abstractmethod
    def over_chunks(self, columns: Sequence[int], work: Work[Partial]) -> Partial:
        """Make a pass: do the work on every chunk of these columns, one at least, and add."""

    # ------------------------------------------------------------------ what is known

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The columns that can be counted."""
        return self.facts.variables

    @property
    def n(self) -> int:
        """Number of rows, weighted."""
        return self.facts.n

    @property
    def pass_rows(self) -> int:
        """Rows that are read for each batch of questions."""
        return self.facts.n_rows

    @property
    def unit(self) -> float:
        """How many rows a count of 1 stands for; 1 unless rows have fractional weights."""
        return self.facts.unit

    @property
    def missing(self) -> bool:
        """Whether some tables leave rows out because a value is missing."""
        return any(self.facts.gaps)

    @property
    def digest(self) -> str | None:
        """SHA-256 of the data, if it was asked for when they were read."""
        return self.facts.digest

    @property
    def missing_treatment(self) -> MissingTreatment | None:
        """How missing values were treated when the data were read."""
        return self.facts.missing_treatment

    @property
    def decimal(self) -> str | None:
        """The decimal mark of numbers among the labels."""
        return self.facts.decimal

    @property
    def by_rule(self) -> tuple[str, ...]:
        """The columns that are numeric by their values alone."""
        return self.facts.by_rule

    @property
    def where(self) -> str:
        """Where the rows are."""
        return self.facts.where

    @property
    def budget(self) -> int:
        """The most bytes that a table may take."""
        return self._budget

    def select(self, names: Sequence[str]) -> PassCounter:
        """Return the engine over some of the columns, in the order given."""
        at = {variable.name: j for j, variable in enumerate(self.variables)}
        for name in names:
            if name not in at:
                raise UsageError(unknown_name("column", name, list(at)))
        return _View(self, [at[name] for name in names], {})

    def recoded(self, recodings: Mapping[str, Recoding]) -> PassCounter:
        """Give columns other levels, in which some of their own may be joined."""
        return _View(self, range(len(self.variables)), recodings)

    def ask(
        self, members: Iterable[int], work_on: Callable[[Mapping[int, int]], Work[Partial]]
    ) -> Partial:
        """Do work in one pass over the columns that it needs.

        `work_on` makes the work from the place that each of these columns has in a chunk.
        """
        columns = sorted(set(members))
        return self.over_chunks(columns, work_on({j: k for k, j in enumerate(columns)}))

    # ------------------------------------------------------------------ tables

    def answers(self, batch: TableBatch) -> Iterator[AnsweredTables]:
        """Count a batch of tables; answers come in the order of the questions, many at a time."""
        return self._batched.answers(batch)

    def expect(self, likely: Callable[[], Iterable[TableSet]]) -> None:
        """Count tables that may be asked for soon with the next pass, as far as there is room."""
        if self.counts_ahead:
            self._batched.likely = likely

    @property
    def counts_ahead(self) -> bool:
        """Whether passes are so dear that what may be asked for next is worth finding out."""
        return True

    def complete_rows(self, sets: Sequence[Sequence[int]]) -> NDArray[np.int64]:
        """Return how many rows, weighted, have a value in each column of a set."""
        if not self.missing or not sets:
            return np.full(len(sets), self.n, dtype=np.int64)

        def work_on(place: Mapping[int, int]) -> CompleteRows:
            return CompleteRows([[place[j] for j in columns] for columns in sets])

        return self.ask((j for columns in sets for j in columns), work_on)

    # ------------------------------------------------------------------ numbers

    def moments(self, columns: Sequence[int], given: Sequence[int] = ()) -> Any:
        """Moments of numeric columns over the rows complete in all of them and in those given."""
        (found,) = self.many_moments([Question(tuple(columns), tuple(given))])
        return found

    def many_moments(self, questions: Sequence[Question]) -> list[Moments | StratifiedMoments]:
        """Answer several questions by two passes."""
        for question in questions:
            self.check_moments(*question)
        ranges = self.ranges_of(questions)
        frames = [
            {
                config: [Frame.between(*ends) for ends in found.T.tolist()]
                for config, found in of.items()
            }
            for of in ranges
        ]

        def work_on(place: Mapping[int, int]) -> SumsWithin:
            return SumsWithin([_placed(question, place) for question in questions], frames)

        sums = self.ask((j for q in questions for j in (*q.columns, *q.given)), work_on)
        answers: list[Moments | StratifiedMoments] = []
        for question, frame, found in zip(questions, frames, sums, strict=True):
            configs = sorted(found)
            moments = tuple(moments_from_sums(found[config], frame[config]) for config in configs)
            if not question.given:
                answers.append(moments[0])
                continue
            codes = np.array(configs, dtype=np.int64).reshape(-1, len(question.given))
            n_configs = math.prod(self.n_levels[j] for j in question.given)
            answers.append(StratifiedMoments(moments, codes, n_configs))
        return answers

    def ranges_of(self, questions: Sequence[Question]) -> list[Ranges]:
        """The extremes of numbers over the rows complete in the columns of each question."""
        if not self.missing and not any(question.given for question in questions):
            return [{(): self.whole_ranges(question.columns)} for question in questions]

        def work_on(place: Mapping[int, int]) -> Extremes:
            return Extremes([_placed(question, place) for question in questions])

        return self.ask((j for q in questions for j in (*q.columns, *q.given)), work_on)

    def whole_ranges(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """The extremes of columns without missing values; all columns are looked at at once."""
        if any(j not in self._ranges for j in columns):
            numbers = [j for j, v in enumerate(self.variables) if v.is_continuous]
            (found,) = self.ask(numbers, lambda place: Extremes([Question(tuple(place.values()))]))
            ends = found[()].T.tolist()
            self._ranges = {j: (low, high) for j, (low, high) in zip(numbers, ends, strict=True)}
        return np.array([self._ranges[j] for j in columns]).reshape(-1, 2).T

    def seen_in(self, sets: Sequence[Sequence[int]]) -> list[list[Seen]]:
        """What occurs in each column of a set, over the rows complete in the set."""
        variables = self.variables

        def work_on(place: Mapping[int, int]) -> SeenInRows:
            levels = [0 if variables[j].is_continuous else self.n_levels[j] for j in place]
            return SeenInRows([[place[j] for j in columns] for columns in sets], levels)

        return self.ask((j for columns in sets for j in columns), work_on)

    def constant_numbers(self) -> list[str]:
        """The columns of numbers that have only one."""
        numbers = [j for j, variable in enumerate(self.variables) if variable.is_continuous]
        if not numbers:
            return []
        if self.missing and any(j not in self._ranges for j in numbers):
            ends = [(found.low, found.high) for (found,) in self.seen_in([[j] for j in numbers])]
        else:
            ends = [(low, high) for low, high in self.whole_ranges(numbers).T.tolist()]
        return [
            self.variables[j].name
            for j, (low, high) in zip(numbers, ends, strict=True)
            if low == high
        ]

    def expanded_moments(self, columns: Sequence[int]) -> ExpandedMoments:
        """Moments of numbers and of indicators of levels, in the order of names."""
        return self.many_expanded_moments([columns])[0]

    def many_expanded_moments(self, sets: Sequence[Sequence[int]]) -> list[ExpandedMoments]:
        """The same of several sets of columns, by two passes."""
        return expanded_in_passes(self, [self.order.sorted(columns) for columns in sets])

    def residuals(self, families: Sequence[Family]) -> Residuals:
        """Regress numbers on numbers within configurations of labels."""
        return residuals_in_passes(self, families)

    def row_repeats(self, names: Sequence[str] | None = None) -> Mapping[int, int] | None:
        """How many different rows occur how often."""
        return repeats_in_passes(self, self._columns_named(names))

    def number_values(self, names: Sequence[str] | None = None) -> Mapping[str, Numbers]:
        """The values of columns that hold numbers."""
        return numbers_in_passes(self, self._columns_named(names))

    def _columns_named(self, names: Sequence[str] | None) -> list[int]:
        """The positions of columns, by default of all."""
        everything = [variable.name for variable in self.variables]
        return [everything.index(name) for name in (everything if names is None else names)]

    def require(self, n_bytes: int, what: str) -> None:
        """Refuse what would take more memory than there is."""
        require_memory(n_bytes, self._budget, what)


def _placed(question: Question, place: Mapping[int, int]) -> Question:
    return Question(
        tuple(place[j] for j in question.columns), tuple(place[j] for j in question.given)
    )


class _View(RowsBehind, PassCounter):
    """An engine over some columns of another, which may have other levels.

    Where none has, tables are those of the engine within, which keeps them for all.
    """

    def __init__(
        self, inner: PassCounter, at: Sequence[int], recodings: Mapping[str, Recoding]
    ) -> None:
        known = inner.facts
        variables = [known.variables[j] for j in at]
        new = tuple(
            Variable(v.name, recodings[v.name][0]) if v.name in recodings else v for v in variables
        )
        gaps = tuple(known.gaps[j] for j in at)
        extremes = {k: known.extremes[j] for k, j in enumerate(at) if j in known.extremes}
        super().__init__(
            dataclasses.replace(known, variables=new, gaps=gaps, extremes=extremes),
            max_memory=inner.budget,
        )
        self.kind, self.keeps_order = inner.kind, inner.keeps_order
        self._inner = self._rows_behind = inner
        self._at = list(at)
        self._recodings = recodings

    def rows(self) -> Dataset | None:
        rows = self._inner.rows()
        if rows is None:
            return None
        return recoded(rows.select(v.name for v in self.variables), self._recodings)

    def require_rows(self, what: str) -> Dataset:
        self._inner.require_rows(what)
        return super().require_rows(what)

    def answers(self, batch: TableBatch) -> Iterator[AnsweredTables]:
        if self._recodings:
            return super().answers(batch)
        return self._inner.answers(batch.at(self._at))

    @property
    def counts_ahead(self) -> bool:
        return self._inner.counts_ahead

    def expect(self, likely: Callable[[], Iterable[TableSet]]) -> None:
        if self._recodings:
            super().expect(likely)
        else:
            self._inner.expect(lambda: map(self._within, likely()))

    def _within(self, wanted: TableSet) -> TableSet:
        """A question as the engine within understands it."""
        return TableSet(
            tuple(self._at[j] for j in wanted.axes), tuple(self._at[j] for j in wanted.given)
        )

    def whole_ranges(self, columns: Sequence[int]) -> NDArray[np.float64]:
        if self._inner.missing:
            return super().whole_ranges(columns)
        return self._inner.whole_ranges([self._at[j] for j in columns])

    def constant_numbers(self) -> list[str]:
        constant = set(self._inner.constant_numbers())
        return [variable.name for variable in self.variables if variable.name in constant]

    def over_chunks(self, columns: Sequence[int], work: Work[Partial]) -> Partial:
        names = {self.variables[j].name for j in columns}
        changed = {name: new for name, new in self._recodings.items() if name in names}
        return self._inner.over_chunks(
            [self._at[j] for j in columns], Recoded(work, changed) if changed else work
        )
