"""The steps of a search as CSV: one line per move."""

from __future__ import annotations

import csv
import io
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gml.atomic import whole_file
from gml.data.safe_cells import cell

if TYPE_CHECKING:
    from gml.learners.search import Step, Trace

_HEADER = b"step,phase,move,source,target,others,gain,score\n"


@contextmanager
def written_trace(path: str | os.PathLike[str], *, safe_csv: bool = False) -> Iterator[Trace]:
    """Yield what takes the steps of a search, into a file that appears whole."""
    with whole_file(path) as file:
        file.write(_HEADER)
        number = itertools.count(1)

        def write(step: Step) -> None:
            file.write(_record(next(number), step, safe_csv))

        yield write


def _record(number: int, step: Step, safe_csv: bool) -> bytes:
    """Return the line of a step; other nodes are one CSV record in a field."""
    others = _line(step.others, safe_csv) if step.others else ""
    fields = (number, step.phase, step.move, step.source, step.target, others)
    line = _line((*fields, repr(step.gain), repr(step.score)), safe_csv)
    return f"{line}\n".encode()


def _line(fields: tuple[object, ...], safe: bool) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(
        cell(field, safe) if isinstance(field, str) else field for field in fields
    )
    return text.getvalue()
