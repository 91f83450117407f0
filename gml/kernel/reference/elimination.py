"""Variable elimination over tables, in NumPy; elimination.h has the program's layout."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from gml.kernel.layout import STEP_KEEP, STEP_MAX, STEP_SUM
from gml.stopping import check_stopped

_HEADER = 7
_TIE = 1e-12
_LOW = 2.0**300
_LIFTED = 500

Numbers = NDArray[np.float64]


class _Step(NamedTuple):
    operation: int
    table: Numbers
    message: Numbers
    parent: int
    variables: tuple[int, ...]
    factors: dict[int, tuple[int, ...]]
    """Strides of each source over the axes of the table."""


class Elimination:
    """A program of elimination steps, and the room for its tables (`work`)."""

    def __init__(
        self, code: NDArray[np.int64], starts: NDArray[np.int64], room: int, n_variables: int
    ) -> None:
        self.work = np.zeros(room)
        self._n_variables = n_variables
        self._steps = [self._read(code[start:].tolist()) for start in starts]

    def _read(self, code: list[int]) -> _Step:
        operation, n_axes, table, message, n_factors, parent, _ = code[:_HEADER]
        rest = code[_HEADER:]
        shape, variables = tuple(rest[:n_axes]), tuple(rest[n_axes : 2 * n_axes])
        factors = {}
        for f in range(n_factors):
            source, *strides = rest[2 * n_axes + f * (n_axes + 1) :][: n_axes + 1]
            factors[source] = tuple(strides)
        return _Step(
            operation,
            self.work[table : table + math.prod(shape)].reshape(shape),
            self.work[message : message + math.prod(shape[:-1])].reshape(shape[:-1]),
            parent,
            variables,
            factors,
        )

    def eliminate(self, tables: Numbers, bases: NDArray[np.int64]) -> float:
        """Multiply and eliminate; ln of the product of all factors, -inf when that is 0."""
        log_sum, exponent = 0.0, 0
        for step in self._steps:
            check_stopped()
            step.table[...] = 2.0**_LIFTED
            exponent -= _LIFTED
            for source, strides in step.factors.items():
                if source < 0:
                    step.table[...] *= spread(tables[bases[-1 - source] :], step, strides)
                else:
                    message = self._steps[source].message.reshape(-1)
                    step.table[...] *= spread(message, step, strides)
                if not (step.table > _LOW).any():
                    exponent += _rescale(step.table, _LIFTED)
            if step.operation == STEP_KEEP:
                total = float(step.table.sum())
                if not total > 0:
                    return -math.inf
                step.table[...] /= total
                mantissa, own = math.frexp(total)
                log_sum, exponent = log_sum + math.log(mantissa), exponent + own
                continue
            reduce = np.sum if step.operation == STEP_SUM else np.max
            step.message[...] = reduce(step.table, axis=-1)
            largest = float(step.message.max())
            if step.parent < 0:
                if not largest > 0:
                    return -math.inf
                mantissa, own = math.frexp(largest)
                log_sum, exponent = log_sum + math.log(mantissa), exponent + own
            else:
                exponent += _rescale(step.message, 0)
        return log_sum + exponent * math.log(2)

    def distribute(self, offsets: NDArray[np.int64], out: Numbers) -> None:
        """Turn each table into a distribution; that of its last variable goes to out[offsets]."""
        for s in reversed(range(len(self._steps))):
            step = self._steps[s]
            step.message[...] = 1.0
            if step.parent >= 0:
                parent = self._steps[step.parent]
                step.message[...] = 0.0
                places = spread(np.arange(step.message.size), parent, parent.factors[s])
                np.add.at(step.message.reshape(-1), places.reshape(-1), parent.table.reshape(-1))
            totals = step.table.sum(axis=-1, keepdims=True)
            shares = step.table / np.where(totals > 0, totals, 1.0)
            step.table[...] = shares * step.message[..., None]
            levels = step.table.shape[-1]
            marginal = step.table.reshape(-1, levels).sum(axis=0)
            out[offsets[s] : offsets[s] + levels] = marginal / marginal.sum()

    def marginals(
        self,
        tables: Numbers,
        bases: NDArray[np.int64],
        offsets: NDArray[np.int64],
        out: Numbers,
        log_p: Numbers,
    ) -> None:
        """Eliminate and distribute for each row of bases; rows of probability 0 are left alone."""
        for row in range(len(bases)):
            log_p[row] = self.eliminate(tables, bases[row])
            if log_p[row] > -math.inf:
                self.distribute(offsets, out[row])

    def expectations(
        self,
        tables: Numbers,
        bases: NDArray[np.int64],
        weights: Numbers,
        offsets: NDArray[np.int64],
        out: Numbers,
        counts: Numbers,
        log_p: Numbers,
    ) -> None:
        """Add the distributions given each row of bases to counts, where the factors came from."""
        for row in range(len(bases)):
            log_p[row] = self.eliminate(tables, bases[row])
            if log_p[row] == -math.inf:
                continue
            self.distribute(offsets, out)
            for step in self._steps:
                for source, strides in step.factors.items():
                    if source < 0:
                        places = np.arange(len(counts))[bases[row, -1 - source] :]
                        cells = spread(places, step, strides).reshape(-1)
                        np.add.at(counts, cells, weights[row] * step.table.reshape(-1))

    def trace(self) -> NDArray[np.int32]:
        """The levels that reach the maximum, the first of those that do; -1 where not asked."""
        levels = np.full(self._n_variables, -1, dtype=np.int32)
        for step in reversed(self._steps):
            if step.operation != STEP_MAX:
                continue
            row = step.table[tuple(int(levels[v]) for v in step.variables[:-1])]
            best = 0
            for k in range(1, len(row)):
                if row[k] > row[best] * (1 + _TIE):
                    best = k
            levels[step.variables[-1]] = best
        return levels


def _rescale(values: Numbers, target: int) -> int:
    """Divide by a power of two that brings the largest near 2^target; returns its exponent."""
    largest = float(values.max())
    exponent = math.frexp(largest)[1] - target if largest > 0 else 0
    values[...] = np.ldexp(values, -exponent)
    return exponent


def spread(values: NDArray[Any], step: _Step, strides: tuple[int, ...]) -> NDArray[Any]:
    """See a factor as a table with the axes of a step."""
    item = values.dtype.itemsize
    return as_strided(values, step.table.shape, [item * stride for stride in strides])
