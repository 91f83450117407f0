"""Crossings in drawings of the benchmark networks: ours against those of Graphviz's dot.

Both lay out the same boxes, and the curves that they draw are counted by the same code: each point
where two edges cross counts, unless it is at a node that they share. Edges that enter a node by
more than a pixel are counted, too. As dot's result depends on the order of the nodes, it has two
tries, with the nodes in the order of their names and in that of the file, and the one with fewer
crossings counts. Times are CPU seconds of one layout, with those of the program dot, which pydot
starts.

    python -m benchmarks.crossings [NETWORK …]
"""

from __future__ import annotations

import os
import sys

from gml.pictures.layout.graphviz import dot_layout
from gml.pictures.layout.layered import layered
from tests.drawn import crossings, drawing_of, edges_through_nodes
from tests.places import SHARED

COLUMNS = [
    "network", "nodes", "edges", "ours", "dot", "ratio",
    "through nodes: ours", "dot", "our size", "dot's size", "our seconds", "dot's seconds",
]  # fmt: skip


def cpu_seconds() -> float:
    """The CPU time of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def measured(layout, names, sizes, links):
    """What a layout draws, and how long it takes."""
    start = cpu_seconds()
    found = layout(sizes, links, names=names)
    seconds = cpu_seconds() - start
    return (
        crossings(sizes, links, found),
        len(edges_through_nodes(sizes, links, found, spared=1.0)),
        f"{found.width:.0f} x {found.height:.0f}",
        f"{seconds:.2f}",
    )


def main() -> None:
    chosen = sys.argv[1:]
    drawings = {
        path.name.split(".")[0]: drawing_of(path)
        for path in (SHARED / "data" / "networks").glob("*.bif*")
    }
    print("| " + " | ".join(COLUMNS) + " |")
    print("|---" + "|---:" * (len(COLUMNS) - 1) + "|")
    for network, (names, sizes, links) in sorted(
        drawings.items(), key=lambda item: (len(item[1][0]), item[0])
    ):
        if chosen and network not in chosen:
            continue
        ours, through, size, seconds = measured(layered, names, sizes, links)
        in_order = [f"{i:06}" for i in range(len(names))]
        theirs, their_through, their_size, their_seconds = min(
            measured(dot_layout, order, sizes, links) for order in (names, in_order)
        )
        ratio = f"{ours / theirs:.2f}" if theirs else ("1.00" if not ours else "∞")
        cells = [
            network, len(names), len(links), ours, theirs, ratio,
            through, their_through, size, their_size, seconds, their_seconds,
        ]  # fmt: skip
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
