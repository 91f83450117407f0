"""The graphical lasso: the choice of a penalty, transforms, orders, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import gml
from gml.data.resampling import folds
from gml.learners.sparse_precision import sparse_precision
from tests.gaussian_tables import named, sparse_rows


@pytest.fixture(scope="module")
def table():
    return named(sparse_rows(3, 8, 120))


def numbers(graph):
    """The edges by name, with what they carry."""
    return {tuple(sorted((edge.source, edge.target))): edge.attributes for edge in graph.edges}


def log_likelihood(rows, precision, matrix, deviations):
    """The definition: rows of a normal distribution with this inverse correlation matrix."""
    n, size = rows.shape
    constant = size * math.log(2 * math.pi) + 2 * np.log(deviations).sum()
    return -n / 2 * (constant - np.linalg.slogdet(precision)[1] + np.sum(matrix * precision))


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_choice_is_that_of_the_whole_grid(seed, refit, gamma):
    """Every penalty on its own, from the definition of the eBIC."""
    rows = sparse_rows(seed, 7, 90)
    found = gml.glasso(named(rows), gamma=gamma, refit=refit, n_penalties=30)
    matrix, deviations = np.corrcoef(rows.T), rows.std(axis=0)
    off = 1 - np.eye(7)
    largest = np.abs(matrix * off).max()
    values = []
    for l1 in np.geomspace(largest, largest / 1000, 30):
        precision = sparse_precision(matrix, l1 * off).precision
        if refit:
            precision = sparse_precision(matrix, np.where(precision != 0, 0.0, math.inf)).precision
        edges = (np.count_nonzero(precision) - 7) // 2
        cost = edges * (math.log(90) + 4 * gamma * math.log(7))
        values.append(-2 * log_likelihood(rows, precision, matrix, deviations) + cost)
    best = int(np.argmin(values))
    assert found.chosen.ebic == pytest.approx(values[best], rel=1e-9)
    assert found.best == best
    ebics = [point.ebic for point in found.path]
    np.testing.assert_allclose(ebics, values[: len(ebics)], rtol=1e-9)


def test_held_out_losses_are_those_of_the_definition(table):
    found = gml.glasso(table, criterion="folds", folds=3, seed=5, n_penalties=8, refit=False)
    data = gml.Dataset.from_frame(table, numeric=list(table))
    point = found.path[4]
    losses, sizes = [], []
    for rest, fold in folds(data, 3, seed=5):
        known, new = (np.column_stack(part.columns) for part in (rest, fold))
        mean, deviations = known.mean(axis=0), known.std(axis=0)
        l1 = point.l1 * (1 - np.eye(8))
        precision = sparse_precision(np.corrcoef(known.T), l1).precision
        away = (new - mean) / deviations
        log_p = -0.5 * (
            8 * math.log(2 * math.pi)
            + 2 * np.log(deviations).sum()
            - np.linalg.slogdet(precision)[1]
            + np.einsum("ni,ij,nj->n", away, precision, away)
        )
        losses.append(-log_p.mean())
        sizes.append(len(new))
    assert point.loss == pytest.approx(np.average(losses, weights=sizes), rel=1e-9)
    assert point.error == pytest.approx(np.std(losses, ddof=1) / math.sqrt(3), rel=1e-9)
    means = [one.loss for one in found.path]
    least = int(np.argmin(means))
    within = [k for k, mean in enumerate(means) if mean <= means[least] + found.path[least].error]
    assert found.best == within[0]


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"l1": 0.1},
        {"raw": True},
        {"transform": "rank"},
        {"transform": "normal", "folds": 3},
        {"folds": 4},
    ],
)
def test_neither_rows_nor_columns_in_another_order_change_a_number(table, keywords):
    rng = np.random.default_rng(1)
    shuffled = table.iloc[rng.permutation(len(table)), rng.permutation(table.shape[1])]
    one, other = gml.glasso(table, **keywords), gml.glasso(shuffled, **keywords)
    assert numbers(one.graph) == numbers(other.graph)
    assert one.path == other.path
    back = [other.graph.names.index(name) for name in one.graph.names]
    assert np.array_equal(one.precision, other.precision[np.ix_(back, back)])


def test_threads_change_nothing(table):
    one, other = (gml.glasso(table, folds=4, threads=n, n_penalties=20) for n in (1, 3))
    assert one.path == other.path
    assert np.array_equal(one.precision, other.precision)


def test_units_change_nothing_but_with_raw(table):
    scaled = table * np.array([1.0, 1e6, 1e-6, 3.0, 7.0, 1.0, 1.0, 1e3])
    one, other = gml.glasso(table), gml.glasso(scaled)
    assert set(numbers(one.graph)) == set(numbers(other.graph))
    np.testing.assert_allclose(one.precision, other.precision, atol=1e-9)
    raw, scaled_raw = gml.glasso(table, raw=True, l1=0.3), gml.glasso(scaled, raw=True, l1=0.3)
    assert set(numbers(raw.graph)) != set(numbers(scaled_raw.graph))


@pytest.mark.parametrize("transform", ["rank", "normal"])
def test_monotone_changes_change_nothing_with_a_transform(table, transform):
    changed = table.copy()
    changed["v00"] = np.exp(changed["v00"])
    changed["v03"] = changed["v03"] ** 3
    one, other = (gml.glasso(frame, transform=transform) for frame in (table, changed))
    assert one.path == other.path
    assert numbers(one.graph) == numbers(other.graph)


def test_precision_is_the_inverse_covariance_with_raw(table):
    found = gml.glasso(table, raw=True, l1=0)
    expected = np.linalg.inv(np.cov(table.to_numpy().T, ddof=0))
    np.testing.assert_allclose(found.precision, expected, rtol=1e-8, atol=1e-9)


def test_a_graph_is_fitted_again_without_a_penalty(table):
    """Where there is an edge, the fitted correlation is that of the data (Dempster 1972)."""
    found = gml.glasso(table)
    matrix = np.corrcoef(table.to_numpy().T)
    fitted = np.linalg.inv(found.precision)
    joined = found.precision != 0
    np.testing.assert_allclose(fitted[joined], matrix[joined], atol=1e-9)
    penalised = gml.glasso(table, l1=found.l1)
    assert set(numbers(penalised.graph)) == set(numbers(found.graph))
    strongest = max(numbers(found.graph), key=lambda e: abs(numbers(found.graph)[e]["precision"]))
    shrunk, full = (
        abs(numbers(one.graph)[strongest]["partial_correlation"]) for one in (penalised, found)
    )
    assert shrunk < full


def test_more_columns_than_rows():
    found = gml.glasso(named(sparse_rows(1, 30, 20)))
    assert found.complete
    assert found.gap <= 1e-9
    assert np.linalg.eigvalsh(found.precision)[0] > 0


def test_strong_edges_are_found():
    rows = sparse_rows(2, 10, 5000)
    found = gml.glasso(named(rows))
    rng = np.random.default_rng(2)
    truth = set()
    for i in range(10):
        j = int(rng.integers(10))
        if i != j:
            truth.add((f"v{min(i, j):02}", f"v{max(i, j):02}"))
            rng.uniform(0.3, 0.8), rng.choice([-1, 1])
    assert set(numbers(found.graph)) == truth


def test_independent_columns_have_no_edge():
    rng = np.random.default_rng(0)
    found = gml.glasso(named(rng.normal(size=(500, 6))))
    assert found.graph.n_edges == 0
    assert np.array_equal(found.precision, np.eye(6))


def test_weights_are_repeated_rows(table):
    counts = np.random.default_rng(3).integers(1, 4, len(table))
    weighted = table.assign(times=counts)
    repeated = table.loc[np.repeat(table.index, counts)]
    for keywords in ({}, {"transform": "rank"}, {"folds": 3, "n_penalties": 15}):
        one = gml.glasso(weighted, weights="times", **keywords)
        other = gml.glasso(repeated, **keywords)
        assert one.path == other.path


def test_one_column_and_two():
    x = np.arange(10.0)
    assert gml.glasso(pd.DataFrame({"a": x})).graph.n_edges == 0
    both = gml.glasso(pd.DataFrame({"a": x, "b": x + np.sin(x)}))
    assert both.graph.n_edges == 1


def test_impossible_correlations_of_ranks_are_said_and_mended():
    rng = np.random.default_rng(8)
    frame = named(np.round(rng.normal(size=(6, 9)), 1))
    found = gml.glasso(frame, transform="rank")
    assert found.least_eigenvalue is not None
    assert found.least_eigenvalue < 0
    assert found.graph.learning["least_eigenvalue"] == found.least_eigenvalue


def test_provenance_has_the_path(table):
    found = gml.glasso(table, gamma=0.25)
    learning = found.graph.learning
    assert learning.command == "glasso"
    assert learning["settings"] == {
        "criterion": "ebic", "n_penalties": 100, "gamma": 0.25, "scale": "correlation",
        "transform": "none", "refit": True,
    }  # fmt: skip
    assert learning["l1"] == found.l1
    assert learning["path"]["ebic"] == [point.ebic for point in found.path]
    assert learning["precision_diagonal"] == dict(
        zip(found.graph.names, np.diagonal(found.precision).tolist(), strict=True)
    )
    assert found.graph.numeric == found.graph.names


def refused(frame, error, words, **keywords):
    with pytest.raises(error, match=words):
        gml.glasso(frame, **keywords)


def test_what_is_refused(table):
    constant = table.assign(same=1.0, other=2.0)
    refused(constant, gml.DataError, r"columns 'other', 'same' have only one value.*exclude")
    labels = gml.Dataset.from_frame(table.assign(sex=["f", "m"] * 60), numeric=list(table))
    refused(labels, gml.DataError, "glasso is for numeric columns, and column 'sex' is cat")
    refused(table, gml.UsageError, "`l1` must be 0 or more", l1=-1.0)
    refused(table, gml.UsageError, "`gamma` is about choosing a penalty", l1=0.1, gamma=0.5)
    refused(table, gml.UsageError, "`folds` belongs to", criterion="ebic", folds=3)
    refused(table, gml.UsageError, "`gamma` belongs to", folds=3, gamma=1.0)
    refused(table, gml.UsageError, "ranks have no units", raw=True, transform="rank")
    refused(table, gml.UsageError, "`transform` must be one of none, rank, normal", transform="x")
    refused(table, gml.UsageError, "numbers in the same rows", missing="available")
    refused(table, gml.UsageError, "is for labels", missing="level")
    refused(table.head(1), gml.CannotAnswer, "one row")
    refused(table.head(5), gml.CannotAnswer, "cannot be split", folds=6)


def test_collinear_columns_are_named_without_a_penalty(table):
    double = table.assign(w=table["v01"] + 2 * table["v04"])
    words = r"column 'w' is a linear function of 'v01', 'v04'.*raise `l1`"
    refused(double, gml.DataError, words, l1=0)
    found = gml.glasso(double, l1=0.05)
    assert found.gap <= 1e-9


def test_too_few_rows_to_fit_again():
    frame = named(sparse_rows(0, 12, 8))
    refused(frame, gml.CannotAnswer, "too few rows to fit this graph", l1=0.01, refit=True)


def test_time_is_up(table):
    refused(table, gml.CannotAnswer, "ran out before the first", l1=0.01, max_seconds=0)
