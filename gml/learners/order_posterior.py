"""Posterior probabilities of edges, summed over all orders and all DAGs.

Koivisto & Sood (2004, JMLR 5:549) sum over the orders of the variables and, for each, over all sets
of parents that come before: with βₓ(S) = exp of the local score of x given S,

    αₓ(T) = Σ over S ⊆ T of βₓ(S)                     the parents of x, T being before it
    L(T)  = Σ over x ∈ T of αₓ(T∖x)·L(T∖x)            all orders of T
    R(T)  = Σ over x ∉ T of αₓ(T)·R(T∪x)              all orders of the rest, behind T

and L of all variables is the marginal likelihood, up to the prior. All edges at once come from the
forward and the backward sums (Koivisto 2006, UAI): βₓ(S)·Σ over T ⊇ S, x ∉ T, of L(T)·R(T∪x) is the
share of the DAGs in which S are the parents of x.

The prior is order-modular: every order and, within it, every choice of allowed sets of parents is
as likely as any other. So a DAG is weighted by the number of its linear extensions, and equivalent
DAGs may have different weights; that is the price of exact sums.

All sums are of positive numbers, in logarithms, after the best local score of each variable has
been subtracted: nothing cancels. With scores up to s nats below the best, a probability has an
error of about 10⁻¹⁶·s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.errors import CannotAnswer, parameter
from gml.graph.knowledge import Knowledge
from gml.kernel.pool import in_order
from gml.learners.checked_input import limited_knowledge
from gml.learners.parent_sets import Sets, all_parent_sets, choices_of
from gml.progress import Deadline, reporter
from gml.resources import available_threads, budget_in_force, require_memory
from gml.scores.base import Score, as_score

_HINT = "; use fewer columns, or average by order-mcmc"

Logs = NDArray[np.float64]


@dataclass(frozen=True)
class OrderPosterior:
    """P(i → j) for each pair of `names`, and ln of the marginal likelihood of the data.

    `prior` says in words how DAGs are weighted; `families` counts the local scores computed.
    """

    names: tuple[str, ...]
    edges: NDArray[np.float64]
    log_marginal: float
    prior: str
    families: int


def prior_in_words(max_parents: int | None, *, knowledge: bool) -> str:
    """Say how DAGs are weighted before the data speak."""
    limit = "" if max_parents is None else f" of at most {max_parents} parents"
    within = " that obey the knowledge" if knowledge else ""
    return (
        f"order-modular: uniform over orders and parent sets{limit}{within}, so that a DAG counts "
        "as often as it has linear extensions"
    )


def edge_posteriors(
    score: Score,
    *,
    max_parents: int | None = None,
    knowledge: Knowledge | None = None,
    max_memory: int | None = None,
    deadline: Deadline | None = None,
    threads: int | None = None,
) -> OrderPosterior:
    """Return the posterior probability of every edge; for up to some 20 variables.

    Parameters
    ----------
    score : Score
        ln of the (approximate) marginal likelihood of a family: bdeu, bge, bic, …
    max_parents : int, optional
        The most parents that a node may have.
    knowledge : Knowledge, optional
        Required and forbidden edges, tiers; DAGs that break it have no weight.
    max_memory : int, optional
        Bytes for the sums; by default half of what is free.
    deadline : Deadline, optional
        When to give up: there is no partial answer.
    threads : int, optional
        How many variables are summed at a time; scoring has the threads of its counter.

    Examples
    --------
    >>> import gml
    >>> score = gml.SCORES["bdeu"](gml.MemoryCounter(gml.read("sample_data/asia.csv")))
    >>> found = gml.edge_posteriors(score, max_parents=3)
    >>> smoke, lung = found.names.index("smoke"), found.names.index("lung")
    >>> round(float(found.edges[smoke, lung] + found.edges[lung, smoke]), 3)
    0.976
    """
    deadline = deadline or Deadline()
    budget = budget_in_force(max_memory)
    full = as_score(score)
    knowledge = limited_knowledge(score, knowledge)
    choices = choices_of(full, max_parents=max_parents, knowledge=knowledge)
    n = len(choices.names)
    threads = threads or available_threads()
    # Two sums per set of variables and, per thread, what it works on for half of the sets.
    need = 8 * (n * 2 ** (n - 1) + 2 * 2**n + 4 * threads * 2 ** (n - 1)) + 48 * choices.n_sets
    require_memory(need, budget, f"the sums over all orders of {n} variables", _HINT)
    sets, values = all_parent_sets(full, choices, max_memory=budget, deadline=deadline)
    best = [float(of_child.max()) for of_child in values]
    if any(math.isinf(value) or math.isnan(value) for value in best):
        raise CannotAnswer("the score of a variable is not a finite number, whatever its parents")
    weights = [of_child - top for of_child, top in zip(values, best, strict=True)]
    # The same sum with all scores equal normalises the prior.
    alike = [np.zeros(len(of_child)) for of_child in sets]
    log_ways = _Sums(sets, alike, deadline, threads).log_total
    sums = _Sums(sets, weights, deadline, threads)
    matrix = sums.edges()
    edges = np.zeros((n, n))
    edges[np.ix_(choices.order, choices.order)] = matrix
    return OrderPosterior(
        tuple(score.names),
        edges,
        sums.log_total - log_ways + math.fsum(best),
        prior_in_words(max_parents, knowledge=bool(knowledge)),
        choices.n_sets,
    )


class _Sums:
    """The sums over all orders, given the sets of parents of each variable and their logs."""

    def __init__(
        self, sets: Sequence[Sets], logs: Sequence[Logs], deadline: Deadline, threads: int
    ) -> None:
        self._sets = [_without(of_child, x) for x, of_child in enumerate(sets)]
        self._whole = sets
        self._logs = logs
        self._deadline = deadline
        self._threads = threads
        n = len(sets)
        self._parents = np.full((n, 1 << (n - 1)), -np.inf)
        self._of_each(self._sum_parents, "sums over parents")
        self._before = kernel.active().sum_orders(self._parents, False)
        self.log_total = float(self._before[-1])

    def _sum_parents(self, x: int) -> None:
        self._parents[x][self._sets[x]] = self._logs[x]
        kernel.active().log_sum_sets(self._parents[x], False)

    def edges(self) -> NDArray[np.float64]:
        """Return the share of the DAGs with each edge."""
        n = len(self._sets)
        behind = kernel.active().sum_orders(self._parents, True)
        halves = np.arange(1 << (n - 1))
        found = np.zeros((n, n))

        def sum_edges(x: int) -> None:
            below = (1 << x) - 1
            sets = halves & below | (halves & ~below) << 1
            orders = self._before[sets] + behind[sets | 1 << x]
            kernel.active().log_sum_sets(orders, True)
            shares = np.exp(self._logs[x] + orders[self._sets[x]] - self.log_total)
            for y in range(n):
                found[y, x] = shares[self._whole[x] >> np.uint64(y) & np.uint64(1) == 1].sum()

        self._of_each(sum_edges, "sums over edges")
        return np.minimum(found, 1.0)

    def _of_each(self, work: Callable[[int], None], what: str) -> None:
        """Do the work for every variable, several at a time."""
        n = len(self._sets)
        self._require_time()
        for done, _ in enumerate(in_order(work, range(n), self._threads), start=1):
            reporter().advance(what, done, n)
            if done < n:
                self._require_time()

    def _require_time(self) -> None:
        if self._deadline.passed:
            raise CannotAnswer(
                f"{parameter('max_seconds')} ran out before the sums over all orders were done"
            )


def _without(sets: Sets, x: int) -> NDArray[np.int64]:
    """Remove bit x, which none of the sets has."""
    numbers = sets.astype(np.int64)
    below = (1 << x) - 1
    return numbers & below | numbers >> 1 & ~below
