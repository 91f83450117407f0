"""The scripts and styles of the report page, which go into it as they are."""

from __future__ import annotations

from importlib.resources import files

from gml.pictures.svg import Markup

ASSETS = (
    "factors.js",
    "inference.js",
    "gaussian.js",
    "mixed.js",
    "pieces.js",
    "changes.js",
    "edges.js",
    "graph_view.js",
    "hands.js",
    "panels.js",
    "interventions.js",
    "strengths.js",
    "main.js",
)
"""The files of the script, in the order in which they stand in it."""
STYLES = ("report.css", "sections.css")


def script() -> Markup:
    """Return the script of the page."""
    return _together(ASSETS)


def styles() -> Markup:
    """Return the style sheet of the page."""
    return _together(STYLES)


def _together(names: tuple[str, ...]) -> Markup:
    folder = files("gml.pictures.page") / "assets"
    return Markup("\n".join((folder / name).read_text(encoding="utf-8") for name in names))
