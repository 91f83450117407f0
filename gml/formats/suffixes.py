"""Which format a file's suffix picks for writing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gml.errors import UsageError, parameter

GRAPH_SUFFIXES = {
    ".dot": "dot",
    ".gv": "dot",
    ".json": "json",
    ".graphml": "graphml",
    ".xml": "graphml",
    ".txt": "text",
}
MODEL_SUFFIXES = {
    ".json": "json",
    ".bif": "bif",
    ".xmlbif": "xmlbif",
    ".bifxml": "xmlbif",
    ".xml": "xmlbif",
    ".net": "net",
    ".hugin": "net",
    ".uai": "uai",
    ".txt": "text",
}
MARKOV_SUFFIXES = {
    ".json": "json",
    ".uai": "uai",
    ".txt": "text",
    ".dot": "dot",
    ".gv": "dot",
    ".graphml": "graphml",
}
"""Of an undirected model, and of its graph alone."""
FIELD_SUFFIXES = {name: format for name, format in MARKOV_SUFFIXES.items() if format != "uai"}
"""Of a conditional random field, and of its graph alone."""
REPORT_SUFFIXES = {
    ".txt": "text",
    ".json": "json",
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".md": "markdown",
}
CHECK_SUFFIXES = {
    ".txt": "text",
    ".json": "json",
    ".md": "markdown",
    ".xml": "junit",
    ".sarif": "sarif",
}
PICTURE_SUFFIXES = {".svg": "svg", ".png": "png", ".pdf": "pdf", ".html": "html", ".htm": "html"}
DRAWING_SUFFIXES = {**PICTURE_SUFFIXES, ".txt": "text"}
"""Of a picture that `gml draw` makes, which box characters can show too."""
PICTURES = tuple(dict.fromkeys(PICTURE_SUFFIXES.values()))
RENDERED = ("png", "pdf")
"""Pictures that are not text, and need the extra `draw`."""
OTHER_PICTURES = ("ps", "eps", "jpg", "jpeg", "gif", "webp", "tif", "tiff", "bmp")
"""What people ask for that gml does not write."""
PAGE_SUFFIXES = {".html": "html", ".htm": "html"}


def format_of(
    path: str | os.PathLike[str],
    suffixes: dict[str, str],
    *,
    or_option: str = f", or say {parameter('format')}",
    in_python: bool = True,
) -> str:
    """Return the format that a file's suffix picks; messages may leave out what is for Python."""
    suffix = Path(path).suffix.lower()
    if suffix in suffixes:
        return suffixes[suffix]
    if suffix[1:] in OTHER_PICTURES and "svg" in suffixes.values():
        raise UsageError(f"{str(path)!r}: {not_drawn(suffix[1:])}")
    if suffix in PICTURE_SUFFIXES and "html" not in suffixes.values():
        draw = f" (in Python, gml.draw(…).to_file({str(path)!r}))" if in_python else ""
        raise UsageError(f"{str(path)!r} is a picture, which gml draw{draw} makes")
    if suffix and set(suffixes.values()) == {"html"}:
        raise UsageError(
            f"{str(path)!r}: a report is HTML, not {suffix[1:].upper()}; name it .html"
            + (", and print it to PDF from a browser" if suffix == ".pdf" else "")
        )
    known = " ".join(suffixes)
    raise UsageError(f"{str(path)!r} does not tell its format; use one of {known}{or_option}")


def not_drawn(picture: str, formats: Sequence[str] = PICTURES) -> str:
    """Say which pictures there are in place of one of another kind.

    Examples
    --------
    >>> not_drawn("gif")
    'pictures are svg, png, pdf or html, not gif'
    """
    *others, last = formats
    return f"pictures are {', '.join(others)} or {last}, not {picture}"


class PickedFormats(NamedTuple):
    """The formats that a suffix picks for a model and for a graph."""

    model: str
    graph: str


def formats_of(path: str | os.PathLike[str]) -> PickedFormats:
    """Return the formats that a suffix picks for what may be a model or a graph, or a picture.

    Examples
    --------
    >>> formats_of("alarm.xml")
    PickedFormats(model='xmlbif', graph='graphml')
    """
    return PickedFormats(
        format_of(path, {**GRAPH_SUFFIXES, **PICTURE_SUFFIXES, **MODEL_SUFFIXES}),
        format_of(path, {**MODEL_SUFFIXES, **PICTURE_SUFFIXES, **GRAPH_SUFFIXES}),
    )
