"""The gallery of docs/pictures.md: all of it shown, small, safe, and as the script draws it now."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from tests.places import ROOT
from tests.scripts import script

FOLDER = ROOT / "docs/pictures"


def test_the_page_shows_every_picture_and_no_other():
    shown = re.findall(r"!\[[^]]+\]\(pictures/([^)]+)\)", (ROOT / "docs/pictures.md").read_text())
    assert {path.name for path in FOLDER.iterdir()} == set(shown)


def test_the_pictures_are_small():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 1_500_000


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.svg")), ids=lambda path: path.name)
def test_the_drawings_are_svg_that_loads_nothing(path):
    root = ElementTree.parse(path).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    for each in root.iter():
        assert each.tag.rpartition("}")[2] not in {"script", "foreignObject", "image", "use"}
        assert not any(name.startswith("on") for name in each.attrib)


def test_the_pictures_of_the_sample_data_are_current(monkeypatch):
    monkeypatch.chdir(ROOT)
    for name, picture in script("make_pictures").small_pictures():
        assert (FOLDER / name).read_bytes() == picture.encoded("svg"), "run make pictures"
