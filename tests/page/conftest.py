"""Pages that `gml report` writes, and a browser that opens them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import gml
from tests.command_line import run_here
from tests.page.mixed_model import flats
from tests.places import ROOT
from tests.scripts import script

EVIL = ["<script>hacked = 1</script>", "a'b\"c\\", "x]&amp;{}", "é ☃ \u202e", "__proto__"]
"""Names of columns that a page must take for names; the last is one of JavaScript's own."""


@dataclass(frozen=True)
class Written:
    """A page, and the model that is in it."""

    path: Path
    net: gml.BayesNet | gml.MarkovNet


def write(folder: Path, *args: str | Path) -> None:
    done = run_here(args, folder)
    assert done.returncode in (0, 1), done.stderr.decode()


@pytest.fixture(scope="session")
def asia(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A page with everything in it."""
    folder = tmp_path_factory.mktemp("asia")
    data, truth = ROOT / "sample_data/asia.csv", ROOT / "sample_data/asia.dot"
    write(folder, "fit-params", data, truth, "-o", "model.json")
    write(folder, "pc", data, "--alpha", "0.01", "--test-log", "log.jsonl", "-o", "pc.json", "-q")
    write(folder, "average", data, "--by", "hc", "--bootstrap", "20", "-o", "strengths.json", "-q")
    options = ["--test-log", "log.jsonl", "--strengths", "strengths.json"]
    write(folder, "report", data, "model.json", *options, "-o", "asia.html")
    return Written(folder / "asia.html", gml.read_model(folder / "model.json"))


@pytest.fixture(scope="session")
def alarm(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Written:
    """A page of 37 nodes, without what is optional."""
    folder = tmp_path_factory.mktemp("alarm")
    write(folder, "sample", shared / "data/networks/alarm.bif", "-n", "5000", "-o", "alarm.csv")
    graph = shared / "data/networks/alarm.bif"
    write(folder, "fit-params", "alarm.csv", graph, "-o", "model.json", "-q")
    write(folder, "report", "alarm.csv", "model.json", "-o", "alarm.html")
    return Written(folder / "alarm.html", gml.read_model(folder / "model.json"))


@pytest.fixture(scope="session")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A page of a model whose arrows were chosen from a class."""
    folder = tmp_path_factory.mktemp("chosen")
    data = ROOT / "sample_data/asia.csv"
    write(folder, "ges", data, "-o", "class.json", "-q")
    write(folder, "fit-params", data, "class.json", "-o", "model.json", "-q")
    write(folder, "report", data, "model.json", "--no-check", "-o", "chosen.html")
    return Written(folder / "chosen.html", gml.read_model(folder / "model.json"))


@pytest.fixture(scope="session")
def undirected(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A page of an undirected model, in which some cells are impossible."""
    folder = tmp_path_factory.mktemp("undirected")
    data, graph = ROOT / "sample_data/asia.csv", ROOT / "sample_data/asia.dot"
    write(folder, "mrf", data, graph, "-o", "model.json", "-q")
    write(folder, "report", data, "model.json", "-o", "undirected.html")
    return Written(folder / "undirected.html", gml.read_model(folder / "model.json"))


@pytest.fixture(scope="session")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A page of a model of numbers."""
    folder = tmp_path_factory.mktemp("numbers")
    lines = ["x,y,z"]
    for k in range(200):
        x = (k * 37 % 101) / 10
        y = 2 * x + (k * 53 % 97) / 20
        lines.append(f"{x},{y:.3f},{y - x + (k * 29 % 89) / 30:.3f}")
    (folder / "numbers.csv").write_text("\n".join(lines) + "\n")
    (folder / "g.dot").write_text("digraph { x -> y; x -> z; y -> z }")
    write(folder, "fit-params", "numbers.csv", "g.dot", "--gaussian", "-o", "model.json")
    write(folder, "report", "numbers.csv", "model.json", "-o", "numbers.html")
    return Written(folder / "numbers.html", gml.read_model(folder / "model.json"))


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A page of a model of labels and numbers."""
    folder = tmp_path_factory.mktemp("mixed")
    gml.write_model(flats(), folder / "model.json")
    write(folder, "report", ROOT / "sample_data/flats.csv", "model.json", "-o", "mixed.html")
    return Written(folder / "mixed.html", gml.read_model(folder / "model.json"))


@pytest.fixture(scope="session")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A page of names and levels that try to be something else."""
    import pandas as pd

    folder = tmp_path_factory.mktemp("evil")
    levels = ["<img src=x onerror='hacked=1'>", '"', "</script><script>hacked=1</script>"]
    frame = pd.DataFrame(
        {
            name: [levels[(k * (j + 2) + k // (j + 3)) % (2 + j % 2)] for k in range(600)]
            for j, name in enumerate(EVIL)
        }
    )
    edges = [(EVIL[0], "-->", EVIL[1]), (EVIL[1], "-->", EVIL[2]), (EVIL[0], "-->", EVIL[4])]
    net = gml.fit(frame, gml.Graph.from_edges(EVIL, edges))
    page = folder / "evil.html"
    page.write_text(gml.report(frame, net, title="<b>title</b>").html, encoding="utf-8")
    return Written(page, net)


@pytest.fixture(scope="session")
def session() -> Iterator[Any]:
    """One browser for all tests."""
    with script("browser").chromium() as browser:
        yield browser


@pytest.fixture
def browser(session: Any) -> Iterator[Any]:
    """A browser that has said nothing yet; at the end the test is held to what the page may do.

    That is: no word on the console, and no request beyond files and what is in the page itself.
    """
    tools = script("browser")
    session.get("about:blank")
    tools.prefer(session)
    tools.console(session)
    tools.requests(session)
    yield session
    assert tools.console(session) == []
    asked = tools.requests(session)
    assert asked
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []
