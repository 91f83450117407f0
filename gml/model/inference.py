"""Exact inference in a model of tables: posteriors, probabilities of evidence, best explanations.

A model is a product of factors here, directed or not: P(x) is that product over its sum Z.

- marginals and joints of targets given evidence (table_elimination.py);
- mpe: the assignment of all unobserved nodes with the highest probability;
- map: the assignment of the targets with the highest probability, the rest summed out.

Ties, up to rounding, go to the first level; for joint assignments level by level, backwards through
the order of elimination. Evidence of probability 0 is an error.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.resampling import distinct_codes
from gml.errors import CannotAnswer, GraphError, UsageError, parameter, quote, unknown_name
from gml.kernel.layout import STEP_MAX, STEP_SUM
from gml.model.evidence import coded
from gml.model.flat_tables import flat_tables
from gml.model.model import TableModel
from gml.model.table_elimination import TableElimination, shares_of
from gml.name_order import NameOrder
from gml.progress import reporter
from gml.resources import budget_in_force

_TIE = 1e-12
# Cells of a plan that rows with different gaps share; beyond this, separate plans pay off.
_SHARED_BYTES = 1 << 17
_ROWS_AT_ONCE = 4096

Stages = list[tuple[int, Sequence[int]]]


class Assignment(NamedTuple):
    """An assignment, ln of its probability given the evidence, and ln P(evidence)."""

    levels: dict[str, str]
    log_probability: float
    log_evidence: float


class PosteriorStep(NamedTuple):
    """P(node | parents, evidence) in a network of the posterior, by positions of nodes."""

    node: int
    parents: tuple[int, ...]
    table: NDArray[np.float64]


class FillingPlan(NamedTuple):
    """A plan for all nodes of a row, and how its numbers for nodes are to be read."""

    plan: TableElimination
    columns: list[int]
    """The columns of evidence, in the order of the plan."""
    position: list[int]
    """The position in the model of each node."""
    sizes: Sequence[int]
    """The levels of each node."""


class Inference:
    """Answers questions about one model of tables: anything with variables and factors.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> net = gml.fit(counter, gml.read_graph("sample_data/asia.dot"))
    >>> answer = Inference(net).marginals({"xray": "yes"}, ["lung"])
    >>> answer["lung"].round(4).tolist()
    [0.5217, 0.4783]
    """

    def __init__(self, model: TableModel, *, max_memory: int | None = None) -> None:
        self.model = model
        self._variables = model.variables
        _require_same_variables(model)
        self._tables = flat_tables(model.variables, model.factors)
        order = NameOrder([variable.name for variable in model.variables])
        self._rank = {name: k for k, name in enumerate(order.names)}
        self._position: list[int] = order.positions.tolist()
        """The position in the model of each variable by rank."""
        self._max_memory = max_memory

    def __repr__(self) -> str:
        return f"Inference({self.model!r})"

    # ------------------------------------------------------------------ evidence

    def coded(self, evidence: Mapping[str, Any] | None) -> dict[int, int]:
        """Evidence as numbers of nodes (in name order) and of levels."""
        codes = coded(self._variables, evidence or {})
        return {self._rank[self._variables[j].name]: int(code) for j, code in codes.items()}

    def _numbers(self, names: Sequence[str], evidence: Mapping[int, int]) -> list[int]:
        for name in names:
            if name not in self._rank:
                known = [variable.name for variable in self._variables]
                raise UsageError(unknown_name("node", name, known))
            if self._rank[name] in evidence:
                raise UsageError(f"{quote(name)} is both observed and asked for")
        if len(set(names)) != len(names):
            raise UsageError(f"{parameter('target')} lists a node twice")
        return [self._rank[name] for name in names]

    def _plan(
        self,
        observed: Mapping[int, int],
        asked: Sequence[int] = (),
        *,
        kept: bool = False,
        maximised: bool = False,
    ) -> TableElimination:
        """A plan for evidence on the observed nodes, and for what is asked.

        Other nodes that matter are summed out first; those asked for are kept together, take their
        best values, or are summed out like the others, which gives their marginals.
        """
        nodes, factors = self._tables.relevant([*asked, *observed])
        stages: Stages = [(STEP_SUM, [node for node in nodes if node not in observed])]
        if kept or maximised:
            apart = {*observed, *asked}
            stages = [(STEP_SUM, [node for node in nodes if node not in apart])]
            if maximised:
                stages.append((STEP_MAX, asked))
        return TableElimination(
            self._tables,
            factors=factors,
            observed=observed,
            stages=stages,
            kept=sorted(asked) if kept else (),
            max_memory=self._max_memory,
        )

    @functools.cached_property
    def log_z(self) -> float:
        """ln Z, the sum of the product of all factors; 0 for a directed model."""
        nodes, _ = self._tables.relevant(())
        return self._plan({}).eliminate({}) if nodes else 0.0

    def _log_evidence(self, log_weight: float) -> float:
        """ln P(evidence), which must be possible."""
        log_z = self._possible_log_z()
        if log_weight == -math.inf:
            raise CannotAnswer("the evidence has probability 0")
        return log_weight - log_z

    def _possible_log_z(self) -> float:
        if self.log_z == -math.inf:
            raise CannotAnswer("the factors exclude everything: their product is 0")
        return self.log_z

    # ------------------------------------------------------------------ questions

    def log_probability(self, evidence: Mapping[str, Any]) -> float:
        """ln P(evidence); −infinity if it is impossible."""
        codes = self.coded(evidence)
        return self._plan(codes).eliminate(codes) - self._possible_log_z()

    def marginals(
        self, evidence: Mapping[str, Any] | None = None, targets: Sequence[str] | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """P(node | evidence) of the targets, or of every node that is not observed."""
        return self.posterior(evidence, targets)[0]

    def posterior(
        self, evidence: Mapping[str, Any] | None = None, targets: Sequence[str] | None = None
    ) -> tuple[dict[str, NDArray[np.float64]], float]:
        """The marginals, and ln P(evidence)."""
        codes = self.coded(evidence)
        if targets is None:
            targets = self._unobserved(codes)
        nodes = self._numbers(targets, codes)
        plan = self._plan(codes, nodes)
        row = np.array([[codes[node] for node in plan.observed]], dtype=np.int64).reshape(1, -1)
        found, log_weight = plan.marginals(row)
        log_evidence = self._log_evidence(float(log_weight[0]))
        return {self._tables.names[node]: found[node][0] for node in nodes}, log_evidence

    def _unobserved(self, codes: Mapping[int, int]) -> list[str]:
        return [v.name for v in self._variables if self._rank[v.name] not in codes]

    def joint(
        self, targets: Sequence[str], evidence: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], float]:
        """P(targets | evidence), with one axis per target, and ln P(evidence)."""
        codes = self.coded(evidence)
        kept = self._numbers(targets, codes)
        by_rank = sorted(kept)
        plan = self._plan(codes, kept, kept=True)
        log_evidence = self._log_evidence(plan.eliminate(codes))
        shape = [self._tables.sizes[node] for node in by_rank]
        varies = max(shape, default=1) > 1
        table = (plan.table(len(plan.cliques) - 1) if varies else np.ones(1)).reshape(shape)
        return table.transpose([by_rank.index(node) for node in kept]).copy(), log_evidence

    def mpe(self, evidence: Mapping[str, Any] | None = None) -> Assignment:
        """The most probable assignment of all unobserved nodes."""
        return self.map(self._unobserved(self.coded(evidence)), evidence)

    def map(self, targets: Sequence[str], evidence: Mapping[str, Any] | None = None) -> Assignment:
        """The most probable assignment of the targets."""
        codes = self.coded(evidence)
        asked = self._numbers(targets, codes)
        log_weight = self._plan(codes).eliminate(codes)
        log_evidence = self._log_evidence(log_weight)
        plan = self._plan(codes, asked, maximised=True)
        log_best = plan.eliminate(codes)
        found = plan.trace()
        levels = {
            name: (self._variables[self._position[node]].levels or ())[found[node]]
            for name, node in zip(targets, asked, strict=True)
        }
        return Assignment(levels, log_best - log_weight, log_evidence)

    def posterior_steps(self, evidence: Mapping[str, Any]) -> list[PosteriorStep]:
        """A network of P(unobserved nodes | evidence), every node after its parents."""
        codes = self.coded(evidence)
        hidden = [k for k in range(len(self._tables.names)) if k not in codes]
        plan = self._plan(codes, hidden)
        self._log_evidence(plan.eliminate(codes))
        position = self._position
        steps = [PosteriorStep(position[node], (), np.ones((1, 1))) for node in plan.certain]
        for s in reversed(range(len(plan.cliques))):
            *parents, node = plan.cliques[s]
            shares = shares_of(plan.table(s).reshape(-1, self._tables.sizes[node]))
            steps.append(PosteriorStep(position[node], tuple(position[p] for p in parents), shares))
        return steps

    # ------------------------------------------------------------------ many rows

    def marginals_of_rows(
        self, targets: Sequence[str], observed: Sequence[str], codes: NDArray[np.int64]
    ) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.float64]]:
        """Marginals (rows × levels) of the targets, and ln P of each row of evidence.

        `codes` holds the level of each observed node, -1 where a row says nothing. Equal rows are
        answered once. Rows of probability 0 have ln P −infinity, and NaN for marginals.
        """
        asked = self._numbers(targets, {})
        nodes = self._numbers(observed, dict.fromkeys(asked, 0))
        distinct, where = distinct_codes(codes)
        out = {node: np.full((len(distinct), self._tables.sizes[node]), np.nan) for node in asked}
        log_p = np.full(len(distinct), -math.inf)
        done = 0
        for plan, rows, order in self._plans(asked, nodes, distinct >= 0):
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                part = rows[start : start + _ROWS_AT_ONCE]
                found, log_p[part] = plan.marginals(distinct[part][:, order])
                for node in asked:
                    out[node][part] = found[node]
                done += len(part)
                reporter().advance("rows", done, len(distinct))
        for node in asked:
            out[node][log_p == -math.inf] = np.nan
        return {self._tables.names[node]: out[node][where] for node in asked}, log_p[
            where
        ] - self._possible_log_z()

    def filling_plan(
        self, observed: Sequence[str], *, maximised: bool = False, entered: bool = False
    ) -> FillingPlan | None:
        """A plan for all nodes of rows that observe some, or any of these if they are `entered`.

        None if evidence is to be entered, and the plan would be large.
        """
        nodes = self._numbers(observed, {})
        seen = {} if entered else dict.fromkeys(nodes, 0)
        hidden = self._numbers(self._unobserved(seen), seen)
        if entered:
            plan = self._shared_plan(hidden, nodes, STEP_MAX if maximised else STEP_SUM)
            if plan is None:
                return None
        else:
            plan = self._plan(seen, hidden, maximised=maximised)
        order = list(range(len(nodes))) if entered else [nodes.index(k) for k in plan.observed]
        return FillingPlan(plan, order, self._position, self._tables.sizes)

    def _plans(
        self, asked: list[int], nodes: list[int], seen: NDArray[np.bool_]
    ) -> Iterator[tuple[TableElimination, NDArray[np.int64], list[int]]]:
        """Yield plans, each with the rows and the columns of evidence that it is for.

        A row that observes all nodes has its own kind of plan; the others share one into which
        evidence is entered, unless that is large: then each pattern has its own. The other rows
        do not influence this, so that no answer depends on them.
        """
        complete = seen.all(axis=1)
        patterns = [np.ones(len(nodes), dtype=bool)] if complete.any() else []
        rest = np.flatnonzero(~complete)
        if len(rest):
            shared = self._shared_plan(asked, nodes)
            if shared is not None:
                yield shared, rest, list(range(len(nodes)))
            else:
                patterns += list(np.unique(seen[rest], axis=0))
        for pattern in patterns:
            observed = {nodes[k]: int(k) for k in np.flatnonzero(pattern)}
            plan = self._plan(observed, asked)
            rows = np.flatnonzero((seen == pattern).all(axis=1))
            yield plan, rows, [observed[node] for node in plan.observed]

    def _shared_plan(
        self, asked: list[int], nodes: list[int], operation: int = STEP_SUM
    ) -> TableElimination | None:
        """A plan for any evidence on the nodes, if it is small."""
        hidden, factors = self._tables.relevant([*asked, *nodes])
        budget = budget_in_force(self._max_memory)
        try:
            return TableElimination(
                self._tables,
                factors=factors,
                observed=(),
                stages=[(operation, hidden)],
                entered=nodes,
                max_memory=min(budget, _SHARED_BYTES),
            )
        except CannotAnswer:
            return None


def most_probable(marginals: NDArray[np.float64]) -> NDArray[np.int64]:
    """The first level with the highest probability, up to rounding, in each row."""
    best = marginals.max(axis=1, keepdims=True)
    levels: NDArray[np.int64] = np.argmax(marginals >= best * (1 - _TIE), axis=1)
    return levels


def _require_same_variables(model: TableModel) -> None:
    """Refuse factors over variables that the model has otherwise, or not at all."""
    known = {variable.name: variable for variable in model.variables}
    for factor in model.factors:
        for variable in factor.scope:
            if variable.name not in known:
                raise GraphError(unknown_name("variable", variable.name, known))
            if known[variable.name] != variable:
                raise GraphError(
                    f"the levels of {quote(variable.name)} are different in a factor than in the "
                    "model"
                )
