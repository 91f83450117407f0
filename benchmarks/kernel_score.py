"""How often hc --score kernel joins two independent columns, and finds two that depend.

    python benchmarks/kernel_score.py [--draws 100] [--rows 200,500,1000]

The regulariser was chosen on pairs of normal numbers; seeds here are others, and so are most of the
pairs: uniform, exponential, a label and a number, and labels. Dependent ones: a line, a square, and
a spread by a label. Prints a line of Markdown per pair and number of rows.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import gml

FIRST_SEED = 1_000_000


def pair(kind, n, seed):
    """Two columns; integers are labels."""
    rng = np.random.default_rng([seed, n])
    e, f = rng.normal(size=(2, n))
    label = rng.integers(3, size=n)
    return {
        "normal": lambda: (e, f),
        "uniform": lambda: (rng.random(n), rng.random(n)),
        "exponential": lambda: (rng.exponential(size=n), rng.exponential(size=n)),
        "label and number": lambda: (label, e),
        "labels": lambda: (label, rng.integers(3, size=n)),
        "line 0.3": lambda: (e, 0.3 * e + f),
        "square 0.3": lambda: (e, 0.3 * e**2 + f),
        "spread by a label": lambda: (label, e * np.where(label == 0, 1.8, 1.0)),
    }[kind]()


KINDS = (
    "normal", "uniform", "exponential", "label and number", "labels",
    "line 0.3", "square 0.3", "spread by a label",
)  # fmt: skip


def joined(kind, n, seed):
    """Whether hill climbing joins the pair."""
    variables, columns = [], []
    for name, column in zip("xy", pair(kind, n, seed), strict=True):
        is_label = column.dtype.kind != "f"
        variables.append(gml.Variable(name, ("a", "b", "c") if is_label else None))
        columns.append(column.astype(np.uint8) if is_label else column)
    data = gml.Dataset(tuple(variables), tuple(columns))
    return gml.hc(data, score="kernel", threads=1).graph.n_edges > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--rows", default="200,500,1000")
    options = parser.parse_args()
    print("| pair | rows | joined |\n|---|---|---|")
    for kind in KINDS:
        for n in map(int, options.rows.split(",")):
            seeds = range(FIRST_SEED, FIRST_SEED + options.draws)
            found = sum(joined(kind, n, seed) for seed in seeds)
            print(f"| {kind} | {n} | {found} of {options.draws} |", flush=True)


if __name__ == "__main__":
    main()
