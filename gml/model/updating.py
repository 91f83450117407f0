"""Rows added to the counts of a fitted network, or taken away from them.

The tables of a network are functions of the counts of its families, which add up over rows: counts
of old rows and of new ones give the tables of all rows, to the last bit. New rows may bring the
level of missing values, which then is the last in all tables of its column. Networks with
regressions are refused, as these keep no sums that could be added: sums are of numbers in fixed
point over the range of all rows, and parts have other ranges. So are networks with counts that EM
expects, which were never counted. What a network keeps of its rows beside counts
(`gml.model.training`) does not add up.

Where rows count in part, a count is the float64 next to a sum, and every part that is added or
taken away rounds it again: by half a unit in the last place, 2^-53 of the count, and the part's own
count by as much. No count is larger than all rows were, so after k parts it is off by at most
k · 2^-52 of the most rows that the network ever had. What is left of a count when rows are taken
away, and is below four times that, is taken for roundings and becomes 0, were it negative; anything
more negative means that the rows were never added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, Counts, Family, TableSet, rows_counted
from gml.data.dataset import Variable, require_countable
from gml.data.options import EM
from gml.errors import CannotAnswer, DataError, GraphError, counted, listing, quote
from gml.model.bayesnet import CPT, BayesNet
from gml.model.configurations import described_row

# Four times what float64 can be off for each part, relative to the most rows there ever were.
_ROUNDING = 2.0**-50


def require_counts(net: BayesNet, name: str) -> None:
    """Refuse a network to whose counts no rows can be added."""
    numbers = [cpd.variable.name for cpd in net.cpds if not isinstance(cpd, CPT)]
    if numbers:
        have = "has" if len(numbers) == 1 else "have"
        raise GraphError(
            f"{name}: {listing(numbers)} {have} regressions, which keep no counts that rows can be "
            "added to; fit all rows at once"
        )
    tables = [cpd for cpd in net.cpds if isinstance(cpd, CPT)]
    expected = [cpt.variable.name for cpt in tables if cpt.expected_counts is not None]
    treated = net.learning.missing
    if not expected and treated is not None and treated.policy == EM:
        expected = [cpt.variable.name for cpt in tables]
    if expected:
        tables_were = "the table of" if len(expected) == 1 else "the tables of"
        were = "was" if len(expected) == 1 else "were"
        raise GraphError(
            f"{name}: {tables_were} {listing(expected)} {were} fitted by EM, to counts that are "
            "expected of all rows; fit all rows at once"
        )
    without = [cpt.variable.name for cpt in tables if cpt.counts is None]
    if without:
        raise GraphError(
            f"{name}: no counts for {listing(without)}, which rows could be added to; gml "
            "fit-params writes them to JSON"
        )


class UpdatedCounts(Counter):
    """The counts of a network with those of new rows added, or taken away: an engine for `fit`.

    It has the tables of the families of the network and no others.
    """

    kind = "a model"

    def __init__(
        self, net: BayesNet, rows: Counter, *, name: str = "the model", forget: bool = False
    ) -> None:
        self._rows = rows
        self._name = name
        self._forget = forget
        self._kept = {cpd.variable.name: cpd for cpd in net.cpds if isinstance(cpd, CPT)}
        self._rounding = RowHistory.of(net).also(rows, forget=forget).rounding

    @property
    def variables(self) -> tuple[Variable, ...]:
        return self._rows.variables

    @property
    def n(self) -> int:
        return self._rows.n

    def tables(self, sets: Iterable[TableSet]) -> Iterator[Counts]:
        """Refuse: only the tables of families are known."""
        raise CannotAnswer("a model has the counts of its own families alone")

    def family_tables(self, families: Sequence[Family]) -> Iterator[NDArray[Any]]:
        """Count each child given its parents in the old rows and the new ones together."""
        for (child, parents), cells in zip(
            families, self._rows.family_tables(families), strict=True
        ):
            yield self._updated(child, parents, cells)

    def _updated(
        self, child: int, parents: Sequence[int], cells: NDArray[np.int64]
    ) -> NDArray[Any]:
        of_child, of_parents = self.variables[child], [self.variables[j] for j in parents]
        new = cells if self._rows.unit == 1 else cells * self._rows.unit
        old = self._counts(self._kept[of_child.name], of_child, of_parents)
        # NumPy would stretch one level over several.
        assert old.shape == new.shape
        if not self._forget:
            if old.dtype.kind in "iu" and new.dtype.kind in "iu":
                # In float64 the sum reaches 2^53 whenever that of whole numbers does.
                total = float(old.sum(dtype=np.float64) + new.sum(dtype=np.float64))
                require_countable(total, f"{self._name} with the new rows")
            return np.asarray(old + new)
        left = np.asarray(old - new)
        if left.dtype.kind == "f":
            left[(new > 0) & (np.abs(left) <= self._rounding)] = 0.0
        if (left < 0).any():
            row, level = (int(k) for k in np.argwhere(left < 0)[0])
            at = described_row(of_parents, row)
            value = (of_child.levels or ())[level]
            before, less = (float(counts[row, level]) for counts in (old, new))
            raise DataError(
                f"{self._name} counts {counted(before, 'row')} with "
                f"{of_child.name}={value}{at}, and {less:g} are to be forgotten"
            )
        return left

    def _counts(self, cpt: CPT, child: Variable, parents: Sequence[Variable]) -> NDArray[Any]:
        """The counts of a table, with the order of parents and the levels that the rows have.

        Levels of the rows that the table does not know were never counted.
        """
        known = [*cpt.parents, cpt.variable]
        names = [variable.name for variable in known]
        wanted = [*parents, child]
        order = [names.index(variable.name) for variable in wanted]
        sizes = [len(variable.levels or ()) for variable in known]
        cells = np.asarray(cpt.counts).reshape(sizes).transpose(order)
        codes = [self._codes(known[k], variable) for k, variable in zip(order, wanted, strict=True)]
        found = np.zeros([len(variable.levels or ()) for variable in wanted], dtype=cells.dtype)
        found[np.ix_(*codes)] = cells
        return found.reshape(-1, len(child.levels or ()))

    def _codes(self, known: Variable, variable: Variable) -> list[int]:
        """The codes that the levels of a table have in the rows."""
        rank = {level: code for code, level in enumerate(variable.levels or ())}
        lacking = [level for level in known.levels or () if level not in rank]
        if lacking:
            raise DataError(
                f"column {quote(known.name)} lacks the level {listing(lacking)} of {self._name}"
            )
        return [rank[level] for level in known.levels or ()]


class RowHistory(NamedTuple):
    """How many rows came to a network with each part, in order; negative where they were taken."""

    parts: tuple[int | float, ...]

    @classmethod
    def of(cls, net: BayesNet) -> RowHistory:
        """Read what a network records of its parts; one that does not is one part."""
        found = _signed(net.learning.get("parts"))
        rows = net.learning.rows
        if rows is None:
            tables = [np.asarray(cpd.counts) for cpd in net.cpds if isinstance(cpd, CPT)]
            rows = max((table.sum().item() for table in tables), default=0)
        history = cls(found)
        return history if found and abs(history.rows - rows) <= history.rounding else cls((rows,))

    def also(self, rows: Counter, *, forget: bool) -> RowHistory:
        """Return the history with one part more."""
        change = rows_counted(rows)
        return RowHistory((*self.parts, -change if forget else change))

    @property
    def rows(self) -> int | float:
        """How many rows there are now, rounded once, whichever parts came and went."""
        if all(isinstance(part, int) for part in self.parts):
            return sum(self.parts)
        return math.fsum(self.parts)

    @property
    def rounding(self) -> float:
        """What counts of rows that count in part may be off by."""
        return _ROUNDING * len(self.parts) * max(accumulate(self.parts))


def _signed(parts: Any) -> tuple[int | float, ...]:
    """The rows of each part that a file lists; nothing if that is not what gml writes."""
    found: list[int | float] = []
    for part in parts if isinstance(parts, list) else ():
        rows = part.get("rows") if isinstance(part, dict) else None
        if not isinstance(rows, int | float) or isinstance(rows, bool) or not rows >= 0:
            return ()
        found.append(-rows if part.get("forgotten") is True else rows)
    return tuple(found)


def rows_after(net: BayesNet, rows: Counter, *, name: str, forget: bool) -> int | float:
    """Return how many rows a model has after the change; there must be some, and not too many."""
    before = RowHistory.of(net)
    after = before.also(rows, forget=forget)
    left = after.rows
    if left <= (0 if isinstance(left, int) else after.rounding):
        raise CannotAnswer(f"no rows would be left of {counted(before.rows, 'row')}")
    if isinstance(left, int):
        require_countable(left, f"{name} with the new rows")
    return left
