"""Text for people: nothing in it controls a terminal, or is a command to a build server."""

from __future__ import annotations


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
    >>> print(visible("age"), visible(""), visible("a\nb"))
    age '' 'a\nb'
    """
    return name if name.isprintable() and name else repr(name)


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
