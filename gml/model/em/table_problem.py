"""EM on tables: expected counts of families, and the tables that fit them best.

In a row, a family that is fully observed is a plain count, taken once for all steps. What a row
does not observe falls into parts (`gml.kernel.family_layout`), and equal parts of all rows are one
question with a weight: P(missing | values around them), which is enumerated.

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
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.data.dataset import Dataset
from gml.errors import CannotAnswer
from gml.kernel.family_layout import Expectation, FamilyLayout, MissingParts
from gml.kernel.pool import in_order
from gml.model.em.climbing import Step
from gml.model.em.table_layout import TableLayout, Vector
from gml.resources import budget_in_force, require_memory

# Cells that questions speak of, from which a span for another thread pays off.
_BLOCK_WORK = 1 << 17
_MOST_BLOCKS = 8


@dataclass(frozen=True)
class TableProblem:
    """What EM maximises for tables: parameters are the cells of all tables, in one vector."""

    layout: TableLayout
    data: Dataset
    available: NDArray[np.int64]
    """Counts of the rows that observe a whole family, in units; zeros where a node is hidden."""
    parts: MissingParts
    prior: Vector
    """Pseudo-counts of each cell."""
    threads: int

    @property
    def observed_counts(self) -> Vector:
        """The counts of whole families, in rows."""
        counts: Vector = self.available * np.float64(self.data.unit)
        return counts

    def expect(self, at: Vector, parts: MissingParts | None = None) -> tuple[float, Vector]:
        """Return the observed-data log-likelihood, and the expected counts of all cells."""
        asked = self.parts if parts is None else parts
        log_likelihood, counts = self._enumerated(asked, at)
        seen = self.available > 0
        with np.errstate(divide="ignore"):
            log_likelihood += float((self.available[seen] * np.log(at[seen])).sum())
        unit = self.data.unit
        counts += self.available
        return log_likelihood * unit, counts * unit

    def _enumerated(self, asked: MissingParts, at: Vector) -> tuple[float, Vector]:
        """ln of the probabilities of what is observed around missing nodes, and expected counts."""
        layout, active = self.layout.kernel, kernel.active()

        def block(span: tuple[int, int]) -> tuple[Expectation, Vector]:
            counts = np.zeros(len(at))
            return active.expected_counts(layout, asked, *span, at, counts), counts

        total, counts = 0.0, np.zeros(len(at))
        for found, some in in_order(block, blocks(layout, asked), self.threads):
            if found.impossible >= 0:
                self._refuse(int(asked.first_rows[found.impossible]))
            total += found.log_likelihood
            counts += some
        return total, counts

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

    def admitted(self, wanted: Vector, near: Vector) -> Vector | None:
        """Keep tables inside: no probability falls below a fraction of that nearby."""
        found = np.maximum(wanted, near / 16)
        for rows in self.layout.rows:
            shares = found[rows.cells]
            found[rows.cells] = shares / shares.sum(axis=1, keepdims=True)
        return found

    def completed_counts(self, at: Vector, budget: int | None = None) -> Vector:
        """Expected counts of all families in all rows: those of each family add up to n.

        A configuration of the parents that no row speaks of has zeros.
        """
        whole = parts_of(self.layout, self.data, keep_barren=True, budget=budget)
        counts = self.expect(at, whole)[1]
        spoken_of = self.expect(at)[1]
        for rows in self.layout.rows:
            silent = ~(spoken_of[rows.cells] > 0).any(axis=1)
            counts[rows.cells[silent]] = 0.0
        return counts

    def _refuse(self, row: int) -> None:
        raise CannotAnswer(f"{row_name(self.data, row)} has probability 0 in this model")


def blocks(layout: FamilyLayout, parts: MissingParts) -> list[tuple[int, int]]:
    """Cut questions into spans, by how many cells they speak of: the same for any threads."""
    n = parts.n_questions
    states = _states(layout, parts)
    per_question = np.repeat(states * np.diff(parts.family_starts), np.diff(parts.question_starts))
    work = np.cumsum(per_question)
    total = int(work[-1]) if n else 0
    number = min(_MOST_BLOCKS, total // max(_BLOCK_WORK, layout.n_cells) + 1)
    cuts = np.searchsorted(work, [total * k / number for k in range(1, number)]).tolist()
    return [(a, b) for a, b in pairwise([0, *cuts, n]) if a < b]


def _states(layout: FamilyLayout, parts: MissingParts) -> NDArray[np.int64]:
    """How many states the missing nodes of each shape have."""
    sizes = layout.sizes[parts.nodes].astype(np.int64)
    if not len(sizes):
        return np.zeros(0, dtype=np.int64)
    found: NDArray[np.int64] = np.multiply.reduceat(sizes, parts.node_starts[:-1])
    return found


def row_name(data: Dataset, row: int) -> str:
    """How a message names a row: by its line where that is known."""
    if data.first_line is not None:
        return f"line {data.first_line + row}"
    return f"data row {row + 1}"


def parts_of(
    layout: TableLayout, data: Dataset, *, keep_barren: bool = False, budget: int | None = None
) -> MissingParts:
    """What the rows of a table leave open."""
    columns: list[NDArray[Any] | None] = [
        None if node in layout.hidden else data.columns[data.index(name)]
        for node, name in enumerate(layout.names)
    ]
    room = budget_in_force(budget)
    found = kernel.active().missing_parts(
        layout.kernel, columns, data.weights, data.n_rows, keep_barren, room
    )
    if found is None:
        require_memory(room + 1, room, "what incomplete rows leave open")
    assert found is not None
    return found


def wholly_missing(layout: TableLayout, data: Dataset) -> Sequence[str]:
    """The columns of nodes that are not hidden and have no value in any row that counts."""
    return [
        name
        for node, name in enumerate(layout.names)
        if node not in layout.hidden
        and data.count(data.columns[data.index(name)] < layout.sizes[node]) == 0
    ]
