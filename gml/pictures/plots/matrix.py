"""Heat maps of how related each two variables are, for where a picture of edges is a tangle.

Related variables stand together (`gml.pictures.plots.seriation`). Beyond `_MOST_TOLD` names, cells
are the pixels of an image, and only some names are written: no program shows a million shapes.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, GraphError, UsageError, counted
from gml.graph.edge_numbers import share_of
from gml.graph.graph import Graph
from gml.pictures.picture import Picture
from gml.pictures.plots.axes import (
    HEADING_ROOM,
    MARGIN,
    SMALL,
    WORDS,
    brief,
    figure,
    grid_colour,
    line,
    sheet,
    ticks,
    widest,
    with_minus,
    words,
)
from gml.pictures.plots.pixels import png_of
from gml.pictures.plots.seriation import seriated
from gml.pictures.shares import share_in_words
from gml.pictures.svg import Markup, element, label, number
from gml.pictures.text_width import shortened, text_width
from gml.pictures.themes import LIGHT, Theme, readable_on

_MOST_WRITTEN = 15
"""The most names with which each cell has room for its value."""
_MOST_DRAWN = 90
"""Up to which number of names every cell is drawn, also one that shows nothing."""
_MOST_TOLD = 250
"""Up to which number of names a cell says what it is when pointed at."""
_MOST_NAMES = 2000
_LONGEST_NAME = 150.0
# How large a cell is up to a number of names, and how large the names then are.
_CELLS = (
    (_MOST_WRITTEN, 42.0, WORDS),
    (40, 20.0, WORDS),
    (90, 14.0, SMALL),
    (_MOST_TOLD, 10.0, 8.5),
)
_SIDE = 2000.0
_LEAST_PITCH = 9.5
_SHADES = 48
"""The number of shades of colours, which few eyes tell apart."""
_LEGEND = 14.0


class _Grid(NamedTuple):
    """Where the cells are, and how large they and the names are."""

    names: tuple[str, ...]
    values: NDArray[np.float64]
    cell: float
    size: float
    left: float
    top: float

    @property
    def side(self) -> float:
        return self.cell * len(self.names)

    @property
    def named(self) -> int:
        """One in how many rows has room for its name."""
        return math.ceil(_LEAST_PITCH / self.cell)


def heat_map(
    names: Sequence[str],
    values: NDArray[np.float64],
    *,
    quantity: str,
    unit: str = "",
    theme: Theme = LIGHT,
    shares: bool = False,
    signed: bool = False,
) -> Picture:
    """Return a heat map of a square matrix, its diagonal left out.

    Parameters
    ----------
    names
        The variables.
    values
        For each row and column how related they are; NaN leaves a cell empty.
    quantity, unit
        What the values are.
    shares
        Whether values are shares: 1 then has the last colour, which otherwise the largest has, and
        nothing less is rounded to it.
    signed
        Whether values below 0 have colours of their own.

    Examples
    --------
    >>> matrix = np.array([[0, 0.3, 0], [0.3, 0, 0.1], [0, 0.1, 0]])
    >>> heat_map(["a", "b", "c"], matrix, quantity="mutual information", unit="nats")
    Picture('Mutual information between 3 variables', 314 x 213)
    """
    values = np.asarray(values, dtype=np.float64)
    if values.shape != (len(names), len(names)):
        raise UsageError(
            f"a heat map of {len(names)} variables needs a square matrix of them, not "
            f"{' x '.join(map(str, values.shape))}"
        )
    if len(names) > _MOST_NAMES:
        raise CannotAnswer(
            f"a heat map of {len(names)} variables has cells smaller than a pixel; choose "
            f"{_MOST_NAMES} of them at most"
        )
    order = seriated(names, values)
    grid = _grid([names[k] for k in order], values[np.ix_(order, order)])
    apart = ~np.eye(len(names), dtype=bool)
    finite = np.abs(grid.values[np.isfinite(grid.values) & apart])
    largest = 1.0 if shares else float(finite.max(initial=0.0)) or 1.0
    title = f"{quantity[:1].upper()}{quantity[1:]} between {counted(len(names), 'variable')}"
    paint = _Paint(largest, theme, -_SHADES if signed else 0)
    written = share_in_words if shares else figure
    shown, wide = _legend(grid, paint, unit)
    return sheet(
        grid.left + grid.side + 24 + wide + MARGIN,
        max(grid.top + grid.side, grid.top + _legend_height(grid)) + MARGIN,
        [*_cells(grid, paint, written, shares=shares), *_names(grid, theme), *shown],
        theme,
        title=title,
        said="; ".join(_notes(grid)),
        description=_strongest(grid, unit, written),
    )


def _notes(grid: _Grid) -> Iterator[str]:
    if grid.named > 1:
        yield f"one name in {grid.named} is written"
    if len(grid.names) > 2:
        yield "related variables stand together"


def strength_matrix(graph: Graph) -> NDArray[np.float64]:
    """Return the strengths of the edges as a symmetric matrix, NaN where there is no edge.

    Examples
    --------
    >>> edges = [("a", "-->", "b", {"strength": 0.9}), ("b", "---", "c", {"strength": 0.6})]
    >>> strength_matrix(Graph.from_edges("abc", edges))[1].tolist()
    [0.9, nan, 0.6]
    """
    found = np.full((len(graph.names), len(graph.names)), np.nan)
    for edge in graph.edges:
        value = share_of(edge.attributes, "strength", (edge.source, edge.target))
        if value is not None:
            i, j = graph.pair(edge)
            found[i, j] = found[j, i] = value
    if np.isnan(found).all():
        raise GraphError("no edge of the graph has a strength; average graphs to get some")
    return found


def _grid(names: Sequence[str], values: NDArray[np.float64]) -> _Grid:
    n = len(names)
    cell, size = max(1.0, _SIDE // max(1, n)), _LEAST_PITCH - 1.5
    for most, its_cell, its_size in _CELLS:
        if n <= most:
            cell, size = its_cell, its_size
            break
    shown = [shortened(brief(name), size, _LONGEST_NAME) for name in names]
    # Whole numbers, so that the edges of cells are those of pixels.
    room = math.ceil(widest(shown, size)) + 6
    return _Grid(tuple(names), values, cell, size, MARGIN + room, HEADING_ROOM + room)


def _names(grid: _Grid, theme: Theme) -> list[Markup]:
    """The names of the rows to the left, and of the columns upwards; some if there are many."""
    content = []
    foot = grid.size * 0.35
    for k in range(0, len(grid.names), grid.named):
        name = shortened(brief(grid.names[k]), grid.size, _LONGEST_NAME)
        middle = (k + 0.5) * grid.cell + foot
        content += [
            words(name, grid.left - 5, grid.top + middle, theme.ink, size=grid.size, anchor="end"),
            words(name, grid.left + middle, grid.top - 5, theme.ink, size=grid.size, upwards=True),
        ]
    return content


class _Paint(NamedTuple):
    """The colours of values; the largest one has the last shade."""

    largest: float
    theme: Theme
    first: int = 0
    """The first shade: 0, or as many below it as there are above."""

    @property
    def shades(self) -> range:
        return range(self.first, _SHADES + 1)

    def shade(self, value: float) -> int:
        """Return the shade of a value, 0 for nothing."""
        # A mutual information of 0 may be computed as a little less.
        least = self.first / _SHADES
        return round(max(least, min(1.0, value / self.largest)) * _SHADES)

    def colour(self, shade: int) -> str:
        """Return the colour of a shade."""
        share = shade / _SHADES
        return self.theme.shade(share) if shade >= 0 else self.theme.shade_below(-share)


def _cells(
    grid: _Grid, paint: _Paint, written: Callable[[float], str], *, shares: bool
) -> list[Markup]:
    """The cells and lines between them; of many cells, those that show nothing are not drawn."""
    n = len(grid.names)
    background = paint.theme.background
    if n > _MOST_TOLD:
        return [_image(grid, paint), _through_diagonal(grid, paint.theme)]
    decimals = 2 - math.floor(math.log10(paint.largest))
    content = [
        _square(grid.left, grid.top, grid.side, background, stroke=paint.theme.muted),
        element("path", d=_diagonal(grid), fill=paint.theme.grid),
    ]
    gap = 1.0 if grid.cell > 12 else 0.0
    if gap or np.isnan(grid.values).any():
        content.append(element("path", d=_lines(grid), stroke=grid_colour(paint.theme)))
    for i, row in enumerate(grid.values.tolist()):
        for j, value in enumerate(row):
            if i == j or math.isnan(value):
                continue
            fill = paint.colour(paint.shade(value))
            if fill == background and n > _MOST_DRAWN:
                continue
            told = f"{brief(grid.names[i])}, {brief(grid.names[j])}: {written(value)}"
            x, y = grid.left + j * grid.cell, grid.top + i * grid.cell
            content.append(_square(x, y, grid.cell - gap, fill, element("title", label(told))))
            if n <= _MOST_WRITTEN:
                x, y = x + (grid.cell - gap) / 2, y + grid.cell / 2 + 3.5
                text = written(value) if shares else _rounded(value, decimals)
                content.append(words(text, x, y, readable_on(fill), size=9.5, anchor="middle"))
    content.append(_through_diagonal(grid, paint.theme))
    return content


def _rounded(value: float, decimals: int) -> str:
    """The value in a cell: to three digits of the largest one, if that is short."""
    if not math.isfinite(value):
        return figure(value)
    if not -3 <= decimals <= 4:
        return with_minus(f"{value:.1e}")
    return with_minus(f"{value:.{max(0, decimals)}f}")


def _square(
    x: float, y: float, side: float, fill: str, *inside: Markup, stroke: str | None = None
) -> Markup:
    return element("rect", *inside, x=x, y=y, width=side, height=side, fill=fill, stroke=stroke)


def _image(grid: _Grid, paint: _Paint) -> Markup:
    """The cells as pixels; those that are left out have the colour of the background."""
    on_diagonal = np.eye(len(grid.names), dtype=bool)
    known = ~np.isnan(grid.values) & ~on_diagonal
    shades = np.rint(np.where(known, grid.values, 0.0) / paint.largest * _SHADES)
    # The first two colours of the palette are those of the background and of the diagonal.
    codes = np.where(known, np.clip(shades, paint.first, _SHADES) - paint.first + 2, on_diagonal)
    colours = [paint.colour(shade) for shade in paint.shades]
    side = int(grid.cell)
    pixels = codes.astype(np.uint8).repeat(side, axis=0).repeat(side, axis=1)
    encoded = base64.b64encode(
        png_of(pixels, [paint.theme.background, paint.theme.grid, *colours])
    ).decode()
    return element(
        "image",
        x=grid.left,
        y=grid.top,
        width=grid.side,
        height=grid.side,
        href=f"data:image/png;base64,{encoded}",
    )


def _lines(grid: _Grid) -> str:
    """Lines between the cells, which lead to the names where many cells are empty."""
    side = number(grid.side)
    offsets = [k * grid.cell - 0.5 for k in range(1, len(grid.names))]
    across = (f"M{number(grid.left)} {number(grid.top + offset)}h{side}" for offset in offsets)
    down = (f"M{number(grid.left + offset)} {number(grid.top)}v{side}" for offset in offsets)
    return "".join([*across, *down])


def _through_diagonal(grid: _Grid, theme: Theme) -> Markup:
    """A line through what is left out, which a shade of grey could be taken for a value."""
    return line(
        grid.left, grid.top, grid.left + grid.side, grid.top + grid.side, theme.muted, width=0.7
    )


def _diagonal(grid: _Grid) -> str:
    cell = number(grid.cell)
    return "".join(
        f"M{number(grid.left + k * grid.cell)} {number(grid.top + k * grid.cell)}"
        f"h{cell}v{cell}h-{cell}z"
        for k in range(len(grid.names))
    )


def _legend_height(grid: _Grid) -> float:
    return max(90.0, min(220.0, grid.side))


def _legend(grid: _Grid, paint: _Paint, unit: str) -> tuple[list[Markup], float]:
    """A band of the colours from the least to the most, with ticks, and how wide that is."""
    left, top, height = grid.left + grid.side + 24, grid.top, _legend_height(grid)
    least = paint.largest * paint.first / _SHADES
    marked = ticks(least, paint.largest, 6)
    part = height / len(paint.shades)
    content = [
        element(
            "rect",
            x=left,
            y=top + (_SHADES - shade) * part,
            width=_LEGEND,
            # Without some overlap, renderers show the seams.
            height=part + 0.5,
            fill=paint.colour(shade),
        )
        for shade in reversed(paint.shades)
    ]
    content.append(
        element(
            "rect",
            x=left,
            y=top,
            width=_LEGEND,
            height=height,
            fill="none",
            stroke=paint.theme.muted,
            stroke_width=0.7,
        )
    )
    shown = []
    for value, text in zip(marked.values, marked.labels, strict=True):
        if least <= value <= paint.largest:
            y = top + height * (paint.largest - value) / (paint.largest - least)
            shown.append(text)
            content += [
                line(left + _LEGEND, y, left + _LEGEND + 4, y, paint.theme.muted),
                words(text, left + _LEGEND + 7, y + 4, paint.theme.muted, size=SMALL),
            ]
    if unit:
        content.append(words(unit, left, top - 10, paint.theme.ink, size=SMALL))
    return content, max(_LEGEND + 7 + widest(shown, SMALL), text_width(unit, SMALL))


def _strongest(grid: _Grid, unit: str, written: Callable[[float], str]) -> str:
    """The largest values in words, for who does not see the colours."""
    sizes = np.abs(np.where(np.isnan(grid.values), 0.0, grid.values))
    np.fill_diagonal(sizes, 0.0)
    if np.array_equal(grid.values, grid.values.T, equal_nan=True):
        sizes = np.triu(sizes)
    found = np.argsort(-sizes, axis=None, kind="stable")[:5]
    told = []
    for at in found.tolist():
        i, j = divmod(at, len(grid.names))
        if sizes[i, j] > 0:
            ends = f"{brief(grid.names[i])} and {brief(grid.names[j])}"
            told.append(f"{ends} {written(float(grid.values[i, j]))}")
    return f"Largest values{f' in {unit}' if unit else ''}: {', '.join(told)}" if told else ""
