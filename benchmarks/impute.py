"""How long `gml.impute` takes per row, by the kind of the model and the way holes are filled.

    python benchmarks/impute.py [--rows 2000]

A fifth of the cells is missing; CPU seconds of one process, the model fitted before. `distinct` is
the number of different incomplete rows, `patterns` that of different sets of holes.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise

import numpy as np
import pandas as pd

import gml
from gml.model.imputation import Imputer


def models():
    yield "labels (asia)", gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    names = [f"v{k}" for k in range(8)]
    rng = np.random.default_rng(1)
    rows = np.cumsum(rng.normal(size=(500, 8)), axis=1)
    chain = gml.Graph.from_edges(names, [(a, "-->", b) for a, b in pairwise(names)])
    yield "numbers (a chain of 8)", gml.fit(pd.DataFrame(rows, columns=names), chain, gaussian=True)
    graph = gml.Graph.from_edges(
        ["district", "condition", "size", "rent"],
        [
            ("district", "-->", "size"),
            ("district", "-->", "rent"),
            ("condition", "-->", "rent"),
            ("size", "-->", "rent"),
        ],
    )
    yield (
        "both (flats)",
        gml.fit(
            "sample_data/flats.csv", graph, numeric=["size", "rent"], columns=list(graph.names)
        ),
    )


def evidence_of(net, n_rows):
    data = net.sample(n_rows, seed=1)
    values = np.column_stack([column.astype(float) for column in data.columns])
    values[np.random.default_rng(2).random(values.shape) < 0.2] = np.nan
    return data.names, values


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2000)
    asked = parser.parse_args()
    for title, net in models():
        names, values = evidence_of(net, asked.rows)
        holes = np.isnan(values)
        some = holes.any(axis=1)
        distinct = len(np.unique(np.where(holes, -1e9, values)[some], axis=0))
        patterns = len(np.unique(holes[some], axis=0))
        print(f"{title}: {asked.rows} rows, {distinct} distinct, {patterns} patterns", flush=True)
        for method in ("mpe", "marginal", "draw"):
            fill = Imputer(net, names, method=method, seed=3)
            started = time.process_time()
            fill.fill(values)
            took = time.process_time() - started
            print(f"  {method:8} {took:8.3f} s, {1e6 * took / distinct:8.0f} µs per distinct row")
