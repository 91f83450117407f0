"""The density of one numeric variable: a curve over its support, its mean and quantiles marked."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gml.model.entropy.density import Density
from gml.pictures.picture import Picture
from gml.pictures.plots.axes import (
    HEADING_ROOM,
    MARGIN,
    SMALL,
    KeyEntry,
    brief,
    figure,
    fitting_ticks,
    key,
    line,
    sheet,
    ticks,
    widest,
    x_axis,
    y_axis,
)
from gml.pictures.svg import element, label, number
from gml.pictures.themes import LIGHT, Theme

_WIDTH, _HEIGHT = 520.0, 240.0


def density_plot(
    density: Density, *, quantiles: Sequence[float] = (), theme: Theme = LIGHT
) -> Picture:
    """Return the plot of a density.

    Examples
    --------
    >>> from gml.model.entropy.constraints import NumericMoments
    >>> from gml.model.entropy.density_fit import fit_density
    >>> density_plot(fit_density(NumericMoments("wait", (0.0, math.inf), {1: 2.0}))).title
    'Density of wait'
    """
    x, heights, _ = density.table()
    across_ticks = fitting_ticks(float(x[0]), float(x[-1]), _WIDTH)
    up_ticks = ticks(0.0, float(heights.max()), 6)
    top = HEADING_ROOM + 6
    bottom = top + _HEIGHT
    left = MARGIN + widest(up_ticks.labels, SMALL) + 8
    across = across_ticks.scale(left, left + _WIDTH)
    up = up_ticks.scale(bottom, top)
    content = [
        *y_axis(up_ticks, up, left, left + _WIDTH, theme),
        *x_axis(across_ticks, across, top, bottom, theme, brief(density.name)),
    ]
    points = [
        f"{number(across.at(a))} {number(up.at(b))}"
        for a, b in zip(x.tolist(), heights.tolist(), strict=True)
    ]
    foot = number(up.at(0.0))
    area = f"M{number(across.at(float(x[0])))} {foot}L{'L'.join(points)}"
    area += f"L{number(across.at(float(x[-1])))} {foot}Z"
    content.append(element("path", d=area, fill=theme.bar, fill_opacity=0.35, stroke="none"))
    content.append(
        element("path", d=f"M{'L'.join(points)}", fill="none", stroke=theme.ink, stroke_width=1.5)
    )
    entries = [KeyEntry(line(12, 0, 12, 12, theme.ink, width=1.5), "mean")]
    marks: list[tuple[float, str, str | None]] = [(density.mean, "mean", None)]
    shares = list(quantiles)
    marks += [
        (value, f"quantile {share:g}", "3 3")
        for share, value in zip(
            shares, density.quantile(shares).tolist() if shares else (), strict=True
        )
        if math.isfinite(value)
    ]
    if shares:
        shown = ", ".join(f"{share:g}" for share in shares)
        entries.append(KeyEntry(line(12, 0, 12, 12, theme.ink, dashes="3 3"), f"quantiles {shown}"))
    for value, name, dashes in marks:
        if not across.low <= value <= across.high:
            continue
        at = across.at(value)
        height = up.at(float(density.density(np.array([value]))[0]))
        mark = line(at, height, at, bottom, theme.ink, width=1.5, dashes=dashes)
        content.append(element("g", element("title", label(f"{name} {figure(value, 6)}")), mark))
    keyed, high = key(entries, left, bottom + 46, theme, _WIDTH)
    said = f"entropy {figure(density.entropy, 5)} nats, mean {figure(density.mean, 5)}"
    said += f", variance {figure(density.variance, 5)}"
    return sheet(
        left + _WIDTH + MARGIN,
        bottom + 46 + high + MARGIN - 6,
        [*content, *keyed],
        theme,
        title=f"Density of {brief(density.name)}",
        said=said,
    )
