"""Paths of penalised regressions: kernel, reference and plain proximal gradients agree."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gml.kernel import reference
from gml.kernel.penalty_paths import PathRule
from gml.learners.grouped_columns import PredictorTable
from tests.instructions import INSTRUCTIONS, kernel_with
from tests.predictor_tables import dependent_labels, plain_minimum

_kernel = pytest.importorskip("gml.kernel._kernel")

LEVELS = [(2, 2, 2, 2, 2, 2), (2, 3, 2, 4), (3, 2, 5, 2)]


def regressions(dataset, held_out=False, seed=0):
    """The regressions of a table, perhaps with some of the rows held out."""
    table = PredictorTable.of(dataset)
    counts = table.counts.astype(float)
    predicted = np.zeros(len(counts))
    if held_out:
        predicted[np.random.default_rng(seed).random(len(counts)) < 0.3] = 1.0
    weights = counts * (predicted == 0)
    predictors = table.predictors(weights / weights.sum())
    for column in range(len(table.names)):
        yield predictors.regression(column, predicted * counts if held_out else None)


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("seed", range(3))
def test_kernel_is_reference(levels, seed):
    dataset = dependent_labels(np.random.default_rng([seed, len(levels)]), levels, 150)
    for columns, response in regressions(dataset, held_out=seed == 2, seed=seed):
        for cost in (0.0, 0.03):
            rule = PathRule(9, 2e-2, cost=cost, tolerance=1e-10)
            ours = _kernel.penalty_path(columns, response, rule)
            plain = reference.penalty_path(columns, response, rule)
            assert len(ours.penalties) == len(plain.penalties)
            assert np.array_equal(ours.parameters, plain.parameters)
            assert np.array_equal(ours.norms > 0, plain.norms > 0)
            np.testing.assert_allclose(ours.penalties, plain.penalties, rtol=1e-13)
            # At a minimum the whole hardly changes with the coefficients, its parts do.
            whole = [
                path.losses + path.penalties * (path.norms @ columns.group_weights)
                for path in (ours, plain)
            ]
            np.testing.assert_allclose(*whole, rtol=1e-13)
            np.testing.assert_allclose(ours.losses, plain.losses, rtol=1e-11)
            np.testing.assert_allclose(ours.held_out, plain.held_out, rtol=1e-8)
            np.testing.assert_allclose(ours.norms, plain.norms, rtol=1e-6, atol=1e-8)
            assert max(ours.gaps.max(), plain.gaps.max()) <= 1e-10


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("target", [0, 1])
def test_minimum(levels, target):
    """The penalised loss and the norms are those of the minimum, whatever bases and scores."""
    dataset = dependent_labels(np.random.default_rng(target), levels, 200)
    columns, response = list(regressions(dataset))[target]
    path = _kernel.penalty_path(columns, response, PathRule(9, 1e-2))
    for k in (2, 4, 7):
        penalty = float(path.penalties[k])
        found = path.losses[k] + penalty * np.dot(columns.group_weights, path.norms[k])
        expected, norms = plain_minimum(dataset, target, penalty)
        assert found == pytest.approx(expected, rel=1e-11)
        # Scores of two classes are plus and minus half of the log odds.
        scale = math.sqrt(2) if response.n_classes == 2 else 1.0
        np.testing.assert_allclose(path.norms[k], scale * norms, atol=1e-5)
        assert np.array_equal(path.norms[k] > 0, norms > 1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_path_that_is_cut_short_has_the_best(seed):
    """What the extended BIC chooses on the whole path comes before the end of the short one."""
    rng = np.random.default_rng(seed)
    n, levels = 400, ([2] * 12, [2] * 12, [3, 2, 4, 2, 2, 3], [2, 3, 2, 3, 2, 3])[seed]
    dataset = dependent_labels(rng, levels, n)
    shorter = 0
    for columns, response in regressions(dataset):
        for gamma in (0.0, 0.25):
            cost = (math.log(n) + 2 * gamma * math.log(len(levels) - 1)) / n
            whole = _kernel.penalty_path(columns, response, PathRule(60, 1e-3))
            short = _kernel.penalty_path(columns, response, PathRule(60, 1e-3, cost=cost))
            best = [np.argmin(2 * path.losses + cost * path.parameters) for path in (whole, short)]
            assert best[0] == best[1]
            shorter += len(short.penalties) < len(whole.penalties)
    assert shorter > len(levels)


def test_hessian_without_room():
    dataset = dependent_labels(np.random.default_rng(5), [2, 3, 3], 100)
    (columns, response), *_ = regressions(dataset)
    for kernel in (_kernel, reference):
        path = kernel.penalty_path(columns, response, PathRule(10, 1e-2, room=3))
        assert path.needed > 3
        assert len(path.penalties) == 1


@pytest.mark.parametrize(
    "part",
    ["starts", "ranks", "bases", "base_starts", "means", "group_weights", "classes", "held_out"],
)
def test_what_does_not_go_together_is_refused(part):
    """The kernel would read beyond the end of it."""
    dataset = dependent_labels(np.random.default_rng(5), [2, 3, 3], 100)
    columns, response = list(regressions(dataset, held_out=True))[1]
    if part == "classes":
        response = response._replace(classes=response.classes + np.int32(1))
    elif part == "held_out":
        response = response._replace(held_out=response.held_out[:-1])
    else:
        columns = columns._replace(**{part: getattr(columns, part)[:-1].copy()})
    with pytest.raises(ValueError, match="groups|classes"):
        _kernel.penalty_path(columns, response, PathRule(10, 1e-2))


@pytest.mark.parametrize("levels", LEVELS)
def test_instructions_make_no_difference(levels):
    dataset = dependent_labels(np.random.default_rng(4), levels, 300)
    found = []
    for instructions in INSTRUCTIONS:
        with kernel_with(instructions) as kernel:
            paths = [kernel.penalty_path(*one, PathRule(9, 2e-2)) for one in regressions(dataset)]
        found.append([(path.losses.tobytes(), path.norms.tobytes()) for path in paths])
    assert found[0] == found[1] == found[2]


def test_scores_beyond_all_bounds():
    """A column that is a copy of another: the loss goes to 0, and the path ends there."""
    dataset = dependent_labels(np.random.default_rng(5), [2, 2], 100)
    copied = type(dataset)(dataset.variables, (dataset.columns[0], dataset.columns[0]))
    for columns, response in regressions(copied):
        ours = _kernel.penalty_path(columns, response, PathRule(100, 1e-6))
        plain = reference.penalty_path(columns, response, PathRule(100, 1e-6))
        assert len(ours.penalties) == len(plain.penalties) < 100
        assert ours.losses[-1] < 1e-3 * ours.losses[0]
        np.testing.assert_allclose(ours.losses, plain.losses, rtol=1e-9)


def test_kernel_asks_whether_to_go_on():
    """Between steps, at most ten times a second; what the answer raises comes out."""
    dataset = dependent_labels(np.random.default_rng(1), [9] * 9, 3000)
    (columns, response), *_ = regressions(dataset)
    shares = []

    def once(share):
        shares.append(share)
        return len(shares) < 2

    def never(share):
        raise KeyError("enough")

    path = _kernel.penalty_path(columns, response, PathRule(100, 1e-4, watch=once))
    assert not path.is_wanted
    assert len(path.penalties) < 100
    assert len(shares) == 2
    assert 0 <= shares[0] <= shares[1] < 1
    with pytest.raises(KeyError, match="enough"):
        _kernel.penalty_path(columns, response, PathRule(100, 1e-4, watch=never))


@pytest.mark.parametrize("target", [0, 1, 4])
def test_many_levels(target):
    """Groups of many coefficients, nearly separated classes: the conditions of a minimum hold."""
    dataset = dependent_labels(np.random.default_rng(7), [2, 9, 12, 3, 7, 2], 500)
    columns, response = list(regressions(dataset))[target]
    path = _kernel.penalty_path(columns, response, PathRule(40, 1e-3))
    assert len(path.penalties) == 40 or path.losses[-1] < 1e-3 * path.losses[0]
    assert path.gaps.max() <= 1e-7
    penalty = float(path.penalties[8])
    expected, norms = plain_minimum(dataset, target, penalty)
    found = path.losses[8] + penalty * np.dot(columns.group_weights, path.norms[8])
    assert found == pytest.approx(expected, rel=1e-10)
    assert np.array_equal(path.norms[8] > 0, norms > 1e-7)
