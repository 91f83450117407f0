"""SVG as PNG, PDF and HTML.

PNG and PDF are made by vl-convert (the extra `draw`): resvg and svg2pdf in one wheel that brings
Liberation Sans along, so that text shows on a machine without fonts.
"""

from __future__ import annotations

import importlib.util
import math
import re
from types import ModuleType

from gml.errors import CannotAnswer, UsageError, parameter
from gml.formats.suffixes import RENDERED
from gml.pictures.pdf_order import in_one_order
from gml.pictures.svg import element, label, number
from gml.pictures.themes import readable_on
from gml.progress import reporter
from gml.resources import lacking_extra, require_memory

# Bytes per pixel: red, green, blue and alpha, and once more while they are compressed.
_PIXEL_BYTES = 8
# What most programs open: beyond that, sides no longer fit into 16 bits with a sign.
_LONGEST_SIDE = 32_767
_MOST_PIXELS = 1 << 28
# The longest side of a page of PDF (ISO 32000-1, annex C.2), in points: one for each pixel.
_LONGEST_PAGE = 14_400.0


def require_renderer(format: str) -> None:
    """Refuse a format whose renderer is not installed."""
    if format in RENDERED and importlib.util.find_spec("vl_convert") is None:
        raise lacking_extra(format.upper(), "draw", "; SVG and HTML do not")


def png_of(svg: str, width: float, height: float, scale: float) -> bytes:
    """Return SVG of this size as PNG."""
    if not scale > 0:
        raise UsageError(f"{parameter('scale')} must be above 0, not {scale:g}")
    across, down = width * scale, height * scale
    size = f"a PNG of {across:,.0f} x {down:,.0f} pixels"
    way_out = f"; lower {parameter('scale')}, or draw SVG"
    if max(across, down) > _LONGEST_SIDE or across * down > _MOST_PIXELS:
        fits = min(_LONGEST_SIDE / max(width, height), math.sqrt(_MOST_PIXELS / (width * height)))
        digits = 10.0 ** (1 - math.floor(math.log10(fits)))
        raise CannotAnswer(
            f"{size} is too large: at most {_LONGEST_SIDE:,} on a side and "
            f"{_MOST_PIXELS / 1e6:.0f} million in all; lower {parameter('scale')} to "
            f"{math.floor(fits * digits) / digits:g}, draw less ({parameter('around')}), "
            "or draw SVG"
        )
    if min(across, down) < 1:
        raise UsageError(f"{size} has none; raise {parameter('scale')}")
    require_memory(int(across * down) * _PIXEL_BYTES, None, size, way_out)
    with reporter().phase("rendering"):
        return bytes(_renderer("png").svg_to_png(svg, scale=scale))


def pdf_of(svg: str, width: float, height: float) -> bytes:
    """Return SVG of this size as PDF, smaller if no page could hold it."""
    scale = min(1.0, _LONGEST_PAGE / max(width, height))
    with reporter().phase("rendering"):
        return in_one_order(bytes(_renderer("pdf").svg_to_pdf(_shown_smaller(svg, scale))))


def _shown_smaller(svg: str, scale: float) -> str:
    """Return the drawing at another size; what it shows stays, as the root has a viewBox."""
    if scale == 1:
        return svg
    start, root, rest = svg.partition(">")
    for side in ("width", "height"):
        start = re.sub(
            rf'(?<= {side}=")[0-9.]+', lambda found: number(float(found[0]) * scale), start
        )
    return f"{start}{root}{rest}"


def _renderer(format: str) -> ModuleType:
    require_renderer(format)
    import vl_convert

    found: ModuleType = vl_convert
    return found


def page_of(svg: str, title: str, background: str) -> str:
    """Return an HTML page around SVG, which may load nothing from anywhere.

    The drawing fits the window; who ticks a box, without any script, sees it in its own size.

    Examples
    --------
    >>> page = page_of("<svg/>", "<script>", "#ffffff")
    >>> "<title>&lt;script&gt;</title>" in page, "default-src 'none'" in page
    (True, True)
    """
    from gml.pictures.content_policy import policy_element

    ink = readable_on(background)
    rules = (
        f"html {{ background: {background}; color: {ink}; "
        f"color-scheme: {'light' if ink == '#000000' else 'dark'} }} "
        "body { margin: 1rem; font: 0.8rem Helvetica, Arial, sans-serif } "
        "svg { display: block; margin: 0.5rem auto; width: auto; height: auto; "
        "max-width: 100%; max-height: calc(100vh - 4.5rem) } "
        "input, label { vertical-align: middle } "
        "input:checked ~ svg { max-width: none; max-height: none } "
        "@media print { input, label { display: none } svg { max-height: 100vh } }"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{policy_element()}\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{element('title', label(title or 'gml'))}\n<style>{rules}</style>\n</head>\n"
        '<body>\n<input type="checkbox" id="size"> <label for="size">actual size</label>\n'
        f"{svg}\n</body>\n</html>\n"
    )
