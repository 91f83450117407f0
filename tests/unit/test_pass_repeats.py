"""Equal rows and equal numbers, counted by passes, are those of the rows in memory."""

from __future__ import annotations

import numpy as np
import pytest

from gml.counts import pass_repeats
from gml.counts.pass_repeats import TalliedNumbers, TalliedRows, TooMany
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer
from gml.model.training import training_behind, training_of
from tests.sliced_rows import SlicedCounter


def pieces(weighted):
    """Rows of which many are equal, with gaps, zeros of both signs, and weights of 0."""
    rng = np.random.default_rng(5)
    variables = (Variable("a", ("x", "y", "z")), Variable("b", None))
    for _ in range(4):
        labels = rng.integers(0, 3, 50).astype(np.uint8)
        labels[:3] = 255
        numbers = rng.integers(-2, 3, 50) * rng.choice([-0.5, 0.5], 50)
        numbers[5:8] = np.nan
        weights = rng.integers(0, 4, 50) if weighted else None
        yield Dataset(variables, (labels, numbers), weights)


def whole(weighted):
    some = list(pieces(weighted))
    columns = tuple(np.concatenate([piece.columns[j] for piece in some]) for j in range(2))
    weights = np.concatenate([piece.weights for piece in some]) if weighted else None
    return Dataset(some[0].variables, columns, weights)


@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_kept_of_rows_is_the_same(weighted):
    rows = whole(weighted)
    counter = SlicedCounter(rows, [50, 100, 150])
    assert counter.rows() is None
    assert training_behind(counter) == training_of(rows)


def test_too_many_to_keep(monkeypatch):
    monkeypatch.setattr(pass_repeats, "_MOST", 600)
    counter = SlicedCounter(whole(False), [50, 100, 150])
    with pytest.raises(CannotAnswer, match="the different rows take more than 600 bytes"):
        counter.row_repeats()
    monkeypatch.setattr(pass_repeats, "_MOST", 100)
    with pytest.raises(CannotAnswer, match="the different numbers take more than 100 bytes"):
        counter.number_values()


@pytest.mark.parametrize("work", [TalliedRows(1 << 20), TalliedNumbers([1], 1 << 20)])
def test_one_part_that_does_not_fit_is_enough(work):
    found = work.of(next(pieces(False)))
    assert not isinstance(found, TooMany)
    assert work.add(TooMany(), found) == work.add(found, TooMany()) == TooMany()
