"""Rows added to the counts of a fitted network, or taken away from them.

The tables of a network are functions of the counts of its families, which add up over rows: counts
of old rows and of new ones give the tables of all rows, to the last bit. Networks with regressions
are refused, as these keep no sums that could be added: sums are of numbers in fixed point over the
range of all rows, and parts have other ranges. So are networks with counts that EM expects, which
were never counted. What a network keeps of its rows beside counts (`gml.model.training`) does not
add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, Counts, Family, TableSet, rows_counted
from gml.data.dataset import Variable
from gml.data.options import EM
from gml.errors import CannotAnswer, DataError, GraphError, counted, listing
from gml.model.bayesnet import CPT, BayesNet
from gml.model.configurations import described_row, turned_rows

# Fractional weights leave roundings behind where rows are taken away.
_ROUNDING = 2.0**-40


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
        self._sign = -1 if forget else 1
        self._kept = {cpd.variable.name: cpd for cpd in net.cpds if isinstance(cpd, CPT)}
        self._position = {variable.name: j for j, variable in enumerate(rows.variables)}

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
        variables = self.variables
        cpt = self._kept[variables[child].name]
        new = cells if self._rows.unit == 1 else cells * self._rows.unit
        found: NDArray[Any] = self._counts(cpt, [variables[j] for j in parents]) + self._sign * new
        if found.dtype.kind == "f":
            found[np.abs(found) <= _ROUNDING * np.abs(new)] = 0.0
        if (found < 0).any():
            row, level = (int(k) for k in np.argwhere(found < 0)[0])
            at = described_row(tuple(variables[j] for j in parents), row)
            value = (variables[child].levels or ())[level]
            before, less = (float(cells[row, level]) for cells in (found + new, new))
            raise DataError(
                f"{self._name} counts {counted(before, 'row')} with "
                f"{variables[child].name}={value}{at}, and {less:g} are to be forgotten"
            )
        return found

    def _counts(self, cpt: CPT, parents: Sequence[Variable]) -> NDArray[Any]:
        """The counts of a table, its parents in the order given."""
        names = [parent.name for parent in cpt.parents]
        order = [names.index(parent.name) for parent in parents]
        return np.asarray(cpt.counts)[turned_rows(cpt.parents, order)]


def rows_after(before: int | float, rows: Counter, *, forget: bool) -> int | float:
    """Return how many rows a model has after the change; there must be some."""
    change = rows_counted(rows)
    after = before - change if forget else before + change
    if after <= 0:
        raise CannotAnswer(f"no rows would be left of {counted(before, 'row')}")
    return after
