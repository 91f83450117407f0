"""What a layout takes and gives: boxes, links between them, and curves that join them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Size(NamedTuple):
    """The room that a node or a mark takes."""

    width: float
    height: float


class Point(NamedTuple):
    """A place; x grows to the right and y downwards."""

    x: float
    y: float


class Link(NamedTuple):
    """An edge between two nodes; one that is `directed` wants its target below its source."""

    source: int
    target: int
    directed: bool = True
    width: float = 0.0
    """Of its line."""
    source_mark: Size = Size(0.0, 0.0)
    target_mark: Size = Size(0.0, 0.0)
    """How wide and how long the marks at its ends are."""

    @property
    def turned(self) -> Link:
        """The link from its target to its source."""
        return self._replace(
            source=self.target,
            target=self.source,
            source_mark=self.target_mark,
            target_mark=self.source_mark,
        )


Route = tuple[Point, ...]
"""A chain of cubic Bézier curves, 3k + 1 points, from the border of its source to its target's."""


@dataclass(frozen=True)
class Layout:
    """The centre of each node and the route of each link, within (0, 0) and (width, height)."""

    centres: tuple[Point, ...]
    routes: tuple[Route, ...]
    width: float
    height: float
