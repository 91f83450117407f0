"""Exact inference on tables: variables are eliminated one by one, and a pass back gives marginals.

Factors are cut down to the evidence. Eliminating a variable multiplies the factors that contain it
and sums it (or takes its maximum) out of the product (Zhang & Poole 1994), which is a table over a
clique of the junction tree (junction_tree.py); a pass back from the root turns every clique's table
into its posterior. Before that pass the table of a step, each row divided by its sum, is
P(variable | neighbours, evidence), and the steps backwards are a network of the posterior: rows
drawn from it are exact draws under the evidence.

Variables are numbered by name, so that the order of nodes in a file does not change a single bit.
Messages are scaled by powers of two, and what would be lost even so is computed in logarithms
(reach.py, log_elimination.py), so that no evidence is too improbable. Tables that do not fit into
the budget are refused before they are made.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.kernel.layout import STEP_KEEP, STEP_MAX
from gml.model.elimination_steps import compiled_steps
from gml.model.flat_tables import Tables, logarithms
from gml.model.junction_tree import build_tree
from gml.model.reach import is_beyond_doubles
from gml.resources import budget_in_force

if TYPE_CHECKING:
    from gml.model.log_elimination import LogElimination


class TableElimination:
    """A plan for one set of observed nodes and one question, which any evidence on them can run.

    `stages` are pairs (operation, nodes): the nodes of a stage go before those of the next.
    `factors` are the numbers of those that matter. `kept` nodes stay in the table of a last step.
    Evidence on `entered` nodes is a factor of zeros and a one (all ones where a row says nothing):
    one plan for rows that observe different nodes, at the price of tables that are not cut down.
    Nodes with one level are certain, and are not axes of any table.
    """

    def __init__(
        self,
        tables: Tables,
        *,
        factors: Sequence[int],
        observed: Iterable[int],
        stages: Sequence[tuple[int, Sequence[int]]],
        kept: Sequence[int] = (),
        entered: Sequence[int] = (),
        max_memory: int | None = None,
    ) -> None:
        self._tables = tables
        self.observed = tuple(sorted(observed))
        self._column = {node: k for k, node in enumerate(self.observed)}
        asked = {*kept, *(node for _, nodes in stages for node in nodes)}
        self._certain = {node for node in asked if tables.sizes[node] == 1}
        hidden = asked - self._certain
        self._used = [k for k in factors if not hidden.isdisjoint(tables.scopes[k])]
        # A table whose nodes are all observed is a number.
        self._constants = [k for k in factors if hidden.isdisjoint(tables.scopes[k])]
        self._exponent = sum(tables.exponents[k] for k in factors)
        self._factors = [
            [
                (node, stride)
                for node, stride in zip(tables.scopes[k], tables.strides[k], strict=True)
                if node in hidden
            ]
            for k in self._used
        ]
        self._entered = tuple(node for node in entered if node in hidden)
        self._entered_at = [k for k, node in enumerate(entered) if node in hidden]
        self._factors += [[(node, 1)] for node in self._entered]
        self._numbers, self._indicators = _with_indicators(tables, self._entered)
        self._tree = build_tree(
            [[node for node, _ in factor] for factor in self._factors],
            tables.sizes,
            [[node for node in nodes if node in hidden] for _, nodes in stages],
            [node for node in kept if node in hidden],
        )
        self._tree.require_room(tables.names, budget_in_force(max_memory))
        operation_of = {node: operation for operation, nodes in stages for node in nodes}
        self.cliques = self._tree.cliques
        """The axes of the table of each step."""
        self.parents = self._tree.parents
        """For each step, the later one that takes its message; -1 for roots."""
        self._operations = [operation_of.get(clique[-1], STEP_KEEP) for clique in self.cliques]
        self._table_starts: list[int] = []
        self._support: NDArray[np.float64] | None = None
        if self.cliques:
            self._code = self._compile()
            self._program: Any = kernel.active().Elimination(*self._code)
            # The program whose tables the last elimination left behind.
            self._last = self._program

    def _compile(self) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]:
        """Return the program of the steps (elimination.h), the room it needs, and the nodes."""
        steps = compiled_steps(self._tree, self._factors, self._operations)
        self._table_starts = steps.table_starts
        return steps.code, steps.starts, steps.room, len(self._tables.sizes)

    def bases(self, evidence: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where each table starts given evidence: rows × observed nodes, then entered ones.

        The code of an entered node is -1 in rows that do not observe it.
        """
        bases = np.empty((len(evidence), len(self._factors)), dtype=np.int64)
        for k, table in enumerate(self._used):
            bases[:, k] = self._base(table, evidence)
        for k, node in enumerate(self._entered):
            codes = evidence[:, len(self.observed) + self._entered_at[k]]
            bases[:, len(self._used) + k] = self._indicators[k] + (
                (codes + 1) * self._tables.sizes[node]
            )
        return bases

    def _base(self, table: int, evidence: NDArray[np.int64]) -> NDArray[np.int64]:
        base = np.full(len(evidence), self._tables.starts[table], dtype=np.int64)
        scope = zip(self._tables.scopes[table], self._tables.strides[table], strict=True)
        for node, stride in scope:
            if node in self._column:
                base += stride * evidence[:, self._column[node]]
        return base

    def _log_constants(self, evidence: NDArray[np.int64]) -> NDArray[np.float64]:
        """ln of the product of the tables that evidence turns into numbers, and of all scales."""
        log_p = np.full(len(evidence), self._exponent * math.log(2))
        for table in self._constants:
            base = self._base(table, evidence)
            logs = self._tables.logs
            log_p += logarithms(self._tables.numbers[base]) if logs is None else logs[base]
        return log_p

    def eliminate(self, evidence: Mapping[int, int]) -> float:
        """Run the steps; ln of the weight of the evidence (or of its best explanation)."""
        codes = [evidence[node] for node in self.observed]
        row = np.array(codes, dtype=np.int64).reshape(1, -1)
        return next(self.eliminate_rows(row))

    def eliminate_rows(self, evidence: NDArray[np.int64]) -> Iterator[float]:
        """Run the steps on rows × observed nodes, one row after the other.

        What `table` and `trace` return is of the row whose ln of the weight came last.
        """
        constants = self._log_constants(evidence).tolist()
        if not self.cliques:
            yield from constants
            return
        bases = self.bases(evidence)
        for row, log_p in enumerate(constants):
            yield log_p if log_p == -math.inf else log_p + self._eliminated(bases[row])

    def _eliminated(self, bases: NDArray[np.int64]) -> float:
        self._last = self._program
        found: float = -math.inf
        if not self._is_wide:
            found = self._program.eliminate(self._numbers, bases)
        if found == -math.inf and (self._is_wide or self._supports_meet(bases)):
            self._last = self._in_logarithms()
            found = self._last.eliminate(self._logs, bases)
        return found

    def pass_both_ways(self, logs: NDArray[np.float64]) -> float:
        """Give the tables other numbers, without evidence; ln of the sum of their product.

        Then `table` is the distribution of each clique. The logarithms of the numbers stand as in
        `Tables.numbers`, and the largest of each table is 0.
        """
        if not self.cliques:
            return 0.0
        sizes = [self._tables.sizes[clique[-1]] for clique in self.cliques]
        offsets = np.cumsum([0, *sizes], dtype=np.int64)
        bases = self.bases(np.empty((1, 0), dtype=np.int64))[0]
        possible = np.where(logs > -math.inf, logs, 0.0)
        spans = -np.minimum.reduceat(possible, self._tables.starts)
        self._last = self._program
        found = -math.inf
        is_wide = self._spans_too_much(spans, excludes=bool(np.isneginf(logs).any()))
        if not is_wide:
            found = self._program.eliminate(np.exp(logs), bases)
        if found == -math.inf:
            self._last = self._in_logarithms()
            found = self._last.eliminate(logs, bases)
        if found > -math.inf:
            self._last.distribute(offsets[:-1].copy(), np.zeros(int(offsets[-1])))
        return found

    @functools.cached_property
    def _is_wide(self) -> bool:
        """Whether products of the tables may be too small for a double, but not impossible."""
        return self._spans_too_much(self._tables.spans, excludes=self._tables.excludes)

    def _spans_too_much(self, spans: NDArray[np.float64], *, excludes: bool) -> bool:
        scopes = [[node for node, _ in factor] for factor in self._factors[: len(self._used)]]
        return is_beyond_doubles(spans[self._used], scopes, self.cliques, excludes=excludes)

    @functools.cached_property
    def _logs(self) -> NDArray[np.float64]:
        logs, n = self._tables.logs, len(self._tables.numbers)
        if logs is None:
            return logarithms(self._numbers)
        return np.concatenate([logs, logarithms(self._numbers[n:])])

    def _in_logarithms(self) -> LogElimination:
        # Seldom needed, and it brings the whole reference kernel.
        from gml.model.log_elimination import LogElimination

        return LogElimination(*self._code)

    def _supports_meet(self, bases: NDArray[np.int64]) -> bool:
        """Whether evidence whose weight a double cannot hold is possible all the same."""
        if self._support is None:
            self._support = (self._logs > -math.inf).astype(np.float64)
        possible: bool = self._program.eliminate(self._support, bases) > -math.inf
        return possible

    @property
    def certain(self) -> list[int]:
        """Nodes asked for that have only one level."""
        return sorted(self._certain)

    def table(self, s: int) -> NDArray[np.float64]:
        """The table of a step, after `eliminate`."""
        scope = self.cliques[s]
        start = self._table_starts[s]
        shape = [self._tables.sizes[node] for node in scope]
        table: NDArray[np.float64] = self._last.work[start : start + self._tree.cells(scope)]
        return table.reshape(shape)

    def trace(self) -> dict[int, int]:
        """The level of each node of a maximising step, after `eliminate`."""
        found = dict.fromkeys(self._certain, 0)
        if self.cliques:
            levels = self._last.trace()
            found |= {
                clique[-1]: int(levels[clique[-1]])
                for clique, operation in zip(self.cliques, self._operations, strict=True)
                if operation == STEP_MAX
            }
        return found

    def marginals(
        self, evidence: NDArray[np.int64]
    ) -> tuple[dict[int, NDArray[np.float64]], NDArray[np.float64]]:
        """Marginals (rows × levels) of the nodes eliminated, and ln of the weight of each row.

        The marginals of rows of weight 0 mean nothing.
        """
        constants = self._log_constants(evidence)
        certain = {node: np.ones((len(evidence), 1)) for node in self._certain}
        if not self.cliques:
            return certain, constants
        log_p = np.zeros(len(evidence))
        sizes = [self._tables.sizes[clique[-1]] for clique in self.cliques]
        offsets = np.cumsum([0, *sizes], dtype=np.int64)
        out = np.zeros((len(evidence), int(offsets[-1])))
        bases, places = self.bases(evidence), offsets[:-1].copy()
        if self._is_wide:
            self._in_logarithms().marginals(self._logs, bases, places, out, log_p)
        else:
            self._program.marginals(self._numbers, bases, places, out, log_p)
            for row in np.flatnonzero(log_p == -math.inf).tolist():
                if self._supports_meet(bases[row]):
                    some = slice(row, row + 1)
                    self._in_logarithms().marginals(
                        self._logs, bases[some], places, out[some], log_p[some]
                    )
        found = {
            clique[-1]: out[:, offsets[s] : offsets[s + 1]] for s, clique in enumerate(self.cliques)
        }
        return found | certain, log_p + constants


def shares_of(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each row of a table over its sum; one that evidence excludes is never reached."""
    totals = table.sum(axis=1, keepdims=True)
    possible = totals > 0
    found: NDArray[np.float64] = np.where(
        possible, table / np.where(possible, totals, 1), 1 / table.shape[1]
    )
    return found


def _with_indicators(
    tables: Tables, entered: Sequence[int]
) -> tuple[NDArray[np.float64], list[int]]:
    """The numbers of all tables, then for each entered node a row of ones and the unit rows."""
    parts, starts, end = [tables.numbers], [], len(tables.numbers)
    for node in entered:
        size = tables.sizes[node]
        starts.append(end)
        parts.append(np.concatenate([np.ones(size), np.eye(size).reshape(-1)]))
        end += len(parts[-1])
    return (np.concatenate(parts) if entered else tables.numbers), starts
