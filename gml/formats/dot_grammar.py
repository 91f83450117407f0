"""The grammar of DOT: text to the nodes and edges that it mentions, and what it says about them.

Chains, subgraphs, attributes and their defaults, comments, ports and HTML strings are read. Of the
attributes of nodes only those that say what a column holds are kept.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gml.errors import GraphError, quote
from gml.formats.foreign_nodes import COLUMN_ATTRIBUTES
from gml.resources import require_memory

# Possessive where much can follow, so that a string of many megabytes keeps no backtracking state.
_TOKEN = r"""(?P<space>\s++|//[^\n]*+|/\*.*?\*/|^[ \t]*+\#[^\n]*+)
      | (?P<quoted>"[^"\\]*+(?:\\.[^"\\]*+)*+")
      | (?P<word>[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*)
      | (?P<number>-?(?:\.\d+|\d+(?:\.\d*)?))
      | (?P<mark>->|--|[{}\[\];,=:+])
      | (?P<html><)"""
_ESCAPE = re.compile(r'\\(\\|"|\r?\n)', re.DOTALL)
_ANGLE = re.compile("[<>]")
_MAX_DEPTH = 200
# A default of edges counts again for each statement that uses it, so a small file can say very
# much.
_ATTRIBUTE_BYTES = 200
_FEW_ATTRIBUTES = 100_000


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def _tokens(text: str, where: str) -> Iterator[_Token]:
    # Compiled here: it takes longer than writing a graph does.
    token = re.compile(_TOKEN, re.VERBOSE | re.DOTALL | re.MULTILINE | re.ASCII)
    position, line = 0, 1
    while position < len(text):
        match = token.match(text, position)
        if match is None:
            shown = quote(text[position : position + 20])
            raise GraphError(f"{where}: line {line}: cannot read {shown} as DOT")
        kind, piece = match.lastgroup or "", match[0]
        end = match.end()
        if kind == "html":
            end = _html_end(text, position, where, line)
            piece = text[position + 1 : end - 1]
        elif kind == "quoted":
            piece = _ESCAPE.sub(_unescape, piece[1:-1])
        if kind != "space":
            yield _Token(kind, piece, line)
        line += text.count("\n", position, end)
        position = end


def _unescape(match: re.Match[str]) -> str:
    # A backslash before a line end joins the lines.
    return "" if match[1].endswith("\n") else match[1]


def _html_end(text: str, start: int, where: str, line: int) -> int:
    depth = 0
    for match in _ANGLE.finditer(text, start):
        depth += 1 if match[0] == "<" else -1
        if depth == 0:
            return match.end()
    raise GraphError(f"{where}: line {line}: an HTML string is never closed")


@dataclass
class _Scope:
    """Defaults of edge attributes, and the nodes mentioned."""

    edge_defaults: dict[str, str]
    count_copied: Callable[[int], None]
    is_shared: bool = False
    nodes: dict[str, None] = field(default_factory=dict)

    def shared_defaults(self) -> dict[str, str]:
        """Return the defaults as they are now; they are copied when they change."""
        self.is_shared = True
        return self.edge_defaults

    def add_defaults(self, attributes: dict[str, str]) -> None:
        """Adopt the defaults of an `edge` statement."""
        if self.is_shared:
            self.count_copied(len(self.edge_defaults))
            self.edge_defaults = dict(self.edge_defaults)
            self.is_shared = False
        self.edge_defaults.update(attributes)


class DotParser:
    """Recursive descent over the DOT grammar; collects nodes in order, their columns, and edges."""

    def __init__(self, text: str, where: str) -> None:
        self.where = where
        self._tokens = _tokens(text, where)
        self.token: _Token | None = next(self._tokens, None)
        self.following: _Token | None = next(self._tokens, None)
        self.directed = True
        self.kind: str | None = None
        self.about: Mapping[str, str] = {}
        """What is said of the graph beside its kind."""
        self.nodes: dict[str, None] = {}
        self.columns: dict[str, dict[str, str]] = {}
        self.edges: list[tuple[Sequence[str], Sequence[str], Mapping[str, str]]] = []
        self.n_edges = 0
        self._n_attributes = 0
        self._attributes_asked = _FEW_ATTRIBUTES

    def fail(self, expected: str) -> GraphError:
        """Return the error for the current token."""
        if self.token is not None:
            return GraphError(
                f"{self.where}: line {self.token.line}: {quote(self.token.text)} where {expected} "
                "should be"
            )
        return GraphError(f"{self.where}: the file ends where {expected} should be")

    def advance(self) -> None:
        """Go to the next token."""
        self.token, self.following = self.following, next(self._tokens, None)

    def is_mark(self, *marks: str) -> bool:
        """Whether the current token is one of these marks."""
        token = self.token
        return token is not None and token.kind == "mark" and token.text in marks

    def is_word(self, *words: str) -> bool:
        """Whether the current token is one of these keywords."""
        token = self.token
        return token is not None and token.kind == "word" and token.text.lower() in words

    def expect(self, mark: str) -> None:
        """Pass over a mark."""
        if not self.is_mark(mark):
            raise self.fail(quote(mark))
        self.advance()

    def identifier(self, expected: str) -> str:
        """Read an identifier; quoted ones may be joined by +."""
        token = self.token
        if token is None or token.kind == "mark":
            raise self.fail(expected)
        self.advance()
        if token.kind != "quoted" or not self.is_mark("+"):
            return token.text
        pieces = [token.text]
        while self.is_mark("+"):
            self.advance()
            if self.token is None or self.token.kind != "quoted":
                raise self.fail("a quoted string")
            pieces.append(self.token.text)
            self.advance()
        return "".join(pieces)

    def graph(self) -> None:
        """Read the whole file."""
        if self.is_word("strict"):
            self.advance()
        if not self.is_word("graph", "digraph"):
            raise self.fail("'graph' or 'digraph'")
        self.directed = self.is_word("digraph")
        self.advance()
        if not self.is_mark("{"):
            self.identifier("a name or '{'")
        self.body(_Scope({}, self.count_attributes), 0)
        if self.token is not None:
            raise self.fail("the end of the file")

    def body(self, scope: _Scope, depth: int) -> None:
        """Read statements between braces."""
        if depth > _MAX_DEPTH:
            raise GraphError(f"{self.where}: subgraphs are nested more than {_MAX_DEPTH} deep")
        self.expect("{")
        while not self.is_mark("}"):
            if self.token is None:
                raise self.fail("'}'")
            if self.is_mark(";"):
                self.advance()
                continue
            self.statement(scope, depth)
        self.advance()

    def statement(self, scope: _Scope, depth: int) -> None:
        """Read one statement."""
        token, following = self.token, self.following
        if token is not None and self.is_word("graph", "node", "edge"):
            keyword = token.text.lower()
            self.advance()
            attributes = self.attributes()
            if keyword == "edge":
                scope.add_defaults(attributes)
            elif keyword == "graph" and depth == 0 and "kind" in attributes:
                self.kind = attributes["kind"]
                self.about = attributes
            return
        if token and token.kind != "mark" and following and following[:2] == ("mark", "="):
            key = self.identifier("an attribute")
            self.advance()
            value = self.identifier("a value")
            if key == "kind" and depth == 0:
                self.kind = value
            return
        self.chain(scope, depth)

    def chain(self, scope: _Scope, depth: int) -> None:
        """Read a node, a subgraph, or edges between them."""
        ends = [self.endpoint(scope, depth)]
        operator = "->" if self.directed else "--"
        while self.is_mark("->", "--"):
            if not self.is_mark(operator):
                raise self.fail(f"{quote(operator)} of a {'di' * self.directed}graph")
            self.advance()
            ends.append(self.endpoint(scope, depth))
        attributes = self.attributes() if self.is_mark("[") else {}
        if len(ends) > 1:
            merged = self.with_defaults(scope, attributes)
            for left, right in itertools.pairwise(ends):
                self.n_edges += len(left) * len(right)
                self.edges.append((left, right, merged))
        elif said := {key: attributes[key] for key in COLUMN_ATTRIBUTES if key in attributes}:
            for name in ends[0]:
                self.columns.setdefault(name, {}).update(said)

    def with_defaults(self, scope: _Scope, attributes: dict[str, str]) -> dict[str, str]:
        """Return the attributes of edges and, for those they do not have, the defaults."""
        if not attributes:
            return scope.shared_defaults()
        self.count_attributes(len(scope.edge_defaults))
        return scope.edge_defaults | attributes

    def count_attributes(self, more: int) -> None:
        """Ask for the memory of defaults that are copied, at every doubling of their number."""
        self._n_attributes += more
        if self._n_attributes > self._attributes_asked:
            self._attributes_asked = 2 * self._n_attributes
            size = self._attributes_asked * _ATTRIBUTE_BYTES
            require_memory(size, None, f"{self.where}: the attributes of the edges")

    def endpoint(self, scope: _Scope, depth: int) -> tuple[str, ...]:
        """Read nodes with their ports, or a subgraph, and return the nodes in it."""
        if self.is_word("subgraph") or self.is_mark("{"):
            if self.is_word("subgraph"):
                self.advance()
                if not self.is_mark("{"):
                    self.identifier("a name or '{'")
            inner = _Scope(scope.shared_defaults(), self.count_attributes, is_shared=True)
            self.body(inner, depth + 1)
            scope.nodes.update(inner.nodes)
            return tuple(inner.nodes)
        names = [self.node(scope)]
        while self.is_mark(","):
            self.advance()
            names.append(self.node(scope))
        return tuple(names)

    def node(self, scope: _Scope) -> str:
        """Read a node with its port."""
        name = self.identifier("a node")
        for _ in range(2):
            if self.is_mark(":"):
                self.advance()
                self.identifier("a port")
        self.nodes.setdefault(name)
        scope.nodes.setdefault(name)
        return name

    def attributes(self) -> dict[str, str]:
        """Read [key=value, …] lists."""
        found: dict[str, str] = {}
        while self.is_mark("["):
            self.advance()
            while not self.is_mark("]"):
                key = self.identifier("an attribute or ']'")
                if self.is_mark("="):
                    self.advance()
                    found[key] = self.identifier("a value")
                else:
                    found[key] = "true"
                if self.is_mark(";", ","):
                    self.advance()
            self.advance()
        return found
