"""ln Z by annealed importance sampling (Neal 2001, Statistics and Computing 11:125).

Chains start as independent draws from the model without what joins variables, b(x) = Σ_k b_k(x_k),
where b_k is the average of the tables over all other axes (their main effects, in the sum-to-zero
gauge), whose sum is known. They then go through

    f_t(x) = exp((1 − β_t) b(x) + β_t λ(x)),  β_t = t / T,

with a sweep of Gibbs sampling for each t, and gather ln w = Σ_t (β_t − β_{t−1}) (λ − b)(x_{t−1}).
The mean of w estimates Z over the sum of exp(b) without bias, whether or not the sweeps mix; ln of
it is what is returned, with the standard error of the delta method, sd(w) / (mean(w) √chains), and
the effective sample size (Σ w)² / Σ w² (Kong, Liu & Wong 1994). A small one means that few chains
bear the estimate, and that the error itself is not to be trusted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, parameter, require_whole
from gml.model.undirected.chains.gibbs import GibbsChains, flat
from gml.model.undirected.fitting import OutOfTime
from gml.model.undirected.terms import Scope, Terms
from gml.progress import Deadline, reporter

Table = NDArray[np.float64]

N_CHAINS = 1024
N_STEPS = 1000


class AnnealedLogZ(NamedTuple):
    """An estimate of ln Z, its standard error, and the effective sample size that it rests on."""

    log_z: float
    error: float
    samples: float


def annealed_log_z(
    terms: Terms,
    scopes: Sequence[Scope],
    tables: Sequence[Table],
    *,
    chains: int = N_CHAINS,
    steps: int = N_STEPS,
    seed: int = 0,
    threads: int | None = None,
    deadline: Deadline | None = None,
) -> AnnealedLogZ:
    """Estimate ln of the sum of exp(Σ tables) over all states; −∞ is allowed in tables.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> terms = Terms.of([Variable(name, ("n", "y")) for name in "AB"], [["A", "B"]])
    >>> found = annealed_log_z(terms, [(0, 1)], [np.log([[1.0, 2.0], [3.0, 4.0]])], steps=100)
    >>> abs(found.log_z - math.log(10)) < 4 * found.error < 0.01
    True
    """
    require_whole(2, chains=chains)
    require_whole(1, steps=steps)
    base = _main_effects(terms, scopes, tables)
    singles: list[Scope] = [(k,) for k in range(len(terms.sizes))]
    every = [*scopes, *singles]

    goal = flat([*tables, *(np.zeros_like(table) for table in base)])
    start = flat([*(np.zeros_like(table) for table in tables), *base])
    impossible = np.isneginf(goal)
    possible = np.where(impossible, 0.0, goal)

    def mixed(beta: float) -> Table:
        numbers = beta * possible + (1 - beta) * start
        if beta:
            numbers[impossible] = -np.inf
        return numbers

    none = [np.zeros(terms.shape(scope)) for scope in every]
    walkers = GibbsChains(
        terms, every, none, n_chains=chains, seed=seed, changing=True, threads=threads
    )
    walkers.set_numbers(mixed(0.0))
    walkers.sweep()
    difference = goal - start
    log_weights = np.zeros(chains)
    for t in range(1, steps + 1):
        if deadline is not None and deadline.passed:
            raise OutOfTime(
                f"{parameter('max_seconds')} passed at step {t} of {steps} of the annealing"
            )
        log_weights += walkers.sums(every, difference) / steps
        if t < steps:
            walkers.set_numbers(mixed(t / steps))
            walkers.sweep()
        reporter().advance("annealing", t, steps)
    log_start = math.fsum(float(np.log(np.exp(table).sum())) for table in base)
    return _summed_up(log_weights, log_start)


def _summed_up(log_weights: Table, log_start: float) -> AnnealedLogZ:
    largest = float(log_weights.max())
    if largest == -math.inf:
        raise CannotAnswer("no chain of the annealing has ended in a possible state")
    weights = np.exp(log_weights - largest)
    mean = float(weights.mean())
    error = float(weights.std(ddof=1)) / (mean * math.sqrt(len(weights)))
    samples = float(weights.sum() ** 2 / (weights**2).sum())
    return AnnealedLogZ(log_start + largest + math.log(mean), error, samples)


def _main_effects(terms: Terms, scopes: Sequence[Scope], tables: Sequence[Table]) -> list[Table]:
    """One table per variable: the averages of all tables over their other axes, summing to 0."""
    found = [np.zeros(size) for size in terms.sizes]
    for scope, table in zip(scopes, tables, strict=True):
        finite = _finite(table)
        for axis, k in enumerate(scope):
            others = tuple(i for i in range(len(scope)) if i != axis)
            effect = finite.mean(axis=others) if others else finite
            found[k] += effect - effect.mean()
    return found


def _finite(table: Table) -> Table:
    """The table with zeros where it is −∞: what is impossible is for the weights to say."""
    return np.where(np.isneginf(table), 0.0, table)
