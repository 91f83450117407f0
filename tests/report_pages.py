"""Report pages as their readers have them: elements in order, texts, and the facts for scripts."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

_VOID = {"meta"}


class ParsedPage(HTMLParser):
    """A page in which every element is closed, by its own end."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        """The text within each section, by its id; within other elements under their name."""
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        self.close()
        assert self._open == [], "an element is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute of {tag} is there twice"
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open[-1][0] == tag, f"{tag} ends within {self._open[-1:]}"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] == "script":
            attributes, before = self.scripts[-1]
            self.scripts[-1] = (attributes, before + data)
        for tag, attributes in self._open:
            key = attributes.get("id") if tag == "section" else tag
            self.texts.setdefault(str(key), []).append(data)

    def text(self, key: str) -> str:
        """The text of a section, or of all elements of a name."""
        return " ".join(self.texts.get(key, []))

    @property
    def facts(self) -> dict[str, Any]:
        """What the scripts are told."""
        found: dict[str, Any] = json.loads(self.scripts[0][1])
        return found

    @property
    def policy(self) -> str:
        """The Content-Security-Policy."""
        return next(
            str(attributes["content"])
            for tag, attributes in self.elements
            if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
        )
