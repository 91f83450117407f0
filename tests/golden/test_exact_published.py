"""Optima that were published, or found by other programs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import gml
from gml.graph.equivalence import equivalence_class
from gml.learners.exact import exact
from gml.scores.base import total

from .published_tables import ADMISSIONS, LIZARDS, as_dataset
from .sources import cooper_herskovits

KEYS = {
    "BIC": ("bic", {}),
    "AIC": ("aic", {}),
    "BDeu1": ("bdeu", {"ess": 1.0}),
    "BDeu10": ("bdeu", {"ess": 10.0}),
    "K2": ("k2", {}),
}
DATASETS = [
    *("lizards", "ucb_admissions", "hair_eye_color", "titanic_table", "reinis", "coronary"),
    *("danish_welfare", "car", "nursery", "asia", "learning.test", "survey", "sachs_discrete_5400"),
]


@pytest.fixture(scope="session")
def published(shared):
    path = shared / "data/published.json"
    if not path.exists():
        pytest.skip("no published figures in the shared data")
    return {entry["id"]: entry["expected"] for entry in json.loads(path.read_text())["entries"]}


def data_of(shared, name, **options):
    folder = shared / "data"
    (path,) = [*folder.glob(f"real/{name}.csv"), *folder.glob(f"simulated/{name}.csv")]
    return gml.MemoryCounter(gml.read(path, **options))


def graph_of(model, names):
    """Read a model string."""
    families = [node.partition("|")[::2] for node in re.findall(r"\[([^\]]*)\]", model)]
    edges = [(p, "-->", child) for child, parents in families for p in parents.split(":") if p]
    return gml.Graph.from_edges(names, edges, kind="dag")


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", DATASETS)
def test_optima(shared, published, name, key):
    kind, options = KEYS[key]
    score = gml.SCORES[kind](data_of(shared, name), **options)
    expected = published["exact-optima"][name][key]
    found = exact(score)
    assert found.score == pytest.approx(expected["score"], abs=1e-5)
    assert total(score, graph_of(expected["a_dag"], score.names)) == pytest.approx(
        found.score, abs=1e-5
    )


def test_every_dataset_is_tested(published):
    assert set(published["exact-optima"]) == set(DATASETS)
    assert all(set(found) == set(KEYS) for found in published["exact-optima"].values())


def test_gobnilp_discrete(shared, published):
    """The notebooks of GOBNILP on learning.test: no limit, trees, some columns, constraints."""
    counter = data_of(shared, "learning.test")
    score = gml.SCORES["bdeu"](counter)
    expected = published["lt-exact-bdeu"]
    found = exact(score)
    assert found.score == pytest.approx(expected["score"], abs=1e-6)
    pattern = equivalence_class(found.dag)
    edges = {f"{e.source}{'->' if e.type == '-->' else '-'}{e.target}" for e in pattern.edges}
    assert edges == set(expected["cpdag"].split(", "))
    tree = exact(score, max_parents=1)
    assert tree.score == pytest.approx(published["lt-exact-bdeu-tree"], abs=1e-6)
    some = gml.SCORES["bdeu"](data_of(shared, "learning.test", columns=("B", "C", "D", "F")))
    subset = published["lt-exact-bdeu-subset"]
    found = exact(some)
    assert found.score == pytest.approx(subset["score"], abs=1e-6)
    assert total(some, graph_of(subset["model"], some.names)) == pytest.approx(found.score)


def test_gobnilp_constraints(shared, published):
    score = gml.SCORES["bdeu"](data_of(shared, "learning.test"))
    expected = published["lt-exact-constraints"]

    def best(forbid=()):
        either_way = [
            exact(score, knowledge=gml.Knowledge(require=(arc,), forbid=forbid)).score
            for arc in (("C", "F"), ("F", "C"))
        ]
        return max(either_way)

    assert best() == pytest.approx(expected["C-F adjacent"], abs=1e-6)
    assert best((("F", "E"),)) == pytest.approx(expected["and F->E forbidden"], abs=1e-6)


def test_gobnilp_gaussian(shared, published):
    counter = data_of(shared, "gaussian.test", undeclared="numbers")
    bge = gml.SCORES["bge"](counter)
    expected = published["gauss-bge"]
    found = exact(bge)
    assert found.score == pytest.approx(expected["score"], abs=1e-6)
    wanted = graph_of(expected["model"].split(" ")[0], bge.names)
    assert (equivalence_class(found.dag).marks == equivalence_class(wanted).marks).all()
    few = exact(bge, max_parents=3)
    assert few.score == pytest.approx(published["gauss-bge-3"], abs=1e-6)
    bic = exact(gml.SCORES["bic-g"](counter))
    # With the variance SSE/n.
    with_deviations = published["gauss-bic"]["pygobnilp GaussianBIC (residual sd counted)"]
    assert bic.score == pytest.approx(with_deviations, abs=1e-4)


def test_de_campos_and_ji_on_nursery(shared, published):
    found = exact(gml.SCORES["bic"](data_of(shared, "nursery")))
    assert found.score == pytest.approx(published["nursery-bic"], abs=0.1)


def test_optima_that_greedy_searches_know_or_miss(shared, published):
    for name, entry in (("asia", "asia-hc"), ("lizards", "lizards-hc")):
        found = exact(gml.SCORES["bic"](data_of(shared, name)))
        assert found.score == pytest.approx(published[entry]["score"], abs=1e-6)
        wanted = graph_of(published[entry]["model"], found.graph.names)
        assert (equivalence_class(found.dag).marks == equivalence_class(wanted).marks).all()
    coronary = exact(gml.SCORES["bic"](data_of(shared, "coronary")))
    assert coronary.score == pytest.approx(published["coronary-hc"]["optimum"], abs=1e-6)
    assert coronary.score > published["coronary-hc"]["tabu"] > published["coronary-hc"]["hc"]


@pytest.mark.parametrize("name", ["bic", "bdeu"])
def test_bickel_no_arc_between_admission_and_gender(name):
    """Simpson's paradox at Berkeley (Bickel, Hammel & O'Connell 1975): Admit - Dept - Gender."""
    found = exact(gml.SCORES[name](gml.MemoryCounter(as_dataset(ADMISSIONS)))).graph
    names = {frozenset((e.source, e.target)) for e in found.edges}
    assert names == {frozenset(("Admit", "Dept")), frozenset(("Dept", "Gender"))}


def test_schoener_lizards():
    found = exact(gml.SCORES["bic"](gml.MemoryCounter(as_dataset(LIZARDS))))
    assert found.score == pytest.approx(-817.247197, abs=1e-6)


def test_cooper_and_herskovits():
    """The most probable of all structures for their table 1 is x3 -> x2 -> x1, with K2's prior."""
    found = exact(gml.SCORES["k2"](cooper_herskovits())).graph
    assert {(e.source, e.target) for e in found.edges} == {
        ("x3", "x2"),
        ("x2", "x1"),
    }


def test_sample_data_of_asia(sample_data):
    """The clinic of Lauritzen & Spiegelhalter: BDeu finds it; BIC misses the rare visit to Asia."""
    counter = gml.MemoryCounter(gml.read(sample_data / "asia.csv"))
    truth = gml.read_graph(Path(sample_data / "asia.dot"))
    bdeu = gml.SCORES["bdeu"](counter)
    found = exact(bdeu)
    wanted = gml.Graph.from_edges(bdeu.names, [(e.source, "-->", e.target) for e in truth.edges])
    assert (equivalence_class(found.dag).marks == equivalence_class(wanted).marks).all()
    bic = exact(gml.SCORES["bic"](counter))
    missing = {frozenset((e.source, e.target)) for e in wanted.edges} - {
        frozenset((e.source, e.target)) for e in bic.graph.edges
    }
    assert missing == {frozenset(("asia", "tub"))}


@pytest.mark.parametrize("name, figure", [("alarm", "alarm-opt"), ("insurance", "insurance-hc")])
def test_gobnilp_beyond_all_sets(shared, published, name, figure):
    """Parts of 27 and 36 variables, with at most three parents: proved there by integer programs."""
    expected = published[figure]
    if isinstance(expected, dict):
        expected = expected["optimum, 3 parents"]
    data = gml.read(shared / f"data/simulated/{name}.csv.gz")
    found = exact(gml.SCORES["bic"](gml.MemoryCounter(data)), max_parents=3, max_memory=512 << 20)
    assert found.complete
    assert found.score == pytest.approx(expected, abs=1e-4)
