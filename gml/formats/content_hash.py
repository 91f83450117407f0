"""The hash that every JSON file carries: of its own content, and of the inputs it was made from.

    "hash": {"content": "sha256:…", "inputs": {"data": "sha256:…", "graph": "sha256:…"}}

stands within "graph" in the files of graphs and models, where networkx keeps it, within
"properties" in SARIF, where its schema has room for it, and at the top of everything else.
`content` is the SHA-256 of the canonical form of the whole document without that one field: keys
sorted by code point, no white space, UTF-8, floats as Python's shortest that round-trips. So the
layout of a file and the order of keys do not matter, and any value does. `inputs` are SHA-256 of
the bytes of files, as `sha256sum` prints them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from gml.data.json_text import canonical, parse_json
from gml.errors import DataError

Document = dict[str, Any]

Hashes = Mapping[str, str | list[str]]
"""Of inputs, by the parts that they play: a hash, or a list of those of several inputs."""
NO_INPUTS: Hashes = MappingProxyType({})


class RecordedHash(NamedTuple):
    """What a document says about itself."""

    content: str
    inputs: dict[str, Any]

    def of_inputs(self) -> Iterator[tuple[str, str]]:
        """Yield the role and the hash of each input."""
        for role, found in self.inputs.items():
            for value in found if isinstance(found, list) else [found]:
                yield role, str(value)


def parse_document(text: str, where: str) -> Document:
    """Read the JSON object of a file; a field that occurs twice is refused, as neither counts."""
    document = parse_json(text, where, once=True)
    if not isinstance(document, dict):
        raise DataError(f"{where}: not a JSON object")
    return document


def content_hash(document: Document) -> str:
    """Return the hash of a document, whatever hash it claims to have."""
    import hashlib

    held = _holder(document).get("hash")
    if isinstance(held, dict):
        document = _with_hash(document, {k: v for k, v in held.items() if k != "content"})
    return f"sha256:{hashlib.sha256(canonical(document)).hexdigest()}"


def sealed(document: Document, inputs: Hashes = NO_INPUTS) -> Document:
    """Return a document with its hash and those of the inputs that it was made from."""
    bare = _with_hash(document, {"inputs": dict(inputs)})
    content = content_hash(bare)
    return _with_hash(document, {"content": content, **_holder(bare)["hash"]})


def sealed_around(
    document: Document, key: str, items: Iterable[Any], inputs: Hashes = NO_INPUTS
) -> Document:
    """Return the same for a document with one more field, a list of many items; it is left empty.

    The hash belongs at the top of the document.
    """
    import hashlib

    bare = _with_hash(document | {key: []}, {"inputs": dict(inputs)})
    digest = hashlib.sha256()
    before = b"{"
    for name in sorted(bare):
        digest.update(before + canonical(name) + b":")
        before = b","
        if name != key:
            digest.update(canonical(bare[name]))
            continue
        digest.update(b"[")
        for number, item in enumerate(items):
            digest.update(b"," * (number > 0) + canonical(item))
        digest.update(b"]")
    digest.update(b"}")
    return _with_hash(bare, {"content": f"sha256:{digest.hexdigest()}", **bare["hash"]})


def recorded_hash(document: Document) -> RecordedHash | None:
    """Return the hash that a document carries, if it does."""
    found = _holder(document).get("hash")
    if not isinstance(found, dict) or not isinstance(found.get("content"), str):
        return None
    inputs = found.get("inputs")
    return RecordedHash(found["content"], inputs if isinstance(inputs, dict) else {})


def is_changed(document: Document) -> bool:
    """Whether a document carries a hash that is not its own."""
    found = recorded_hash(document)
    return found is not None and found.content != content_hash(document)


def _home(document: Document) -> str | None:
    """The field whose object has the hash among its own fields; None if the document has."""
    if "nodes" in document and isinstance(document.get("graph"), dict):
        return "graph"
    return "properties" if "$schema" in document and "runs" in document else None


def _holder(document: Document) -> Document:
    """The object that has the hash among its fields."""
    home = _home(document)
    held = document if home is None else document.get(home)
    return held if isinstance(held, dict) else {}


def _with_hash(document: Document, value: Document) -> Document:
    """Return a document with another hash; a new one at the top comes after the schema."""
    home = _home(document)
    if home is not None:
        return {**document, home: {**_holder(document), "hash": value}}
    first = {key: document[key] for key in ("schema",) if key in document}
    return {**first, "hash": value} | {k: v for k, v in document.items() if k != "hash"}
