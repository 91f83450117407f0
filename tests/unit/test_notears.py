"""Continuous optimisation of DAGs: equal variances, acyclicity, varsortability, orders."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest

import gml
from gml.learners.notears import acyclic_part, varsortability
from tests.gaussian_tables import equal_variance_rows, named

quiet = pytest.mark.filterwarnings("ignore::gml.GmlWarning")


def is_acyclic(joined):
    """Whether some power of the adjacency matrix is 0."""
    power = np.eye(len(joined))
    for _ in range(len(joined)):
        power = (power @ joined > 0).astype(float)
    return not power.any()


def distance(found, weights):
    """The structural Hamming distance; a wrong direction counts once."""
    have, truth = adjacency(found), weights != 0
    wrong = (have | have.T) ^ (truth | truth.T)
    turned = (have | have.T) & (truth | truth.T) & (have != truth)
    return int(np.triu(wrong).sum() + np.triu(turned).sum())


def adjacency(found):
    joined = np.zeros((len(found.graph.names),) * 2, dtype=bool)
    for edge in found.graph.edges:
        joined[found.graph.index(edge.source), found.graph.index(edge.target)] = True
    return joined


@quiet
@pytest.mark.parametrize("seed", [0, 1, 2, 4])
def test_errors_of_equal_variance_give_the_graph_away_unless_standardised(seed):
    rows, weights = equal_variance_rows(seed, 10, 15, 1000)
    raw, standardised = (gml.notears(named(rows), raw=is_raw) for is_raw in (True, False))
    assert distance(raw, weights) == 0
    assert raw.varsortability > 0.9
    assert distance(standardised, weights) > 5
    for found in (raw, standardised):
        assert found.graph.kind == "dag"
        assert is_acyclic(adjacency(found))
        assert found.complete


@quiet
@pytest.mark.parametrize("keywords", [{}, {"raw": True}, {"threshold": 0.0, "l1": 0.01}])
def test_neither_rows_nor_columns_in_another_order_change_a_number(keywords):
    frame = named(equal_variance_rows(5, 7, 10, 300)[0])
    rng = np.random.default_rng(2)
    shuffled = frame.iloc[rng.permutation(len(frame)), rng.permutation(7)]
    one, other = gml.notears(frame, **keywords), gml.notears(shuffled, **keywords)
    back = [other.graph.names.index(name) for name in one.graph.names]
    assert np.array_equal(one.weights, other.weights[np.ix_(back, back)])
    assert np.array_equal(adjacency(one), adjacency(other)[np.ix_(back, back)])
    assert (one.threshold, one.varsortability) == (other.threshold, other.varsortability)
    assert one.steps == other.steps


@quiet
@pytest.mark.parametrize("seed", range(6))
def test_noise_gives_acyclic_graphs_whatever_the_threshold(seed):
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(40, 8)) @ rng.normal(size=(8, 8))
    for threshold in (0.0, 0.3):
        found = gml.notears(named(mixed), threshold=threshold, l1=0.001)
        assert is_acyclic(adjacency(found))
        kept = np.abs(found.weights[adjacency(found)])
        assert (kept >= found.threshold).all()


@pytest.mark.parametrize("seed", range(20))
def test_the_threshold_is_raised_no_further_than_needed(seed):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(6, 6)) * (rng.random((6, 6)) < 0.4) * (1 - np.eye(6))
    kept, threshold = acyclic_part(weights, 0.2)
    assert is_acyclic(kept)
    if threshold == 0.2:
        assert np.array_equal(kept, np.abs(weights) >= 0.2)
    else:
        assert np.array_equal(kept, np.abs(weights) > threshold)
        assert not is_acyclic(np.abs(weights) >= threshold)


def paths_by_hand(joined, variances):
    """Every pair that a path of k arrows joins, for each k, by trying all paths."""
    size, rising, total = len(joined), 0.0, 0
    for length in range(2, size + 1):
        ends = {
            (path[0], path[-1])
            for path in itertools.permutations(range(size), length)
            if all(joined[a, b] for a, b in itertools.pairwise(path))
        }
        total += len(ends)
        rising += sum(
            0.5 if variances[i] == variances[j] else float(variances[i] < variances[j])
            for i, j in ends
        )
    return rising / total if total else None


@pytest.mark.parametrize("seed", range(10))
def test_varsortability_is_that_of_the_paths(seed):
    rng = np.random.default_rng(seed)
    joined = np.triu(rng.random((6, 6)) < 0.4, 1)
    variances = rng.integers(1, 5, 6).astype(float)
    assert varsortability(joined, variances) == paths_by_hand(joined, variances)


def test_no_arrows_no_varsortability():
    assert varsortability(np.zeros((3, 3), dtype=bool), np.ones(3)) is None


def test_it_warns_of_scale():
    rows, _ = equal_variance_rows(1, 4, 4, 200)
    with pytest.warns(gml.GmlWarning, match=r"varsortability 1.000: .* artefact of units"):
        gml.notears(named(rows), raw=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = gml.notears(named(rows))
    assert found.varsortability < 0.8
    learning = found.graph.learning
    assert learning["settings"] == {"l1": 0.03, "threshold": 0.3, "scale": "standardised"}
    assert learning["varsortability"] == found.varsortability


@quiet
def test_edges_carry_their_weights():
    rows, weights = equal_variance_rows(3, 6, 7, 20_000)
    found = gml.notears(named(rows), raw=True, l1=0.0)
    for edge in found.graph.edges:
        weight = edge.attributes["weight"]
        ends = found.graph.index(edge.source), found.graph.index(edge.target)
        assert weight == found.weights[ends]
        assert weight == pytest.approx(weights[ends], abs=0.1)


def test_a_penalty_beyond_all_leaves_nothing():
    found = gml.notears(named(equal_variance_rows(3, 5, 6, 100)[0]), l1=10.0)
    assert found.graph.n_edges == 0
    assert found.varsortability is None


@quiet
@pytest.mark.parametrize("r", [0.4, 0.9])
def test_two_standardised_columns_are_joined_in_the_order_of_their_names(r):
    x, e = np.random.default_rng(0).normal(size=(2, 100))
    found = gml.notears(pd.DataFrame({"b": x, "a": r * x + e * np.sqrt(1 - r * r)}))
    assert [edge.source for edge in found.graph.edges] == ["a"]


def test_collinear_columns_have_an_answer():
    x = np.random.default_rng(0).normal(size=100)
    frame = pd.DataFrame({"a": x, "b": 2 * x, "c": -x})
    found = gml.notears(frame)
    assert is_acyclic(adjacency(found))
    assert found.graph.n_edges >= 2


@quiet
def test_time_is_up():
    found = gml.notears(named(equal_variance_rows(1, 6, 8, 100)[0]), max_seconds=0)
    assert not found.complete
    assert found.graph.n_edges == 0
    assert found.graph.learning["complete"] is False


def refused(error, words, **keywords):
    frame = named(equal_variance_rows(1, 4, 4, 20)[0])
    with pytest.raises(error, match=words):
        gml.notears(
            frame.assign(same=1.0) if keywords.pop("constant", False) else frame, **keywords
        )


def test_what_is_refused():
    refused(gml.UsageError, "`threshold` must be 0 or more", threshold=-1.0)
    refused(gml.UsageError, "`l1` must be 0 or more", l1=float("inf"))
    refused(gml.UsageError, "numbers in the same rows", missing="available")
    refused(gml.GmlError, "did you mean 'threshold'", treshold=1)
    refused(gml.DataError, "column 'same' has only one value", constant=True)
