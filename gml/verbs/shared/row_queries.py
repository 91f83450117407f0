"""What a model says of each row: as CSV text, or as an object that holds all answers."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import numpy as np

from gml.data.dataset import Dataset, Variable
from gml.data.options import Names as ColumnNames
from gml.data.options import ReadOptions
from gml.data.records import Records, open_records
from gml.errors import UsageError, kind_of, parameter, place, quote
from gml.formats.reports.rows import record
from gml.ledger import wants_digest
from gml.model.evidence import circumstances
from gml.model.predict import RowEvidence, answers_about, warn_of_impossible
from gml.model.prediction_metrics import Metrics, Tally, TrueValues
from gml.model.query import Names, names_of
from gml.model.row_answers import Predictions, RowAnswers, RowInference
from gml.verbs.shared.data_input import is_path
from gml.verbs.shared.model_input import ModelSource, open_model

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

RowSource: TypeAlias = "str | os.PathLike[str] | pd.DataFrame | Dataset"
"""Rows of evidence: a CSV file (`-` is standard input), a frame or a dataset."""

_BLOCK_ROWS = 1 << 14
_REMEMBERED = 1 << 16


class RowReading(TypedDict, total=False):
    """How a file of rows is read."""

    delimiter: str | None
    decimal: str | None
    encoding: str | None
    na: ColumnNames | None


def row_inference(
    model: ModelSource,
    target: Names,
    evidence: Mapping[str, Any] | None,
    do: Mapping[str, Any] | None,
    *,
    predict: str | None,
    max_memory: int | None = None,
) -> RowInference:
    """Return what answers for rows about the targets, or predicts a node instead."""
    targets = names_of(target)
    require_asked(targets, predict)
    return RowInference(
        circumstances(open_model(model), evidence, do),
        targets if predict is None else [predict],
        predict=predict is not None,
        max_memory=max_memory,
    )


def require_asked(target: Sequence[str], predict: str | None) -> None:
    """Refuse rows about which nothing is asked, or too much."""
    if (predict is None) == (not target):
        raise UsageError(
            f"{parameter('batch')} needs either {parameter('target')} or {parameter('predict')}"
        )
    if predict is not None and not isinstance(predict, str):
        raise UsageError(f"{parameter('predict')} must be the name of a node, not {predict!r}")


def answers_of_rows(
    asked: RowInference,
    batch: RowSource,
    *,
    missing: str,
    ignore_unknown: bool,
    reading: ReadOptions | None,
) -> RowAnswers:
    """Return the answers for rows; `reading` is that of a file, None if nothing is said of it."""
    how: dict[str, Any] = {"missing": missing, "ignore_unknown": ignore_unknown}
    if not is_path(batch):
        if reading is not None:
            raise UsageError(
                f"{parameter('batch')} is {kind_of(batch)}; keywords of reading are for a file"
            )
        return answers_about(asked, batch, "batch", **how)
    reading = reading or ReadOptions()
    with open_records(batch, reading) as records:
        rows = _row_evidence(asked, records, reading, **how)
        truth = _Truth.of(asked, records, reading, missing)
        blocks, true_blocks = [], []
        for block, values in _blocks(records, rows, reading):
            blocks.append(values)
            if truth is not None:
                true_blocks.append(truth.values(block))
        rows.warn()
    answers = asked.of(rows.names, np.concatenate([rows.room(0), *blocks]))
    warn_of_impossible(int(np.count_nonzero(~answers.possible)), place(batch))
    if truth is not None and isinstance(answers, Predictions):
        truth.tally.add(answers, np.concatenate([np.empty(0), *true_blocks]))
        return replace(answers, metrics=truth.tally.metrics())
    return answers


def csv_of_rows(
    asked: RowInference,
    batch: str | os.PathLike[str],
    *,
    missing: str = "unobserved",
    ignore_unknown: bool = False,
    reading: ReadOptions | None = None,
    safe_csv: bool = False,
    judge: Callable[[Metrics], None] | None = None,
    needs_truth: bool = False,
) -> Iterator[bytes]:
    """Yield CSV text: the columns of a file of evidence, followed by an answer for each row.

    With `safe_csv`, texts that a spreadsheet would run as formulas have an apostrophe before them.
    Once all rows are done, `judge` is called with how good predictions are, if the file has the
    column that is predicted; one that `needs_truth` must have it.

    Examples
    --------
    >>> import gml
    >>> net = gml.fit("sample_data/asia.csv", "sample_data/asia.dot")
    >>> text = csv_of_rows(
    ...     row_inference(net, None, None, None, predict="lung"), "sample_data/asia.csv"
    ... )
    >>> next(text).decode().splitlines()[0]
    'asia,tub,smoke,lung,bronc,either,xray,dysp,lung_predicted,lung_probability'
    """
    reading = reading or ReadOptions()
    impossible = 0
    with open_records(batch, reading, digest=wants_digest(batch)) as records:
        rows = _row_evidence(
            asked, records, reading, missing=missing, ignore_unknown=ignore_unknown
        )
        taken = [name for name in asked.columns if name in records.names]
        if taken:
            raise UsageError(f"there is a column {quote(taken[0])} already")
        truth = _Truth.of(asked, records, reading, missing)
        if truth is None and needs_truth:
            raise UsageError(
                f"{parameter('metrics')}: {place(batch)} has no column {quote(asked.targets[0])}, "
                "so that there is no truth to compare with"
            )
        # The header waits for the first answers: what fails at once has written nothing.
        text = _line([*records.names, *asked.columns], safe_csv)
        for block, values in _blocks(records, rows, reading):
            answers = asked.of(rows.names, values)
            impossible += int(np.count_nonzero(~answers.possible))
            if truth is not None:
                truth.add(answers, block)
            pairs = zip(block, _cells(answers), strict=True)
            yield text + b"".join(
                _line([*fields, *found], safe_csv) for (_, fields), found in pairs
            )
            text = b""
        yield text
        rows.warn()
    warn_of_impossible(impossible, place(batch))
    if truth is not None and judge is not None:
        judge(truth.tally.metrics())


class _Truth:
    """The column that is predicted, of a file that has it."""

    def __init__(self, variable: Variable, at: int, reading: ReadOptions, missing: str) -> None:
        self.tally = Tally(variable.name, variable.levels)
        self._at = at
        self._na = _na_tokens(reading)
        self._true = TrueValues(
            variable, missing_is_level=missing == "level", decimal=reading.decimal
        )
        self._remembered: dict[str, float] = {}

    @classmethod
    def of(
        cls, asked: RowInference, records: Records, reading: ReadOptions, missing: str
    ) -> _Truth | None:
        """The truth about what is predicted; None if nothing is, or the file does not have it."""
        if not asked.predicts or asked.targets[0] not in records.names:
            return None
        (target,) = asked.targets
        variable = next(v for v in asked.given.net.variables if v.name == target)
        return cls(variable, records.names.index(target), reading, missing)

    def add(self, answers: RowAnswers, block: Sequence[tuple[int, list[str]]]) -> None:
        """Add the rows of a block."""
        assert isinstance(answers, Predictions)
        self.tally.add(answers, self.values(block))

    def values(self, block: Sequence[tuple[int, list[str]]]) -> NDArray[np.float64]:
        """What the cells of a block say."""
        meant, at = self._remembered, self._at
        return np.array(
            [
                meant[cell] if (cell := fields[at]) in meant else self._find(cell)
                for _, fields in block
            ],
            dtype=np.float64,
        )

    def _find(self, cell: str) -> float:
        is_missing = cell.strip(" ") in self._na
        value = self._true.missing if is_missing else self._true.of(cell)
        if len(self._remembered) < _REMEMBERED:
            self._remembered[cell] = value
        return value


def _na_tokens(reading: ReadOptions) -> set[str]:
    return {token.strip(" ") for token in reading.na_tokens}


def _row_evidence(
    asked: RowInference,
    records: Records,
    reading: ReadOptions,
    *,
    missing: str,
    ignore_unknown: bool,
) -> RowEvidence:
    return RowEvidence(
        asked.given,
        records.names,
        asked.targets,
        records.where,
        missing=missing,
        ignore_unknown=ignore_unknown,
        decimal=reading.decimal,
    )


def _line(fields: Sequence[str], safe_csv: bool) -> bytes:
    return (record(fields, safe_csv=safe_csv) + "\n").encode()


def _cells(answers: RowAnswers) -> Iterator[Sequence[str]]:
    """Yield the cells of each row, empty ones if it has no answer."""
    texts = [
        column.tolist() if column.dtype == object else map(repr, column.tolist())
        for _, column in answers.written()
    ]
    nothing = ("",) * len(texts)
    for is_possible, cells in zip(answers.possible.tolist(), zip(*texts, strict=True), strict=True):
        yield cells if is_possible else nothing


def _blocks(
    records: Records, rows: RowEvidence, reading: ReadOptions
) -> Iterator[tuple[list[tuple[int, list[str]]], NDArray[Any]]]:
    """Yield records, and what they observe; the meaning of a text is mostly looked up once."""
    na = _na_tokens(reading)
    known = [rows.known(k) for k in range(len(rows.at))]

    def find(line: int, k: int, cell: str) -> float:
        is_missing = cell.strip(" ") in na
        value = rows.missing(k) if is_missing else rows.find(k, cell, f"line {line}")
        # Unknown values are looked up each time, so that they are counted.
        if value is None:
            return rows.nothing
        if len(known[k]) < _REMEMBERED:
            known[k][cell] = value
        return value

    while block := list(itertools.islice(records.rows, _BLOCK_ROWS)):
        values = rows.room(len(block))
        for k, at in enumerate(rows.at):
            meant = known[k]
            values[:, k] = [
                meant[cell] if (cell := fields[at]) in meant else find(line, k, cell)
                for line, fields in block
            ]
        yield block, values
