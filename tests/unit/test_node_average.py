"""Node-average likelihood: families on the rows that are complete in their own columns."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import gml
from gml.counts.counter import Counter


class TablesAlone(Counter):
    """An engine that has no rows."""

    missing = True

    def __init__(self, counter):
        self._counter = counter

    n = property(lambda self: self._counter.n)
    variables = property(lambda self: self._counter.variables)

    def tables(self, sets):
        return self._counter.tables(sets)


def gappy(seed, rows=400, share=0.2):
    """Three labels in a chain, and a number that follows one of them, all with gaps."""
    rng = np.random.default_rng(seed)
    a = rng.integers(3, size=rows)
    b = np.where(rng.random(rows) < 0.7, a, rng.integers(3, size=rows))
    c = np.where(rng.random(rows) < 0.6, b % 2, rng.integers(2, size=rows))
    frame = pd.DataFrame({"a": a, "b": b, "c": c}).map(lambda code: f"L{code}")
    frame["x"] = 0.5 * c + rng.normal(size=rows)
    return frame.mask(rng.random(frame.shape) < share)


def by_definition(frame, child, parents):
    """ln of the likelihood of a family by its complete rows, divided by their number."""
    some = frame[[child, *parents]].dropna()
    total = 0.0
    labels = [p for p in parents if p != "x"]
    numbers = [p for p in parents if p == "x"]
    groups = [g for _, g in some.groupby(labels)] if labels else [some]
    for group in groups:
        if child != "x":
            counts = group[child].value_counts().to_numpy()
            total += float((counts * np.log(counts / counts.sum())).sum())
        else:
            design = np.column_stack([np.ones(len(group)), group[numbers]])
            y = group[child].to_numpy()
            left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
            variance = float(left @ left) / len(group)
            total -= 0.5 * len(group) * (math.log(2 * math.pi * variance) + 1)
    return total / len(some)


FAMILIES = [
    ("a", ()),
    ("b", ("a",)),
    ("c", ("a", "b")),
    ("x", ()),
    ("x", ("c",)),
    ("x", ("a", "c")),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", FAMILIES)
def test_families_are_scored_as_defined(seed, family):
    frame = gappy(seed)
    child, parents = family
    counter = gml.MemoryCounter(gml.read(frame, numeric=["x"], missing="available"))
    at = list(frame.columns)
    columns = at.index(child), [at.index(p) for p in parents]
    nal = gml.SCORES["nal"](counter)
    assert nal.local(*columns) == pytest.approx(by_definition(frame, child, parents), rel=1e-12)
    pnal = gml.SCORES["pnal"](counter, penalty=2.0)
    price = 2.0 * 400**-0.25 * nal.dimension(*columns)
    assert pnal.local(*columns) == pytest.approx(nal.local(*columns) - price, rel=1e-12)


def test_without_gaps_it_is_the_likelihood_per_row():
    frame = gappy(1, share=0.0)
    counter = gml.MemoryCounter(gml.read(frame, numeric=["x"]))
    nal, whole = gml.SCORES["nal"](counter), gml.SCORES["loglik-cg"](counter)
    for family in ((0, (1,)), (1, (0, 2)), (3, (0, 2))):
        assert nal.local(*family) == pytest.approx(whole.local(*family) / 400, rel=1e-14)


def test_rows_are_counted_with_their_weights_and_from_tables_alike():
    frame = gappy(4).drop(columns="x")
    frame["w"] = np.arange(len(frame)) % 3
    counter = gml.MemoryCounter(gml.read(frame, weights="w", missing="available"))
    sets = [(0,), (1, 0), (2, 0, 1)]
    from_tables = TablesAlone(counter).complete_rows(sets)
    assert counter.complete_rows(sets).tolist() == from_tables.tolist()
    direct = [
        int(frame.loc[frame[[list("abc")[j] for j in one]].notna().all(axis=1), "w"].sum())
        for one in sets
    ]
    assert from_tables.tolist() == direct


def test_a_family_without_complete_rows_is_worth_nothing():
    frame = pd.DataFrame({"a": ["x", "y", None, None], "b": [None, None, "u", "v"]})
    counter = gml.MemoryCounter(gml.read(frame, missing="available"))
    assert gml.SCORES["nal"](counter).local(0, (1,)) == -math.inf
    with pytest.warns(gml.GmlWarning, match="no edge is worth its price"):
        assert gml.hc(frame, score="pnal", missing="available").graph.n_edges == 0


def test_hill_climbing_takes_gaps_by_these_scores_alone():
    frame = gappy(0, rows=3000, share=0.15)
    found = gml.hc(frame, score="pnal", missing="available", numeric=["x"], penalty=0.1)
    edges = {frozenset((e.source, e.target)) for e in found.graph.edges}
    assert frozenset("ab") in edges and frozenset("bc") in edges
    for score in ("bic", "bic-cg"):
        with pytest.raises(gml.UsageError, match="nal, pnal"):
            gml.hc(frame, score=score, missing="available")
    with pytest.raises(gml.UsageError, match="differently"):
        gml.ges(frame, score="pnal", missing="available")


def test_graphs_with_gaps_are_scored_and_order_does_not_matter():
    frame = gappy(2)
    graph = gml.Graph.from_edges(["a", "b", "c", "x"], [("a", "-->", "b"), ("b", "-->", "c")])
    one = gml.score(frame, graph, score=["nal", "pnal"], missing="available", numeric=["x"])
    other = gml.score(
        frame.sample(frac=1, random_state=1)[["c", "x", "b", "a"]],
        graph,
        score=["nal", "pnal"],
        missing="available",
        numeric=["x"],
    )
    assert one.to_frame().equals(other.to_frame())
    expected = sum(
        by_definition(frame, *family)
        for family in [("a", ()), ("b", ("a",)), ("c", ("b",)), ("x", ())]
    )
    assert one.to_frame()["nal"][0] == pytest.approx(expected, rel=1e-12)
    with pytest.raises(gml.UsageError, match="complete"):
        gml.score(frame, graph, score="nal", missing="available", folds=5)
