"""Nodes as boxes: a name, the distribution below it if there is one, and a border that tells."""

from __future__ import annotations

from dataclasses import dataclass

from gml.pictures.differences import name_in_words, state_in_words, stroke_of
from gml.pictures.distributions import (
    Bars,
    Bell,
    draw_distribution,
    in_words,
    is_observed,
    size_of,
)
from gml.pictures.edge_marks import Stroke
from gml.pictures.layout.geometry import Point, Size
from gml.pictures.svg import Markup, element, label
from gml.pictures.text_width import shortened, text_width
from gml.pictures.themes import Theme
from gml.printable_text import printable

_SIDE = 10.0
_LEAST_WIDTH = 40.0


@dataclass(frozen=True)
class Detail:
    """How much a node shows; the more nodes, the less each."""

    font_size: float
    name_room: float
    most_rows: int

    @classmethod
    def for_nodes(cls, n: int) -> Detail:
        """Return what is readable among this many nodes."""
        if n <= 60:
            return cls(13.0, 170.0, 6)
        return cls(12.0, 130.0, 5) if n <= 200 else cls(11.0, 96.0, 3)


@dataclass(frozen=True)
class NodeBox:
    """A node before it has a place."""

    name: str
    detail: Detail
    distribution: Bars | Bell | None = None
    state: str | None = None
    """How it differs from the reference, if it does."""
    is_hidden: bool = False
    """Whether nobody saw its values."""

    @property
    def shown(self) -> str:
        """The name, shortened if it is long."""
        return shortened(
            printable(self.name),
            self.detail.font_size,
            self.detail.name_room,
            bold=self._has_rows,
            keep_end=True,
        )

    @property
    def size(self) -> Size:
        """The room that the box takes."""
        name = text_width(self.shown, self.detail.font_size, bold=self._has_rows)
        if self.distribution is None:
            width = max(name + 2 * _SIDE, _LEAST_WIDTH)
            return Size(round(width, 2), self.detail.font_size + 17)
        inner = size_of(self.distribution, self.detail.most_rows)
        return Size(round(max(name, inner.width) + 2 * _SIDE, 2), self._header + inner.height + 8)

    def draw(self, centre: Point, size: Size, theme: Theme, reference: str) -> Markup:
        """Return the box around a place."""
        left, top = centre.x - size.width / 2, centre.y - size.height / 2
        border = self._border(theme)
        content = [
            element("title", label(self._words(reference))),
            element(
                "rect",
                x=left,
                y=top,
                width=size.width,
                height=size.height,
                rx=6,
                fill=theme.node,
                stroke=border.colour,
                stroke_width=border.width,
                stroke_dasharray=border.dash,
            ),
        ]
        middle = centre.y if self.distribution is None else top + self._header / 2 + 1
        content.append(
            element(
                "text",
                label(self.shown),
                x=centre.x,
                y=middle + 0.35 * self.detail.font_size,
                font_weight="bold" if self._has_rows else None,
            )
        )
        if self.distribution is not None:
            room = Size(size.width - 2 * _SIDE, size.height - self._header - 8)
            content += [
                element(
                    "g",
                    *draw_distribution(
                        self.distribution,
                        left + _SIDE,
                        top + self._header,
                        room,
                        theme,
                        self.detail.most_rows,
                    ),
                    text_anchor="start",
                )
            ]
        observed = " observed" if is_observed(self.distribution) else ""
        return element(
            "g",
            *content,
            class_=f"node{observed}",
            data_node=self.name,
            data_difference=self.state,
        )

    @property
    def _has_rows(self) -> bool:
        return self.distribution is not None

    @property
    def _header(self) -> float:
        return self.detail.font_size + 11

    def _border(self, theme: Theme) -> Stroke:
        if self.state is not None:
            return stroke_of(self.state, theme)
        if is_observed(self.distribution):
            return Stroke(theme.evidence, 2.4)
        return hidden_border(theme) if self.is_hidden else Stroke(theme.line, 1.1)

    def _words(self, reference: str) -> str:
        """Return the tooltip."""
        words = name_in_words(self.name)
        if self.is_hidden:
            words += ", hidden"
        if self.state is not None:
            words += f", {state_in_words(self.state, reference)}"
        if self.distribution is not None:
            words += f": {in_words(self.distribution)}"
        return words


def hidden_border(theme: Theme) -> Stroke:
    """The border of a node whose values nobody saw."""
    return Stroke(theme.line, 1.1, "5 3")
