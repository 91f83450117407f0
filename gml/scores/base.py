"""What a decomposable score is: a number for each family, whose sum is the score of a DAG."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter, Family, FamilyArray
from gml.counts.questions import family_set
from gml.data.column_kinds import require_kinds
from gml.errors import DataError, GraphError, UsageError, parameter, quote, unknown_name
from gml.graph.graph import Graph
from gml.graph.knowledge import Knowledge
from gml.kernel.layout import LIKELIHOOD, FamilyRule
from gml.name_order import NameOrder
from gml.scores.registry import KnownScore, scores_with_gaps

RESOLUTION = 2.0**-20
"""Nats below which a difference does not count."""

Nats = TypeVar("Nats", float, NDArray[np.float64])


def rounded(nats: Nats) -> Nats:
    """Round to 2⁻²⁰ nats, so that last bits never decide a comparison.

    Examples
    --------
    >>> rounded(0.1 + 0.2) == rounded(0.3)
    True
    """
    if isinstance(nats, np.ndarray):
        return np.rint(nats / RESOLUTION) * RESOLUTION
    return round(nats / RESOLUTION) * RESOLUTION if math.isfinite(nats) else nats


@runtime_checkable
class Score(Protocol):
    """A decomposable score of named variables, higher is better: all that a search needs of it.

    Such an object may also have a `batch` (`Batching`; else families are scored one by one) and
    say whether it is `equivalent` (`SaysEquivalent`; else it is assumed not to be).
    """

    @property
    def names(self) -> Sequence[str]:
        """The variables; families refer to them by position."""

    def local(self, child: int, parents: Sequence[int]) -> float:
        """Return the score of the child given its parents."""


@runtime_checkable
class Batching(Protocol):
    """A score that is faster with many families at once."""

    def batch(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Score many families."""


@runtime_checkable
class SaysEquivalent(Protocol):
    """A score that says whether Markov equivalent DAGs have the same score."""

    equivalent: bool


Bounded = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Scores of families, and for each a ceiling that the child never exceeds, whatever parents are
added: infinity where nothing is known."""


class DecomposableScore(ABC):
    """A score as all of gml uses it; a subclass needs `names` and `batch`."""

    name: str = ""
    names: Sequence[str]
    equivalent: bool = False
    """Whether Markov equivalent DAGs have the same score."""

    def local(self, child: int, parents: Sequence[int]) -> float:
        """Return the score of the child given its parents."""
        return float(self.batch([(child, tuple(parents))])[0])

    @abstractmethod
    def batch(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Score many families."""

    def bounded_batch(self, families: Sequence[Family]) -> Bounded:
        """Score many families, with the ceilings that more parents of the child never exceed."""
        return self.batch(families), np.full(len(families), np.inf)

    def with_edge_penalty(self, penalty: float) -> DecomposableScore:
        """Return the score under a prior by which each edge costs so many nats."""
        return EdgePrior(self, penalty) if penalty else self

    @property
    def held(self) -> int:
        """Bytes that are kept for later families."""
        return 0

    def constants(self) -> list[int]:
        """Columns in which only one level occurs: they explain nothing and need no explanation."""
        return []

    def limited(self, knowledge: Knowledge) -> Knowledge:
        """Add what the score demands of graphs to what is known; contradictions are errors."""
        return knowledge

    def remarks(self) -> list[str]:
        """What should be said about the families scored so far."""
        return []

    @property
    def pass_rows(self) -> int:
        """Rows that every batch reads again; where it is not 0, few large batches are faster."""
        return 0

    def expect(self, likely: Callable[[], Iterable[Family]]) -> None:  # noqa: B027
        """Hear of families that may be asked for soon, the likeliest first."""

    @property
    def can_fork(self) -> bool:
        """Whether families can be scored in forked processes as well as here."""
        return False

    def noted(self) -> Any:
        """What remarks are made from, as a forked process hands it over."""
        return None

    def take_noted(self, noted: Any) -> None:  # noqa: B027
        """Add what another process noted; nothing unless there are remarks."""


def as_score(score: Score) -> DecomposableScore:
    """Return any score as one that has everything gml uses.

    Examples
    --------
    >>> class FewParents:
    ...     names = ("a", "b")
    ...     def local(self, child, parents):
    ...         return 1.0 - len(parents)
    >>> as_score(FewParents()).batch([(0, ()), (0, (1,))]).tolist()
    [1.0, 0.0]
    """
    return score if isinstance(score, DecomposableScore) else _AdaptedScore(score)


class _AdaptedScore(DecomposableScore):
    """A user's score that has only the required parts."""

    def __init__(self, score: Score) -> None:
        self.name = type(score).__name__
        self.names = score.names
        self.equivalent = isinstance(score, SaysEquivalent) and score.equivalent
        self._score = score

    def batch(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Score many families, one by one if need be."""
        if isinstance(self._score, Batching):
            return np.asarray(self._score.batch(families), dtype=float)
        local = self._score.local
        return np.array([local(child, parents) for child, parents in families], dtype=float)


def edges_of(families: Sequence[Family]) -> NDArray[np.float64]:
    """The number of parents of each family."""
    if isinstance(families, FamilyArray):
        return np.full(len(families), families.rows.shape[1] - 1.0)
    return np.array([len(parents) for _, parents in families], dtype=float)


def families_of(score: Score, graph: Graph) -> list[Family]:
    """The families of a DAG, nodes in its order, as positions in the score."""
    if graph.kind != "dag":
        raise GraphError(f"a DAG is needed, not a graph of kind {graph.kind}")
    position = {name: j for j, name in enumerate(score.names)}
    for name in graph.names:
        if name not in position:
            raise GraphError(unknown_name("column", name, score.names))
    where = [position[name] for name in graph.names]
    return [
        (where[j], tuple(where[i] for i in parents))
        for j, parents in enumerate(graph.parent_sets())
    ]


def total(score: Score, graph: Graph) -> float:
    """Return the score of a DAG.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> round(total(gml.SCORES["bic"](counter), gml.read_graph("sample_data/asia.dot")), 3)
    -11184.093
    """
    families = families_of(score, graph)
    return add_up(score.names, families, as_score(score).batch(families))


def add_up(names: Sequence[str], families: Sequence[Family], values: NDArray[np.float64]) -> float:
    """Sum local scores in the order of the children's names, whatever the order of the nodes."""
    order = NameOrder([names[child] for child, _ in families])
    return float(sum(values[order.positions]))


def require_varying(counter: Counter) -> None:
    """Refuse columns of numbers that have only one value."""
    for name in counter.constant_numbers():
        raise one_value(name)


def one_value(name: str) -> DataError:
    """Refuse a column of numbers that has only one value."""
    return DataError(
        f"column {quote(name)} has only one value, so no normal distribution fits; leave it out "
        f"({parameter('exclude', [name])})"
    )


def same_rows() -> UsageError:
    """Refuse gaps that are left, for a score that cannot compare families on different rows."""
    return UsageError(
        f"families on different rows cannot be compared: {parameter('missing', 'available')} is "
        f"for tests, fitting and the scores {', '.join(scores_with_gaps())} (use drop or level, or "
        "em with gml hc, ges and score)"
    )


class FamilyScore(DecomposableScore):
    """A score over the columns of a counter, made by its entry of the registry."""

    def __init__(self, facts: KnownScore, counter: Counter, **options: Any) -> None:
        """Take the options of the entry."""
        self._options = facts.values(options)
        require_kinds(facts.name, facts.columns, counter.variables)
        self.name = facts.name
        self.equivalent = facts.equivalent
        if counter.missing and not facts.takes_gaps:
            raise same_rows()
        self._counter = counter
        self.names = tuple(variable.name for variable in counter.variables)
        self._levels = [float(max(1, len(v.levels or ()))) for v in counter.variables]
        self._most_known: dict[int, float] = {}

    @functools.cached_property
    def n(self) -> float:
        """Number of rows, weighted."""
        return self._counter.n * self._counter.unit

    @property
    def pass_rows(self) -> int:
        """Rows that every batch reads again."""
        return self._counter.pass_rows

    def expect(self, likely: Callable[[], Iterable[Family]]) -> None:
        """Let the engine know of families that may be asked for soon."""
        order = self._counter.order
        self._counter.expect(lambda: (family_set(order, family) for family in likely()))

    @property
    def can_fork(self) -> bool:
        """Whether the engine answers forked processes too, and from memory."""
        return self._counter.can_fork and self._counter.pass_rows == 0

    def _most_likelihoods(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """The log-likelihood of each child given all other columns, which no parents can exceed."""
        children = (
            families.rows[:, 0].tolist()
            if isinstance(families, FamilyArray)
            else [child for child, _ in families]
        )
        wanted = [[child] for child in sorted(set(children) - set(self._most_known))]
        if wanted and self.pass_rows:
            # One pass for all, as all are likely to be asked for.
            wanted = [[j for j, v in enumerate(self._counter.variables) if not v.is_continuous]]
        for some in wanted:
            others = [tuple(j for j in range(len(self.names)) if j != child) for child in some]
            families_ = list(zip(some, others, strict=True))
            values = self._counter.family_values(families_, FamilyRule(LIKELIHOOD))
            self._most_known |= zip(some, values.tolist(), strict=True)
        return np.array([self._most_known[child] for child in children], dtype=float)

    def constants(self) -> list[int]:
        """Columns in which only one level occurs: they explain nothing and need no explanation."""
        alone = [(j, ()) for j, v in enumerate(self._counter.variables) if not v.is_continuous]
        values = self._counter.family_values(alone, FamilyRule(LIKELIHOOD))
        return [j for (j, _), value in zip(alone, values.tolist(), strict=True) if value == 0]

    def dimension(self, child: int, parents: Sequence[int]) -> float:
        """Free parameters of a family, over declared levels."""
        size = self._levels[child] - 1
        for parent in parents:
            size *= self._levels[parent]
        return size

    def dimensions(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Free parameters of many families."""
        if isinstance(families, FamilyArray):
            levels = np.array(self._levels)[families.rows]
            sizes: NDArray[np.float64] = (levels[:, 0] - 1) * levels[:, 1:].prod(axis=1)
            return sizes
        return np.array([self.dimension(*family) for family in families], dtype=float)


class ScoreAbove(DecomposableScore):
    """A score that changes the values of another, and is like it otherwise."""

    def __init__(self, score: DecomposableScore) -> None:
        self._score = score
        self.name = score.name
        self.names = score.names
        self.equivalent = score.equivalent

    @property
    def held(self) -> int:
        """Bytes that are kept for later families."""
        return self._score.held

    def constants(self) -> list[int]:
        """Columns in which only one level occurs."""
        return self._score.constants()

    def limited(self, knowledge: Knowledge) -> Knowledge:
        """Add what the score demands of graphs to what is known."""
        return self._score.limited(knowledge)

    def remarks(self) -> list[str]:
        """What should be said about the families scored so far."""
        return self._score.remarks()

    @property
    def pass_rows(self) -> int:
        """Rows that every batch reads again."""
        return self._score.pass_rows

    def expect(self, likely: Callable[[], Iterable[Family]]) -> None:
        """Hear of families that may be asked for soon."""
        self._score.expect(likely)

    @property
    def can_fork(self) -> bool:
        """Whether families can be scored in forked processes as well as here."""
        return self._score.can_fork

    def noted(self) -> Any:
        """What remarks are made from."""
        return self._score.noted()

    def take_noted(self, noted: Any) -> None:
        """Add what another process noted."""
        self._score.take_noted(noted)


class EdgePrior(ScoreAbove):
    """A score with a structure prior P(G) ∝ exp(−penalty · edges)."""

    def __init__(self, score: DecomposableScore, penalty: float) -> None:
        super().__init__(score)
        self._penalty = penalty

    def local(self, child: int, parents: Sequence[int]) -> float:
        """Return the score of the child given its parents, less the price of its edges."""
        return self._score.local(child, parents) - self._penalty * len(parents)

    def batch(self, families: Sequence[Family]) -> NDArray[np.float64]:
        """Score many families."""
        return self._score.batch(families) - self._penalty * edges_of(families)

    def bounded_batch(self, families: Sequence[Family]) -> Bounded:
        """Score many families, with their ceilings unless edges are paid for."""
        values, ceilings = self._score.bounded_batch(families)
        prices = self._penalty * edges_of(families)
        return values - prices, ceilings - prices if self._penalty >= 0 else ceilings + np.inf
