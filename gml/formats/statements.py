"""Texts of statements that end with ; and blocks in braces: the skeleton of BIF and NET files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gml.errors import GraphError, quote

# All quantifiers are possessive, so that a file truncated anywhere takes linear time.
_STATEMENT = re.compile(r'((?:[^;{}"]++|"[^"]*+")*+)([;{}])')
_NAME = re.compile(r'"([^"]*+)"|([^\s,"]++)')


class Statement(NamedTuple):
    """Text up to a semicolon or a brace, that mark, and where the text begins."""

    text: str
    mark: str
    line: int


class Statements:
    """The statements of a text, one after the other."""

    def __init__(self, text: str, where: str, comment: str) -> None:
        self.where = where
        self._text = without_comments(text, comment)
        self._position = 0
        self._line = 1
        self._counted = 0

    def __iter__(self) -> Iterator[Statement]:
        return self

    def __next__(self) -> Statement:
        text, position = self._text, self._position
        match = _STATEMENT.match(text, position)
        if match is None:
            rest = text[position:].strip()
            if not rest:
                raise StopIteration
            if '"' in rest:
                raise self.fail("a quote is never closed, or the file ends too early")
            raise self.fail(f"the file ends within {quote(rest)}")
        self._position = match.end()
        # The line is that of the first character, not of the blank lines before it.
        start = position + len(match[1]) - len(match[1].lstrip())
        self._line += text.count("\n", self._counted, start)
        self._counted = start
        return Statement(match[1].strip(), match[2], self._line)

    def next_or_fail(self, block: str) -> Statement:
        """Return the next statement of a block, which the end of the file must not cut off."""
        try:
            return next(self)
        except StopIteration:
            raise self.fail(f"the file ends within {block}") from None

    def fail(self, message: str, line: int | None = None) -> GraphError:
        """Return the error that names the file and the line, by default the current one."""
        return GraphError(f"{self.where}: line {line or self._line}: {message}")


def without_comments(text: str, comment: str) -> str:
    """Return the text with blanks for comments outside quotes; the lines stay the same."""
    pattern = re.compile(rf'"[^"]*+"|/\*|(?:{comment})[^\n]*+')
    pieces = []
    kept = position = 0
    may_close = True
    while match := pattern.search(text, position):
        start, position = match.span()
        if match[0].startswith('"'):
            continue
        if match[0] == "/*":
            close = text.find("*/", position) if may_close else -1
            if close < 0:
                # No later one is closed either, and looking again each time would be quadratic.
                may_close, position = False, start + 1
                continue
            position = close + 2
        pieces += [text[kept:start], " ", "\n" * text.count("\n", start, position)]
        kept = position
    return "".join([*pieces, text[kept:]])


def split_names(text: str) -> list[str]:
    """Split names or labels at commas, or else at blanks; quotes keep both.

    Examples
    --------
    >>> split_names('a b, "c, d"'), split_names('a b "c d"')
    (['a b', 'c, d'], ['a', 'b', 'c d'])
    """
    if '"' not in text:
        if "," not in text:
            return text.split()
        return [name for name in map(str.strip, text.split(",")) if name]
    if "," not in re.sub(r'"[^"]*+"', "", text):
        return [plain or quoted for quoted, plain in _NAME.findall(text)]
    pieces = re.findall(r'(?:[^,"]++|"[^"]*+")++', text)
    return [unquoted(piece) for piece in pieces if piece.strip()]


def unquoted(text: str) -> str:
    """Return a name without the quotes around it."""
    text = text.strip()
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' else text
