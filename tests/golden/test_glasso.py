"""The graphical lasso on Fisher's irises: figures of another, converged program."""

from __future__ import annotations

import numpy as np
import pytest

import gml
from tests.golden.iris import COLUMNS, iris


@pytest.fixture(scope="module")
def flowers():
    return iris()[list(COLUMNS)]


def test_irises_with_a_penalty_of_one(flowers):
    """S = SSE/n, the diagonal not penalised."""
    found = gml.glasso(flowers, l1=1.0, raw=True)
    expected = np.diag([1.5190747, 5.299055, 0.3498624, 1.8164353])
    expected[0, 2] = expected[2, 0] = -0.1304475
    expected[2, 3] = expected[3, 2] = -0.1683946
    assert [f"{value:.7g}" for value in found.precision.flat] == [
        f"{value:.7g}" for value in expected.flat
    ]
    assert found.gap < 1e-12
    edges = {found.graph.pair(edge): edge.attributes for edge in found.graph.edges}
    assert set(edges) == {(0, 2), (2, 3)}
    partial = 0.1304475 / (1.5190747 * 0.3498624) ** 0.5
    assert edges[0, 2]["partial_correlation"] == pytest.approx(partial, rel=1e-6)
    assert edges[0, 2]["precision"] == pytest.approx(-0.1304475, abs=5e-8)


def test_without_a_penalty_partial_correlations_are_the_textbook_ones(flowers):
    found = gml.glasso(flowers, l1=0)
    inverse = np.linalg.inv(np.corrcoef(flowers.to_numpy().T))
    for edge in found.graph.edges:
        i, j = found.graph.pair(edge)
        expected = -inverse[i, j] / np.sqrt(inverse[i, i] * inverse[j, j])
        assert edge.attributes["partial_correlation"] == pytest.approx(expected, rel=1e-9)
    assert found.graph.n_edges == 6


def test_marks_have_the_butterfly(shared):
    """Whittaker (1990, section 1.1): analysis and statistics, mechanics and vectors, algebra."""
    found = gml.glasso(shared / "data" / "real" / "marks.csv")
    edges = {frozenset((edge.source, edge.target)) for edge in found.graph.edges}
    wings = [("MECH", "VECT", "ALG"), ("ALG", "ANL", "STAT")]
    expected = {frozenset((a, b)) for wing in wings for a in wing for b in wing if a != b}
    assert edges == expected
