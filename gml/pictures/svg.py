"""SVG as text: elements with their attributes, and labels that stay labels.

Colours are attributes, not a style sheet: a picture in a page or a notebook leaves what is around
it alone, and small renderers understand it.
"""

from __future__ import annotations

from typing import NewType

from gml.printable_text import printable

Markup = NewType("Markup", str)
"""Text that is safe to stand in an SVG or HTML file as it is."""

FONTS = "Helvetica, Arial, 'Liberation Sans', sans-serif"
"""The fonts of all text: they have the same widths, which `text_width` knows."""


def element(tag: str, /, *content: Markup, **attributes: object) -> Markup:
    r"""Return an element; attributes have _ for -, and those that are None are left out.

    Examples
    --------
    >>> element("text", label("<a> & b"), x=1.50, text_anchor="middle", fill=None)
    '<text x="1.5" text-anchor="middle">&lt;a&gt; &amp; b</text>'
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    inside = "".join(content)
    return Markup(f"<{tag}{written}>{inside}</{tag}>" if inside else f"<{tag}{written}/>")


def label(text: str) -> Markup:
    r"""Return text that shows as it is, whatever it holds.

    Examples
    --------
    >>> label('<script>\x07')
    '&lt;script&gt;\\x07'
    """
    shown = printable(text)
    return Markup(shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def number(value: float) -> str:
    """Return a coordinate with two decimals at most.

    Examples
    --------
    >>> number(2.0), number(-0.001), number(1.255)
    ('2', '0', '1.25')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _value(value: object) -> str:
    if isinstance(value, float | int):
        return number(value)
    return label(str(value)).replace('"', "&quot;")


def document(
    width: float,
    height: float,
    *content: Markup,
    title: str,
    background: str,
    description: str = "",
) -> str:
    """Return a whole SVG file, with a title and a description that screen readers say."""
    described = [element("desc", label(description))] if description else []
    return element(
        "svg",
        element("title", label(title)),
        *described,
        element("rect", width=width, height=height, fill=background),
        *content,
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {number(width)} {number(height)}",
        role="img",
        font_family=FONTS,
    )
