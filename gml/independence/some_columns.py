"""A test of one kind of columns, used for those of a table that are of this kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gml.counts.counter import Counter, Triple, TripleArray
from gml.data.column_kinds import kind_of
from gml.independence.base import CIResult, CounterTest, ResultArrays
from gml.independence.registry import KnownTest


class OverSomeColumns:
    """A test over the columns of one kind, asked by the positions that they have among all."""

    def __init__(
        self,
        make: Callable[..., CounterTest],
        facts: KnownTest,
        counter: Counter,
        kind: str,
        threads: int | None,
        **options: Any,
    ) -> None:
        chosen = [j for j, variable in enumerate(counter.variables) if kind_of(variable) == kind]
        inner = counter.select([counter.variables[j].name for j in chosen])
        self._test = make(facts, inner, threads=threads, **options)
        self._place = np.full(len(counter.variables), -1, dtype=np.int32)
        self._place[chosen] = np.arange(len(chosen))

    def batch(self, triples: Sequence[Triple]) -> ResultArrays:
        """Run many tests."""
        place = self._place
        if isinstance(triples, TripleArray):
            return self._test.batch(TripleArray(place[triples.rows]))
        at = place.tolist()
        return self._test.batch([(at[x], at[y], tuple(at[j] for j in z)) for x, y, z in triples])

    def why_insufficient(
        self, x: int, y: int, given: Sequence[int], result: CIResult | None = None
    ) -> str | None:
        """Say what the test says of these columns."""
        at = self._place.tolist()
        return self._test.why_insufficient(at[x], at[y], [at[j] for j in given], result)
