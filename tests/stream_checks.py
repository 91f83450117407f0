"""Checks of rows in memory and of the same rows in passes, for tests of both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

import pytest

import gml
from gml.counts import open_stream as streams
from gml.counts.chunked_rows import RowsInMemory
from gml.counts.number_rows import NumberReader
from gml.counts.row_sums import NumberTable
from gml.counts.streamed import StreamCounter
from gml.data import number_parts, row_spool


@contextmanager
def in_passes() -> Iterator[pytest.MonkeyPatch]:
    """Rows are read in small blocks, and none comes back into memory."""
    with pytest.MonkeyPatch.context() as patched:
        for name in ("_LEAST_PIECE", "_MOST_PIECE"):
            patched.setattr(streams, name, 1 << 12)
        for name in ("LEAST_ROWS", "MOST_ROWS"):
            patched.setattr(row_spool, name, 64)
        patched.setattr(StreamCounter, "rows_as_they_stand", lambda self: None)
        patched.setattr(StreamCounter, "rows", lambda self: None)
        # So that even few different numbers go to a file.
        patched.setattr(number_parts, "BYTES_PER_NUMBER", 1 << 22)
        yield patched


def both_checks(data, model, **keywords):
    """The same check in memory and in passes: the reports as they are written, or what is said."""

    def answer(engine):
        try:
            found = gml.check(data, model, engine=engine, **keywords)
            reports = found if isinstance(found, list) else [found]
            return str([asdict(report) for report in reports])
        except gml.GmlError as refused:
            return type(refused), str(refused)

    memory = answer("memory")
    with in_passes():
        return memory, answer("stream")


def number_table(data, labels=()):
    """The rows of a dataset as a check of a model with numbers goes through them."""
    return NumberTable(RowsInMemory(data), NumberReader.of(data.variables, labels))
