"""What regressions keep of their rows, beside plain formulas over the rows in memory."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

import gml
from gml.counts import chunked_rows
from gml.counts import open_stream as streams
from gml.counts.streamed import StreamCounter
from gml.data import row_spool
from gml.data.dataset import Dataset, Variable
from gml.model.bayesnet import CPT

LEVELS = {"a": ("p", "q", "r")}
NAMES = ("a", "x", "w", "y", "z")
EDGES = [("a", "-->", "x"), ("a", "-->", "y"), ("x", "-->", "y"), ("w", "-->", "y")]
GRAPH = gml.Graph.from_edges(
    list(NAMES), [*EDGES, ("y", "-->", "z")], numeric=[n for n in NAMES if n not in LEVELS]
)


def rows(n, seed, *, gaps=0.0, weighted=False, mean=5.0, ties=False):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n).astype(np.uint8)
    x = mean + rng.laplace(size=n) * (1 + a)
    w = rng.normal(size=n) * 1e-3
    y = x - 300 * w + a + rng.standard_t(5, size=n)
    z = 0.5 * y + rng.normal(size=n)
    if ties:
        x, z = np.round(x), np.round(z, 1)
    numbers = [np.where(rng.random(n) < gaps, np.nan, column) for column in (x, w, y, z)]
    variables = tuple(Variable(name, LEVELS.get(name)) for name in NAMES)
    weights = rng.integers(0, 4, n) if weighted else None
    return Dataset(variables, (a, *numbers), weights)


def lines_of(net):
    return [line for cpd in net.cpds if not isinstance(cpd, CPT) for line in cpd.regressions]


def bytes_of(net):
    return [repr(line.rows) for line in lines_of(net)]


def repeated(data):
    if data.weights is None:
        return data
    columns = tuple(np.repeat(column, data.weights) for column in data.columns)
    return dataclasses.replace(data, columns=columns, weights=None)


def densities(data, net):
    """The ln density of each row under the regression of all others of its configuration."""
    found = {}
    for cpd in net.cpds:
        if isinstance(cpd, CPT):
            continue
        own = np.zeros(data.n_rows)
        for place, line in enumerate(cpd.regressions):
            at = data.columns[0] == place if cpd.label_parents else np.ones(data.n_rows, bool)
            _, error, h = at_rows(data, line, at)
            n = len(error)
            left = (n * line.sd**2 - error**2 / (1 - h)) / (n - 1)
            own[at] = -0.5 * (np.log(2 * math.pi * left) + (error / (1 - h)) ** 2 / left)
        found[cpd.variable.name] = own
    return found


def at_rows(data, line, at):
    columns = [data.columns[data.index(parent.name)][at] for parent in line.parents]
    child = data.columns[data.index(line.variable.name)][at]
    error = (
        child
        - line.intercept
        - sum(
            (c * column for c, column in zip(line.coefficients, columns, strict=True)),
            np.zeros(len(child)),
        )
    )
    design = np.column_stack([np.ones(len(child)), *((c - c.mean()) / c.std() for c in columns)])
    h = np.einsum("ni,ij,nj->n", design, np.linalg.inv(design.T @ design), design)
    return design, error, h


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
@pytest.mark.parametrize("ties", [False, True])
def test_plain_formulas(weighted, gaps, ties):
    data = rows(900, 3, gaps=gaps, weighted=weighted, ties=ties)
    net = gml.fit(data, GRAPH, threads=1)
    whole = repeated(data)
    for cpd in net.cpds:
        if isinstance(cpd, CPT):
            continue
        for place, line in enumerate(cpd.regressions):
            at = np.ones(whole.n_rows, bool)
            if cpd.label_parents:
                at &= whole.columns[0] == place
            for v in (*line.parents, line.variable):
                at &= ~np.isnan(whole.columns[whole.index(v.name)])
            design, error, h = at_rows(whole, line, at)
            kept, scaled = line.rows, error / line.sd
            members = [whole.columns[whole.index(v.name)][at] for v in line.parents]
            members.append(whole.columns[whole.index(line.variable.name)][at])
            np.testing.assert_allclose(kept.means, [m.mean() for m in members], rtol=1e-12)
            np.testing.assert_allclose(kept.sds, [m.std() for m in members], rtol=1e-12)
            np.testing.assert_allclose(
                kept.correlations, np.corrcoef(members).reshape(2 * (len(members),)), atol=1e-12
            )
            meat = (design * ((scaled / (1 - h)) ** 2)[:, None]).T @ design / len(error)
            np.testing.assert_allclose(kept.meat, meat, rtol=1e-9, atol=1e-12)
            assert kept.fourth == pytest.approx(np.mean(scaled**4), rel=1e-9)
            ordered = np.sort(members[-1])
            deciles = {ordered[math.ceil(len(ordered) * k / 10)] for k in range(1, 10)}
            assert kept.cuts == tuple(sorted(c for c in deciles if c > ordered[0]))
            assert sum(kept.counts) == len(ordered)
            ends = np.searchsorted(ordered, kept.cuts)
            assert kept.counts == tuple(np.diff([0, *ends, len(ordered)]).tolist())
            if line.parents:
                # No error lies as near to a cut as rounding moves it.
                errors = np.sort(scaled)
                ends = np.searchsorted(errors, kept.error_cuts)
                assert kept.error_counts == tuple(np.diff([0, *ends, len(errors)]).tolist())
                assert len(kept.error_cuts) == 9
                below = np.cumsum(kept.error_counts)[:-1] - len(errors) / 10 * np.arange(1, 10)
                most_alike = np.unique(np.round(errors, 6), return_counts=True)[1].max()
                assert np.abs(below).max() <= most_alike
            assert (kept.fit is None) == bool(gaps)


def test_shares_of_the_common_fit():
    data = rows(700, 4)
    net = gml.fit(data, GRAPH, threads=1)
    found = densities(data, net)
    total = sum(found.values())
    for cpd in net.cpds:
        if isinstance(cpd, CPT):
            continue
        own = found[cpd.variable.name]
        away = (own - own.mean()) * (total - total.mean())
        for place, line in enumerate(cpd.regressions):
            at = data.columns[0] == place if cpd.label_parents else slice(None)
            assert line.rows.fit.mean == pytest.approx(own[at].mean(), rel=1e-10)
            assert line.rows.fit.covariance == pytest.approx(away[at].mean(), rel=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_neither_order_nor_chunks_nor_weights_show(monkeypatch, weighted, gaps):
    data = rows(800, 5, weighted=weighted, gaps=gaps)
    order = np.random.default_rng(1).permutation(800)
    turned = dataclasses.replace(
        data,
        columns=tuple(column[order] for column in data.columns),
        weights=None if data.weights is None else data.weights[order],
    )
    expected = bytes_of(gml.fit(data, GRAPH, threads=1))
    assert "None" not in expected
    monkeypatch.setattr(chunked_rows, "_BLOCK_ROWS", 37)
    assert bytes_of(gml.fit(turned, GRAPH, threads=2)) == expected
    assert bytes_of(gml.fit(repeated(data), GRAPH, threads=1)) == expected


@pytest.mark.parametrize("reading", [{}, {"weights": "n"}, {"missing": "available"}])
def test_beyond_memory(tmp_path, monkeypatch, reading):
    data = rows(900, 6, gaps=0.05 if "missing" in reading else 0.0)
    frame = pd.DataFrame(
        {
            v.name: column if v.levels is None else np.array(v.levels)[column]
            for v, column in zip(data.variables, data.columns, strict=True)
        }
    )
    frame["n"] = np.random.default_rng(2).integers(0, 3, 900)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    reading = {"columns": list(NAMES), **reading}
    expected = gml.fit(tmp_path / "rows.csv", GRAPH, **reading)
    for name, value in (("_LEAST_PIECE", 1 << 12), ("_MOST_PIECE", 1 << 12)):
        monkeypatch.setattr(streams, name, value)
    monkeypatch.setattr(row_spool, "LEAST_ROWS", 64)
    monkeypatch.setattr(row_spool, "MOST_ROWS", 64)
    monkeypatch.setattr(StreamCounter, "rows", lambda self: None)
    found = gml.fit(tmp_path / "rows.csv", GRAPH, engine="stream", **reading)
    assert bytes_of(found) == bytes_of(expected) and "None" not in bytes_of(found)
    assert found.training == expected.training
