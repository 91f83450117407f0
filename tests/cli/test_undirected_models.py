"""Undirected models on the command line: convert, query, compare, and who refuses them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gml.formats.graphs import read_graph
from gml.formats.models import read_model, write_model
from gml.model.bayesnet import BayesNet
from gml.model.compare import kl_divergence
from gml.model.markovnet import MarkovNet
from gml.model.undirected.conversion import undirected_model
from tests.command_line import error_line
from tests.model_files import assert_same_terms, random_network
from tests.unit.test_undirected_models import SQUARE, ising

CHAIN = ising(
    (SQUARE.variables[0], SQUARE.variables[1]), (SQUARE.variables[1], SQUARE.variables[2])
)
ALIKE = 1 / (1 + np.exp(-1.0))
"""The probability that two nodes of a coupling of 0.5 are alike."""
NET = random_network(np.random.default_rng(5), ["a", "b", "c", "d"], ["x", "y", "z"])


@pytest.fixture
def folder(tmp_path):
    """A scratch folder with models, with arrows and without."""
    write_model(SQUARE, tmp_path / "square.json")
    write_model(CHAIN, tmp_path / "chain.json")
    write_model(NET, tmp_path / "net.bif")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "title"),
    [("m.bif", b"BIF"), ("m.xmlbif", b"XMLBIF"), ("m.xml", b"XMLBIF"), ("m.net", b"NET")],
)
def test_a_decomposable_model_gets_arrows_where_a_format_needs_them(gml, folder, name, title):
    done = gml("convert", "chain.json", name)
    told = (
        b"gml: warning: " + title + b" does not hold which arrows the data leave open; JSON does\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", told)
    found = read_model(folder / name)
    assert isinstance(found, BayesNet)
    assert kl_divergence(CHAIN, found).total < 1e-12
    told = gml("-v", "convert", "chain.json", name)
    assert b"needs arrows: a Bayesian network of the same distribution" in told.stderr


def test_arrows_come_and_go_on_request(gml, folder):
    assert gml("convert", "net.bif", "u.json", "--to", "undirected").returncode == 0
    found = read_model(folder / "u.json")
    assert isinstance(found, MarkovNet)
    assert_same_terms(found, undirected_model(read_model(folder / "net.bif")))
    assert gml("convert", "chain.json", "d.json", "--to", "dag").returncode == 0
    assert kl_divergence(CHAIN, read_model(folder / "d.json")).total < 1e-12
    # What already is what it is to become stays so.
    assert gml("convert", "chain.json", "same.json", "--to", "undirected").returncode == 0
    assert_same_terms(read_model(folder / "same.json"), CHAIN)
    for name in ("u.json", "d.json", "same.json"):
        assert gml("verify", name).returncode == 0


def test_graphs_lose_their_arrows_too(gml, folder):
    (folder / "collider.dot").write_text("digraph { a -> b; c -> b }\n")
    assert gml("convert", "collider.dot", "moral.json", "--to", "undirected").returncode == 0
    moral = read_graph(folder / "moral.json")
    assert (moral.kind, moral.n_edges) == ("undirected", 3)
    assert gml("convert", "moral.json", "dag.dot", "--to", "dag").returncode == 0
    assert read_graph(folder / "dag.dot").kind == "dag"


def test_a_model_that_is_not_decomposable_has_no_arrows(gml, folder):
    for rest in (["m.bif"], ["m.json", "--to", "dag"]):
        done = gml("convert", "square.json", *rest)
        assert error_line(done, 3).startswith(
            "gml: error: square.json: the model is not decomposable: its graph has a cycle"
        )
        assert not (folder / rest[0]).exists()


def test_uai(gml, folder):
    done = gml("convert", "square.json", "m.uai")
    assert done.stderr == b"gml: warning: UAI does not hold the names; JSON does\n"
    assert (folder / "m.uai").read_text().startswith("MARKOV\n4\n2 2 2 2\n4\n2 0 1\n")
    assert gml("convert", "m.uai", "back.json").stderr == b""
    back = read_model(folder / "back.json")
    for old, new in zip(SQUARE.graph.edges, back.graph.edges, strict=True):
        assert new.attributes["coupling"] == pytest.approx(old.attributes["coupling"], abs=1e-15)
    assert gml("convert", "back.json", "again.uai").stderr == b""
    done = gml("convert", "net.bif", "-", "-f", "uai")
    assert done.stdout.startswith(b"BAYES\n4\n")
    (folder / "b.uai").write_bytes(done.stdout)
    assert gml("query", "b.uai", "--target", "x0").returncode == 0
    assert gml("convert", "square.json", "m.uai", "--sanitize").returncode == 2
    assert error_line(gml("chowliu", "m.uai"), 3) == (
        "gml: error: m.uai: this is a UAI model, not a table\n"
    )


def test_as_a_graph_it_keeps_its_couplings(gml, folder):
    done = gml("convert", "chain.json", "g.graphml")
    assert done.stderr == b"gml: warning: GraphML does not hold the factors; JSON does\n"
    assert [e.attributes["coupling"] for e in read_graph(folder / "g.graphml").edges] == [
        0.5,
        0.5,
    ]
    done = gml("convert", "chain.json", "-", "-f", "dot")
    assert b'"A" -> "B" [dir=none, coupling=0.5];' in done.stdout.replace(b'"0.5"', b"0.5")
    assert gml("convert", "chain.json", "g.svg").returncode == 0


def test_answers(gml, folder):
    done = gml("query", "chain.json", "--target", "C", "--evidence", "A=y", "-f", "json")
    yes = json.loads(done.stdout)["results"][1]
    assert (yes["node"], yes["level"]) == ("C", "y")
    assert yes["probability"] == pytest.approx(ALIKE**2 + (1 - ALIKE) ** 2, abs=1e-14)
    assert gml("query", "chain.json", "--mpe").returncode == 0
    assert gml("query", "chain.json", "-t", "A,B", "--map", "--evidence", "C=n").returncode == 0
    assert error_line(gml("query", "chain.json", "--do", "A=y"), 2) == (
        "gml: error: --do cuts nodes off from their parents, and an undirected model has none\n"
    )


def test_answers_for_rows(gml, folder):
    (folder / "rows.csv").write_text("A,C\ny,y\n,n\n")
    done = gml("query", "chain.json", "--batch", "rows.csv", "--target", "B")
    header, first, second = done.stdout.decode().split()
    assert header == "A,C,B=n,B=y,p_evidence"
    both = ALIKE**2 / (ALIKE**2 + (1 - ALIKE) ** 2)
    assert float(first.split(",")[3]) == pytest.approx(both, abs=1e-14)
    assert float(second.split(",")[2]) == pytest.approx(ALIKE, abs=1e-14)
    done = gml("query", "chain.json", "--batch", "rows.csv", "--predict", "C")
    assert done.stdout.decode().split()[1].startswith("y,y,y,")


def test_undirected_graphs_are_compared_edge_by_edge(gml, folder):
    write_model(MarkovNet(SQUARE.variables, SQUARE.potentials[:2]), folder / "less.json")
    done = gml("compare", "square.json", "less.json")
    assert done.stdout.decode().splitlines()[:3] == [
        "less.json compared with square.json, as undirected",
        "shd    2",
        "edges  precision 1  recall 0.5  f1 0.666667",
    ]
    assert b"arrow" not in done.stdout
    found = json.loads(gml("compare", "square.json", "less.json", "-f", "json").stdout)["pairs"][0]
    assert (found["as"], found["shd"], found["sid"]) == ("undirected", 2, None)
    assert found["kl"]["nodes"] == {}
    assert found["kl"]["total"] > 0
    # A model with arrows beside one without.
    assert gml("convert", "net.bif", "u.json", "--to", "undirected").returncode == 0
    for pair in (("net.bif", "u.json"), ("u.json", "net.bif")):
        found = json.loads(gml("compare", *pair, "-f", "json").stdout)["pairs"][0]
        assert 0 <= found["kl"]["total"] < 1e-12


def test_what_needs_arrows_says_so(gml, folder):
    done = gml("draw", "chain.json", "--kind", "cpt", "--node", "A")
    assert error_line(done, 3).endswith("gml convert makes one of it (--to dag)\n")


def test_a_file_that_is_broken_is_refused_in_one_line(gml, folder):
    content = json.loads((folder / "chain.json").read_text())
    content["factors"][1]["table"].pop()
    (folder / "bad.json").write_text(json.dumps(content))
    done = gml("query", "-q", "bad.json")
    assert done.returncode == 3
    assert done.stderr.decode() == (
        "gml: error: bad.json: factor 2 ('B', 'C'): the \"table\" must be a flat list of 4 numbers, not 3\n"
    )
