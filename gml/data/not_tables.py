"""Files that are no tables: how graphs and models begin, whatever the name of the file.

A word that begins a format may be the name of a column too, so that a file is taken for a graph in
place of a table only if the brace that follows the word is there (of UAI, the first numbers).
"""

from __future__ import annotations

import re

from gml.errors import DataError

# Blank space and the comments of DOT, BIF (// and /* */) and NET (%); possessive, so that a file
# of comments takes linear time.
BEFORE = r"(?:\s++|//[^\n]*+|/\*.*?\*/|[#%][^\n]*+)*+"
"""What may come before the first word."""
FIRST_WORDS = {
    "dot": r"(?i:(?:strict\s+)?(?:di)?graph)\b",
    "bif": r"(?:network|variable|probability)\b",
    "net": r"(?:net|class|(?:(?:discrete|continuous|decision|utility)\s+)?node|utility"
    r"|potential)\b",
    "uai": r"(?:MARKOV|BAYES)\b",
}
"""How the formats begin that are told by a word."""
_BRACES = {
    "dot": r'(?:\s+(?:\w+|"[^"\n]*"))?\s*\{',
    "bif": r"[^,;{}\n]*\s*\{",
    "net": r"[^,;{}\n]*\s*\{",
    # The number of variables, and on a line of their own at least two numbers of levels.
    "uai": r"\s+\d+\s*\n\s*\d+[ \t]+\d+",
}
_KINDS = {
    "dot": "a DOT graph",
    "bif": "a BIF model",
    "net": "a NET model",
    "uai": "a UAI model",
    "json": "a JSON file",
    "graphml": "a GraphML graph",
    "xmlbif": "an XMLBIF model",
    "xml": "an XML or HTML file",
}
_STARTS = {
    **{
        name: re.compile(BEFORE + word + _BRACES[name], re.DOTALL)
        for name, word in FIRST_WORDS.items()
    },
    "json": re.compile(r'\s*\{\s*(?:"[^"]*"\s*:|\}\s*$)'),
}
_XML = re.compile(r"\s*<(?:\?xml|!doctype|!--|html|graphml|bif)\b", re.IGNORECASE)
_ROOTS = {"graphml": re.compile(r"<graphml\b"), "xmlbif": re.compile(r"<BIF\b")}
_LOOKED_AT = 4096
# What may be taken for text, at first: a PDF has its first bytes that are none on the second line.
_DOCUMENTS = {
    b"%PDF-": "a PDF document",
    b"\x89PNG\r\n": "a PNG picture",
}


def xml_format(text: str) -> str | None:
    """Return graphml or xmlbif, or None for other XML."""
    return next((name for name, root in _ROOTS.items() if root.search(text)), None)


def looks_like_graph(start: bytes) -> str | None:
    """Say which other kind of file begins like this; None if it may be a table.

    Examples
    --------
    >>> looks_like_graph(b"digraph { a -> b }"), looks_like_graph(b"graph,network,{x}")
    ('a DOT graph', None)
    """
    text = start[:_LOOKED_AT].decode("utf-8", "replace").removeprefix("\ufeff")
    found = next((name for name, pattern in _STARTS.items() if pattern.match(text)), None)
    if found is None and _XML.match(text):
        found = xml_format(text) or "xml"
    return None if found is None else _KINDS[found]


def looks_binary(start: bytes) -> bool:
    """Whether a file that is no UTF-8 begins with bytes that no encoding of text has.

    Examples
    --------
    >>> looks_binary(b"\\x93NUMPY\\x01\\x00"), looks_binary(b"\\xe9t\\xe9,hiver\\r\\n")
    (True, False)
    """
    return any(byte < 32 and byte not in b"\t\n\v\f\r\x1b" for byte in start[:_LOOKED_AT])


def refuse_graph(start: bytes, where: str) -> None:
    """Refuse a file that begins like a graph, a model or a document."""
    kind = next((kind for magic, kind in _DOCUMENTS.items() if start.startswith(magic)), None)
    kind = kind or looks_like_graph(start)
    if kind is not None:
        raise DataError(f"{where}: this is {kind}, not a table")
