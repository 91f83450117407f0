"""Chain fields against CRFsuite, on sequences that benchmarks/crf_chains.py made."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gml.model.sequences.decoding import ChainAnswers
from gml.model.sequences.training import train_chain
from tests.chain_tables import chain_rows
from tests.golden.sources import DATA

KNOWN = json.loads((DATA / "crfsuite.json").read_text())


@pytest.fixture(scope="module")
def rows():
    return chain_rows(DATA / "chains.csv")


def test_objective_labels_and_marginals(rows):
    fit = train_chain(rows, tolerance=1e-9)
    # CRFsuite prints six digits after the point.
    assert fit.objective == pytest.approx(KNOWN["objective"], abs=1e-6)
    answers = ChainAnswers(fit.field, rows)
    labels = answers.labels()
    for s, name in enumerate(rows.names):
        of = rows.order[rows.starts[s] : rows.starts[s + 1]]
        assert [labels[row] for row in of] == KNOWN["labels"][name]
        if name in KNOWN["marginals"]:
            wanted = np.array(KNOWN["marginals"][name])
            assert np.abs(answers.probabilities[of] - wanted).max() < 1e-5


def test_objective_with_absolute_values(rows):
    fit = train_chain(rows, l1=0.5, tolerance=1e-8)
    assert fit.objective == pytest.approx(KNOWN["objective_c1_half"], rel=1e-6)
