"""The engine over rows in a temporary file: each batch of questions is a pass over its blocks.

The pieces of a table, of which each fits into memory, become one table that need not. The numbers
are those of the engine over all rows in memory, to the last bit; what needs the rows themselves, as
a bootstrap does, is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from gml.counts.answers import MissingTreatment
from gml.counts.pass_work import Partial, Work
from gml.counts.passes import PassCounter, RowFacts
from gml.data.dataset import Dataset
from gml.data.spool import Spool
from gml.errors import UsageError, kind_of
from gml.kernel.pool import in_order
from gml.progress import reporter
from gml.resources import available_threads, budget_in_force

# Blocks that are read, recoded, turned into masks and counted at once take a few times their bytes.
_BLOCKS_IN_BUDGET = 8


class SpooledCounter(PassCounter):
    """Counts the pieces of a table that together may be larger than memory.

    Examples
    --------
    >>> import gml
    >>> data = gml.read("sample_data/asia.csv")
    >>> with SpooledCounter(data.blocks(1000)) as counter:
    ...     tree = gml.chow_liu(counter).graph
    >>> tree.n_edges
    7
    """

    kind = "a spool"

    def __init__(
        self,
        pieces: Iterable[Dataset],
        *,
        folder: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        max_memory: int | None = None,
    ) -> None:
        """Write the pieces to a file without a name in the folder (default: that of the system)."""
        self._threads = threads or available_threads()
        block_bytes = budget_in_force(max_memory) // (_BLOCKS_IN_BUDGET * self._threads)
        spool = Spool(folder, block_bytes=block_bytes)
        try:
            for piece in pieces:
                if not isinstance(piece, Dataset):
                    raise UsageError(f"a piece must be a Dataset, not {kind_of(piece)}")
                spool.append(piece)
            spool.finish()
        except BaseException:
            spool.close()
            raise
        self._spool = spool
        super().__init__(_facts(spool), max_memory=max_memory)

    def __enter__(self) -> SpooledCounter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the room on the disk back."""
        self._spool.close()

    def _over_chunks(self, columns: Sequence[int], work: Work[Partial]) -> Partial:
        n_blocks = self._spool.n_blocks
        parts = in_order(
            lambda k: work.of(self._spool.block(k, columns)),
            range(n_blocks),
            self._threads,
            ahead=self._threads,
        )
        total = next(parts)
        for k, part in enumerate(parts, start=2):
            total = work.add(total, part)
            reporter().advance("reading", k, n_blocks)
        return total


def _facts(spool: Spool) -> RowFacts:
    origin = spool.origin
    treatment = None
    if origin is not None:
        treatment = MissingTreatment(origin.policy, origin.n, origin.missing, origin.na)
    return RowFacts(
        spool.variables,
        spool.n,
        spool.n_rows,
        spool.gaps,
        missing_treatment=treatment,
        decimal=None if origin is None else origin.decimal,
        where="the spool",
    )
