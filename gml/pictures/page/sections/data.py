"""The data: a small picture per column, beside what the model expects of it.

The pictures take the colour of the text around them, so that they suit a light and a dark page.
"""

from __future__ import annotations

from typing import Any

from gml.errors import agreeing, counted
from gml.pictures.page.content import Column, Histogram, ReportContent
from gml.pictures.page.html import NOTHING, items, paragraph, tag
from gml.pictures.page.posteriors import Posteriors
from gml.pictures.page.sections.section import Section
from gml.pictures.plots.axes import figure
from gml.pictures.shares import percent
from gml.pictures.svg import FONTS, Markup, element, label
from gml.pictures.text_width import shortened
from gml.pictures.themes import LIGHT

_MOST_LEVELS = 10
_MOST_UNKNOWN = 5
_WIDTH, _ROW, _TEXT = 240.0, 18.0, 11.0
_LABELS, _COUNTS = 84.0, 46.0
_HIGH = 64.0


def data_section(content: ReportContent, posteriors: Posteriors) -> Section:
    """Return the summary of the columns that the model has."""
    there = {column.name for column in content.columns}
    lacking = [name for name in content.net.names if name not in there]
    said = f"{content.data}: {counted(content.rows, 'row')}, "
    said += f"{counted(len(content.columns), 'column')} of the model."
    left_out = content.rows_left_out
    if left_out:
        said += (
            f" {counted(left_out, 'row')} with missing values {agreeing(left_out, 'is', 'are')} "
        )
        said += "not among them; what is missing, histograms and ranges are of all "
        said += f"{counted(content.rows + left_out, 'row')}."
    if not content.net.is_gaussian:
        said += " A mark on a bar shows the share that the model expects."
    missing = [f"Not in the data: {name}" for name in lacking]
    drawn = (_column(column, posteriors.prior[column.name]) for column in content.columns)
    shown = tag("div", *drawn, class_="columns")
    return Section("data", "Data", (paragraph(said), items(missing), shown))


def _column(column: Column, prior: Any) -> Markup:
    """A column with its picture; what is missing, or unknown to the model, is said."""
    lines = []
    if column.missing:
        share = percent(column.missing / column.rows)
        lines.append(f"{column.missing} missing ({share})")
    unknown = column.levels[column.n_known :]
    if unknown:
        lines.append(f"{counted(len(unknown), 'value')} that the model does not know")
    if column.numbers is not None:
        found = column.numbers
        median = found.quantiles[0.5]
        lines.append(
            f"from {_number(found.smallest)} to {_number(found.largest)}, median {_number(median)}"
        )
    if isinstance(prior, dict):
        mean, sd = _number(prior["mean"]), _number(prior["sd"])
        lines.append(f"the model expects {mean} ± {sd}")
    return tag(
        "figure",
        tag("figcaption", label(column.name)),
        _picture_of(column, prior),
        *(paragraph(line, class_="note") for line in lines),
        class_="column",
    )


def _picture_of(column: Column, prior: Any) -> Markup:
    if column.histogram is not None:
        return _histogram(column.name, column.histogram)
    return _bars(column, prior if isinstance(prior, list) else []) if column.levels else NOTHING


def _bars(column: Column, expected: list[float]) -> Markup:
    total = sum(column.counts) or 1
    shown = _shown_levels(column)
    room = _WIDTH - _LABELS - _COUNTS
    largest = max([count / total for count in column.counts] + expected)
    scale = room / (largest or 1)
    drawn, said = [], []
    for row, k in enumerate(shown):
        share, top = column.counts[k] / total, row * _ROW
        said.append(f"{column.levels[k]}: {column.counts[k]} ({percent(share)})")
        drawn += [
            _text(shortened(column.levels[k], _TEXT, _LABELS - 8), _LABELS - 6, top, "end"),
            _rect(_LABELS, top + 3, share * scale, _ROW - 6, k < column.n_known),
            _text(percent(share), _WIDTH, top, "end"),
        ]
        if k < len(expected):
            at = _LABELS + expected[k] * scale
            drawn.append(
                element("path", d=f"M{at:.2f},{top + 1:.2f}v{_ROW - 2:.2f}", stroke="currentColor")
            )
    left = len(column.levels) - len(shown)
    if left:
        rest = f"and {counted(left, 'more level')}"
        of_rest = percent((total - sum(column.counts[k] for k in shown)) / total)
        top = len(shown) * _ROW
        said.append(f"{rest} ({of_rest})")
        drawn += [_text(rest, _LABELS, top, "start"), _text(of_rest, _WIDTH, top, "end")]
    rows = len(shown) + bool(left)
    return _picture(rows * _ROW, f"{column.name}: {', '.join(said)}", drawn)


def _shown_levels(column: Column) -> list[int]:
    """All levels, or the most frequent ones and then those that the model does not know.

    Ties are in the order of levels, in which they are shown.
    """
    n = len(column.levels)
    if n <= _MOST_LEVELS:
        return list(range(n))
    by_count = sorted(range(n), key=lambda k: (-column.counts[k], k))
    first, others = by_count[: _MOST_LEVELS - 1], by_count[_MOST_LEVELS - 1 :]
    unknown = [k for k in others if k >= column.n_known]
    return sorted([*first, *unknown[:_MOST_UNKNOWN]])


def _histogram(name: str, found: Histogram) -> Markup:
    largest = max(found.counts, default=0) or 1
    width = _WIDTH / len(found.counts)
    drawn = [
        _rect(
            k * width, _HIGH * (1 - count / largest), max(width - 1, 0.5), _HIGH * count / largest
        )
        for k, count in enumerate(found.counts)
    ]
    drawn += [
        _text(_number(found.edges[0]), 0, _HIGH, "start"),
        _text(_number(found.edges[-1]), _WIDTH, _HIGH, "end"),
    ]
    said = f"{name}: histogram from {_number(found.edges[0])} to {_number(found.edges[-1])}"
    return _picture(_HIGH + _ROW, said, drawn)


def _number(value: float) -> str:
    return figure(value, digits=6)


def _picture(height: float, said: str, drawn: list[Markup]) -> Markup:
    return element(
        "svg",
        *drawn,
        width=_WIDTH,
        height=height,
        viewBox=f"0 0 {_WIDTH:g} {height:g}",
        role="img",
        aria_label=said,
        font_family=FONTS,
        font_size=_TEXT,
        fill="currentColor",
    )


def _text(text: str, x: float, top: float, anchor: str) -> Markup:
    return element("text", label(text), x=x, y=top + 13, text_anchor=anchor)


def _rect(x: float, y: float, width: float, height: float, is_known: bool = True) -> Markup:
    """A bar; a value that the model does not know stands out."""
    colour = LIGHT.bar if is_known else LIGHT.missing
    return element("rect", x=x, y=y, width=width, height=height, fill=colour)
