"""Numbers with holes: log-likelihoods of R's norm, mclust and scikit-learn, all to convergence."""

from __future__ import annotations

import numpy as np
import pytest

import gml
from gml.data.dataset import Dataset, Variable
from gml.model.em.em_report import EmSettings
from gml.model.em.fitting import fit_em
from gml.model.em.normal import normal_em
from tests.golden.iris import COLUMNS, iris

MEASURES = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


def full_edges(names):
    return [(names[i], "-->", names[j]) for j in range(len(names)) for i in range(j)]


def rows_with_holes(path, names, numeric):
    return gml.read(path, columns=names, numeric=numeric, missing="available", na=["", "NA"])


def test_bfi(shared):
    items = [f"{scale}{k}" for scale in "ACENO" for k in range(1, 6)]
    rows = rows_with_holes(shared / "data/real/bfi.csv", items, items)
    found = normal_em(np.column_stack(rows.columns))
    assert found.climb.converged
    assert found.log_likelihood == pytest.approx(-111941.247045, abs=2e-6)
    assert found.n == 2800


def test_penguins(shared):
    rows = rows_with_holes(shared / "data/real/penguins.csv", MEASURES, MEASURES)
    found = normal_em(np.column_stack(rows.columns))
    assert found.log_likelihood == pytest.approx(-5520.402957, abs=2e-6)
    assert found.n == 342
    # A network in which nothing is independent is the same distribution, whatever its order.
    for names in (MEASURES, MEASURES[::-1]):
        graph = gml.Graph.from_edges(names, full_edges(names))
        net = fit_em(graph, rows, settings=EmSettings(restarts=2))
        assert net.report.log_likelihood == pytest.approx(-5520.402957, abs=2e-6)
        # Rows have all four measures or none, which says nothing: there is nothing to climb.
        assert (net.report.steps, net.report.converged) == (1, True)


def test_iris_in_two_classes():
    names = list(COLUMNS)
    rows = iris()[names].to_numpy()
    data = Dataset(
        tuple(Variable(name, None) for name in names), tuple(column.copy() for column in rows.T)
    )
    edges = [*full_edges(names), *(("class", "-->", name) for name in names)]
    graph = gml.Graph.from_edges(["class", *names], edges)
    found = fit_em(graph, data, hidden={"class": 2}, settings=EmSettings(restarts=4))
    assert found.report.log_likelihood == pytest.approx(-214.354704, abs=1e-6)
    assert found.net.cpt("class").table[0] == pytest.approx([2 / 3, 1 / 3], abs=1e-4)
    one = fit_em(graph, data, hidden={"class": 1}, settings=EmSettings(restarts=1))
    assert one.report.log_likelihood == pytest.approx(normal_em(rows).log_likelihood, rel=1e-12)
