"""What a network of labels and numbers says of many rows of evidence.

Rows that observe the same nodes share a plan, and are answered together: every figure of a
regression and every weight of a configuration is an array over rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, UsageError, quote
from gml.model.mixed.elimination import Weight, eliminate
from gml.model.mixed.lines import Array, picked, whole
from gml.model.mixed.mixture import Components, mixture_moments
from gml.model.mixed.ranked import RankedNetwork
from gml.model.mixed.row_labels import LabelSums, log_sum
from gml.model.mixed.strong_order import StrongPlan, strong_plan
from gml.model.network import Network
from gml.progress import reporter
from gml.resources import budget_in_force, require_memory

Codes = NDArray[np.int64]

# Figures that the arrays of one block of rows may have.
_BLOCK_CELLS = 1 << 21
_MOST_ROWS = 1 << 14
# Its weight, its mean and its standard deviation.
_BYTES_PER_COMPONENT = 3 * 8


class MixedRowAnswers(NamedTuple):
    """The probabilities of each label asked for, mixtures of each number, ln P(evidence)."""

    tables: dict[str, Array]
    numbers: dict[str, Components]
    log_evidence: Array


class MixedRows:
    """Answers about some nodes, from rows of evidence."""

    def __init__(
        self,
        net: Network | RankedNetwork,
        targets: Sequence[str],
        *,
        max_memory: int | None = None,
    ) -> None:
        self._net = net if isinstance(net, RankedNetwork) else RankedNetwork(net)
        self._targets = [self._net.rank[name] for name in targets]
        self._max_memory = max_memory
        with np.errstate(divide="ignore"):
            self._logs = {k: self._log_table(k) for k in self._net.labels}

    def _log_table(self, label: int) -> Weight:
        """ln of a table, its axes by rank."""
        own = self._net.tables[label]
        axes = (*own.labels, label)
        by_rank = tuple(sorted(axes))
        return Weight(by_rank, np.log(own.table).transpose([axes.index(k) for k in by_rank]))

    def of(self, names: Sequence[str], evidence: NDArray[np.float64]) -> MixedRowAnswers:
        """Return the answers to evidence, rows × names: codes of levels, numbers; NaN is none."""
        net = self._net
        nodes = [net.rank[name] for name in names]
        both = [net.names[k] for k in self._targets if k in nodes]
        if both:
            raise UsageError(f"{quote(both[0])} is both observed and asked for")
        n_rows = len(evidence)
        labels = [k for k in self._targets if k in net.tables]
        held = 8 * n_rows * (1 + sum(net.sizes[k] for k in labels))
        require_memory(held, self._max_memory, "the answers to all rows")
        log_p = np.full(n_rows, -math.inf)
        tables = {k: np.full((n_rows, net.sizes[k]), np.nan) for k in labels}
        parts: dict[int, list[tuple[NDArray[np.int64], Components]]] = {
            k: [] for k in self._targets if k in net.regressions
        }
        widest = dict.fromkeys(parts, 0)
        done = 0
        for rows, plan in self._by_pattern(nodes, evidence):
            # What this pattern adds, and one table for all rows with as many components as any has.
            widths = {k: plan.width(k) for k in parts}
            held += _BYTES_PER_COMPONENT * len(rows) * sum(widths.values())
            widest = {k: max(widest[k], width) for k, width in widths.items()}
            whole_tables = _BYTES_PER_COMPONENT * n_rows * sum(widest.values())
            require_memory(held + whole_tables, self._max_memory, "the mixtures of all rows")
            for some, found in plan.blocks(nodes, evidence, rows):
                log_p[some] = found.log_evidence
                for k, table in tables.items():
                    table[some] = found.tables[net.names[k]]
                for k, own in parts.items():
                    own.append((some, found.numbers[net.names[k]]))
                done += len(some)
                reporter().advance("rows", done, n_rows)
        return MixedRowAnswers(
            {net.names[k]: table for k, table in tables.items()},
            {net.names[k]: self._gathered(n_rows, own, widest[k]) for k, own in parts.items()},
            log_p,
        )

    def _gathered(
        self, n_rows: int, parts: Sequence[tuple[NDArray[np.int64], Components]], width: int
    ) -> Components:
        """One table of components for all rows."""
        whole_table = Components(
            np.zeros((n_rows, width)), np.zeros((n_rows, width)), np.ones((n_rows, width))
        )
        for rows, part in parts:
            for table, own in zip(whole_table, part, strict=True):
                table[rows, : own.shape[1]] = own
        return whole_table

    def _by_pattern(
        self, nodes: Sequence[int], evidence: NDArray[np.float64]
    ) -> Iterator[tuple[NDArray[np.int64], _PatternPlan]]:
        """The rows that observe the same nodes, and what to do with them."""
        seen = ~np.isnan(evidence)
        patterns, of_row = np.unique(seen, axis=0, return_inverse=True)
        of_row = of_row.reshape(-1)
        for number, pattern in enumerate(patterns):
            rows = np.flatnonzero(of_row == number)
            observed = [nodes[k] for k in np.flatnonzero(pattern).tolist()]
            yield (
                rows,
                _PatternPlan(self._net, self._logs, observed, self._targets, self._max_memory),
            )


class _PatternPlan:
    """What to do with rows that observe the same nodes."""

    def __init__(
        self,
        net: RankedNetwork,
        logs: Mapping[int, Weight],
        observed: Sequence[int],
        targets: Sequence[int],
        max_memory: int | None,
    ) -> None:
        self._net = net
        self._logs = logs
        self._observed = observed
        self._single = {k: 0 for k in net.labels if net.sizes[k] == 1}
        self._targets = targets
        seen = {*observed, *self._single}
        self._base = strong_plan(net, seen)
        self._around: dict[int, StrongPlan] = {
            k: strong_plan(net, seen, last=[k], around=[k]) for k in targets if k in net.regressions
        }
        kept = {
            k: (k,) if k in net.tables else self._around[k].labels[k]
            for k in targets
            if k not in seen
        }
        weighed = {j for k in self._base.numbers if k in seen for j in self._base.labels[k]}
        wanted = {j for own in kept.values() for j in own}
        self._matter = [
            k
            for k in sorted(net.ancestors([*wanted, *weighed, *(j for j in seen if j in logs)]))
            if k in net.tables
        ]
        scopes = [[j for j in logs[k].labels if j not in seen] for k in self._matter]
        scopes += [list(self._base.labels[k]) for k in self._base.numbers if k in seen]
        self._sums = {k: LabelSums(net, scopes, own) for k, own in kept.items()}
        self._total = LabelSums(net, scopes, ())
        plans = [self._base, *self._around.values()]
        sums = [self._total, *self._sums.values()]
        for plan in plans:
            plan.require_room(net, max_memory)
        for part in sums:
            part.require_room(net, max_memory)
        cells = max(plan.cells for plan in plans) + 3 * max(part.cells for part in sums)
        cells += sum(math.prod(net.sizes[j] for j in scope) for scope in scopes)
        budget = min(_BLOCK_CELLS, budget_in_force(max_memory) // 8)
        self._rows_at_once = max(1, min(_MOST_ROWS, budget // cells))

    def width(self, number: int) -> int:
        """The number of components of the mixture of a number."""
        net = self._net
        return math.prod(net.sizes[j] for j in self._around[number].labels[number])

    def blocks(
        self, nodes: Sequence[int], evidence: NDArray[np.float64], rows: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], MixedRowAnswers]]:
        """Answer these rows of evidence, some at a time."""
        for start in range(0, len(rows), self._rows_at_once):
            some = rows[start : start + self._rows_at_once]
            columns = {k: evidence[some, nodes.index(k)] for k in self._observed}
            yield some, self.answers(columns, len(some))

    def answers(self, columns: Mapping[int, Array], n_rows: int) -> MixedRowAnswers:
        """Return what rows say that have these values of the observed nodes."""
        net = self._net
        values = {k: column for k, column in columns.items() if k in net.regressions}
        codes: dict[int, Codes] = {
            k: np.zeros(1, dtype=np.int64) for k in self._single if k not in columns
        }
        codes |= {k: column.astype(np.int64) for k, column in columns.items() if k in net.tables}
        factors = [
            Weight(*picked(self._logs[k].logs, self._logs[k].labels, codes)) for k in self._matter
        ]
        factors += eliminate(net, self._base, values, codes).weights
        log_p = log_sum(self._total.of(factors, n_rows, net.sizes), 1)
        if np.isnan(log_p).any():
            raise CannotAnswer("the density of the evidence of some row is beyond 1.8e308")
        tables: dict[str, Array] = {}
        numbers: dict[str, Components] = {}
        for k in self._targets:
            if k in self._single:
                tables[net.names[k]] = np.where(log_p > -math.inf, 1.0, np.nan)[:, None]
                continue
            share = _shares(self._sums[k].of(factors, n_rows, net.sizes))
            if k in net.tables:
                tables[net.names[k]] = share
                continue
            line = eliminate(net, self._around[k], values, codes).lines[k]
            mean, _, sd = whole(line, net.sizes, n_rows)
            numbers[net.names[k]] = Components(
                share, mean.reshape(n_rows, -1), sd.reshape(n_rows, -1)
            )
        return MixedRowAnswers(tables, numbers, log_p)


def _shares(logs: Array) -> Array:
    """The exponentials of each row over their sum; NaN in rows of weight 0."""
    top = logs.max(axis=1, keepdims=True)
    possible = top > -math.inf
    weights = np.exp(logs - np.where(possible, top, 0.0))
    totals = np.ascontiguousarray(weights).sum(axis=1, keepdims=True)
    found: Array = np.where(possible, weights / np.where(possible, totals, 1.0), np.nan)
    return found


def moments_of(components: Components) -> tuple[Array, Array]:
    """Return means and standard deviations, by row; CannotAnswer if one is beyond doubles."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, sd = mixture_moments(*components)
    possible = ~np.isnan(components.weight).any(axis=1)
    if not (np.isfinite(mean[possible]).all() and np.isfinite(sd[possible]).all()):
        raise CannotAnswer("some means given the evidence are beyond 1.8e308")
    return mean, sd
