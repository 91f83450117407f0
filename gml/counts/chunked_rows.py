"""Where rows are, to go through them in chunks: in memory, or read in passes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gml.counts.counted_once import CountedOnce
from gml.counts.counter import Counter
from gml.counts.memory import MemoryCounter
from gml.counts.pass_work import Partial, Work
from gml.counts.passes import PassCounter
from gml.data.dataset import Dataset, Variable
from gml.data.number_summary import Numbers, NumberValues
from gml.kernel.pool import in_order
from gml.resources import available_threads, budget_in_force

_BLOCK_ROWS = 1 << 16


class ChunkedRows(ABC):
    """Rows on which work is done chunk by chunk, with partial answers that add up."""

    variables: tuple[Variable, ...]
    decimal: str
    budget: int
    """The most bytes that may be taken of rows beside the rows."""
    times: int = 1
    """How often each row was delivered, where they are to count once."""
    keeps_order: bool = True
    """Whether chunks come, and are added, in the order of the rows."""
    is_dear: bool = False
    """Whether going through them costs far more than the work."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(variable.name for variable in self.variables)

    @property
    @abstractmethod
    def n(self) -> int:
        """The number of rows, weighted, each delivered once."""

    @abstractmethod
    def over(self, names: Sequence[str], work: Work[Partial]) -> Partial:
        """Do work on all chunks of some columns; rows count as often as they were delivered."""

    @abstractmethod
    def values(self, name: str) -> Numbers:
        """The different numbers of a column; they count as often as they were delivered."""


@dataclass(frozen=True)
class RowsInMemory(ChunkedRows):
    """The rows of a dataset, in blocks."""

    data: Dataset
    threads: int | None = None

    @property
    def variables(self) -> tuple[Variable, ...]:  # type: ignore[override]
        return self.data.variables

    @property
    def decimal(self) -> str:  # type: ignore[override]
        return self.data.decimal

    @property
    def budget(self) -> int:  # type: ignore[override]
        return budget_in_force()

    @property
    def n(self) -> int:
        return self.data.n

    def over(self, names: Sequence[str], work: Work[Partial]) -> Partial:
        # Numbers of rows are those in the dataset, whatever it was chosen from.
        chosen = replace(self.data.select(names), kept=None)
        blocks = chosen.blocks(_BLOCK_ROWS) if chosen.n_rows else iter([chosen])
        parts = in_order(work.of, blocks, self.threads or available_threads())
        total = next(parts)
        for part in parts:
            total = work.add(total, part)
        return total

    def values(self, name: str) -> Numbers:
        return NumberValues.of(self.data.columns[self.data.index(name)], self.data.weights)


@dataclass(frozen=True)
class RowsInPasses(ChunkedRows):
    """The rows behind an engine that reads them in passes."""

    counter: PassCounter
    times: int = 1

    is_dear = True

    @property
    def variables(self) -> tuple[Variable, ...]:  # type: ignore[override]
        return self.counter.variables

    @property
    def decimal(self) -> str:  # type: ignore[override]
        return self.counter.decimal or "."

    @property
    def budget(self) -> int:  # type: ignore[override]
        return self.counter.budget

    @property
    def keeps_order(self) -> bool:  # type: ignore[override]
        return self.counter.keeps_order

    @property
    def n(self) -> int:
        return self.counter.n // self.times

    def over(self, names: Sequence[str], work: Work[Partial]) -> Partial:
        at = {name: j for j, name in enumerate(self.names)}
        return self.counter.ask([at[name] for name in names], lambda place: work)

    def values(self, name: str) -> Numbers:
        found = self.counter.number_values([name]).get(name)
        return NumberValues.of(np.zeros(0)) if found is None else found


def chunked_rows(counter: Counter, threads: int | None = None) -> ChunkedRows | None:
    """The rows behind an engine; None if it has none."""
    if isinstance(counter, CountedOnce):
        return RowsInPasses(counter.inner, counter.times)
    if isinstance(counter, PassCounter):
        return RowsInPasses(counter)
    if isinstance(counter, MemoryCounter):
        threads = threads or counter.threads
    rows = counter.rows()
    return None if rows is None else RowsInMemory(rows, threads)
