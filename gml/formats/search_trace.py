"""The steps of a search as CSV, written and read: one line per move.

Those of structural EM, which searches many times, have the start and the round of each in front.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gml.atomic import whole_file
from gml.data.safe_cells import cell
from gml.data.text_file import read_text
from gml.errors import DataError, parameter, place, quote

if TYPE_CHECKING:
    from gml.learners.search import Step, Trace

_FIELDS = ("step", "phase", "move", "source", "target", "others", "gain", "score")
_OF_ROUNDS = ("start", "round", *_FIELDS)


@contextmanager
def written_trace(path: str | os.PathLike[str], *, safe_csv: bool = False) -> Iterator[Trace]:
    """Yield what takes the steps of a search, into a file that appears whole."""
    with whole_file(path) as file:
        number = itertools.count(1)
        fields: tuple[str, ...] = ()

        def begin(some: tuple[str, ...]) -> None:
            nonlocal fields
            fields = some
            file.write(f"{','.join(fields)}\n".encode())

        def write(step: Step) -> None:
            if not fields:
                begin(_OF_ROUNDS if step.round else _FIELDS)
            file.write(_record(next(number), step, safe_csv))

        yield write
        if not fields:
            begin(_FIELDS)


def _record(number: int, step: Step, safe_csv: bool) -> bytes:
    """Return the line of a step; other nodes are one CSV record in a field."""
    others = _line(step.others, safe_csv) if step.others else ""
    search = (step.start, step.round) if step.round else ()
    fields = (*search, number, step.phase, step.move, step.source, step.target, others)
    line = _line((*fields, repr(step.gain), repr(step.score)), safe_csv)
    return f"{line}\n".encode()


def _line(fields: tuple[object, ...], safe: bool) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(
        cell(field, safe) if isinstance(field, str) else field for field in fields
    )
    return text.getvalue()


def read_trace(path: str | os.PathLike[str]) -> list[Step]:
    """Read the steps of a search; any other file is refused."""
    where = place(path)
    text = read_text(path)
    if not text.strip():
        raise DataError(f"{where}: the file is empty")
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        fields = tuple(next(rows, ()))
        if fields not in (_FIELDS, _OF_ROUNDS):
            raise DataError(
                f"{where}: not the steps of a search, which {parameter('trace')} of hc and ges "
                "writes"
            )
        return [_step(row, fields, f"{where}: line {rows.line_num}") for row in rows]
    except csv.Error as error:
        raise DataError(f"{where}: line {rows.line_num}: not CSV: {error}") from None


def _step(row: list[str], fields: tuple[str, ...], where: str) -> Step:
    from gml.learners.search import Step

    if len(row) != len(fields):
        raise DataError(f"{where}: {len(row)} fields, not {len(fields)}")
    search = [_whole(text, where) for text in row[: -len(_FIELDS)]]
    _, phase, move, source, target, others, *numbers = row[-len(_FIELDS) :]
    gain, score = (_finite(text, where) for text in numbers)
    clique = tuple(next(csv.reader([others]))) if others else ()
    return Step(phase, move, source, target, clique, gain, score, *search)


def _whole(text: str, where: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise DataError(f"{where}: {quote(text)} is not a number of a start or round")
    return int(text)


def _finite(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{where}: {quote(text)} is not a finite number")
    return value
