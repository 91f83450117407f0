"""Searches against published and reference figures."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import gml
from gml.graph.equivalence import equivalence_class
from gml.learners.ges import ges
from gml.learners.hillclimb import hill_climb
from gml.scores.base import total

from .sources import golden_counter, golden_graph, graph_of, published_entry


@functools.cache
def _score(path, name, **options):
    data = (
        gml.read(path)
        if name != "bic-g" and name != "bge"
        else gml.read(path, undeclared="numbers")
    )
    return gml.SCORES[name](gml.MemoryCounter(data), **options)


def _classes_differ(one, other):
    """Pairs whose marks differ between two CPDAGs over the same nodes."""
    at = [other.names.index(name) for name in one.names]
    marks = other.marks[np.ix_(at, at)]
    upper = np.triu((one.marks != marks) | (one.marks.T != marks.T), 1)
    return int(upper.sum())


def _published(shared, key):
    entry = published_entry(shared, key)
    return shared / "data" / entry["data"], entry["expected"]


# ------------------------------------------------------------------ data of the repository


def test_asia_is_the_true_class():
    score = gml.SCORES["bic"](golden_counter("asia_10000"))
    truth = golden_graph("asia_10000")
    for result in (hill_climb(score), ges(score)):
        assert result.score == pytest.approx(-22279.04161315, rel=1e-12)
        assert _classes_differ(equivalence_class(result.dag), equivalence_class(truth)) == 0


def test_alarm_two_phases_end_below_the_truth_and_restarts_above():
    """Hill climbers end 250 to 880 nats below, a two-phase GES 187 with 11 pairs wrong."""
    score = gml.SCORES["bic"](golden_counter("alarm_5000"))
    truth = golden_graph("alarm_5000")
    true_score = total(score, truth)
    assert true_score == pytest.approx(-53898.6452686497, rel=1e-12)
    two = ges(score, phases=("forward", "backward"))
    assert round(two.score - true_score) == -187
    assert _classes_differ(two.graph, equivalence_class(truth)) == 11
    assert ges(score).score >= two.score
    assert ges(score, restarts=50).score > true_score
    assert hill_climb(score, tabu=15, restarts=50).score > true_score


def test_alarm_under_bdeu_has_few_pairs_wrong():
    score = gml.SCORES["bdeu"](golden_counter("alarm_5000"), ess=1.0)
    found = ges(score, phases=("forward", "backward"))
    assert _classes_differ(found.graph, equivalence_class(golden_graph("alarm_5000"))) <= 8


@pytest.mark.parametrize(
    ("data", "name", "options", "bnlearn"),
    [
        ("asia_10000", "bic", {}, -22279.04161315),
        ("asia_10000", "bdeu", {"ess": 10.0}, -22303.9177656379),
        ("alarm_5000", "bic", {}, -54323.5508456699),
        ("alarm_5000", "bdeu", {"ess": 10.0}, -53183.9071803948),
    ],
)
def test_searches_are_at_least_as_good_as_bnlearn_hc(data, name, options, bnlearn):
    """hc of bnlearn 4.9 on the same files."""
    score = gml.SCORES[name](golden_counter(data), **options)
    for result in (hill_climb(score, tabu=15, restarts=10), ges(score)):
        assert result.score >= bnlearn - 1e-6


# ------------------------------------------------------------------ published data


@pytest.mark.parametrize("key", ["lt-hc", "asia-hc"])
def test_documented_climbs(shared, key):
    path, expected = _published(shared, key)
    score = _score(path, "bic")
    for result in (hill_climb(score, tabu=15, restarts=50), ges(score)):
        assert result.score == pytest.approx(expected["score"], abs=1e-6)
        assert (
            _classes_differ(
                equivalence_class(result.dag), equivalence_class(graph_of(expected["model"]))
            )
            == 0
        )


def test_survey(shared):
    path, expected = _published(shared, "survey-hc")
    for result in (hill_climb(_score(path, "bic")), ges(_score(path, "bic"))):
        assert result.score == pytest.approx(expected["bic"], abs=1e-3)
        assert (
            _classes_differ(
                equivalence_class(result.dag), equivalence_class(graph_of(expected["bic model"]))
            )
            == 0
        )
    assert ges(_score(path, "bdeu")).score == pytest.approx(expected["bde (iss 1)"], abs=1e-3)


def test_marks(shared):
    path, expected = _published(shared, "marks-hc")
    climbed, searched = hill_climb(_score(path, "bge")), ges(_score(path, "bge"))
    for result in (climbed, searched):
        assert result.score == pytest.approx(expected["bge"], abs=1e-4)
        assert (
            _classes_differ(
                equivalence_class(result.dag), equivalence_class(graph_of(expected["bge model"]))
            )
            == 0
        )
    # bnlearn's variance has n − p − 1 degrees of freedom: the same graph, another score.
    butterfly = equivalence_class(graph_of(expected["bic-g model"]))
    assert _classes_differ(ges(_score(path, "bic-g")).graph, butterfly) == 0


def test_gaussian_optima(shared):
    path, expected = _published(shared, "gauss-bge")
    for learn in (hill_climb, ges):
        assert learn(_score(path, "bge")).score == pytest.approx(expected["score"], abs=1e-6)
    path, expected = _published(shared, "gauss-bic")
    optimum = expected["pygobnilp GaussianBIC (residual sd counted)"]
    for learn in (hill_climb, ges):
        assert learn(_score(path, "bic-g")).score == pytest.approx(optimum, abs=1e-6)


def test_coronary_where_bnlearn_stops_short(shared):
    path, expected = _published(shared, "coronary-hc")
    score = _score(path, "bic")
    assert hill_climb(score).score > expected["tabu"] > expected["hc"]
    assert ges(score).score >= expected["hc"] - 1e-6
    for result in (hill_climb(score, tabu=15, restarts=10), ges(score, restarts=20)):
        assert result.score == pytest.approx(expected["optimum"], abs=1e-6)


BNLEARN = {
    "alarm": ("alarm-hc", ["hc", "tabu"]),
    "hailfinder": ("hailfinder-hc", ["hc=tabu"]),
    "insurance": ("insurance-hc", ["hc", "tabu"]),
}


@pytest.mark.parametrize("network", list(BNLEARN))
def test_tabu_is_at_least_as_good_as_bnlearn(shared, network):
    key, names = BNLEARN[network]
    path, expected = _published(shared, key)
    found = hill_climb(_score(path, "bic"), tabu=15).score
    for name in names:
        assert found >= expected[name]


@pytest.mark.parametrize("network", list(BNLEARN))
def test_restarts_reach_the_optimum_that_integer_programming_proved(shared, network):
    path, expected = _published(shared, BNLEARN[network][0])
    optimum = expected.get("optimum, 3 parents")
    if network == "alarm":
        optimum = _published(shared, "alarm-opt")[1]
    found = hill_climb(_score(path, "bic"), tabu=10, restarts=100)
    assert found.score == pytest.approx(optimum, abs=1e-4)
