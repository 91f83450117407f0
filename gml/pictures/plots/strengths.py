"""How certain each edge of an averaged graph is, with the threshold that it had to reach.

A bar is as long as an edge is strong, and has as many parts as there are directions: the one that
the name is read in is high and full, edges without one are half as high, the opposite one is
hollow. So the parts are told apart without colours.

Strengths have three decimals, or as many as it takes to tell one that misses the threshold from it.

Of more than `_MOST_EDGES`, the share of edges up to each strength is drawn, and bars of those that
are nearest to the threshold, where a little more or less data decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gml.errors import GraphError, UsageError, counted, parameter, require_share
from gml.graph.edge_numbers import Directions, share_of, threshold_of
from gml.graph.graph import Graph
from gml.pictures.differences import edges_by_name
from gml.pictures.picture import Picture
from gml.pictures.plots.axes import (
    HEADING_ROOM,
    MARGIN,
    SMALL,
    WORDS,
    KeyEntry,
    Scale,
    brief,
    key,
    line,
    sheet,
    ticks,
    widest,
    words,
    x_axis,
    y_axis,
)
from gml.pictures.shares import share_in_words
from gml.pictures.svg import Markup, element, label, number
from gml.pictures.text_width import shortened, text_width
from gml.pictures.themes import LIGHT, Theme

_MOST_EDGES = 100
_MOST_NEAR = 30
_LONGEST_NAME = 260.0
_WIDTH = 360.0
_ROW = 18.0
_CURVE = 180.0
_LEAST_DECIMALS = 3
_MOST_DECIMALS = 6
_ARROWS = {"-->": "→", "---": "—", "<->": "↔", "o->": "∘→", "o-o": "∘–∘", "o--": "∘–"}
_PARTS = ("from the first to the second", "without a direction", "from the second to the first")


class _Certain(NamedTuple):
    """An edge, its strength, and the parts of it by direction, where they are known."""

    ends: tuple[str, str]
    name: str
    strength: float
    direction: float | None
    parts: tuple[float, float, float]


def edge_strengths(
    graph: Graph, *, threshold: float | None = None, theme: Theme = LIGHT
) -> Picture:
    """Return the plot of the strengths of the edges, the strongest first.

    Parameters
    ----------
    graph
        A graph whose edges have a strength, as `gml.average` gives it.
    threshold
        The least strength of an edge; by default the one that the graph was made with, if any. A
        lower one is refused, as the graph does not have the pairs that reach it.

    Examples
    --------
    >>> import gml
    >>> averaged = gml.average("sample_data/asia.csv", by="hc", bootstrap=20)
    >>> edge_strengths(averaged.graph).title
    'Strengths of 7 edges'
    """
    require_share(threshold=threshold)
    edges = _strongest_first(graph)
    if not edges:
        raise GraphError("no edge of the graph has a strength; average graphs to get some")
    recorded = threshold_of(graph)
    if threshold is None:
        threshold = recorded
    decimals = _decimals(edges, threshold)
    _require_known(threshold, recorded, decimals)
    many = len(edges) > _MOST_EDGES
    rows = _nearest(edges, threshold) if many else edges
    title = f"Strengths of {len(edges)} edges" if len(edges) != 1 else "Strength of 1 edge"
    shown = [_shortened(edge.name) for edge in rows]
    left = max(MARGIN + widest(shown, WORDS) + 10, MARGIN + 50)
    across = ticks(0, 1, 6).scale(left, left + _WIDTH)
    top = HEADING_ROOM + 18
    content: list[Markup] = []
    if many:
        content += _curve(edges, across, top, threshold, decimals, theme)
        top += _CURVE + 86
        near = f"the {len(rows)} edges nearest to the threshold"
        content.append(
            words(near if threshold else f"the weakest {len(rows)}", MARGIN, top - 26, theme.ink)
        )
    bars, bottom, right = _bars(rows, across, top, decimals, theme)
    content += bars
    content += _line_at(threshold, across, top, bottom, decimals, theme)
    known = any(edge.direction is not None for edge in rows)
    entries = _entries(theme) if known else []
    drawn, high = key(entries, MARGIN, bottom + 50, theme, right - MARGIN)
    return sheet(
        right + MARGIN,
        bottom + 50 + high + MARGIN - 8,
        [*content, *drawn],
        theme,
        title=title,
        said=_said(edges, threshold, recorded, decimals),
        description=", ".join(
            f"{edge.name} {share_in_words(edge.strength, decimals)}" for edge in rows
        ),
    )


def _said(
    edges: Sequence[_Certain], threshold: float | None, recorded: float | None, decimals: int
) -> str:
    if threshold is None:
        return ""
    above = sum(edge.strength >= threshold for edge in edges)
    said = (
        f"{above} of {counted(len(edges), 'edge')} reach the threshold of "
        f"{share_in_words(threshold, decimals)}"
    )
    if recorded is None:
        return said
    return f"{said}; other pairs, below {share_in_words(recorded, decimals)}, are not in the graph"


def _require_known(threshold: float | None, recorded: float | None, decimals: int) -> None:
    """Refuse a threshold that pairs reach which the graph does not have."""
    if threshold is None or recorded is None or round(recorded - threshold, decimals) <= 0:
        return
    raise UsageError(
        f"{parameter('threshold')} must be at least {share_in_words(recorded, decimals)}, not "
        f"{threshold:g}: the graph was made with that one and has no weaker pairs; average again "
        "with the lower one"
    )


def _decimals(edges: Sequence[_Certain], threshold: float | None) -> int:
    """The number of decimals at which no edge that misses the threshold seems to reach it."""
    if threshold is None:
        return _LEAST_DECIMALS
    below = max((edge.strength for edge in edges if edge.strength < threshold), default=0.0)
    for decimals in range(_LEAST_DECIMALS, _MOST_DECIMALS):
        if round(below, decimals) < round(threshold, decimals):
            return decimals
    return _MOST_DECIMALS


def _strongest_first(graph: Graph) -> list[_Certain]:
    found = []
    for edge in edges_by_name(graph):
        ends = edge.source, edge.target
        strength, direction, undirected = (
            share_of(edge.attributes, name, ends)
            for name in ("strength", "direction", "undirected")
        )
        if strength is None:
            continue
        parts = (strength, 0.0, 0.0)
        if direction is not None:
            split = Directions.of(direction, undirected or 0.0)
            parts = (
                strength * split.forward,
                strength * split.undirected,
                strength * split.backward,
            )
        name = f" {_ARROWS[edge.type]} ".join(map(brief, ends))
        found.append(_Certain(ends, name, strength, direction, parts))
    return sorted(found, key=lambda edge: (-edge.strength, edge.ends))


def _nearest(edges: Sequence[_Certain], threshold: float | None) -> list[_Certain]:
    """The edges whose strength is nearest to the threshold, the strongest first."""
    goal = 0.0 if threshold is None else threshold
    near = sorted(edges, key=lambda edge: (abs(edge.strength - goal), edge.ends))[:_MOST_NEAR]
    return sorted(near, key=lambda edge: (-edge.strength, edge.ends))


def _shortened(name: str) -> str:
    return shortened(name, WORDS, _LONGEST_NAME)


def _bars(
    rows: Sequence[_Certain], across: Scale, top: float, decimals: int, theme: Theme
) -> tuple[list[Markup], float, float]:
    """The bars with their names and figures, and where these end below and to the right."""
    bottom = top + len(rows) * _ROW + 6
    content = x_axis(ticks(0, 1, 6), across, top, bottom, theme, "strength")
    left = across.end + 12
    strengths = [share_in_words(edge.strength, decimals) for edge in rows]
    beside = left + widest(["strength", *strengths], SMALL) + 14
    known = any(edge.direction is not None for edge in rows)
    content.append(words("strength", left, top - 6, theme.muted, size=SMALL))
    if known:
        content.append(words("direction", beside, top - 6, theme.muted, size=SMALL))
    for k, edge in enumerate(rows):
        y = top + 3 + k * _ROW
        foot = y + _ROW - 5
        content.append(
            words(_shortened(edge.name), across.start - 8, foot, theme.ink, anchor="end")
        )
        content.append(words(strengths[k], left, foot, theme.ink, size=SMALL))
        if edge.direction is not None:
            direction = share_in_words(edge.direction)
            content.append(words(direction, beside, foot, theme.ink, size=SMALL))
        told = _told(edge, decimals)
        content.append(element("g", element("title", label(told)), *_parts(edge, across, y, theme)))
    return content, bottom, beside + widest(["direction"], SMALL)


def _told(edge: _Certain, decimals: int) -> str:
    told = f"{edge.name}: strength {share_in_words(edge.strength, decimals)}"
    if edge.direction is None:
        return told
    return told + "".join(
        f", {share_in_words(part)} {what}"
        for part, what in zip(edge.parts, _PARTS, strict=True)
        if part
    )


def _parts(edge: _Certain, across: Scale, y: float, theme: Theme) -> Iterator[Markup]:
    start = 0.0
    for k, part in enumerate(edge.parts):
        if part > 0:
            x, end = across.at(start), across.at(start + part)
            yield _part(k, x, y + 2, end - x, theme)
            start += part


def _part(k: int, x: float, y: float, width: float, theme: Theme) -> Markup:
    """A part of a bar, 12 high: full, half as high, or hollow."""
    if k == 2:
        return element(
            "rect",
            x=x + 0.75,
            y=y + 0.75,
            width=max(width - 1.5, 0.5),
            height=10.5,
            fill=theme.background,
            stroke=theme.missing,
            stroke_width=1.5,
        )
    high = 12 if k == 0 else 6
    fill = theme.added if k == 0 else theme.bar
    return element("rect", x=x, y=y + (12 - high) / 2, width=width, height=high, fill=fill)


def _entries(theme: Theme) -> list[KeyEntry]:
    return [KeyEntry(_part(k, 0, 0, 24, theme), text) for k, text in enumerate(_PARTS)]


def _line_at(
    threshold: float | None,
    across: Scale,
    top: float,
    bottom: float,
    decimals: int,
    theme: Theme,
) -> list[Markup]:
    if threshold is None:
        return []
    x = across.at(threshold)
    text = f"threshold {share_in_words(threshold, decimals)}"
    middle = min(x, across.end - text_width(text, SMALL) / 2)
    return [
        # On a bar as dark as the line, its edges are what is seen of it.
        line(x, top - 4, x, bottom, theme.background, width=4),
        line(x, top - 4, x, bottom, theme.ink, width=1.5, dashes="5 3"),
        words(text, middle, top - 8, theme.ink, size=SMALL, anchor="middle"),
    ]


def _curve(
    edges: Sequence[_Certain],
    across: Scale,
    top: float,
    threshold: float | None,
    decimals: int,
    theme: Theme,
) -> list[Markup]:
    """The share of edges up to each strength."""
    bottom = top + _CURVE
    up = Scale(0, 1, bottom, top)
    marked = ticks(0, 1, 6)
    path = f"M{number(across.at(0))} {number(up.at(0))}"
    for k, edge in enumerate(reversed(edges), start=1):
        path += f"H{number(across.at(edge.strength))}V{number(up.at(k / len(edges)))}"
    path += f"H{number(across.at(1))}"
    return [
        *y_axis(marked, up, across.start, across.end, theme),
        *x_axis(marked, across, top, bottom, theme, "strength, and the share of edges up to it"),
        element("path", d=path, fill="none", stroke=theme.added, stroke_width=2),
        *_line_at(threshold, across, top, bottom, decimals, theme),
    ]
