"""Colours: a light, a dark and a print theme, each told apart without seeing red or green.

The hues are near those of Okabe and Ito (2008), "Color universal design"; their lightness differs
too, as the eyes that lack one sort of cones see blue and purple, or orange and yellow, alike. In
print all are greys, so line styles must tell as much as colours. What is drawn has a contrast of
3 : 1 at least with what it is drawn on, and text 4.5 : 1 (WCAG 2.1, 1.4.3 and 1.4.11); of the two
scales for areas only the ends do, as the least of a quantity may fade.
"""

from __future__ import annotations

from dataclasses import dataclass

from gml.errors import UsageError, parameter, unknown_name


@dataclass(frozen=True)
class Theme:
    """The colours of a picture, as #rrggbb."""

    name: str
    background: str
    ink: str
    """Text."""
    muted: str
    """Text that matters less, axes and grids."""
    line: str
    """Edges without a weight, borders of nodes."""
    node: str
    """What fills a node."""
    bar: str
    """Bars of a distribution."""
    evidence: str
    """What is known: the bar of an observed level, the border of its node."""
    added: str
    missing: str
    reversed: str
    remarked: str
    """Edges whose marks differ in another way."""
    band: str
    """What fills every other tier."""
    grid: str
    """Lines that only guide the eye, and what is left out."""
    scale: tuple[str, ...]
    """From nothing, the background, to much, for shades of one quantity; neighbours are blended."""
    line_scale: tuple[str, ...]
    """As `scale`, for lines, which must be seen where there is little too."""
    line_diverging: tuple[str, ...]
    """From much below to much above nothing, which is in the middle, for lines."""

    def shade(self, share: float) -> str:
        """Return the colour of a share between 0 and 1."""
        return _blend(self.scale, share)

    def shade_below(self, share: float) -> str:
        """Return the colour of a share between 0 and 1 of what is below nothing."""
        strong, weak = self.line_diverging[:2]
        return _blend((self.background, weak, strong), share)

    def line_shade(self, share: float) -> str:
        """Return the colour of a line for a share between 0 and 1."""
        return _blend(self.line_scale, share)

    def signed_line_shade(self, share: float) -> str:
        """Return the colour of a line for a share between -1 and 1."""
        return _blend(self.line_diverging, (share + 1) / 2)


def _blend(stops: tuple[str, ...], share: float) -> str:
    place = min(max(share, 0.0), 1.0) * (len(stops) - 1)
    low = min(int(place), len(stops) - 2)
    part = place - low
    mixed = (
        round(
            int(stops[low][k : k + 2], 16) * (1 - part) + int(stops[low + 1][k : k + 2], 16) * part
        )
        for k in (1, 3, 5)
    )
    return "#" + "".join(f"{value:02x}" for value in mixed)


LIGHT = Theme(
    name="light",
    background="#ffffff",
    ink="#1b1f24",
    muted="#5c6670",
    line="#4a545e",
    node="#f4f6f8",
    bar="#3a87bd",
    evidence="#bd7c00",
    added="#003f88",
    missing="#9c2f00",
    reversed="#ce58bb",
    remarked="#16907a",
    band="#f0f3f6",
    grid="#dde4ea",
    scale=("#ffffff", "#8fbfe3", "#2b6ca8", "#08306b"),
    line_scale=("#6f88a0", "#2b6ca8", "#08306b"),
    line_diverging=("#8a3300", "#c2703c", "#7e858c", "#4a86bd", "#0b4f8a"),
)
DARK = Theme(
    name="dark",
    background="#14181d",
    ink="#e8ecf0",
    muted="#9aa5b0",
    line="#aab4be",
    node="#222930",
    bar="#3f8fc4",
    evidence="#f5d020",
    added="#4a8cff",
    missing="#e0662a",
    reversed="#f5b0f5",
    remarked="#38d9a0",
    band="#1a1f25",
    grid="#2b353f",
    scale=("#14181d", "#2f5f8a", "#5a9fd4", "#cfe6f8"),
    line_scale=("#5f7d99", "#5a9fd4", "#cfe6f8"),
    line_diverging=("#ffb27d", "#c9743f", "#7c868f", "#4f8fc4", "#9fd0f5"),
)
PRINT = Theme(
    name="print",
    background="#ffffff",
    ink="#000000",
    muted="#404040",
    line="#000000",
    node="#ffffff",
    bar="#8c8c8c",
    evidence="#303030",
    added="#000000",
    missing="#707070",
    reversed="#404040",
    remarked="#555555",
    band="#f4f4f4",
    grid="#dcdcdc",
    scale=("#ffffff", "#000000"),
    line_scale=("#858585", "#000000"),
    line_diverging=("#000000", "#858585", "#000000"),
)
THEMES = {theme.name: theme for theme in (LIGHT, DARK, PRINT)}


def readable_on(fill: str) -> str:
    """Return black or white, whichever has the larger contrast (WCAG 2.1, relative luminance).

    Examples
    --------
    >>> readable_on("#ffffff"), readable_on("#14181d")
    ('#000000', '#ffffff')
    """
    parts = [int(fill[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "#000000" if (luminance + 0.05) ** 2 > 1.05 * 0.05 else "#ffffff"


def theme_named(name: str) -> Theme:
    """Return the theme of this name."""
    if name not in THEMES:
        raise UsageError(f"{parameter('theme')}: {unknown_name('theme', name, tuple(THEMES))}")
    return THEMES[name]
