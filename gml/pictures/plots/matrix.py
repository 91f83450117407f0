"""Heat maps of a quantity between each two of some names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gml.pictures.picture import Picture
from gml.pictures.svg import document, element, label
from gml.pictures.text_width import text_width
from gml.pictures.themes import LIGHT, Theme

_CELL = 16.0


def heat_map(
    names: Sequence[str],
    values: NDArray[np.float64],
    *,
    quantity: str,
    unit: str,
    theme: Theme = LIGHT,
    ordered: bool = True,
) -> Picture:
    """Return the picture of a symmetric matrix; nan has no colour."""
    order = sorted(range(len(names)), key=names.__getitem__) if ordered else range(len(names))
    left = max((text_width(name, 10) for name in names), default=0) + 8
    off = ~np.eye(len(names), dtype=bool)
    largest = float(np.nanmax(values[off], initial=0.0)) or 1.0
    content = []
    for row, i in enumerate(order):
        content.append(
            element(
                "text",
                label(names[i]),
                x=left - 4,
                y=row * _CELL + 12,
                font_size=10,
                text_anchor="end",
                fill=theme.ink,
            )
        )
        for column, j in enumerate(order):
            if i != j and not np.isnan(values[i, j]):
                content.append(
                    element(
                        "rect",
                        x=left + column * _CELL,
                        y=row * _CELL,
                        width=_CELL,
                        height=_CELL,
                        fill=theme.shade(float(values[i, j]) / largest),
                    )
                )
    size = _CELL * len(names)
    title = f"{quantity} in {unit}"
    svg = document(left + size, size, *content, title=title, background=theme.background)
    return Picture(svg, left + size, size, title)
