"""What holds for every plot: valid, inert, described, and the same every time."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from gml.data.dataset import Variable
from gml.graph.graph import Graph
from gml.learners.search import Step
from gml.model.network import CPT
from gml.model.regressions import LinearGaussian
from gml.pictures.plots.cpt import cpt_intervals
from gml.pictures.plots.losses import LossRow, held_out_losses
from gml.pictures.plots.matrix import heat_map
from gml.pictures.plots.strengths import edge_strengths
from gml.pictures.plots.trace import score_trace
from gml.pictures.themes import DARK, LIGHT, PRINT
from tests.drawn_text import SVG, collisions

NAMES = (
    "<script>alert(1)</script>",
    '" onload="x" & &amp; ]]>',
    "\x00\x1b[31m\u202e\uffff\ud800",
    "",
    "中文名字" * 30,
    "a" * 100_000,
)
VALUES = np.array([[abs(i - j) / 7 for j in range(6)] for i in range(6)])
EDGES = [
    (one, "-->", other, {"strength": 0.5, "direction": 0.75}) for one, other in pairwise(NAMES)
]
LEVELS = Variable(NAMES[0], NAMES[1:])
NUMBERS = [Variable(name, None) for name in NAMES]
PLOTS = {
    "matrix": lambda theme: heat_map(NAMES, VALUES, quantity="mutual information", theme=theme),
    "trace": lambda theme: score_trace(
        [
            Step(phase + name, "add", name, name, NAMES, 1.0, k * 1.0)
            for phase in ("", "restart ")
            for k, name in enumerate(NAMES)
        ],
        theme,
    ),
    "strengths": lambda theme: edge_strengths(
        Graph.from_edges(NAMES, EDGES), threshold=0.6, theme=theme
    ),
    "losses": lambda theme: held_out_losses(
        [LossRow(name, k / 9, 0.1, (k / 8,), k / 9, 0.01) for k, name in enumerate(NAMES)],
        theme=theme,
    ),
    "table": lambda theme: cpt_intervals(
        CPT(LEVELS, (Variable(NAMES[5], NAMES[:5]),), np.full((5, 5), 0.2)), theme
    ),
    "regression": lambda theme: cpt_intervals(
        LinearGaussian(NUMBERS[0], tuple(NUMBERS[1:]), 1.0, (1.0, 2.0, 3.0, 4.0, 5.0), 1.0), theme
    ),
}
every_plot = pytest.mark.parametrize("plot", PLOTS.values(), ids=PLOTS)
every_theme = pytest.mark.parametrize("theme", [LIGHT, DARK, PRINT], ids=lambda theme: theme.name)


@every_plot
@every_theme
def test_names_are_text_and_nothing_else(plot, theme):
    picture = plot(theme)
    root = ElementTree.fromstring(picture.svg.encode("utf-8"))
    tags = {node.tag.removeprefix(SVG) for node in root.iter()}
    assert tags <= {"svg", "title", "desc", "g", "rect", "line", "path", "circle", "text"}
    attributes = {name for node in root.iter() for name in node.attrib}
    assert not [name for name in attributes if name.startswith("on") or name in ("style", "id")]
    assert "http" not in picture.svg.replace("http://www.w3.org/2000/svg", "")
    assert collisions(picture) == []


@every_plot
def test_long_names_make_no_large_file(plot):
    assert len(plot(LIGHT).svg) < 30_000


@every_plot
@every_theme
def test_a_plot_has_its_theme_a_title_and_a_description(plot, theme):
    picture = plot(theme)
    root = ElementTree.fromstring(picture.svg.encode("utf-8"))
    assert root[0].tag == f"{SVG}title"
    assert root[1].get("fill") == theme.background
    assert root.findtext(f"{SVG}desc")
    assert root.get("role") == "img"
    assert (float(root.get("width")), float(root.get("height"))) == (picture.width, picture.height)
    colours = set(re.findall(r"#[0-9a-f]{6}", picture.svg))
    if theme is PRINT:
        assert all(colour[1:3] == colour[3:5] == colour[5:7] for colour in colours)


@every_plot
def test_a_plot_is_the_same_every_time(plot):
    assert plot(DARK).svg == plot(DARK).svg
