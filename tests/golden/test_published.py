"""Figures printed in papers and documentation, to the printed digits."""

from __future__ import annotations

import math

import pytest

import gml
from gml.independence.registry import TESTS
from gml.learners.chowliu import chow_liu

from .published_tables import ADMISSIONS, CHOW_LIU, HAIR_EYE, LIZARDS, TITANIC, as_dataset


def run_test(table, name, x, y, given=(), **options):
    counter = gml.MemoryCounter(table)
    at = table.names.index
    return TESTS[name](counter, **options)(at(x), at(y), tuple(at(z) for z in given))


def printed(value, expected, digits):
    """Whether a value agrees with a printed one to its decimal digits."""
    return abs(value - expected) <= 0.5000001 * 10**-digits


def test_chow_liu_1968_mutual_information():
    table = as_dataset(CHOW_LIU)
    expected = {
        ("x1", "x2"): (0.079, 3), ("x1", "x3"): (0.00005, 5), ("x1", "x4"): (0.0051, 4),
        ("x2", "x3"): (0.189, 3), ("x2", "x4"): (0.0051, 4), ("x3", "x4"): (0.0051, 4),
    }  # fmt: skip
    for (x, y), (value, digits) in expected.items():
        assert printed(run_test(table, "g", x, y).mi, value, digits)


def test_chow_liu_1968_tree_with_its_three_way_tie():
    """x4 may hang on x1, x2 or x3; ties go by the pair of names, so it is x1."""
    tree = chow_liu(gml.MemoryCounter(as_dataset(CHOW_LIU)), directed=False).graph
    edges = {(e.source, e.target) for e in tree.edges}
    assert edges == {("x2", "x3"), ("x1", "x2"), ("x1", "x4")}


def test_lizards():
    table = as_dataset(LIZARDS)
    g = run_test(table, "g", "Height", "Diameter", ["Species"])
    x2 = run_test(table, "chi2", "Height", "Diameter", ["Species"])
    assert g.statistic == pytest.approx(2.025646649876277, rel=1e-12)
    assert x2.statistic == pytest.approx(2.0173636681378735, rel=1e-12)
    assert g.df == x2.df == 2
    assert math.exp(g.log_p) == pytest.approx(0.36319212, abs=5e-9)
    assert math.exp(x2.log_p) == pytest.approx(0.3646994, abs=5e-8)


def test_admissions_marginal():
    table = as_dataset(ADMISSIONS)
    g, x2 = (run_test(table, name, "Admit", "Gender") for name in ("g", "chi2"))
    # 91.61 would be Yates' correction, which nobody asked for
    assert printed(x2.statistic, 92.205, 3)
    assert printed(g.statistic, 93.449, 3)
    assert g.df == 1


def test_admissions_given_department():
    table = as_dataset(ADMISSIONS)
    g, x2 = (run_test(table, name, "Admit", "Gender", ["Dept"]) for name in ("g", "chi2"))
    assert printed(g.statistic, 21.7355, 4)
    assert printed(x2.statistic, 19.9384, 4)
    assert g.df == 6
    assert printed(math.exp(g.log_p), 0.001352, 6)


def test_hair_and_eye_colour():
    table = as_dataset(HAIR_EYE)
    g, x2 = (run_test(table, name, "Hair", "Eye") for name in ("g", "chi2"))
    assert printed(x2.statistic, 138.29, 2)
    assert printed(g.statistic, 146.44, 2)
    assert x2.df == 9


def test_titanic():
    table = as_dataset(TITANIC)
    by_class = run_test(table, "chi2", "Class", "Survived")
    by_sex = run_test(table, "chi2", "Sex", "Survived")
    assert printed(by_class.statistic, 190.4, 1)
    assert by_class.df == 3
    assert printed(by_sex.statistic, 456.87, 2)


# ------------------------------------------------------------------ on files beside the checkout


def read_shared(shared, name, **options):
    return gml.read(shared / "data" / name, **options)


def test_learning_test(shared):
    table = read_shared(shared, "simulated/learning.test.csv")
    g = run_test(table, "g", "A", "B", ["C"])
    assert g.statistic == pytest.approx(2347.258587894275, rel=1e-12)
    assert g.df == 12
    x2 = run_test(table, "chi2", "A", "B", ["C", "D"])
    assert x2.statistic == pytest.approx(1568.30049, abs=5e-6)
    assert x2.df == 36
    assert tree_of(table) == {"A-B", "A-D", "B-E", "C-D", "E-F"}


def tree_of(table):
    tree = chow_liu(gml.MemoryCounter(table), directed=False).graph
    return {"-".join(sorted((e.source, e.target))) for e in tree.edges}


def test_survey(shared):
    table = read_shared(shared, "simulated/survey.csv")
    g, x2 = (run_test(table, name, "T", "E", ["O", "R"]) for name in ("g", "chi2"))
    assert printed(g.statistic, 9.883635, 6)
    assert printed(x2.statistic, 8.237543, 6)
    assert g.df == 8
    assert printed(math.exp(g.log_p), 0.27329, 5)
    assert printed(math.exp(x2.log_p), 0.41062, 5)
    g, x2 = (run_test(table, name, "T", "O", ["R"]) for name in ("g", "chi2"))
    assert printed(g.statistic, 4.766858, 6)
    assert printed(x2.statistic, 3.798848, 6)
    assert g.df == 4
    assert printed(math.exp(x2.log_p), 0.43391, 5)


def test_coronary_tree(shared):
    assert tree_of(read_shared(shared, "real/coronary.csv")) == {
        "M. Work-Smoking",
        "M. Work-P. Work",
        "M. Work-Proteins",
        "Family-M. Work",
        "Pressure-Proteins",
    }


def test_pcalg_g2(shared):
    table = read_shared(shared, "simulated/discr100k.csv.gz")
    for x, y, given, p in [
        ("X1", "X2", [], 0.5150866),
        ("X5", "X2", [], 0.289990516),
        ("X4", "X3", ["X2"], 0.818905483),
        ("X1", "X5", [], 0.774158263),
    ]:
        for rule in ("full", "adjusted"):
            found = run_test(table, "g", x, y, given, df=rule)
            assert math.exp(found.log_p) == pytest.approx(p, abs=4e-9 + 5e-8 * (p == 0.5150866))
    assert run_test(table, "g", "X1", "X2", ["X3"]).log_p / math.log(10) < -80
    assert run_test(table, "g", "X5", "X2", ["X4"]).log_p / math.log(10) < -300


def test_marks_fisher_z(shared):
    from gml.data.options import ReadOptions
    from gml.data.reading import read_dataset

    table = read_dataset(shared / "data/real/marks.csv", ReadOptions(kinds="numbers"))
    found = run_test(table, "fisher-z", "MECH", "STAT", ["ALG"])
    assert found.statistic == pytest.approx(0.3760956506, abs=5e-11)
    assert math.exp(found.log_p) == pytest.approx(0.706845788, abs=5e-10)
    # bnlearn's mi-g is 2nI with I = −½ ln(1 − r²)
    assert 2 * found.n * found.mi == pytest.approx(0.1481419854, abs=5e-11)


def test_marks_partial_correlations(shared):
    """Given the other three, to the two digits printed (Whittaker 1990, chapter 1)."""
    from gml.data.options import ReadOptions
    from gml.data.reading import read_dataset

    table = read_dataset(shared / "data/real/marks.csv", ReadOptions(kinds="numbers"))
    expected = {
        "MECH VECT": 0.33, "MECH ALG": 0.23, "MECH ANL": 0.0, "MECH STAT": 0.02, "VECT ALG": 0.28,
        "VECT ANL": 0.08, "VECT STAT": 0.02, "ALG ANL": 0.43, "ALG STAT": 0.36, "ANL STAT": 0.25,
    }  # fmt: skip
    for pair, value in expected.items():
        x, y = pair.split()
        found = run_test(table, "fisher-z", x, y, [z for z in table.names if z not in (x, y)])
        assert printed(math.tanh(found.statistic / math.sqrt(88 - 3 - 3)), value, 2)


def test_every_published_figure_in_scope_is_tested(shared):
    """A figure that is added to the collection must not go unnoticed."""
    import json

    entries = json.loads((shared / "data/published.json").read_text())["entries"]
    words = ("chow-liu", "chow–liu", "mutual information", "independence test", " vs ", "g2 test")
    found = {e["id"] for e in entries if any(w in e["operation"].lower() for w in words)}
    covered = {
        "chow-liu-mi", "lt-ci", "lt-ci-x2", "lt-chowliu", "survey-ci", "marks-ci", "lizards-ci",
        "coronary-chowliu", "ucb-marginal", "ucb-conditional", "hair-eye", "titanic", "pcalg-g2",
    }  # fmt: skip
    other_subjects = {"marks-chowliu", "ucb-mutual", "lt-constraint"}
    assert found <= covered | other_subjects
