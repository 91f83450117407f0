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
PROFILE_SUFFIXES = {".json": "json", ".txt": "text", ".csv": "csv", ".md": "markdown"}


def format_of(
    path: str | os.PathLike[str],
    suffixes: dict[str, str],
    *,
    or_option: str = f", or say {parameter('format')}",
) -> str:
    """Return the format that a file's suffix picks."""
    suffix = Path(path).suffix.lower()
    if suffix not in suffixes and suffix[1:] in PICTURES:
        if "bif" in suffixes.values():
            raise UsageError(drawn_by_graphviz(suffix[1:], "convert FILE -", str(path)))
        if "dot" in suffixes.values():
            raise UsageError(drawn_by_graphviz(suffix[1:], path=str(path)))
    if suffix not in suffixes:
        known = " ".join(suffixes)
        raise UsageError(f"{str(path)!r} does not tell its format; use one of {known}{or_option}")
    return suffixes[suffix]


def drawn_by_graphviz(picture: str, command: str = "…", path: str | None = None) -> str:
    """Say how to get a picture.

    Examples
    --------
    >>> drawn_by_graphviz("svg")
    'gml draws no pictures, but Graphviz does: gml … -f dot | dot -Tsvg > graph.svg'
    """
    where = shlex.quote(path or f"graph.{picture}")
    way = f"gml {command} -f dot | dot -T{picture} > {where}"
    return f"gml draws no pictures, but Graphviz does: {way}"


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
