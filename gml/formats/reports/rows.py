"""A report is a list of rows with the same keys; each format is one function.

There may be very many rows, so a report is written piece by piece, and what depends on all of them
(the widths of columns, a hash) takes a second pass.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Protocol

from gml.data.safe_cells import cell
from gml.formats.content_hash import NO_INPUTS, Hashes
from gml.formats.json_document import SCHEMA, document_pieces, encode
from gml.independence.base import tiny_p
from gml.printable_text import cell_width, printable, visible
from gml.progress import reporter
from gml.text_table import aligned_line

Row = dict[str, Any]
# The writer quotes what is in its line terminator.
_LINE_END = "\r\n"
_ROWS_PER_REPORT = 500


class Rows(Protocol):
    """Rows that can be gone through more than once: a list, or what makes them each time."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Row]: ...


@dataclass(frozen=True)
class MadeAnew:
    """A number of rows, made again each time they are gone through."""

    number: int
    each: Callable[[], Iterator[Row]]

    def __len__(self) -> int:
        return self.number

    def __iter__(self) -> Iterator[Row]:
        return self.each()


def as_jsonl(rows: Rows) -> str:
    """One object per line."""
    return "".join(_jsonl(rows))


def as_csv(rows: Rows, *, safe_csv: bool = False) -> str:
    """A header and a row per result; lists are CSV records within a field, nothing for null."""
    return "".join(_csv(rows, safe_csv=safe_csv))


def as_markdown(rows: Rows) -> str:
    """A table for a pull request or a notebook."""
    return "".join(_markdown(rows))


def as_text(rows: Rows) -> str:
    """Aligned columns for people; columns in which nothing applies are left out."""
    return "".join(_text(rows))


def _told(rows: Rows, what: str = "writing") -> Iterator[Row]:
    """Go through the rows, and report now and then how far that is."""
    for number, row in enumerate(rows):
        if number % _ROWS_PER_REPORT == 0:
            reporter().advance(what, number, len(rows))
        yield row
    reporter().advance(what, len(rows), len(rows))


def _json(rows: Rows, *, inputs: Hashes = NO_INPUTS) -> Iterator[str]:
    told = MadeAnew(len(rows), lambda: _told(rows))
    return document_pieces({"schema": SCHEMA}, "results", told, inputs)


def _jsonl(rows: Rows) -> Iterator[str]:
    return (encode(row) + "\n" for row in _told(rows))


def _csv(rows: Rows, *, safe_csv: bool = False) -> Iterator[str]:
    # What a file takes is what `writerow` returns.
    writer = csv.writer(SimpleNamespace(write=str), lineterminator=_LINE_END)
    for number, row in enumerate(_told(rows)):
        if number == 0:
            yield record(row, safe_csv=safe_csv) + "\n"
        line: Any = writer.writerow([_cell(value, safe_csv) for value in row.values()])
        yield line[: -len(_LINE_END)] + "\n"


def _markdown(rows: Rows) -> Iterator[str]:
    if not len(rows):
        yield "no results\n"
    for number, row in enumerate(_told(rows)):
        if number == 0:
            yield _markdown_row(map(printable, row)) + "|" + "---|" * len(row) + "\n"
        yield _markdown_row(_shown_in(row, key) for key in row)


def _markdown_row(cells: Iterable[str]) -> str:
    escaped = (text.replace("\\", "\\\\").replace("|", "\\|") for text in cells)
    return "| " + " | ".join(text.replace("\n", " ") for text in escaped) + " |\n"


def _text(rows: Rows) -> Iterator[str]:
    if not len(rows):
        yield "no results\n"
        return
    needed: dict[str, int] = {}
    words: set[str] = set()
    applies: set[str] = set()
    for row in _told(rows, "laying out"):
        for key, value in row.items():
            before = needed.get(key) or cell_width(printable(key))
            needed[key] = max(before, cell_width(_shown_in(row, key)))
            if value is not None and value != []:
                applies.add(key)
            if value is not None and not isinstance(value, int | float):
                words.add(key)
    keys = [key for key in needed if key in applies]
    widths = [needed[key] for key in keys]
    right = {k for k, key in enumerate(keys) if key not in words}
    yield aligned_line([printable(key) for key in keys], widths, right) + "\n"
    for row in _told(rows):
        yield aligned_line([_shown_in(row, key) for key in keys], widths, right) + "\n"


def _cell(value: Any, safe: bool) -> Any:
    if isinstance(value, list):
        return cell(_joined(value), safe) if value else ""
    return cell(value, safe) if isinstance(value, str) else value


def record(values: Iterable[Any], *, safe_csv: bool = False) -> str:
    """One CSV record without its line end."""
    return _joined(_cell(value, safe_csv) for value in values)


def _joined(values: Iterable[Any]) -> str:
    """Fields with commas between them; the writer quotes what is in its line terminator."""
    out = io.StringIO()
    csv.writer(out, lineterminator=_LINE_END).writerow(values)
    return out.getvalue()[: -len(_LINE_END)]


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
    return visible(str(value))


FORMATS: dict[str, Callable[..., Iterator[str]]] = {
    "text": _text,
    "json": _json,
    "jsonl": _jsonl,
    "csv": _csv,
    "markdown": _markdown,
}
"""From rows to pieces of text; that of JSON takes `inputs` too, and that of CSV `safe_csv`."""
