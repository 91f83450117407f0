"""The text of JSON files: the only way to write a document, so that every one carries its hash."""

from __future__ import annotations

import json
from typing import Any

from gml.formats.content_hash import sealed

SCHEMA = "gml/1"


def encode(value: Any) -> str:
    """Return JSON text on one line; NaN and infinity are bugs."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def document_text(document: dict[str, Any]) -> str:
    """Return the text of a JSON file, with its hash.

    Lists and objects have a line of their own, and those of objects an item a line, so that diffs
    can be read.
    """
    text = "{"
    before = None
    for key, value in sealed(document).items():
        if text != "{":
            text += ",\n" if isinstance(value, dict | list) or before in (dict, list) else ", "
        text += f"{encode(key)}: {_block(value)}"
        before = type(value)
    return text + "}\n"


def indented_text(document: dict[str, Any]) -> str:
    """Return the same for documents that are nested deeply: a value a line."""
    return json.dumps(sealed(document), ensure_ascii=False, allow_nan=False, indent=2) + "\n"


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
