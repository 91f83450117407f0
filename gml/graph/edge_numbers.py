"""Numbers that edges carry: how strong they are, and whatever else their files hold.

Strengths and directions are shares, as averaging gives them; the graph records the least strength
that an edge had to reach. All who show them read them here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from gml.errors import GraphError, quote
from gml.graph.graph import Graph

# Nodes that determine one another share more than any number.
_BOUNDLESS = ("mi",)


def number_in(attributes: Mapping[str, Any], name: str) -> float | None:
    """Return an attribute that is a number; only a mutual information may be infinite.

    Examples
    --------
    >>> number_in({"mi": 2, "color": "red"}, "mi"), number_in({"color": "red"}, "color")
    (2.0, None)
    """
    value = attributes.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    is_known = math.isfinite(value) or (value == math.inf and name in _BOUNDLESS)
    return float(value) if is_known else None


def share_of(
    attributes: Mapping[str, Any], name: str, ends: tuple[str, str], where: str = ""
) -> float | None:
    """Return an attribute of an edge that is a share, if it has it; text of one is read.

    Anything else in its place is refused, with the ends of the edge and the file that has it.

    Examples
    --------
    >>> share_of({"strength": "0.5"}, "strength", ("a", "b"))
    0.5
    >>> share_of({"strength": 2}, "direction", ("a", "b"))
    >>> share_of({"strength": 2}, "strength", ("a", "b"), "g.json")
    Traceback (most recent call last):
    gml.errors.GraphError: g.json: the strength of the edge between 'a' and 'b' must be between \
0 and 1, not 2
    """
    value = attributes.get(name)
    if value is None:
        return None
    share = as_share(value)
    if share is None:
        raise GraphError(
            f"{where}{': ' if where else ''}the {name} of the edge between {quote(ends[0])} and "
            f"{quote(ends[1])} must be between 0 and 1, not {quote(value)}"
        )
    return share


def threshold_of(graph: Graph) -> float | None:
    """Return the least strength of an edge of an averaged graph, if its file has kept it."""
    return as_share(graph.learning.get("threshold"))


def as_share(value: object) -> float | None:
    """Return a number between 0 and 1, or that of which it is the text; None for all else."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    number = number_in({"": value}, "")
    return number if number is not None and 0 <= number <= 1 else None


class Directions(NamedTuple):
    """In which shares of the graphs with an edge it points which way; they add up to 1."""

    forward: float
    undirected: float
    backward: float

    @classmethod
    def of(cls, direction: float, undirected: float) -> Directions:
        """Split a direction that counts half of the graphs in which the edge has none.

        Examples
        --------
        >>> Directions.of(0.8075, 0.385)
        Directions(forward=0.615, undirected=0.385, backward=0.0)
        """
        if not undirected:
            return cls(direction, 0.0, 1 - direction)
        # What rounding leaves of none at all is not a share.
        forward, backward = (
            max(0.0, round(share - undirected / 2, 12)) for share in (direction, 1 - direction)
        )
        return cls(forward, undirected, backward)

    def turned(self) -> Directions:
        """Return the same of the edge that is read from its other end."""
        return Directions(self.backward, self.undirected, self.forward)
