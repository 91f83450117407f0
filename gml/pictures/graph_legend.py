"""What the legend of a graph explains: only what the picture has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gml.errors import counted
from gml.graph.edge_numbers import number_in
from gml.pictures.differences import (
    IN_BOTH,
    OTHER_MARK,
    REVERSED,
    DrawnEdge,
    counts_of,
    state_in_words,
    stroke_of,
)
from gml.pictures.distributions import Bars, Bell, is_observed, observed_dot
from gml.pictures.edge_marks import Stroke, draw_edge
from gml.pictures.edge_weights import EdgeScale, in_words
from gml.pictures.layout.geometry import Point
from gml.pictures.legends import Entry, Sample
from gml.pictures.node_boxes import NodeBox, hidden_border
from gml.pictures.svg import Markup, element, number
from gml.pictures.themes import Theme

_LINE = 34.0
_SHORT_LINE = 24.0
_BOX = 22.0
_BEFORE = "before the observation"


def legend_of(
    edges: Sequence[DrawnEdge],
    boxes: Sequence[NodeBox],
    scale: EdgeScale | None,
    reference: str | None,
    theme: Theme,
    compared: str = "",
) -> list[list[Entry]]:
    """Return the entries in groups.

    `reference` is the name of what the graph is drawn against, and `compared` says how.
    """
    groups = [
        [Entry(compared)] if compared else [],
        list(_difference_entries(edges, reference, theme)) if reference is not None else [],
        list(_node_entries(boxes, reference, theme)) if reference is not None else [],
        list(_hidden_entries(boxes, theme)),
        [Entry(scale.words)] if scale is not None else [],
        list(_weight_entries(edges, scale, theme)) if scale is not None else [],
        list(_mark_entries(edges, theme)),
        list(_distribution_entries(boxes, theme)),
    ]
    return [group for group in groups if group]


def _difference_entries(
    edges: Sequence[DrawnEdge], reference: str, theme: Theme
) -> Iterator[Entry]:
    without_arrows = all(
        edge.type == "---" and edge.state not in (REVERSED, OTHER_MARK) for edge in edges
    )
    for state, count in counts_of(edges).items():
        if without_arrows and state in (REVERSED, OTHER_MARK):
            continue
        words = f"{state_in_words(state, reference)}: {count}"
        type_ = "---" if state == IN_BOTH or without_arrows else "-->"
        yield _line_entry(words, type_, stroke_of(state, theme), theme)


def _node_entries(boxes: Sequence[NodeBox], reference: str, theme: Theme) -> Iterator[Entry]:
    for state in sorted({box.state for box in boxes if box.state is not None}):
        count = sum(box.state == state for box in boxes)
        words = f"{counted(count, 'node')} {state_in_words(state, reference)}"
        yield Entry(words, _box_sample(stroke_of(state, theme), theme), _BOX)


def _hidden_entries(boxes: Sequence[NodeBox], theme: Theme) -> Iterator[Entry]:
    if any(box.is_hidden and box.state is None for box in boxes):
        yield Entry("hidden: never seen", _box_sample(hidden_border(theme), theme), _BOX)


def _weight_entries(edges: Sequence[DrawnEdge], scale: EdgeScale, theme: Theme) -> Iterator[Entry]:
    for weight in scale.samples:
        stroke = scale.stroke(weight, theme)
        yield _line_entry(in_words(scale.name, weight, 5), "---", stroke, theme, _SHORT_LINE)
    if any(number_in(edge.attributes, scale.name) is None for edge in edges):
        yield _line_entry(f"no {scale.name}", "---", Stroke(theme.line), theme, _SHORT_LINE)


def _mark_entries(edges: Sequence[DrawnEdge], theme: Theme) -> Iterator[Entry]:
    types = {edge.type for edge in edges}
    if "<->" in types:
        yield _line_entry("hidden common cause", "<->", Stroke(theme.line), theme)
    if not types.isdisjoint({"o->", "o-o", "o--"}):
        yield _line_entry("arrow or tail: not known", "o--", Stroke(theme.line), theme)


def _distribution_entries(boxes: Sequence[NodeBox], theme: Theme) -> Iterator[Entry]:
    shown = [box.distribution for box in boxes if box.distribution is not None]
    before = [distribution for distribution in shown if distribution.prior is not None]
    if any(map(is_observed, shown)):
        yield Entry("observed", lambda x, y: [observed_dot(x + 3, y, theme)], 6)
    if any(isinstance(distribution, Bars) for distribution in before):
        yield Entry(_BEFORE, lambda x, y: [_tick_sample(x, y, theme)], 6)
    if any(isinstance(distribution, Bell) for distribution in before):
        yield Entry(_BEFORE, lambda x, y: [_curve_sample(x, y, theme)], _SHORT_LINE)


def _line_entry(
    words: str, type_: str, stroke: Stroke, theme: Theme, width: float = _LINE
) -> Entry:
    def sample(x: float, y: float) -> list[Markup]:
        route = tuple(Point(x + width * part / 3, y) for part in range(4))
        drawn = draw_edge(route, type_, stroke, theme.background)
        return [element("g", *drawn, fill="none")]

    return Entry(words, sample, width)


def _box_sample(stroke: Stroke, theme: Theme) -> Sample:
    def sample(x: float, y: float) -> list[Markup]:
        return [
            element(
                "rect",
                x=x,
                y=y - 6,
                width=_BOX,
                height=12,
                rx=3,
                fill=theme.node,
                stroke=stroke.colour,
                stroke_width=stroke.width,
                stroke_dasharray=stroke.dash,
            )
        ]

    return sample


def _tick_sample(x: float, y: float, theme: Theme) -> Markup:
    path = f"M{number(x + 3)},{number(y - 6)}v12"
    return element("path", d=path, stroke=theme.ink, stroke_width=1.5)


def _curve_sample(x: float, y: float, theme: Theme) -> Markup:
    path = f"M{number(x)},{number(y)}h{number(_SHORT_LINE)}"
    return element("path", d=path, stroke=theme.ink, stroke_dasharray="3 2")
