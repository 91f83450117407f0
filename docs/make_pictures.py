"""Draw the gallery of docs/pictures.md: graphs and pages of 8, 37 and 223 nodes, light and dark.

    python docs/make_pictures.py            # or: make pictures

The networks beyond the sample data are those of the folder `shared` beside the checkout; the
screenshots are made by Chromium. Everything else is the same after each run.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import gml

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
_NETWORKS = ROOT.parent / "shared" / "data" / "networks"
_REAL = ROOT.parent / "shared" / "data" / "real"
# Pages name their inputs as they were given: relative to the checkout, they are the same anywhere.
_DATA = "sample_data/asia.csv"
_TRUTH = "sample_data/asia.dot"
_SCHEMES = ("light", "dark")
_ROWS = 5000


def small_pictures() -> Iterator[tuple[str, gml.Picture]]:
    """Names and pictures of the sample data, for whoever is in the checkout."""
    net = gml.fit(_DATA, _TRUTH)
    for theme in _SCHEMES:
        yield f"asia-{theme}.svg", gml.draw(net, theme=theme)
    yield "asia-print.svg", gml.draw(net, theme="print")
    yield "asia-evidence.svg", gml.draw(net, evidence={"xray": "yes"})
    yield "asia-against.svg", gml.draw(gml.chow_liu(_DATA), against=_TRUTH, weight="none")
    yield "asia-tree.svg", gml.draw(gml.chow_liu(_DATA))


def large_pictures() -> Iterator[tuple[str, gml.Picture]]:
    """Names and pictures of published networks."""
    alarm, andes = (gml.read_model(_NETWORKS / f"{name}.bif") for name in ("alarm", "andes"))
    for theme in _SCHEMES:
        yield f"alarm-{theme}.svg", gml.draw(alarm, theme=theme)
        yield f"andes-{theme}.svg", gml.draw(andes, bars=False, weight="none", theme=theme)
    yield "andes-around.svg", gml.draw(andes, around="SNode_47", radius=2)
    insurance = gml.read_model(_NETWORKS / "insurance.bif")
    yield "insurance-matrix.svg", gml.draw(insurance.sample(_ROWS, seed=1), kind="matrix")

    ising = gml.mrf(_REAL / "reinis.csv", structure="l1")
    yield "reinis-undirected.svg", gml.draw(ising)


def pages() -> Iterator[tuple[str, str]]:
    """Names and reports of models of three sizes."""
    yield "asia", gml.report(_DATA, gml.fit(_DATA, _TRUTH)).html
    for name in ("alarm", "andes"):
        net = gml.read_model(_NETWORKS / f"{name}.bif")
        rows = net.sample(_ROWS, seed=1)
        yield name, gml.report(rows, gml.fit(rows, net.graph), title=name).html


def photograph(folder: Path) -> None:
    """Write a screenshot of the top of each page, light and dark.

    Asia has evidence; Andes is seen as a whole, and near a node that is searched for.
    """
    from browser import chromium, prefer
    from selenium.webdriver.common.keys import Keys

    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        for name, html in pages():
            page = Path(scratch) / f"{name}.html"
            page.write_text(html, encoding="utf-8")
            for scheme in _SCHEMES:
                prefer(browser, scheme=scheme, still=True)
                browser.get(page.as_uri())
                if name == "asia":
                    browser.execute_script("gmlReport.observe('xray', 'yes')")
                if (name, scheme) == ("andes", "dark"):
                    browser.find_element("id", "graph-search").send_keys("GOAL_83", Keys.ENTER)
                browser.save_screenshot(str(folder / f"report-{name}-{scheme}.png"))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    # Published tables are rounded, and 5000 rows do not have every configuration.
    warnings.simplefilter("ignore", gml.GmlWarning)
    with chdir(ROOT):
        for pictures in (small_pictures(), large_pictures()):
            for name, picture in pictures:
                picture.to_file(FOLDER / name)
        photograph(FOLDER)
