"""Latent classes and Gaussian mixtures, against published fits and converged runs of others.

Figures of carcinoma (Agresti 2002, table 13.1) and of the election study of 2000: poLCA and StepMix
from 50 starts; of faithful and iris: mclust and scikit-learn, run until nothing changed.
"""

from __future__ import annotations

import pandas as pd
import pytest

import gml
from tests.golden.faithful import faithful
from tests.golden.iris import COLUMNS, iris

pytestmark = pytest.mark.filterwarnings("ignore::gml.GmlWarning")

CARCINOMA = (
    "1111111:34 1111211:2 1211111:6 1211112:1 1211211:4 1211212:5 2111111:2 2121212:1 2211111:2 "
    "2211112:1 2211211:2 2211212:7 2211222:1 2212112:1 2212212:2 2212222:3 2221212:13 2221222:5 "
    "2222212:10 2222222:16"
)
LIKERT = [
    name + who for who in "GB" for name in ("MORAL", "CARES", "KNOW", "LEAD", "DISHON", "INTEL")
]
MEASURES = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


def carcinoma() -> pd.DataFrame:
    """What seven pathologists said of 118 slides."""
    pairs = [pair.split(":") for pair in CARCINOMA.split()]
    rows = [list(pattern) for pattern, count in pairs for _ in range(int(count))]
    return pd.DataFrame(rows, columns=list("ABCDEFG"))


def test_pathologists():
    found = gml.mixture(carcinoma(), components="1..3")
    values = [fit.log_likelihood for fit in found.fits]
    assert values == pytest.approx([-524.464818, -317.256837, -293.704979], abs=5e-7)
    assert [fit.table.g2 for fit in found.fits[1:]] == pytest.approx(
        [62.365429, 15.261712], abs=5e-7
    )
    assert [fit.n_parameters for fit in found.fits] == [7, 15, 23]
    assert [fit.table.df for fit in found.fits] == [120, 112, 104]
    assert not found.fits[0].table.is_sufficient
    assert found.chosen.n_classes == 3
    sizes = [0.44472766, 0.37356443, 0.18170792]
    assert found.model.cpt("class").table[0] == pytest.approx(sizes, abs=5e-9)
    # Several pathologists never erred on some class.
    extremes = [cpd.table for cpd in found.model.cpds[:-1]]
    assert sum(int((table < 1e-9).sum()) for table in extremes) >= 5


def test_four_items_cannot_tell_three_classes():
    with pytest.warns(gml.GmlWarning, match="tells 13 of its 14 parameters"):
        found = gml.mixture(carcinoma(), components=3, columns=["A", "B", "C", "D"])
    assert (found.chosen.n_parameters, found.chosen.rank, found.chosen.table.df) == (14, 13, 2)
    assert not found.chosen.is_identified


@pytest.mark.parametrize(
    ("missing", "rows", "expected"),
    [
        ("drop", 1311, [-18647.31236, -17344.92253, -16714.65914]),
        ("em", 1785, [-23782.30600, -22127.91329, -21311.53567]),
    ],
)
def test_voters(shared, missing, rows, expected):
    found = gml.mixture(
        shared / "data/real/election2000.csv",
        components="1..3",
        columns=LIKERT,
        missing=missing,
        em_restarts=5,
    )
    assert found.rows == rows
    assert [fit.log_likelihood for fit in found.fits] == pytest.approx(expected, abs=5e-6)
    assert all(fit.converged for fit in found.fits)


def test_the_geyser():
    found = gml.mixture(faithful(), components=2, covariance="VVV", gaussian=True)
    assert found.chosen.log_likelihood == pytest.approx(-1130.263960, abs=5e-7)
    profiles = found.profiles
    assert profiles.sizes[0] == pytest.approx(0.64412714, abs=5e-9)
    eruptions, waiting = profiles.columns
    assert eruptions.means == pytest.approx([4.28966197, 2.03638845], abs=5e-9)
    assert waiting.means == pytest.approx([79.96811517, 54.47851638], abs=5e-9)


def test_the_geyser_as_mclust_chooses():
    """mclust prints -1126.326236, where it stopped early, and chooses EEE with three classes."""
    found = gml.mixture(faithful(), components="1..4", gaussian=True, em_restarts=10)
    assert (found.chosen.n_classes, found.chosen.covariance) == (3, "EEE")
    assert found.chosen.log_likelihood == pytest.approx(-1126.315928, abs=5e-7)


def test_irises():
    found = gml.mixture(
        iris(), components=2, covariance="VVV", gaussian=True, columns=list(COLUMNS)
    )
    assert found.chosen.log_likelihood == pytest.approx(-214.354704, abs=5e-7)


def test_one_class_with_holes_is_the_saturated_normal_distribution(shared):
    found = gml.mixture(
        shared / "data/real/penguins.csv",
        components=1,
        covariance="VVV",
        columns=MEASURES,
        numeric=MEASURES,
    )
    assert found.chosen.log_likelihood == pytest.approx(-5520.402957, abs=5e-7)
