"""Undirected models in pictures, on the report page and in notebooks."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import gml
from gml.data.dataset import Variable
from gml.errors import GraphError
from gml.model.undirected.potential import Potential
from gml.pictures.edge_weights import EdgeScale
from gml.pictures.layout.geometry import Link, Size
from gml.pictures.layout.layered import layered
from gml.pictures.page.posteriors import junction_cells, posteriors_of
from gml.pictures.page.sections.undirected import factors_section
from gml.pictures.plots.couplings import coupling_map
from gml.pictures.themes import DARK, LIGHT, PRINT
from tests.drawn import crossings
from tests.drawn_text import elements, texts
from tests.lattices import lattice_net
from tests.pictures import edges_of, legend_of, nodes_of, shown, title_of
from tests.report_pages import ParsedPage
from tests.undirected_models import log_linear, log_weights

SECTIONS = [
    "graph", "fit", "couplings", "factors", "data", "information", "tests", "scores", "strengths",
    "check", "provenance",
]  # fmt: skip
SURVEY = [911, 3, 44, 2, 538, 43, 456, 279]
"""Alcohol, the fastest, cigarettes and marijuana, each yes or no."""


@pytest.fixture(scope="module")
def survey():
    """A row per student; the columns are not in the order of their names."""
    levels = ("yes", "no")
    cells = [(levels[k // 4], levels[k // 2 % 2], levels[k % 2]) for k in range(8)]
    rows = [cell for cell, count in zip(cells, SURVEY, strict=True) for _ in range(count)]
    return pd.DataFrame(rows, columns=["M", "C", "A"])


@pytest.fixture(scope="module")
def net(survey):
    return gml.mrf(survey, structure="complete", intervals=0.95)


@pytest.fixture(scope="module")
def page(net, survey):
    return ParsedPage(gml.report(survey, net).html)


@pytest.fixture
def mixed():
    """Couplings of both signs, and one between three levels, which has none."""
    a, b, c = Variable("a", ("n", "y")), Variable("b", ("n", "y")), Variable("c", tuple("lmh"))
    sign = np.array([[1.0, -1.0], [-1.0, 1.0]])
    other = np.array([[0.3, 0.0, -0.3], [-0.3, 0.0, 0.3]])
    return gml.MarkovNet((a, b, c), (Potential((a, b), -0.7 * sign), Potential((b, c), other)))


# ---------------------------------------------------------------------- pictures


def test_edges_have_no_arrows_and_show_their_couplings(mixed):
    picture = gml.draw(mixed)
    assert not elements(picture.svg, "polygon")
    edges = edges_of(picture)
    assert [title_of(edge) for edge in edges.values()] == [
        "a --- b, coupling −0.7",
        "b --- c, coupling 0.2449",
    ]
    negative, positive = (list(edge)[-1] for edge in edges.values())
    assert negative.get("stroke") == LIGHT.signed_line_shade(-1)
    assert positive.get("stroke") == LIGHT.signed_line_shade(math.sqrt(0.06) / 0.7)
    # Who cannot tell the colours sees the dashes.
    assert (negative.get("stroke-dasharray"), positive.get("stroke-dasharray")) == ("6 3", None)
    assert legend_of(picture) == ["coupling", "−0.5", "0", "0.24"]


def test_nodes_show_their_marginals_and_posteriors(net):
    weights = np.exp(log_weights(net))
    shares = weights.sum(axis=(0, 1)) / weights.sum()
    no, yes = (f"{100 * share:.1f} %" for share in shares)
    assert title_of(nodes_of(gml.draw(net))["A"]).replace("\u00a0", " ") == f"A: no {no}; yes {yes}"
    given = gml.draw(net, evidence={"M": "yes"})
    assert given.title.endswith("given M=yes")
    assert "before the observation" in legend_of(given)
    shares = weights[1].sum(axis=0) / weights[1].sum()
    no, yes = (f"{100 * share:.1f} %" for share in shares)
    assert f"no {no}" in title_of(nodes_of(given)["A"]).replace("\u00a0", " ")


def test_a_lattice_is_drawn_without_a_crossing():
    graph = lattice_net(4, 0.2).graph
    sizes = [Size(60, 40)] * 16
    links = [Link(*graph.pair(edge), False) for edge in graph.edges]
    assert len(links) == 24
    assert crossings(sizes, links, layered(sizes, links, names=graph.names)) == 0


def test_both_signs_are_in_the_legend():
    scale = EdgeScale.of("coupling", [-0.698, 0.1332])
    assert scale is not None
    assert scale.samples == (-0.5, 0.0, 0.13)
    turned = EdgeScale.of("coupling", [0.698, -0.1332])
    assert turned is not None
    assert turned.samples == (-0.13, 0.0, 0.5)
    assert not EdgeScale.of("coupling", [0.2, 0.4]).signed


def test_two_undirected_graphs_are_compared_without_arrows(mixed):
    other = gml.Graph.from_edges("abc", [("a", "---", "c")], kind="undirected")
    picture = gml.draw(mixed, against=other)
    words = " ".join(legend_of(picture))
    assert "compared edge by edge" in words
    assert "missing (only in the reference): 1" in words and "in both: 0" in words
    assert "reversed" not in words and "other mark" not in words
    assert not elements(picture.svg, "polygon")


def test_the_matrix_of_a_model_has_its_couplings(mixed):
    picture = gml.draw(mixed, kind="matrix")
    assert picture.title == "Coupling between 3 variables"
    told = {rect[0].text: rect.get("fill") for rect in elements(picture.svg, "rect") if len(rect)}
    assert told == {
        "a, b: −0.7": LIGHT.shade_below(1),
        "b, a: −0.7": LIGHT.shade_below(1),
        "b, c: 0.245": LIGHT.shade(round(48 * math.sqrt(0.06) / 0.7) / 48),
        "c, b: 0.245": LIGHT.shade(round(48 * math.sqrt(0.06) / 0.7) / 48),
    }
    assert {"0.5", "−0.5"} <= set(texts(picture.svg))


def test_a_matrix_of_positive_couplings_begins_at_nothing():
    edges = [("a", "---", "b", {"coupling": 0.7}), ("b", "---", "c", {"coupling": 0.2})]
    picture = coupling_map(gml.Graph.from_edges("abc", edges, kind="undirected"))
    assert not any(text.startswith("−") for text in texts(picture.svg))


@pytest.mark.parametrize("theme", (LIGHT, DARK, PRINT), ids=lambda theme: theme.name)
def test_what_is_below_nothing_begins_with_the_background(theme):
    assert theme.shade_below(0) == theme.background == theme.shade(0)
    assert theme.shade_below(1) == theme.line_diverging[0]


def test_a_large_matrix_has_both_signs_in_its_pixels():
    names = [f"v{k:03}" for k in range(260)]
    edges = [
        (a, "---", b, {"coupling": -1.0 if k % 2 else 1.0})
        for k, (a, b) in enumerate(pairwise(names))
    ]
    picture = coupling_map(gml.Graph.from_edges(names, edges, kind="undirected"))
    assert len(elements(picture.svg, "image")) == 1


@pytest.mark.parametrize("kind,why", [("strengths", "have couplings"), ("cpt", "directed")])
def test_what_needs_arrows_or_strengths_is_refused(net, kind, why):
    options = {"node": "A"} if kind == "cpt" else {}
    with pytest.raises(GraphError, match=why):
        gml.draw(net, kind=kind, **options)


@pytest.mark.parametrize("suffix,begins", [("svg", b"<svg"), ("html", b"<!DOCTYPE html>")])
def test_a_fit_is_drawn_where_a_picture_is_named(gml, tmp_path, survey, suffix, begins):
    survey.to_csv(tmp_path / "survey.csv", index=False)
    written = tmp_path / f"fit.{suffix}"
    assert gml("mrf", "survey.csv", "--structure", "complete", "-o", written.name).returncode == 0
    assert begins in written.read_bytes()[:200]
    assert b"coupling" in written.read_bytes()


def test_a_model_in_box_characters(net):
    drawn = gml.draw(net).text()
    assert "▼" not in drawn and "│ A" in drawn


# ---------------------------------------------------------------------- the page


def test_sections_of_an_undirected_model(page):
    assert [a["id"] for tag, a in page.elements if tag == "section"] == SECTIONS
    assert "no section on interventions, which need arrows" in page.text("graph")
    assert not any(a.get("id") == "interventions-view" for _, a in page.elements)


def test_the_fit_is_told(page, net):
    said = page.text("fit")
    assert "6 terms over at most 2 variables" in said
    for figure in ("G² 0.373986, df 1, p 0.54", "X² 0.4011", "dimension 6", "exact", "entropy"):
        assert figure in re.sub(r"\s+", " ", said)
    assert f"{net.summary.log_likelihood:.10g}" in said


def test_the_cells_of_fitted_zeros_are_named():
    counts = [0, 5, 7, 3, 4, 6, 8, 0]
    cells = [tuple(f"{k:03b}") for k in range(8)]
    rows = [cell for cell, count in zip(cells, counts, strict=True) for _ in range(count)]
    frame = pd.DataFrame(rows, columns=list("ABC"))
    with pytest.warns(gml.GmlWarning):
        net = gml.mrf(frame, structure="complete")
    unsaid = gml.MarkovNet(net.variables, net.potentials)
    for model in (net, unsaid):
        said = ParsedPage(gml.report(frame, model, check=False).html).text("fit")
        assert "A=0, B=0, C=0" in said and "A=1, B=1, C=1" in said


def test_couplings_with_intervals_strongest_first(page, net):
    said = re.sub(r"\s+", " ", page.text("couplings"))
    low, high = net.potential("A", "M").intervals[1, 1]
    assert f"A — M 0.7465 {low:.5g} {high:.5g} C — M 0.71197" in said
    assert said.index("C — M") < said.index("A — C 0.51363")
    figures = [a.get("class") for tag, a in page.elements if tag == "figure"]
    assert figures.count("picture for-light") == figures.count("picture for-dark") == 2


def test_terms_of_more_levels_are_tables(mixed):
    said = ParsedPage(factors_section(mixed).html()).text("factors")
    assert re.search(r"a, b\s+−0\.7", said)
    assert "Term of b, c" in said and "c=l" in said


def test_the_page_has_the_factors_and_computes_with_them(page, net):
    model = page.facts["model"]
    assert [node["id"] for node in model["nodes"]] == list(net.names)
    total = np.zeros([2] * 3)
    for factor in model["factors"]:
        shape = [2 if name in factor["scope"] else 1 for name in sorted(net.names)]
        assert factor["scope"] == sorted(factor["scope"])
        total = total + np.log(np.reshape(factor["table"], shape))
    order = [net.index(name) for name in sorted(net.names)]
    difference = total - log_weights(net).transpose(order)
    assert np.ptp(difference) == pytest.approx(0, abs=1e-12)
    assert page.facts["inference"]["mode"] == "exact"
    couplings = {
        frozenset((edge["source"], edge["target"])): edge["coupling"]
        for edge in page.facts["graph"]["edges"]
    }
    assert couplings[frozenset("AC")] == pytest.approx(0.513633523548, abs=1e-9)


def test_scores_of_a_model_without_a_dag(page, net):
    said = re.sub(r"\s+", " ", page.text("scores"))
    for value in (net.summary.log_likelihood, net.summary.aic, net.summary.bic):
        assert f"{value:.8g}" in said
    assert "Held-out loss" in said and "by node" not in said


def test_a_decomposable_model_is_scored_as_its_dag(survey):
    net = gml.mrf(survey, clique=[["A", "C"], ["C", "M"]])
    said = re.sub(r"\s+", " ", ParsedPage(gml.report(survey, net, check=False).html).text("scores"))
    assert "bdeu" in said and "by node" not in said
    assert f"{net.summary.bic:.8g}" in said


def test_values_that_the_model_does_not_know(net, survey):
    other = survey.copy()
    other.loc[0, "A"] = "sometimes"
    page = ParsedPage(gml.report(other, net, check=False).html)
    assert "1 value that the model does not know" in page.text("data")
    assert "-inf" in page.text("scores")


def test_answers_beforehand_where_a_page_cannot_compute(net, monkeypatch):
    monkeypatch.setattr("gml.pictures.page.posteriors.MOST_CELLS", 1)
    assert junction_cells(net) == 8 + 4 + 2
    found = posteriors_of(net)
    assert found.mode == "precomputed" and found.do is None
    assert "one observation at a time" in found.why
    weights = np.exp(log_weights(net))
    a = net.index("A")
    given = np.moveaxis(weights, a, 0)[net.variables[a].levels.index("yes")]
    m = [name for name in net.names if name != "A"].index("M")
    shares = given.sum(axis=1 - m) / given.sum()
    assert found.given["A"]["yes"]["M"] == pytest.approx(shares)


def test_no_held_out_loss_where_each_fit_takes_long(survey, net, monkeypatch):
    monkeypatch.setattr("gml.verbs.shared.reported.scores._MOST_CELLS", 13)
    said = ParsedPage(gml.report(survey, net, check=False).html).text("scores")
    assert "No held-out loss: a fit per fold takes long" in said and "--folds" in said
    assert f"{net.summary.bic:.8g}" in said


def test_parts_of_a_model_that_is_too_large_have_priors(monkeypatch):
    large, b = lattice_net(4, 0.2), Variable("b", ("n", "y"))
    alone = Potential((b,), np.log([0.25, 0.75]))
    net = gml.MarkovNet((*large.variables, b), (*large.potentials, alone))
    monkeypatch.setattr("gml.pictures.page.posteriors._PRIOR_BYTES", 200)
    found = posteriors_of(net).prior
    assert found["b"] == pytest.approx([0.25, 0.75])
    assert all(found[name] is None for name in large.names)


def test_a_model_of_which_nothing_can_be_known_says_so(monkeypatch):
    monkeypatch.setattr("gml.pictures.page.posteriors.MOST_CELLS", 10)
    monkeypatch.setattr("gml.pictures.page.posteriors._PRIOR_BYTES", 200)
    net = lattice_net(3, 0.2)
    assert posteriors_of(net).why.endswith("beforehand: no distributions are shown.")
    rows = net.sample(50, seed=1)
    page = ParsedPage(gml.report(rows, net, check=False).html)
    assert page.facts["inference"]["prior"]["s0000"] is None


def test_names_are_names_in_every_section():
    a = Variable("<b>a</b>", ("<i>", '"'))
    c = Variable("__proto__", ("x", "y", "</script>"))
    rng = np.random.default_rng(5)
    table = rng.standard_normal((2, 3))
    net = gml.MarkovNet((a, c), (Potential((a, c), table),))
    frame = net.sample(200, seed=1).to_frame()
    page = ParsedPage(gml.report(frame, net, check=False).html)
    assert "<b>a</b>" in page.text("factors")
    assert not any(tag in ("b", "i") for tag, _ in page.elements)


def test_the_order_of_columns_does_not_change_what_is_said(survey, net, page):
    turned = survey[["A", "C", "M"]]
    other = ParsedPage(
        gml.report(turned, gml.mrf(turned, structure="complete", intervals=0.95)).html
    )
    for section in ("fit", "couplings", "factors"):
        assert other.text(section) == page.text(section)


# ---------------------------------------------------------------------- notebooks


def test_a_model_in_a_notebook(net):
    found = shown(net)
    said = " ".join(found.itertext())
    assert said.startswith("Undirected model: 3 nodes, 3 edges, 6 parameters")
    assert len(list(found.iter("{http://www.w3.org/2000/svg}svg"))) == 1
    assert "log-likelihood" in said and "A — M" in said


def test_a_model_without_a_fit_or_edges_in_a_notebook():
    net = gml.MarkovNet((Variable("a", ("n", "y")),), ())
    said = " ".join(shown(net).itertext())
    assert "0 edges" in said and "couplings" not in said and "method" not in said


def test_a_fit_in_a_notebook(net):
    said = " ".join(shown(net.summary).itertext())
    assert "0.373986, df 1" in said and "pseudo" not in said


def test_a_term_in_a_notebook(net):
    found = shown(net.potential("A", "C"))
    said = ["".join(cell.itertext()) for cell in found.iter("th")]
    assert "A=yes, C=yes" in said and "lower" in said
    rng = np.random.default_rng(2)
    large = log_linear({"A": 4, "B": 4, "C": 4}, ["ABC"], rng).potentials[0]
    assert "and 44 more rows" in " ".join(shown(large).itertext())


def test_a_report_from_the_command_line(gml, tmp_path, survey, net):
    survey.to_csv(tmp_path / "survey.csv", index=False)
    net.to_file(tmp_path / "model.json")
    done = gml("report", "survey.csv", "model.json", "-o", "page.html")
    assert done.returncode == 0, done.stderr
    page = ParsedPage((tmp_path / "page.html").read_text())
    assert [a["id"] for tag, a in page.elements if tag == "section"] == SECTIONS
    assert page.facts["graph"]["kind"] == "undirected"
