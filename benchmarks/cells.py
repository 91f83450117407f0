"""One measurement in one process: CPU seconds of a task by a package, as a JSON line.

    python cells.py PACKAGE TASK FILE [REPETITIONS]

Run by run.py in the environment that has the package, on one core. The time is the smallest of the
repetitions (others' work on a shared machine only ever adds), imports and, but for the task `read`,
reading the file excluded.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Task = Callable[[], object]


def gml_task(task: str, path: str) -> Task:
    """Ours."""
    import gml
    from gml.learners.chowliu import chow_liu
    from gml.learners.ges import ges
    from gml.learners.hillclimb import hill_climb
    from gml.learners.pc import pc
    from gml.model.fit import fit

    if task == "read":
        return lambda: gml.read(path)
    if task == "marginals":
        net = gml.read_model(path)
        return lambda: gml.Inference(net).marginals()
    data = gml.read(path)
    if task in ("score-bic", "score-bdeu", "fit-mle"):
        graph = gml.Graph.from_edges(data.names, [(a, "-->", b) for a, b in _arcs(path)])
        if task == "fit-mle":
            return lambda: fit(graph, gml.MemoryCounter(data, threads=1))
        score = gml.SCORES[task.removeprefix("score-")]
        return lambda: gml.total(score(gml.MemoryCounter(data, threads=1)), graph)
    if task == "chowliu":
        # A new counter each time: masks are built within the measurement.
        return lambda: chow_liu(gml.MemoryCounter(data, threads=1))
    if task == "pairs":
        import numpy as np

        pairs = np.array(list(itertools.combinations(range(len(data.names)), 2)), dtype=np.int32)
        return lambda: gml.MemoryCounter(data, threads=1).pair_statistics(pairs)
    if task == "pc-same":
        # The test and the rules that pybnesian and bnlearn have.
        return lambda: pc(
            gml.TESTS["g"](gml.MemoryCounter(data, threads=1), df="full"),
            on_insufficient="drop",
            colliders="sepset",
        )
    if task == "pc":
        return lambda: pc(gml.TESTS["auto"](gml.MemoryCounter(data, threads=1)))
    if task in ("hc-bic", "hc-bdeu"):
        score = gml.SCORES[task.removeprefix("hc-")]
        return lambda: hill_climb(score(gml.MemoryCounter(data, threads=1)))
    if task == "ges-bic":
        return lambda: ges(gml.SCORES["bic"](gml.MemoryCounter(data, threads=1)))
    counter = gml.MemoryCounter(data, threads=1)
    test = gml.TESTS["g"](counter)
    return lambda: test(0, 1, (2, 3))


def pyagrum_task(task: str, path: str) -> Task:
    """pyAgrum: mutual information of all pairs, and a spanning tree by networkx."""
    import pyagrum as gum

    gum.setNumberOfThreads(1)
    if task == "read":
        return lambda: gum.BNLearner(path)
    if task == "marginals":
        net = gum.loadBN(path)

        def marginals() -> object:
            engine = gum.LazyPropagation(net)
            engine.makeInference()
            return [engine.posterior(name) for name in net.names()]

        return marginals
    learner = gum.BNLearner(path)
    learner.setNumberOfThreads(1)
    names = list(learner.names())
    if task in ("score-bic", "score-bdeu", "fit-mle"):
        return _pyagrum_on_graph(task, learner, path)
    if task == "citest":
        return lambda: learner.G2(names[0], names[1], [names[2], names[3]])
    if task in ("hc-bic", "hc-bdeu"):
        learner.useGreedyHillClimbing()
        if task == "hc-bic":
            learner.useScoreBIC()
        else:
            learner.useScoreBDeu()
        return lambda: learner.learnDAG()
    if task.startswith("pc"):
        learner.usePC()
        learner.useG2Test()
        learner.setPCAlpha(0.01)
        learner.setPCStable(True)
        return lambda: learner.learnPDAG()

    def pairs() -> list[tuple[float, str, str]]:
        return [
            (learner.mutualInformation(a, b), a, b) for a, b in itertools.combinations(names, 2)
        ]

    def tree() -> object:
        import networkx as nx

        graph = nx.Graph()
        graph.add_weighted_edges_from((a, b, w) for w, a, b in pairs())
        return list(nx.maximum_spanning_edges(graph, data=False))

    return tree if task == "chowliu" else pairs


def _pyagrum_on_graph(task: str, learner: Any, path: str) -> Task:
    import pyagrum as gum

    parents: dict[str, list[str]] = {name: [] for name in learner.names()}
    for parent, child in _arcs(path):
        parents[child].append(parent)
    if task == "fit-mle":
        graph = gum.DAG()
        number = {name: graph.addNode() for name in learner.names()}
        for parent, child in _arcs(path):
            graph.addArc(number[parent], number[child])
        # Without a prior pyAgrum refuses configurations that no row has.
        learner.useSmoothingPrior(1e-9)
        return lambda: learner.learnParameters(graph)
    if task == "score-bic":
        learner.useScoreBIC()
    else:
        learner.useScoreBDeu()
    return lambda: sum(learner.score(name, given) for name, given in parents.items())


def pgmpy_task(task: str, path: str) -> Task:
    """pgmpy."""
    import logging

    logging.disable(logging.WARNING)
    import pandas as pd
    from pgmpy.estimators import TreeSearch

    frame = pd.read_csv(path, dtype=str, keep_default_na=False).astype("category")
    if task in ("score-bic", "score-bdeu"):
        from pgmpy.base import DAG
        from pgmpy.structure_score import BIC, BDeu

        graph = DAG(_arcs(path))
        # Made anew each time: it remembers its local scores.
        if task == "score-bic":
            return lambda: BIC(frame).score(graph)
        return lambda: BDeu(frame, equivalent_sample_size=1).score(graph)
    return lambda: TreeSearch(frame, n_jobs=1).estimate(show_progress=False)


def pybnesian_task(task: str, path: str) -> Task:
    """pybnesian: its mutual information test, pair by pair."""
    import pyarrow as pa
    import pybnesian as pb

    table = _arrow_table(path)
    arrays = []
    for name in table.column_names:
        values = table[name].unify_dictionaries().combine_chunks()
        values = values.chunk(0) if isinstance(values, pa.ChunkedArray) else values
        arrays.append(
            pa.DictionaryArray.from_arrays(values.indices.cast(pa.int8()), values.dictionary)
        )
    frame = pa.RecordBatch.from_arrays(arrays, table.column_names)
    names = table.column_names
    if task in ("score-bic", "score-bdeu"):
        rule = pb.BIC(frame) if task == "score-bic" else pb.BDe(frame, 1)
        graph = pb.DiscreteBN(names, _arcs(path))
        return lambda: rule.score(graph)
    if task == "fit-mle":
        return lambda: pb.DiscreteBN(names, _arcs(path)).fit(frame)
    if task in ("hc-bic", "hc-bdeu"):

        def climb() -> object:
            rule = pb.BIC(frame) if task == "hc-bic" else pb.BDe(frame, 1)
            start = pb.DiscreteBN(names)
            return pb.GreedyHillClimbing().estimate(pb.ArcOperatorSet(), rule, start)

        return climb
    test = pb.MutualInformation(frame)
    if task == "citest":
        return lambda: test.pvalue(names[0], names[1], [names[2], names[3]])
    if task.startswith("pc"):
        return lambda: pb.PC().estimate(pb.MutualInformation(frame), alpha=0.01, use_sepsets=True)
    return lambda: [test.pvalue(a, b) for a, b in itertools.combinations(names, 2)]


def _arcs(path: str) -> list[tuple[str, str]]:
    """Edges of the network that a file was sampled from, else a chain over its columns."""
    beside = Path(path).parent / f"{Path(path).stem.split('_')[0]}.edges.json"
    if beside.exists():
        return [(a, b) for a, b in json.loads(beside.read_text())["arcs"]]
    with open(path) as file:
        names = file.readline().strip().replace('"', "").split(",")
    return list(itertools.pairwise(names))


def _arrow_table(path: str) -> Any:
    import pyarrow as pa
    import pyarrow.csv as pc

    with open(path) as file:
        names = file.readline().strip().replace('"', "").split(",")
    return pc.read_csv(
        path,
        read_options=pc.ReadOptions(use_threads=False),
        convert_options=pc.ConvertOptions(
            column_types={name: pa.dictionary(pa.int32(), pa.string()) for name in names},
            strings_can_be_null=False,
        ),
    )


def pyarrow_task(task: str, path: str) -> Task:
    """pyarrow reading into dictionaries."""
    return lambda: _arrow_table(path)


def pandas_task(task: str, path: str) -> Task:
    """pandas reading into categories."""
    import pandas as pd

    return lambda: pd.read_csv(path, dtype="category", keep_default_na=False)


def causallearn_task(task: str, path: str) -> Task:
    """causal-learn: PC with its G test."""
    import numpy as np
    import pandas as pd
    from causallearn.search.ConstraintBased.PC import pc

    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    codes = np.column_stack([pd.factorize(frame[c], sort=True)[0] for c in frame]).astype("int64")
    return lambda: pc(codes, 0.01, "gsq", show_progress=False)


PACKAGES = {
    "gml": gml_task,
    "causallearn": causallearn_task,
    "pyagrum": pyagrum_task,
    "pgmpy": pgmpy_task,
    "pybnesian": pybnesian_task,
    "pyarrow": pyarrow_task,
    "pandas": pandas_task,
}


def main() -> None:
    """Measure and print."""
    package, task, path, *rest = sys.argv[1:]
    repetitions = int(rest[0]) if rest else 5
    run = PACKAGES[package](task, path)
    seconds = []
    for _ in range(repetitions):
        before = time.process_time()
        run()
        seconds.append(time.process_time() - before)
        if seconds[-1] > 5:
            break
    print(json.dumps({"seconds": min(seconds)}))


if __name__ == "__main__":
    main()
