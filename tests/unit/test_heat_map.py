"""Heat maps: the right cells in the right places and colours, names that can be read."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import pytest

from gml.errors import CannotAnswer, GraphError, UsageError
from gml.graph.graph import Graph
from gml.pictures.plots.matrix import heat_map, strength_matrix
from gml.pictures.themes import DARK, LIGHT, PRINT
from tests.drawn_text import boxes, collisions, elements, texts, told

SMALL = np.array([[0, 0.3, 0.0], [0.3, 0, 0.1], [0.0, 0.1, 0]])
THEMES = (LIGHT, DARK, PRINT)
themes = pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)


def blocks(n, seed=0):
    factors = np.random.default_rng(seed).normal(size=(n, 4))
    return np.corrcoef(factors @ factors.T)


def cells(svg):
    """Cells by what they say: x, y, side and colour."""
    return {
        rect[0].text: (*(float(rect.get(name)) for name in ("x", "y", "width")), rect.get("fill"))
        for rect in elements(svg, "rect")
        if len(rect)
    }


@themes
def test_cells_are_where_their_names_are(theme):
    picture = heat_map(["c", "b", "a"], SMALL, quantity="mutual information", theme=theme)
    found = cells(picture.svg)
    # The order is a (third), b, c, so that the chain shows; cells are 42 wide with a gap of 1.
    left, top, *_ = found["a, b: 0.1"]
    assert found == {
        "a, b: 0.1": (left, top, 41, theme.shade(16 / 48)),
        "a, c: 0": (left + 42, top, 41, theme.shade(0)),
        "b, a: 0.1": (left - 42, top + 42, 41, theme.shade(16 / 48)),
        "b, c: 0.3": (left + 42, top + 42, 41, theme.shade(1)),
        "c, a: 0": (left - 42, top + 84, 41, theme.shade(0)),
        "c, b: 0.3": (left, top + 84, 41, theme.shade(1)),
    }
    rows = [box for box in boxes(picture.svg) if box.text in "abc"]
    assert [box.text for box in rows] == ["a", "a", "b", "b", "c", "c"]
    # The middle of capitals, which are 0.72 high.
    half = 0.36 * 12
    assert rows[2].top + half == pytest.approx(top + 42 + 21, abs=0.2)
    assert rows[3].left + half == pytest.approx(left + 21, abs=0.2)


def test_values_are_written_only_where_there_is_room():
    for n, written in ((15, 210), (16, 0)):
        values = np.full((n, n), 0.123)
        shown = texts(heat_map([f"v{k}" for k in range(n)], values, quantity="r").svg)
        assert shown.count("0.123") == written


@pytest.mark.parametrize("n", [1, 2, 3, 8, 15, 16, 37, 60, 90, 200, 300])
def test_no_names_touch_and_none_is_cut_off(n):
    names = [f"VARIABLE_{k}" if k % 3 else f"v{k} <i>&amp;\x1b " + "ß" * (k % 40) for k in range(n)]
    values = blocks(max(n, 2))[:n, :n]
    # What shows nothing need not be drawn.
    values = np.where(np.abs(values) > 0.7, values, 0.0)
    picture = heat_map(names, values, quantity="correlation", theme=THEMES[n % 3])
    assert collisions(picture) == []
    assert min(box.bottom - box.top for box in boxes(picture.svg)) >= 7


@pytest.mark.parametrize("n", [8, 37, 120])
def test_the_order_of_the_columns_does_not_show(n):
    names, values = [f"v{k}" for k in range(n)], np.round(blocks(n), 1)
    mixed = np.random.default_rng(1).permutation(n)
    expected = heat_map(names, values, quantity="r").svg
    turned = values[np.ix_(mixed, mixed)]
    assert heat_map([names[k] for k in mixed], turned, quantity="r").svg == expected


@pytest.mark.parametrize("power", range(-9, 10))
def test_values_of_any_size_fit_their_cells(power):
    values = np.where(np.eye(4), 0, 0.9876 * 10.0**power)
    values[0] /= 1000
    picture = heat_map("abcd", values, quantity="r")
    assert collisions(picture) == []
    written = [
        box for box in boxes(picture.svg) if box.bottom - box.top == pytest.approx(0.92 * 9.5)
    ]
    assert len(written) == 12
    assert all(box.right - box.left <= 41 for box in written)


def test_cells_without_a_value_are_left_out():
    values = np.array([[0, 0.5, np.nan], [0.5, 0, 0.2], [np.nan, 0.2, 0]])
    svg = heat_map("abc", values, quantity="x").svg
    assert len(cells(svg)) == 4
    # Lines between the cells lead to the names.
    _, lines = elements(svg, "path")
    assert (lines.get("d").count("h126"), lines.get("d").count("v126")) == (2, 2)


@pytest.mark.parametrize("theme", [LIGHT, DARK, PRINT], ids=lambda theme: theme.name)
def test_nothing_has_the_colour_of_the_background(theme):
    svg = heat_map("cba", SMALL, quantity="x", theme=theme).svg
    assert cells(svg)["a, c: 0"][3] == theme.background


@pytest.mark.parametrize("theme", [LIGHT, DARK, PRINT], ids=lambda theme: theme.name)
def test_the_diagonal_is_grey_and_struck_through(theme):
    svg = heat_map("cba", SMALL, quantity="x", theme=theme).svg
    diagonal = elements(svg, "path")[0]
    assert (diagonal.get("fill"), diagonal.get("d").count("M")) == (theme.grid, 3)
    assert theme.grid != theme.background
    strokes = [
        tuple(float(line.get(name)) for name in ("x1", "y1", "x2", "y2"))
        for line in elements(svg, "line")
    ]
    assert any(x2 - x1 == y2 - y1 == 126 for x1, y1, x2, y2 in strokes)


def test_of_shares_only_what_is_certain_has_the_last_colour_and_is_written_so():
    values = np.array([[0, 0.9997, 1.0], [0.9997, 0, 0.5], [1.0, 0.5, 0]])
    svg = heat_map("abc", values, quantity="strength", shares=True).svg
    assert {"a, b: >0.999", "a, c: 1", "b, c: 0.5"} <= {*cells(svg)}
    assert texts(svg).count(">0.999") == 2
    assert "a and c 1, b and a >0.999, b and c 0.5" in told(svg)[1]
    weak = heat_map("cba", SMALL, quantity="strength", shares=True).svg
    assert cells(weak)["b, c: 0.3"][3] == LIGHT.shade(round(0.3 * 48) / 48)
    assert "1.0" in texts(weak)


def test_an_infinite_value_has_the_last_colour_and_says_so():
    values = np.array([[0, np.inf, 0.5], [np.inf, 0, 0.2], [0.5, 0.2, 0]])
    found = cells(heat_map("abc", values, quantity="x").svg)
    assert found["a, b: ∞"][3] == found["a, c: 0.5"][3] == LIGHT.shade(1)


def pixels_of(png):
    """The colours of an image with a palette and without filters."""
    at, chunks = 8, {}
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        kind, content = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        assert struct.unpack(">I", png[at + 8 + size : at + 12 + size])[0] == zlib.crc32(
            kind + content
        )
        chunks[kind] = content
        at += 12 + size
    width, height, depth, palette, *rest = struct.unpack(">2I5B", chunks[b"IHDR"])
    assert (depth, palette, *rest) == (8, 3, 0, 0, 0)
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), dtype=np.uint8)
    codes = rows.reshape(height, width + 1)
    assert not codes[:, 0].any()
    return np.frombuffer(chunks[b"PLTE"], dtype=np.uint8).reshape(-1, 3)[codes[:, 1:]]


def test_the_cells_of_many_names_are_pixels(monkeypatch):
    monkeypatch.setattr("gml.pictures.plots.matrix.seriated", lambda names, values: range(300))
    n = 300
    values = np.zeros((n, n))
    values[3, 7], values[7, 3], values[0, 1] = 1.0, 0.5, np.nan
    values[5, 6] = -1.0
    names = [f"v{k:03d}" for k in range(n)]
    svg = heat_map(names, values, quantity="x", theme=DARK).svg
    assert cells(svg) == {}
    (image,) = elements(svg, "image")
    kind, _, content = image.get("href").partition(",")
    assert kind == "data:image/png;base64"
    found = pixels_of(base64.b64decode(content))
    assert (image.get("width"), image.get("height")) == ("1800", "1800")
    assert found.shape == (1800, 1800, 3)
    for (i, j), expected in {
        (3, 7): DARK.shade(1),
        (7, 3): DARK.shade(0.5),
        (0, 2): DARK.shade(0),
        (5, 6): DARK.shade(0),
        (4, 4): DARK.grid,
        (0, 1): DARK.background,
    }.items():
        cell = found[6 * i : 6 * i + 6, 6 * j : 6 * j + 6].reshape(-1, 3)
        assert {"#" + bytes(pixel).hex() for pixel in cell} == {expected}


def test_between_cells_that_show_nothing_are_left_to_the_ground():
    n = 100
    values = np.zeros((n, n))
    values[3, 7] = values[7, 3] = 1.0
    svg = heat_map([f"v{k:03d}" for k in range(n)], values, quantity="x").svg
    assert sorted(cells(svg)) == ["v003, v007: 1", "v007, v003: 1"]
    assert elements(svg, "rect")[1].get("fill") == LIGHT.shade(0)


def test_the_description_names_each_pair_once_where_cells_are_empty():
    values = np.array([[0, 0.5, np.nan], [0.5, 0, 0.2], [np.nan, 0.2, 0]])
    _, description = told(heat_map("abc", values, quantity="x").svg)
    assert description.endswith("Largest values: a and b 0.5, b and c 0.2")


def test_the_description_names_the_largest_values():
    _, description = told(heat_map("cba", SMALL, quantity="x", unit="nats").svg)
    assert description.endswith("Largest values in nats: b and c 0.3, a and b 0.1")


def test_a_matrix_of_another_shape_is_refused():
    with pytest.raises(UsageError, match="a heat map of 3 variables needs a square matrix"):
        heat_map("abc", np.zeros((2, 3)), quantity="x")


def test_more_names_than_pixels_are_refused():
    values = np.broadcast_to(0.0, (2001, 2001))
    with pytest.raises(CannotAnswer, match="cells smaller than a pixel; choose 2000 of them"):
        heat_map([str(k) for k in range(2001)], values, quantity="x")


def test_the_matrix_of_strengths():
    edges = [("a", "-->", "b", {"strength": 0.9, "mi": 1}), ("c", "---", "b")]
    graph = Graph.from_edges("abc", edges)
    expected = [[np.nan, 0.9, np.nan], [0.9, np.nan, np.nan], [np.nan] * 3]
    np.testing.assert_array_equal(strength_matrix(graph), expected)
    with pytest.raises(GraphError, match="no edge of the graph has a strength"):
        strength_matrix(Graph.from_edges("ab", [("a", "-->", "b", {"mi": 1})]))


def test_names_that_have_no_room_are_said_to_be_missing():
    few, many = (
        heat_map([f"v{k}" for k in range(n)], np.zeros((n, n)), quantity="strength")
        for n in (250, 1000)
    )
    assert "one name in 5 is written" in many.svg
    assert "is written" not in few.svg
