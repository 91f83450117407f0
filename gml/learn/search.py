"""What score-based searches return, and the steps on their way.

A search is a function from a decomposable score (and knowledge) to a graph. Gains of moves are
rounded to 2⁻²⁰ nats before they are compared, so that last bits never decide; ties go by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gml.errors import UsageError, unknown_name
from gml.graph.bits import members
from gml.graph.graph import Graph, Mark
from gml.graph.knowledge import Knowledge

_MOST_TRIES = 100


@dataclass(frozen=True)
class SearchResult:
    """The best graph that was found.

    `graph` is what the search is over: a DAG, a CPDAG or, with knowledge, a PDAG; `dag` is a DAG of
    it and `score` that DAG's. `families` counts the local scores that were computed, `steps` the
    moves made; `complete` is False when the time was up.
    """

    graph: Graph
    dag: Graph
    score: float
    families: int
    steps: int = 0
    complete: bool = True


class Step(NamedTuple):
    """A move: phase and kind, its edge source → target, other nodes, its gain, the score then."""

    phase: str
    move: str
    source: str
    target: str
    others: tuple[str, ...]
    gain: float
    score: float


Trace = Callable[[Step], None]


def checked_knowledge(knowledge: Knowledge | None, names: Sequence[str]) -> Knowledge:
    """Return the knowledge about some variables; contradictions and unknown names are errors."""
    knowledge = knowledge or Knowledge()
    for name in knowledge.names:
        if name not in names:
            raise UsageError(unknown_name("variable", name, names))
    knowledge.require_consistent()
    return knowledge


def dag_of(parents: Sequence[int], names: Sequence[str], order: Sequence[str]) -> Graph:
    """Return the DAG of parent sets over `names`, its nodes in another order."""
    at = {name: i for i, name in enumerate(order)}
    marks = np.zeros((len(names), len(names)), dtype=np.uint8)
    for child, given in enumerate(parents):
        for parent in members(given):
            i, j = at[names[parent]], at[names[child]]
            marks[i, j], marks[j, i] = Mark.ARROW, Mark.TAIL
    return Graph(tuple(order), marks, "dag")


def perturbed(
    parents: Sequence[int],
    rng: np.random.Generator,
    moves: int | None = None,
    *,
    allowed: Callable[[int, int, bool], bool] = lambda x, y, present: True,
) -> list[int]:
    """Make random moves in a DAG: to add, delete or reverse an edge, each kind as likely.

    By default there is a move for every tenth node, and at least two. `allowed(x, y, present)` says
    whether x → y may be there, or may be absent.
    """
    n = len(parents)
    dag = list(parents)
    if n < 2:
        return dag
    for _ in range(max(2, n // 10) if moves is None else moves):
        for _ in range(_MOST_TRIES):
            kind = rng.integers(3)
            edges = [(x, y) for y in range(n) for x in members(dag[y])]
            if kind == 0 or not edges:
                x, y = rng.choice(n, 2, replace=False).tolist()
                if dag[x] >> y & 1 or dag[y] >> x & 1:
                    continue
            else:
                x, y = edges[rng.integers(len(edges))]
                if not allowed(x, y, False):
                    continue
                dag[y] &= ~(1 << x)
                if kind == 1:
                    break
                x, y = y, x
            if allowed(x, y, True) and not _is_above(dag, y, x):
                dag[y] |= 1 << x
                break
            if edges and kind == 2:
                dag[x] |= 1 << y
    return dag


def _is_above(dag: Sequence[int], x: int, y: int) -> bool:
    """Whether x is an ancestor of y."""
    seen, new = 0, dag[y]
    while new:
        seen |= new
        above = 0
        for node in members(new):
            above |= dag[node]
        new = above & ~seen
    return bool(seen >> x & 1)
