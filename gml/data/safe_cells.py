"""CSV that a spreadsheet can open safely: if asked, cells that it would run as formulas are text.

A cell that begins with = + - @ (or one of their full-width forms), a tab or a line end is written
with an apostrophe before it, numbers excepted. Read back, such a label has the apostrophe: so this
is only done where it is asked for, by `safe_csv`.
"""

from __future__ import annotations

import re

_RISKY = tuple("=+-@\t\r\n＝＋－＠")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def cell(text: str, safe: bool) -> str:
    """Return the text of a cell, made safe if that is asked for.

    Examples
    --------
    >>> [cell(text, safe=True) for text in ("=1+1", "-1.5", "-x", "x")]
    ["'=1+1", '-1.5', "'-x", 'x']
    >>> cell("=1+1", safe=False)
    '=1+1'
    """
    if not safe or not text.startswith(_RISKY) or _NUMBER.fullmatch(text):
        return text
    return "'" + text
