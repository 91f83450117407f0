"""The least engine that works in passes: over slices of rows in memory, pickled on the way."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace

import numpy as np

from gml.counts.memory import MemoryCounter
from gml.counts.passes import PassCounter, RowFacts
from gml.data.dataset import has_missing


class SlicedCounter(PassCounter):
    """Works on slices between cuts, in an order of its own, and counts its passes."""

    kind = "an engine over slices"

    def __init__(self, data, cuts, *, max_memory=None, seed=0):
        counting = data if data.weights is None else data.rows(data.weights > 0)
        memory = MemoryCounter(data)
        super().__init__(
            RowFacts(
                data.variables,
                data.n,
                data.n_rows,
                tuple(has_missing(column) for column in counting.columns),
                unit=data.unit,
                digest=data.digest,
                missing_treatment=memory.missing_treatment,
                decimal=memory.decimal,
            ),
            max_memory=max_memory,
        )
        self._data = data
        ends = [0, *sorted(cuts), data.n_rows]
        slices = [slice(a, b) for a, b in itertools.pairwise(ends)]
        order = np.random.default_rng(seed).permutation(len(slices))
        self._slices = [slices[k] for k in order]
        self.passes = 0

    def over_chunks(self, columns, work):
        self.passes += 1
        names = [self.variables[j].name for j in columns]
        # Names may repeat in no engine, and a chunk has the columns asked for only.
        data = self._data.select(names)
        work = pickle.loads(pickle.dumps(work))
        found = [work.of(self._chunk(data, part)) for part in self._slices]
        found = [pickle.loads(pickle.dumps(partial)) for partial in found]
        while len(found) > 1:
            found = [
                work.add(*found[k : k + 2]) if k + 1 < len(found) else found[k]
                for k in range(0, len(found), 2)
            ]
        return found[0]

    @staticmethod
    def _chunk(data, part):
        return replace(
            data,
            columns=tuple(column[part].copy() for column in data.columns),
            weights=None if data.weights is None else data.weights[part].copy(),
        )
