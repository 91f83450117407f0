"""Widths and colours of edges by a number that they carry, and what the legend says of them.

Widths and colours grow with the size of the number, from 0: shares such as strengths up to 1,
others up to the largest there is. Numbers of which some are negative, and coefficients always,
have a colour for each sign, and negative ones are dashed, as no reader should depend on the colour.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gml.graph.edge_numbers import number_in
from gml.graph.graph import Graph
from gml.pictures.edge_marks import Stroke
from gml.pictures.themes import Theme

UNITS = {"mi": "nats"}
_KNOWN = ("strength", "direction", "undirected", "coefficient", "mi")
_WORDS = {"mi": "mutual information"}
_SHARES = ("strength", "direction", "undirected")
_SIGNED = ("coefficient",)
_NARROWEST, _WIDEST = 1.0, 4.5
_NEGATIVE = "6 3"


def weight_of(graph: Graph) -> str | None:
    """Return the attribute that widths and colours of the edges best show, if they have any.

    Examples
    --------
    >>> weight_of(Graph.from_edges("ab", [("a", "-->", "b", {"mi": 0.1, "strength": 0.9})]))
    'strength'
    """
    for attribute in ("strength", "coefficient", "mi"):
        if any(number_in(edge.attributes, attribute) is not None for edge in graph.edges()):
            return attribute
    return None


def numbers_in_words(attributes: Mapping[str, Any]) -> list[str]:
    """Return the attributes that are numbers, the known ones first, then by name.

    Examples
    --------
    >>> numbers_in_words({"z": 2, "mi": 0.123456, "strength": 0.93, "color": "red"})
    ['strength 0.93', 'mi 0.1235 nats', 'z 2']
    """
    others = sorted(set(attributes) - set(_KNOWN))
    found = []
    for name in (*_KNOWN, *others):
        value = number_in(attributes, name)
        if value is not None:
            found.append(f"{name} {in_words(value, 4)}{_unit(name)}")
    return found


def in_words(value: float, digits: int = 3) -> str:
    """Return a number for people."""
    return f"{value:.{digits}g}".replace("-", "−")


@dataclass(frozen=True)
class EdgeScale:
    """The line of each weight."""

    name: str
    low: float
    high: float
    """The least and the largest weight."""

    @classmethod
    def of(cls, name: str, weights: Iterable[float | None]) -> EdgeScale | None:
        """Return the scale of these weights; None if there are none."""
        known = [weight for weight in weights if weight is not None]
        return cls(name, min(known), max(known)) if known else None

    @property
    def signed(self) -> bool:
        """Whether zero is in the middle."""
        # A mutual information of 0 may be computed as a little less.
        return self.name in _SIGNED or (self.low < 0 and self.name not in _KNOWN)

    def stroke(self, weight: float, theme: Theme) -> Stroke:
        """Return the line of an edge of this weight."""
        most = max(abs(self.low), abs(self.high))
        if self.name in _SHARES:
            most = max(most, 1.0)
        share = weight / most if most else 0.0
        width = _NARROWEST + (_WIDEST - _NARROWEST) * abs(share)
        if self.signed:
            dash = _NEGATIVE if weight < 0 else None
            return Stroke(theme.signed_line_shade(share), width, dash)
        return Stroke(theme.line_shade(share), width)

    @property
    def samples(self) -> tuple[float, ...]:
        """Weights for the legend: the least, the largest, and one between them."""
        if self.low == self.high:
            return (self.low,)
        between = 0.0 if self.low < 0 < self.high else (self.low + self.high) / 2
        return (self.low, between, self.high)

    @property
    def words(self) -> str:
        """The quantity and its range."""
        name = _WORDS.get(self.name, self.name)
        if self.low == self.high:
            return f"{name}: {in_words(self.low)}{_unit(self.name)}"
        return f"{name}: {in_words(self.low)} to {in_words(self.high)}{_unit(self.name)}"


def _unit(name: str) -> str:
    return f" {UNITS[name]}" if name in UNITS else ""
