"""SVG as PNG, PDF and HTML.

PNG and PDF are made by vl-convert (the extra `draw`): resvg and svg2pdf in one wheel that brings
Liberation Sans along, so that text shows on a machine without fonts.
"""

from __future__ import annotations

import importlib.util
from types import ModuleType

from gml.errors import CannotAnswer, UsageError, parameter
from gml.formats.suffixes import RENDERED
from gml.pictures.content_policy import policy_element
from gml.pictures.pdf_order import in_one_order
from gml.pictures.svg import element, label
from gml.resources import require_memory

# Bytes per pixel: red, green, blue and alpha, and once more while they are compressed.
_PIXEL_BYTES = 8
_MOST_PIXELS = 1 << 30


def require_renderer(format: str) -> None:
    """Refuse a format whose renderer is not installed."""
    if format in RENDERED and importlib.util.find_spec("vl_convert") is None:
        raise UsageError(
            f"{format.upper()} needs the extra draw: pip install 'gml[draw]'; SVG and HTML do not"
        )


def png_of(svg: str, width: float, height: float, scale: float) -> bytes:
    """Return SVG of this size as PNG."""
    if not scale > 0:
        raise UsageError(f"{parameter('scale')} must be above 0, not {scale:g}")
    across, down = width * scale, height * scale
    size = f"a PNG of {across:.0f} x {down:.0f} pixels"
    way_out = f"; lower {parameter('scale')}, or draw SVG"
    if across * down > _MOST_PIXELS:
        raise CannotAnswer(f"{size} is too large{way_out}")
    if min(across, down) < 1:
        raise UsageError(f"{size} has none; raise {parameter('scale')}")
    require_memory(int(across * down) * _PIXEL_BYTES, None, size, way_out)
    return bytes(_renderer("png").svg_to_png(svg, scale=scale))


def pdf_of(svg: str) -> bytes:
    """Return SVG as PDF."""
    return in_one_order(bytes(_renderer("pdf").svg_to_pdf(svg)))


def _renderer(format: str) -> ModuleType:
    require_renderer(format)
    import vl_convert

    found: ModuleType = vl_convert
    return found


def page_of(svg: str, title: str, background: str) -> str:
    """Return an HTML page around SVG, which may load nothing from anywhere.

    Examples
    --------
    >>> page = page_of("<svg/>", "<script>", "#ffffff")
    >>> "<title>&lt;script&gt;</title>" in page, "default-src 'none'" in page
    (True, True)
    """
    rule = (
        f"body {{ margin: 1rem; background: {background} }} svg {{ display: block; margin: auto }}"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{policy_element()}\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{element('title', label(title or 'gml'))}\n<style>{rule}</style>\n</head>\n"
        f"<body>\n{svg}\n</body>\n</html>\n"
    )
