"""ln Z of a product of tables, and the margins that it gives the scopes of the tables.

The derivative of ln Z with respect to a log-potential is the margin of its cell (Koller & Friedman
2009, proposition 20.2), so this is all that fitting needs of inference. One junction tree serves
all tables of the same scopes; see table_elimination.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer
from gml.kernel.layout import STEP_SUM
from gml.model.factor import Factor, margin_over
from gml.model.flat_tables import flat_tables
from gml.model.table_elimination import TableElimination
from gml.model.undirected.terms import Scope, Terms

Table = NDArray[np.float64]


class NothingLeft(CannotAnswer):
    """The factors exclude every cell."""


class Moments(NamedTuple):
    """ln Z, and the margin of each scope."""

    log_z: float
    margins: list[Table]


class CliqueMargins:
    """Margins of a model over some scopes, again and again for other log-potentials.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> terms = Terms.of([Variable(name, ("n", "y")) for name in "AB"], [["A", "B"]])
    >>> found = CliqueMargins(terms, terms.generators).of([np.log([[1.0, 2.0], [3.0, 4.0]])])
    >>> round(found.log_z, 12) == round(math.log(10), 12), found.margins[0].round(3).tolist()
    (True, [[0.1, 0.2], [0.3, 0.4]])
    """

    def __init__(
        self, terms: Terms, scopes: Sequence[Scope], *, max_memory: int | None = None
    ) -> None:
        self.terms = terms
        self.scopes = tuple(scopes)
        variables = terms.variables
        factors = [
            Factor(tuple(variables[k] for k in scope), np.ones(terms.shape(scope)))
            for scope in self.scopes
        ]
        # The order in which flat_tables lays them out.
        self._order = sorted(range(len(factors)), key=lambda i: [*reversed(self.scopes[i])])
        self._elimination = TableElimination(
            flat_tables(variables, factors),
            factors=range(len(factors)),
            observed=(),
            stages=[(STEP_SUM, range(len(variables)))],
            max_memory=max_memory,
        )
        self._places = [self._place(scope) for scope in self.scopes]

    @property
    def cliques(self) -> tuple[Scope, ...]:
        """The cliques of the junction tree; variables of one level are in none."""
        return self._elimination.cliques

    @property
    def parents(self) -> tuple[int, ...]:
        """For each clique the later one that it is joined to, by all its axes but the last."""
        return self._elimination.parents

    @property
    def cells(self) -> int:
        """The cells of all cliques and scopes together."""
        return sum(math.prod(self.terms.shape(c)) for c in (*self.cliques, *self.scopes))

    @property
    def placements(self) -> list[tuple[int, tuple[int, ...]]]:
        """For each scope, a clique that contains it, and the axes there of what varies.

        The clique is −1 where no variable of the scope has two levels.
        """
        return [(at.step, at.axes) for at in self._places]

    def clique_table(self, step: int) -> Table:
        """Return the distribution of a clique, after `of`; the next call of it overwrites it."""
        return self._elimination.table(step)

    def of(self, log_tables: Sequence[Table]) -> Moments:
        """Return ln Z and the margins of the scopes for their log-potentials; −∞ is allowed."""
        largest = [float(table.max(initial=-math.inf)) for table in log_tables]
        if -math.inf in largest:
            raise NothingLeft("the factors exclude everything: their product is 0")
        parts = [(log_tables[i] - largest[i]).reshape(-1) for i in self._order]
        log_sum = self._elimination.pass_both_ways(np.concatenate([np.empty(0), *parts]))
        if log_sum == -math.inf:
            raise NothingLeft("the factors exclude everything: their product is 0")
        return Moments(log_sum + math.fsum(largest), [self._margin(at) for at in self._places])

    def _place(self, scope: Scope) -> _Place:
        varying = [k for k in scope if self.terms.sizes[k] > 1]
        shape = self.terms.shape(scope)
        for step, clique in enumerate(self.cliques):
            if varying and set(varying) <= set(clique):
                return _Place(step, tuple(clique.index(k) for k in varying), shape)
        return _Place(-1, (), shape)

    def _margin(self, at: _Place) -> Table:
        if at.step < 0:
            return np.ones(at.shape)
        return margin_over(self._elimination.table(at.step), at.axes).reshape(at.shape)


class _Place(NamedTuple):
    """The clique that a scope is in, and the axes there of what varies."""

    step: int
    axes: tuple[int, ...]
    shape: tuple[int, ...]
