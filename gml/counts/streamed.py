"""The engine over a table whose rows are in a file: each batch of questions is a pass over it."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from gml.counts.batched_tables import ahead_pays
from gml.counts.pass_work import Partial, Work
from gml.counts.settled_counter import SettledCounter
from gml.data.dataset import Dataset
from gml.data.lazily import Lazily
from gml.data.number_summary import Numbers, NumberValues
from gml.data.settled_rows import SettledRows
from gml.data.treated_rows import treated
from gml.errors import CannotAnswer, counted, parameter
from gml.kernel.pool import in_order
from gml.progress import reporter
from gml.resources import available_threads, format_size

# Parts of the budget for rows that are wanted in memory, and for finding equal ones.
_SHARE_OF_ROWS, _SHARE_OF_GROUPS = 2, 4
# A part of it for cells that passes need not read again: where there are so few, reading one column
# after the other would be most of a pass.
_SHARE_OF_CELLS = 16


class StreamCounter(SettledCounter):
    """Counts rows that may be too many for memory, as `open_stream` finds them.

    `max_memory` is the most that tables, and rows where they are wanted, may take.
    """

    kind = "a stream"
    keeps_order = True

    def __init__(
        self, rows: SettledRows, *, threads: int | None = None, max_memory: int | None = None
    ) -> None:
        super().__init__(rows.table, rows.spool.where, digest=rows.digest, max_memory=max_memory)
        self._rows = rows
        if self._holds(rows.n_rows):
            rows.hold()
        self._threads = threads or available_threads()
        self.passes = 0
        """Passes so far over the file."""

    @property
    def counts_ahead(self) -> bool:
        """Whether passes are so dear that what may be asked for next is worth finding out."""
        return self.would_count_ahead(self.pass_rows)

    def would_count_ahead(self, n_rows: int) -> bool:
        """The same if there were so many rows: a pass over cells that are held reads nothing."""
        return not self._holds(n_rows) and ahead_pays(n_rows, len(self.variables))

    def _holds(self, n_rows: int) -> bool:
        """Whether the cells of so many rows are held."""
        n_bytes = self._rows.bytes_of(range(len(self.variables)))
        n_bytes += 8 * self._rows.is_weighted * self._rows.n_rows
        limit = self._budget // _SHARE_OF_CELLS
        return n_bytes * n_rows <= limit * max(1, self._rows.n_rows)

    def close(self) -> None:
        """Give the room on the disk back."""
        self._rows.close()

    def rows(self) -> Dataset | None:
        """The rows, if there is room for them: as they stand, or equal ones counted once."""
        return self._whole

    @functools.cached_property
    def _whole(self) -> Dataset | None:
        return self._with_repeats(self._rows.whole(self._budget // _SHARE_OF_ROWS))

    def rows_as_they_stand(self) -> Dataset | None:
        """The rows one by one, if there is room for them."""
        limit = self._budget // _SHARE_OF_ROWS
        return self._with_repeats(self._rows.whole(limit, join_equal=False))

    def _with_repeats(self, found: Dataset | None) -> Dataset | None:
        if found is None or not found.origin or not found.origin.numbers:
            return found
        repeats = self.uncut_repeats()
        return replace(found, origin=replace(found.origin, repeats=repeats))

    def treated(
        self,
        policy: str,
        where: str,
        *,
        declared: Collection[str] = (),
        min_complete: int | None = None,
    ) -> StreamCounter:
        """Treat missing values that were left in; rows keep the numbers that they had."""
        rows = treated(self._rows, policy, where, declared=declared, min_complete=min_complete)
        return self if rows is self._rows else StreamCounter(rows, threads=self._threads)

    @property
    def first_line(self) -> int | None:
        """The physical line of the first row, if every row is on a line of its own."""
        return self._rows.first_line

    def require_rows(self, what: str) -> Dataset:
        """Return the rows, or say that there is no room for them."""
        rows = self.rows()
        if rows is None:
            raise CannotAnswer(
                f"{self.where}: {what} needs the rows in memory, where even the different ones "
                f"take more than {parameter('max_memory')} allows; choose fewer columns, or allow "
                "more"
            )
        return rows

    def row_repeats(self, names: Sequence[str] | None = None) -> Mapping[int, int]:
        """How many different rows occur how often."""
        return self._rows.repeats(self._budget // _SHARE_OF_GROUPS, self._columns_named(names))

    def uncut_repeats(self, names: Sequence[str] | None = None) -> Mapping[int, int] | None:
        """The same of the table as it was read, if numbers were cut."""
        return self._rows.uncut_repeats(
            self._budget // _SHARE_OF_GROUPS, self._columns_named(names)
        )

    def number_values(self, names: Sequence[str] | None = None) -> Mapping[str, Numbers]:
        """The values of columns that hold numbers, or held some before they were cut.

        They are counted when somebody asks for them, one column at a time.
        """
        cut = self.cut_numbers
        at = {self.variables[j].name: j for j in self._columns_named(names)}

        def values_of(name: str) -> Numbers | None:
            found: Numbers | None = cut.get(name)
            if found is None and self.variables[at[name]].is_continuous:
                found = self._rows.numbers(at[name], self._budget // _SHARE_OF_GROUPS)
            return found if found is not None and found.n else None

        return Lazily(at, values_of)

    @property
    def cut_numbers(self) -> Mapping[str, NumberValues]:
        """The values that columns had before they were cut."""
        origin = self._rows.table.origin
        return {} if origin is None else origin.numbers

    def over_chunks(self, columns: Sequence[int], work: Work[Partial]) -> Partial:
        n_blocks = self._rows.n_blocks
        self.passes += 1
        reporter().note(
            f"pass {self.passes}: {counted(len(columns), 'column')}, "
            f"{format_size(self._rows.bytes_of(columns))}"
        )
        parts = in_order(
            lambda k: work.of(self._rows.block(k, columns)),
            range(n_blocks),
            self._threads,
            ahead=self._threads,
        )
        total = next(parts)
        for k, part in enumerate(parts, start=2):
            total = work.add(total, part)
            reporter().advance("reading", k, n_blocks)
        return total
