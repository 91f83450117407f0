"""Layered drawings: arrows point down, from one rank of nodes to a lower one."""

from __future__ import annotations

from collections.abc import Sequence

from gml.pictures.layout.geometry import Layout, Link, Point, Route, Size


def layered(
    sizes: Sequence[Size],
    links: Sequence[Link],
    *,
    names: Sequence[str],
    tiers: Sequence[int | None] | None = None,
    node_gap: float = 24.0,
    rank_gap: float = 48.0,
) -> Layout:
    """Return a layered layout; it depends on the names of the nodes, not on their order.

    Parameters
    ----------
    sizes
        The room that each node takes.
    links
        The edges: at most one between two nodes, none from a node to itself.
    names
        The name of each node, all different.
    tiers
        For each node the tier that it is in, if any; nodes of an earlier tier are above those of a
        later one.
    node_gap, rank_gap
        The least space between neighbours in a rank, and between ranks.
    """
    by_name = sorted(range(len(names)), key=names.__getitem__)
    rank = dict.fromkeys(by_name, 0)
    for _ in by_name:
        for link in links:
            rank[link.target] = min(max(rank[link.target], rank[link.source] + 1), len(names))
    centres = [Point(0.0, 0.0)] * len(names)
    top, width = 0.0, 0.0
    for level in sorted(set(rank.values())):
        members = [node for node in by_name if rank[node] == level]
        height = max(sizes[node].height for node in members)
        left = 0.0
        for node in members:
            centres[node] = Point(left + sizes[node].width / 2, top + height / 2)
            left += sizes[node].width + node_gap
        width = max(width, left - node_gap)
        top += height + rank_gap
    routes = tuple(_straight(link, centres, sizes) for link in links)
    return Layout(tuple(centres), routes, width, max(top - rank_gap, 0.0))


def _straight(link: Link, centres: Sequence[Point], sizes: Sequence[Size]) -> Route:
    source, target = centres[link.source], centres[link.target]
    start = Point(source.x, source.y + sizes[link.source].height / 2)
    end = Point(target.x, target.y - sizes[link.target].height / 2)
    third = Point((end.x - start.x) / 3, (end.y - start.y) / 3)
    return (
        start,
        Point(start.x + third.x, start.y + third.y),
        Point(end.x - third.x, end.y - third.y),
        end,
    )
