"""Published figures of log-linear models, and errors as Newton's method has them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import gml
from gml.model.undirected.fitting import Penalty
from gml.model.undirected.observed import tables_over
from gml.model.undirected.quality.errors_of_terms import standard_errors
from gml.model.undirected.quality.goodness import summarise
from gml.model.undirected.terms import Terms
from tests.log_linear_fits import NewtonFit


def newton(path, scopes=None):
    counter = gml.MemoryCounter(gml.read(path))
    names = [variable.name for variable in counter.variables]
    terms = Terms.of(counter.variables, combinations(names, 2) if scopes is None else scopes)
    (table,) = tables_over(counter, terms, (tuple(range(len(names))),))
    return counter, terms, NewtonFit(table, terms)


@pytest.mark.parametrize(
    ("name", "scopes", "g2", "x2", "df"),
    [
        ("hair_eye_color", None, 6.76125042, 6.86902724, 9),
        ("ucb_admissions", None, 20.20427533, 18.82428078, 5),
        ("lizards", None, 0.14934063, None, 1),
        ("reinis", None, 47.35097876, 45.03901852, 42),
        ("reinis", [], 843.95695562, None, 57),
    ],
)
def test_goodness_of_fit(shared, name, scopes, g2, x2, df):
    counter, terms, fit = newton(shared / f"data/real/{name}.csv", scopes)
    found = summarise(counter, terms, fit.fitted(), Penalty())
    assert found.g2 == pytest.approx(g2, abs=6e-9)
    assert x2 is None or found.x2 == pytest.approx(x2, abs=6e-9)
    assert found.df == df


def test_reinis(shared):
    counter, terms, fit = newton(shared / "data/real/reinis.csv")
    found = summarise(counter, terms, fit.fitted(), Penalty())
    assert found.log_likelihood == pytest.approx(-6666.80913721, abs=5e-9)
    errors = standard_errors(counter, terms, fit.fitted(), Penalty())
    for one, other in zip(errors, fit.errors(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
