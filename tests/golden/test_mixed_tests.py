"""Figures of conditional and degenerate Gaussian tests on a published table."""

from __future__ import annotations

import math

import pytest

import gml

NUMBERS = ["D", "E", "G", "H"]


@pytest.fixture(scope="module")
def published_rows(shared):
    return gml.read(shared / "data/simulated/clgaussian.test.csv", numeric=NUMBERS)


@pytest.mark.parametrize(
    ("x", "y", "given", "statistic", "df"),
    [("D", "G", ["A", "C"], 292.76061632, 8), ("E", "F", ["B", "D"], 13.82551234, 9)],
)
def test_cg_of_clgaussian(published_rows, x, y, given, statistic, df):
    for pair in ((x, y), (y, x)):
        (row,) = gml.indtest(published_rows, *pair, given=given, test="cg")
        assert round(row["statistic"], 8) == statistic
        assert row["df"] == df
    if df == 9:
        assert round(row["p_value"], 8) == 0.12866888


def test_dg_statistics_follow_from_the_likelihood_of_the_whole(published_rows):
    """I·n is the gain of an arc: loglik −35384.46053460, and bic −60482.32762091 of the empty graph.

    Its 13 columns have a mean and a variance each.
    """
    counter = gml.MemoryCounter(published_rows)
    test = gml.TESTS["dg"](counter)
    names = [variable.name for variable in counter.variables]
    parents = {"D": "AH", "F": "BC", "E": "BD", "G": "ADEF"}
    gain = 0.0
    for child, known in parents.items():
        for k, parent in enumerate(known):
            given = tuple(names.index(other) for other in known[:k])
            result = test(names.index(parent), names.index(child), given)
            gain += result.n * result.mi
    empty = -60482.32762091 + 0.5 * 26 * math.log(5000)
    assert math.isclose(gain, -35384.46053460 - empty, abs_tol=3e-8)
