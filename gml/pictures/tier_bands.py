"""Tiers as ranks: faint bands behind the nodes of each tier, numbered at the left."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from gml.pictures.layout.geometry import Layout, Link, Point, Size
from gml.pictures.svg import Markup, element, label
from gml.pictures.text_width import text_width
from gml.pictures.themes import Theme

_FONT_SIZE = 11.0
BEYOND = 8.0
"""How far bands reach beyond their nodes to all sides, and a gap in one beyond its node."""
_GAP = 12.0


def tier_of_each(names: Sequence[str], tiers: Sequence[Sequence[str]]) -> list[int | None] | None:
    """Return the tier of each node, if it is in one; None without tiers."""
    if not tiers:
        return None
    tier = {name: k for k, members in enumerate(tiers) for name in members}
    return [tier.get(name) for name in names]


def gutter_of(tiers: Sequence[Sequence[str]]) -> float:
    """Return the room at the left that bands and the numbers of the tiers take."""
    return text_width(_name(len(tiers) - 1), _FONT_SIZE) + _GAP + BEYOND if tiers else 0.0


def draw_bands(
    tiers: Sequence[int | None], sizes: Sequence[Size], found: Layout, gutter: float, theme: Theme
) -> list[Markup]:
    """Return a band behind each tier that has nodes; none where the layout has mixed them.

    A band ends where its tier does. Nodes without a tier that stand in it have a gap around them.
    """
    extents: dict[int, tuple[float, float]] = {}
    for tier, size, centre in zip(tiers, sizes, found.centres, strict=True):
        if tier is not None:
            top, bottom = extents.get(tier, (centre.y, centre.y))
            half = size.height / 2
            extents[tier] = (min(top, centre.y - half), max(bottom, centre.y + half))
    order = sorted(extents)
    if any(extents[above][1] > extents[below][0] for above, below in itertools.pairwise(order)):
        return []
    drawn = []
    for tier in order:
        top, bottom = extents[tier][0] - BEYOND, extents[tier][1] + BEYOND
        drawn.append(
            element(
                "rect",
                x=-gutter,
                y=top,
                width=found.width + gutter + BEYOND,
                height=bottom - top,
                fill=theme.band,
            )
        )
        drawn.append(
            element(
                "text",
                label(_name(tier)),
                x=4 - gutter,
                y=sum(extents[tier]) / 2 + 4,
                font_size=_FONT_SIZE,
                fill=theme.muted,
            )
        )
        drawn += [
            _gap(centre, size, top, bottom, theme)
            for other, size, centre in zip(tiers, sizes, found.centres, strict=True)
            if other is None
            and top < centre.y + size.height / 2
            and centre.y < bottom + size.height / 2
        ]
    return [element("g", *drawn, class_="tiers")] if drawn else []


def _gap(centre: Point, size: Size, top: float, bottom: float, theme: Theme) -> Markup:
    """Return what takes the band away around a node that is not of the tier."""
    left, upper = centre.x - size.width / 2 - BEYOND, centre.y - size.height / 2 - BEYOND
    return element(
        "rect",
        x=left,
        y=max(upper, top),
        width=size.width + 2 * BEYOND,
        height=min(upper + size.height + 2 * BEYOND, bottom) - max(upper, top),
        fill=theme.background,
        class_="no-tier",
    )


def upward_arrows(links: Sequence[Link], found: Layout) -> list[int]:
    """Return which arrows a layout by tiers has to draw upwards, by their position.

    Such an arrow leads to an earlier tier, or is part of a path that does.
    """
    return [
        index
        for index, link in enumerate(links)
        if link.directed and found.centres[link.source].y > found.centres[link.target].y
    ]


def _name(tier: int) -> str:
    return f"tier {tier + 1}"
