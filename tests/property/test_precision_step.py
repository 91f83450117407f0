"""Newton steps of penalised precision matrices: kernel and reference agree, and solve the model."""

from __future__ import annotations

import numpy as np
import pytest

from gml.kernel import reference
from tests.instructions import INSTRUCTIONS, kernel_with


def problem(seed, size, share):
    """A gradient, a covariance, its inverse, penalties, and some pairs of the upper triangle."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, 2 * size))
    covariance = root @ root.T / (2 * size)
    precision = np.linalg.inv(covariance)
    precision = (precision + precision.T) / 2
    gradient = rng.normal(0, 0.3, (size, size))
    gradient = gradient + gradient.T
    penalties = np.full((size, size), 0.1) * (1 - np.eye(size))
    chosen = np.triu((rng.random((size, size)) < share) | np.eye(size, dtype=bool))
    rows, columns = np.nonzero(chosen)
    starts = np.searchsorted(rows, np.arange(size + 1)).astype(np.int64)
    return gradient, covariance, precision, penalties, starts, columns.astype(np.int32)


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize(("size", "share"), [(1, 1.0), (5, 0.5), (8, 1.0), (23, 0.3), (40, 0.1)])
def test_the_kernel_steps_as_its_reference(instructions, size, share):
    parts = problem(size, size, share)
    with kernel_with("portable") as kernel:
        portable = kernel.precision_step(*parts, 1e-3, 50)
    with kernel_with(instructions) as kernel:
        step, sweeps = kernel.precision_step(*parts, 1e-3, 50)
    assert np.array_equal(step, portable[0])
    assert sweeps == portable[1]
    expected, expected_sweeps = reference.precision_step(*parts, 1e-3, 50)
    assert sweeps == expected_sweeps
    np.testing.assert_allclose(step, expected, rtol=1e-9, atol=1e-11)


def test_a_step_minimises_the_model():
    gradient, covariance, precision, penalties, starts, columns = problem(3, 12, 0.6)
    step, sweeps = reference.precision_step(
        gradient, covariance, precision, penalties, starts, columns, 1e-12, 2000
    )
    assert 1 < sweeps < 2000
    assert np.array_equal(step, step.T)
    rows = np.repeat(np.arange(12), np.diff(starts))
    chosen = np.zeros((12, 12), dtype=bool)
    chosen[rows, columns] = chosen[columns, rows] = True
    assert not step[~chosen].any()
    slope = gradient + covariance @ step @ covariance
    there = precision + step
    at_zero = np.abs(slope) <= penalties + 1e-9
    beyond = np.abs(slope + penalties * np.sign(there)) <= 1e-9
    assert np.where(np.abs(there) < 1e-12, at_zero, beyond)[chosen].all()


@pytest.mark.parametrize("name", ["compiled", "reference"])
def test_no_pairs_no_step(name):
    kernel = reference if name == "reference" else pytest.importorskip("gml.kernel._kernel")
    parts = [np.eye(3)] * 4
    step, sweeps = kernel.precision_step(
        *parts, np.zeros(4, dtype=np.int64), np.zeros(0, dtype=np.int32), 0.1, 9
    )
    assert not step.any()
    assert sweeps == 1


def test_the_compiled_kernel_refuses_other_shapes():
    kernel = pytest.importorskip("gml.kernel._kernel")
    gradient, covariance, precision, penalties, starts, columns = problem(1, 4, 1.0)
    with pytest.raises(ValueError, match="one size"):
        kernel.precision_step(
            gradient[:3], covariance, precision, penalties, starts, columns, 0.1, 5
        )
    with pytest.raises(ValueError, match="other pairs"):
        kernel.precision_step(
            gradient, covariance, precision, penalties, starts[1:], columns, 0.1, 5
        )
    with pytest.raises(ValueError, match="upper triangle"):
        kernel.precision_step(
            gradient, covariance, precision, penalties, starts, columns[::-1].copy(), 0.1, 5
        )
