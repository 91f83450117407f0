"""An engine that counts rows that were delivered several times as if they had come once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gml.counts.answers import Counts
from gml.counts.counter import Wrapped
from gml.counts.passes import PassCounter
from gml.counts.questions import Family, TableSet
from gml.data.dataset import Variable


class CountedOnce(Wrapped):
    """An engine over rows that are read in passes, each of which occurs a multiple of so often."""

    def __init__(self, inner: PassCounter, times: int) -> None:
        super().__init__(inner)
        self.inner = inner
        self.times = times

    @property
    def variables(self) -> tuple[Variable, ...]:
        return self.inner.variables

    @property
    def n(self) -> int:
        return self.inner.n // self.times

    def tables(self, sets: Iterable[TableSet]) -> Iterator[Counts]:
        for counts in self.inner.tables(sets):
            yield Counts(
                counts.table // self.times,
                counts.configs,
                counts.n_configs,
                counts.n // self.times,
            )

    def family_tables(self, families: Sequence[Family]) -> Iterator[NDArray[np.int64]]:
        return (table // self.times for table in self.inner.family_tables(families))
