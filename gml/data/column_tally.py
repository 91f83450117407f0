"""What occurs in a column whose cells pass by in pieces, for all that is decided at their end.

Pieces come one after the other, with labels that persist (`see`, as `gml.data.pieces` says), or
are looked at by several machines, each with labels of its own, and what these know is put together
in any order (`add`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.block_file import BlockFile, Stored
from gml.data.column_coding import NumberCounts
from gml.data.dataset import has_missing, missing_mask
from gml.data.kind_rule import ColumnSeen, SettledKind
from gml.data.number_summary import numbers_of_labels
from gml.data.options import ReadOptions
from gml.data.row_groups import group_sums
from gml.errors import quote
from gml.kernel.layout import NUMBERS, OVERFLOW, ColumnSpec, CsvColumn
from gml.kernel.number import is_padded
from gml.resources import require_memory

# Values and counts, those that are merged with them, and their order.
BYTES_PER_NUMBER = 64


def counts_numbers(name: str, options: ReadOptions) -> bool:
    """Whether a column is cut if it holds numbers, so that it matters which occur how often."""
    if options.is_numeric(name) or name in options.maybe_numbers:
        return False
    return (
        options.bins is not None
        or options.binning(name) is not None
        or options.declared_intervals(name) is not None
    )


def counts_labels(name: str, options: ReadOptions) -> bool:
    """Whether it will matter which labels of a column occur how often, or with which weight."""
    weighs = options.weights_column is not None or options.missing == "level"
    return weighs or counts_numbers(name, options)


class ColumnTally:
    """The labels of a column, how often each occurs, and its different numbers."""

    def __init__(self, name: str, options: ReadOptions) -> None:
        """Count labels and numbers only where somebody will ask how often they occur."""
        self.name = name
        self.numbers_count = counts_numbers(name, options)
        self._labels_count = counts_labels(name, options)
        self.seen = ColumnSeen(options.decimal) if options.goes_by_rule(name) else None
        """What says whether the column is numeric, if nobody else does."""
        self.kind = NUMBERS
        self.labels: list[str] = []
        self._occurs = np.zeros(0, dtype=bool)
        self._kept = np.zeros(0, dtype=bool)
        self._times = np.zeros(0, dtype=np.int64)
        self._numbers: list[NumberCounts] = []
        self.lacking_rows = self.lacking = 0
        """Rows that lack a value, those of weight 0 aside: as they stand, and weighted."""
        self.low, self.high = np.inf, -np.inf
        """Of the numbers of rows that count, unless labels spelt some of them."""

    # ------------------------------------------------------------------ pieces of one reader

    def see(
        self,
        column: CsvColumn,
        weights: NDArray[np.int64] | None,
        kept: NDArray[np.bool_] | None,
    ) -> NDArray[np.bool_] | None:
        """Take note of a piece; returns which of the rows kept lack a value, None if none does."""
        self.kind, self.labels = column.kind, column.labels
        cells = column.cells
        if column.kind == OVERFLOW or cells is None:
            return None
        if self.seen is not None:
            self.seen.see(column)
        if cells.dtype.kind == "f":
            if self.numbers_count:
                self._see_numbers(NumberCounts.of_cells(cells, weights))
        elif self._labels_count:
            self._see_codes(cells, weights, kept)
        if kept is not None:
            cells = cells[kept]
            weights = None if weights is None else weights[kept]
        if not has_missing(cells):
            return None
        gaps = missing_mask(cells)
        rows = int(np.count_nonzero(gaps))
        self.lacking_rows += rows
        self.lacking += rows if weights is None else int(weights[gaps].sum())
        return gaps

    def see_range(self, cells: NDArray[Any]) -> None:
        """Take note of the extremes of cells that will be counted."""
        if cells.dtype.kind == "f" and len(cells):
            self.low = min(self.low, float(np.fmin.reduce(cells)))
            self.high = max(self.high, float(np.fmax.reduce(cells)))

    def _see_codes(
        self,
        cells: NDArray[Any],
        weights: NDArray[np.int64] | None,
        kept: NDArray[np.bool_] | None,
    ) -> None:
        size = len(self.labels)
        self._make_room(size)
        # The code that means missing comes last.
        room = max(size, int(cells.max(initial=0)) + 1)
        rows = np.bincount(cells, minlength=room)[:size]
        self._occurs |= rows > 0
        self._times += rows if weights is None else group_sums(cells, room, weights)[:size]
        there = rows if kept is None else np.bincount(cells[kept], minlength=room)[:size]
        self._kept |= there > 0

    def _make_room(self, size: int) -> None:
        more = size - len(self._times)
        if more > 0:
            self._occurs = np.append(self._occurs, np.zeros(more, dtype=bool))
            self._kept = np.append(self._kept, np.zeros(more, dtype=bool))
            self._times = np.append(self._times, np.zeros(more, dtype=np.int64))

    def _see_numbers(self, found: NumberCounts) -> None:
        merged = self._numbers[0] if self._numbers else None
        self._numbers.append(found)
        waiting = sum(len(part.values) for part in self._numbers[1:])
        if merged is not None and waiting >= len(merged.values):
            size = waiting + len(merged.values)
            what = f"the different numbers of column {quote(self.name)}"
            require_memory(BYTES_PER_NUMBER * size, None, what)
            self._numbers = [NumberCounts.merged(self._numbers)]

    # ------------------------------------------------------------------ pieces of several readers

    def add(self, other: ColumnTally, spec: ColumnSpec, decimal: str) -> None:
        """Take what another tally knows of other rows; labels are the same if their texts are.

        Where there are too many labels in all, they are numbers if that is what they all spell, as
        if one reader had seen them.
        """
        self.lacking_rows += other.lacking_rows
        self.lacking += other.lacking
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        if NUMBERS in (self.kind, other.kind):
            self._become_numbers(spec, decimal)
            other._become_numbers(spec, decimal)
        if self.seen is not None and other.seen is not None:
            self.seen.add(other.seen)
        if OVERFLOW not in (self.kind, other.kind):
            self._numbers += other._numbers
            self._add_labels(other)
            if spec.declared is None and len(self.labels) > spec.max_levels:
                self._become_numbers(spec, decimal)
        if OVERFLOW in (self.kind, other.kind):
            # So many that it can be told what they are like, whatever the order of the pieces.
            few = sorted({*self.labels, *other.labels})[: spec.max_levels + 1]
            self._forget_counts()
            self.kind, self.labels = OVERFLOW, few

    def _add_labels(self, other: ColumnTally) -> None:
        places = {label: code for code, label in enumerate(self.labels)}
        for label in other.labels:
            places.setdefault(label, len(places))
        self.labels = list(places)
        size = len(other._times)
        if self._labels_count and size:
            self._make_room(len(self.labels))
            at = [places[label] for label in other.labels[:size]]
            self._occurs[at] |= other._occurs
            self._kept[at] |= other._kept
            self._times[at] += other._times

    def _become_numbers(self, spec: ColumnSpec, decimal: str) -> None:
        """Take labels for the numbers that they spell, if all do and that is wanted."""
        if self.kind == OVERFLOW:
            return
        if self.kind != NUMBERS:
            spelt = numbers_of_labels(self.labels, decimal)[:-1]
            # A label that was expected may occur nowhere.
            there = self._occurs if self._labels_count else np.ones(len(spelt), dtype=bool)
            padded = spec.plain_numbers and any(map(is_padded, self.labels))
            if not spec.numbers_on_overflow or padded or np.isnan(spelt[there]).any():
                self.kind = OVERFLOW
                return
            if self.seen is not None:
                self.seen.become_numbers(self.labels)
        found = self.numbers(decimal)
        self._forget_counts()
        self.kind, self.labels = NUMBERS, []
        if self.numbers_count:
            self._numbers = [found]

    def _forget_counts(self) -> None:
        self._occurs, self._kept, self._times = self._occurs[:0], self._kept[:0], self._times[:0]
        self._numbers = []

    def sort_labels(self) -> None:
        """Forget the order in which labels appeared."""
        order = sorted(range(len(self.labels)), key=lambda code: self.labels[code])
        self.labels = [self.labels[code] for code in order]
        if len(self._times):
            self._occurs, self._kept = self._occurs[order], self._kept[order]
            self._times = self._times[order]

    def thin_numbers(self, edges: NDArray[np.float64] | None, most: int) -> None:
        """Keep one number for each place between the edges, if given, and at most so many.

        One more than that says that there were too many.
        """
        if not self._numbers:
            return
        found = NumberCounts.merged(self._numbers)
        if edges is not None:
            places, first = np.unique(
                np.searchsorted(edges, found.values, side="right"), return_index=True
            )
            at = np.searchsorted(places, np.searchsorted(edges, found.values, side="right"))
            found = NumberCounts(found.values[first], group_sums(at, len(places), found.counts))
        self._numbers = [NumberCounts(found.values[: most + 1], found.counts[: most + 1])]

    @property
    def n_numbers(self) -> int:
        """How many different numbers are kept, if they are counted."""
        return sum(len(part.values) for part in self._numbers)

    # ------------------------------------------------------------------ files that are kept

    def state(self, file: BlockFile) -> dict[str, Any]:
        """Write what was counted to a file, and return what is known as JSON takes it."""
        numbers = NumberCounts.merged(self._numbers) if self._numbers else None
        arrays = [self._occurs, self._kept, self._times, *(numbers or ())]
        return {
            "kind": self.kind,
            "labels": list(self.labels),
            "lacking": [self.lacking_rows, self.lacking],
            "range": [repr(self.low), repr(self.high)],
            "seen": None if self.seen is None else self.seen.state(file),
            "arrays": [(len(array), file.write(array)) for array in arrays],
        }

    def restore(self, state: dict[str, Any], file: BlockFile) -> None:
        """Take what another run has counted."""
        self.kind, self.labels = state["kind"], state["labels"]
        self.lacking_rows, self.lacking = state["lacking"]
        self.low, self.high = map(float, state["range"])
        if self.seen is not None:
            self.seen.restore(state["seen"], file)
        arrays = [file.read(Stored(*stored), size) for size, stored in state["arrays"]]
        self._occurs, self._kept, self._times = arrays[:3]
        self._numbers = [NumberCounts(*arrays[3:])] if len(arrays) > 3 else []

    # ------------------------------------------------------------------ what is asked in the end

    def settled_kind(self) -> SettledKind | None:
        """What the rule makes of the column, if nobody else says what it is."""
        return None if self.seen is None else self.seen.settled(self.kind, self.labels)

    def occurs(self) -> NDArray[np.bool_]:
        """Which labels some row has."""
        return self._occurs

    def kept(self) -> NDArray[np.bool_]:
        """Which labels a row has that does not weigh 0."""
        return self._kept

    def times_of(self, label: str) -> int:
        """How often a label counts."""
        size = len(self._times)
        return int(self._times[self.labels.index(label)]) if label in self.labels[:size] else 0

    def numbers(self, decimal: str) -> NumberCounts:
        """The numbers, and those that labels spelt before there were too many of them."""
        size = len(self._times)
        spelt = NumberCounts.of_labels(self.labels[:size], self._occurs, self._times, decimal)
        return NumberCounts.merged([spelt, *self._numbers])

    def first_wrong(
        self, wrong: NDArray[np.bool_], edges: NDArray[np.float64]
    ) -> tuple[int | None, str]:
        """The text of a cell whose label, or whose place between the edges, is wrong."""
        if self.kind != NUMBERS:
            return None, self.labels[int(np.argmax(wrong & self._occurs))]
        values = self.numbers(".").values
        places = np.searchsorted(edges, values, side="right")
        return None, repr(float(values[int(np.argmax(wrong[places]))]))
