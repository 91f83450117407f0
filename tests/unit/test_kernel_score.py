"""The score by regressions between kernels: against matrices of rows × rows, and what it finds."""

from __future__ import annotations

import numpy as np
import pytest

import gml
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer, UsageError
from gml.scores.kernel_features import kernel_width, low_rank_features
from tests.mixed_tables import mixed_data

FOLDS, REGULARISER = 5, 0.01


def gram(column, width):
    if width is None:
        return (column[:, None] == column[None, :]).astype(float)
    return np.exp(-(((column[:, None] - column[None, :]) / width) ** 2) / 2)


def centred(matrix):
    n = len(matrix)
    h = np.eye(n) - 1 / n
    return h @ matrix @ h


def by_whole_matrices(data, child, parents):
    """The paper's equations, fold by fold; constants that no parents change are left out."""
    names = sorted(data.names)
    order = np.lexsort([data.columns[data.names.index(name)] for name in reversed(names)])
    columns = [column[order] for column in data.columns]
    widths = [
        kernel_width(c) if v.is_continuous else None
        for c, v in zip(columns, data.variables, strict=True)
    ]
    fold = np.random.default_rng(0).permutation(np.arange(data.n) % FOLDS)
    kx = centred(gram(columns[child], widths[child]))
    kz = np.zeros_like(kx)
    if parents:
        kz = centred(np.prod([gram(columns[j], widths[j]) for j in parents], axis=0))
    total = 0.0
    for q in range(FOLDS):
        test, train = np.flatnonzero(fold == q), np.flatnonzero(fold != q)
        n0, n1, ridge = len(test), len(train), REGULARISER
        inverse = np.linalg.inv(kz[np.ix_(train, train)] + n1 * ridge * np.eye(n1))
        x11, x01 = kx[np.ix_(train, train)], kx[np.ix_(test, train)]
        z01 = kz[np.ix_(test, train)]
        b = np.eye(n1) + n1 * ridge * inverse @ x11 @ inverse
        # Residuals of the test rows: products with one another, and with those of the other rows.
        own = (
            kx[np.ix_(test, test)]
            - x01 @ inverse @ z01.T
            - z01 @ inverse @ x01.T
            + z01 @ inverse @ x11 @ inverse @ z01.T
        )
        across = (x01 - z01 @ inverse @ x11) @ (n1 * ridge * inverse)
        a = own - across @ np.linalg.inv(b) @ across.T / (n1 * ridge)
        total -= 0.5 * (n0 * np.linalg.slogdet(b)[1] + np.trace(a) / ridge)
    return total


@pytest.mark.parametrize(("child", "parents"), [(1, ()), (1, (0, 3)), (0, (1,)), (3, (0, 1, 2))])
def test_with_enough_landmarks_it_is_the_score_of_the_paper(child, parents):
    data = mixed_data(3, n=60, kinds="lnln")
    score = gml.SCORES["kernel"](
        gml.MemoryCounter(data), landmarks=60, kernel_folds=FOLDS, regulariser=REGULARISER
    )
    expected = by_whole_matrices(data, child, parents)
    assert score.local(child, parents) == pytest.approx(expected, rel=1e-4)


def test_few_landmarks_come_close_and_features_reproduce_the_kernel():
    rng = np.random.default_rng(2)
    values, codes = rng.normal(size=200), rng.integers(0, 3, 200)
    columns, widths = [values, codes], [kernel_width(values), None]
    features = low_rank_features(columns, widths, 200)
    whole = centred(gram(values, widths[0]) * gram(codes, None))
    assert np.abs(features @ features.T - whole).max() < 1e-5
    assert features.shape[1] < 60
    data = mixed_data(4, n=200)
    many, few = (
        gml.SCORES["kernel"](gml.MemoryCounter(data), landmarks=m).local(4, (0, 1))
        for m in (200, 60)
    )
    assert few == pytest.approx(many, rel=1e-3)


def test_it_sees_what_is_not_linear():
    rng = np.random.default_rng(5)
    x, z = rng.normal(size=300), rng.normal(size=300)
    y = np.cos(2 * x) + 0.2 * rng.normal(size=300)
    label = (np.abs(z) > 0.7).astype(np.uint8)
    data = Dataset(
        (Variable("x", None), Variable("y", None), Variable("z", None), Variable("l", ("a", "b"))),
        (x, y, z, label),
    )
    found = gml.hc(data, score="kernel").graph
    pairs = {frozenset((e.source, e.target)) for e in found.edges}
    assert pairs == {frozenset("xy"), frozenset("zl")}
    assert gml.hc(data, score="bic-dg").graph.n_edges == 0


def test_what_it_does_not_do():
    data = mixed_data(1, n=15)
    with pytest.raises(CannotAnswer, match="15 rows are too few for 10 folds"):
        gml.hc(data, score="kernel")
    for learn in (gml.ges, lambda data, **how: gml.hc(data, cpdag=True, **how)):
        with pytest.raises(UsageError, match="kernel scores differently; use bic-dg, bic-cg"):
            learn(data, score="kernel")
    with pytest.raises(UsageError, match="`landmarks` must be at least 1, not 0"):
        gml.hc(data, score="kernel", landmarks=0)
