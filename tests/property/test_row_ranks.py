"""Values at ranks that are found in passes, beside sorted columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gml.counts import chunked_rows, row_ranks
from gml.counts.chunked_rows import RowsInMemory
from gml.counts.number_rows import NumberReader, NumberRows
from gml.counts.row_ranks import RankedColumn, Values, values_at
from gml.counts.row_sums import NumberTable, ask
from gml.data.dataset import Dataset, Variable


@dataclass(frozen=True)
class Column(RankedColumn):
    name: str
    labels: int = 0

    @property
    def names(self) -> Sequence[str]:
        return (self.name, "label") if self.labels else (self.name,)

    @property
    def n_groups(self) -> int:
        return max(1, self.labels)

    def values(self, rows: NumberRows) -> Iterator[Values]:
        for place, found in rows.by_configuration({"label": self.labels} if self.labels else {}):
            complete = found.complete([self.name])
            yield Values(place, complete.columns[self.name], complete.times)


def deciles(n):
    return [min(math.ceil(n * k / 10), n - 1) for k in range(1, 10)]


def table_of(numbers, weights=None):
    variables = (Variable("x", None),)
    rows = Dataset(variables, (np.array(numbers, dtype=np.float64),), weights)
    return NumberTable(RowsInMemory(rows, threads=1), NumberReader.of(variables))


def expected(numbers, weights=None):
    whole = np.array(numbers, dtype=np.float64)
    if weights is not None:
        whole = np.repeat(whole, weights)
    whole = np.sort(whole[~np.isnan(whole)])
    return {0: whole[deciles(len(whole))].tolist()} if len(whole) else {}


SHAPES = {
    "normal": lambda rng: rng.normal(size=5000),
    "heavy": lambda rng: rng.standard_cauchy(5000) ** 7,
    "one far": lambda rng: np.append(rng.normal(size=999), 1e300),
    "widest": lambda rng: np.append(rng.normal(size=999), [1.7e308, -1.7e308]),
    "tiny": lambda rng: rng.normal(size=500) * 5e-324 * 40,
    "large mean": lambda rng: 1e9 + rng.normal(size=3000) * 1e-6,
    "few": lambda rng: rng.integers(0, 4, 1000) * 1.0,
    "one": lambda rng: np.full(10, 2.5),
    "mostly one": lambda rng: np.where(rng.random(2000) < 0.95, 0.0, rng.normal(size=2000)),
    "two": lambda rng: np.array([1.0, 2.0]),
    "gaps": lambda rng: np.where(rng.random(900) < 0.5, np.nan, rng.normal(size=900)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("parts", [2, 64, 1 << 13])
@pytest.mark.parametrize("weighted", [False, True])
def test_deciles_are_those_of_sorted_columns(monkeypatch, shape, parts, weighted):
    monkeypatch.setattr(row_ranks, "_PARTS", parts)
    monkeypatch.setattr(row_ranks, "_FEWEST_PARTS", 2)
    monkeypatch.setattr(chunked_rows, "_BLOCK_ROWS", 700)
    rng = np.random.default_rng(5)
    numbers = SHAPES[shape](rng)
    weights = rng.integers(0, 4, len(numbers)) + (shape == "two") if weighted else None
    found = ask(table_of(numbers, weights), values_at(Column("x"), deciles))
    assert found == expected(numbers, weights)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=60))
def test_any_numbers(numbers):
    assert ask(table_of(numbers), values_at(Column("x"), deciles)) == expected(numbers)


def test_there_is_one_zero():
    for numbers in ([-0.0] * 20 + [0.0, 1.0], [0.0] * 20 + [-0.0, 1.0]):
        (found,) = ask(table_of(numbers), values_at(Column("x"), deciles)).values()
        assert {repr(value) for value in found} == {"0.0"}


def test_usual_columns_take_few_passes():
    numbers = np.random.default_rng(1).normal(size=100_000)
    question = values_at(Column("x"), deciles)
    wanted, passes, table = next(question), 0, table_of(numbers)
    while wanted is not None:
        passes += 1
        try:
            wanted = question.send(table.sums(wanted))
        except StopIteration:
            wanted = None
    assert passes <= 5


def test_configurations_and_infinite_numbers():
    rng = np.random.default_rng(2)
    numbers, labels = rng.normal(size=600), rng.integers(0, 3, 600).astype(np.uint8)
    numbers[np.flatnonzero(labels == 1)[0]] = math.inf
    variables = (Variable("x", None), Variable("label", ("a", "b", "c", "d")))
    table = NumberTable(
        RowsInMemory(Dataset(variables, (numbers, labels))), NumberReader.of(variables, ["label"])
    )
    found = ask(table, values_at(Column("x", 4), deciles))
    assert found == {k: expected(numbers[labels == k])[0] for k in (0, 2)}
