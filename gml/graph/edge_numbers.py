"""Numbers that edges carry: how strong they are, and whatever else their files hold.

Strengths and directions are shares, as averaging gives them; the graph records the least strength
that an edge had to reach. All who show them read them here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gml.errors import GraphError, quote
from gml.graph.graph import Edge, Graph


def number_in(attributes: Mapping[str, Any], name: str) -> float | None:
    """Return an attribute that is a finite number.

    Examples
    --------
    >>> number_in({"mi": 2, "color": "red"}, "mi"), number_in({"color": "red"}, "color")
    (2.0, None)
    """
    value = attributes.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def share_of(graph: Graph, edge: Edge, name: str, where: str = "") -> float | None:
    """Return an attribute of an edge that is a share, if it has it; text of one is read.

    Anything else in its place is refused, with the name of the file that has it.

    Examples
    --------
    >>> strong = Graph.from_edges("ab", [("a", "-->", "b", {"strength": 2})])
    >>> share_of(strong, next(iter(strong.edges())), "direction")
    >>> share_of(strong, next(iter(strong.edges())), "strength", "g.json")
    Traceback (most recent call last):
    gml.errors.GraphError: g.json: the strength of the edge between 'a' and 'b' must be between \
0 and 1, not 2
    """
    value = edge.attributes.get(name)
    if value is None:
        return None
    share = _share(value)
    if share is None:
        ends = f"{quote(graph.names[edge.source])} and {quote(graph.names[edge.target])}"
        raise GraphError(
            f"{where}{': ' if where else ''}the {name} of the edge between {ends} must be between "
            f"0 and 1, not {quote(value)}"
        )
    return share


def threshold_of(graph: Graph) -> float | None:
    """Return the least strength of an edge of an averaged graph, if its file has kept it."""
    return _share(graph.learning.get("threshold"))


def _share(value: object) -> float | None:
    """Return a number between 0 and 1, or the text of one."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    number = number_in({"": value}, "")
    return number if number is not None and 0 <= number <= 1 else None
