"""How often tests at level 0.01 reject an independence that is true, from dense to sparse tables.

    python benchmarks/type_one_error.py [SAMPLES]
    python benchmarks/type_one_error.py NETWORK.bif ROWS [SAMPLES]

x and y are independent given z by construction. `even`: all levels equally likely; `skewed`: their
probabilities drawn anew for each stratum, uniform over the simplex. Prints a Markdown table.

With a network, `auto` is asked about what its true graph implies, and about its edges, each given
the other parents: how often p is at most 0.05, 0.01 and 0.001.
"""

from __future__ import annotations

import sys

import numpy as np

import gml
from gml.data.dataset import Dataset, Variable
from gml.independence.implied import implied_independences

LEVEL = 0.01
TESTS = {
    "g full": ("g", {"df": "full"}),
    "g adjusted": ("g", {"df": "adjusted"}),
    "chi2 full": ("chi2", {"df": "full"}),
    "chi2 adjusted": ("chi2", {"df": "adjusted"}),
    "auto": ("auto", {}),
}
SHAPES = ((2, 2, 8), (3, 3, 9), (3, 3, 27), (3, 3, 81), (2, 4, 64))
ROWS_A_CELL = (1, 2, 5, 20)


def sample(rng, shape, n, skewed):
    """x, y, z with x independent of y given z."""
    rows, columns, strata = shape
    z = rng.integers(0, strata, n)
    codes = []
    for levels in (rows, columns):
        tables = np.full((strata, levels), 1 / levels)
        if skewed:
            tables = rng.dirichlet(np.ones(levels), strata)
        limits = tables.cumsum(axis=1)[:, :-1]
        codes.append((rng.random(n)[:, None] > limits[z]).sum(axis=1))
    variables = tuple(
        Variable(name, tuple(map(str, range(levels))))
        for name, levels in zip("xyz", (rows, columns, strata), strict=True)
    )
    return Dataset(variables, tuple(c.astype(np.uint8) for c in (*codes, z)))


def of_network(path, rows, samples):
    """Shares of p-values of at most three levels: of implied independences, and of edges."""
    net = gml.BayesNet.from_file(path)
    graph = net.graph
    edges = [
        (graph.names[u], graph.names[v], [graph.names[w] for w in graph.parents(v) if w != u])
        for v in range(len(graph.names))
        for u in graph.parents(v)
    ]
    asked = {"independences": implied_independences(graph), "edges": edges}
    found = {what: [] for what in asked}
    for seed in range(samples):
        counter = gml.MemoryCounter(gml.sample(net, rows, seed=seed), threads=1)
        position = {variable.name: j for j, variable in enumerate(counter.variables)}
        for what, triples in asked.items():
            results = gml.TESTS["auto"](counter).batch(
                [(position[u], position[v], tuple(position[w] for w in z)) for u, v, z in triples]
            )
            found[what].append(results.log_p[results.sufficient & results.varies])
    for what, parts in found.items():
        log_p = np.concatenate(parts)
        shares = " | ".join(f"{np.mean(log_p <= np.log(a)):.5f}" for a in (0.05, 0.01, 0.001))
        print(f"| {path} | {rows} | {what} | {len(log_p)} | {shares} |")


def main() -> None:
    """Simulate and print."""
    if len(sys.argv) > 2:
        of_network(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 100)
        return
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("| margins | table | rows per cell | " + " | ".join(TESTS) + " |")
    print("|---|---|---|" + "---|" * len(TESTS))
    rng = np.random.default_rng(0)
    for skewed in (False, True):
        for shape in SHAPES:
            for rows in ROWS_A_CELL:
                rejected = dict.fromkeys(TESTS, 0)
                for _ in range(samples):
                    data = sample(rng, shape, rows * int(np.prod(shape)), skewed)
                    counter = gml.MemoryCounter(data, threads=1)
                    for label, (name, options) in TESTS.items():
                        test = gml.TESTS[name](counter, **options)
                        rejected[label] += test.verdict(test(0, 1, (2,)), LEVEL) == "dependent"
                shown = " | ".join(f"{count / samples:.3f}" for count in rejected.values())
                kind = "skewed" if skewed else "even"
                print(f"| {kind} | {'×'.join(map(str, shape))} | {rows} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
