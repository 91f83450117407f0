"""Numbers that are counted in parts of a file are those that are counted in memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gml.data.number_parts import BYTES_PER_NUMBER, PartedNumbers, numbers_in_parts
from gml.data.number_summary import NumberValues


def chunks_of(numbers, weights, size):
    def chunks():
        for start in range(0, len(numbers), size):
            part = slice(start, start + size)
            yield NumberValues.of(numbers[part], None if weights is None else weights[part])

    return chunks


SHAPES = {
    "normal": lambda rng: rng.normal(size=2000),
    "sorted": lambda rng: np.sort(rng.lognormal(0, 5, 2000)),
    "few": lambda rng: rng.integers(0, 30, 2000) / 7,
    "one": lambda rng: np.full(2000, 1.5),
    "mostly one": lambda rng: np.where(rng.random(2000) < 0.9, 0.0, rng.normal(size=2000)),
    "gaps": lambda rng: np.where(rng.random(2000) < 0.5, np.nan, rng.normal(size=2000)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("room", [1, 3, 40, 700, 10_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_parts_are_the_whole(tmp_path, shape, room, weighted):
    rng = np.random.default_rng(8)
    numbers = SHAPES[shape](rng)
    weights = rng.integers(0, 5, len(numbers)) if weighted else None
    whole = NumberValues.of(numbers, weights)
    found = numbers_in_parts(
        chunks_of(numbers, weights, 90), room * BYTES_PER_NUMBER, str(tmp_path)
    )
    assert isinstance(found, PartedNumbers) == (len(whole.values) > room)
    parts = list(found.parts())
    assert all(len(part.values) <= max(room, 90) for part in parts[:-1])
    assert NumberValues.joined(parts) == whole
    assert found.n == whole.n and found.summary() == whole.summary()
    assert found.multiplicities() == whole.multiplicities()
    cuts = [-1.0, 0.0, 0.0, 1.5, 3.0]
    assert found.counts_between(cuts) == whole.counts_between(cuts)


@given(st.lists(st.floats(allow_nan=False), max_size=50), st.integers(1, 20), st.integers(1, 9))
def test_any_numbers(numbers, room, size):
    column = np.array(numbers, dtype=np.float64)
    whole = NumberValues.of(column)
    found = numbers_in_parts(chunks_of(column, None, size), room * BYTES_PER_NUMBER, "/tmp")
    joined = NumberValues.joined(list(found.parts()) or [NumberValues.of(np.zeros(0))])
    assert joined == whole


def test_delivered_several_times():
    numbers = np.random.default_rng(1).integers(0, 900, 1000).astype(np.float64)
    chunks = chunks_of(np.tile(numbers, 6), None, 50)
    found = numbers_in_parts(chunks, 100 * BYTES_PER_NUMBER, "/tmp")
    assert found.once(6).multiplicities() == NumberValues.of(numbers).multiplicities()
    assert found.once(2).once(3).n == 1000
    assert found.once(5).n == found.n


def test_there_is_one_zero():
    for numbers in ([-0.0, 0.0, 1.0], [0.0, -0.0, 1.0]):
        column = np.array(numbers)
        for found in (
            NumberValues.of(column),
            NumberValues.of(column, np.array([1, 2, 1])),
            numbers_in_parts(chunks_of(column, None, 1), 1, "/tmp"),
        ):
            assert [repr(v) for part in found.parts() for v in part.values.tolist()] == [
                "0.0",
                "1.0",
            ]
