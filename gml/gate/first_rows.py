"""Which row of the data is the first to show what a check says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np

from gml.counts.counted_once import CountedOnce
from gml.counts.counter import Counter
from gml.counts.pass_work import Work
from gml.counts.passes import PassCounter
from gml.data.dataset import Dataset
from gml.gate.check import LEVELS, Check


def with_first_rows(checks: Sequence[Check], counter: Counter) -> Sequence[Check]:
    """Name the first row that has the most frequent unknown value of each column."""
    wanted = {
        k: _unknown_value(check, counter)
        for k, check in enumerate(checks)
        if check.kind == LEVELS and check.new.get("unknown")
    }
    if not wanted:
        return checks
    rows = _first_rows(list(wanted.values()), counter)
    if rows is None:
        return checks
    row_of = dict(zip(wanted, rows, strict=True))
    return [
        replace(check, row=row_of[k] + 1) if k in row_of else check
        for k, check in enumerate(checks)
    ]


def _unknown_value(check: Check, counter: Counter) -> tuple[int, int]:
    """The column, and the code of its most frequent unknown value."""
    (name,), unknown = check.variables, cast(Sequence[str], check.new["unknown"])
    at = [variable.name for variable in counter.variables].index(name)
    return at, (counter.variables[at].levels or ()).index(unknown[0])


def _first_rows(values: Sequence[tuple[int, int]], counter: Counter) -> list[int] | None:
    """The numbers of rows, from 0; None if rows have no order, or there are none."""
    if isinstance(counter, CountedOnce):
        counter = counter.inner
    if isinstance(counter, PassCounter):
        if not counter.keeps_order:
            return None
        return counter.ask(
            (at for at, _ in values),
            lambda place: _FirstRows([(place[at], code) for at, code in values]),
        ).first
    rows = counter.rows()
    return None if rows is None else _FirstRows(values).of_all(rows).first


class _Found(NamedTuple):
    """The first row with each value (None: not yet), and how many rows there were."""

    rows: list[int | None]
    n_rows: int

    @property
    def first(self) -> list[int]:
        """The rows, all of which were found."""
        return [row for row in self.rows if row is not None]


@dataclass(frozen=True)
class _FirstRows(Work[_Found]):
    """Finds the first row with each value; chunks must come in the order of the rows."""

    values: Sequence[tuple[int, int]]

    def of(self, chunk: Dataset) -> _Found:
        """Look at a chunk, whose rows may have been chosen among those that stood there."""
        positions, n_rows = chunk.standing()
        rows = [None if row is None else int(positions[row]) for row in self.of_all(chunk).rows]
        return _Found(rows, n_rows)

    def of_all(self, rows: Dataset) -> _Found:
        """Look at rows as they stand."""
        found: list[int | None] = []
        for at, code in self.values:
            has = rows.columns[at] == code
            found.append(int(np.argmax(has)) if has.any() else None)
        return _Found(found, rows.n_rows)

    def add(self, first: _Found, second: _Found) -> _Found:
        """Keep the earlier row; those of the second stand behind those of the first."""
        rows = [
            mine if mine is not None or theirs is None else theirs + first.n_rows
            for mine, theirs in zip(first.rows, second.rows, strict=True)
        ]
        return _Found(rows, first.n_rows + second.n_rows)
