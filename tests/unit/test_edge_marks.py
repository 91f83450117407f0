"""Marks at the ends of edges: where they are, and where their lines stop."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gml.graph.edges import EDGE_TYPES, Mark
from gml.pictures.edge_marks import Stroke, cut, draw_edge
from gml.pictures.layout.geometry import Point

STROKE = Stroke("#123456", 2.0)
DOWN = tuple(Point(5.0, 30.0 * k) for k in range(4))
BEND = (Point(0, 0), Point(0, 60), Point(90, 40), Point(90, 100))


def drawn(route, type_, stroke=STROKE):
    return [ElementTree.fromstring(part) for part in draw_edge(route, type_, stroke, "#ffffff")]


def corners(polygon):
    return [tuple(map(float, point.split(","))) for point in polygon.get("points").split()]


def ends_of(path):
    """The first and the last point of a path."""
    points = path.get("d").removeprefix("M").replace("C", " ").split()
    return [tuple(map(float, point.split(","))) for point in (points[0], points[-1])]


def lines(parts):
    return [part for part in parts if part.tag == "path" and part.get("stroke") != "none"]


def at(curve, t):
    weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
    return tuple(sum(w * p[k] for w, p in zip(weights, curve, strict=True)) for k in (0, 1))


@pytest.mark.parametrize("type_", EDGE_TYPES)
def test_each_end_has_its_mark(type_):
    parts = drawn(DOWN, type_)
    for mark, end in zip(EDGE_TYPES[type_], (DOWN[0], DOWN[-1]), strict=True):
        heads = [p for p in parts if p.tag == "polygon" and corners(p)[1] == tuple(end)]
        circles = [p for p in parts if p.tag == "circle" and abs(float(p.get("cy")) - end.y) < 10]
        assert (len(heads), len(circles)) == (mark == Mark.ARROW, mark == Mark.CIRCLE)
    marks = [p for p in parts if p.tag in ("polygon", "circle")]
    assert len(marks) == sum(mark != Mark.TAIL for mark in EDGE_TYPES[type_])


def test_a_head_is_a_triangle_along_the_line_in_its_colour():
    (head,) = (part for part in drawn(DOWN, "-->") if part.tag == "polygon")
    left, tip, right = corners(head)
    assert tip == (5, 90)
    assert left[1] == right[1] == 80
    assert (left[0], right[0]) == (0.2, 9.8)
    assert head.get("fill") == STROKE.colour


def test_a_line_stops_where_its_head_begins():
    (line,) = lines(drawn(DOWN, "-->"))
    start, end = ends_of(line)
    assert start == (5, 0)
    # Three quarters of a pixel below the base of the head, so that no gap shows.
    assert end == pytest.approx((5, 80.75), abs=0.01)


def test_a_circle_is_open_and_touches_the_border_and_the_line():
    parts = drawn(DOWN, "o--")
    (circle,) = (part for part in parts if part.tag == "circle")
    (line,) = lines(parts)
    radius, outline = float(circle.get("r")), float(circle.get("stroke-width"))
    assert circle.get("fill") == "#ffffff"
    assert circle.get("stroke") == STROKE.colour
    assert float(circle.get("cy")) - radius - outline / 2 == pytest.approx(0, abs=0.01)
    assert ends_of(line)[0][1] == pytest.approx(2 * radius + outline, abs=0.01)
    assert ends_of(line)[1] == (5, 90)


def test_a_head_follows_the_tangent_of_a_curve():
    parts = drawn(BEND, "-->")
    (head,) = (part for part in parts if part.tag == "polygon")
    left, tip, right = corners(head)
    base = (left[0] + right[0]) / 2, (left[1] + right[1]) / 2
    assert min(math.dist(base, at(BEND, t / 2000)) for t in range(2001)) < 0.2
    # The tangent at the end is straight down; the head spans a short stretch before it.
    angle = math.atan2(tip[0] - base[0], tip[1] - base[1])
    assert 0 < math.degrees(angle) < 10
    side = right[0] - left[0], right[1] - left[1]
    along = tip[0] - base[0], tip[1] - base[1]
    assert abs(side[0] * along[0] + side[1] * along[1]) < 0.2


def test_an_edge_with_two_heads_is_a_double_line():
    outer, inner = lines(drawn(DOWN, "<->"))
    assert (outer.get("stroke"), inner.get("stroke")) == (STROKE.colour, "#ffffff")
    assert float(outer.get("stroke-width")) - float(inner.get("stroke-width")) == 4
    assert len(lines(drawn(DOWN, "-->"))) == 1


def test_an_edge_without_marks_goes_from_border_to_border():
    parts = drawn(BEND, "---")
    (line,) = lines(parts)
    assert ends_of(line) == [(0, 0), (90, 100)]
    assert {part.tag for part in parts} == {"path"}


def test_a_thin_line_can_be_pointed_at():
    (reach,) = (part for part in drawn(DOWN, "-->") if part.get("stroke") == "none")
    assert (reach.get("pointer-events"), float(reach.get("stroke-width"))) == ("stroke", 10)


places = st.builds(Point, *[st.floats(-500, 500).map(lambda x: round(x, 2))] * 2)


@given(st.integers(1, 3).flatmap(lambda n: st.tuples(*[places] * (3 * n + 1))), st.floats(0.5, 30))
def test_what_is_cut_off_is_as_long_as_asked(route, length):
    kept, end = cut(route, length)
    assert kept[0] == route[0]
    assert kept[-1] == end
    assert len(kept) % 3 == 1
    if len(set(kept)) > 1:
        assert math.dist(end, route[-1]) == pytest.approx(length, abs=1e-3)


@pytest.mark.parametrize("type_", EDGE_TYPES)
def test_an_edge_that_is_shorter_than_its_marks_is_drawn(type_):
    short = tuple(Point(0.0, float(k)) for k in range(4))
    for route in (short, short[:1] * 4):
        for part in drawn(route, type_):
            assert "nan" not in ElementTree.tostring(part, "unicode")
