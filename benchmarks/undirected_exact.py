"""How long exact fits of undirected models take on moral graphs of benchmark networks.

Rows are drawn from the network, the terms are the edges or the cliques of its moral graph, and each
algorithm that can do it is timed on the same counts, the search for a maximum at infinity included.
Times are CPU seconds of the whole fit, counting included and reading not; the first fit, of asia,
is not shown, because it loads what the others need.

    python -m benchmarks.undirected_exact [--rows N] [--seconds S] [NETWORK …]
"""

from __future__ import annotations

import argparse
import time

import gml
from gml.graph.chordal import moral_graph
from gml.model.undirected.exact.fit_exact import fit_exact
from gml.model.undirected.fitting import Penalty
from gml.model.undirected.terms import Terms
from gml.progress import Deadline
from tests.places import SHARED

NETWORKS = ["sachs", "alarm", "insurance", "hailfinder"]
PENALTIES = {"": Penalty(), " l1 = 100": Penalty(l1=100.0), " l2 = 1": Penalty(l2=1.0)}
WAYS = [("newton", ""), ("l-bfgs", ""), ("ipf", ""), ("newton", " l2 = 1"), ("newton", " l1 = 100")]


def fits(name, counter, graph, factors, seconds):
    """One line per way to fit."""
    terms = Terms.of_graph(counter.variables, graph, factors)
    closed = [("closed-form", "")] if terms.is_decomposable else []
    for algorithm, penalty in [*closed, *WAYS]:
        start = time.process_time()
        fitted = fit_exact(
            counter,
            terms,
            algorithm=algorithm,
            penalty=PENALTIES[penalty],
            deadline=Deadline(seconds),
        )
        spent = time.process_time() - start
        ended = fitted.iterations if fitted.converged else f"{fitted.iterations}, stopped"
        yield (
            f"| {name} | {factors} | {terms.dimension} | {algorithm}{penalty} | {ended} "
            f"| {fitted.gap:.0e} | {len(fitted.supports)} | {spent:.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=60.0, help="what one fit may take")
    given = parser.parse_args()
    print("| network | terms | parameters | algorithm | iterations | gap | faces | CPU s |")
    print("|---|---|---:|---|---:|---:|---:|---:|")
    for name in ["asia", *given.networks]:
        net = gml.BayesNet.from_file(SHARED / "data" / "networks" / f"{name}.bif")
        counter = gml.MemoryCounter(net.sample(given.rows, seed=1))
        for factors in ("pairs", "cliques"):
            for line in fits(name, counter, moral_graph(net.graph), factors, given.seconds):
                if name != "asia":
                    print(line, flush=True)


if __name__ == "__main__":
    main()
