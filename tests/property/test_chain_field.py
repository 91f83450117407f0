"""Chains of labels: the kernel agrees with its reference, and both with enumeration."""

from __future__ import annotations

import itertools
from contextlib import nullcontext

import numpy as np
import pytest

from gml.kernel import reference
from gml.kernel.chain_layout import ChainLayout
from tests.instructions import INSTRUCTIONS, kernel_with

EXTREME = 800.0


@pytest.fixture(params=["reference", *INSTRUCTIONS])
def kernel(request):
    with (
        nullcontext(reference)
        if request.param == "reference"
        else kernel_with(request.param) as found
    ):
        yield found


def random_layout(rng, n_labels, lengths, n_attributes=9, *, numbers=False):
    """Rows of some attributes each, of which some have all labels, some a few and some none.

    With `numbers`, attributes of rows have values.
    """
    width = -(-n_labels // 4) * 4
    labels, cells = [], [0]
    for a in range(n_attributes):
        if a % 3 == 0:
            of = [*range(n_labels), *[-1] * (width - n_labels)]
        else:
            of = np.flatnonzero(rng.random(n_labels) < 0.3)[: width - 1].tolist()
        labels += of
        cells.append(len(labels))
    counts = rng.integers(0, 5, sum(lengths))
    attributes = np.concatenate(
        [np.sort(rng.permutation(n_attributes)[:k]) for k in counts] + [np.empty(0, dtype=int)]
    )
    return ChainLayout(
        n_labels,
        np.cumsum([0, *lengths]),
        np.cumsum([0, *counts]),
        attributes.astype(np.int32),
        np.array(cells),
        np.array(labels, dtype=np.int32),
        rng.normal(0, 1.5, len(attributes)) if numbers else None,
    )


def random_weights(rng, layout, scale):
    """Normal weights; extreme ones are ±800, those of transitions too if the scale is negative."""
    cells = rng.normal(0, abs(scale), layout.n_cells)
    transitions = rng.normal(0, abs(scale), (layout.n_labels, layout.n_labels))
    if abs(scale) == EXTREME:
        cells = EXTREME * np.sign(cells)
        transitions = rng.normal(0, 20, transitions.shape)
    if scale == -EXTREME:
        transitions = EXTREME * np.sign(transitions)
    return cells, transitions


def row_scores(layout, cells):
    """The score of each label of each row, by definition."""
    found = np.zeros((layout.n_rows, layout.n_labels))
    for row in range(layout.n_rows):
        for k in range(layout.rows[row], layout.rows[row + 1]):
            a, x = layout.attributes[k], 1.0 if layout.values is None else layout.values[k]
            for c in range(layout.cells[a], layout.cells[a + 1]):
                if layout.labels[c] >= 0:
                    found[row, layout.labels[c]] += x * cells[c]
    return found


def enumerated(scores, transitions):
    """All labels of a sequence with their scores."""
    n_rows, n_labels = scores.shape
    for labels in itertools.product(range(n_labels), repeat=n_rows):
        score = sum(scores[t, y] for t, y in enumerate(labels))
        score += sum(transitions[pair] for pair in itertools.pairwise(labels))
        yield labels, score


def gradient_by(kernel, layout, weights, targets, span=None):
    out = (np.zeros(layout.n_cells), np.zeros((layout.n_labels, layout.n_labels)))
    span = span or (0, layout.n_sequences)
    value = kernel.ChainRows(layout).gradient(*weights, targets, span, out)
    return value, *out


def marginals_by(kernel, layout, weights):
    out = np.full((layout.n_rows, layout.n_labels), np.nan)
    kernel.ChainRows(layout).marginals(*weights, (0, layout.n_sequences), out)
    return out


def viterbi_by(kernel, layout, weights):
    out = np.full(layout.n_rows, -1, dtype=np.int32)
    kernel.ChainRows(layout).viterbi(*weights, (0, layout.n_sequences), out)
    return out


def targets_of(rng, layout):
    return rng.integers(0, layout.n_labels, layout.n_rows).astype(np.int32)


NUMBERS = pytest.mark.parametrize("numbers", [False, True], ids=["levels", "numbers"])


@NUMBERS
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 150.0, EXTREME, -EXTREME])
@pytest.mark.parametrize("n_labels", [2, 3, 4])
def test_sums_over_labels_are_those_of_enumeration(kernel, n_labels, scale, numbers):
    rng = np.random.default_rng([int(abs(scale)), n_labels])
    lengths = [1, 2, 3, 4, 6 if n_labels < 4 else 5]
    layout = random_layout(rng, n_labels, lengths, numbers=numbers)
    cells, transitions = random_weights(rng, layout, scale)
    targets = targets_of(rng, layout)
    scores = row_scores(layout, cells)
    marginals = marginals_by(kernel, layout, (cells, transitions))
    best = viterbi_by(kernel, layout, (cells, transitions))
    for s, (start, end) in enumerate(itertools.pairwise(layout.sequences)):
        paths = list(enumerated(scores[start:end], transitions))
        values = np.array([score for _, score in paths])
        log_sum = values.max() + np.log(np.exp(values - values.max()).sum())
        own = dict(paths)[tuple(targets[start:end].tolist())]
        value = gradient_by(kernel, layout, (cells, transitions), targets, (s, s + 1))[0]
        assert value == pytest.approx(log_sum - own, rel=1e-12, abs=1e-9)
        shares = np.zeros((end - start, n_labels))
        for labels, score in paths:
            shares[np.arange(end - start), labels] += np.exp(score - log_sum)
        assert np.abs(marginals[start:end] - shares).max() < 1e-9
        reached = [labels for labels, score in paths if score >= values.max() - 1e-9]
        # The lowest label of the last row comes first, then that of the row before.
        assert tuple(best[start:end].tolist()) == min(reached, key=lambda labels: labels[::-1])


@NUMBERS
@pytest.mark.parametrize("scale", [1.0, 120.0])
def test_the_gradient_is_that_of_differences(kernel, scale, numbers):
    rng = np.random.default_rng(5)
    layout = random_layout(rng, 3, [1, 4, 2, 5], numbers=numbers)
    targets = targets_of(rng, layout)
    cells, transitions = random_weights(rng, layout, scale)
    _, by_cell, by_pair = gradient_by(kernel, layout, (cells, transitions), targets)
    step = 1e-5

    def value(part, place, change):
        moved = (cells.copy(), transitions.copy())
        moved[part][place] += change
        return gradient_by(kernel, layout, moved, targets)[0]

    for part, found in enumerate((by_cell, by_pair)):
        for place in np.ndindex(found.shape):
            rise = (value(part, place, step) - value(part, place, -step)) / (2 * step)
            assert found[place] == pytest.approx(rise, abs=2e-6 * max(1.0, scale / 10))


@NUMBERS
@pytest.mark.parametrize("scale", [0.3, 5.0, 60.0, EXTREME, -EXTREME])
@pytest.mark.parametrize("n_labels", [2, 4, 5, 9, 12, 17, 20, 24, 25, 37])
def test_the_kernel_agrees_with_the_reference(compiled, n_labels, scale, numbers):
    rng = np.random.default_rng(n_labels)
    layout = random_layout(rng, n_labels, [7, 1, 0, 12], 15, numbers=numbers)
    weights = random_weights(rng, layout, scale)
    targets = targets_of(rng, layout)
    wanted = gradient_by(reference, layout, weights, targets)
    found = gradient_by(compiled, layout, weights, targets)
    assert found[0] == pytest.approx(wanted[0], rel=1e-12)
    kept = layout.labels >= 0
    assert np.abs(found[1] - wanted[1])[kept].max() < 1e-9
    assert np.abs(found[2] - wanted[2]).max() < 1e-9
    assert (
        np.abs(
            marginals_by(compiled, layout, weights) - marginals_by(reference, layout, weights)
        ).max()
        < 1e-9
    )
    assert np.array_equal(
        viterbi_by(compiled, layout, weights), viterbi_by(reference, layout, weights)
    )


@NUMBERS
def test_instructions_change_no_bit(numbers):
    rng = np.random.default_rng(1)
    layout = random_layout(rng, 11, [30, 5, 1, 40], 20, numbers=numbers)
    weights, targets = random_weights(rng, layout, 2.0), targets_of(rng, layout)
    found = []
    for level in INSTRUCTIONS:
        with kernel_with(level) as compiled:
            value, by_cell, by_pair = gradient_by(compiled, layout, weights, targets)
            shares = marginals_by(compiled, layout, weights)
        found.append((value, by_cell.tobytes(), by_pair.tobytes(), shares.tobytes()))
    assert found[0] == found[1] == found[2]


def test_ties_go_to_the_lowest_labels(kernel):
    rng = np.random.default_rng(0)
    layout = random_layout(rng, 4, [3, 1, 6])
    weights = (np.zeros(layout.n_cells), np.zeros((4, 4)))
    assert (viterbi_by(kernel, layout, weights) == 0).all()


def test_long_sequences_of_extreme_weights_stay_finite(kernel):
    """A label that the next transition forbids to all but itself: sums of plain numbers would be 0."""
    n = 300
    layout = ChainLayout(
        2,
        np.array([0, n]),
        np.arange(n + 1),
        (np.arange(n) % 2).astype(np.int32),
        np.array([0, 1, 2]),
        np.array([0, 1], dtype=np.int32),
    )
    weights = (np.array([EXTREME, EXTREME]), np.array([[0.0, -3 * EXTREME], [-3 * EXTREME, 0.0]]))
    targets = np.zeros(n, dtype=np.int32)
    value, by_cell, by_pair = gradient_by(kernel, layout, weights, targets)
    # All labels 0 and all labels 1 reach the same score.
    assert value == pytest.approx(np.log(2), abs=1e-9)
    assert by_cell.tolist() == pytest.approx([-n / 4, n / 4], abs=1e-9)
    assert by_pair == pytest.approx(np.array([[-(n - 1) / 2, 0.0], [0.0, (n - 1) / 2]]), abs=1e-9)
    assert (viterbi_by(kernel, layout, weights) == 0).all()


@pytest.mark.parametrize(
    "change",
    [
        {"sequences": np.array([0, 3])},
        {"rows": np.array([0, 2, 1])},
        {"attributes": np.array([0, 5], dtype=np.int32)},
        {"labels": np.array([0, 9], dtype=np.int32)},
        {"labels": np.array([0, -1], dtype=np.int32)},
        {"n_labels": 1 << 16},
        {"values": np.array([1.0])},
        {"values": np.array([1.0, np.nan])},
    ],
)
def test_a_layout_that_contradicts_itself_is_refused(change):
    right = {
        "n_labels": 2,
        "sequences": np.array([0, 2]),
        "rows": np.array([0, 1, 2]),
        "attributes": np.array([0, 1], dtype=np.int32),
        "cells": np.array([0, 1, 2]),
        "labels": np.array([0, 1], dtype=np.int32),
    }
    ChainLayout(**right)
    with pytest.raises(ValueError):
        ChainLayout(**{**right, **change})
