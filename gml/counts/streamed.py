"""The engine over a table whose rows are in a file: each batch of questions is a pass over it."""

from __future__ import annotations

from collections.abc import Sequence

from gml.counts.answers import MissingTreatment
from gml.counts.pass_work import Partial, Work
from gml.counts.passes import PassCounter, RowFacts
from gml.data.settled_rows import SettledRows
from gml.kernel.pool import in_order
from gml.progress import reporter
from gml.resources import available_threads


class StreamCounter(PassCounter):
    """Counts rows that may be too many for memory, as `open_stream` finds them."""

    kind = "a stream"

    def __init__(
        self, rows: SettledRows, *, threads: int | None = None, max_memory: int | None = None
    ) -> None:
        origin = rows.origin
        super().__init__(
            RowFacts(
                rows.variables,
                rows.n,
                rows.n_rows,
                rows.gaps,
                digest=rows.digest,
                missing_treatment=MissingTreatment(
                    origin.policy, origin.n, origin.missing, origin.na
                ),
                decimal=origin.decimal,
                where=rows.spool.where,
            ),
            max_memory=max_memory,
        )
        self._rows = rows
        self._threads = threads or available_threads()

    def __enter__(self) -> StreamCounter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the room on the disk back."""
        self._rows.close()

    def _over_chunks(self, columns: Sequence[int], work: Work[Partial]) -> Partial:
        n_blocks = self._rows.n_blocks
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
