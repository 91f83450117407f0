"""Sparse precision matrices: conditions of a minimum, blocks, penalties of single entries."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gml.learners.sparse_precision import LARGEST_GAP, blocks, sparse_precision
from gml.progress import Deadline
from tests.gaussian_tables import correlations


def off_diagonal(size, l1):
    return l1 * (1 - np.eye(size))


def missed_by(matrix, precision, penalties):
    """By how much the conditions of Karush, Kuhn and Tucker are missed, from the definition."""
    slope = matrix - np.linalg.inv(precision)
    at_zero = np.maximum(np.abs(slope) - penalties, 0)
    return float(
        np.where(precision == 0, at_zero, slope + penalties * np.sign(precision)).__abs__().max()
    )


def objective(matrix, precision, penalties):
    return (
        -np.linalg.slogdet(precision)[1]
        + np.sum(matrix * precision)
        + np.sum(penalties * np.abs(precision))
    )


@pytest.mark.parametrize("l1", [0.01, 0.05, 0.2, 0.6])
@pytest.mark.parametrize(("size", "rows"), [(2, 50), (7, 100), (15, 40), (15, 10), (40, 25)])
def test_conditions_of_a_minimum(size, rows, l1):
    matrix = correlations(size + rows, size, rows)
    penalties = off_diagonal(size, l1)
    found = sparse_precision(matrix, penalties)
    assert found.is_wanted
    assert found.gap <= LARGEST_GAP
    assert missed_by(matrix, found.precision, penalties) < 1e-9
    assert np.array_equal(found.precision, found.precision.T)
    assert np.linalg.eigvalsh(found.precision)[0] > 0
    assert found.log_determinant == pytest.approx(np.linalg.slogdet(found.precision)[1], abs=1e-9)
    np.testing.assert_allclose(found.covariance @ found.precision, np.eye(size), atol=1e-9)


def test_the_gap_bounds_the_distance_from_the_minimum():
    matrix, penalties = correlations(5, 10, 30), off_diagonal(10, 0.1)
    found = sparse_precision(matrix, penalties)
    least = objective(matrix, found.precision, penalties)
    rng = np.random.default_rng(0)
    for _ in range(100):
        change = rng.normal(0, 1e-3, (10, 10))
        near = found.precision + change + change.T
        assert objective(matrix, near, penalties) >= least - found.gap - 1e-12


def test_blocks_are_those_of_the_whole_problem():
    """Entries across blocks are 0, and the whole matrix fulfils the conditions of a minimum."""
    matrix, penalties = correlations(2, 30, 200), off_diagonal(30, 0.25)
    found = sparse_precision(matrix, penalties)
    parts = list(blocks(np.abs(matrix) > penalties))
    assert 1 < len(parts) < 30
    assert found.blocks == len(parts)
    assert missed_by(matrix, found.precision, penalties) < 1e-9
    assert [m.tolist() for m in blocks(found.precision != 0)] == [m.tolist() for m in parts]
    for members in parts:
        alone = sparse_precision(
            matrix[np.ix_(members, members)], penalties[np.ix_(members, members)]
        )
        np.testing.assert_array_equal(alone.precision, found.precision[np.ix_(members, members)])


def test_a_start_changes_nothing():
    matrix = correlations(8, 20, 60)
    far = sparse_precision(matrix, off_diagonal(20, 0.3))
    cold = sparse_precision(matrix, off_diagonal(20, 0.1))
    warm = sparse_precision(matrix, off_diagonal(20, 0.1), start=far.precision)
    np.testing.assert_allclose(warm.precision, cold.precision, atol=1e-9)
    assert np.array_equal(warm.precision != 0, cold.precision != 0)


def test_without_a_penalty_it_is_the_inverse():
    matrix = correlations(1, 12, 100)
    found = sparse_precision(matrix, np.zeros((12, 12)))
    np.testing.assert_allclose(found.precision, np.linalg.inv(matrix), rtol=1e-9, atol=1e-9)


def test_entries_that_have_to_be_zero():
    """A chain a — b — c: the estimate has a closed form (Lauritzen 1996, proposition 5.9)."""
    matrix = np.array([[1.0, 0.6, 0.5], [0.6, 1.0, -0.3], [0.5, -0.3, 1.0]])
    penalties = np.zeros((3, 3))
    penalties[0, 2] = penalties[2, 0] = math.inf
    found = sparse_precision(matrix, penalties)
    expected = np.zeros((3, 3))
    for pair in ([0, 1], [1, 2]):
        expected[np.ix_(pair, pair)] += np.linalg.inv(matrix[np.ix_(pair, pair)])
    expected[1, 1] -= 1
    np.testing.assert_allclose(found.precision, expected, atol=1e-12)
    assert found.gap < 1e-12


def test_perfect_correlations_are_no_problem_for_a_penalty():
    found = sparse_precision(np.ones((3, 3)), off_diagonal(3, 0.1))
    assert found.gap <= LARGEST_GAP
    assert missed_by(np.ones((3, 3)), found.precision, off_diagonal(3, 0.1)) < 1e-9


def test_a_penalty_on_the_diagonal():
    found = sparse_precision(np.eye(2), np.full((2, 2), 0.25))
    np.testing.assert_allclose(found.precision, np.eye(2) / 1.25)


def test_no_time():
    matrix = correlations(3, 10, 30)
    assert not sparse_precision(matrix, off_diagonal(10, 0.05), deadline=Deadline(0)).is_wanted
