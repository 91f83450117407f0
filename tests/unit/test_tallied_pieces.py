"""Pieces that several machines read: what is known of them adds up to what memory knows."""

from __future__ import annotations

import dataclasses
import itertools
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import gml
from gml.data.columns import choose_columns, column_specs
from gml.data.frames import frame_columns, options_for_frame
from gml.data.options import reading_options
from gml.data.piece_weights import bits_of_weights, sum_of_weights
from gml.data.tallied_pieces import PieceColumns, PieceTallies
from gml.errors import CannotAnswer, DataError

N_ROWS = 900
MANY = 1 << 20


@pytest.fixture(scope="module")
def frame():
    """Labels some of which come late, or only with weight 0, gaps, weights and numbers."""
    rng = np.random.default_rng(8)
    late = np.arange(N_ROWS) // 300
    cells = {
        "s": ["SMLX"[k] for k in rng.integers(0, 2 + late)],
        "c": rng.choice(["red", "blue", "", "NA"], N_ROWS, p=[0.5, 0.4, 0.05, 0.05]),
        "x": [f"{value:.1f}" for value in rng.normal(size=N_ROWS)],
        "w": rng.choice(["0", "1", "2", "5"], N_ROWS),
    }
    found = pd.DataFrame(cells, dtype=object)
    found.loc[17, ["s", "w"]] = ["weightless", "0"]
    return found


def pieces_of(frame, cuts, options):
    """The pieces of a frame, each with labels of its own, and what there is to know for them."""
    options = options_for_frame(frame, options)
    names = list(frame.columns)
    chosen = choose_columns(names, options, None, "the frame")
    specs = column_specs(names, chosen, options)
    found = []
    for first, last in itertools.pairwise([0, *cuts, len(frame)]):
        columns = frame_columns(frame.iloc[first:last], specs, options)
        weights = options.weights_column
        numbers = None if weights is None else columns[names.index(weights)].cells
        found.append(PieceColumns([columns[j] for j in chosen], numbers, last - first))
    bits = 0
    if options.weights_fractional is not None:
        sums = (sum_of_weights(piece.weights, options, "the frame") for piece in found)
        bits = bits_of_weights(sum(sums, Fraction(0)), options, "the frame")
    used = [names[j] for j in chosen], [specs[j] for j in chosen]
    return found, PieceTallies(*used, options, bits, MANY)


def settled(pieces, tallies, order):
    """What all pieces make up, added in some order, as if they had travelled."""
    found = [pickle.loads(pickle.dumps(tallies.of(pieces[k]))) for k in order]
    while len(found) > 1:
        found = [*found[2:], tallies.add(found[0], found[1])]
    return tallies.settled(found[0], "the frame")


@pytest.mark.parametrize("missing", ["drop", "level", "available"])
@pytest.mark.parametrize(
    "reading",
    [
        {"exclude": "w"},
        {"weights": "w"},
        {"weights_fractional": "w", "exclude": "x"},
        {"bins": 3},
        {"cut": {"x": [0.0, 1.0]}, "weights": "w"},
        {"cut": {"x": "width:4"}},
        {"levels": {"s": ["weightless", "L", "M", "S", "X", "never"]}},
        {"levels": {"c": ["red", "blue", "NA"]}, "weights": "w", "na": [""]},
        {"levels": {"c": ["red", "blue", "NA"]}, "weights": "w", "na": ["", "NA"]},
        {"numeric": ["x"], "weights": "w"},
    ],
    ids=str,
)
@pytest.mark.parametrize(("cuts", "seed"), [([], 0), ([1, 300, 640], 1), ([0, 500], 2)])
def test_the_same_as_in_memory(frame, missing, reading, cuts, seed):
    reading = {"na": ["", "NA"], **reading, "missing": missing}
    assert_same(frame, cuts, seed, reading)


@pytest.mark.parametrize("weights", ["weights", "weights_fractional"])
def test_rows_without_a_weight_are_dropped(frame, weights):
    """A level that only such a row has does not weigh nothing, in memory."""
    frame = frame.copy()
    frame.loc[18, ["s", "w"]] = ["unweighed", ""]
    assert_same(frame, [10, 500], 5, {"missing": "drop", weights: "w", "exclude": "x"})


def assert_same(frame, cuts, seed, reading):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", gml.GmlWarning)
        memory = gml.read(frame, **reading)
    pieces, tallies = pieces_of(frame, cuts, reading_options(**reading))
    order = np.random.default_rng(seed).permutation(len(pieces))
    with warnings.catch_warnings(record=True) as told_of_pieces:
        warnings.simplefilter("always", gml.GmlWarning)
        table = settled(pieces, tallies, order)
    assert [str(w.message) for w in told_of_pieces] == [str(w.message) for w in told]
    assert table.variables == memory.variables
    origin = memory.origin
    assert (table.origin.n, table.origin.missing) == (origin.n, origin.missing)
    assert table.origin.cuts == origin.cuts
    assert (table.tally.n, table.tally.n_rows) == (memory.n, memory.n_rows)
    assert any(table.gaps) == memory.missing
    for j, (low, high) in table.extremes.items():
        numbers = memory.columns[j]
        assert (low, high) == (np.nanmin(numbers), np.nanmax(numbers))
    coder = pickle.loads(pickle.dumps(tallies.coder(table, "the frame")))
    coded = [coder.coded(piece) for piece in pieces]
    for j, column in enumerate(memory.columns):
        found = np.concatenate([columns[j] for columns, _, _ in coded])
        np.testing.assert_array_equal(found, column)
        assert found.dtype == column.dtype
    if memory.weights is not None:
        found = np.concatenate([weights for _, weights, _ in coded])
        np.testing.assert_array_equal(found, memory.weights)


def test_labels_that_are_too_many_in_all_are_numbers():
    """No piece has more than there may be."""
    numbers = np.random.default_rng(3).permutation(90_000).astype(str)
    frame = pd.DataFrame({"x": numbers, "l": np.where(np.arange(90_000) % 3, "a", "b")})
    expected = gml.read(frame, bins=4)
    pieces, tallies = pieces_of(frame, [30_000, 60_000], reading_options(bins=4))
    for order in itertools.permutations(range(3)):
        table = settled(pieces, tallies, order)
        assert table.variables == expected.variables
    coder = tallies.coder(table, "the frame")
    found = np.concatenate([coder.coded(piece)[0][0] for piece in pieces])
    np.testing.assert_array_equal(found, expected.columns[0])


def test_labels_that_are_too_many_in_all_are_refused():
    frame = pd.DataFrame({"id": [f"i{k}" for k in range(300)]})
    with pytest.raises(DataError) as in_memory:
        gml.read(frame)
    pieces, tallies = pieces_of(frame, [100, 200], reading_options())
    for order in itertools.permutations(range(3)):
        with pytest.raises(DataError) as refused:
            settled(pieces, tallies, order)
        assert str(refused.value) == str(in_memory.value)


def test_numbers_that_are_too_many_to_be_cut_are_refused(frame):
    pieces, tallies = pieces_of(frame, [400], reading_options(cut={"x": "quantile:3"}, na=["?"]))
    few = dataclasses.replace(tallies, most_numbers=20)
    with pytest.raises(CannotAnswer, match="to cut more than 20 different numbers"):
        settled(pieces, few, [1, 0])
    # Cut points that are given do not depend on the numbers.
    pieces, tallies = pieces_of(frame, [400], reading_options(cut={"x": [0.0]}, na=["?"]))
    few = dataclasses.replace(tallies, most_numbers=20)
    assert (
        settled(pieces, few, [1, 0]).variables[2].levels
        == gml.read(frame, cut={"x": [0.0]}, na=["?"]).variables[2].levels
    )


def test_a_value_that_was_not_there_before(frame):
    pieces, tallies = pieces_of(frame, [300], reading_options(exclude=["x"], na=["?"]))
    table = settled(pieces[:1], tallies, [0])
    coder = tallies.coder(table, "the frame")
    coder.coded(pieces[0])
    with pytest.raises(DataError, match="'s': a value that was not there before"):
        coder.coded(pieces[1])
