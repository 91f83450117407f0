"""Sweeps of Gibbs sampling: the kernel against NumPy, in nanoseconds of CPU time per spin.

NumPy has several tries, each with the thresholds of all configurations of the neighbours computed
beforehand, uniform numbers in single precision, and states in bytes: spin after spin over all
chains; and on the lattice, where all couplings are the same, the checkerboard over chains as well,
with sums of neighbours. The best of them counts. Both are timed in turn, on one thread, and the
median of the ratios is what is reported.

    python -m benchmarks.undirected_gibbs
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

from gml import kernel
from gml.data.dataset import Variable
from gml.model.undirected.chains.gibbs import GibbsChains
from gml.model.undirected.terms import Terms
from tests.lattices import lattice

COUPLING = 0.3
ROUNDS = 9
DRAWS_PER_ROUND = 40_000_000
CHAINS = (256, 1024, 4096, 16384)
COLUMNS = [
    "model",
    "chains",
    "NumPy, ns per spin",
    "kernel, ns per spin",
    "spins per second",
    "ratio",
]


def sparse_graph(n, degree, seed):
    """A random graph of spins with fields and couplings of their own."""
    rng = np.random.default_rng(seed)
    names = [f"s{k:03}" for k in range(n)]
    pairs = {
        tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(n * degree // 2)
    }
    scopes = sorted(pairs)
    terms = Terms.of(
        [Variable(name, ("-", "+")) for name in names], [[names[a], names[b]] for a, b in scopes]
    )
    sign = np.array([[1.0, -1.0], [-1.0, 1.0]])
    tables = [
        rng.normal(0, 0.4) * sign if len(scope) == 2 else np.zeros(2) for scope in terms.generators
    ]
    return terms, tables


def neighbours_of(terms, tables):
    """Of each spin, the others that it is joined to, and half the log odds that they give it."""
    around = [[] for _ in terms.sizes]
    for scope, table in zip(terms.generators, tables, strict=True):
        if len(scope) == 2:
            around[scope[0]].append((scope[1], float(table[1, 1])))
            around[scope[1]].append((scope[0], float(table[1, 1])))
    return around


class SpinBySpin:
    """NumPy over chains: the configuration of the neighbours, its threshold, a comparison."""

    def __init__(self, terms, tables, n_chains):
        self.rng = np.random.default_rng(0)
        self.states = self.rng.integers(0, 2, (len(terms.sizes), n_chains), dtype=np.uint8)
        self.steps = []
        for around in neighbours_of(terms, tables):
            bits = np.arange(1 << len(around))
            odds = np.zeros(len(bits))
            for place, (_, coupling) in enumerate(around):
                odds += 2 * coupling * (2 * (bits >> place & 1) - 1)
            others = [k for k, _ in around]
            self.steps.append((others, (1 / (1 + np.exp(-odds))).astype(np.float32)))

    def sweep(self, n):
        states, n_chains = self.states, self.states.shape[1]
        for _ in range(n):
            for target, (others, shares) in enumerate(self.steps):
                drawn = self.rng.random(n_chains, dtype=np.float32)
                if not others:
                    np.less(drawn, shares[0], out=states[target].view(bool))
                    continue
                at = states[others[-1]].copy()
                for k in reversed(others[:-1]):
                    at += at
                    at += states[k]
                np.less(drawn, shares.take(at), out=states[target].view(bool))


class Checkerboard:
    """NumPy over chains and all spins of one colour of a lattice; a border of zeros around it."""

    def __init__(self, size, coupling, n_chains):
        self.rng = np.random.default_rng(0)
        self.size = size
        self.spins = np.zeros((size + 2, size + 2, n_chains), dtype=np.int8)
        self.spins[1:-1, 1:-1] = 2 * self.rng.integers(0, 2, (size, size, n_chains)) - 1
        self.shares = (1 / (1 + np.exp(-2 * coupling * np.arange(-4, 5)))).astype(np.float32)

    def sweep(self, n):
        s, size = self.spins, self.size
        for _ in range(n):
            for colour, i in ((0, 0), (0, 1), (1, 0), (1, 1)):
                j = (colour + i) % 2
                rows, columns = slice(1 + i, size + 1, 2), slice(1 + j, size + 1, 2)
                at = s[i:size:2, columns] + s[2 + i : size + 2 : 2, columns]
                at += s[rows, j:size:2]
                at += s[rows, 2 + j : size + 2 : 2]
                at += 4
                up = self.rng.random(at.shape, dtype=np.float32) < self.shares.take(at)
                s[rows, columns] = 2 * up.view(np.int8) - 1


def nanoseconds(sampler, n_spins, n_chains):
    """CPU time of a spin, over enough sweeps to be timed."""
    n_sweeps = max(1, DRAWS_PER_ROUND // (n_spins * n_chains))
    if not isinstance(sampler, GibbsChains):
        n_sweeps = max(1, n_sweeps // 20)
    start = time.process_time()
    sampler.sweep(n_sweeps)
    return (time.process_time() - start) / (n_sweeps * n_spins * n_chains) * 1e9


def measured(name, terms, tables, n_chains):
    """A row of the table."""
    ours = GibbsChains(terms, terms.generators, tables, n_chains=n_chains, threads=1)
    theirs = [SpinBySpin(terms, tables, n_chains)]
    if name.startswith("lattice"):
        theirs.append(Checkerboard(10, COUPLING, n_chains))
    n_spins = len(terms.sizes)
    rounds = [
        (
            min(nanoseconds(sampler, n_spins, n_chains) for sampler in theirs),
            nanoseconds(ours, n_spins, n_chains),
        )
        for _ in range(ROUNDS)
    ]
    numpy_time, our_time = (statistics.median(column) for column in zip(*rounds, strict=True))
    ratio = statistics.median(a / b for a, b in rounds)
    return [
        name, str(n_chains), f"{numpy_time:.2f}", f"{our_time:.3f}", f"{1 / our_time:.2f}e9",
        f"{ratio:.1f}",
    ]  # fmt: skip


def main() -> None:
    models = {
        "lattice, 10 x 10": lattice(10, COUPLING),
        "random graph, 200 spins, mean degree 4": sparse_graph(200, 4, 1),
    }
    print(kernel.description(), file=sys.stderr)
    print("| " + " | ".join(COLUMNS) + " |")
    print("|---" + "|---:" * (len(COLUMNS) - 1) + "|")
    for name, (terms, tables) in models.items():
        for n_chains in CHAINS:
            print("| " + " | ".join(measured(name, terms, tables, n_chains)) + " |", flush=True)


if __name__ == "__main__":
    main()
