"""EM on tables with missing values and hidden nodes: published and independently computed figures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gml
from gml.data.dataset import Variable, missing_code
from gml.model.em.fitting import EmSettings, fit_em
from tests.incomplete_rows import table_of

CARCINOMA = """
1111111:34 1111211:2 1211111:6 1211112:1 1211211:4 1211212:5 2111111:2 2121212:1 2211111:2
2211112:1 2211211:2 2211212:7 2211222:1 2212112:1 2212212:2 2212222:3 2221212:13 2221222:5
2222212:10 2222222:16
"""


def latent_classes(items, k):
    """The graph of classes, and how many of them."""
    return gml.Graph.from_edges(["class", *items], [("class", "-->", item) for item in items]), {
        "class": k
    }


@pytest.fixture(scope="module")
def carcinoma():
    pairs = [pair.split(":") for pair in CARCINOMA.split()]
    raters = [Variable(name, ("1", "2")) for name in "ABCDEFG"]
    rows = [[int(digit) - 1 for digit in pattern] for pattern, _ in pairs]
    return table_of(raters, rows, [int(count) for _, count in pairs])


@pytest.mark.parametrize(
    ("k", "log_likelihood", "g2"),
    [(1, -524.464818, None), (2, -317.256837, 62.365429), (3, -293.704979, 15.261712)],
)
def test_carcinoma(carcinoma, k, log_likelihood, g2):
    graph, hidden = latent_classes("ABCDEFG", k)
    found = fit_em(graph, carcinoma, hidden=hidden).report
    assert found.converged
    assert found.log_likelihood == pytest.approx(log_likelihood, abs=5e-7)
    if g2 is not None:
        n = carcinoma.weights
        saturated = float((n * np.log(n / n.sum())).sum())
        assert 2 * (saturated - found.log_likelihood) == pytest.approx(g2, abs=1e-6)


def test_sizes_of_three_classes(carcinoma):
    graph, hidden = latent_classes("ABCDEFG", 3)
    found = fit_em(graph, carcinoma, hidden=hidden)
    sizes = found.net.cpt("class").table[0]
    assert sizes == pytest.approx([0.44472766, 0.37356443, 0.18170792], abs=1e-8)
    # Published fits have several probabilities at the boundary.
    assert sum((found.net.cpt(rater).table < 1e-8).sum() for rater in "ABCDEFG") >= 4


@pytest.mark.filterwarnings("ignore:474 of 1785 rows dropped")
@pytest.mark.parametrize(
    ("missing", "k", "log_likelihood"),
    [
        ("drop", 1, -18647.31236),
        ("drop", 2, -17344.92253),
        ("drop", 3, -16714.65914),
        ("available", 1, -23782.30600),
        ("available", 2, -22127.91329),
        ("available", 3, -21311.53567),
    ],
)
def test_election(shared, missing, k, log_likelihood):
    traits = ("MORAL", "CARES", "KNOW", "LEAD", "DISHON", "INTEL")
    items = [f"{trait}{who}" for who in "GB" for trait in traits]
    data = gml.read(shared / "data/real/election2000.csv", columns=tuple(items), missing=missing)
    graph, hidden = latent_classes(items, k)
    settings = EmSettings(information=False)
    found = fit_em(graph, data, hidden=hidden, settings=settings).report
    assert found.converged
    assert found.log_likelihood == pytest.approx(log_likelihood, abs=5e-6)


def test_two_way_table_with_both_margins_partly_seen():
    rows = [(0, 0), (0, 1), (0, -1), (1, 0), (1, 1), (1, -1), (-1, 0), (-1, 1)]
    counts = [392, 55, 33, 76, 38, 9, 31, 7]
    variables = [Variable("first", ("no", "yes")), Variable("second", ("no", "yes"))]
    graph = gml.Graph.from_edges(["first", "second"], [("first", "-->", "second")])
    found = fit_em(graph, table_of(variables, rows, counts))
    joint = found.net.cpt("first").table.T * found.net.cpt("second").table
    wanted = [0.697123348738, 0.098630435197, 0.135783033800, 0.068463182265]
    assert joint.reshape(-1) == pytest.approx(wanted, abs=5e-12)
    assert found.report.log_likelihood == pytest.approx(-562.503373071, abs=5e-10)


def test_a_row_with_nothing_observed_changes_nothing():
    variables = [Variable("first", ("no", "yes")), Variable("second", ("no", "yes"))]
    graph = gml.Graph.from_edges(["first", "second"], [("first", "-->", "second")])
    rows, counts = [(0, 0), (0, 1), (1, -1), (1, 1), (-1, 0)], [30, 5, 7, 11, 13]
    found = fit_em(graph, table_of(variables, rows, counts))
    more = fit_em(graph, table_of(variables, [*rows, (-1, -1)], [*counts, 50]))
    assert more.report.log_likelihood == found.report.log_likelihood
    for name in ("first", "second"):
        assert (more.net.cpt(name).table == found.net.cpt(name).table).all()
        assert more.net.cpt(name).expected_counts.sum() == pytest.approx(116)


@pytest.fixture(scope="module")
def asia(shared):
    data = gml.read(shared / "golden/asia_10000.csv.gz")
    holes = np.random.RandomState(0).rand(10000, 8) < 0.2
    columns = [column.copy() for column in data.columns]
    for column, missing in zip(columns, holes.T, strict=True):
        column[missing] = missing_code(column)
    return replace(data, columns=tuple(columns))


def test_asia_with_a_fifth_missing(asia):
    graph = gml.read_graph("sample_data/asia.dot")
    found = fit_em(graph, asia, settings=EmSettings(restarts=6))
    assert found.report.log_likelihood == pytest.approx(-18573.30417, abs=5e-6)
    assert (found.report.times_best, found.report.converged) == (6, True)
    wanted = {
        ("tub", "asia=yes"): 0.108755,
        ("lung", "smoke=yes"): 0.104358,
        ("lung", "smoke=no"): 0.006535,
        ("bronc", "smoke=yes"): 0.608239,
        ("bronc", "smoke=no"): 0.292233,
        ("xray", "either=yes"): 0.986115,
        ("xray", "either=no"): 0.049416,
    }
    for (child, given), probability in wanted.items():
        parent, level = given.split("=")
        cpt = found.net.cpt(child)
        row = cpt.table[cpt.configurations().index((level,))]
        assert parent == cpt.parents[0].name
        assert row[cpt.variable.levels.index("yes")] == pytest.approx(probability, abs=5e-7), child
