"""Questions to a network of levels: posteriors, probabilities of evidence, best explanations.

- marginals and joints of targets given evidence, exact (junction_tree.py);
- mpe: the assignment of all unobserved nodes with the highest probability;
- map: the assignment of the targets with the highest probability, the rest summed out.

Ties, up to rounding, go to the first level; for joint assignments level by level, backwards through
the order of elimination. Evidence of probability 0 is an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, UsageError, quote, unknown_name
from gml.kernel.layout import STEP_MAX, STEP_SUM
from gml.model.bayesnet import BayesNet
from gml.model.junction_tree import JunctionTree, ancestors, flat_tables
from gml.progress import reporter
from gml.resources import budget_in_force

_TIE = 1e-12
# The tables of a plan that rows with different gaps share: beyond this, plans of their own pay.
_SHARED_BYTES = 1 << 17
_ROWS_AT_ONCE = 4096

Stages = Sequence[tuple[int, Sequence[int]]]


class Explanation(NamedTuple):
    """An assignment, ln of its probability given the evidence, and ln P(evidence)."""

    levels: dict[str, str]
    log_probability: float
    log_evidence: float


class PosteriorStep(NamedTuple):
    """P(node | parents, evidence) of a network of the posterior; positions are those of nodes."""

    node: int
    parents: tuple[int, ...]
    table: NDArray[np.float64]


class Inference:
    """Answers questions to one network.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> net = gml.fit(gml.read_graph("sample_data/asia.dot"), counter)
    >>> answer = Inference(net).marginals({"xray": "yes"}, ["lung"])
    >>> answer["lung"].round(4).tolist()
    [0.5217, 0.4783]
    """

    def __init__(self, net: BayesNet, *, max_memory: int | None = None) -> None:
        self.net = net
        self._tables = flat_tables(net)
        self._names = sorted(net.names)
        self._rank = {name: k for k, name in enumerate(self._names)}
        self._levels = {v.name: v.levels or () for v in net.variables}
        self._max_memory = max_memory

    # ------------------------------------------------------------------ evidence

    def coded(self, evidence: Mapping[str, str]) -> dict[int, int]:
        """Evidence as numbers of nodes and levels."""
        found = {}
        for name, level in evidence.items():
            if name not in self._rank:
                raise UsageError(unknown_name("node", name, self.net.names))
            if level not in self._levels[name]:
                raise UsageError(unknown_name(f"level of {quote(name)}", level, self._levels[name]))
            found[self._rank[name]] = self._levels[name].index(level)
        return found

    def _numbers(self, names: Sequence[str], evidence: Mapping[int, int]) -> list[int]:
        for name in names:
            if name not in self._rank:
                raise UsageError(unknown_name("node", name, self.net.names))
            if self._rank[name] in evidence:
                raise UsageError(f"{quote(name)} is observed and asked for")
        if len(set(names)) != len(names):
            raise UsageError("a target is named twice")
        return [self._rank[name] for name in names]

    def _tree(
        self, observed: Mapping[int, int], stages: Stages, kept: Sequence[int] = ()
    ) -> JunctionTree:
        return JunctionTree(
            self.net,
            self._tables,
            observed=observed,
            stages=stages,
            kept=kept,
            max_memory=self._max_memory,
        )

    def _relevant(self, nodes: Sequence[int], evidence: Mapping[int, int]) -> list[int]:
        """The unobserved nodes that have a say in what is asked of some."""
        return [k for k in ancestors(self._tables, [*nodes, *evidence]) if k not in evidence]

    @staticmethod
    def _require_possible(log_p: float) -> float:
        if log_p == -math.inf:
            raise CannotAnswer("the evidence has probability 0")
        return log_p

    # ------------------------------------------------------------------ questions

    def log_probability(self, evidence: Mapping[str, str]) -> float:
        """ln P(evidence); −infinity if it is impossible."""
        codes = self.coded(evidence)
        return self._tree(codes, [(STEP_SUM, self._relevant([], codes))]).eliminate(codes)

    def marginals(
        self, evidence: Mapping[str, str] | None = None, targets: Sequence[str] | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """P(node | evidence) of the targets, or of every node that is not observed."""
        return self.posterior(evidence, targets)[0]

    def posterior(
        self, evidence: Mapping[str, str] | None = None, targets: Sequence[str] | None = None
    ) -> tuple[dict[str, NDArray[np.float64]], float]:
        """The marginals, and ln P(evidence)."""
        codes = self.coded(evidence or {})
        if targets is None:
            targets = [name for name in self.net.names if self._rank[name] not in codes]
        nodes = self._numbers(targets, codes)
        tree = self._tree(codes, [(STEP_SUM, self._relevant(nodes, codes))])
        row = np.array([[codes[node] for node in tree.observed]], dtype=np.int64).reshape(1, -1)
        found, log_p = tree.marginals(row)
        log_evidence = self._require_possible(float(log_p[0]))
        return {self._names[node]: found[node][0] for node in nodes}, log_evidence

    def joint(
        self, targets: Sequence[str], evidence: Mapping[str, str] | None = None
    ) -> tuple[NDArray[np.float64], float]:
        """P(targets | evidence), an axis for each target, and ln P(evidence)."""
        codes = self.coded(evidence or {})
        kept = self._numbers(targets, codes)
        others = [node for node in self._relevant(kept, codes) if node not in kept]
        by_rank = sorted(kept)
        tree = self._tree(codes, [(STEP_SUM, others)], by_rank)
        log_evidence = self._require_possible(tree.eliminate(codes))
        shape = [self._tables.sizes[node] for node in by_rank]
        varies = max(shape, default=1) > 1
        table = (tree.table(len(tree.steps) - 1) if varies else np.ones(1)).reshape(shape)
        return table.transpose([by_rank.index(node) for node in kept]).copy(), log_evidence

    def mpe(self, evidence: Mapping[str, str] | None = None) -> Explanation:
        """The most probable assignment of all unobserved nodes."""
        return self.map([name for name in self.net.names if name not in (evidence or {})], evidence)

    def map(self, targets: Sequence[str], evidence: Mapping[str, str] | None = None) -> Explanation:
        """The most probable assignment of the targets."""
        codes = self.coded(evidence or {})
        asked = self._numbers(targets, codes)
        relevant = self._relevant(asked, codes)
        log_evidence = self._require_possible(
            self._tree(codes, [(STEP_SUM, self._relevant([], codes))]).eliminate(codes)
        )
        others = [node for node in relevant if node not in asked]
        tree = self._tree(codes, [(STEP_SUM, others), (STEP_MAX, asked)])
        log_best = tree.eliminate(codes)
        found = tree.trace()
        levels = {name: self._levels[name][found[self._rank[name]]] for name in targets}
        return Explanation(levels, log_best - log_evidence, log_evidence)

    def posterior_steps(self, evidence: Mapping[str, str]) -> list[PosteriorStep]:
        """A network of P(unobserved nodes | evidence), every node behind its parents."""
        codes = self.coded(evidence)
        hidden = [k for k in range(len(self._names)) if k not in codes]
        tree = self._tree(codes, [(STEP_SUM, hidden)])
        self._require_possible(tree.eliminate(codes))
        position = [self.net.index(name) for name in self._names]
        steps = [PosteriorStep(position[node], (), np.ones((1, 1))) for node in tree.certain]
        for s in reversed(range(len(tree.steps))):
            *parents, node = tree.steps[s].scope
            table = tree.table(s).reshape(-1, self._tables.sizes[node])
            totals = table.sum(axis=1, keepdims=True)
            # A row that the evidence excludes is never reached.
            possible = totals > 0
            shares = np.where(possible, table / np.where(possible, totals, 1), 1 / table.shape[1])
            steps.append(PosteriorStep(position[node], tuple(position[p] for p in parents), shares))
        return steps

    # ------------------------------------------------------------------ many rows

    def marginals_of_rows(
        self, targets: Sequence[str], observed: Sequence[str], codes: NDArray[np.int64]
    ) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.float64]]:
        """Marginals (rows × levels) of the targets, and ln P of each row of evidence.

        `codes` has the level of each observed node, -1 where a row says nothing. Equal rows are
        answered once. Rows of probability 0 have ln P −infinity, and NaN for marginals.
        """
        asked = self._numbers(targets, {})
        nodes = self._numbers(observed, dict.fromkeys(asked, 0))
        distinct, inverse = np.unique(codes, axis=0, return_inverse=True)
        out = {node: np.full((len(distinct), self._tables.sizes[node]), np.nan) for node in asked}
        log_p = np.full(len(distinct), -math.inf)
        done = 0
        for tree, rows, order in self._plans(asked, nodes, distinct >= 0):
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                part = rows[start : start + _ROWS_AT_ONCE]
                found, log_p[part] = tree.marginals(distinct[part][:, order])
                for node in asked:
                    out[node][part] = found[node]
                done += len(part)
                reporter().advance("rows", done, len(distinct))
        for node in asked:
            out[node][log_p == -math.inf] = np.nan
        where = inverse.reshape(-1)
        return {self._names[node]: out[node][where] for node in asked}, log_p[where]

    def _plans(
        self, asked: list[int], nodes: list[int], seen: NDArray[np.bool_]
    ) -> Iterator[tuple[JunctionTree, NDArray[np.int64], list[int]]]:
        """Yield plans with the rows and the columns of evidence that each is for.

        A row that observes all nodes has a plan of its own kind; the others share one into which
        evidence is entered, unless that is large: then each pattern has its own. What other rows
        there are decides nothing, so that no answer depends on them.
        """
        complete = seen.all(axis=1)
        patterns = [np.ones(len(nodes), dtype=bool)] if complete.any() else []
        rest = np.flatnonzero(~complete)
        if len(rest):
            shared = self._shared_tree(asked, nodes)
            if shared is not None:
                yield shared, rest, list(range(len(nodes)))
            else:
                patterns += list(np.unique(seen[rest], axis=0))
        for pattern in patterns:
            observed = {nodes[k]: int(k) for k in np.flatnonzero(pattern)}
            tree = self._tree(observed, [(STEP_SUM, self._relevant(asked, observed))])
            rows = np.flatnonzero((seen == pattern).all(axis=1))
            yield tree, rows, [observed[node] for node in tree.observed]

    def _shared_tree(self, asked: list[int], nodes: list[int]) -> JunctionTree | None:
        """A plan for any evidence on the nodes, if it is small."""
        hidden = sorted({*self._relevant([*asked, *nodes], {}), *nodes})
        budget = budget_in_force(self._max_memory)
        try:
            return JunctionTree(
                self.net,
                self._tables,
                observed=(),
                stages=[(STEP_SUM, hidden)],
                entered=nodes,
                max_memory=min(budget, _SHARED_BYTES),
            )
        except CannotAnswer:
            return None


def most_probable(marginals: NDArray[np.float64]) -> NDArray[np.int64]:
    """The first level whose probability is the highest, up to rounding, in each row."""
    best = marginals.max(axis=1, keepdims=True)
    levels: NDArray[np.int64] = np.argmax(marginals >= best * (1 - _TIE), axis=1)
    return levels
