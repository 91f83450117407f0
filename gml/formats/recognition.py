"""Which format a text has, recognised by how it begins, never by the name of the file."""

from __future__ import annotations

import os
import re

from gml.data.not_tables import BEFORE, FIRST_WORDS, looks_like_graph, xml_format
from gml.errors import DataError, GraphError
from gml.path_kinds import is_file

_BEFORE = re.compile(BEFORE, re.DOTALL)
_WORDS = {name: re.compile(word) for name, word in FIRST_WORDS.items()}
_START = 1 << 16

_PICTURES = {
    b"\x89PNG": "a PNG picture",
    b"%PDF-": "a PDF",
    b"<svg": "an SVG picture",
    b"<!DOCTYPE html": "an HTML page",
    b"\xff\xd8\xff": "a JPEG picture",
}

MODEL_FORMATS = ("bif", "xmlbif", "net", "uai")
"""Formats that hold only models; JSON holds models and graphs."""


def recognise(text: str, where: str) -> str:
    """Return json, dot, graphml, bif, xmlbif, net or uai.

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
        if found := xml_format(start):
            return found
        raise GraphError(f"{where}: XML, but neither GraphML nor XMLBIF")
    before = _BEFORE.match(text)
    position = before.end() if before else 0
    for name, pattern in _WORDS.items():
        if pattern.match(text, position):
            return name
    if position and re.match(r"\s*(/[/*]|#)", text):
        return "dot"
    raise GraphError(
        f"{where}: not a graph file: neither DOT, JSON, GraphML, BIF, XMLBIF, NET nor UAI"
    )


def graph_kind(path: str | os.PathLike[str]) -> str | None:
    """Say which kind of graph or model a file begins as, for certain; None if as none.

    Examples
    --------
    >>> graph_kind("sample_data/asia.dot"), graph_kind("sample_data/asia.csv")
    ('a DOT graph', None)
    """
    return looks_like_graph(_start_of(path))


def picture_kind(path: str | os.PathLike[str]) -> str | None:
    """Say which kind of picture or page a file begins as; None if as none.

    Examples
    --------
    >>> picture_kind("docs/pictures/asia-light.svg"), picture_kind("sample_data/asia.csv")
    ('an SVG picture', None)
    """
    start = _start_of(path).lstrip()
    return next((kind for begins, kind in _PICTURES.items() if start.startswith(begins)), None)


def begins_like_table(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as Parquet, or with a line of several fields and as no graph does.

    Examples
    --------
    >>> begins_like_table("sample_data/asia.csv"), begins_like_table("sample_data/asia.dot")
    (True, False)
    """
    from gml.data.parquet import is_parquet

    if is_parquet(path):
        return True
    start = _start_of(path)
    header = start.decode("utf-8", "replace").removeprefix("\ufeff").lstrip().partition("\n")[0]
    fields = header.rstrip("\r").replace("\t", ",").replace(";", ",")
    is_line = fields.isprintable() and "," in fields and fields[0] not in "{<["
    return is_line and looks_like_graph(start) is None


def _start_of(path: str | os.PathLike[str]) -> bytes:
    """Return the first bytes of a file; what is no file, such as a pipe, is not read."""
    from gml.data.source import open_source

    if not is_file(path):
        return b""
    start = bytearray(_START)
    try:
        with open_source(path) as source, memoryview(start) as room:
            got = source.readinto(room)
    except DataError:
        return b""
    return bytes(start[:got])
