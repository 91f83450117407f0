"""Axes: ticks that enclose a range at steps of 1, 2 and 5."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gml.pictures.plots.axes import Scale, figure, fitting_ticks, ticks

NUMBERS = st.floats(-1e150, 1e150, allow_nan=False)


@given(NUMBERS, NUMBERS, st.integers(3, 12))
def test_ticks_enclose_the_range_and_are_written_differently(one, other, most):
    low, high = min(one, other), max(one, other)
    found = ticks(low, high, most)
    assert 2 <= len(found.values) <= most
    spread = found.values[-1] - found.values[0]
    assert found.values[0] <= low + 1e-6 * spread
    assert found.values[-1] >= high - 1e-6 * spread
    assert len(set(found.labels)) == len(found.labels)
    steps = [b - a for a, b in zip(found.values, found.values[1:], strict=False)]
    assert max(steps) - min(steps) <= 1e-6 * max(steps)
    mantissa = steps[0] / 10 ** math.floor(math.log10(steps[0]) + 1e-6)
    assert min(abs(mantissa - k) for k in (1, 2, 5)) < 1e-3


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0, 1, ("0.0", "0.2", "0.4", "0.6", "0.8", "1.0")),
        (0, 100, ("0", "20", "40", "60", "80", "100")),
        (-0.02, 0.013, ("−0.02", "−0.01", "0.00", "0.01", "0.02")),
        (0, 3e9, ("0", "1e+09", "2e+09", "3e+09")),
        (0, 0, ("−1.0", "−0.5", "0.0", "0.5", "1.0")),
    ],
)
def test_labels_have_the_decimals_of_the_step(low, high, labels):
    assert ticks(low, high).labels == labels


def test_labels_that_would_touch_become_fewer():
    wide, narrow = fitting_ticks(100000, 100009, 600), fitting_ticks(100000, 100009, 100)
    assert len(narrow.values) < len(wide.values)


def test_a_scale_maps_its_ends_to_its_pixels():
    scale = Scale(2, 4, 300, 100)
    assert [scale.at(value) for value in (2, 3, 4)] == [300, 200, 100]


def test_figures_for_people():
    assert [figure(value) for value in (1.0, 12345.6, -0.5, 2.5e-7, -0.0, math.inf)] == [
        "1",
        "12346",
        "−0.5",
        "2.5e−07",
        "0",
        "∞",
    ]
