"""The scripts and styles of the report page, which go into it as they are.

The page has one script, and its policy allows that one alone, by its hash (CSP level 2): whatever
a label holds, no other text of the page can run. Nothing may be loaded, from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from gml.pictures.svg import Markup

ASSETS = (
    "factors.js",
    "inference.js",
    "gaussian.js",
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


def content_policy(script: str) -> str:
    """Return the policy that lets this script run, and nothing leave or enter the page.

    Examples
    --------
    >>> content_policy("").split("; ")[2]
    "script-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _together(names: tuple[str, ...]) -> Markup:
    folder = files("gml.pictures.page") / "assets"
    return Markup("\n".join((folder / name).read_text(encoding="utf-8") for name in names))
