"""The steps of a search as CSV: one line per move."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from gml.data.safe_cells import cell

if TYPE_CHECKING:
    from gml.learners.search import Step

HEADER = b"step,phase,move,source,target,others,gain,score\n"


def record(number: int, step: Step) -> bytes:
    """Return the line of a step; other nodes are one CSV record in a field."""
    others = _line(step.others) if step.others else ""
    fields = (number, step.phase, step.move, step.source, step.target, others)
    return (_line((*fields, repr(step.gain), repr(step.score))) + "\n").encode("utf-8")


def _line(fields: tuple[object, ...]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(
        cell(field) if isinstance(field, str) else field for field in fields
    )
    return text.getvalue()
