"""Graph files of all formats: written by name, read by content."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from gml.atomic import write_whole
from gml.errors import GraphError, place
from gml.formats.dot import dump_dot, load_dot
from gml.formats.graphml import dump_graphml, load_graphml
from gml.formats.json_graph import dump_json, load_json
from gml.formats.suffixes import GRAPH_SUFFIXES, format_of
from gml.formats.text_graph import dump_text
from gml.graph.graph import Graph

WRITERS: dict[str, Callable[[Graph], str]] = {
    "dot": dump_dot,
    "json": dump_json,
    "graphml": dump_graphml,
    "text": dump_text,
}


def write_graph(graph: Graph, path: str | os.PathLike[str], *, format: str | None = None) -> None:
    """Write a graph file, whole or not at all; the suffix picks the format."""
    chosen = format or format_of(path, GRAPH_SUFFIXES)
    write_whole(path, WRITERS[chosen](graph).encode("utf-8"))


def read_graph(path: str | os.PathLike[str]) -> Graph:
    """Read a graph from a DOT, JSON or GraphML file, or standard input for `-`.

    The content decides on the format, not the file's name.
    """
    where = place(path)
    try:
        raw = sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
    except OSError as error:
        raise GraphError(f"{where}: {error.strerror}") from None
    try:
        text = raw.decode(_encoding(raw))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise GraphError(f"{where}: line {line}: not {error.encoding} text") from None
    return parse_graph(text, where)


def _encoding(raw: bytes) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    declared = re.match(rb"""\s*<\?xml[^>]*encoding=["']([A-Za-z0-9._-]+)["']""", raw)
    if declared and declared[1].lower() in (b"iso-8859-1", b"latin1", b"windows-1252"):
        return declared[1].decode()
    return "utf-8-sig"


def parse_graph(text: str, where: str) -> Graph:
    """Read a graph from text whose format is recognised by how it begins."""
    start = text.lstrip()
    if not start:
        raise GraphError(f"{where}: the file is empty")
    if start.startswith("{"):
        return load_json(text, where)
    if start.startswith("<"):
        if re.search(r"<graphml\b", start):
            return load_graphml(text, where)
        if re.search(r"<BIF\b", start):
            raise GraphError(f"{where}: XMLBIF files are not read yet")
        raise GraphError(f"{where}: XML, but not GraphML")
    if re.match(r"network\b[^{;]*\{", start):
        raise GraphError(f"{where}: BIF files are not read yet")
    if re.match(r"(net|class \w+)\s*\{", start):
        raise GraphError(f"{where}: Hugin NET files are not read yet")
    if re.match(r"(strict\s+)?(di)?graph\b|/[/*]|#", start, re.IGNORECASE):
        return load_dot(text, where)
    raise GraphError(f"{where}: not a graph file: neither DOT, JSON nor GraphML")
