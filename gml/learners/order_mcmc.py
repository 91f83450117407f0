"""Posterior probabilities of edges from Markov chains over orders.

Friedman & Koller (2003, Mach. Learn. 50:95): the probability of an order, and those of all edges
given it, are sums over the sets of parents that come before each variable; a chain of Metropolis
steps visits orders in proportion to their probability, and the edges are averaged over it. A step
swaps two variables, or two neighbours, or moves one variable elsewhere; only the variables between
the two places are summed again. The prior is that of `gml.learners.order_posterior`.

Sets of parents are limited to `max_parents` and, with many variables, to the `candidates` that on
their own tell most about a variable (ties by name): the prior then says that no others are
parents. Sets that are e⁴⁰ times less likely than the best are left out of a sum.

Chains start from random orders. Whether they have forgotten them is measured by split R̂ (Gelman et
al., Bayesian Data Analysis, 3rd ed., eq. 11.4) over the halves of all chains, for the log scores of
the orders and for the edges whose probability given the order varies (standard deviation over
0.01), of which the largest is reported. The effective size is that of the log scores, by Geyer's
initial positive sequence over all chains (eq. 11.8). The standard error of an edge comes from means
of batches.

Each chain draws from its own stream, spawned from one seed, so threads change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml import kernel
from gml.counts.counter import FamilyArray
from gml.errors import CannotAnswer, UsageError, parameter
from gml.graph.bits import members
from gml.graph.knowledge import Knowledge
from gml.kernel.pool import in_order
from gml.learners.checked_input import limited_knowledge
from gml.learners.expected_families import families_of_candidates
from gml.learners.mixing import effective_size, r_hat_of, split_r_hat
from gml.learners.order_posterior import prior_in_words
from gml.learners.parent_sets import (
    Choices,
    choices_of,
    chunks_of,
    members_of,
    subsets_of,
)
from gml.progress import Deadline, reporter
from gml.resources import available_threads, budget_in_force, require_memory
from gml.scores.base import DecomposableScore, Score, as_score, rounded

MOST_CANDIDATES = 63
_CANDIDATES = 16
ITERATIONS, CHAINS = 100_000, 4
"""Steps per chain that count, and the number of chains, unless told otherwise."""
_BATCHES = 20
_LEAST_SPREAD = 0.01
_LIMIT_OF_SCORES = 1.01
_LIMIT_OF_EDGES = 1.1

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class OrderSample:
    """P(i → j) for each pair of `names`, with standard errors, and how well the chains mixed.

    `log_scores` has one row per chain, with the log of the sum over all DAGs of each order that was
    sampled; `accepted` is the share of steps; `candidates` is None if all variables were
    candidates; `complete` is False if time ran out.
    """

    names: tuple[str, ...]
    edges: Numbers
    errors: Numbers
    log_scores: Numbers
    r_hat: float
    r_hat_edges: float
    effective_size: float
    accepted: tuple[float, ...]
    prior: str
    candidates: int | None
    families: int
    complete: bool = True


def order_mcmc(
    score: Score,
    *,
    max_parents: int | None = 3,
    candidates: int | None = None,
    iterations: int = ITERATIONS,
    burn_in: int | None = None,
    thin: int | None = None,
    chains: int = CHAINS,
    seed: int = 0,
    knowledge: Knowledge | None = None,
    max_memory: int | None = None,
    deadline: Deadline | None = None,
    threads: int | None = None,
) -> OrderSample:
    """Return the posterior probability of every edge by Markov chains over orders.

    Parameters
    ----------
    score : Score
        ln of the (approximate) marginal likelihood of a family: bdeu, bge, bic, …
    max_parents : int, optional
        The most parents that a node may have.
    candidates : int, optional
        How many variables may be parents of each; by default all if there are up to 17, else 16.
    iterations, burn_in, thin : int
        Steps per chain that count, steps before these (by default a fifth as many), and steps per
        sample (by default a thousandth).
    chains : int
        At least 4.
    seed : int
        Seed of the random numbers.
    knowledge : Knowledge, optional
        Required and forbidden edges, tiers.
    max_memory : int, optional
        Bytes for sets of parents and the chains; by default half of what is free.
    deadline : Deadline, optional
        When to stop with the samples drawn so far.
    threads : int, optional
        Chains that run at a time.

    Examples
    --------
    >>> import gml
    >>> score = gml.SCORES["bdeu"](gml.MemoryCounter(gml.read("sample_data/asia.csv")))
    >>> found = gml.order_mcmc(score, iterations=20_000)
    >>> summed = gml.edge_posteriors(score, max_parents=3)
    >>> bool(abs(found.edges - summed.edges).max() < 0.05)
    True
    """
    deadline = deadline or Deadline()
    if chains < 4:
        raise UsageError(
            f"{parameter('chains')} must be at least 4, not {chains}: fewer cannot show "
            "whether they agree"
        )
    burn_in = iterations // 5 if burn_in is None else burn_in
    thin = max(1, iterations // 1000) if thin is None else thin
    a_batch = iterations // (_BATCHES * thin) if thin > 0 else 0
    if burn_in < 0:
        raise UsageError(f"{parameter('burn_in')} must be 0 or more, not {burn_in}")
    if a_batch < 1:
        raise UsageError(
            f"{parameter('thin')} must be at least 1, and {parameter('iterations')} at least "
            f"{_BATCHES} times as many"
        )
    if candidates is not None and not 0 <= candidates <= MOST_CANDIDATES:
        raise UsageError(
            f"{parameter('candidates')} must be between 0 and {MOST_CANDIDATES}, not {candidates}"
        )
    full = as_score(score)
    knowledge = limited_knowledge(score, knowledge)
    choices = choices_of(full, max_parents=max_parents, knowledge=knowledge)
    n = len(choices.names)
    limit = _CANDIDATES if candidates is None and n > _CANDIDATES + 1 else candidates
    budget = budget_in_force(max_memory)
    model = _Model(full, choices, limit, budget, chains, deadline)
    runs = [
        _Run(model, random, thin, a_batch) for random in np.random.SeedSequence(seed).spawn(chains)
    ]
    batches = _run_all(runs, burn_in, deadline, threads or available_threads())
    found = _summary(runs, batches)
    edges, errors = np.zeros((n, n)), np.zeros((n, n))
    edges[np.ix_(choices.order, choices.order)] = found.edges
    errors[np.ix_(choices.order, choices.order)] = found.errors
    _warn(found)
    words = prior_in_words(max_parents, knowledge=bool(knowledge))
    if limit is not None:
        words += f"; parents are among the {limit} candidates of each variable"
    steps = burn_in + batches * a_batch * thin
    return OrderSample(
        tuple(score.names),
        edges,
        errors,
        found.log_scores,
        found.r_hat,
        found.r_hat_edges,
        found.effective_size,
        tuple(run.accepted / steps for run in runs),
        words,
        limit,
        model.families,
        batches == _BATCHES,
    )


class _Model:
    """The candidates of each variable, and the sets of them with their scores, the best first."""

    def __init__(
        self,
        score: DecomposableScore,
        choices: Choices,
        limit: int | None,
        budget: int,
        chains: int,
        deadline: Deadline,
    ) -> None:
        self._score = score
        self._choices = choices
        self._deadline = deadline
        self.n = n = len(choices.names)
        self.families = 0
        self._chosen: list[list[int]] = []
        chosen = [self._candidates(x, limit) for x in range(n)]
        required = [list(members(choices.required[x])) for x in range(n)]
        most = [min(choices.most[x], len(chosen[x])) for x in range(n)]
        n_sets = sum(
            math.comb(len(some), k) for x, some in enumerate(chosen) for k in range(most[x] + 1)
        )
        need = 48 * n_sets + 16 * _BATCHES * chains * n * n
        hint = f"; limit {parameter('max_parents')} or {parameter('candidates')}"
        require_memory(need, budget, f"{n_sets:,} sets of parents and {chains} chains", hint)
        sets, logs = [], []
        self._chosen = [[*required[x], *chosen[x]] for x in range(n)]
        for x in range(n):
            found = self._sets(x, required[x], chosen[x], most[x])
            sets.append(found[0])
            logs.append(found[1])
        self.candidates = np.array([y for some in self._chosen for y in some], dtype=np.int32)
        self.candidate_starts = np.cumsum([0, *map(len, self._chosen)], dtype=np.int64)
        self.sets = np.concatenate(sets)
        self.logs = np.concatenate(logs)
        self.set_starts = np.cumsum([0, *map(len, sets)], dtype=np.int64)
        self.required = choices.required
        reporter().status(None)

    def _batch(self, rows: NDArray[np.int64]) -> Numbers:
        if self._deadline.passed:
            raise CannotAnswer(
                f"{parameter('max_seconds')} ran out before the sets of parents were scored"
            )
        self.families += len(rows)
        reporter().status(f"scoring sets of parents: {self.families:,}", self.families)
        order, most = self._choices.order, max(self._choices.most)
        self._score.expect(lambda: families_of_candidates(order, self._chosen, most))
        return self._score.batch(FamilyArray(self._choices.order[rows]))

    def _candidates(self, x: int, limit: int | None) -> list[int]:
        """The free candidates of x, by name: those that tell most about it on their own."""
        free = list(members(self._choices.free[x]))
        required = list(members(self._choices.required[x]))
        room = MOST_CANDIDATES - len(required)
        most = room if limit is None else min(limit, room)
        if len(free) <= most:
            return free
        values = rounded(self._batch(np.array([[x, *required, y] for y in free])))
        best = sorted(range(len(free)), key=lambda k: (-values[k], k))
        return sorted(free[k] for k in best[:most])

    def _sets(
        self, x: int, required: Sequence[int], chosen: Sequence[int], most: int
    ) -> tuple[NDArray[np.uint64], Numbers]:
        free = np.concatenate(list(subsets_of((1 << len(chosen)) - 1, most)))
        logs = np.empty(len(free))
        positions = np.array(chosen, dtype=np.int64)
        for start, stop in chunks_of(np.bitwise_count(free)):
            some = positions[members_of(free[start:stop])]
            fixed = np.broadcast_to([x, *required], (stop - start, 1 + len(required)))
            logs[start:stop] = self._batch(np.hstack([fixed, some]).astype(np.int64))
        if np.isnan(logs).any() or not np.isfinite(logs.max()):
            raise CannotAnswer(
                "the score of a variable is not a finite number, whatever its parents"
            )
        # Required parents are the first candidates, and in every set.
        sets = free << np.uint64(len(required)) | np.uint64((1 << len(required)) - 1)
        order = np.argsort(-logs, kind="stable")
        return sets[order], logs[order]


class _Run:
    """A chain, and what it has seen: sums over batches of samples."""

    def __init__(
        self, model: _Model, random: np.random.SeedSequence, thin: int, a_batch: int
    ) -> None:
        rng = np.random.default_rng(random)
        key = tuple(int(word) for word in random.generate_state(2, np.uint64))
        self._chain = kernel.active().OrderChain(
            model.candidates,
            model.candidate_starts,
            model.sets,
            model.logs,
            model.set_starts,
            _random_order(model, rng),
            key,
        )
        self._thin = thin
        self._a_batch = a_batch
        self._step = 0
        self.accepted = 0
        self.log_scores: list[float] = []
        self.means: list[Numbers] = []
        self.squares: list[Numbers] = []

    def walk(self, steps: int) -> None:
        """Take steps without sampling."""
        self.accepted += self._chain.walk(self._step, self._step + steps)
        self._step += steps

    def sample(self) -> None:
        """Sample a batch."""
        total = square = np.zeros(())
        for _ in range(self._a_batch):
            self.walk(self._thin)
            self.log_scores.append(math.fsum(self._chain.sums.tolist()))
            edges = self._chain.edges()
            total = total + edges
            square = square + edges * edges
        self.means.append(total / self._a_batch)
        self.squares.append(square / self._a_batch)


def _random_order(model: _Model, rng: np.random.Generator) -> list[int]:
    """A random order in which required parents come first."""
    order: list[int] = []
    left, before = rng.permutation(model.n).tolist(), 0
    while left:
        x = next(x for x in left if model.required[x] & ~before == 0)
        left.remove(x)
        order.append(x)
        before |= 1 << x
    return order


def _run_all(runs: Sequence[_Run], burn_in: int, deadline: Deadline, threads: int) -> int:
    """Run the chains, and return how many batches all of them have sampled."""
    parts = _BATCHES
    for part in range(parts):
        steps = burn_in * (part + 1) // parts - burn_in * part // parts
        _each(runs, lambda run: run.walk(steps), threads)  # noqa: B023
        reporter().advance("chains over orders", part, 6 * parts)
        if deadline.passed:
            break
    for done in range(_BATCHES):
        if deadline.passed:
            if done < 2:
                raise CannotAnswer(
                    f"{parameter('max_seconds')} ran out before the chains were sampled"
                )
            return done
        _each(runs, _Run.sample, threads)
        reporter().advance("chains over orders", parts + 5 * (done + 1), 6 * parts)
    return _BATCHES


def _each(runs: Sequence[_Run], go: Callable[[_Run], None], threads: int) -> None:
    for _ in in_order(go, runs, threads):
        pass


@dataclass(frozen=True)
class _Summary:
    edges: Numbers
    errors: Numbers
    log_scores: Numbers
    r_hat: float
    r_hat_edges: float
    effective_size: float


def _summary(runs: Sequence[_Run], batches: int) -> _Summary:
    # Orders of equal scores differ in their last bits, which must not look like a trace.
    log_scores = rounded(np.array([run.log_scores for run in runs]))
    means = np.stack([run.means for run in runs])
    squares = np.stack([run.squares for run in runs])
    half = batches // 2
    size = log_scores.shape[1] // batches * half
    halves = [(means[:, s], squares[:, s]) for s in (slice(half), slice(batches - half, None))]
    centres = np.concatenate([mean.mean(axis=1) for mean, _ in halves])
    spreads = np.concatenate(
        [square.mean(axis=1) - mean.mean(axis=1) ** 2 for mean, square in halves]
    ) * (size / max(size - 1, 1))
    r_hats = r_hat_of(centres, np.maximum(spreads, 0), size)
    varied = np.sqrt(np.maximum(spreads.mean(axis=0), centres.var(axis=0))) > _LEAST_SPREAD
    every = means.reshape(-1, *means.shape[2:])
    return _Summary(
        np.minimum(every.mean(axis=0), 1.0),
        every.std(axis=0, ddof=1) / math.sqrt(len(every)),
        log_scores,
        split_r_hat(log_scores),
        float(r_hats[varied].max(initial=1.0)),
        effective_size(log_scores),
    )


def _warn(found: _Summary) -> None:
    if found.r_hat > _LIMIT_OF_SCORES or found.r_hat_edges > _LIMIT_OF_EDGES:
        reporter().warn(
            f"the chains do not agree yet: R̂ is {found.r_hat:.3f} for the scores of orders (over "
            f"{_LIMIT_OF_SCORES} is doubtful) and at most {found.r_hat_edges:.3f} for edges (over "
            f"{_LIMIT_OF_EDGES}); take more iterations"
        )
