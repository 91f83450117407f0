"""Conditional fields of one target against scikit-learn's multinomial logistic regression."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import gml
from tests.contingency_tables import hair_eye_color, ucb_admissions
from tests.golden.iris import COLUMNS, iris
from tests.golden.sources import DATA

# LogisticRegression(C=1/(2·l2), fit_intercept=False, solver="newton-cholesky", tol=1e-12) of
# scikit-learn 1.9.1 on a column of ones and one-hot columns of the inputs, with the counts as
# sample weights: hair given eyes and sex of 592 students. Rows are black, blond, brown and red;
# columns the constant, blue, brown, green and hazel eyes, female and male.
HAIR = {
    1.0: """
        -0.157169015 -0.445319214  0.842579282 -0.579696732  0.025267649 -0.231230779  0.074061764
        -0.166215483  1.027951126 -1.197017532  0.337848603 -0.334997681  0.177975363 -0.344190846
         0.531090699 -0.076137443  0.383107743 -0.048667638  0.272788037  0.183685488  0.347405212
        -0.207706201 -0.506494470 -0.028669493  0.290515767  0.036941995 -0.130430071 -0.077276129
        """,
    0.01: """
        -0.170258277 -0.450537597  0.956263195 -0.736555344  0.060571468 -0.252341583  0.082083306
        -0.191678593  1.107233587 -1.393091805  0.449083460 -0.354903836  0.185260266 -0.376938859
         0.552003329 -0.088265635  0.426413164 -0.051237101  0.265092900  0.190951311  0.361052018
        -0.190066458 -0.568430355  0.010415445  0.338708984  0.029239467 -0.123869993 -0.066196465
        """,
}


@pytest.mark.parametrize("l2", HAIR)
def test_hair_as_scikit_learn(l2):
    net = gml.crf(hair_eye_color().counter(), target="Hair", l2=l2)
    expected = np.array(HAIR[l2].split(), dtype=float).reshape(4, 7)
    assert net.tables["Hair",] == pytest.approx(expected[:, 0], abs=3e-9)
    assert net.tables["Hair", "Eye"] == pytest.approx(expected[:, 1:5], abs=3e-9)
    assert net.tables["Hair", "Sex"] == pytest.approx(expected[:, 5:], abs=3e-9)


# LogisticRegression(C=1/(2·l2), fit_intercept=False, solver="newton-cholesky", tol=1e-13) of
# scikit-learn 1.9.1 on a column of ones, one-hot columns and those of StandardScaler:
# python benchmarks/crf_tables.py --record tests/golden/data/logistic.json
NUMBERS = json.loads((DATA / "logistic.json").read_text())


def assert_as_scikit_learn(net, known):
    inputs = sorted(net.terms.inputs, key=lambda v: (v.is_continuous, v.name))
    (target,) = (v.name for v in net.targets)
    found = np.hstack([net.tables[target,][:, None], *(net.tables[target, v.name] for v in inputs)])
    assert found == pytest.approx(np.array(known["weights"]), abs=1e-8)
    assert net.summary.objective == pytest.approx(known["objective"], rel=1e-12)
    scales = [net.scales[v.name] for v in inputs if v.is_continuous]
    assert [scale.mean for scale in scales] == pytest.approx(known["mean"], rel=1e-13)
    assert [scale.sd for scale in scales] == pytest.approx(known["sd"], rel=1e-13)


@pytest.mark.parametrize("l2", [1.0, 0.01])
def test_numbers_as_scikit_learn(l2):
    net = gml.crf(iris(), target="Species", numeric=list(COLUMNS), l2=l2)
    assert_as_scikit_learn(net, NUMBERS[f"iris {l2:g}"])


@pytest.mark.parametrize("l2", [1.0, 0.01])
def test_numbers_beside_labels_in_weighted_rows_as_scikit_learn(l2, sample_data):
    flats = gml.read(sample_data / "flats.csv", numeric=["heating", "rent", "size"])
    times = np.resize(NUMBERS["weights_of_flats"], flats.n_rows).astype(np.int64)
    net = gml.crf(replace(flats, weights=times), target="condition", l2=l2)
    assert_as_scikit_learn(net, NUMBERS[f"flats {l2:g}"])


def test_admission_given_department_and_sex():
    """Without a penalty, logits are those of R's glm(Admit ~ Gender + Dept, binomial).

    Agresti (2013, section 6.1.3) has the model: by department, women are admitted rather more.
    """
    net = gml.crf(ucb_admissions().counter(), target="Admit", l2=0)
    # G² of the model is 20.2043 with 5 degrees of freedom; that of the saturated one is 0.
    table = ucb_admissions().counts
    shares = table / table.sum(axis=0, keepdims=True)
    saturated = float((table * np.log(shares)).sum())
    assert 2 * (saturated - net.summary.log_likelihood) == pytest.approx(20.20427533, abs=1e-7)
    logits = net.tables["Admit", "Gender"][0] - net.tables["Admit", "Gender"][1]
    assert logits[1] - logits[0] == pytest.approx(-0.09987, abs=5e-6)
