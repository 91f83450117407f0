"""What a section of the page is: a heading that others can link to, and what stands under it."""

from __future__ import annotations

from dataclasses import dataclass

from gml.pictures.page.html import joined, tag
from gml.pictures.svg import Markup, label


@dataclass(frozen=True)
class Section:
    """A section, by the name that links have for it."""

    id: str
    title: str
    content: tuple[Markup, ...]

    def html(self) -> Markup:
        """Return the section."""
        heading = f"{self.id}-heading"
        return tag(
            "section",
            tag("h2", label(self.title), id=heading),
            joined(self.content),
            id=self.id,
            aria_labelledby=heading,
        )

    def link(self) -> Markup:
        """Return the item of the navigation that leads to it."""
        return tag("li", tag("a", label(self.title), href=f"#{self.id}"))
