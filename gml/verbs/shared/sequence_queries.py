"""What a chain field says of each row of a file, as CSV text: the file is read as a whole."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gml.data.options import ReadOptions
from gml.data.records import open_records
from gml.errors import UsageError, parameter, place, quote
from gml.ledger import wants_digest
from gml.model.row_answers import DecodedRows, LevelPredictions
from gml.model.sequences.chain_field import ChainField
from gml.model.sequences.row_inference import ChainRowInference
from gml.path_kinds import is_file, is_there
from gml.verbs.shared.answer_text import answer_cells, csv_line

_BLOCK_ROWS = 1 << 14


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
    if os.fspath(batch) == "-" or (is_there(batch) and not is_file(batch)):
        raise UsageError(
            f"{parameter('batch')}: a field of sequences reads its rows twice, so they must be in "
            "a file"
        )
    answers = asked.about(batch, missing=missing, ignore_unknown=ignore_unknown, reading=reading)
    metrics = answers.metrics if isinstance(answers, DecodedRows | LevelPredictions) else None
    if metrics is None and needs_truth:
        raise UsageError(
            f"{parameter('metrics')}: {place(batch)} has no column {quote(asked.targets[0])}, so "
            "that there is no truth to compare with"
        )
    with open_records(batch, reading, digest=wants_digest(batch)) as records:
        taken = [name for name in asked.columns if name in records.names]
        if taken:
            raise UsageError(f"there is a column {quote(taken[0])} already")
        text = csv_line([*records.names, *asked.columns], safe_csv)
        pairs = zip(records.rows, answer_cells(answers), strict=True)
        while block := list(itertools.islice(pairs, _BLOCK_ROWS)):
            yield text + b"".join(
                csv_line([*fields, *found], safe_csv) for (_, fields), found in block
            )
            text = b""
        yield text
    if metrics is not None and judge is not None:
        judge(metrics)
