"""Edges that expected counts leave in doubt: what structural EM tries one by one.

Rows that a model completes speak for the edges that it has, and against the others
(structural_em.py says by how much): of a new edge they promise a share c of what the observed data
would gain by it, c the share of rows that have both columns, and of an edge that is there they
demand 1/c of it. So an absent edge is in doubt if it gains where every row counts 1/c times, and a
present one if the graph gains without it where every row counts c times. Those that gain most come
first, in units of the rows as they are; ties go to names. There are at most as many as columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gml.counts.counter import Family
from gml.data.dataset import Dataset, missing_mask
from gml.graph.bits import members
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.learners.search import Limits, Step, Trace, dag_of
from gml.scores.base import DecomposableScore, rounded, total

_PHASE = "single edges"


class Change(NamedTuple):
    """An edge to add or to delete."""

    source: str
    target: str
    is_new: bool


def counted_again(rows: Dataset, times: float) -> Dataset:
    """Return the rows with all weights multiplied."""
    return replace(rows, unit=rows.unit * times)


def pairs_seen(rows: Dataset) -> float:
    """The mean share of rows that have both columns, over the pairs that some row lacks.

    Examples
    --------
    >>> import gml, pandas as pd
    >>> frame = pd.DataFrame({"a": list("xyxy"), "b": ["u", "v", None, "v"], "c": list("pppq")})
    >>> pairs_seen(gml.read(frame, missing="available"))
    0.75
    """
    n_seen = np.zeros(rows.n_rows)
    n_whole = 0
    for column in rows.columns:
        gaps = missing_mask(column)
        n_seen += ~gaps
        n_whole += not gaps.any()
    n_columns = len(rows.columns)
    lacking = n_columns * (n_columns - 1) - n_whole * (n_whole - 1)
    if not lacking:
        return 1.0
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    mean = float(weights @ (n_seen * (n_seen - 1))) / float(weights.sum())
    return (mean - n_whole * (n_whole - 1)) / lacking


class Doubts(NamedTuple):
    """The changes to try, most promising first, and what allows them."""

    changes: list[Change]
    limits: Limits

    def changed(self, dag: Graph, change: Change) -> Graph | None:
        """The DAG after a change; None if another change has made this one impossible."""
        names = self.limits.names
        parents = _parents(dag, names)
        x, y = names.index(change.source), names.index(change.target)
        if not change.is_new:
            parents[y] &= ~(1 << x)
        elif parents[x] >> y & 1 or not self.limits.allow(parents, x, y):
            return None
        else:
            parents[y] |= 1 << x
        return dag_of(parents, names, dag.names)


class SingleEdges:
    """Changes of single edges that knowledge and limits allow."""

    def __init__(
        self,
        scored: Callable[[Dataset], DecomposableScore],
        *,
        knowledge: Knowledge,
        max_parents: int | None,
        trace: Trace | None = None,
    ) -> None:
        """Take what makes the score over complete rows with weights."""
        self._scored = scored
        self._knowledge = knowledge
        self._max_parents = max_parents
        self._trace = trace
        self._limits: Limits | None = None

    def in_doubt(self, dag: Graph, rows: Dataset, share: float) -> Doubts:
        """What to try, given the rows that a model of the DAG made."""
        limits = self._limits_of(rows)
        parents = _parents(dag, limits.names)
        nodes = range(len(limits.names))
        new = [
            (x, y)
            for y in nodes
            for x in nodes
            if x != y
            and not (parents[x] >> y & 1 or parents[y] >> x & 1)
            and limits.allow(parents, x, y)
        ]
        old = [(x, y) for y in nodes for x in members(parents[y]) if not limits.required[x, y]]
        promising: list[tuple[float, str, str, bool]] = []
        for pairs, is_new, times in ((new, True, 1 / share), (old, False, share)):
            again = counted_again(rows, times)
            gains = _gains(self._scored(again), limits.names, parents, pairs)
            for (x, y), gain in zip(pairs, gains, strict=True):
                if gain > 0:
                    promising.append((-gain / times, limits.names[x], limits.names[y], is_new))
        most = len(limits.names)
        found = [Change(x, y, is_new) for _, x, y, is_new in sorted(promising)[:most]]
        return Doubts(found, limits)

    def expected_score(self, dag: Graph, rows: Dataset) -> float:
        """The score of a DAG over complete rows."""
        return total(self._scored(rows), dag)

    def tell(self, change: Change, gain: float, score: float, *, start: int, round: int) -> None:
        """Tell the trace of a change that was made; gain and score are of the observed data."""
        if self._trace is not None:
            move = "add" if change.is_new else "delete"
            self._trace(
                Step(_PHASE, move, change.source, change.target, (), gain, score, start, round)
            )

    def _limits_of(self, rows: Dataset) -> Limits:
        if self._limits is None:
            score = self._scored(rows)
            known = score.limited(self._knowledge)
            self._limits = Limits.of(score, self._max_parents, known)
        return self._limits


def _gains(
    score: DecomposableScore,
    names: Sequence[str],
    parents: list[int],
    pairs: Sequence[tuple[int, int]],
) -> list[float]:
    """What the score gains by each change."""
    place = [score.names.index(name) for name in names]

    def family(child: int, given: int) -> Family:
        return place[child], tuple(place[node] for node in members(given))

    now = score.batch([family(y, given) for y, given in enumerate(parents)])
    if not pairs:
        return []
    then = score.batch([family(y, parents[y] ^ (1 << x)) for x, y in pairs])
    gains: list[float] = rounded(then - now[[y for _, y in pairs]]).tolist()
    return gains


def _parents(dag: Graph, names: Sequence[str]) -> list[int]:
    """The parents of each node as bits, nodes in order of names."""
    rank = {name: i for i, name in enumerate(names)}
    found = [0] * len(names)
    for j, given in enumerate(dag.parent_sets()):
        found[rank[dag.names[j]]] = sum(1 << rank[dag.names[i]] for i in given)
    return found
