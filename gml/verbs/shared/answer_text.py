"""Answers about rows as lines of CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gml.formats.reports.rows import record
from gml.model.row_answers import RowAnswers


def csv_line(fields: Sequence[str], safe_csv: bool) -> bytes:
    """Return a line of CSV."""
    return (record(fields, safe_csv=safe_csv) + "\n").encode()


def answer_cells(answers: RowAnswers) -> Iterator[Sequence[str]]:
    """Yield the cells of each row, empty ones if it has no answer."""
    texts = [
        column.tolist() if column.dtype == object else map(repr, column.tolist())
        for _, column in answers.written()
    ]
    nothing = ("",) * len(texts)
    for is_possible, cells in zip(answers.possible.tolist(), zip(*texts, strict=True), strict=True):
        yield cells if is_possible else nothing
