"""HTML tables of rows, for notebooks: short, escaped, with bars for shares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gml.errors import counted
from gml.formats.reports.rows import shown
from gml.pictures.svg import Markup, element, label, number
from gml.pictures.themes import LIGHT

MOST_ROWS = 20
"""The rows of a table that are shown."""

_MOST_CHARACTERS = 100
_BAR_WIDTH = 120
_LEFT, _RIGHT = "text-align:left", "text-align:right;white-space:nowrap"

Row = Mapping[str, Any]


def table(
    rows: Sequence[Row],
    *,
    n_rows: int | None = None,
    headers: Sequence[str] = (),
    bar: str | None = None,
    tinted: Sequence[str] = (),
    titles: Mapping[str, str] | None = None,
) -> Markup:
    """Return rows with the same keys as a table; columns in which nothing applies are left out.

    Parameters
    ----------
    rows
        Only the first of them are shown.
    n_rows
        How many rows there are, if `rows` does not have them all.
    headers
        The columns that say what a row is about.
    bar
        The column of shares that has bars beside it.
    tinted
        Columns of shares: the larger, the deeper the colour behind it.
    titles
        What stands above columns, if it is not their keys.

    Examples
    --------
    >>> print(table([{"level": "<no>"}], headers=["level"]).partition("<tbody>")[2])
    <tr><th scope="row" style="text-align:left">&lt;no&gt;</th></tr></tbody></table>
    """
    if not rows:
        return paragraph("no results")
    few = rows[:MOST_ROWS]
    keys = [key for key in few[0] if any(row[key] not in (None, []) for row in few)]
    styles = {
        key: _RIGHT
        if all(row[key] is None or isinstance(row[key], int | float) for row in few)
        else _LEFT
        for key in keys
    }
    titles = titles or {}
    head = [
        element("th", _text(titles.get(key, key)), scope="col", style=styles[key]) for key in keys
    ]
    if bar is not None:
        head.append(element("th", Markup("&#160;"), scope="col"))
    lines = [
        [_cell(row[key], styles[key], key in headers, key in tinted) for key in keys]
        + ([] if bar is None else [_bar(row[bar])])
        for row in few
    ]
    more = (len(rows) if n_rows is None else n_rows) - len(few)
    body = [element("tr", *cells) for cells in lines]
    whole = element("table", element("thead", element("tr", *head)), element("tbody", *body))
    return Markup(whole + (paragraph(f"and {counted(more, 'more row')}") if more > 0 else ""))


def _cell(value: Any, style: str, is_header: bool, is_tinted: bool) -> Markup:
    if is_header:
        return element("th", _text(value), scope="row", style=style)
    if is_tinted and isinstance(value, float):
        style += f";background:{_see_through(value)}"
    return element("td", _text(value), style=style)


def _text(value: Any) -> Markup:
    text = shown(value)
    if len(text) <= _MOST_CHARACTERS:
        return label(text)
    return element("span", label(text[: _MOST_CHARACTERS - 1] + "…"), title=text)


def _see_through(share: float) -> str:
    """The colour of bars, laid over whatever the background is."""
    red, green, blue = (int(LIGHT.bar[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red},{green},{blue},{number(min(max(share, 0.0), 1.0) * 0.6)})"


def _bar(share: float) -> Markup:
    width = number(_BAR_WIDTH * min(max(share, 0.0), 1.0))
    style = f"display:inline-block;height:0.8em;width:{width}px;background:{LIGHT.bar}"
    inside = element("span", Markup("&#8203;"), style=style)
    return element("td", inside, style=f"{_LEFT};min-width:{_BAR_WIDTH}px", aria_hidden="true")


def paragraph(text: str) -> Markup:
    """Return a line of text."""
    return element("p", label(text))


def strong(text: str) -> Markup:
    """Return a line of text that is a heading."""
    return element("p", element("strong", label(text)))


def bullets(lines: Iterable[str]) -> Markup:
    """Return lines as a list; nothing for none."""
    items = [element("li", label(line)) for line in lines]
    return element("ul", *items) if items else Markup("")


def folded(summary: str, *content: Markup) -> Markup:
    """Return content that opens with a click on its summary."""
    return element("details", element("summary", label(summary)), *content)


def block(*content: Markup) -> str:
    """Return what a cell of a notebook shows."""
    return element("div", *content, style="overflow-x:auto")
