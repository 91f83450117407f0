"""Tiers as ranks: faint bands behind the nodes of each tier, numbered at the left."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from gml.pictures.layout.geometry import Layout, Size
from gml.pictures.svg import Markup, element, label
from gml.pictures.text_width import text_width
from gml.pictures.themes import Theme

_FONT_SIZE = 11.0
BEYOND = 8.0
"""How far bands reach beyond their nodes: upwards, downwards, and to both sides."""
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
    """Return a band for each tier that has nodes; none where the layout has mixed them."""
    extents: dict[int, tuple[float, float]] = {}
    for tier, size, centre in zip(tiers, sizes, found.centres, strict=True):
        if tier is not None:
            top, bottom = extents.get(tier, (centre.y, centre.y))
            half = size.height / 2
            extents[tier] = (min(top, centre.y - half), max(bottom, centre.y + half))
    order = sorted(extents)
    borders = [extents[order[0]][0] - BEYOND] if order else []
    for above, below in itertools.pairwise(order):
        if extents[above][1] > extents[below][0]:
            return []
        borders.append((extents[above][1] + extents[below][0]) / 2)
    borders += [extents[order[-1]][1] + BEYOND] if order else []
    drawn = []
    for place, tier in enumerate(order):
        top, bottom = borders[place], borders[place + 1]
        if place % 2 == 0:
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
    return [element("g", *drawn, class_="tiers")] if drawn else []


def _name(tier: int) -> str:
    return f"tier {tier + 1}"
