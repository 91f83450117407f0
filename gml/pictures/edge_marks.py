"""Edges as lines with a mark at each end: a head, an open circle, or nothing.

Marks are shapes of their own, not SVG markers: renderers place and colour those differently. A line
stops where its mark begins, and the mark lies along the last stretch of the line, from where it was
cut to the border of the node. An edge with two heads is a double line, so that what stands for
something hidden is seen as that even where its heads are not.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from gml.graph.edges import EDGE_TYPES, Mark
from gml.pictures.layout.geometry import Point, Route, Size
from gml.pictures.svg import Markup, element, number

_HALVINGS = 24
# Neighbouring shapes whose borders only touch show a hairline of what is behind them.
_OVERLAP = 0.75
# Wide enough to be pointed at, whatever the width of the line.
_REACH = 10.0


@dataclass(frozen=True)
class Stroke:
    """How a line looks."""

    colour: str
    width: float = 1.3
    dash: str | None = None


def draw_edge(route: Route, type_: str, stroke: Stroke, background: str) -> list[Markup]:
    """Return an edge of this type along its route, which goes from its source to its target."""
    at_source, at_target = EDGE_TYPES[type_]
    tip, end = cut(route, _length(at_target, stroke))
    tail, start = cut(tip[::-1], _length(at_source, stroke))
    line = path_of(tail[::-1])
    drawn = [
        element(
            "path", d=path_of(route), stroke="none", stroke_width=_REACH, pointer_events="stroke"
        )
    ]
    if _is_double(type_):
        drawn += [
            _line(line, Stroke(stroke.colour, width_of(type_, stroke), stroke.dash)),
            _line(line, Stroke(background, _between(stroke))),
        ]
    else:
        drawn.append(_line(line, stroke))
    drawn += _mark(at_source, start, route[0], stroke, background)
    drawn += _mark(at_target, end, route[-1], stroke, background)
    return drawn


def mark_sizes(type_: str, stroke: Stroke) -> tuple[Size, Size]:
    """Return how wide and how long the marks of an edge are, at its source and at its target."""
    at_source, at_target = (_size(mark, stroke) for mark in EDGE_TYPES[type_])
    return at_source, at_target


def width_of(type_: str, stroke: Stroke) -> float:
    """Return how wide the line of an edge is; one with two heads has two."""
    if _is_double(type_):
        return 2 * stroke.width + _between(stroke)
    return stroke.width


def _is_double(type_: str) -> bool:
    return EDGE_TYPES[type_] == (Mark.ARROW, Mark.ARROW)


def _between(stroke: Stroke) -> float:
    return max(1.5, stroke.width)


def cut(route: Route, length: float) -> tuple[Route, Point]:
    """Return a route without the last stretch of this length as the crow flies, and its new end.

    A route that is shorter is cut to its start.

    Examples
    --------
    >>> straight = tuple(Point(0, 3.0 * k) for k in range(4))
    >>> [round(point.y, 3) for point in cut(straight, 3)[0]]
    [0.0, 2.0, 4.0, 6.0]
    """
    if length <= 0:
        return route, route[-1]
    end = route[-1]
    for first in range(len(route) - 4, -1, -3):
        if math.dist(route[first], end) > length:
            curve = route[first : first + 4]
            low, high = 0.0, 1.0
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                near = math.dist(_at(curve, middle), end) <= length
                low, high = (low, middle) if near else (middle, high)
            kept = route[:first] + _split(curve, low)
            return kept, kept[-1]
    return route[:1] * 4, route[0]


def path_of(route: Route) -> str:
    """Return the commands of an SVG path along a route."""
    start, *rest = (f"{number(point.x)},{number(point.y)}" for point in route)
    return f"M{start}C{' '.join(rest)}"


def _at(curve: Route, at: float) -> tuple[float, float]:
    """Return a point of a Bézier curve."""
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = curve
    rest = 1 - at
    a, b, c, d = rest**3, 3 * rest * rest * at, 3 * rest * at * at, at**3
    return a * ax + b * bx + c * cx + d * dx, a * ay + b * by + c * cy + d * dy


def _split(curve: Route, at: float) -> Route:
    """Return the part of a Bézier curve before a parameter, by de Casteljau's construction."""
    points, kept = list(curve), [curve[0]]
    while len(points) > 1:
        points = [
            Point(a.x + (b.x - a.x) * at, a.y + (b.y - a.y) * at)
            for a, b in itertools.pairwise(points)
        ]
        kept.append(points[0])
    return tuple(kept)


def _head(stroke: Stroke) -> tuple[float, float]:
    """Return the length of a head and half of its width."""
    return 6.0 + 2.0 * stroke.width, 3.2 + 0.8 * stroke.width


def _radius(stroke: Stroke) -> float:
    return 2.6 + 0.8 * stroke.width


def _length(mark: Mark, stroke: Stroke) -> float:
    """Return how much of a line its mark takes."""
    if mark == Mark.ARROW:
        return _head(stroke)[0] - _OVERLAP
    return 2 * _radius(stroke) + _outline(stroke) if mark == Mark.CIRCLE else 0.0


def _size(mark: Mark, stroke: Stroke) -> Size:
    if mark == Mark.ARROW:
        length, half = _head(stroke)
        return Size(2 * half, length)
    if mark == Mark.CIRCLE:
        across = 2 * _radius(stroke) + _outline(stroke)
        return Size(across, across)
    return Size(0.0, 0.0)


def _outline(stroke: Stroke) -> float:
    return max(1.3, 0.7 * stroke.width)


def _mark(mark: Mark, start: Point, end: Point, stroke: Stroke, background: str) -> list[Markup]:
    """Return the mark at the end of a line that was cut at `start`."""
    far = math.dist(start, end)
    if mark == Mark.TAIL or not far:
        return []
    along = Point((end.x - start.x) / far, (end.y - start.y) / far)
    if mark == Mark.CIRCLE:
        radius, outline = _radius(stroke), _outline(stroke)
        back = radius + outline / 2
        return [
            element(
                "circle",
                cx=end.x - along.x * back,
                cy=end.y - along.y * back,
                r=radius,
                fill=background,
                stroke=stroke.colour,
                stroke_width=outline,
            )
        ]
    length, half = _head(stroke)
    base = Point(end.x - along.x * length, end.y - along.y * length)
    corners = (
        Point(base.x - along.y * half, base.y + along.x * half),
        end,
        Point(base.x + along.y * half, base.y - along.x * half),
    )
    points = " ".join(f"{number(corner.x)},{number(corner.y)}" for corner in corners)
    return [element("polygon", points=points, fill=stroke.colour)]


def _line(path: str, stroke: Stroke) -> Markup:
    return element(
        "path",
        d=path,
        stroke=stroke.colour,
        stroke_width=stroke.width,
        stroke_dasharray=stroke.dash,
    )
