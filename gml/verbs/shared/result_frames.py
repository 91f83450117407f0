"""Rows of results as a DataFrame, and as text that fits a screen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gml.errors import counted
from gml.formats.reports.rows import as_text

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 10


def frame_of(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a pandas DataFrame of rows with the same keys."""
    import pandas as pd

    return pd.DataFrame(list(rows))


def shown_rows(title: str, rows: Sequence[dict[str, Any]]) -> str:
    """Return the first rows under a title.

    Examples
    --------
    >>> print(shown_rows("Verification", [{"file": "a.json", "verdict": "ok"}]))
    Verification(1 row)
    file    verdict
    a.json  ok
    """
    lines = [f"{title}({counted(len(rows), 'row')})", as_text(rows[:_SHOWN]).rstrip("\n")]
    return "\n".join(lines + [f"and {len(rows) - _SHOWN} more"] * (len(rows) > _SHOWN))


def html_of_rows(rows: Iterable[Mapping[str, Any]], headers: Sequence[str] = ()) -> str:
    """Return the first rows as a notebook shows them; `headers` say what a row is about."""
    from gml.pictures.notebook.tables import block, table

    return block(table(list(rows), headers=headers))
