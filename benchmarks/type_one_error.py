"""How often tests at level 0.01 reject an independence that is true, from dense to sparse tables.

    python benchmarks/type_one_error.py [SAMPLES]

x and y are independent given z by construction. `even`: all levels equally likely; `skewed`: their
probabilities drawn anew for each stratum, uniform over the simplex. Prints a Markdown table.
"""

from __future__ import annotations

import sys

import numpy as np

import gml
from gml.data.dataset import Dataset, Variable

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


def main() -> None:
    """Simulate and print."""
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
