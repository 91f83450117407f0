"""Neighbourhood selection against IsingFit and scikit-learn on published data."""

from __future__ import annotations

import numpy as np
import pytest

from gml import kernel
from gml.kernel.penalty_paths import PathRule
from gml.learners.grouped_columns import PredictorTable
from gml.learners.neighbourhoods import neighbourhood_graph
from tests.contingency_tables import reinis

# LogisticRegression(penalty="l1", solver="saga", tol=1e-13, C=1/(n·penalty)) of scikit-learn 1.9.1
# on columns with mean 0 and variance 1: mean loss + penalty · |coefficients|, and how many are not 0
# (where none is, the solver stops before its intercept is right, so the entropy is taken instead).
PENALTIES = (0.05, 0.01, 0.001)
OBJECTIVES = {
    "smoke": ((0.6919384888314786, 1), (0.6809085685899495, 4), (0.6751168392407703, 5)),
    "mental": ((0.5568096303902607, 1), (0.5075885082184274, 3), (0.49342653704661743, 5)),
    "phys": ((0.5681585389612618, 1), (0.517070214132711, 4), (0.501411462042547, 5)),
    "systol": ((None, 0), (0.6785562982560841, 4), (0.6750985199321948, 5)),
    "protein": ((None, 0), (0.6713821213966041, 5), (0.6653574215421628, 5)),
    "family": ((None, 0), (0.4068936237353105, 2), (0.40489765286742774, 5)),
}


@pytest.mark.parametrize(("rule", "edges"), [("and", 6), ("or", 8)])
def test_reinis_as_isingfit(rule, edges):
    found = neighbourhood_graph(reinis().counter(), gamma=0.25, rule=rule)
    assert found.graph.n_edges == edges


@pytest.mark.parametrize("name", OBJECTIVES)
def test_reinis_as_scikit_learn(name):
    table = PredictorTable.of(reinis().counter().rows())
    predictors = table.predictors(table.counts / table.counts.sum())
    columns, response = predictors.regression(table.names.index(name))
    rule = PathRule(3, 1.0, penalties=np.array(PENALTIES))
    path = kernel.active().penalty_path(columns, response, rule)
    for k, (objective, chosen) in enumerate(OBJECTIVES[name]):
        if objective is None:
            shares = np.bincount(response.classes, weights=response.weights)
            objective = -np.sum(shares * np.log(shares))
        found = path.losses[k] + PENALTIES[k] * path.norms[k].sum()
        assert found == pytest.approx(objective, rel=1e-12)
        assert np.count_nonzero(path.norms[k]) == path.parameters[k] == chosen
