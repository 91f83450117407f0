"""Pictures as files: SVG, PNG, PDF and HTML, whole or not at all."""

from __future__ import annotations

import re
import struct
import sys
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

import gml
from gml.errors import CannotAnswer, UsageError
from gml.pictures.pdf_order import in_one_order
from gml.pictures.picture import Picture
from gml.pictures.svg import document, element, label
from gml.pictures.themes import DARK, LIGHT

HOSTILE = '<script>alert(1)</script> & "quotes" \' \x1b[31m'


def picture_of(text, width=200.0, height=60.0):
    words = element("text", label(text), x=10, y=30, font_size=20)
    svg = document(width, height, words, title=text, background="#ffffff")
    return Picture(svg, width, height, text, "#ffffff")


@pytest.fixture
def picture():
    return picture_of("some words")


def size_of(png):
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


def test_png_has_the_size_of_the_picture_times_the_scale(picture):
    assert size_of(picture.png()) == (400, 120)
    assert size_of(picture.png(scale=1)) == (200, 60)
    assert size_of(picture.png(scale=0.5)) == (100, 30)


def test_text_is_drawn_with_fonts_that_come_along(picture):
    """A PDF holds the shapes of its letters; a PNG of words is not that of an empty sheet."""
    assert b"/FontFile" in picture.pdf()
    assert b"/FontFile" not in picture_of("").pdf()
    assert picture.png() != picture_of("").png()


def test_the_same_picture_has_the_same_bytes(picture):
    assert picture.png() == picture_of("some words").png()
    assert picture.pdf() == picture_of("some words").pdf()
    assert picture.html() == picture_of("some words").html()


def test_pdf_of_several_fonts_has_one_order():
    """The renderer's own order of fonts is another in every second call."""
    words = [
        element("text", label(text), x=10, y=20 * k, font_weight=weight)
        for k, (text, weight) in enumerate([("one", "bold"), ("two", None), ("three", "bold")], 1)
    ]
    svg = document(200, 80, *words, title="fonts", background="#ffffff")
    found = {Picture(svg, 200, 80, "fonts").pdf() for _ in range(12)}
    assert len(found) == 1
    pdf = found.pop()
    table = pdf.index(b"xref\n")
    assert pdf[pdf.index(b"startxref\n") :] == b"startxref\n%d\n%%%%EOF" % table
    entries = pdf[table:].splitlines()[3 : 3 + pdf.count(b" 0 obj\n")]
    for k, entry in enumerate(entries, start=1):
        assert pdf.startswith(b"%d 0 obj\n" % k, int(entry[:10])), entry
    assert pdf.count(b"/FontFile") == 2


def test_other_files_keep_their_order():
    for content in (b"", b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\nstartxref\n0\n%%EOF"):
        assert in_one_order(content) == content


@pytest.mark.parametrize("scale", [0, -1, float("nan")])
def test_a_scale_that_leaves_nothing(picture, scale):
    with pytest.raises(UsageError, match="`scale` must be above 0, not"):
        picture.png(scale=scale)


def test_sizes_that_cannot_be(picture):
    with pytest.raises(UsageError, match="a PNG of 0 x 0 pixels has none; raise `scale`"):
        picture.png(scale=1e-6)
    with pytest.raises(CannotAnswer, match="x 600,000 pixels is too large: at most 32,767"):
        picture.png(scale=1e4)
    wide = picture_of("wide", 50_000.0, 60.0)
    with pytest.raises(CannotAnswer, match="lower `scale` to 0.65, draw less .`around`., or draw"):
        wide.png()
    assert size_of(wide.png(scale=0.65)) == (32_499, 39)
    square = picture_of("square", 20_000.0, 20_000.0)
    with pytest.raises(CannotAnswer, match=r"and 268 million in all; lower `scale` to 0\.81"):
        square.png(scale=1)


def test_pages_that_readers_would_not_open_are_smaller():
    """A page has at most 14,400 points on a side."""
    boxes = [
        [float(number) for number in re.search(rb"/MediaBox ?\[([^\]]*)\]", pdf)[1].split()]
        for pdf in (picture_of("w", 19_200, 60).pdf(), picture_of("w", 38_400, 120).pdf())
    ]
    assert boxes[0] == boxes[1]
    assert boxes[0] == [0, 0, 14_400, 45]


@pytest.mark.parametrize("format", ["png", "pdf"])
def test_without_the_renderer_there_is_one_line(picture, format, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    needs = rf"^{format.upper()} needs the extra draw: pip install 'gml\[draw\]'; SVG and HTML do"
    with pytest.raises(CannotAnswer, match=needs):
        picture.encoded(format)
    assert picture.encoded("svg")
    assert picture.encoded("html")


class Page(HTMLParser):
    """The elements of a page, each with its attributes, and the text in each kind of them."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.text = {}
        self._open = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "input"):
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open:
            self.text.setdefault(self._open[-1], []).append(data)


def test_a_page_stands_alone_and_runs_nothing():
    page = Page(picture_of(HOSTILE).html())
    tags = [tag for tag, _ in page.found]
    assert tags[:2] == ["html", "head"]
    assert "script" not in tags
    assert page.found[tags.index("html")][1] == {"lang": "en"}
    policies = [a["content"] for _, a in page.found if a.get("http-equiv")]
    assert policies == [
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    ]
    assert not any({"src", "href", "onload", "style"} & a.keys() for _, a in page.found)
    assert "".join(page.text["title"]).startswith("<script>alert(1)</script>")
    assert tags.count("svg") == 1


@pytest.mark.parametrize(("theme", "scheme"), [(LIGHT, "light"), (DARK, "dark")])
def test_a_page_fits_its_window_and_has_the_ground_of_its_drawing(theme, scheme):
    """A box that is ticked, and no script, shows the drawing in its own size."""
    page = Page(replace(picture_of("a"), background=theme.background).html())
    rules = "".join(page.text["style"])
    assert f"html {{ background: {theme.background};" in rules
    assert f"color-scheme: {scheme} }}" in rules
    assert "max-width: 100%; max-height: calc(100vh" in rules
    assert "input:checked ~ svg { max-width: none; max-height: none }" in rules
    tags = [tag for tag, _ in page.found]
    box, words = (dict(page.found[tags.index(tag)][1]) for tag in ("input", "label"))
    assert (box["type"], box["id"]) == ("checkbox", words["for"])
    assert tags.index("input") < tags.index("svg")


def test_a_page_shows_the_image_of_a_large_heat_map():
    """Its cells are pixels, which the policy of the page must let in."""
    names = [f"n{k}" for k in range(251)]
    strong = gml.Graph.from_edges(names, [("n0", "---", "n1", {"strength": 0.5})])
    page = Page(gml.draw(strong, kind="matrix").html())
    images = [a["href"] for tag, a in page.found if tag == "image"]
    assert [image.partition(",")[0] for image in images] == ["data:image/png;base64"]
    assert any("img-src data:;" in a.get("content", "") for _, a in page.found)


def test_labels_are_inert_in_svg():
    root = ElementTree.fromstring(picture_of(HOSTILE).svg)
    space = "{http://www.w3.org/2000/svg}"
    assert root.find(f"{space}text").text == HOSTILE.replace("\x1b", "\\x1b")
    assert [child.tag for child in root.iter()] == [
        f"{space}{tag}" for tag in ("svg", "title", "rect", "text")
    ]


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("a.svg", b"<svg "),
        ("a.PNG", b"\x89PNG"),
        ("a.pdf", b"%PDF-1."),
        ("a.html", b"<!DOCTYPE html>"),
        ("a.htm", b"<!DOCTYPE html>"),
    ],
)
def test_the_suffix_picks_the_format(picture, tmp_path, name, start):
    picture.to_file(tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_scale_of_a_file(picture, tmp_path):
    picture.to_file(tmp_path / "a.png", scale=3)
    assert size_of((tmp_path / "a.png").read_bytes()) == (600, 180)


def test_a_failure_leaves_the_old_file(picture, tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"old")
    with pytest.raises(CannotAnswer):
        picture.to_file(path, scale=1e4)
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["a.png"]


def test_other_suffixes_and_formats(picture, tmp_path):
    with pytest.raises(UsageError, match="pictures are svg, png, pdf or html, not gif"):
        picture.to_file(tmp_path / "a.gif")
    with pytest.raises(UsageError, match="does not tell its format; use one of .svg .png .pdf"):
        picture.to_file(tmp_path / "a.dat")
    with pytest.raises(UsageError, match="`path` must be a path, not an int"):
        picture.to_file(5)
    with pytest.raises(UsageError, match="`format` must be"):
        picture.encoded("gif")


def test_plots_are_not_for_text(picture):
    with pytest.raises(UsageError, match="`format='text'` draws graphs; write plots as SVG"):
        picture.text()


def test_conversion_makes_pictures():
    graph = gml.read_graph("sample_data/asia.dot")
    found = gml.convert(graph, "svg")
    assert found.text == gml.draw(graph).svg + "\n"
    assert str(found) == found.text
    assert repr(found) == f"Converted(svg, {len(found.content)} bytes)"
    png = gml.convert("sample_data/asia.dot", path="x.png")
    assert size_of(png.content) == tuple(
        round(2 * side) for side in (gml.draw(graph).width, gml.draw(graph).height)
    )
    with pytest.raises(UsageError, match="PNG is no text; its bytes are the `content`"):
        _ = png.text
    with pytest.raises(UsageError, match="`sanitize` is for BIF, XMLBIF and NET, not for svg"):
        gml.convert(graph, "svg", sanitize=True)
