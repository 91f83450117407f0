"""What score-based searches return, and the steps on the way.

A search is a function from a decomposable score (and knowledge) to a graph. Gains of moves are
rounded to 2⁻²⁰ nats (more for huge scores) before they are compared, so that last bits never
decide; ties are broken by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from gml.errors import UsageError, parameter, quote, require_whole
from gml.graph.bits import members
from gml.graph.edges import Mark
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.graph.orientation import Matrix
from gml.learners.checked_input import checked_knowledge
from gml.learners.local_scores import LocalScores
from gml.progress import Deadline, reporter
from gml.scores.base import Score, as_score
from gml.synonyms import AnswersSynonyms

_MOST_TRIES = 100


@dataclass(frozen=True)
class SearchResult(AnswersSynonyms):
    """The best graph that was found.

    `graph` is of the kind that is searched: a DAG, a CPDAG or, with knowledge, a PDAG; `dag` is a
    DAG of it, and `score` the score of that. `families` counts the local scores computed, `steps`
    the moves made; `complete` is False if time ran out.
    """

    graph: Graph
    dag: Graph = field(repr=False)
    score: float
    families: int
    steps: int = 0
    complete: bool = True


class Step(NamedTuple):
    """A move: phase, kind, its edge source → target, other nodes, its gain, the score after it.

    A search of structural EM also has the number of its start and of its round there; any other
    has 0.
    """

    phase: str
    move: str
    source: str
    target: str
    others: tuple[str, ...]
    gain: float
    score: float
    start: int = 0
    round: int = 0


Trace = Callable[[Step], None]


class Course:
    """The progress of a search: its moves, whether it has to stop, and who is told."""

    def __init__(self, local: LocalScores, deadline: Deadline, trace: Trace | None) -> None:
        self.steps = 0
        self.stopped = False
        self._local = local
        self._deadline = deadline
        self._trace = trace

    def apart(self, told: list[Step]) -> Course:
        """The course of a part of the search, whose steps are kept if anybody wants them."""
        return Course(self._local, self._deadline, None if self._trace is None else told.append)

    def take(self, steps: int, told: Sequence[Step], *, stopped: bool) -> None:
        """Go on after a part of the search, which may have had to stop."""
        self.steps += steps
        self.stopped = self.stopped or stopped
        if self._trace is not None:
            for step in told:
                self._trace(step)

    def out_of_time(self) -> bool:
        """Whether to stop."""
        self.stopped = self.stopped or self._deadline.passed
        return self.stopped

    def tell_move(
        self, phase: str, move: str, edge: tuple[int, int], others: int, gain: int, score: int
    ) -> None:
        """Report a move of an edge; gain and score in units."""
        self.steps += 1
        source, target = (self._local.names[node] for node in edge)
        clique = tuple(self._local.names[node] for node in members(others))
        self._tell(phase, move, source, target, clique, gain, score)

    def tell_restart(self, phase: str, gain: int, score: int) -> None:
        """Report random moves, all together."""
        self._tell(phase, "perturb", "", "", (), gain, score)

    def _tell(
        self,
        phase: str,
        move: str,
        source: str,
        target: str,
        others: tuple[str, ...],
        gain: int,
        score: int,
    ) -> None:
        unit = self._local.resolution
        if self._trace is not None:
            self._trace(Step(phase, move, source, target, others, gain * unit, score * unit))
        reporter().status(f"{phase}: {self.steps} steps, score {score * unit:.2f}", self.steps)


def dag_of(parents: Sequence[int], names: Sequence[str], order: Sequence[str]) -> Graph:
    """Return the DAG of parent sets over `names`, its nodes in another order."""
    at = {name: i for i, name in enumerate(order)}
    marks = np.zeros((len(names), len(names)), dtype=np.uint8)
    for child, given in enumerate(parents):
        for parent in members(given):
            i, j = at[names[parent]], at[names[child]]
            marks[i, j], marks[j, i] = Mark.ARROW, Mark.TAIL
    return Graph(tuple(order), marks, "dag")


@dataclass(frozen=True)
class Limits:
    """The limits of a DAG: no forbidden edge, every required one, not too many parents per node.

    Nodes are in name order. A column of one value has no edges except required ones, although a
    score may not object to them.
    """

    names: tuple[str, ...]
    forbidden: Matrix
    required: Matrix
    max_parents: int

    @classmethod
    def of(cls, score: Score, max_parents: int | None, knowledge: Knowledge | None) -> Limits:
        """Read what is known about the variables of a score."""
        knowledge = checked_knowledge(knowledge, score.names)
        names = tuple(sorted(score.names))
        required, forbidden = knowledge.required(names), knowledge.forbidden(names)
        most = len(names) if max_parents is None else max_parents
        require_whole(0, max_parents=max_parents)
        for j, name in enumerate(names):
            needed = int(required[:, j].sum())
            if needed > most:
                raise UsageError(
                    f"{needed} parents are required of {quote(name)}, and "
                    f"{parameter('max_parents')} is {most}"
                )
        constant = {score.names[j] for j in as_score(score).constants()}
        alone = np.array([name in constant for name in names], dtype=bool)
        forbidden = forbidden | ((alone[:, None] | alone[None, :]) & ~required)
        return cls(names, forbidden, required, most)

    def allow(self, dag: Sequence[int], x: int, y: int) -> bool:
        """Whether x → y may be added to a DAG."""
        full = dag[y].bit_count() >= self.max_parents
        return not (full or self.forbidden[x, y] or _is_above(dag, y, x))


def perturbed(
    dag: Sequence[int], rng: np.random.Generator, moves: int | None, limits: Limits
) -> list[int]:
    """Make random moves in a DAG: add, delete or reverse an edge, each equally likely.

    By default their number is drawn too, from two to the number of nodes: small changes lead to
    graphs nearby, large ones far away, and nobody knows which are needed.
    """
    n = len(dag)
    dag = list(dag)
    if moves is None:
        moves = int(rng.integers(2, max(3, n + 1)))
    for _ in range(moves if n > 1 else 0):
        for _ in range(_MOST_TRIES):
            if _move_at_random(dag, rng, limits):
                break
    return dag


def _move_at_random(dag: list[int], rng: np.random.Generator, limits: Limits) -> bool:
    """Try one random move, and return whether it was legal and made."""
    kind = ("add", "delete", "reverse")[rng.integers(3)]
    if kind == "add":
        x, y = rng.choice(len(dag), 2, replace=False).tolist()
        if dag[x] >> y & 1 or dag[y] >> x & 1 or not limits.allow(dag, x, y):
            return False
        dag[y] |= 1 << x
        return True
    edges = [(x, y) for y, given in enumerate(dag) for x in members(given)]
    if not edges:
        return False
    x, y = edges[rng.integers(len(edges))]
    if limits.required[x, y]:
        return False
    dag[y] &= ~(1 << x)
    if kind == "reverse":
        if not limits.allow(dag, y, x):
            dag[y] |= 1 << x
            return False
        dag[x] |= 1 << y
    return True


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
