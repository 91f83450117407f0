"""Why each two variables have an edge or none, from the log of a run of PC."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from typing import Any

from gml.errors import DataError, listing, place, with_flags
from gml.formats.test_log import read_log
from gml.graph.graph import Graph
from gml.learners.explain import Explainer, Explanation
from gml.pictures.page.content import ExplainedPair, ExplainedPairs
from gml.progress import reporter

_MOST_PAIRS = 1000
"""All pairs of 45 variables; of more variables, the edges and the closest of the other pairs."""

Record = Mapping[str, Any]


def explained_pairs(
    path: str | os.PathLike[str], graph: Graph, most: int = _MOST_PAIRS
) -> ExplainedPairs:
    """Explain the edges of a log, then pairs without one, among the nodes of a graph.

    Pairs that the graph joins all the same come before those that came closest to an edge.
    """
    records = read_log(path)
    names = graph.names
    logged, of_model = records[0]["names"], set(names)
    others = [name for name in logged if name not in of_model]
    if len(others) == len(logged):
        raise DataError(
            f"{place(path)}: the log is of other variables: {listing(logged)}, and the model has "
            + listing(names)
        )
    if others:
        reporter().warn(f"{place(path)}: not in the model, left out: {listing(sorted(others))}")
    explainer = Explainer(records)
    edges = [
        (record["source"], record["target"])
        for record in records
        if record["record"] == "edge" and {record["source"], record["target"]} <= of_model
    ]
    known = sorted(of_model.intersection(logged))
    joined = {frozenset((edge.source, edge.target)) for edge in graph.edges}
    apart = _closest_first(records, known, edges)
    apart.sort(key=lambda pair: frozenset(pair) not in joined)
    shown = [*sorted(edges), *apart[: max(0, most - len(edges))]]
    pairs = tuple(_explained(x, y, explainer.explain(x, y)) for x, y in shown)
    return ExplainedPairs(pairs, len(edges) + len(apart) - len(shown))


def _closest_first(
    records: Sequence[Record], names: Sequence[str], edges: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """The pairs without an edge, by the p-value that separated them; the smallest was closest."""
    joined = {frozenset(edge) for edge in edges}
    last: dict[frozenset[str], float | None] = {}
    for record in records:
        if record["record"] == "test" and record["phase"] == "skeleton":
            last[frozenset((record["x"], record["y"]))] = record["log10_p"]

    def closeness(pair: tuple[str, str]) -> tuple[bool, float, tuple[str, str]]:
        log10_p = last.get(frozenset(pair))
        return log10_p is None, log10_p or 0.0, pair

    apart = (pair for pair in itertools.combinations(names, 2) if frozenset(pair) not in joined)
    return sorted(apart, key=closeness)


def _explained(x: str, y: str, found: Explanation) -> ExplainedPair:
    """A pair with the test that decided: the last one, or that with the largest p for an edge."""
    tests = [test for test in found.tests if test["phase"] == "skeleton"]
    if found.edge is not None:
        tests = [test for test in tests if test["log10_p"] is not None]
        tests.sort(key=lambda test: (test["log10_p"], -test["level"]))
    return ExplainedPair(
        x,
        y,
        found.edge is not None,
        tuple(map(with_flags, found.sentences)),
        tests[-1]["log10_p"] if tests else None,
    )
