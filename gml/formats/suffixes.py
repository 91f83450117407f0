"""Which format a file's suffix picks for writing."""

from __future__ import annotations

import os
import shlex
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
    ".txt": "text",
}
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
PICTURES = ("svg", "png", "pdf", "ps", "eps", "jpg", "jpeg", "gif", "webp")
"""What Graphviz makes of DOT."""
DRAWN_BY_GRAPHVIZ = "gml draws no pictures, but Graphviz does"
"""How to get a picture begins."""
PROFILE_SUFFIXES = {".json": "json", ".txt": "text", ".csv": "csv", ".md": "markdown"}
PAGE_SUFFIXES = {".html": "html", ".htm": "html"}


def format_of(
    path: str | os.PathLike[str],
    suffixes: dict[str, str],
    *,
    or_option: str = f", or say {parameter('format')}",
) -> str:
    """Return the format that a file's suffix picks."""
    suffix = Path(path).suffix.lower()
    if suffix not in suffixes:
        if suffix[1:] in PICTURES and {"dot", "bif"} & {*suffixes.values()}:
            raise PictureWanted(str(path), suffix[1:])
        known = " ".join(suffixes)
        raise UsageError(f"{str(path)!r} does not tell its format; use one of {known}{or_option}")
    return suffixes[suffix]


class PictureWanted(UsageError):
    """A picture was asked for; `picture` is its kind, and `path` its file."""

    def __init__(self, path: str, picture: str) -> None:
        way = f"write DOT, then dot -T{picture} graph.dot -o {shlex.quote(path)}"
        super().__init__(f"{DRAWN_BY_GRAPHVIZ}: {way}")
        self.path = path
        self.picture = picture


class PickedFormats(NamedTuple):
    """The formats that a suffix picks for a model and for a graph."""

    model: str
    graph: str


def formats_of(path: str | os.PathLike[str]) -> PickedFormats:
    """Return the formats that a suffix picks for what may be a model or a graph.

    Examples
    --------
    >>> formats_of("alarm.xml")
    PickedFormats(model='xmlbif', graph='graphml')
    """
    return PickedFormats(
        format_of(path, {**GRAPH_SUFFIXES, **MODEL_SUFFIXES}),
        format_of(path, {**MODEL_SUFFIXES, **GRAPH_SUFFIXES}),
    )
