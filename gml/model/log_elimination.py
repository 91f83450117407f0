"""Elimination in logarithms, for products that a double cannot hold.

The kernel scales every product by its largest number. Where a later factor excludes exactly that
one, or makes it as small, the others may already have become 0. Here products are sums of
logarithms, of any size; that is slow, and so only for tables whose numbers lie far apart
(reach.py), and for evidence that the kernel calls impossible although the supports meet.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gml.kernel.layout import STEP_KEEP, STEP_SUM
from gml.kernel.reference.elimination import Elimination, Numbers, spread
from gml.stopping import check_stopped


class LogElimination(Elimination):
    """The reference's elimination with sums of logarithms.

    Afterwards each row of the table of a step holds shares of its largest number, as the pass back,
    the traces and the posterior tables need them.
    """

    def eliminate(self, tables: Numbers, bases: NDArray[np.int64]) -> float:
        """Add the logarithms in `tables` and eliminate; ln of the product, -inf when that is 0."""
        total = 0.0
        for step in self._steps:
            check_stopped()
            step.table[...] = 0.0
            for source, strides in step.factors.items():
                numbers = tables[bases[-1 - source] :] if source < 0 else self._message(source)
                step.table[...] += spread(numbers, step, strides)
            if step.operation == STEP_KEEP:
                kept = float(_log_sum(step.table.reshape(1, -1))[0])
                if kept == -math.inf:
                    return kept
                step.table[...] -= kept
                total += kept
                continue
            rows = step.table.reshape(-1, step.table.shape[-1])
            found = _log_sum(rows) if step.operation == STEP_SUM else rows.max(axis=1)
            step.message[...] = found.reshape(step.message.shape)
            if step.parent < 0:
                total += float(step.message)
        if total > -math.inf:
            self._exponentiate()
        return total

    def _message(self, source: int) -> Numbers:
        return self._steps[source].message.reshape(-1)

    def _exponentiate(self) -> None:
        for step in self._steps:
            if step.operation != STEP_KEEP:
                top = step.table.max(axis=-1, keepdims=True)
                step.table[...] -= np.where(top > -math.inf, top, 0.0)
            step.table[...] = np.exp(step.table)


def _log_sum(rows: Numbers) -> Numbers:
    """ln of the sum of the exponentials of each row."""
    top = rows.max(axis=1)
    finite = np.where(top > -math.inf, top, 0.0)
    with np.errstate(divide="ignore"):
        logs: Numbers = finite + np.log(np.exp(rows - finite[:, None]).sum(axis=1))
    return logs
