"""Text for people: nothing in it controls a terminal, or is a command to a build server."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    r"""Escape what would not be shown as it is: the one guard of all text for people.

    That is whatever controls a terminal, ends a line or reverses the direction of writing, and
    halves of characters, which no file can hold. Machine formats keep exact names instead.

    Examples
    --------
    >>> printable('a\nb\x1b[31m\u202e')
    'a\\nb\\x1b[31m\\u202e'
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def visible(name: str) -> str:
    r"""Return a name for people, on one line: in quotes where it would not be seen as it is.

    Examples
    --------
    >>> print(visible("age"), visible(""), visible("a\nb"), visible(" age"))
    age '' 'a\nb' ' age'
    """
    return name if name.isprintable() and name and name == name.strip() else repr(name)


def printable_lines(text: str) -> str:
    r"""Guard each line of a text for people, also against being a command to a build server.

    GitHub Actions obeys lines of a log that begin with :: or ##[, blanks aside.

    Examples
    --------
    >>> print(printable_lines('a\tb\n  ::error::c'))
    a\tb
      \x3a:error::c
    """
    return "\n".join(map(_harmless, text.split("\n")))


def _harmless(line: str) -> str:
    line = printable(line)
    bare = line.lstrip()
    if not bare.startswith(("::", "##[")):
        return line
    return f"{line[: -len(bare)]}\\x{ord(bare[0]):02x}{bare[1:]}"


def plain_count(number: float, *, grouped: bool = False) -> str:
    """Return a number of things; a fraction, as of weighted rows, with six digits or as a whole.

    Examples
    --------
    >>> plain_count(12345678), plain_count(5070.967741714), plain_count(1234567.4)
    ('12345678', '5070.97', '1234567')
    >>> plain_count(12345678, grouped=True), plain_count(999999.7, grouped=True)
    ('12,345,678', '1,000,000')
    """
    kind = ""
    if isinstance(number, float):
        # From here on six digits would be written with an exponent.
        kind = ".0f" if abs(number) >= 999_999.5 else ".6g"
    return f"{number:{',' * grouped}{kind}}"


def cell_width(text: str) -> int:
    r"""Return how many cells of a terminal a printable text takes.

    Letters of East Asia and pictures take two; marks that stand on the letter before them, none.

    Examples
    --------
    >>> cell_width("age"), cell_width("年齢"), cell_width("e\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(map(_cells_of, text))


def _cells_of(char: str) -> int:
    # Vowels and final consonants of Hangul are drawn into the letter before them.
    if unicodedata.category(char) in ("Mn", "Me") or "\u1160" <= char <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def padded(text: str, width: int, *, to_the_right: bool = False) -> str:
    """Fill up a printable text with blanks to a number of cells.

    Examples
    --------
    >>> padded("年", 4) + "|", padded("1.5", 6, to_the_right=True)
    ('年  |', '   1.5')
    """
    blanks = " " * (width - cell_width(text))
    return blanks + text if to_the_right else text + blanks


def shortened_to_cells(text: str, width: int, ellipsis: str = "…") -> str:
    """Return as much of a printable text as fits, with an ellipsis for what does not.

    Examples
    --------
    >>> shortened_to_cells("temperature", 6), shortened_to_cells("年齢層", 4)
    ('tempe…', '年…')
    """
    if cell_width(text) <= width:
        return text
    kept = text
    while kept and cell_width(kept + ellipsis) > width:
        kept = kept[:-1]
    return kept + ellipsis
