"""What a chain field says of each row of a file, as CSV text.

The file is read twice, as all rows of a sequence bear on the answer for its first; what comes
through a pipe is kept on disk in between.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from gml.data.options import ReadOptions
from gml.data.parquet import is_parquet
from gml.data.records import Records, open_records, records_of
from gml.data.rereading import rereadable
from gml.data.source import ByteSource
from gml.errors import DataError, UsageError, parameter, place, quote
from gml.ledger import note_digest, wants_digest
from gml.model.row_answers import DecodedRows, LevelPredictions
from gml.model.sequences.chain_field import ChainField
from gml.model.sequences.row_inference import ChainRowInference
from gml.verbs.shared.answer_text import answer_cells, csv_line

_BLOCK_ROWS = 1 << 14
_Reopened = Callable[[], AbstractContextManager[Records]]


def chain_inference(
    field: ChainField,
    targets: Sequence[str],
    evidence: Mapping[str, Any] | None,
    do: Mapping[str, Any] | None,
    *,
    predict: bool,
    mpe: bool,
) -> ChainRowInference:
    """Return what answers about the rows of sequences; what is known of them is in the rows."""
    for values, name in ((evidence, "evidence"), (do, "do")):
        if values:
            raise UsageError(
                f"{parameter(name)} is about one case; the rows of sequences say what is known"
            )
    return ChainRowInference(field, None if mpe else targets, predict=predict, decode=mpe)


def csv_of_sequences(
    asked: ChainRowInference,
    batch: str | os.PathLike[str],
    *,
    missing: str,
    ignore_unknown: bool,
    reading: ReadOptions,
    safe_csv: bool,
    judge: Callable[[Any], None] | None,
    needs_truth: bool,
) -> Iterator[bytes]:
    """Yield CSV text: the columns of a file of sequences, followed by an answer for each row."""
    with _read_twice(batch, reading) as (source, records_again):
        with source as opened:
            answers = asked.about(
                batch,
                missing=missing,
                ignore_unknown=ignore_unknown,
                reading=reading,
                source=opened,
            )
        metrics = answers.metrics if isinstance(answers, DecodedRows | LevelPredictions) else None
        if metrics is None and needs_truth:
            raise UsageError(
                f"{parameter('metrics')}: {place(batch)} has no column "
                f"{quote(asked.targets[0])}, so that there is no truth to compare with"
            )
        with records_again() as records:
            taken = [name for name in asked.columns if name in records.names]
            if taken:
                raise UsageError(f"there is a column {quote(taken[0])} already")
            text = csv_line([*records.names, *asked.columns], safe_csv)
            pairs = _together(records, answer_cells(answers))
            while block := list(itertools.islice(pairs, _BLOCK_ROWS)):
                yield text + b"".join(
                    csv_line([*fields, *found], safe_csv) for fields, found in block
                )
                text = b""
            yield text
    if metrics is not None and judge is not None:
        judge(metrics)


@contextmanager
def _read_twice(
    batch: str | os.PathLike[str], reading: ReadOptions
) -> Iterator[tuple[AbstractContextManager[ByteSource | None], _Reopened]]:
    """Yield the bytes of a file to be read as a table, and what reads it again as records."""
    hashed = wants_digest(batch)
    if str(batch) != "-" and is_parquet(batch):
        yield nullcontext(), lambda: open_records(batch, reading, digest=hashed)
        return
    with rereadable(batch, digest=hashed) as reopen:

        @contextmanager
        def again() -> Iterator[Records]:
            with reopen(hashed) as source:
                yield records_of(source, batch, reading)
                note_digest(batch, source.digest())

        yield reopen(False), again


def _together(
    records: Records, answers: Iterable[Sequence[str]]
) -> Iterator[tuple[list[str], Sequence[str]]]:
    """Yield each record with its answer; a file that has other rows by now is refused."""
    for record, found in itertools.zip_longest(records.rows, answers):
        if record is None or found is None:
            raise DataError(f"{records.where}: changed while it was read; try again")
        yield record[1], found
