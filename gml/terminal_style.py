"""Colours on a terminal: which parts of a text are painted, and when.

Colours never tell what the words do not. They are put on text that is already safe to show, and
only on its way to a terminal: a file or a pipe gets the same bytes with and without one. NO_COLOR
(https://no-color.org), if not empty, and TERM=dumb turn them off.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from enum import Enum
from typing import IO, Any


class Style(Enum):
    """How a part of a text looks: parameters of the sequence that selects it (ECMA-48, SGR)."""

    BOLD = "1"
    FAINT = "2"
    GOOD = "1;32"
    BAD = "1;31"
    DOUBTFUL = "1;33"


Rule = tuple[re.Pattern[str], Style]
"""What is painted: each place where the pattern is found."""


def rule(pattern: str, style: Style) -> Rule:
    """Return a rule whose ^ and $ are the ends of a line."""
    return re.compile(pattern, re.MULTILINE), style


HEADER = rule(r"\A.+", Style.BOLD)
"""The first line, as of a table."""


def takes_colours(stream: IO[Any] | None) -> bool:
    """Whether a stream is a terminal that shows colours, and its owner wants them."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb":
        return False
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        # It is closed.
        return False


def painted(text: str, rules: Sequence[Rule]) -> str:
    r"""Return the text with colours; where rules overlap, the first one holds.

    Examples
    --------
    >>> painted("FAIL  of 2", [rule("^FAIL", Style.BAD)])
    '\x1b[1;31mFAIL\x1b[0m  of 2'
    """
    taken: list[tuple[int, int, Style]] = []
    for pattern, style in rules:
        for found in pattern.finditer(text):
            start, end = found.span()
            if start < end and all(end <= first or last <= start for first, last, _ in taken):
                taken.append((start, end, style))
    pieces, at = [], 0
    for start, end, style in sorted(taken, key=lambda part: part[:2]):
        pieces += [text[at:start], f"\x1b[{style.value}m", text[start:end], "\x1b[0m"]
        at = end
    return "".join([*pieces, text[at:]])
