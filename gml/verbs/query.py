"""gml.query: what a model says, given evidence; for one case, or for each row of a file."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from gml.data.options import ReadOptions
from gml.data.records import Records, open_records
from gml.errors import UsageError, parameter, place, quote
from gml.formats.reports.rows import record
from gml.model.answer import Answer
from gml.model.evidence import Circumstances, circumstances
from gml.model.gaussian import means_of_rows
from gml.model.inference import Inference, most_probable
from gml.model.predict import RowEvidence, require_target, warn_of_impossible
from gml.model.query import Names, best, names_of
from gml.model.query import query as ask
from gml.verbs.models import ModelSource, open_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK_ROWS = 1 << 14
_REMEMBERED = 1 << 16


def query(
    model: ModelSource,
    target: Names = None,
    evidence: Mapping[str, Any] | None = None,
    do: Mapping[str, Any] | None = None,
    *,
    each: bool = False,
    mpe: bool = False,
    map: bool = False,
    max_memory: int | None = None,
) -> Answer:
    """Ask a model for posterior probabilities, or for the most probable values, exactly.

    Parameters
    ----------
    model
        A network, or a file of one.
    target
        A node, or several for their joint distribution; by default every node on its own.
    evidence
        Values observed, after what `do` sets. A number is the text of a level, or else stands for
        the interval that it lies in.
    do
        Values set by hand, which cuts nodes off from their parents.
    each
        Whether the targets are answered one by one, not jointly.
    mpe
        Whether to find the most probable values of all unobserved nodes.
    map
        Whether to find the most probable values of the targets.
    max_memory
        Bytes that tables may take; by default half of what is free.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> net = gml.fit(counter, gml.read_graph("sample_data/asia.dot"))
    >>> answer = query(net, "lung", {"xray": "yes"})
    >>> round(answer["lung"]["yes"], 4)
    0.4783
    >>> query(net, evidence={"xray": "yes"}, mpe=True)["smoke"]
    'yes'
    """
    names = names_of(target)
    check_question(names, each=each, mpe=mpe, map=map)
    net = open_model(model)
    if mpe or map:
        return best(net, names, evidence, do=do, max_memory=max_memory)
    return ask(net, names, evidence, do=do, each=each, max_memory=max_memory)


def check_question(target: Sequence[str], *, each: bool, mpe: bool, map: bool) -> None:
    """Refuse what cannot be asked together."""
    if mpe and (map or target):
        raise UsageError(
            f"{parameter('mpe')} is about all unobserved nodes; for some, {parameter('map')} and "
            f"{parameter('target')}"
        )
    if map and not target:
        raise UsageError(f"{parameter('map')} needs {parameter('target')}")
    if each and (map or len(target) < 2):
        raise UsageError(f"{parameter('each')} is for several targets")


# ---------------------------------------------------------------------- rows of a file


def query_rows(
    model: ModelSource,
    batch: str | os.PathLike[str],
    target: Names = None,
    evidence: Mapping[str, Any] | None = None,
    do: Mapping[str, Any] | None = None,
    *,
    predict: str | None = None,
    missing: str = "unobserved",
    ignore_unknown: bool = False,
    reading: ReadOptions | None = None,
    safe_csv: bool = False,
) -> Iterator[bytes]:
    """Yield CSV text: the columns of a file of evidence, followed by an answer for each row.

    Parameters
    ----------
    model, evidence, do
        As in `query`; the evidence is that of every row.
    batch
        A CSV file; its columns that are nodes are observed. `-` is standard input.
    target
        Nodes; the columns added are the probability of each of their levels, and that of the
        evidence, or means and standard deviations.
    predict
        A node instead, whose most probable level and its probability are added.
    missing, ignore_unknown
        As in `BayesNet.predict`.
    reading
        How the file is read.
    safe_csv
        Whether texts that a spreadsheet would run as formulas get an apostrophe before them.

    Examples
    --------
    >>> import gml
    >>> counter = gml.MemoryCounter(gml.read("sample_data/asia.csv"))
    >>> net = gml.fit(counter, gml.read_graph("sample_data/asia.dot"))
    >>> text = query_rows(net, "sample_data/asia.csv", predict="lung")
    >>> next(text).decode().splitlines()[0]
    'asia,tub,smoke,lung,bronc,either,xray,dysp,lung_predicted,lung_probability'
    """
    targets = names_of(target if predict is None else predict)
    if not targets:
        raise UsageError(
            f"{parameter('batch')} needs either {parameter('target')} or {parameter('predict')}"
        )
    given = circumstances(open_model(model), evidence, do)
    for name in targets:
        require_target(given, name)
    reading = reading or ReadOptions()
    kind = _NumberAnswers if given.net.is_gaussian else _LevelAnswers
    answers: _Answers = kind(given, targets, predict is not None)
    impossible = 0
    with open_records(batch, reading) as records:
        rows = RowEvidence(
            given,
            records.names,
            targets,
            records.where,
            missing=missing,
            ignore_unknown=ignore_unknown,
            decimal=reading.decimal,
        )
        taken = [name for name in answers.columns if name in records.names]
        if taken:
            raise UsageError(f"there is a column {quote(taken[0])} already")
        # The header waits for the first answers: what fails at once has written nothing.
        text = _line([*records.names, *answers.columns], safe_csv)
        nothing = [""] * len(answers.columns)
        for block, values in _blocks(records, rows, reading):
            cells = answers.of(rows.names, values)
            impossible += cells.count(None)
            pairs = zip(block, cells, strict=True)
            yield text + b"".join(
                _line([*fields, *(nothing if found is None else found)], safe_csv)
                for (_, fields), found in pairs
            )
            text = b""
        yield text
        rows.warn()
    warn_of_impossible(impossible, place(batch))


def _line(fields: Sequence[str], safe_csv: bool) -> bytes:
    return (record(fields, safe_csv=safe_csv) + "\n").encode()


def _blocks(
    records: Records, rows: RowEvidence, reading: ReadOptions
) -> Iterator[tuple[list[tuple[int, list[str]]], NDArray[Any]]]:
    """Yield records, and what they observe; the meaning of a text is mostly looked up once."""
    na = {token.strip(" ") for token in reading.na_tokens}
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


class _Answers(Protocol):
    """Answers blocks of evidence: cells for each row, None for one of probability 0."""

    columns: list[str]

    def of(self, names: Sequence[str], evidence: NDArray[Any]) -> list[list[str] | None]: ...


class _LevelAnswers:
    """Probabilities of levels, or the most probable one."""

    def __init__(self, given: Circumstances, targets: Sequence[str], predict: bool) -> None:
        self._inference = Inference(given.net)
        self._targets = targets
        self._predict = predict
        self._levels = {v.name: v.levels or () for v in given.net.variables}
        if predict:
            self.columns = [f"{targets[0]}_predicted", f"{targets[0]}_probability"]
        else:
            self.columns = [
                *(f"{name}={level}" for name in targets for level in self._levels[name]),
                "p_evidence",
            ]

    def of(self, names: Sequence[str], evidence: NDArray[Any]) -> list[list[str] | None]:
        marginals, log_p = self._inference.marginals_of_rows(self._targets, names, evidence)
        possible = (log_p > -math.inf).tolist()
        answers: list[list[str] | None] = []
        if self._predict:
            table = marginals[self._targets[0]]
            levels = self._levels[self._targets[0]]
            for k, level in enumerate(most_probable(table).tolist()):
                found = [levels[level], repr(float(table[k, level]))]
                answers.append(found if possible[k] else None)
            return answers
        tables = [marginals[name].tolist() for name in self._targets]
        for k, log_row in enumerate(log_p.tolist()):
            cells = [repr(p) for table in tables for p in table[k]]
            answers.append([*cells, repr(math.exp(log_row))] if possible[k] else None)
        return answers


class _NumberAnswers:
    """Means and standard deviations."""

    def __init__(self, given: Circumstances, targets: Sequence[str], predict: bool) -> None:
        self._net = given.net
        self._targets = targets
        first = "predicted" if predict else "mean"
        self.columns = [f"{name}_{what}" for name in targets for what in (first, "sd")]

    def of(self, names: Sequence[str], evidence: NDArray[Any]) -> list[list[str] | None]:
        mean, sd = means_of_rows(self._net, self._targets, names, evidence)
        return [
            [repr(number) for pair in zip(*both, strict=True) for number in pair]
            for both in zip(mean.tolist(), sd.tolist(), strict=True)
        ]
