"""Partial answers of Spark's partitions, and how they are added up in a tree.

Each partition of a table of pieces gives one answer, pickled into binary cells. Answers are added
up on the executors, `FAN_IN` at a time, until so few are left that the driver adds them itself:
it never holds more than `MOST_AT_DRIVER` answers at a time. All of this is one job.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from gml import __version__, kernel
from gml.counts.spark_rows import N_ROWS, QuoteOpen
from gml.errors import CannotAnswer, GmlError

MOST_AT_DRIVER = 8
FAN_IN = 16

# Spark and Arrow hold at most 2 GiB in a cell.
_CELL_BYTES = 1 << 26
_SCHEMA = "bucket int, part long, cell int, cells int, n_rows long, gml string, answer binary"

Partial = TypeVar("Partial")


@dataclass(frozen=True)
class PieceWork(Generic[Partial]):
    """What is done with piece k of a batch of pieces, and how two answers add up."""

    of: Callable[[Any, int], Partial]
    add: Callable[[Partial, Partial], Partial]


class _Refused(NamedTuple):
    """In place of an answer: what is wrong with the rows."""

    error: GmlError


class Total(NamedTuple):
    """The answer of all pieces (None: there are none), their rows, and the partitions they had."""

    answer: Any
    n_rows: int
    n_parts: int


def own_gml() -> str:
    """Which gml this is, as far as another one must agree: the version, and whether compiled."""
    compiled = not kernel.active().__name__.endswith("reference")  # type: ignore[attr-defined]
    return f"gml {__version__} ({'compiled kernel' if compiled else 'NumPy in place of a kernel'})"


@dataclass(frozen=True)
class _OfPartition(Generic[Partial]):
    """Spark calls it with the batches of each partition."""

    work: PieceWork[Partial]
    buckets: int

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        part = 0 if context is None else context.partitionId()
        total: Any = None
        n_rows = 0
        try:
            for batch in batches:
                for k in range(batch.num_rows):
                    n_rows += batch.column(N_ROWS)[k].as_py()
                    answer = self.work.of(batch, k)
                    total = answer if total is None else self.work.add(total, answer)
        except GmlError as error:
            total = _Refused(error)
        if total is not None:
            yield from _written(total, n_rows, 1, part, self.buckets)


@dataclass(frozen=True)
class _Sum(Generic[Partial]):
    """Spark calls it with the batches of answers that are to be added up."""

    work: PieceWork[Partial]
    buckets: int

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        total = _added_up(batches, self.work)
        if total.n_parts:
            part = 0 if context is None else context.partitionId()
            yield from _written(total.answer, total.n_rows, total.n_parts, part, self.buckets)


def _written(answer: Any, n_rows: int, n_parts: int, part: int, buckets: int) -> Iterator[Any]:
    import pyarrow as pa

    content = pickle.dumps((answer, n_rows, n_parts), protocol=5)
    cells = range(0, len(content), _CELL_BYTES)
    for cell, start in enumerate(cells):
        yield pa.RecordBatch.from_pydict(
            {
                "bucket": pa.array([part % buckets], pa.int32()),
                "part": pa.array([part], pa.int64()),
                "cell": pa.array([cell], pa.int32()),
                "cells": pa.array([len(cells)], pa.int32()),
                "n_rows": pa.array([n_rows], pa.int64()),
                "gml": pa.array([own_gml()], pa.string()),
                "answer": pa.array([content[start : start + _CELL_BYTES]], pa.binary()),
            }
        )


def _added_up(batches: Iterable[Any], work: PieceWork[Any]) -> Total:
    """Add answers up as their last cell comes."""
    total: Any = None
    n_rows = n_parts = 0
    waiting: dict[int, dict[int, bytes]] = {}
    for batch in batches:
        for row in range(batch.num_rows):
            _require_same(batch.column("gml")[row].as_py())
            part, cell, cells = (batch.column(c)[row].as_py() for c in ("part", "cell", "cells"))
            found = waiting.setdefault(part, {})
            found[cell] = batch.column("answer")[row].as_buffer().to_pybytes()
            if len(found) < cells:
                continue
            content = b"".join(found[k] for k in range(cells))
            del waiting[part]
            answer, rows, parts = pickle.loads(content)
            total = answer if total is None else _sum_of(total, answer, work)
            n_rows, n_parts = n_rows + rows, n_parts + parts
    return Total(total, n_rows, n_parts)


def _sum_of(first: Any, second: Any, work: PieceWork[Any]) -> Any:
    refused = [one for one in (first, second) if isinstance(one, _Refused)]
    if not refused:
        return work.add(first, second)
    # Whatever the order is, the same one is said.
    return min(refused, key=lambda one: (not isinstance(one.error, QuoteOpen), str(one.error)))


def _require_same(other: str) -> None:
    """Refuse an answer of another gml."""
    if other != own_gml():
        raise CannotAnswer(other_gml(own_gml(), other))


def other_gml(own: str, other: str) -> str:
    """Say that driver and executors differ, and what helps."""
    return (
        f"the driver has {own}, but an executor has {other}; give both the same environment, or "
        "ship the wheel (docs/spark.md)"
    )


def answer_of(pieces: Any, work: PieceWork[Any], n_parts: int | None) -> Total:
    """Do work on a table of pieces that has so many partitions (None: not known), by one job."""
    left = FAN_IN * MOST_AT_DRIVER if n_parts is None else n_parts
    buckets = _buckets(left)
    answers = pieces.mapInArrow(_OfPartition(work, buckets), _SCHEMA)
    while left > MOST_AT_DRIVER:
        left, buckets = buckets, _buckets(buckets)
        answers = answers.repartition(left, "bucket").mapInArrow(_Sum(work, buckets), _SCHEMA)
    total = _added_up(answers.toArrow().to_batches(), work)
    if isinstance(total.answer, _Refused):
        raise total.answer.error
    return total


def _buckets(n_answers: int) -> int:
    """Into how many sums so many answers are put."""
    return max(1, -(-n_answers // FAN_IN)) if n_answers > MOST_AT_DRIVER else 1
