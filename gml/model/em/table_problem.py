"""EM on tables: expected counts of families, and the tables that fit them best.

In a row, a family that is fully observed is a plain count, taken once for all steps. What a row
does not observe falls into parts (`gml.kernel.family_layout`), and equal parts of all rows are one
question with a weight: P(missing | values around them), which is enumerated or, where there are
many states, found by a junction tree (`large_parts`).

A missing node with nothing observed below it does not matter for the probability of its row: the
sum over it is 1. It is left out with its family, row by row. The observed-data likelihood is the
same, less is missing, and so EM takes fewer steps to the same place (the less the complete data
add, the faster: Meng & van Dyk 1997, JRSS B 59:511). Counts that say how the rows would fall if
they were complete include these families (`completed_counts`).

The M-step is that of `gml.model.fit`: (n + α)/(nⱼ + rα), which maximises the expected
log-likelihood plus Σ α ln θ; a configuration of the parents that no row speaks of is uniform.

Questions are sorted by what they ask and summed in blocks that depend on nothing else: the order of
rows and the number of threads change no bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset
from gml.errors import CannotAnswer
from gml.kernel.pool import in_order
from gml.model.em.climbing import Step
from gml.model.em.open_parts import OpenParts, Work, open_parts
from gml.model.em.table_layout import TableLayout, Vector
from gml.model.network import NEVER_EXPECTED


@dataclass(frozen=True)
class TableProblem:
    """What EM maximises for tables: parameters are the cells of all tables, in one vector."""

    layout: TableLayout
    data: Dataset
    available: NDArray[np.int64]
    """Counts of the rows that observe a whole family, in units; zeros where a node is hidden."""
    parts: OpenParts
    prior: Vector
    """Pseudo-counts of each cell."""
    threads: int

    @cached_property
    def _work(self) -> list[Work]:
        return self.parts.work(self.layout)

    @property
    def observed_counts(self) -> Vector:
        """The counts of whole families, in rows."""
        counts: Vector = self.available * np.float64(self.data.unit)
        return counts

    def expect(self, at: Vector, parts: OpenParts | None = None) -> tuple[float, Vector]:
        """Return the observed-data log-likelihood, and the expected counts of all cells."""
        asked = self._work if parts is None else parts.work(self.layout)
        threads = self.threads if (parts or self.parts).is_worth_threads else 1
        log_likelihood, counts = 0.0, np.zeros(len(at))
        for found, some in in_order(lambda work: work(at), asked, threads):
            if found.impossible >= 0:
                self._refuse(found.impossible)
            log_likelihood += found.log_likelihood
            counts += some
        seen = self.available > 0
        with np.errstate(divide="ignore"):
            log_likelihood += float((self.available[seen] * np.log(at[seen])).sum())
        unit = self.data.unit
        counts += self.available
        return log_likelihood * unit, counts * unit

    def log_prior(self, at: Vector) -> float:
        """Σ α ln θ."""
        weighty = self.prior > 0
        with np.errstate(divide="ignore"):
            return float((self.prior[weighty] * np.log(at[weighty])).sum())

    def step(self, at: Vector) -> Step:
        """Take one step of EM."""
        log_likelihood, counts = self.expect(at)
        return Step(log_likelihood + self.log_prior(at), self.best_tables(counts))

    def best_tables(self, counts: Vector) -> Vector:
        """The M-step: tables from counts of all cells."""
        found = np.empty(len(counts))
        for rows in self.layout.rows:
            cells = counts[rows.cells]
            prior = self.prior[rows.cells]
            totals = cells.sum(axis=1, keepdims=True)
            with np.errstate(invalid="ignore"):
                shares = (cells + prior) / (totals + cells.shape[1] * prior[:, :1])
            shares[totals[:, 0] == 0] = 1.0 / cells.shape[1]
            found[rows.cells] = shares
        return found

    def without_given_up(self, at: Vector, expected: Vector) -> Vector:
        """The tables, uniform where next to no row is expected, as where no row was seen."""
        found = at.copy()
        told = self.told_cells(expected)
        for rows in self.layout.rows:
            given_up = ~told[rows.cells].any(axis=1)
            found[rows.cells[given_up]] = 1.0 / rows.cells.shape[1]
        return found

    def told_cells(self, expected: Vector) -> NDArray[np.bool_]:
        """Which cells are more than what a climb leaves of a probability that goes to 0.

        Those that some row has, or a prior; otherwise the expected count of a row of a table must
        be more than a hundred millionth of all rows, and that of a cell as much of its row.
        Climbs end where no probability would change by a tenth of that. Shares do not depend on
        what a row weighs.
        """
        found = (self.available > 0) | (self.prior > 0)
        least = NEVER_EXPECTED * self.data.n * self.data.unit
        for rows in self.layout.rows:
            totals = expected[rows.cells].sum(axis=1, keepdims=True)
            is_expected = (expected[rows.cells] > NEVER_EXPECTED * totals) & (totals > least)
            found[rows.cells] |= is_expected
        return found

    def admitted(self, wanted: Vector, near: Vector) -> Vector | None:
        """Keep tables inside: no probability falls below a fraction of that nearby."""
        found = np.maximum(wanted, near / 16)
        for rows in self.layout.rows:
            shares = found[rows.cells]
            found[rows.cells] = shares / shares.sum(axis=1, keepdims=True)
        return found

    def completed_counts(self, at: Vector, budget: int | None = None) -> Vector:
        """Expected counts of all families in all rows: those of each family add up to n."""
        whole = open_parts(self.layout, self.data, keep_barren=True, budget=budget)
        return self.expect(at, whole)[1]

    def _refuse(self, row: int) -> None:
        raise CannotAnswer(f"{self.data.name_of_row(row)} has probability 0 in this model")


def wholly_missing(layout: TableLayout, data: Dataset) -> Sequence[str]:
    """The columns of nodes that are not hidden and have no value in any row that counts."""
    return [
        name
        for node, name in enumerate(layout.names)
        if node not in layout.hidden
        and data.count(data.columns[data.index(name)] < layout.sizes[node]) == 0
    ]
