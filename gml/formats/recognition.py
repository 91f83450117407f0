"""Which format a text has, recognised by how it begins, never by the name of the file."""

from __future__ import annotations

import os
import re

from gml.errors import DataError, GraphError

# Blank space and the comments of DOT, BIF (// and /* */) and NET (%); possessive, so that a file
# of comments takes linear time.
_BEFORE = re.compile(r"(?:\s++|//[^\n]*+|/\*.*?\*/|[#%][^\n]*+)*+", re.DOTALL)
_STARTS = {
    "dot": re.compile(r"(strict\s+)?(di)?graph\b", re.IGNORECASE),
    "bif": re.compile(r"(network|variable|probability)\b"),
    "net": re.compile(
        r"(net|class|node|(discrete|continuous|decision|utility)\s+node|utility|potential)\b"
    ),
}

_START = 1 << 16

MODEL_FORMATS = ("bif", "xmlbif", "net")
"""Formats that hold only models; JSON holds models and graphs."""


def recognise(text: str, where: str) -> str:
    """Return json, dot, graphml, bif, xmlbif or net.

    Examples
    --------
    >>> recognise("// made by hand\\nnetwork cancer {", "x")
    'bif'
    """
    start = text.lstrip()
    if not start:
        raise GraphError(f"{where}: the file is empty")
    if start.startswith("{"):
        return "json"
    if start.startswith("<"):
        if re.search(r"<graphml\b", start):
            return "graphml"
        if re.search(r"<BIF\b", start):
            return "xmlbif"
        raise GraphError(f"{where}: XML, but neither GraphML nor XMLBIF")
    before = _BEFORE.match(text)
    position = before.end() if before else 0
    for name, pattern in _STARTS.items():
        if pattern.match(text, position):
            return name
    if position and re.match(r"\s*(/[/*]|#)", text):
        return "dot"
    raise GraphError(f"{where}: not a graph file: neither DOT, JSON, GraphML, BIF, XMLBIF nor NET")


def begins_like_graph(path: str) -> bool:
    """Whether a file begins as a graph or a model does.

    Examples
    --------
    >>> begins_like_graph("sample_data/asia.dot"), begins_like_graph("sample_data/asia.csv")
    (True, False)
    """
    try:
        recognise(_start_of(path), path)
    except DataError:
        return False
    return True


def begins_like_table(path: str) -> bool:
    """Whether a file begins with a line of several fields, as a table does, not as JSON or XML do.

    Examples
    --------
    >>> begins_like_table("sample_data/asia.csv"), begins_like_table("sample_data/asia.dot")
    (True, False)
    """
    try:
        header = _start_of(path).lstrip().partition("\n")[0]
    except DataError:
        return False
    fields = header.rstrip("\r").replace("\t", ",").replace(";", ",")
    return fields.isprintable() and "," in fields and fields[0] not in "{<["


def _start_of(path: str) -> str:
    """Return the first characters of a file; what is no file, such as a pipe, is not read."""
    from gml.data.source import open_source

    if not os.path.isfile(path):  # noqa: PTH113 - a name that no file can have is no error
        return ""
    start = bytearray(_START)
    with open_source(path) as source, memoryview(start) as room:
        got = source.readinto(room)
    return start[:got].decode("utf-8", "replace").removeprefix("\ufeff")
