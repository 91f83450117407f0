"""Rows that are filled together have what they would have one by one."""

from __future__ import annotations

import numpy as np
import pytest

from gml.model.imputation import Imputer
from gml.model.inference import Inference
from gml.model.mixed.inference import MixedInference
from gml.model.posterior import posterior_rows
from tests.mixed_networks import Enumerated, random_mixed
from tests.networks import random_net


def holes_in(net, n, seed, share=0.4):
    """Rows of a network with holes: codes and numbers, NaN where one is missing."""
    rng = np.random.default_rng(seed)
    values = np.column_stack([c.astype(float) for c in net.sample(n, seed=seed).columns])
    values[rng.random(values.shape) < share] = np.nan
    return values


def evidence_of(net, row):
    return {
        variable.name: value if variable.levels is None else variable.levels[int(value)]
        for variable, value in zip(net.variables, row.tolist(), strict=True)
        if not np.isnan(value)
    }


@pytest.fixture(params=["one plan", "a plan per pattern"])
def plans(request, monkeypatch):
    """Small tables have one plan for all rows, large ones have others."""
    if request.param != "one plan":
        monkeypatch.setattr("gml.model.inference._SHARED_BYTES", 0)


@pytest.mark.usefixtures("plans")
@pytest.mark.parametrize("seed", range(6))
def test_the_best_labels_are_those_of_single_questions(seed):
    net = random_net(np.random.default_rng([seed, 1]), 6, zeros=0.2)
    rows = holes_in(net, 30, seed)
    found = Imputer(net, net.names).fill(rows).values
    asked = Inference(net)
    for row, filled in zip(rows, found, strict=True):
        best = asked.mpe(evidence_of(net, row)).levels
        for variable, before, value in zip(net.variables, row, filled, strict=True):
            if np.isnan(before):
                assert variable.levels[int(value)] == best[variable.name]


@pytest.mark.usefixtures("plans")
@pytest.mark.parametrize("kind", ["labels", "numbers"])
@pytest.mark.parametrize("seed", range(4))
def test_draws_are_those_of_rows_given_evidence(kind, seed):
    rng = np.random.default_rng([seed, 2])
    net = random_net(rng, 5, zeros=0.1) if kind == "labels" else random_mixed(rng, 0, 5, p=0.6)
    rows = holes_in(net, 40, seed)
    found = Imputer(net, net.names, method="draw", seed=7).fill(rows, first_row=100).values
    assert not np.isnan(found).any()
    for number, (row, filled) in enumerate(zip(rows, found, strict=True)):
        wanted = posterior_rows(net, evidence_of(net, row), seed=7)
        columns = wanted.new_columns(1)
        wanted.drawer()(100 + number, columns)
        np.testing.assert_allclose(filled, [float(c[0]) for c in columns], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_the_best_of_labels_and_numbers_is_that_of_single_questions(seed):
    net = random_mixed(np.random.default_rng([seed, 3]), 3, 3, p=0.6)
    rows = holes_in(net, 25, seed)
    found = Imputer(net, net.names).fill(rows).values
    asked = MixedInference(net)
    for row, filled in zip(rows, found, strict=True):
        best = asked.given(evidence_of(net, row)).best().values
        for variable, before, value in zip(net.variables, row, filled, strict=True):
            if np.isnan(before):
                wanted = best[variable.name]
                if variable.is_continuous:
                    assert value == pytest.approx(wanted, rel=1e-9, abs=1e-9)
                else:
                    assert variable.levels[int(value)] == wanted


@pytest.mark.parametrize("seed", range(4))
def test_draws_of_labels_and_numbers_have_their_distribution(seed):
    net = random_mixed(np.random.default_rng([seed, 4]), 3, 3, p=0.6)
    row = holes_in(net, 1, seed, share=0.5)[0]
    n = 4000
    found = Imputer(net, net.names, method="draw", seed=seed).fill(np.tile(row, (n, 1))).values
    wanted = Enumerated(net, evidence_of(net, row))
    numbers = []
    for place, variable in enumerate(net.variables):
        if not np.isnan(row[place]):
            assert (found[:, place] == row[place]).all()
        elif variable.is_continuous:
            numbers.append(variable.name)
        else:
            p = wanted.label(variable)
            seen = np.bincount(found[:, place].astype(int), minlength=len(p)) / n
            np.testing.assert_array_less(np.abs(seen - p), 5 * np.sqrt(p * (1 - p) / n) + 1e-9)
    if numbers:
        mean, covariance = wanted.moments(numbers)
        drawn = found[:, [net.index(name) for name in numbers]]
        sds = np.sqrt(np.diag(covariance))
        np.testing.assert_array_less(np.abs(drawn.mean(axis=0) - mean), 5 * sds / np.sqrt(n))
        np.testing.assert_allclose(
            np.cov(drawn.T).reshape(covariance.shape) / np.outer(sds, sds),
            covariance / np.outer(sds, sds),
            atol=0.12,
        )


def test_neither_blocks_nor_other_rows_show(monkeypatch):
    from gml.model import table_filling
    from gml.model.mixed import row_completion

    net = random_mixed(np.random.default_rng(5), 3, 2, p=0.6)
    labels = random_net(np.random.default_rng(6), 5)
    for one in (net, labels):
        rows = holes_in(one, 60, 3)
        for method in ("mpe", "draw"):
            fill = Imputer(one, one.names, method=method, seed=1)
            whole = fill.fill(rows).values
            with monkeypatch.context() as small:
                small.setattr(table_filling, "_BLOCK_CELLS", 1)
                small.setattr(row_completion, "_MOST_ROWS", 3)
                assert fill.fill(rows).values.tolist() == whole.tolist()
            for k in (0, 17, 59):
                alone = fill.fill(rows[[k]], first_row=k).values
                assert alone[0].tolist() == whole[k].tolist()
