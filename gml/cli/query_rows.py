"""The rows of `gml query --batch`: evidence in, answers out, a block at a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gml.data.options import ReadOptions
from gml.data.problems import undeclared
from gml.errors import DataError, UsageError, listing, place, quote, unknown_name
from gml.formats.reports.rows import record
from gml.progress import reporter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gml.data.records import Records
    from gml.model.bayesnet import BayesNet
    from gml.model.query import Inference

_BLOCK_ROWS = 1 << 14
EVIDENCE = "p_evidence"
"""Name of the column with the probability of a row's evidence."""


def answers_to_rows(
    net: BayesNet,
    path: str,
    options: ReadOptions,
    *,
    target: Sequence[str],
    predict: str | None,
    evidence: Mapping[str, str],
    max_memory: int | None,
) -> Iterator[bytes]:
    """Yield CSV text: for targets the probability of each level, or each row with a prediction."""
    from gml.data.records import open_records
    from gml.model.query import Inference

    asked = list(target) if predict is None else [predict]
    for name in asked:
        if name not in net.names:
            raise UsageError(unknown_name("node", name, net.names))
        if name in evidence:
            raise UsageError(f"{quote(name)} is observed and asked for")
    with open_records(path, options) as records:
        rows = _Evidence(net, records, options, asked, evidence)
        writer = _Writer(net, asked, records.names, predict)
        inference = Inference(net, max_memory=max_memory)
        impossible = 0
        # The header waits for the first answers: what fails at once has written nothing.
        text = writer.header()
        while block := list(itertools.islice(records.rows, _BLOCK_ROWS)):
            more, missed = writer.block(inference, block, rows)
            impossible += missed
            yield text + more
            text = b""
        yield text
    if impossible:
        reporter().warn(
            f"{place(path)}: {impossible} row{'s' * (impossible != 1)} of evidence of probability "
            "0 have no answer"
        )


class _Evidence:
    """Turns records into levels of the nodes observed."""

    def __init__(
        self,
        net: BayesNet,
        records: Records,
        options: ReadOptions,
        asked: Sequence[str],
        evidence: Mapping[str, str],
    ) -> None:
        self._where = records.where
        self._na = {token.strip(" ") for token in options.na_tokens}
        self._levels = {v.name: v.levels or () for v in net.variables}
        columns = [name for name in records.names if name in self._levels and name not in asked]
        twice = sorted({name for name in columns if columns.count(name) > 1})
        if twice:
            raise DataError(f"{records.where}: the header has {listing(twice)} more than once")
        both = [name for name in columns if name in evidence]
        if both:
            raise UsageError(f"{listing(both)} is in --evidence and a column of {records.where}")
        ignored = [name for name in records.names if name not in self._levels]
        if ignored:
            reporter().warn(f"not in the model, ignored: {listing(ignored)}")
        self._fixed = {name: self._levels[name].index(level) for name, level in evidence.items()}
        self._at = [records.names.index(name) for name in columns]
        self._codes = [
            {level: code for code, level in enumerate(self._levels[name])} for name in columns
        ]
        self._columns = columns
        self.names = [*columns, *self._fixed]

    def codes(self, block: Sequence[tuple[int, list[str]]]) -> NDArray[np.int64]:
        """Levels of the nodes observed in each record; -1 for none."""
        import numpy as np

        found = np.empty((len(block), len(self.names)), dtype=np.int64)
        for k, (at, codes) in enumerate(zip(self._at, self._codes, strict=True)):
            found[:, k] = [
                codes[fields[at]] if fields[at] in codes else self._other(line, k, fields[at])
                for line, fields in block
            ]
        for k, code in enumerate(self._fixed.values(), start=len(self._at)):
            found[:, k] = code
        return found

    def _other(self, line: int, k: int, value: str) -> int:
        if value.strip(" ") in self._na:
            return -1
        name = self._columns[k]
        raise DataError(
            f"{self._where}: line {line}: column {quote(name)}: "
            f"{undeclared(value, self._levels[name])}"
        )


class _Writer:
    """Turns answers into text."""

    def __init__(
        self, net: BayesNet, asked: Sequence[str], columns: Sequence[str], predict: str | None
    ) -> None:
        self._asked = asked
        self._predict = predict
        self._columns = columns
        self._levels = {name: net.variables[net.index(name)].levels or () for name in asked}
        new = [f"{predict}_predicted", f"{predict}_probability"]
        taken = [name for name in new if name in columns]
        if predict is not None and taken:
            raise UsageError(f"there is a column {quote(taken[0])} already")
        self._new = new

    def header(self) -> bytes:
        """The names of the columns."""
        if self._predict is not None:
            return self._line([*self._columns, *self._new])
        levels = [f"{name}={level}" for name in self._asked for level in self._levels[name]]
        return self._line([*levels, EVIDENCE])

    def block(
        self, inference: Inference, block: Sequence[tuple[int, list[str]]], evidence: _Evidence
    ) -> tuple[bytes, int]:
        """The answers to some records, and how many had evidence of probability 0."""
        from gml.model.query import most_probable

        marginals, log_p = inference.marginals_of_rows(
            self._asked, evidence.names, evidence.codes(block)
        )
        possible = (log_p > -math.inf).tolist()
        lines = []
        if self._predict is not None:
            table = marginals[self._predict]
            best = most_probable(table).tolist()
            levels = self._levels[self._predict]
            for k, (_, fields) in enumerate(block):
                answer = (
                    [levels[best[k]], repr(float(table[k, best[k]]))] if possible[k] else ["", ""]
                )
                lines.append(self._line([*fields, *answer]))
        else:
            probabilities = log_p.tolist()
            tables = [marginals[name].tolist() for name in self._asked]
            for k in range(len(block)):
                cells = [repr(p) if possible[k] else "" for table in tables for p in table[k]]
                lines.append(self._line([*cells, repr(math.exp(probabilities[k]))]))
        return b"".join(lines), possible.count(False)

    @staticmethod
    def _line(fields: Sequence[str]) -> bytes:
        return (record(fields) + "\n").encode()
