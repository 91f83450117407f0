"""Layouts by Graphviz: its program dot places nodes of our sizes, and routes the edges.

pydot writes the graph for it. Nodes go in by number in the order of their names, so that no
name needs quoting and the order of the columns does not show.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import partial
from shutil import which
from typing import TYPE_CHECKING, Any

from gml.data.json_text import parse_json
from gml.errors import CannotAnswer, DataError
from gml.pictures.layout.canonical import by_name
from gml.pictures.layout.geometry import Layout, Link, Point, Route, Size
from gml.pictures.layout.orientation import Pair, acyclic
from gml.pictures.layout.ranks import boundaries
from gml.progress import reporter
from gml.stopping import check_stopped

if TYPE_CHECKING:
    import pydot

_POINTS_PER_INCH = 72
_STEP = 0.2
"""Seconds between looks whether the program is still wanted."""
_LONGEST = 120.0
"""Seconds until the program is stopped."""


def dot_layout(
    sizes: Sequence[Size],
    links: Sequence[Link],
    *,
    names: Sequence[str],
    tiers: Sequence[int | None] | None = None,
    node_gap: float = 24.0,
    rank_gap: float = 48.0,
) -> Layout:
    """Return the layout that Graphviz gives; the parameters are those of `layered`."""
    placing = partial(_placed, node_gap=node_gap, rank_gap=rank_gap)
    return by_name(sizes, links, names, tiers, placing)


def _placed(
    sizes: Sequence[Size],
    links: Sequence[Link],
    tiers: Sequence[int | None],
    node_gap: float,
    rank_gap: float,
) -> Layout:
    if not sizes:
        return Layout((), (), 0.0, 0.0)
    limits = boundaries(tiers)
    n_all = max([len(sizes) - 1, *(max(pair) for pair in limits)]) + 1
    pairs = acyclic(n_all, links, limits)
    found = _answer(_written(sizes, pairs, limits, node_gap, rank_gap))
    _, _, width, height = (float(value) for value in found["bb"].split(","))
    centres: dict[int, Point] = {}
    for node in found["objects"]:
        x, y = (float(value) for value in node["pos"].split(","))
        centres[int(node["name"])] = Point(x, height - y)
    routes: dict[int, Route] = {}
    for edge in found.get("edges", []):
        if "comment" in edge:
            index = int(edge["comment"])
            points = [place.split(",") for place in edge["pos"].split()]
            route = tuple(Point(float(x), height - float(y)) for x, y in points)
            routes[index] = route if pairs[index][0] == links[index].source else route[::-1]
    return Layout(
        tuple(centres[node] for node in range(len(sizes))),
        tuple(routes[link] for link in range(len(links))),
        width,
        height,
    )


def _answer(graph: pydot.Dot) -> Any:
    """Return what the program says about a graph."""
    if which("dot") is None:
        raise CannotAnswer(
            "the layout dot needs Graphviz, whose program dot is not installed; install it, or use "
            "the layout layered, which needs nothing"
        )
    # pydot's own way to run it prints what the program says, and waits for it however long.
    try:
        return parse_json(_run(graph.to_string()), "the answer of Graphviz")
    except (OSError, DataError, subprocess.SubprocessError) as failed:
        raise CannotAnswer(
            "Graphviz could not lay this graph out; use the layout layered instead"
        ) from failed


def _run(written: str) -> str:
    """Return the answer of the program, which ends when nobody waits for it any more."""
    with subprocess.Popen(
        ["dot", "-Tjson0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as program:
        try:
            waited = 0.0
            given: str | None = written
            while True:
                try:
                    answer, said = program.communicate(given, timeout=_STEP)
                    break
                except subprocess.TimeoutExpired:
                    given = None
                    waited += _STEP
                    if waited >= _LONGEST:
                        raise
                    check_stopped()
                    reporter().advance("placing nodes", int(waited), None)
        except BaseException:
            program.kill()
            raise
    if said:
        reporter().note(said)
    if program.returncode:
        raise subprocess.CalledProcessError(program.returncode, "dot")
    return answer


def _written(
    sizes: Sequence[Size],
    pairs: Sequence[Pair],
    limits: Sequence[Pair],
    node_gap: float,
    rank_gap: float,
) -> pydot.Dot:
    """Return the graph, with a node that is not seen between two tiers."""
    import pydot

    graph = pydot.Dot(graph_type="digraph", nodesep=_inches(node_gap), ranksep=_inches(rank_gap))
    graph.set_node_defaults(shape="box", fixedsize="true", label='""')
    graph.set_edge_defaults(arrowhead="none")
    for node, size in enumerate(sizes):
        width, height = _inches(size.width), _inches(size.height)
        graph.add_node(pydot.Node(str(node), width=width, height=height))
    for index, (upper, lower) in enumerate(pairs):
        graph.add_edge(pydot.Edge(str(upper), str(lower), comment=index))
    for boundary in sorted({max(pair) for pair in limits}):
        graph.add_node(pydot.Node(str(boundary), style="invis", width=0, height=0))
    for upper, lower in limits:
        least = int(upper >= len(sizes))
        edge = pydot.Edge(str(upper), str(lower), style="invis", weight=0, minlen=least)
        graph.add_edge(edge)
    return graph


def _inches(length: float) -> str:
    return f"{length / _POINTS_PER_INCH:.6f}"
