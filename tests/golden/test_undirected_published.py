"""Log-linear and Ising models of published tables; references: R's loglin and MASS at eps 1e-10."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gml.data.dataset import Variable
from gml.model.undirected.exact.clique_margins import CliqueMargins
from gml.model.undirected.exact.fit_exact import fit_exact
from gml.model.undirected.terms import Terms
from tests.contingency_tables import (
    hair_eye_color,
    joint_of_fit,
    lizards,
    reinis,
    student_survey,
    ucb_admissions,
)


def goodness(table, scopes, **options):
    """G², X² and the fitted counts, in the order of names."""
    terms = Terms.of(table.variables, scopes)
    fitted = fit_exact(table.counter(), terms, **options)
    assert fitted.converged
    assert fitted.gap <= 1e-9
    order = [table.names.index(name) for name in terms.names]
    counts = table.counts.transpose(order)
    expected = counts.sum() * joint_of_fit(terms, fitted)
    seen = counts > 0
    g2 = 2 * float((counts[seen] * np.log(counts[seen] / expected[seen])).sum())
    return g2, float(((counts - expected) ** 2 / expected).sum()), expected


STUDENTS = [
    (["A", "C", "M"], 1286.01995442),
    (["AC", "M"], 843.82664367),
    (["AM", "C"], 939.56258595),
    (["CM", "A"], 534.21167138),
    (["AC", "AM"], 497.36927519),
    (["AC", "CM"], 92.01836062),
    (["AM", "CM"], 187.75430291),
    (["AC", "AM", "CM"], 0.37398587),
]


@pytest.mark.parametrize(("generators", "expected"), STUDENTS)
@pytest.mark.parametrize("algorithm", ["auto", "newton", "l-bfgs"])
def test_models_of_the_student_survey(generators, expected, algorithm):
    g2, _, _ = goodness(student_survey(), generators, algorithm=algorithm)
    assert round(g2, 8) == expected


def test_all_pairs_of_the_student_survey():
    table = student_survey()
    _, x2, expected = goodness(table, table.pairs)
    assert round(x2, 8) == 0.40110052
    assert round(float(expected[0, 0, 0]), 5) == 910.38317
    terms = Terms.of(table.variables, table.pairs)
    fitted = fit_exact(table.counter(), terms)
    pairs = [float(pair[0, 0]) for pair in fitted.tables[3:]]
    assert pairs == pytest.approx([0.513633523548, 0.746503610476, 0.7119722985], abs=1e-12)


ALL_PAIRS = [
    (hair_eye_color, 6.76125042, 6.86902724),
    (ucb_admissions, 20.20427533, 18.82428078),
    (lizards, 0.14934063, None),
    (reinis, 47.35097876, 45.03901852),
]


@pytest.mark.parametrize(("table", "expected_g2", "expected_x2"), ALL_PAIRS)
def test_all_pairs_of_published_tables(table, expected_g2, expected_x2):
    g2, x2, _ = goodness(table(), table().pairs)
    assert round(g2, 8) == expected_g2
    if expected_x2 is not None:
        assert round(x2, 8) == expected_x2


def test_independence_in_reinis():
    assert round(goodness(reinis(), [])[0], 8) == 843.95695562


def test_the_ising_model_of_reinis():
    table = reinis()
    terms = Terms.of(table.variables, table.pairs)
    fitted = fit_exact(table.counter(), terms)
    joint = joint_of_fit(terms, fitted)
    counts = table.counts.transpose([table.names.index(name) for name in terms.names])
    assert round(float((counts * np.log(joint)).sum()), 8) == -6666.80913721
    found = {
        frozenset(terms.names[k] for k in scope): round(float(term.flat[-1]), 8)
        for scope, term in zip(terms.all, fitted.tables, strict=True)
    }
    fields = [found[frozenset([name])] for name in table.names]
    assert fields == [0.01592516, 0.16896315, 0.12461076, 0.11021314, 0.09683357, 0.88203478]
    couplings = {
        "mental smoke": -0.00786876,
        "phys smoke": 0.13322481,
        "smoke systol": -0.09255721,
        "protein smoke": 0.12181758,
        "mental phys": -0.69804696,
    }
    for pair, expected in couplings.items():
        assert found[frozenset(pair.split())] == expected


def bonds(side, *, wraps):
    """Neighbours on a square lattice."""
    for i in range(side):
        for j in range(side):
            for a, b in ((i + 1, j), (i, j + 1)):
                if wraps or (a < side and b < side):
                    yield f"{i}{j}", f"{a % side}{b % side}"


LATTICES = [
    (True, 0.2, 11.771470358542, 7.298165913),
    (True, 0.5 * math.log(1 + math.sqrt(2)), 15.521915458755, 25.049980602),
    (False, 0.2, 11.581576909341, None),
]


@pytest.mark.parametrize(("wraps", "coupling", "log_z", "alike"), LATTICES)
def test_lattices_without_a_field(wraps, coupling, log_z, alike):
    pairs = list(bonds(4, wraps=wraps))
    names = sorted({name for pair in pairs for name in pair})
    terms = Terms.of([Variable(name, ("-1", "1")) for name in names], pairs)
    product = np.array([[1.0, -1.0], [-1.0, 1.0]])
    found = CliqueMargins(terms, terms.generators).of([coupling * product] * len(pairs))
    assert round(found.log_z, 12) == log_z
    if alike is not None:
        expected = sum(float((margin * product).sum()) for margin in found.margins)
        assert round(expected, 9) == alike
