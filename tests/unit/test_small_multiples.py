"""Small pictures of one column: bars of levels and histograms."""

from __future__ import annotations

import math

import pytest

from gml.pictures.plots.small_multiples import histogram, small_bars
from gml.pictures.themes import DARK, LIGHT, PRINT
from tests.drawn_text import collisions, elements, texts, told


def shapes(svg):
    """What each bar says, where it begins, how wide and how high it is."""
    return [
        (rect[0].text, *(float(rect.get(name)) for name in ("x", "width", "height")))
        for rect in elements(svg, "rect")
        if len(rect)
    ]


@pytest.mark.parametrize("theme", [LIGHT, DARK, PRINT], ids=lambda theme: theme.name)
def test_bars_are_as_long_as_levels_are_frequent(theme):
    picture = small_bars(["<no>", "yes", "never"], [30, 10, 0], theme)
    assert [shape[:3] for shape in shapes(picture.svg)] == [
        ("<no>: 30 (75%)", 68, 56),
        ("yes: 10 (25%)", 68, 18.67),
        ("never: 0 (0%)", 68, 0),
    ]
    assert texts(picture.svg) == ["<no>", "75%", "yes", "25%", "never", "0%"]
    assert told(picture.svg)[1] == "<no> 75%, yes 25%, never 0%"
    assert (picture.width, picture.height) == (160, 90)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 6, 7, 50])
def test_no_labels_touch(n):
    levels = [f"{k} a long name of a level" for k in range(n)]
    assert collisions(small_bars(levels, [10.0**k for k in range(n)])) == []


def test_of_many_levels_the_most_frequent_are_shown_and_the_rest_as_one():
    picture = small_bars(list("abcdefgh"), [1, 2, 3, 4, 5, 6, 7, 72])
    names = [text.partition(":")[0] for text, *_ in shapes(picture.svg)]
    assert names == ["h", "g", "f", "e", "d", "3 others"]
    assert texts(picture.svg)[-1] == "6%"
    rare = small_bars(["a", "b"], [1, 9999])
    assert texts(rare.svg) == ["a", "<1%", "b", ">99%"]


def test_without_rows_there_are_no_bars():
    assert [width for _, _, width, _ in shapes(small_bars(["a", "b"], [0, 0]).svg)] == [0, 0]


def test_areas_of_a_histogram_are_counts():
    picture = histogram([0, 1, 2, 4], [5, 10, 10])
    found = shapes(picture.svg)
    assert [text for text, *_ in found] == ["0 to 1: 5", "1 to 2: 10", "2 to 4: 10"]
    assert [(x, width) for _, x, width, _ in found] == [(6, 36.5), (43, 36.5), (80, 73.5)]
    assert [height for *_, height in found] == [32, 64, 32]
    assert texts(picture.svg) == ["0", "4"]
    assert told(picture.svg)[1] == "25 values in 3 intervals"


def test_an_interval_without_an_end_is_as_wide_as_its_neighbour():
    found = shapes(histogram([-math.inf, 0, 2, 3, math.inf], [1, 1, 1, 1]).svg)
    widths = [width + 0.5 for _, _, width, _ in found]
    assert [width / widths[2] for width in widths] == pytest.approx([2, 2, 1, 1], rel=1e-3)
    assert found[0][0] == "−∞ to 0: 1"
    for cuts in ([-math.inf, 5, math.inf], [3, 3], [-math.inf, math.inf]):
        assert collisions(histogram(cuts, [1] * (len(cuts) - 1))) == []


def test_values_that_repeat_are_seen():
    assert shapes(histogram([3, 3], [7]).svg) == [("3 to 3: 7", 6, 147.5, 64)]
    _, (text, _, width, height), _ = shapes(histogram([0, 1, 1, 2], [1, 8, 1]).svg)
    assert (text, width > 0, height) == ("1 to 1: 8", True, 64)
