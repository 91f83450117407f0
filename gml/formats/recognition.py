"""Which format a text has, recognised by how it begins, never by the name of the file."""

from __future__ import annotations

import re

from gml.errors import GraphError

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
