"""DOT: written so that Graphviz draws it as it is, and read as people write it by hand.

Names are always quoted; a quote and a backslash inside are escaped, nothing else, so every name
comes back. Reading covers the DOT grammar: chains, subgraphs, attributes and their defaults,
comments, ports, HTML strings. Two arrows a -> b and b -> a make one undirected edge.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gml.errors import GraphError, quote
from gml.formats.merging import decode_list, merge_edges, scalar
from gml.graph.graph import EDGE_TYPES, Graph, Mark

_SHAPES = {Mark.TAIL: "none", Mark.ARROW: "normal", Mark.CIRCLE: "odot"}
_MARK_ATTRIBUTES = ("dir", "arrowhead", "arrowtail")
_NUMERAL = re.compile(r"-?(\.\d+|\d+(\.\d*)?)")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


# ---------------------------------------------------------------------- writing


def dump_dot(graph: Graph) -> str:
    """Return DOT text."""
    lines = ["digraph {", f'  graph [kind="{graph.kind}"];']
    lines += [f"  {_quoted(name)};" for name in graph.names]
    for edge in graph.edges():
        attributes = _mark_attributes(edge.type) + [
            f"{_identifier(key)}={_value(value)}"
            for key, value in edge.attributes.items()
            if value is not None
        ]
        shown = f" [{', '.join(attributes)}]" if attributes else ""
        source, target = graph.names[edge.source], graph.names[edge.target]
        lines.append(f"  {_quoted(source)} -> {_quoted(target)}{shown};")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    if "\0" in name:
        raise GraphError(f"DOT cannot hold the null character in {quote(name)}; write JSON instead")
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _identifier(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z_]\w*", key, re.ASCII) else _quoted(key)


def _value(value: Any) -> str:
    text = repr(value) if isinstance(value, float) else str(scalar(value))
    return text if _NUMERAL.fullmatch(text) else _quoted(text)


def _mark_attributes(type_: str) -> list[str]:
    tail, head = EDGE_TYPES[type_]
    if type_ == "-->":
        return []
    if type_ == "---":
        return ["dir=none"]
    return ["dir=both", f"arrowtail={_SHAPES[tail]}", f"arrowhead={_SHAPES[head]}"]


# ---------------------------------------------------------------------- reading

_TOKEN = r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#[^\n]*)
      | (?P<quoted>"(?:[^"\\]|\\.)*")
      | (?P<word>[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*)
      | (?P<number>-?(?:\.\d+|\d+(?:\.\d*)?))
      | (?P<mark>->|--|[{}\[\];,=:+])
      | (?P<html><)"""
_ESCAPE = re.compile(r'\\(\\|"|\r?\n)', re.DOTALL)
_MAX_DEPTH = 200


@dataclass(frozen=True)
class _Token:
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
    for match in re.finditer("[<>]", text[start:]):
        depth += 1 if match[0] == "<" else -1
        if depth == 0:
            return start + match.end()
    raise GraphError(f"{where}: line {line}: an HTML string is never closed")


@dataclass
class _Scope:
    """Defaults of edge attributes, and the nodes mentioned."""

    edge_defaults: dict[str, str]
    nodes: dict[str, None] = field(default_factory=dict)


class _Parser:
    """Recursive descent over the DOT grammar; collects nodes in order, and edges."""

    def __init__(self, text: str, where: str) -> None:
        self.where = where
        self.tokens = list(_tokens(text, where))
        self.at = 0
        self.directed = True
        self.kind: str | None = None
        self.nodes: dict[str, None] = {}
        self.edges: list[tuple[str, str, dict[str, str]]] = []

    def fail(self, expected: str) -> GraphError:
        """Return the error for the current token."""
        if self.at < len(self.tokens):
            token = self.tokens[self.at]
            return GraphError(
                f"{self.where}: line {token.line}: {quote(token.text)} where {expected} should be"
            )
        return GraphError(f"{self.where}: the file ends where {expected} should be")

    def is_mark(self, *marks: str) -> bool:
        """Whether the current token is one of these marks."""
        if self.at >= len(self.tokens):
            return False
        token = self.tokens[self.at]
        return token.kind == "mark" and token.text in marks

    def is_word(self, *words: str) -> bool:
        """Whether the current token is one of these keywords."""
        if self.at >= len(self.tokens):
            return False
        token = self.tokens[self.at]
        return token.kind == "word" and token.text.lower() in words

    def expect(self, mark: str) -> None:
        """Pass over a mark."""
        if not self.is_mark(mark):
            raise self.fail(quote(mark))
        self.at += 1

    def identifier(self, expected: str) -> str:
        """Read an identifier; quoted ones may be joined by +."""
        if self.at >= len(self.tokens) or self.tokens[self.at].kind == "mark":
            raise self.fail(expected)
        text = self.tokens[self.at].text
        joinable = self.tokens[self.at].kind == "quoted"
        self.at += 1
        while joinable and self.is_mark("+"):
            self.at += 1
            if self.at >= len(self.tokens) or self.tokens[self.at].kind != "quoted":
                raise self.fail("a quoted string")
            text += self.tokens[self.at].text
            self.at += 1
        return text

    def graph(self) -> None:
        """Read the whole file."""
        if self.is_word("strict"):
            self.at += 1
        if not self.is_word("graph", "digraph"):
            raise self.fail("'graph' or 'digraph'")
        self.directed = self.tokens[self.at].text.lower() == "digraph"
        self.at += 1
        if not self.is_mark("{"):
            self.identifier("a name or '{'")
        self.body(_Scope({}), 0)
        if self.at < len(self.tokens):
            raise self.fail("the end of the file")

    def body(self, scope: _Scope, depth: int) -> None:
        """Read statements between braces."""
        if depth > _MAX_DEPTH:
            raise GraphError(f"{self.where}: subgraphs are nested more than {_MAX_DEPTH} deep")
        self.expect("{")
        while not self.is_mark("}"):
            if self.at >= len(self.tokens):
                raise self.fail("'}'")
            if self.is_mark(";"):
                self.at += 1
                continue
            self.statement(scope, depth)
        self.at += 1

    def statement(self, scope: _Scope, depth: int) -> None:
        """Read one statement."""
        if self.is_word("graph", "node", "edge"):
            keyword = self.tokens[self.at].text.lower()
            self.at += 1
            attributes = self.attributes()
            if keyword == "edge":
                scope.edge_defaults.update(attributes)
            elif keyword == "graph" and depth == 0 and "kind" in attributes:
                self.kind = attributes["kind"]
            return
        if (
            self.at + 1 < len(self.tokens)
            and self.tokens[self.at].kind != "mark"
            and self.tokens[self.at + 1].kind == "mark"
            and self.tokens[self.at + 1].text == "="
        ):
            key = self.identifier("an attribute")
            self.at += 1
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
            self.at += 1
            ends.append(self.endpoint(scope, depth))
        attributes = self.attributes() if self.is_mark("[") else {}
        merged = scope.edge_defaults | attributes
        for left, right in itertools.pairwise(ends):
            for source in left:
                for target in right:
                    self.edges.append((source, target, merged))

    def endpoint(self, scope: _Scope, depth: int) -> list[str]:
        """Read nodes with their ports, or a subgraph, and return the nodes in it."""
        if self.is_word("subgraph") or self.is_mark("{"):
            if self.is_word("subgraph"):
                self.at += 1
                if not self.is_mark("{"):
                    self.identifier("a name or '{'")
            inner = _Scope(dict(scope.edge_defaults))
            self.body(inner, depth + 1)
            scope.nodes.update(inner.nodes)
            return list(inner.nodes)
        names = [self.node(scope)]
        while self.is_mark(","):
            self.at += 1
            names.append(self.node(scope))
        return names

    def node(self, scope: _Scope) -> str:
        """Read a node with its port."""
        name = self.identifier("a node")
        for _ in range(2):
            if self.is_mark(":"):
                self.at += 1
                self.identifier("a port")
        self.nodes.setdefault(name)
        scope.nodes.setdefault(name)
        return name

    def attributes(self) -> dict[str, str]:
        """Read [key=value, …] lists."""
        found: dict[str, str] = {}
        while self.is_mark("["):
            self.at += 1
            while not self.is_mark("]"):
                key = self.identifier("an attribute or ']'")
                if self.is_mark("="):
                    self.at += 1
                    found[key] = self.identifier("a value")
                else:
                    found[key] = "true"
                if self.is_mark(";", ","):
                    self.at += 1
            self.at += 1
        return found


def load_dot(text: str, where: str) -> Graph:
    """Read a graph from DOT."""
    parser = _Parser(text, where)
    parser.graph()
    marked = []
    for source, target, attributes in parser.edges:
        tail, head = _marks(attributes, parser.directed)
        extra = {
            key: _number(value) for key, value in attributes.items() if key not in _MARK_ATTRIBUTES
        }
        marked.append((source, tail, target, head, extra))
    edges = merge_edges(marked)
    kind = parser.kind
    if kind is None and not parser.directed and all(edge[1] == "---" for edge in edges):
        kind = "undirected"
    try:
        return Graph.from_edges(parser.nodes, edges, kind=kind)
    except GraphError as error:
        raise GraphError(f"{where}: {error}") from None


def _marks(attributes: dict[str, str], directed: bool) -> tuple[Mark, Mark]:
    """Marks at tail and head, as Graphviz would draw them."""
    drawn = attributes.get("dir", "forward" if directed else "none")
    tail = _shape(attributes.get("arrowtail", "normal")) if drawn in ("back", "both") else Mark.TAIL
    head = (
        _shape(attributes.get("arrowhead", "normal")) if drawn in ("forward", "both") else Mark.TAIL
    )
    return tail, head


def _shape(name: str) -> Mark:
    return {"none": Mark.TAIL, "odot": Mark.CIRCLE}.get(name, Mark.ARROW)


def _number(text: str) -> Any:
    """Return a number where the text is one, a list where it is one in JSON."""
    if text.startswith("["):
        return decode_list(text)
    if not _NUMBER.fullmatch(text) or len(text) > 300:
        return text
    number = int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
    return number if math.isfinite(number) else text
