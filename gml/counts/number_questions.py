"""What an engine is asked about columns of numbers, with what it must know for that.

Sums are all that is asked for, so that whatever can add up exact integers can answer: rows in
memory, counts that were stored, parts of a table elsewhere. An engine without numbers says so.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import overload

from gml.counts.answers import Moments, StratifiedMoments
from gml.counts.expanded_moments import ExpandedMoments, expanded_moments_of, expanded_numbers
from gml.counts.questions import Family, Question
from gml.counts.residuals import Residuals, residuals_from_moments, split_parents
from gml.data.alignment import Recoding, joins_levels
from gml.data.column_kinds import require_kinds, require_labels
from gml.data.dataset import Dataset, Variable
from gml.data.number_summary import Numbers
from gml.errors import CannotAnswer, UsageError, listing
from gml.name_order import NameOrder
from gml.parameters import NUMBERS
from gml.resources import budget_in_force, require_memory

_MOMENT_BYTES = 40


class NumberQuestions(ABC):
    """The part of a `Counter` that is about numbers."""

    kind = "this engine"
    """What the engine is, for messages."""
    can_fork: bool = False
    """Whether forked processes can ask too: not over a connection or a file that they share."""

    @property
    @abstractmethod
    def variables(self) -> tuple[Variable, ...]:
        """The columns that can be counted."""

    @property
    def where(self) -> str:
        """Where the counts come from, for messages."""
        return "the counts"

    @property
    def budget(self) -> int:
        """The most bytes that a table may take."""
        return budget_in_force()

    @property
    def unit(self) -> float:
        """How many rows a count of 1 stands for; 1 unless rows have fractional weights."""
        return 1.0

    def rows(self) -> Dataset | None:
        """Return the rows that are counted; None if the engine holds none."""
        return None

    # Of the columns named, all by default: what a model keeps of rows that do not fit into memory.

    def row_repeats(self, names: Sequence[str] | None = None) -> Mapping[int, int] | None:
        """How many different rows occur how often; None if the engine cannot tell."""
        return None

    def uncut_repeats(self, names: Sequence[str] | None = None) -> Mapping[int, int] | None:
        """The same of rows as they were read, before numbers were cut; None if none were."""
        return None

    def number_values(self, names: Sequence[str] | None = None) -> Mapping[str, Numbers]:
        """The values of columns that hold numbers, or held some before they were cut."""
        return {}

    @functools.cached_property
    def order(self) -> NameOrder:
        """The order of the names of the columns."""
        return NameOrder([variable.name for variable in self.variables])

    @overload
    def moments(self, columns: Sequence[int], given: tuple[()] = ()) -> Moments: ...  # type: ignore[overload-overlap]

    @overload
    def moments(self, columns: Sequence[int], given: Sequence[int]) -> StratifiedMoments: ...

    def moments(
        self, columns: Sequence[int], given: Sequence[int] = ()
    ) -> Moments | StratifiedMoments:
        """Moments of numeric columns over the rows complete in all of them.

        With label columns `given`, those within each of their configurations that occurs.
        """
        names = [self.variables[j].name for j in (*columns, *given)]
        raise CannotAnswer(f"{self.where}: {self.kind} has no numbers, so none of {listing(names)}")

    def many_moments(self, questions: Sequence[Question]) -> list[Moments | StratifiedMoments]:
        """Answer several questions at once, which may be cheaper."""
        return [self.moments(columns, given) for columns, given in questions]

    def constant_numbers(self) -> list[str]:
        """The columns of numbers that have only one."""
        return [
            variable.name
            for j, variable in enumerate(self.variables)
            if variable.is_continuous and self.moments([j]).cross[0][0] == 0
        ]

    def expanded_moments(self, columns: Sequence[int]) -> ExpandedMoments:
        """Moments of numbers and of indicators of levels, over the rows complete in all columns.

        Whatever the order of `columns`, the rows of the matrix follow the order of names.
        """
        columns, rows = self.order.sorted(columns), self.rows()
        if rows is None and all(self.variables[j].is_continuous for j in columns):
            return expanded_numbers(self.moments(columns), columns)
        if rows is None:
            names = listing([self.variables[j].name for j in columns])
            raise CannotAnswer(
                f"{self.where}: {self.kind} has no rows, and so no correlations of {names}"
            )
        return expanded_moments_of(rows, columns, budget=self.budget)

    def residuals(self, families: Sequence[Family]) -> Residuals:
        """Regress numbers on numbers within configurations of labels (`gml.counts.residuals`)."""
        found, n_numbers = [], []
        for child, parents in families:
            numbers, labels = self.regressors(child, parents)
            found.append(residuals_from_moments(self.moments([*numbers, child], labels)))
            n_numbers.append(len(numbers))
        return Residuals.of(found, n_numbers, self.unit)

    def check_moments(self, columns: Sequence[int], given: Sequence[int]) -> None:
        """Refuse moments of labels, those within numbers, and those of too many columns."""
        labels = [self.variables[j].name for j in columns if not self.variables[j].is_continuous]
        if labels:
            raise UsageError(f"{listing(labels)} has labels, not numbers")
        require_labels(self.variables[j] for j in given)
        # Cross-products are integers of more than 64 bits.
        require_memory(
            _MOMENT_BYTES * len(columns) ** 2, self.budget, f"the moments of {len(columns)} columns"
        )

    def regressors(self, child: int, parents: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the parents of a child of numbers: those that are numbers, and the labels."""
        require_kinds("a regression", (NUMBERS,), [self.variables[child]])
        return split_parents(self.variables, self.order, parents)


class RowsBehind(NumberQuestions):
    """An engine over some columns of another, which may have other levels, for the same rows."""

    _rows_behind: NumberQuestions
    _recodings: Mapping[str, Recoding] = MappingProxyType({})

    def row_repeats(self, names: Sequence[str] | None = None) -> Mapping[int, int] | None:
        """How many different rows occur how often; None if the engine cannot tell."""
        named = self._named(names)
        if any(joins_levels(self._recodings[name]) for name in named if name in self._recodings):
            return None
        return self._rows_behind.row_repeats(named)

    def uncut_repeats(self, names: Sequence[str] | None = None) -> Mapping[int, int] | None:
        """The same of rows as they were read, before numbers were cut; None if none were."""
        return self._rows_behind.uncut_repeats(self._named(names))

    def number_values(self, names: Sequence[str] | None = None) -> Mapping[str, Numbers]:
        """The values of columns that hold numbers, or held some before they were cut."""
        return self._rows_behind.number_values(self._named(names))

    def _named(self, names: Sequence[str] | None) -> Sequence[str]:
        return [variable.name for variable in self.variables] if names is None else names
