"""One order of nodes and links for every layout: by name, whatever the order of the columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gml.pictures.layout.geometry import Layout, Link, Size

Placing = Callable[[list[Size], list[Link], list[int | None]], Layout]
"""Places nodes in the order of their names, with their links in order and their tiers."""


def by_name(
    sizes: Sequence[Size],
    links: Sequence[Link],
    names: Sequence[str],
    tiers: Sequence[int | None] | None,
    placing: Placing,
) -> Layout:
    """Return the layout of nodes as they come, placed in the order of their names.

    Links without a direction are given from the name that comes first.
    """
    order = sorted(range(len(names)), key=names.__getitem__)
    place = [0] * len(order)
    for position, node in enumerate(order):
        place[node] = position
    turned = [not link.directed and place[link.source] > place[link.target] for link in links]
    renamed = []
    for link, turn in zip(links, turned, strict=True):
        moved = link._replace(source=place[link.source], target=place[link.target])
        renamed.append(moved.turned if turn else moved)
    line = sorted(range(len(links)), key=renamed.__getitem__)
    found = placing(
        [sizes[node] for node in order],
        [renamed[index] for index in line],
        [None if tiers is None else tiers[node] for node in order],
    )
    routes = dict(zip(line, found.routes, strict=True))
    return Layout(
        tuple(found.centres[place[node]] for node in range(len(names))),
        tuple(routes[index][::-1] if turn else routes[index] for index, turn in enumerate(turned)),
        found.width,
        found.height,
    )
