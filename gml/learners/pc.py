"""The PC algorithm, order-independent, with an answer that is always a CPDAG.

Three steps: the skeleton (`gml.learners.skeleton`), the weights of its unshielded triples
(`gml.learners.colliders`), and a DAG that has as much of that weight as Dor & Tarsi's algorithm can
give it (`gml.graph.extension`). The result is the CPDAG of this DAG or, with knowledge, its
maximally oriented PDAG. Where the tests do not contradict one another, that is what PC with Meek's
rules has always returned; where they do, the triples that had to give way are named.

Ties are broken by the order of names, in code point order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gml.errors import (
    DataError,
    quote,
    require_one_of,
    require_share,
    require_whole,
)
from gml.graph.bits import sets_in_columns
from gml.graph.cheapest import cheapest
from gml.graph.edges import Mark
from gml.graph.extension import Triple, extend, left_open
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.graph.open_arrows import with_compelled
from gml.graph.order import find_cycle
from gml.graph.orientation import Matrix, Reason, Reasons, maximally_oriented
from gml.independence.base import CIResult, CITest
from gml.learners.checked_input import checked_knowledge
from gml.learners.colliders import weigh_triples
from gml.learners.missingness_correction import Corrected, MissingnessCorrection
from gml.learners.skeleton import ON_INSUFFICIENT, Asker, Log, Skeleton, learn_skeleton
from gml.name_order import NameOrder
from gml.progress import Deadline
from gml.synonyms import AnswersSynonyms

COLLIDER_RULES = ("max-p", "sepset", "conservative", "majority")


@dataclass(frozen=True)
class Sepset:
    """The first set that separated x and y, and the test that said so."""

    x: str
    y: str
    given: tuple[str, ...]
    result: CIResult


@dataclass(frozen=True)
class WeighedTriple:
    """An unshielded triple x — k — y: its weight, and whether it is a collider in the graph.

    `by_knowledge` says that knowledge leaves no choice, `disputed` that sets with and without k
    separate x and y.
    """

    x: str
    k: str
    y: str
    weight: float
    collider: bool
    by_knowledge: bool = False
    disputed: bool = False

    @property
    def changed(self) -> bool:
        """Whether the graph contradicts what its own tests say."""
        return self.weight != 0 and self.collider != (self.weight > 0)

    @property
    def ambiguous(self) -> bool:
        """Whether its own tests do not agree, or say nothing."""
        return self.weight == 0 or self.disputed


@dataclass(frozen=True)
class PcResult(AnswersSynonyms):
    """The learned graph with its evidence.

    `dag` is a consistent extension of `graph`; `tests` counts those of the skeleton by level, and
    `collider_tests` the additional ones for the orientation; `reasons` says why each arrow is
    directed; `complete` is False if time ran out. `corrected` says what a correction for missing
    values did.
    """

    graph: Graph
    dag: Graph = field(repr=False)
    skeleton: Skeleton = field(repr=False)
    triples: tuple[WeighedTriple, ...] = field(repr=False)
    collider_tests: int
    complete: bool = True
    reasons: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = field(
        default_factory=dict, repr=False
    )
    corrected: Corrected | None = field(default=None, repr=False)

    @property
    def tests(self) -> tuple[int, ...]:
        """Tests of the skeleton, by level."""
        return tuple(self.skeleton.tests)

    @property
    def sepsets(self) -> list[Sepset]:
        """What separated the pairs without an edge, by names."""
        names = sorted(self.graph.names)
        return [
            Sepset(names[x], names[y], tuple(names[j] for j in found.given), found.result)
            for (x, y), found in self.skeleton.separations().items()
        ]

    @property
    def changed(self) -> list[WeighedTriple]:
        """Triples that had to give way to others."""
        return [triple for triple in self.triples if triple.changed]

    @property
    def ambiguous(self) -> list[WeighedTriple]:
        """Triples whose own tests do not agree, or say nothing."""
        return [triple for triple in self.triples if triple.ambiguous]


def pc(
    test: CITest,
    *,
    alpha: float = 0.01,
    max_cond: int | None = None,
    colliders: str = "max-p",
    on_insufficient: str = "auto",
    knowledge: Knowledge | None = None,
    correction: MissingnessCorrection | None = None,
    deadline: Deadline | None = None,
    log: Log | None = None,
) -> PcResult:
    """Learn a CPDAG from independence tests.

    Parameters
    ----------
    test : CITest
        Any object with `names` and a call (x, y, given) that returns a CIResult.
    alpha : float
        Level of the tests.
    max_cond : int, optional
        Largest conditioning set.
    colliders : {"max-p", "sepset", "conservative", "majority"}
        How colliders are found.
    on_insufficient : {"auto", "keep", "drop"}
        Whether an edge stays when a test cannot tell; auto: only if there are enough rows to see
        that the conditioning set determines one of the two.
    knowledge : Knowledge, optional
        Required and forbidden edges, tiers; the result is then the maximally oriented PDAG.
    correction : MissingnessCorrection, optional
        Removes edges that only missing values make (`gml.learners.missingness_correction`).
    deadline : Deadline, optional
        When to stop with what has been found.
    log : callable, optional
        Called with a TestRecord for every test that counts, always in the same order.

    Examples
    --------
    >>> import gml
    >>> data = gml.read("sample_data/asia.csv")
    >>> result = gml.pc(gml.TESTS["auto"](gml.MemoryCounter(data)))
    >>> result.graph.kind, result.graph.n_edges, sum(result.tests)
    ('cpdag', 7, 108)
    """
    require_one_of("colliders", colliders, COLLIDER_RULES)
    require_one_of("on_insufficient", on_insufficient, ON_INSUFFICIENT)
    require_share(alpha=alpha)
    require_whole(0, max_cond=max_cond)
    knowledge = checked_knowledge(knowledge, test.names)
    deadline = deadline or Deadline()
    asker = Asker(test, alpha=alpha, on_insufficient=on_insufficient, log=log)
    skeleton = learn_skeleton(asker, max_cond=max_cond, knowledge=knowledge, deadline=deadline)
    corrected = None
    if correction is not None and skeleton.complete:
        new_asker, corrected = correction.correct(
            skeleton,
            knowledge,
            alpha=alpha,
            on_insufficient=on_insufficient,
            max_cond=max_cond,
            deadline=deadline,
            log=log,
        )
        asker = new_asker or asker
    weighed = weigh_triples(
        asker,
        skeleton,
        knowledge.tiers_of(asker.names),
        rule=colliders,
        max_cond=max_cond,
        deadline=deadline,
    )
    oriented = orient(asker.names, skeleton.adjacent, weighed.weights, knowledge)
    return PcResult(
        graph=oriented.graph(test.names, "pdag" if knowledge else "cpdag"),
        dag=oriented.extension(test.names),
        skeleton=skeleton,
        triples=oriented.triples(weighed.disputed),
        collider_tests=weighed.tests,
        complete=skeleton.complete and weighed.complete,
        reasons=oriented.named_reasons(),
        corrected=corrected,
    )


@dataclass(frozen=True)
class Oriented:
    """A DAG over nodes in name order, which of its edges are certain, and why."""

    names: Sequence[str]
    dag: Matrix
    directed: Matrix
    reasons: Reasons
    weights: dict[Triple, float]
    free: dict[Triple, float]
    proven: bool = False
    """Whether no other class contradicts the evidence less."""

    def graph(self, names: Sequence[str], kind: str) -> Graph:
        """The CPDAG or maximally oriented PDAG, nodes in the order of `names`."""
        return self._in_order(names, self.directed, kind)

    def extension(self, names: Sequence[str]) -> Graph:
        """The DAG, nodes in the order of `names`."""
        dag = self._in_order(names, self.dag, "dag")
        return with_compelled(dag, sets_in_columns(NameOrder(names).restored(self.directed)))

    def _in_order(self, names: Sequence[str], directed: Matrix, kind: str) -> Graph:
        adjacent = self.dag | self.dag.T
        marks = np.where(adjacent, Mark.TAIL, Mark.NONE).astype(np.uint8)
        marks[directed] = Mark.ARROW
        return Graph(tuple(names), NameOrder(names).restored(marks), kind)

    def triples(self, disputed: Collection[Triple] = ()) -> tuple[WeighedTriple, ...]:
        """The unshielded triples, by k, then x, then y."""
        return tuple(
            WeighedTriple(
                self.names[x],
                self.names[k],
                self.names[y],
                weight,
                bool(self.dag[x, k] and self.dag[y, k]),
                (x, k, y) not in self.free,
                (x, k, y) in disputed,
            )
            for (x, k, y), weight in self.weights.items()
        )

    def named_reasons(self) -> dict[tuple[str, str], tuple[str, tuple[str, ...]]]:
        """Why each arrow is there, by names."""

        def named(reason: Reason) -> tuple[str, tuple[str, ...]]:
            return reason.rule, tuple(self.names[j] for j in reason.nodes)

        return {
            (self.names[i], self.names[j]): named(reason)
            for (i, j), reason in sorted(self.reasons.items())
        }


def orient(
    names: Sequence[str],
    adjacent: Matrix,
    weights: dict[Triple, float],
    knowledge: Knowledge,
    *,
    against: NDArray[np.float64] | None = None,
) -> Oriented:
    """Direct a skeleton by the weights of its unshielded triples and by knowledge.

    Nodes are in name order; `weights` holds every unshielded triple (x, k, y), x < y; where arrows
    have prices, `against[i, j]` for i → j, the class of least cost is looked for.
    """
    forced = adjacent & knowledge.decided(names)
    cycle = find_cycle(names, forced)
    if cycle is not None:
        shown = " -> ".join(quote(name) for name in cycle)
        raise DataError(
            f"contradictory knowledge: it directs edges of the skeleton into a cycle: {shown}"
        )
    free = left_open(weights, forced)
    if against is None:
        dag, proven = extend(adjacent, free, forced), False
    else:
        dag, proven = cheapest(adjacent, weights, against, forced)
    reasons: Reasons = {}
    directed = maximally_oriented(dag, forced, reasons)
    return Oriented(names, dag, directed, reasons, weights, free, proven)
