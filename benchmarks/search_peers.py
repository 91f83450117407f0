"""Score-based searches of other packages: one call in one process, the graph as a JSON line.

    python search_peers.py TOOL SCORE FILE

Run by search_quality.py in the environment that has the packages. Settings are those that a user
gets, but for the score (BIC, or BDeu with an equivalent sample size of 1) and a single thread.
Edges that a tool leaves undirected come back as such; CPU seconds are those of the search alone.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

Arcs = list[tuple[str, str]]
Search = Callable[[], tuple[Arcs, Arcs]]


def pybnesian_hc(score: str, path: str) -> Search:
    """pybnesian: greedy hill climbing."""
    import pyarrow as pa
    import pybnesian as pb
    from cells import _arrow_table

    table = _arrow_table(path)
    names = table.column_names
    arrays = []
    for name in names:
        values = table[name].unify_dictionaries().combine_chunks()
        values = values.chunk(0) if isinstance(values, pa.ChunkedArray) else values
        arrays.append(
            pa.DictionaryArray.from_arrays(values.indices.cast(pa.int8()), values.dictionary)
        )
    frame = pa.RecordBatch.from_arrays(arrays, names)

    def search() -> tuple[Arcs, Arcs]:
        rule = pb.BIC(frame) if score == "bic" else pb.BDe(frame, 1)
        climber = pb.GreedyHillClimbing()
        found = climber.estimate(pb.ArcOperatorSet(), rule, pb.DiscreteBN(names))
        return list(found.arcs()), []

    return search


def _pyagrum(method: str, score: str, path: str) -> Search:
    import pyagrum as gum

    gum.setNumberOfThreads(1)
    learner = gum.BNLearner(path)
    learner.setNumberOfThreads(1)
    names = list(learner.names())

    def search() -> tuple[Arcs, Arcs]:
        getattr(learner, method)()
        if score == "bic":
            learner.useScoreBIC()
        else:
            learner.useScoreBDeu()
        return [(names[a], names[b]) for a, b in learner.learnDAG().arcs()], []

    return search


def pyagrum_hc(score: str, path: str) -> Search:
    """pyAgrum: greedy hill climbing."""
    return _pyagrum("useGreedyHillClimbing", score, path)


def pyagrum_extended(score: str, path: str) -> Search:
    """pyAgrum: its extended hill climbing."""
    return _pyagrum("useExtendedGreedyHillClimbing", score, path)


def pyagrum_tabu(score: str, path: str) -> Search:
    """pyAgrum: local search with a tabu list."""
    return _pyagrum("useLocalSearchWithTabuList", score, path)


def _pgmpy_score(score: str, frame: Any) -> Any:
    from pgmpy.structure_score import BIC, BDeu

    return BIC(frame) if score == "bic" else BDeu(frame, equivalent_sample_size=1)


def _pgmpy_frame(path: str) -> Any:
    import logging

    import pandas as pd

    logging.disable(logging.WARNING)
    return pd.read_csv(path, dtype="category", keep_default_na=False)


def pgmpy_hc(score: str, path: str) -> Search:
    """pgmpy: hill climbing, which has a tabu list of 100 moves."""
    from pgmpy.causal_discovery import HillClimbSearch

    frame = _pgmpy_frame(path)

    def search() -> tuple[Arcs, Arcs]:
        rule = _pgmpy_score(score, frame)
        climber = HillClimbSearch(rule, return_type="dag", show_progress=False)
        return [(str(a), str(b)) for a, b in climber.fit(frame).causal_graph_.edges()], []

    return search


def pgmpy_ges(score: str, path: str) -> Search:
    """pgmpy: greedy equivalence search."""
    from pgmpy.causal_discovery import GES

    frame = _pgmpy_frame(path)

    def search() -> tuple[Arcs, Arcs]:
        found = GES(_pgmpy_score(score, frame)).fit(frame).causal_graph_
        arcs = [(str(a), str(b)) for a, b in found.directed_edges]
        return arcs, [(str(a), str(b)) for a, b in found.undirected_edges]

    return search


def causallearn_ges(score: str, path: str) -> Search:
    """causal-learn: greedy equivalence search; BDeu, with a structure prior of its own."""
    import numpy as np
    import pandas as pd
    from causallearn.search.ScoreBased.GES import ges

    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    names = list(frame.columns)
    codes = np.column_stack([pd.factorize(frame[c], sort=True)[0] for c in frame]).astype("int64")

    def search() -> tuple[Arcs, Arcs]:
        # 1 at the end of an arrow, -1 at a tail.
        ends = ges(codes, "local_score_BDeu")["G"].graph
        arcs, lines = [], []
        for i, j in zip(*np.nonzero(ends), strict=True):
            if ends[i, j] == -1 and ends[j, i] == 1:
                arcs.append((names[i], names[j]))
            elif ends[i, j] == ends[j, i] and i < j:
                lines.append((names[i], names[j]))
        return arcs, lines

    return search


TOOLS: dict[str, Callable[[str, str], Search]] = {
    "pybnesian hc": pybnesian_hc,
    "pyagrum hc": pyagrum_hc,
    "pyagrum extended": pyagrum_extended,
    "pyagrum tabu": pyagrum_tabu,
    "pgmpy hc": pgmpy_hc,
    "pgmpy ges": pgmpy_ges,
    "causallearn ges": causallearn_ges,
}


def main() -> None:
    """Search and print."""
    tool, score, path = sys.argv[1:]
    search = TOOLS[tool](score, path)
    before = time.process_time()
    arcs, lines = search()
    seconds = time.process_time() - before
    # Some packages print on their way: the result is the last line.
    print()
    print(json.dumps({"arcs": arcs, "lines": lines, "seconds": seconds}))


if __name__ == "__main__":
    main()
