"""The text of JSON files: the only way to write a document, so that every one carries its hash."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from gml.formats.content_hash import NO_INPUTS, Hashes, sealed, sealed_around

SCHEMA = "gml/1"
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def encode(value: Any) -> str:
    """Return JSON text on one line; NaN and infinity are bugs."""
    return _ENCODER.encode(value)


def document_text(document: dict[str, Any], inputs: Hashes = NO_INPUTS) -> str:
    """Return the text of a JSON file, with its hash and those of the inputs it was made from.

    Each list or object is on a line of its own, and one that holds objects has one line per item,
    so that diffs can be read.
    """
    return "".join(_pieces(sealed(document, inputs)))


def document_pieces(
    document: dict[str, Any],
    key: str,
    items: Iterable[dict[str, Any]],
    inputs: Hashes = NO_INPUTS,
) -> Iterator[str]:
    """Yield the same text bit by bit, for a document with one more field: a list of many objects.

    They are gone through twice, and need not be in memory all at once.
    """
    yield from _pieces(sealed_around(document, key, items, inputs), key, items)


def _pieces(
    document: dict[str, Any], streamed: str | None = None, items: Iterable[dict[str, Any]] = ()
) -> Iterator[str]:
    yield "{"
    before = None
    for key, value in document.items():
        if before is not None:
            yield ",\n" if isinstance(value, dict | list) or before in (dict, list) else ", "
        yield f"{encode(key)}: "
        yield from _block_of_many(items) if key == streamed else [_block(value)]
        before = type(value)
    yield "}\n"


def _block_of_many(items: Iterable[dict[str, Any]]) -> Iterator[str]:
    before = "[\n"
    for item in items:
        yield before + encode(item)
        before = ",\n"
    yield "\n]" if before == ",\n" else "[]"


def indented_text(document: dict[str, Any], inputs: Hashes = NO_INPUTS) -> str:
    """Return the same for documents that are nested deeply: one line per value."""
    content = sealed(document, inputs)
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def _block(value: Any) -> str:
    items = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list) or not items:
        return encode(value)
    if not all(isinstance(item, dict) for item in items):
        return encode(value)
    if isinstance(value, list):
        return "[\n" + ",\n".join(map(encode, value)) + "\n]"
    entries = (f"{encode(key)}: {encode(item)}" for key, item in value.items())
    return "{\n" + ",\n".join(entries) + "\n}"
