"""The facts that the scripts of the page work with, as one JSON object in it.

Floats are written so that they read back as they were: posteriors computed in the page are those
of the model itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from gml.data.dataset import Variable
from gml.errors import CannotAnswer, counted
from gml.formats.json_document import encode
from gml.graph.edge_numbers import Directions
from gml.graph.edges import Edge
from gml.graph.open_arrows import open_arrows
from gml.model.markovnet import COUPLING, MarkovNet
from gml.model.network import CPT, Cpd
from gml.model.regressions import ConditionalGaussian, LinearGaussian
from gml.pictures.layout.geometry import Layout, Link, Route, Size
from gml.pictures.layout.layered import layered
from gml.pictures.layout.packing import gridded
from gml.pictures.page.content import (
    NO_ROWS,
    ExplainedPair,
    Information,
    ReportContent,
)
from gml.pictures.page.posteriors import Posteriors
from gml.pictures.svg import Markup, number
from gml.pictures.text_width import text_width

SCHEMA = "gml-report/1"
_MOST_BARS = 5
_MOST_SHOWN = 20_000
"""Cells of a table: more are not read."""
_NAME_SIZE, _NAME_HEIGHT = 13, 24
_BAR_HEIGHT, _BELOW_BARS = 15, 6
_LEAST_WIDTH, _MOST_WIDTH = 128.0, 260.0
_GAP = 24.0
# What ends a script element or a line of script, and halves of characters, which no file can hold.
_UNSAFE = re.compile("[<\u2028\u2029\ud800-\udfff]")


def json_for_page(value: Any) -> Markup:
    r"""Return JSON that can stand in a script element, whatever its texts hold.

    Examples
    --------
    >>> json_for_page({"a": "</script>"})
    '{"a": "\\u003c/script>"}'
    """
    return Markup(_UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", encode(value)))


def payload(content: ReportContent, posteriors: Posteriors) -> dict[str, Any]:
    """Return all that the scripts know."""
    strengths = content.strengths
    return {
        "schema": SCHEMA,
        "title": content.title,
        "graph": _graph(content),
        "model": _model(content, computes=posteriors.mode == "exact"),
        "inference": {
            "mode": posteriors.mode,
            "why": posteriors.why,
            "prior": dict(posteriors.prior),
            "given": posteriors.given,
            "do": posteriors.do,
        },
        "tests": None
        if content.tests is None
        else {"pairs": [_pair(pair) for pair in _pairs_of_edges(content)]},
        "strengths": None
        if strengths is None
        else {
            "threshold": strengths.threshold,
            "edges": [
                {
                    "source": edge.source,
                    "target": edge.target,
                    "type": edge.type,
                    "strength": edge.strength,
                    **_directions(edge.directions),
                }
                for edge in strengths.edges
            ],
        },
    }


def _pairs_of_edges(content: ReportContent) -> list[ExplainedPair]:
    """The pairs that an edge of the picture can show; all others are in the table of the page."""
    if content.tests is None:
        return []
    graph = content.net.graph
    found = content.tests.by_pair
    ends = (frozenset((edge.source, edge.target)) for edge in graph.edges)
    return [found[pair] for pair in ends if pair in found]


def _pair(pair: ExplainedPair) -> dict[str, Any]:
    return {"x": pair.x, "y": pair.y, "why": " ".join(pair.sentences)}


def _model(content: ReportContent, *, computes: bool) -> dict[str, Any]:
    """The nodes with their tables; of an undirected model, the factors that the page computes with.

    The product of the factors is P(x) up to a constant, which the page finds.
    """
    net = content.net
    if not isinstance(net, MarkovNet):
        return {"nodes": [node_facts(cpd, computes=computes) for cpd in net.cpds]}
    factors = [
        {
            "scope": [variable.name for variable in factor.scope],
            "table": factor.table.ravel().tolist(),
        }
        for factor in (net.factors if computes else ())
    ]
    nodes = [
        {"id": variable.name, "parents": [], "levels": list(variable.levels or ())}
        for variable in net.variables
    ]
    return {"nodes": nodes, "factors": factors}


def node_facts(cpd: Cpd, *, computes: bool) -> dict[str, Any]:
    """Return what the page knows of a node; of a large table only what it computes with."""
    about = {"id": cpd.variable.name, "parents": [parent.name for parent in cpd.parents]}
    if isinstance(cpd, LinearGaussian):
        return about | {"gaussian": _line(cpd)}
    if isinstance(cpd, ConditionalGaussian):
        is_large = cpd.n_parameters > _MOST_SHOWN and not computes
        lines = None if is_large else [_line(line) | {"n": line.n} for line in cpd.regressions]
        return about | {"regressions": lines}
    assert isinstance(cpd, CPT)
    is_large = cpd.table.size > _MOST_SHOWN
    return about | {
        "levels": list(cpd.variable.levels or ()),
        "cpt": None if is_large and not computes else cpd.table.tolist(),
        "counts": None if cpd.counts is None or is_large else cpd.counts.tolist(),
    }


def _line(line: LinearGaussian) -> dict[str, Any]:
    return {
        "intercept": line.intercept,
        "coefficients": list(line.coefficients),
        "sd": line.sd,
    }


# ---------------------------------------------------------------------- the picture


def _graph(content: ReportContent) -> dict[str, Any]:
    graph = content.net.graph
    edges = graph.edges
    sizes = [_size(variable) for variable in content.net.variables]
    links = [
        Link(graph.index(edge.source), graph.index(edge.target), edge.type == "-->")
        for edge in edges
    ]
    undrawn = None
    try:
        found = layered(sizes, links, names=graph.names)
    except CannotAnswer:
        # The nodes can still be chosen, and their panels name the edges.
        undrawn = f"{counted(len(edges), 'edge')} would hide one another"
        centres = gridded(sizes, _GAP)
        boxes = list(zip(centres, sizes, strict=True))
        width = max(centre.x + size.width / 2 for centre, size in boxes)
        height = max(centre.y + size.height / 2 for centre, size in boxes)
        found = Layout(tuple(centres), ((),) * len(edges), width, height)
    return {
        "kind": graph.kind,
        "undrawn": undrawn,
        "width": _rounded(found.width),
        "height": _rounded(found.height),
        "nodes": _boxes(graph.names, sizes, found),
        "edges": _edges(content, edges, found.routes),
    }


def _size(variable: Variable) -> Size:
    """Room for the name of a node and its bars, or a bell."""
    n_bars = 3 if variable.levels is None else min(len(variable.levels), _MOST_BARS)
    wanted = text_width(variable.name, _NAME_SIZE, bold=True) + 24
    width = min(max(wanted, _LEAST_WIDTH), _MOST_WIDTH)
    return Size(round(width, 2), _NAME_HEIGHT + _BAR_HEIGHT * n_bars + _BELOW_BARS)


def _boxes(names: Sequence[str], sizes: Sequence[Size], found: Layout) -> list[dict[str, Any]]:
    return [
        {
            "id": name,
            "x": _rounded(centre.x),
            "y": _rounded(centre.y),
            "width": size.width,
            "height": size.height,
        }
        for name, size, centre in zip(names, sizes, found.centres, strict=True)
    ]


def _edges(
    content: ReportContent, edges: Sequence[Edge], routes: Sequence[Route]
) -> list[dict[str, Any]]:
    left_open = set(open_arrows(content.net.graph))
    averaged = content.strengths
    places = {frozenset((p.x, p.y)): k for k, p in enumerate(_pairs_of_edges(content))}
    coefficients, ranges = _coefficients(content), _ranges_of_coefficients(content)
    found = []
    for edge, route in zip(edges, routes, strict=True):
        source, target = edge.source, edge.target
        strength = None if averaged is None else averaged.by_pair.get(frozenset((source, target)))
        found.append(
            {
                "source": source,
                "target": target,
                "type": edge.type,
                "open": (source, target) in left_open,
                "path": _path(route) if route else None,
                "mi": _information(content.information, source, target),
                "strength": None if strength is None else strength.strength,
                "below": averaged is not None and averaged.is_below(source, target),
                **_directions(None if strength is None else strength.towards(target)),
                "coefficient": coefficients.get((source, target)),
                "coefficients": ranges.get((source, target)),
                "coupling": edge.attributes.get(COUPLING),
                "tests": places.get(frozenset((source, target))),
            }
        )
    return found


def _information(found: Information | None, x: str, y: str) -> float | str | None:
    """The mutual information of two columns, in words where JSON has no number for it."""
    nats = None if found is None else found.between(x, y)
    if nats is None or math.isfinite(nats):
        return nats
    return NO_ROWS if math.isnan(nats) else "infinite"


def _directions(known: Directions | None) -> dict[str, float | None]:
    return dict.fromkeys(Directions._fields) if known is None else known._asdict()


def _coefficients(content: ReportContent) -> dict[tuple[str, str], float]:
    return {
        (parent.name, cpd.variable.name): coefficient
        for cpd in getattr(content.net, "cpds", ())
        if isinstance(cpd, LinearGaussian)
        for parent, coefficient in zip(cpd.parents, cpd.coefficients, strict=True)
    }


def _ranges_of_coefficients(content: ReportContent) -> dict[tuple[str, str], list[float]]:
    """The smallest and the largest coefficient of a number in regressions that labels choose."""
    found = {}
    for cpd in getattr(content.net, "cpds", ()):
        if isinstance(cpd, ConditionalGaussian):
            for k, parent in enumerate(cpd.number_parents):
                each = [line.coefficients[k] for line in cpd.regressions]
                found[parent.name, cpd.variable.name] = [min(each), max(each)]
    return found


def _path(route: Route) -> str:
    start, *rest = (f"{number(point.x)},{number(point.y)}" for point in route)
    return f"M{start} C{' '.join(rest)}"


def _rounded(value: float) -> float:
    return round(float(value), 2)
