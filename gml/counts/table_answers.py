"""What follows from the answers to a batch of tables: statistics, scores and tables of families."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gml.counts.answered_tables import AnsweredTables
from gml.counts.answers import Counts
from gml.counts.counter import Counter
from gml.counts.questions import Family, TableSet, Triple
from gml.counts.table_batch import TableBatch
from gml.data.column_kinds import require_labels
from gml.kernel.layout import FamilyRule, FamilyWorths, TableStatistics


class TableAnswers(Counter):
    """An engine that answers a batch of tables by many at a time."""

    @abstractmethod
    def answers(self, batch: TableBatch) -> Iterator[AnsweredTables]:
        """Count a batch of tables; answers come in the order of the questions, many at a time."""

    def tables(self, sets: Iterable[TableSet]) -> Iterator[Counts]:
        """Count a batch of tables; answers come in the order of the questions."""
        for found in self.answers(TableBatch.of_sets(list(sets))):
            yield from found.counts()

    def statistics(self, triples: Sequence[Triple]) -> TableStatistics:
        """Count a batch of tests and return their statistics without handing out the tables."""
        asked = TableBatch.of_tests(self.order, triples)
        return TableStatistics.concatenate([found.statistics() for found in self.answers(asked)])

    def family_values(self, families: Sequence[Family], rule: FamilyRule) -> NDArray[np.float64]:
        """Return the value of each child given its parents (`FamilyRule`)."""
        return self._worths(families, rule, None).values

    def family_ceilings(
        self, families: Sequence[Family], rule: FamilyRule, cell_prior: float
    ) -> FamilyWorths:
        """The same, and each value if every cell were a configuration of its own."""
        return self._worths(families, rule, cell_prior)

    def _worths(
        self, families: Sequence[Family], rule: FamilyRule, cell_prior: float | None
    ) -> FamilyWorths:
        asked = TableBatch.of_families(self.order, families)
        rule = rule._replace(unit=self.unit)
        parts = [found.worths(rule, cell_prior) for found in self.answers(asked)]
        none = np.empty(0)
        return FamilyWorths(
            np.concatenate([none, *(part.values for part in parts)]),
            np.concatenate([none, *(part.ceilings for part in parts)]),
        )

    def family_tables(self, families: Sequence[Family]) -> Iterator[NDArray[np.int64]]:
        """Count each child given its parents, with one row per configuration, seen or not."""
        for child, parents in families:
            members = (*parents, child)
            require_labels(self.variables[j] for j in members)
            self._require(8 * math.prod(self.n_levels[j] for j in members), members)
        sets = [TableSet((child,), tuple(parents)) for child, parents in families]
        for found in self.answers(TableBatch.of_sets(sets)):
            yield from found.every_cell()
