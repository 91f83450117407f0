"""A report is a list of rows with the same keys; each format is one function."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gml.data.safe_cells import cell
from gml.errors import printable
from gml.formats.json_text import SCHEMA, document_text, encode
from gml.independence.base import tiny_p

Row = dict[str, Any]


def as_json(rows: Sequence[Row]) -> str:
    """One object; a result a line."""
    return document_text({"schema": SCHEMA, "results": list(rows)})


def as_jsonl(rows: Sequence[Row]) -> str:
    """One object a line."""
    return "".join(encode(row) + "\n" for row in rows)


def as_csv(rows: Sequence[Row]) -> str:
    """A header and a row a result; lists are CSV records within a field, nothing for null."""
    lines = [record(rows[0])] if rows else []
    lines += [record([_cell(value) for value in row.values()]) for row in rows]
    return "".join(line + "\n" for line in lines)


def as_markdown(rows: Sequence[Row]) -> str:
    """A table for a pull request or a notebook."""
    if not rows:
        return "no results\n"
    lines = [_markdown_row(map(printable, rows[0])), "|" + "---|" * len(rows[0])]
    lines += [_markdown_row(_shown_in(row, key) for key in row) for row in rows]
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Iterable[str]) -> str:
    escaped = (text.replace("\\", "\\\\").replace("|", "\\|") for text in cells)
    return "| " + " | ".join(text.replace("\n", " ") for text in escaped) + " |"


def as_text(rows: Sequence[Row]) -> str:
    """Aligned columns for people; columns in which nothing applies are left out."""
    if not rows:
        return "no results\n"
    keys = [key for key in rows[0] if any(row[key] not in (None, []) for row in rows)]
    numeric = {
        key: all(isinstance(row[key], int | float) or row[key] is None for row in rows)
        for key in keys
    }
    cells = [list(map(printable, keys))] + [[_shown_in(row, key) for key in keys] for row in rows]
    widths = [max(len(line[k]) for line in cells) for k in range(len(keys))]
    lines = []
    for line in cells:
        padded = [
            text.rjust(width) if numeric[key] else text.ljust(width)
            for key, text, width in zip(keys, line, widths, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        return _joined(value) if value else ""
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else value


def record(values: Iterable[Any]) -> str:
    """One CSV record without its line end, its cells made safe if that is asked for."""
    return _joined(cell(value) if isinstance(value, str) else value for value in values)


def _joined(values: Iterable[Any]) -> str:
    """Fields with commas between them; the writer quotes what is in its line terminator."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(values)
    return out.getvalue()[:-2]


def _shown_in(row: Row, key: str) -> str:
    """A cell for people; a p-value too small for a float comes from its logarithm."""
    log10_p = row.get("log10_p")
    if key == "p_value" and row[key] == 0 and log10_p is not None:
        return tiny_p(log10_p, 6)
    return shown(row[key])


def shown(value: Any) -> str:
    """A value for people, on one line."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(shown(item) for item in value) or "-"
    text = str(value)
    return text if text.isprintable() and text else repr(text)


FORMATS: dict[str, Callable[[Sequence[Row]], str]] = {
    "text": as_text,
    "json": as_json,
    "jsonl": as_jsonl,
    "csv": as_csv,
    "markdown": as_markdown,
}
