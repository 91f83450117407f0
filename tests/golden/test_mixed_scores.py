"""Scores of mixed tables against figures of converged programs, to the digits printed."""

from __future__ import annotations

import pytest

import gml
from gml.scores.base import families_of, total

PENGUINS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
BY_NODE = {
    "A": -1567.52402925,
    "B": -5231.30901387,
    "C": -6461.51001500,
    "H": 3447.69919609,
    "D": -1433.40191981,
    "F": -2906.08219749,
    "E": -6538.29036219,
    "G": 616.31046300,
}


def arcs(text):
    """Arcs from a line of `child|parent:parent` in brackets."""
    families = [part.partition("|") for part in text.strip("[]").split("][")]
    return [(p, "-->", child) for child, _, given in families for p in given.split(":") if p]


@pytest.fixture(scope="module")
def simulated(shared):
    path = shared / "data/simulated/clgaussian.test.csv"
    counter = gml.MemoryCounter(gml.read(path, numeric=["D", "E", "G", "H"]))
    model = "[A][B][C][H][D|A:H][F|B:C][E|B:D][G|A:D:E:F]"
    return counter, gml.Graph.from_edges("ABCDEFGH", arcs(model), kind="dag")


@pytest.fixture(scope="module")
def penguins(shared):
    data = gml.read(
        shared / "data/real/penguins.csv", numeric=PENGUINS, exclude=["year"], missing="drop"
    )
    species_and_sex = [(x, "-->", y) for x in ("species", "sex") for y in PENGUINS]
    edges = [
        ("species", "-->", "island"),
        *species_and_sex,
        ("flipper_length_mm", "-->", "body_mass_g"),
    ]
    return gml.MemoryCounter(data), gml.Graph.from_edges(data.names, edges, kind="dag")


def scored(name, counter, graph):
    return total(gml.SCORES[name](counter), graph)


def empty(counter):
    names = [variable.name for variable in counter.variables]
    return gml.Graph.from_edges(names, [], kind="dag")


def printed(value):
    """What eight decimals show."""
    return pytest.approx(value, abs=6e-9)


def test_conditional_gaussian_by_node(simulated):
    counter, graph = simulated
    score = gml.SCORES["loglik-cg"](counter)
    families = families_of(score, graph)
    found = dict(zip(graph.names, score.batch(families).tolist(), strict=True))
    assert {name: printed(value) for name, value in BY_NODE.items()} == found
    assert score.dimensions(families).sum() == 51
    assert total(score, graph) == printed(-20074.10787852)
    assert scored("bic-cg", counter, graph) == printed(-20291.29630490)


def test_conditional_gaussian_penguins(penguins):
    counter, graph = penguins
    score = gml.SCORES["loglik-cg"](counter)
    assert counter.n == 333
    assert total(score, graph) == printed(-5257.16240118)
    assert score.dimensions(families_of(score, graph)).sum() == 63
    assert scored("bic-cg", counter, graph) == printed(-5440.11888961)
    assert scored("bic-cg", counter, empty(counter)) == printed(-6737.17297369)


def test_degenerate_gaussian(simulated):
    counter, graph = simulated
    score = gml.SCORES["loglik-dg"](counter)
    assert total(score, graph) == printed(-35384.46053460)
    assert score.dimensions(families_of(score, graph)).sum() == 40
    assert scored("bic-dg", counter, graph) == printed(-35554.80439843)
    assert scored("bic-dg", counter, empty(counter)) == printed(-60482.32762091)


def test_searches_find_the_graph_that_bnlearn_finds(simulated):
    counter, graph = simulated
    score = gml.SCORES["bic-cg"](counter)
    climbed = gml.hc(score)
    assert climbed.score == pytest.approx(total(score, graph), rel=1e-12)
    found = gml.ges(score)
    assert found.graph.kind == "pdag"
    assert found.score == pytest.approx(total(score, graph), rel=1e-12)
    assert found.dag.names == graph.names
    assert ((found.dag.marks != 0) == (graph.marks != 0)).all()
