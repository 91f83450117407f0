"""Layered drawings: arrows point down, from one rank of nodes to a lower one.

The stages are those of Sugiyama, Tagawa & Toda (1981), each in a file of its own: `orientation`,
`ranks`, `layers`, `ordering`, `ports`, `coordinates`, `routes`. Parts that nothing connects are
drawn apart and packed (`packing`), nodes without links in a grid. Tiers hold parts together: their
ranks are common, and they stand side by side in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from gml.pictures.layout.canonical import by_name
from gml.pictures.layout.coordinates import coordinates
from gml.pictures.layout.geometry import Layout, Link, Point, Route, Size
from gml.pictures.layout.layers import Layers, layers_of, require_few_pieces, restricted
from gml.pictures.layout.ordering import order_ranks
from gml.pictures.layout.orientation import Pair, acyclic
from gml.pictures.layout.packing import Extent, gridded, packed
from gml.pictures.layout.ports import ports_of, rooms_of, straightened
from gml.pictures.layout.ranks import boundaries, ranks_of
from gml.pictures.layout.routes import bands_of, extents_of, routes_of


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

    Examples
    --------
    >>> found = layered([Size(40, 20)] * 2, [Link(1, 0)], names=["A", "B"])
    >>> found.centres
    (Point(x=20.0, y=78.0), Point(x=20.0, y=10.0))
    >>> found.routes[0][0], found.routes[0][-1]
    (Point(x=20.0, y=20.0), Point(x=20.0, y=68.0))
    """
    placing = partial(_placed, gaps=Size(node_gap, rank_gap))
    return by_name(sizes, links, names, tiers, placing)


class _Part(NamedTuple):
    """Nodes and links that are drawn together, right of 0 and below it."""

    nodes: Sequence[int]
    links: Sequence[int]
    centres: Sequence[Point]
    routes: Sequence[Route]

    def extents(self, sizes: Sequence[Size]) -> list[Extent]:
        """Return how far right it reaches."""
        boxes = [
            Extent(centre.y - height / 2, centre.y + height / 2, centre.x + width / 2)
            for centre, (width, height) in zip(
                self.centres, (sizes[node] for node in self.nodes), strict=True
            )
        ]
        return boxes + [extent for route in self.routes for extent in extents_of(route)]


def _placed(
    sizes: Sequence[Size], links: Sequence[Link], tiers: Sequence[int | None], gaps: Size
) -> Layout:
    require_few_pieces(len(links))
    limits = boundaries(tiers)
    n_all = max([len(sizes) - 1, *(max(pair) for pair in limits)]) + 1
    joined = _components(n_all, [*(link[:2] for link in links), *limits])
    alone = [group[0] for group in joined if len(group) == 1]
    parts = [_part(group, sizes, links, limits, gaps) for group in joined if len(group) > 1]
    if alone:
        middles = gridded([sizes[node] for node in alone], gaps.width)
        parts.append(_Part(alone, [], middles, []))
    extents = [part.extents(sizes) for part in parts]
    corners = packed(extents, gaps.height)
    reached = [(corner, e) for corner, part in zip(corners, extents, strict=True) for e in part]
    centres = [Point(0.0, 0.0)] * len(sizes)
    routes: list[Route] = [()] * len(links)
    for part, corner in zip(parts, corners, strict=True):
        for node, centre in zip(part.nodes, part.centres, strict=True):
            centres[node] = _moved(centre, corner)
        for link, route in zip(part.links, part.routes, strict=True):
            routes[link] = tuple(_moved(point, corner) for point in route)
    return Layout(
        tuple(centres),
        tuple(routes),
        max((corner.x + e.right for corner, e in reached), default=0.0),
        max((corner.y + e.bottom for corner, e in reached), default=0.0),
    )


def _moved(point: Point, by: Point) -> Point:
    return Point(point.x + by.x, point.y + by.y)


def _components(n_nodes: int, pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the groups of nodes that pairs connect, each sorted, the first node's first."""
    beside: list[list[int]] = [[] for _ in range(n_nodes)]
    for first, second in pairs:
        beside[first].append(second)
        beside[second].append(first)
    seen = [False] * n_nodes
    groups = []
    for start in range(n_nodes):
        if not seen[start]:
            seen[start] = True
            group = [start]
            for node in group:
                for other in beside[node]:
                    if not seen[other]:
                        seen[other] = True
                        group.append(other)
            groups.append(sorted(group))
    return groups


def _part(
    group: Sequence[int],
    all_sizes: Sequence[Size],
    all_links: Sequence[Link],
    all_limits: Sequence[Pair],
    gaps: Size,
) -> _Part:
    """Return the drawing of nodes that links and tiers connect; boundaries of tiers come last."""
    place = {node: i for i, node in enumerate(group)}
    nodes = [node for node in group if node < len(all_sizes)]
    sizes = [all_sizes[node] for node in nodes]
    chosen = [i for i, link in enumerate(all_links) if link.source in place]
    links = [
        link._replace(source=place[link.source], target=place[link.target])
        for link in (all_links[i] for i in chosen)
    ]
    limits = [(place[upper], place[lower]) for upper, lower in all_limits if upper in place]
    pairs = acyclic(len(group), links, limits)
    bend_gap = gaps.width / 2
    rank = ranks_of(sizes, pairs, limits, gaps, bend_gap)
    layers = layers_of(pairs, rank)
    ranks = _ordered(layers, _components(len(nodes), pairs))
    downward = [
        link if pair[0] == link.source else link.turned
        for pair, link in zip(pairs, links, strict=True)
    ]
    bends = [
        link.width for link, chain in zip(downward, layers.chains, strict=True) for _ in chain[1:-1]
    ]
    widths = [size.width for size in sizes] + bends
    rooms = rooms_of(layers, downward)

    def apart(first: int, second: int) -> float:
        both_nodes = first < len(nodes) and second < len(nodes)
        return (widths[first] + widths[second]) / 2 + (gaps.width if both_nodes else bend_gap)

    ports = ports_of(layers, ranks, widths, rooms)
    x = coordinates(layers, ranks, ports, apart)
    left = min(x[member] - width / 2 for member, width in enumerate(widths))
    x = [value - left for value in x]
    ports = straightened(layers, ports, widths, x, rooms)
    bands = bands_of(layers, downward, sizes, x, ports, gaps.height)
    routes = routes_of(layers, sizes, x, ports, bands)
    centres = [
        Point(x[node], (bands[level].top + bands[level].bottom) / 2)
        for node, level in enumerate(rank)
    ]
    turned = [
        route if down.source == link.source else route[::-1]
        for route, down, link in zip(routes, downward, links, strict=True)
    ]
    return _Part(nodes, chosen, centres, turned)


def _ordered(layers: Layers, components: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the order of each rank, in which components stand beside each other."""
    if len(components) == 1:
        return order_ranks(layers)
    ranks: list[list[int]] = [[] for _ in layers.ranks]
    for component in components:
        members, part = restricted(layers, component)
        ordered = order_ranks(part)
        level = next(r for r, rank in enumerate(layers.ranks) if members[ordered[0][0]] in rank)
        for rank, found in zip(ranks[level:], ordered, strict=False):
            rank += [members[member] for member in found]
    return ranks
