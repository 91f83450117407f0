"""Files that are no tables, recognised by how they begin: graphs and models, given as data."""

from __future__ import annotations

import re

from gml.errors import DataError

# Comments of DOT, BIF (// and /* */) and NET (%) may come first; names of columns rarely have
# braces, so each pattern ends with one.
_BEFORE = rb"(?:\s++|//[^\n]*+|/\*.*?\*/|[#%][^\n]*+)*+"
_KINDS = {
    "a DOT graph": rb'(?:strict\s+)?(?:di)?graph(?:\s+(?:\w+|"[^"\n]*"))?\s*\{',
    "a BIF model": rb"(?:network|variable|probability)\b[^,;{}\n]*\s*\{",
    "a NET model": rb"(?:net|class|(?:\w+\s+)?node|utility|potential)\b[^,;{}\n]*\s*\{",
    "a JSON file": rb'\{\s*(?:"[^"]*"\s*:|\}\s*$)',
}
_STARTS = {
    kind: re.compile(_BEFORE + pattern, re.DOTALL | re.IGNORECASE)
    for kind, pattern in _KINDS.items()
}
_XML = re.compile(rb"\s*<(?:\?xml|!doctype|!--|html|graphml|bif)\b", re.IGNORECASE)
_LOOKED_AT = 4096


def looks_like_graph(start: bytes) -> str | None:
    """Say which other kind of file begins like this; None if it may be a table.

    Examples
    --------
    >>> looks_like_graph(b"digraph { a -> b }"), looks_like_graph(b"graph,network,{x}")
    ('a DOT graph', None)
    """
    start = start[:_LOOKED_AT]
    for kind, pattern in _STARTS.items():
        if pattern.match(start):
            return kind
    if not _XML.match(start):
        return None
    if re.search(rb"<graphml\b", start):
        return "a GraphML graph"
    return "an XMLBIF model" if re.search(rb"<BIF\b", start) else "an XML or HTML file"


def refuse_graph(start: bytes, where: str) -> None:
    """Refuse a file that begins like a graph or a model, and say which argument comes first."""
    kind = looks_like_graph(start)
    if kind is not None:
        raise DataError(
            f"{where}: this is {kind}, not a table; the data come first, then the graph or model"
        )
