"""Exact inference: variables are eliminated one by one, and the way back gives all marginals.

The tables of a network, cut down to the evidence, are factors. Eliminating a variable multiplies
the factors that speak of it and sums it (or takes its maximum) out of the product (Zhang & Poole
1994); the product has a table over the variable and its neighbours at that time, a clique of the
triangulated moral graph. The steps form a junction tree, whose root is eliminated last; a pass back
from there turns every clique's table into its posterior (Lauritzen & Spiegelhalter 1988; Jensen,
Lauritzen & Olesen 1990). Before that pass the table of a step, each row divided by its sum, is
P(variable | neighbours, evidence), and the steps backwards are a network of the posterior: rows
drawn from it are exact draws under the evidence.

The order is min-fill, ties by name, so that the order of nodes in a file changes no bit. Messages
are scaled by powers of two, and what is lost even so is done again in logarithms
(log_elimination.py), so that no evidence is too improbable. Tables that do not fit into the
budget are refused before they are made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.errors import CannotAnswer, GraphError, listing
from gml.graph.bits import bits_of, members
from gml.graph.triangulation import eliminate_by_min_fill
from gml.kernel.layout import STEP_KEEP, STEP_MAX
from gml.model.bayesnet import BayesNet
from gml.model.log_elimination import LogElimination
from gml.resources import budget_in_force, format_size

_HEADER = 7
# The kernel's limit; so many axes of two levels are more cells than any machine has.
_MOST_AXES = 62


class Tables(NamedTuple):
    """The tables of a network, one after the other, nodes in order of their names."""

    scopes: list[tuple[int, ...]]
    """Parents and, last, the node of each table."""
    strides: list[tuple[int, ...]]
    starts: NDArray[np.int64]
    numbers: NDArray[np.float64]
    sizes: list[int]
    """Levels of each node."""


def flat_tables(net: BayesNet) -> Tables:
    """Lay the tables of a network out; nodes are numbered by the order of their names."""
    if net.is_gaussian:
        raise GraphError("the nodes have numbers, not levels")
    rank = {name: k for k, name in enumerate(sorted(net.names))}
    cpts = [net.cpt(name) for name in sorted(net.names)]
    scopes, strides = [], []
    for cpt in cpts:
        scopes.append(tuple(rank[variable.name] for variable in (*cpt.parents, cpt.variable)))
        strides.append(_strides([len(v.levels or ()) for v in (*cpt.parents, cpt.variable)]))
    starts = np.cumsum([0, *(cpt.table.size for cpt in cpts)], dtype=np.int64)[:-1]
    numbers = np.concatenate([np.empty(0), *(cpt.table.reshape(-1) for cpt in cpts)])
    return Tables(scopes, strides, starts, numbers, [cpt.n_levels for cpt in cpts])


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


class _Step(NamedTuple):
    operation: int
    scope: tuple[int, ...]
    """Neighbours and, last, the variable that goes; all that stay, for a step that keeps."""


class JunctionTree:
    """A plan for one set of observed nodes and one question, which any evidence on them can run.

    `stages` are pairs (operation, nodes): the nodes of a stage go before those of the next.
    Nodes in no stage, neither observed nor `kept`, are left out with their tables: they have no
    say. `kept` nodes stay in the table of a last step. Evidence on `entered` nodes is a factor of
    zeros and a one (of ones where a row says nothing): one plan for rows that observe different
    nodes, at the price of tables that are not cut down. Nodes of one level are certain, and no axis
    of any table.
    """

    def __init__(
        self,
        net: BayesNet,
        tables: Tables,
        *,
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
        relevant = asked | set(self.observed)
        self._certain = {node for node in asked if tables.sizes[node] == 1}
        hidden = asked - self._certain
        kept = [node for node in kept if node in hidden]
        stages = [(what, [node for node in nodes if node in hidden]) for what, nodes in stages]
        used = [k for k in range(len(tables.scopes)) if k in relevant]
        self._used = [k for k in used if hidden & set(tables.scopes[k])]
        # A table whose nodes are all observed is a number.
        self._constants = [k for k in used if not hidden & set(tables.scopes[k])]
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
        self.steps = self._plan(stages, kept)
        self._require_room(net, budget_in_force(max_memory))
        self._table_starts: list[int] = []
        self._support: NDArray[np.float64] | None = None
        if self.steps:
            self._code = self._compile()
            self._program: Any = kernel.active().Elimination(*self._code)
            # Whose tables the last elimination left behind.
            self._last = self._program

    # ------------------------------------------------------------------ planning

    def _plan(
        self, stages: Sequence[tuple[int, Sequence[int]]], kept: Sequence[int]
    ) -> list[_Step]:
        scopes = [[node for node, _ in factor] for factor in self._factors]
        if kept:
            scopes.append(list(kept))
        order = eliminate_by_min_fill(scopes, self._tables.sizes, [nodes for _, nodes in stages])
        operation_of = {node: operation for operation, nodes in stages for node in nodes}
        steps = [
            _Step(operation_of[found.node], (*members(found.neighbours), found.node))
            for found in order
        ]
        if kept:
            steps.append(_Step(STEP_KEEP, tuple(kept)))
        return steps

    @property
    def treewidth(self) -> int:
        """Nodes of the largest clique, less one."""
        return max((len(step.scope) for step in self.steps), default=1) - 1

    def _cells(self, scope: Sequence[int]) -> int:
        return math.prod(self._tables.sizes[node] for node in scope)

    def _require_room(self, net: BayesNet, budget: int) -> None:
        n_bytes = sum(
            8 * (self._cells(step.scope) + self._cells(step.scope[:-1])) for step in self.steps
        )
        if n_bytes <= budget and self.treewidth < _MOST_AXES:
            return
        largest = max((step.scope for step in self.steps), key=self._cells)
        names = sorted(net.names)
        raise CannotAnswer(
            f"exact inference would take {format_size(n_bytes)}, more than --max-memory allows "
            f"({format_size(budget)}): the treewidth is {self.treewidth} by min-fill, the largest "
            f"table is over {listing(names[node] for node in largest)}"
        )

    def _compile(self) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]:
        """Return the program of the steps (elimination.h), the room it needs, and the nodes."""
        when = {
            step.scope[-1]: s for s, step in enumerate(self.steps) if step.operation != STEP_KEEP
        }
        last = len(self.steps) - 1
        factors: list[list[tuple[int, dict[int, int]]]] = [[] for _ in self.steps]
        for k, factor in enumerate(self._factors):
            first = min((when.get(node, last) for node, _ in factor), default=last)
            factors[first].append((-1 - k, dict(factor)))
        parents = [-1] * len(self.steps)
        for s, step in enumerate(self.steps):
            around = step.scope[:-1]
            if step.operation == STEP_KEEP or not around:
                continue
            parents[s] = min(when.get(node, last) for node in around)
            strides = _strides([self._tables.sizes[node] for node in around])
            factors[parents[s]].append((s, dict(zip(around, strides, strict=True))))
        code: list[int] = []
        starts, places = [], {}
        room = 0
        for s, step in enumerate(self.steps):
            starts.append(len(code))
            self._table_starts.append(room)
            message = room + self._cells(step.scope)
            code += [step.operation, len(step.scope), room, message, len(factors[s]), parents[s], 0]
            code += [self._tables.sizes[node] for node in step.scope]
            code += step.scope
            room = message + self._cells(step.scope[:-1])
            for source, strides_of in factors[s]:
                places[source] = len(code) + 1
                code += [source, *(strides_of.get(node, 0) for node in step.scope)]
        for s in range(len(self.steps)):
            if parents[s] >= 0:
                code[starts[s] + _HEADER - 1] = places[s]
        return np.array(code, np.int64), np.array(starts, np.int64), room, len(self._tables.sizes)

    # ------------------------------------------------------------------ running

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
        """ln of the product of the tables that evidence makes numbers, for each row."""
        log_p = np.zeros(len(evidence))
        with np.errstate(divide="ignore"):
            for table in self._constants:
                log_p += np.log(self._tables.numbers[self._base(table, evidence)])
        return log_p

    def eliminate(self, evidence: Mapping[int, int]) -> float:
        """Run the steps; ln of the probability of the evidence (or of its best explanation)."""
        codes = [evidence[node] for node in self.observed]
        row = np.array(codes, dtype=np.int64).reshape(1, -1)
        log_p = float(self._log_constants(row)[0])
        if self.steps and log_p > -math.inf:
            bases = self.bases(row)[0]
            self._last = self._program
            found = self._program.eliminate(self._numbers, bases)
            if found == -math.inf and self._supports_meet(bases):
                self._last = LogElimination(*self._code)
                found = self._last.eliminate(self._numbers, bases)
            log_p += found
        return log_p

    def _supports_meet(self, bases: NDArray[np.int64]) -> bool:
        """Whether evidence of no weight that a double can hold is possible all the same."""
        if self._support is None:
            self._support = (self._numbers > 0).astype(np.float64)
        possible: bool = self._program.eliminate(self._support, bases) > -math.inf
        return possible

    @property
    def certain(self) -> list[int]:
        """Nodes asked for that have one level only."""
        return sorted(self._certain)

    def table(self, s: int) -> NDArray[np.float64]:
        """The table of a step, after `eliminate`."""
        scope = self.steps[s].scope
        start = self._table_starts[s]
        shape = [self._tables.sizes[node] for node in scope]
        table: NDArray[np.float64] = self._last.work[start : start + self._cells(scope)]
        return table.reshape(shape)

    def trace(self) -> dict[int, int]:
        """The level of each node of a maximising step, after `eliminate`."""
        found = dict.fromkeys(self._certain, 0)
        if self.steps:
            levels = self._last.trace()
            found |= {
                step.scope[-1]: int(levels[step.scope[-1]])
                for step in self.steps
                if step.operation == STEP_MAX
            }
        return found

    def marginals(
        self, evidence: NDArray[np.int64]
    ) -> tuple[dict[int, NDArray[np.float64]], NDArray[np.float64]]:
        """Marginals (rows × levels) of the nodes eliminated, and ln P of each row of evidence.

        Rows of probability 0 have no marginals: theirs mean nothing.
        """
        constants = self._log_constants(evidence)
        certain = {node: np.ones((len(evidence), 1)) for node in self._certain}
        if not self.steps:
            return certain, constants
        log_p = np.zeros(len(evidence))
        sizes = [self._tables.sizes[step.scope[-1]] for step in self.steps]
        offsets = np.cumsum([0, *sizes], dtype=np.int64)
        out = np.zeros((len(evidence), int(offsets[-1])))
        bases, places = self.bases(evidence), offsets[:-1].copy()
        self._program.marginals(self._numbers, bases, places, out, log_p)
        for row in np.flatnonzero(log_p == -math.inf).tolist():
            if self._supports_meet(bases[row]):
                some = slice(row, row + 1)
                LogElimination(*self._code).marginals(
                    self._numbers, bases[some], places, out[some], log_p[some]
                )
        found = {
            step.scope[-1]: out[:, offsets[s] : offsets[s + 1]] for s, step in enumerate(self.steps)
        }
        return found | certain, log_p + constants


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


def ancestors(tables: Tables, nodes: Iterable[int]) -> list[int]:
    """The nodes and all their ancestors: the others have no say in what is asked of these."""
    found = waiting = bits_of(nodes)
    while waiting:
        new = 0
        for node in members(waiting):
            new |= bits_of(tables.scopes[node][:-1])
        waiting = new & ~found
        found |= waiting
    return list(members(found))
