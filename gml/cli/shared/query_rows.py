"""The rows of `gml query --batch`: evidence in, the same rows with answers out, block by block."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from gml.data.discretize import Intervals, cuts_of_levels
from gml.data.levels import NA_LEVEL
from gml.data.options import ReadOptions
from gml.data.problems import undeclared
from gml.errors import DataError, UsageError, counted, listing, place, quote, unknown_name
from gml.formats.reports.rows import record
from gml.kernel.number import parse_number
from gml.progress import reporter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gml.cli.shared.model_arguments import AskedModel
    from gml.data.dataset import Variable
    from gml.data.records import Records

_BLOCK_ROWS = 1 << 14
_REMEMBERED = 1 << 16

Block = Sequence[tuple[int, list[str]]]


@dataclass(frozen=True)
class RowQuestion:
    """What to ask for each row of a file."""

    path: str
    reading: ReadOptions
    targets: tuple[str, ...]
    predict: bool
    missing_is_level: bool
    ignore_unknown: bool


class _Answerer(Protocol):
    """Answers blocks of evidence: cells for each row, None for one of probability 0."""

    columns: list[str]

    def __call__(self, names: Sequence[str], evidence: NDArray[Any]) -> list[list[str] | None]: ...


def answers_to_rows(asked: AskedModel, question: RowQuestion) -> Iterator[bytes]:
    """Yield CSV text: the columns of the file, then those of the answer."""
    from gml.data.records import open_records

    for name in question.targets:
        if name not in asked.net.names:
            raise UsageError(unknown_name("node", name, asked.net.names))
        if name in asked.observed or name in asked.done:
            raise UsageError(f"{quote(name)} is observed or set, and asked for")
    answer: _Answerer
    if asked.net.is_gaussian:
        answer = _NumberAnswers(asked, question)
    else:
        answer = _LevelAnswers(asked, question)
    impossible = 0
    with open_records(question.path, question.reading) as records:
        evidence = _Evidence(asked, records, question)
        taken = [name for name in answer.columns if name in records.names]
        if taken:
            raise UsageError(f"there is a column {quote(taken[0])} already")
        # The header waits for the first answers: what fails at once has written nothing.
        text = _line([*records.names, *answer.columns])
        while block := list(itertools.islice(records.rows, _BLOCK_ROWS)):
            cells = answer(evidence.names, evidence.values(block))
            impossible += cells.count(None)
            nothing = [""] * len(answer.columns)
            rows = zip(block, cells, strict=True)
            yield text + b"".join(
                _line([*fields, *(nothing if found is None else found)])
                for (_, fields), found in rows
            )
            text = b""
        yield text
        evidence.warn()
    if impossible:
        reporter().warn(
            f"{place(question.path)}: {counted(impossible, 'row')} of evidence of "
            "probability 0 have no answer"
        )


def _line(fields: Sequence[str]) -> bytes:
    return (record(fields) + "\n").encode()


class _LevelAnswers:
    """Probabilities of levels, or the most probable one."""

    def __init__(self, asked: AskedModel, question: RowQuestion) -> None:
        from gml.model.inference import Inference

        self._inference = Inference(asked.net)
        self._targets = question.targets
        self._predict = question.predict
        self._levels = {v.name: v.levels or () for v in asked.net.variables}
        if question.predict:
            name = question.targets[0]
            self.columns = [f"{name}_predicted", f"{name}_probability"]
        else:
            self.columns = [
                *(f"{name}={level}" for name in question.targets for level in self._levels[name]),
                "p_evidence",
            ]

    def __call__(self, names: Sequence[str], evidence: NDArray[Any]) -> list[list[str] | None]:
        from gml.model.inference import most_probable

        marginals, log_p = self._inference.marginals_of_rows(self._targets, names, evidence)
        possible = (log_p > -math.inf).tolist()
        answers: list[list[str] | None] = []
        if self._predict:
            table = marginals[self._targets[0]]
            levels = self._levels[self._targets[0]]
            best = most_probable(table).tolist()
            for k, level in enumerate(best):
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

    def __init__(self, asked: AskedModel, question: RowQuestion) -> None:
        self._net = asked.net
        self._targets = question.targets
        first = "predicted" if question.predict else "mean"
        self.columns = [f"{name}_{what}" for name in question.targets for what in (first, "sd")]

    def __call__(self, names: Sequence[str], evidence: NDArray[Any]) -> list[list[str] | None]:
        from gml.model.gaussian import means_of_rows

        mean, sd = means_of_rows(self._net, self._targets, names, evidence)
        return [
            [repr(number) for pair in zip(*both, strict=True) for number in pair]
            for both in zip(mean.tolist(), sd.tolist(), strict=True)
        ]


class _Evidence:
    """Turns records into levels (or numbers) of the nodes observed."""

    def __init__(self, asked: AskedModel, records: Records, question: RowQuestion) -> None:
        self._where = records.where
        self._question = question
        self._na = {token.strip(" ") for token in question.reading.na_tokens}
        self._decimal = question.reading.decimal
        variables = {variable.name: variable for variable in asked.net.variables}
        columns = [
            name for name in records.names if name in variables and name not in question.targets
        ]
        twice = sorted({name for name in columns if columns.count(name) > 1})
        if twice:
            raise DataError(f"{records.where}: the header has {listing(twice)} more than once")
        for values, option in ((asked.observed, "--evidence"), (asked.done, "--do")):
            both = [name for name in columns if name in values]
            if both:
                raise UsageError(f"{listing(both)} is in {option} and a column of {records.where}")
        _warn_of_ignored(records.names, variables)
        self._variables = [variables[name] for name in columns]
        self._at = [records.names.index(name) for name in columns]
        self._fixed = [
            value if (levels := variables[name].levels) is None else levels.index(str(value))
            for name, value in asked.observed.items()
        ]
        self._known: list[dict[str, float]] = [
            {level: code for code, level in enumerate(variable.levels or ())}
            for variable in self._variables
        ]
        self._intervals = [
            Intervals(variable.levels)
            if variable.levels is not None and cuts_of_levels(variable.levels) is not None
            else None
            for variable in self._variables
        ]
        self._numeric = asked.net.is_gaussian
        self._unknown: dict[str, int] = {}
        self._gaps_with_level: set[str] = set()
        self.names = [*columns, *asked.observed]

    def values(self, block: Block) -> NDArray[Any]:
        """Codes of levels, -1 for none, or numbers, NaN for none: rows × nodes observed."""
        import numpy as np

        kind = np.float64 if self._numeric else np.int64
        found = np.empty((len(block), len(self.names)), dtype=kind)
        for k, (at, known) in enumerate(zip(self._at, self._known, strict=True)):
            found[:, k] = [
                known[cell] if (cell := fields[at]) in known else self._find(line, k, cell)
                for line, fields in block
            ]
        for k, value in enumerate(self._fixed, start=len(self._at)):
            found[:, k] = value
        return found

    def _find(self, line: int, k: int, cell: str) -> float:
        """The value of a cell that was not met before."""
        variable = self._variables[k]
        value: float | None
        if cell.strip(" ") in self._na:
            value = self._missing(variable)
        elif variable.levels is None:
            value = parse_number(cell.encode(), self._decimal)
        else:
            intervals = self._intervals[k]
            value = None if intervals is None else intervals.code_of(cell, self._decimal)
        if value is None:
            if not self._question.ignore_unknown:
                raise DataError(self._complaint(line, variable, cell))
            self._unknown[variable.name] = self._unknown.get(variable.name, 0) + 1
            return math.nan if variable.levels is None else -1
        if len(self._known[k]) < _REMEMBERED:
            self._known[k][cell] = value
        return value

    def _missing(self, variable: Variable) -> float:
        if variable.levels is None:
            return math.nan
        if NA_LEVEL in variable.levels:
            if self._question.missing_is_level:
                return variable.levels.index(NA_LEVEL)
            self._gaps_with_level.add(variable.name)
        return -1

    def _complaint(self, line: int, variable: Variable, cell: str) -> str:
        what = (
            f"{quote(cell)} is not a number"
            if variable.levels is None
            else undeclared(cell, variable.levels)
        )
        return (
            f"{self._where}: line {line}: column {quote(variable.name)}: {what}; "
            "--ignore-unknown takes it for missing"
        )

    def warn(self) -> None:
        """Say what was not as it might be."""
        if self._unknown:
            counts = ", ".join(f"{quote(name)} {n}" for name, n in self._unknown.items())
            reporter().warn(f"values that the model does not know, taken for missing: {counts}")
        if self._gaps_with_level:
            reporter().warn(
                f"missing cells of {listing(sorted(self._gaps_with_level))} observe nothing, but "
                f"the model has a level {NA_LEVEL!r}: --missing level observes that"
            )


def _warn_of_ignored(columns: Sequence[str], nodes: Mapping[str, object]) -> None:
    import difflib

    ignored = [name for name in columns if name not in nodes]
    if not ignored:
        return
    free = [name for name in nodes if name not in columns]
    hints = [
        f"did you mean {quote(near[0])} by {quote(name)}?"
        for name in ignored
        if (near := difflib.get_close_matches(name, free, n=1, cutoff=0.6))
    ]
    reporter().warn("; ".join([f"not in the model, ignored: {listing(ignored)}", *hints[:1]]))
