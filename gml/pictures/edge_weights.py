"""Widths and colours of edges by a number that they carry, and what the legend says of them.

Widths and colours grow with the size of the number, from 0 to the largest there is, or to 1 if it
is a share. Strengths begin at the threshold that the edges had to reach, or else at the least of
them: from 0 they would all look alike. The more edges, the narrower the widest. Numbers of which
some are negative, and coefficients always, have a colour for each sign, and negative ones are
dashed, as no reader should depend on the colour. The mutual information of nodes that determine one
another is infinite: their edges have the widest line, and the others stay clearly below it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gml.graph.edge_numbers import number_in
from gml.graph.graph import Graph
from gml.pictures.edge_marks import Stroke
from gml.pictures.plots.axes import ticks
from gml.pictures.shares import share_in_words
from gml.pictures.themes import Theme

UNITS = {"mi": "nats"}
_KNOWN = (
    *("strength", "direction", "undirected", "coefficient", "coupling"),
    *("partial_correlation", "mi"),
)
_WORDS = {"mi": "mutual information", "partial_correlation": "partial correlation"}
_SHARES = ("strength", "direction", "undirected")
_SIGNED = ("coefficient", "partial_correlation")
_NEVER_NEGATIVE = (*_SHARES, "mi")
# How much of the range of widths and colours finite numbers have beside an infinite one.
_FINITE = 0.75
_NARROWEST = 1.0
# How wide a line is at most among so many edges.
_WIDEST = ((30, 4.5), (150, 3.6), (math.inf, 2.8))
_MOST_STOPS = 5
_NEGATIVE = "6 3"


def weight_of(graph: Graph) -> str | None:
    """Return the attribute that widths and colours of the edges best show, if they have any.

    Examples
    --------
    >>> weight_of(Graph.from_edges("ab", [("a", "-->", "b", {"mi": 0.1, "strength": 0.9})]))
    'strength'
    """
    known = ["strength", "coefficient", "coupling", "partial_correlation", "mi"]
    if graph.learning.command == "notears":
        # In the files of others, weights may be about the layout.
        known.append("weight")
    for attribute in known:
        if any(number_in(edge.attributes, attribute) is not None for edge in graph.edges):
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
            found.append(f"{name} {in_words(name, value, 4)}{_unit(name)}")
    return found


def in_words(name: str, value: float, digits: int = 3) -> str:
    """Return a number of this name for people; a share is shown as certain only if it is.

    Examples
    --------
    >>> in_words("coefficient", -0.12345), in_words("strength", 0.9997), in_words("mi", math.inf)
    ('−0.123', '>0.999', '∞')
    """
    if math.isinf(value):
        return "∞"
    if name in _SHARES and 0 <= value <= 1:
        return share_in_words(value, digits)
    return f"{value:.{digits}g}".replace("-", "−")


@dataclass(frozen=True)
class EdgeScale:
    """The line of each weight."""

    name: str
    low: float
    high: float
    """The least and the largest weight, which may be infinite."""
    highest_finite: float
    threshold: float | None = None
    """Which strength the edges had to reach, if that is known."""
    widest: float = _WIDEST[0][1]

    @classmethod
    def of(
        cls, name: str, weights: Iterable[float | None], threshold: object = None
    ) -> EdgeScale | None:
        """Return the scale of these weights; None if there are none.

        A threshold is left out if it is not a number, or if some weight is below it.
        """
        known = [weight for weight in weights if weight is not None]
        if not known:
            return None
        low = min(known)
        reached = number_in({name: threshold}, name) if name == "strength" else None
        if reached is not None and not 0 <= reached <= low:
            reached = None
        highest_finite = max(filter(math.isfinite, known), default=0.0)
        widest = next(width for most, width in _WIDEST if len(known) <= most)
        return cls(name, low, max(known), highest_finite, reached, widest)

    @property
    def signed(self) -> bool:
        """Whether zero is in the middle."""
        # A mutual information of 0 may be computed as a little less.
        return self.name in _SIGNED or (self.low < 0 and self.name not in _NEVER_NEGATIVE)

    @property
    def start(self) -> float:
        """The weight with the thinnest line."""
        if self.name == "strength":
            return max(0.0, self.low if self.threshold is None else self.threshold)
        return 0.0

    @property
    def most(self) -> float:
        """The size of the finite weight with the thickest line."""
        most = max(abs(self.low), abs(self.highest_finite)) if math.isfinite(self.low) else 0.0
        return max(most, 1.0) if self.name in _SHARES else most

    def stroke(self, weight: float, theme: Theme) -> Stroke:
        """Return the line of an edge of this weight."""
        share = self._share(weight)
        width = _NARROWEST + (self.widest - _NARROWEST) * abs(share)
        if self.signed:
            dash = _NEGATIVE if weight < 0 else None
            return Stroke(theme.signed_line_shade(share), width, dash)
        return Stroke(theme.line_shade(share), width)

    def _share(self, weight: float) -> float:
        """Where a weight is between the thinnest line and the thickest."""
        if math.isinf(weight):
            return 1.0
        span = self.most - self.start
        # Strengths that are all 1 are as strong as they can be.
        share = (weight - self.start) / span if span > 0 else float(self.most > 0)
        return share * _FINITE if math.isinf(self.high) else share

    @property
    def samples(self) -> tuple[float, ...]:
        """Weights for the legend: round ones, and the ends of the scale if it is one of shares."""
        if self.low == self.high:
            return (self.low,)
        first, last = self.start, self.most
        if self.signed:
            first, last = min(self.low, 0.0), max(self.high, 0.0)
        margin = (last - first) * 1e-6
        stops = ticks(first, last, _MOST_STOPS).values
        if self.name not in _SHARES:
            within = [stop for stop in stops if first - margin <= stop <= last + margin]
            # Each sign that there is has a line, be it far smaller than the other.
            if self.signed and self.low < 0 <= within[0]:
                within.insert(0, float(f"{self.low:.2g}"))
            if self.signed and within[-1] <= 0 < self.high:
                within.append(float(f"{self.high:.2g}"))
            return (*within, math.inf) if math.isinf(self.high) else tuple(within)
        # A stop next to an end would look like it.
        apart = (stops[1] - stops[0]) / 2
        between = (stop for stop in stops if first + apart <= stop <= last - apart)
        return (first, *between, last)

    @property
    def words(self) -> str:
        """The quantity and its unit, and the threshold."""
        name = _WORDS.get(self.name, self.name)
        if self.low == self.high:
            name += f": {in_words(self.name, self.low)}{_unit(self.name)}"
        elif self.name in UNITS:
            name += f" in {UNITS[self.name]}"
        if self.threshold is not None:
            name += f", threshold {in_words(self.name, self.threshold)}"
        return name


def _unit(name: str) -> str:
    return f" {UNITS[name]}" if name in UNITS else ""
