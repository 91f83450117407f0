"""Ranks in place of numbers: ties, weights, and what no monotone change of scale changes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from gml.counts.correlations import correlations_of, deviations_of
from gml.counts.exact_moments import moments_of
from gml.counts.rank_correlations import (
    midranks,
    normal_scores,
    rank_correlations,
    rank_transformed,
    without_negative_eigenvalues,
)
from gml.data.dataset import Dataset, Variable


def dataset(*columns, weights=None):
    names = tuple(Variable(name, None) for name in "ABCDEFGH"[: len(columns)])
    return Dataset(names, tuple(np.asarray(c, dtype=float) for c in columns), weights=weights)


@pytest.fixture
def tied():
    rng = np.random.default_rng(4)
    return rng.integers(0, 6, (3, 40)).astype(float)


def test_ranks_are_scipys(tied):
    for column in tied:
        assert np.array_equal(midranks(column), stats.rankdata(column))


def test_spearmans_rho_is_scipys(tied):
    expected = stats.spearmanr(tied.T).statistic
    found = rank_correlations(dataset(*tied), range(3))
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(found[off], 2 * np.sin(np.pi / 6 * expected)[off], atol=1e-14)
    assert np.array_equal(found, found.T)
    assert (np.diagonal(found) == 1).all()


def test_normal_scores_are_quantiles(tied):
    expected = stats.norm.ppf(stats.rankdata(tied[0]) / 41)
    np.testing.assert_allclose(normal_scores(tied[0]), expected, atol=1e-13)


def test_weights_are_repeated_rows(tied):
    weights = np.random.default_rng(1).integers(0, 4, 40)
    once = dataset(*tied, weights=weights)
    repeated = dataset(*np.repeat(tied, weights, axis=1))
    expected = rank_correlations(repeated, range(3))
    np.testing.assert_allclose(rank_correlations(once, range(3)), expected, atol=1e-15)
    at = np.flatnonzero(weights)[3]
    first = int(weights[:at].sum())
    assert midranks(tied[0], weights)[at] == midranks(np.repeat(tied[0], weights))[first]


def test_monotone_changes_and_the_order_of_rows_change_nothing(tied):
    rng = np.random.default_rng(0)
    order = rng.permutation(40)
    changed = [np.exp(tied[0]), tied[1] ** 3, -1 / (tied[2] + 1)]
    found = rank_correlations(dataset(*(column[order] for column in changed)), range(3))
    assert np.array_equal(found, rank_correlations(dataset(*tied), range(3)))


def test_monotone_columns_correlate_perfectly():
    x = np.linspace(0, 1, 9)
    found = rank_correlations(dataset(x, np.exp(x), -x), range(3))
    assert found.tolist() == [[1, 1, -1], [1, 1, -1], [-1, -1, 1]]


def test_a_constant_column_correlates_with_nothing():
    found = rank_correlations(dataset([1, 2, 3], [5, 5, 5]), range(2))
    assert found.tolist() == [[1, 0], [0, 1]]


def test_none_leaves_the_numbers_alone(tied):
    data = dataset(*tied)
    assert rank_transformed(data, range(3), "none") is data


def test_only_impossible_correlations_are_changed():
    possible = np.array([[1.0, 0.5], [0.5, 1.0]])
    assert without_negative_eigenvalues(possible).matrix is possible
    impossible = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    fixed = without_negative_eigenvalues(impossible)
    assert np.linalg.eigvalsh(fixed.matrix)[0] > -1e-12
    assert (np.diagonal(fixed.matrix) == 1).all()
    assert fixed.least == pytest.approx(-0.8)


def test_correlations_of_far_numbers_keep_their_digits():
    rng = np.random.default_rng(2)
    near = rng.integers(0, 1000, (2, 300)).astype(float)
    moments = moments_of(dataset(near[0] + 1e9, near[1]), range(2))
    found = correlations_of(moments)
    assert found[0, 1] == pytest.approx(np.corrcoef(near)[0, 1], rel=1e-12)
    np.testing.assert_allclose(deviations_of(moments), near.std(axis=1), rtol=1e-12)


def test_no_rows_no_ranks():
    assert midranks(np.empty(0)).tolist() == []
