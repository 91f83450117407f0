"""CSV that a spreadsheet can open safely: if asked, cells that it would run as formulas are text.

A cell that begins with = + - @ (or one of their full-width forms), a tab or a line end is written
with an apostrophe before it, numbers excepted. Read back, such a label has the apostrophe: so this
is off unless `writing_safe_cells` is in force, which the command line enters for `--safe-csv`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_RISKY = tuple("=+-@\t\r\n＝＋－＠")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_safe: ContextVar[bool] = ContextVar("safe_cells", default=False)


@contextmanager
def writing_safe_cells() -> Iterator[None]:
    """Make cells safe within a block."""
    token = _safe.set(True)
    try:
        yield
    finally:
        _safe.reset(token)


def cell(text: str) -> str:
    """Return the text of a cell, made safe if that is asked for.

    Examples
    --------
    >>> with writing_safe_cells():
    ...     cell("=1+1"), cell("-1.5"), cell("-x"), cell("x")
    ("'=1+1", '-1.5', "'-x", 'x')
    >>> cell("=1+1")
    '=1+1'
    """
    if not _safe.get() or not text.startswith(_RISKY) or _NUMBER.fullmatch(text):
        return text
    return "'" + text
