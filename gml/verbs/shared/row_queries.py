"""What a model says of each row: as CSV text, or as an object that holds all answers."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import numpy as np

from gml.data.dataset import Dataset, Variable
from gml.data.options import Names as ColumnNames
from gml.data.options import ReadOptions
from gml.data.records import Records, open_records
from gml.errors import UsageError, kind_of, listing, parameter, place, quote
from gml.formats.reports.predictions import AnyMetrics
from gml.graph.provenance import Provenance
from gml.ledger import wants_digest
from gml.model.bayesnet import BayesNet
from gml.model.conditional.field import ConditionalField
from gml.model.conditional.row_inference import FieldRowInference, all_targets
from gml.model.decoded_metrics import DecodedMetrics, DecodedTally
from gml.model.evidence import circumstances
from gml.model.predict import answers_about, options_as_learned, warn_of_impossible
from gml.model.prediction_metrics import Metrics, Tally, TrueValues
from gml.model.query import Names, names_of
from gml.model.row_answers import Decoded, Predictions, RowAnswers
from gml.model.row_evidence import RowEvidence
from gml.model.row_inference import RowInference
from gml.model.sequences.chain_field import ChainField
from gml.model.sequences.row_inference import ChainRowInference
from gml.verbs.shared.answer_text import answer_cells, csv_line
from gml.verbs.shared.data_input import is_path
from gml.verbs.shared.model_input import AskedSource, open_asked_model
from gml.verbs.shared.sequence_queries import chain_inference, csv_of_sequences

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

RowSource: TypeAlias = "str | os.PathLike[str] | pd.DataFrame | Dataset"
"""Rows of evidence: a CSV file (`-` is standard input), Parquet, a frame or a dataset."""

_BLOCK_ROWS = 1 << 14
_REMEMBERED = 1 << 16


class RowReading(TypedDict, total=False):
    """How a file of rows is read."""

    delimiter: str | None
    decimal: str | None
    encoding: str | None
    na: ColumnNames | None


def row_inference(
    model: AskedSource,
    target: Names,
    evidence: Mapping[str, Any] | None,
    do: Mapping[str, Any] | None,
    *,
    predict: str | None,
    mpe: bool = False,
    interval: float | None = None,
    max_memory: int | None = None,
) -> RowInference | ChainRowInference:
    """Return what answers for rows about the targets, or predicts a node instead.

    With `mpe`, a conditional field finds the most probable values of all targets together; with
    `interval`, numbers have bounds.
    """
    targets = names_of(target)
    if not mpe:
        require_asked(targets, predict)
    asked = targets if predict is None else [predict]
    net = open_asked_model(model)
    if interval is not None and not isinstance(net, BayesNet):
        raise UsageError(f"{parameter('interval')} is for numbers, and the model has only levels")
    if isinstance(net, ConditionalField):
        _require_one_target(net, predict)
        return FieldRowInference(
            net,
            all_targets(net, evidence) if mpe else asked,
            evidence,
            do,
            predict=predict is not None,
            decode=mpe,
            max_memory=max_memory,
        )
    if isinstance(net, ChainField):
        return chain_inference(net, asked, evidence, do, predict=predict is not None, mpe=mpe)
    if mpe:
        raise UsageError(
            f"{parameter('batch')} answers with probabilities of each {parameter('target')}, or "
            f"{parameter('predict')}; {parameter('mpe')} of rows is for conditional fields"
        )
    return RowInference(
        circumstances(net, evidence, do),
        asked,
        predict=predict is not None,
        interval=interval,
        max_memory=max_memory,
    )


def require_asked(target: Sequence[str], predict: str | None) -> None:
    """Refuse rows about which nothing is asked, or too much."""
    if (predict is None) == (not target):
        raise UsageError(
            f"{parameter('batch')} needs either {parameter('target')} or {parameter('predict')}, "
            f"or, of a conditional field, {parameter('mpe')}"
        )
    if predict is not None and not isinstance(predict, str):
        raise UsageError(
            f"{parameter('predict')} must be the name of a node, not {predict!r}; of a conditional "
            f"field, {parameter('mpe')} predicts all targets together"
        )


def _require_one_target(field: ConditionalField, predict: str | None) -> None:
    """Refuse a list of targets where one is predicted."""
    known = {target.name for target in field.targets}
    if predict is not None and predict not in known:
        names = [name.strip() for name in predict.split(",")]
        if len(names) > 1 and known.issuperset(names):
            raise UsageError(
                f"{parameter('predict')} takes one target, not {listing(names)}; "
                f"{parameter('mpe')} predicts all together"
            )


def answers_of_rows(
    asked: RowInference | ChainRowInference,
    batch: RowSource,
    *,
    missing: str,
    ignore_unknown: bool,
    reading: Mapping[str, Any],
) -> RowAnswers:
    """Return the answers for rows; `reading` are keywords of reading a file."""
    how: dict[str, Any] = {"missing": missing, "ignore_unknown": ignore_unknown}
    if not is_path(batch) and reading:
        raise UsageError(
            f"{parameter('batch')} is {kind_of(batch)}; keywords of reading are for a file"
        )
    options = options_as_learned(_learning_of(asked), **reading)
    if isinstance(asked, ChainRowInference):
        return asked.about(batch, reading=options, **how)
    if not is_path(batch):
        return answers_about(asked, batch, "batch", **how)
    with open_records(batch, options) as records:
        rows = _row_evidence(asked, records, options, **how)
        truth = _truth_in(asked, records, options, missing)
        blocks, true_blocks = [], []
        for block, values in evidence_blocks(records, rows, options):
            blocks.append(values)
            if truth is not None:
                true_blocks.append(truth.values(block))
        rows.warn()
    answers = asked.of(rows.names, np.concatenate([rows.room(0), *blocks]))
    warn_of_impossible(int(np.count_nonzero(~answers.possible)), place(batch))
    if truth is None:
        return answers
    truth.judge(answers, np.concatenate([truth.values([]), *true_blocks]))
    return truth.beside(answers)


def _learning_of(asked: RowInference | ChainRowInference) -> Provenance:
    if isinstance(asked, ChainRowInference):
        return asked.field.learning
    return asked.given.net.learning


def csv_of_rows(
    asked: RowInference | ChainRowInference,
    batch: str | os.PathLike[str],
    *,
    missing: str = "unobserved",
    ignore_unknown: bool = False,
    reading: Mapping[str, Any] = MappingProxyType({}),
    safe_csv: bool = False,
    judge: Callable[[AnyMetrics], None] | None = None,
    needs_truth: bool = False,
) -> Iterator[bytes]:
    """Yield CSV text: the columns of a file of evidence, followed by an answer for each row.

    `reading` are keywords of reading; what they do not say is as for the rows of the model. With
    `safe_csv`, texts that a spreadsheet would run as formulas have an apostrophe before them.
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
    options = options_as_learned(_learning_of(asked), **reading)
    if isinstance(asked, ChainRowInference):
        yield from csv_of_sequences(
            asked,
            batch,
            missing=missing,
            ignore_unknown=ignore_unknown,
            reading=options,
            safe_csv=safe_csv,
            judge=judge,
            needs_truth=needs_truth,
        )
        return
    impossible = 0
    with open_records(batch, options, digest=wants_digest(batch)) as records:
        rows = _row_evidence(
            asked, records, options, missing=missing, ignore_unknown=ignore_unknown
        )
        taken = [name for name in asked.columns if name in records.names]
        if taken:
            raise UsageError(f"there is a column {quote(taken[0])} already")
        truth = _truth_in(asked, records, options, missing)
        if truth is None and needs_truth:
            absent = next(name for name in asked.targets if name not in records.names)
            raise UsageError(
                f"{parameter('metrics')}: {place(batch)} has no column {quote(absent)}, so that "
                "there is no truth to compare with"
            )
        # The header waits for the first answers: what fails at once has written nothing.
        text = csv_line([*records.names, *asked.columns], safe_csv)
        for block, values in evidence_blocks(records, rows, options):
            answers = asked.of(rows.names, values)
            impossible += int(np.count_nonzero(~answers.possible))
            if truth is not None:
                truth.judge(answers, truth.values(block))
            pairs = zip(block, answer_cells(answers), strict=True)
            yield text + b"".join(
                csv_line([*fields, *found], safe_csv) for (_, fields), found in pairs
            )
            text = b""
        yield text
        rows.warn()
    warn_of_impossible(impossible, place(batch))
    if truth is not None and judge is not None:
        judge(truth.metrics())


def _truth_in(
    asked: RowInference, records: Records, reading: ReadOptions, missing: str
) -> _Truth | None:
    """The truth about what is predicted; None if nothing is, or the file does not have it."""
    if not (asked.predicts or asked.decodes):
        return None
    if not all(name in records.names for name in asked.targets):
        return None
    variables = {v.name: v for v in asked.given.net.variables}
    columns = [
        _TrueColumn(variables[name], records.names.index(name), reading, missing)
        for name in asked.targets
    ]
    return _Truth(columns, decodes=asked.decodes)


class _Truth:
    """The columns that are predicted, of a file that has them, and how good predictions are."""

    def __init__(self, columns: Sequence[_TrueColumn], *, decodes: bool) -> None:
        self._columns = columns
        variables = [column.variable for column in columns]
        self._tally = Tally(variables[0].name, variables[0].levels)
        self._decoded = DecodedTally(variables) if decodes else None

    def judge(self, answers: RowAnswers, truth: NDArray[np.float64]) -> None:
        """Compare answers with true values, rows × columns."""
        if self._decoded is not None:
            assert isinstance(answers, Decoded)
            names = [column.variable.name for column in self._columns]
            self._decoded.add(answers, dict(zip(names, truth.T, strict=True)))
            return
        assert isinstance(answers, Predictions)
        self._tally.add(answers, truth[:, 0])

    def metrics(self) -> Metrics | DecodedMetrics:
        """What was found so far."""
        return self._tally.metrics() if self._decoded is None else self._decoded.metrics()

    def beside(self, answers: RowAnswers) -> RowAnswers:
        """Return answers that know how good they are."""
        if self._decoded is not None:
            assert isinstance(answers, Decoded)
            return replace(answers, metrics=self._decoded.metrics())
        assert isinstance(answers, Predictions)
        return replace(answers, metrics=self._tally.metrics())

    def values(self, block: Sequence[tuple[int, list[str]]]) -> NDArray[np.float64]:
        """What the cells of a block say."""
        return np.column_stack([column.values(block) for column in self._columns])


class _TrueColumn:
    """One column that is predicted."""

    def __init__(self, variable: Variable, at: int, reading: ReadOptions, missing: str) -> None:
        self.variable = variable
        self._at = at
        self._na, self._strip = na_tokens(reading), reading.strip
        self._true = TrueValues(
            variable, missing_is_level=missing == "level", decimal=reading.decimal
        )
        self._remembered: dict[str, float] = {}

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
        text = cell.strip(" ") if self._strip else cell
        value = self._true.missing if is_missing else self._true.of(text)
        if len(self._remembered) < _REMEMBERED:
            self._remembered[cell] = value
        return value


def na_tokens(reading: ReadOptions) -> set[str]:
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
        needed=asked.needed,
    )


def evidence_blocks(
    records: Records, rows: RowEvidence, reading: ReadOptions
) -> Iterator[tuple[list[tuple[int, list[str]]], NDArray[Any]]]:
    """Yield records, and what they observe; the meaning of a text is mostly looked up once."""
    na = na_tokens(reading)
    known = [rows.known(k) for k in range(len(rows.at))]

    def find(line: int, k: int, cell: str) -> float:
        is_missing = cell.strip(" ") in na
        where = f"{records.unit} {line}"
        text = cell.strip(" ") if reading.strip else cell
        value = rows.missing(k, where) if is_missing else rows.find(k, text, where)
        # Values that are unknown, or missing though needed, are looked up each time and counted.
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
