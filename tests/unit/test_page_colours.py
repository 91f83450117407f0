"""The report page in the colours of the pictures, by the scheme of its reader."""

from __future__ import annotations

import re

import gml
from gml.pictures.page.scripts import styles
from gml.pictures.themes import DARK, LIGHT, PRINT
from tests.report_pages import ParsedPage


def test_the_page_has_the_colours_of_the_themes():
    blocks = re.findall(r"color-scheme: \w+;\s*((?:--[\w-]+: #\w{6};\s*)+)", styles())
    found = [dict(re.findall(r"--([\w-]+): (#\w{6});", block)) for block in blocks]
    names = {
        **{name: name for name in ("background", "ink", "muted", "line", "bar", "evidence")},
        "raised": "node",
    }
    assert [{name: colours[name] for name in names} for colours in found] == [
        {name: getattr(theme, field) for name, field in names.items()}
        for theme in (LIGHT, DARK, PRINT)
    ]


def test_the_heat_map_is_there_for_a_light_and_for_a_dark_page(sample_data):
    data = sample_data / "asia.csv"
    net = gml.fit(data, sample_data / "asia.dot")
    page = ParsedPage(gml.report(data, net).html)
    figures = [attributes["class"] for tag, attributes in page.elements if tag == "figure"]
    assert "picture for-light" in figures and "picture for-dark" in figures
    assert "filter:" not in styles()
