"""HTML as text: elements, tables that screen readers can walk, figures, folded lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gml.pictures.picture import Picture
from gml.pictures.svg import Markup, label

NOTHING = Markup("")
_VOID = ("meta",)


def tag(name: str, /, *content: Markup, **attributes: str | bool | None) -> Markup:
    r"""Return an element; attributes have _ for -, and those that are None are left out.

    Examples
    --------
    >>> tag("p", label("a < b"), class_="absent", hidden=True, title='"')
    '<p class="absent" hidden title="&quot;">a &lt; b</p>'
    >>> tag("div", id="graph-view")
    '<div id="graph-view"></div>'
    """
    written = "".join(
        _attribute(key, value)
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    opened = f"<{name}{written}>"
    return Markup(opened if name in _VOID else f"{opened}{''.join(content)}</{name}>")


def _attribute(key: str, value: str | bool) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{quoted(str(value))}"'


def quoted(text: str) -> str:
    """Return text as the value of an attribute."""
    return label(text).replace('"', "&quot;")


def joined(pieces: Iterable[Markup]) -> Markup:
    """Return pieces one after another."""
    return Markup("".join(pieces))


def paragraph(text: str, *, class_: str | None = None) -> Markup:
    """Return a paragraph of text."""
    return tag("p", label(text), class_=class_)


def absent(before: str, option: str, after: str) -> Markup:
    """Say that a section has no content, and which option fills it."""
    return tag("p", label(before), tag("code", label(option)), label(after), class_="absent")


def items(texts: Sequence[str], *, class_: str | None = None) -> Markup:
    """Return a list of texts; nothing if there are none."""
    if not texts:
        return NOTHING
    return tag("ul", *(tag("li", label(text)) for text in texts), class_=class_)


def folded(title: str, content: Markup) -> Markup:
    """Return content behind a title that opens it; scripts open it for print."""
    return tag("details", tag("summary", label(title)), content)


class Heading(NamedTuple):
    """The heading of a column of a table; numbers are aligned to the right."""

    title: str
    is_number: bool = False


def table(
    caption: str, headings: Sequence[Heading], rows: Iterable[Sequence[str | Markup]]
) -> Markup:
    """Return a table of cells that are markup already; the first cell of a row is its heading."""
    classes = ["number" if heading.is_number else None for heading in headings]
    head = joined(
        tag("th", label(heading.title), scope="col", class_=class_)
        for heading, class_ in zip(headings, classes, strict=True)
    )
    body = joined(
        tag(
            "tr",
            *(
                tag("td" if k else "th", Markup(cell), scope=None if k else "row", class_=class_)
                for k, (cell, class_) in enumerate(zip(row, classes, strict=True))
            ),
        )
        for row in rows
    )
    inside = tag(
        "table",
        tag("caption", label(caption)),
        tag("thead", tag("tr", head)),
        tag("tbody", body),
    )
    # A wide table scrolls by itself, by keyboard too, and not the page.
    return tag("div", inside, class_="scroll", tabindex="0", role="region", aria_label=caption)


def figure(picture: Picture, *, theme: str | None = None) -> Markup:
    """Return a picture that stands on its own background, for pages of a theme if it has one."""
    class_ = "picture" if theme is None else f"picture for-{theme}"
    return tag("figure", Markup(picture.svg), class_=class_)
