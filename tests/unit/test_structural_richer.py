"""Richer rounds and single edges of structural EM: where completed rows mislead, and what helps."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import gml
from gml.graph.knowledge import Knowledge
from gml.learners.search import SearchResult
from gml.scores.base import total
from gml.structural.completions import completed
from gml.structural.single_edges import Change, SingleEdges, counted_again, pairs_seen
from gml.structural.structural_em import Fitted, Learned, structural_em


def dag(names, arcs):
    return gml.Graph.from_edges(list(names), [(a, "-->", b) for a, b in arcs], kind="dag")


def blanked(frame, share, seed):
    return frame.mask(np.random.default_rng(seed).random(frame.shape) < share)


def pair(rows, seed):
    """b is a with some noise."""
    rng = np.random.default_rng(seed)
    a = rng.integers(2, size=rows)
    b = np.where(rng.random(rows) < 0.3, a, rng.integers(2, size=rows))
    return pd.DataFrame({"a": a, "b": b}).map(lambda code: f"L{code}")


def table_of(frame):
    return gml.read(frame, missing="available")


def gain_on(rows):
    """What the log-likelihood of complete rows gains by an edge between a and b."""
    score = gml.SCORES["loglik"](gml.MemoryCounter(rows))
    return total(score, dag("ab", [("a", "b")])) - total(score, dag("ab", []))


def test_completed_rows_speak_for_the_edges_of_the_model_and_against_others():
    """With a share c of rows that have both, c² and all of the gain, where c would be right."""
    whole = pair(20_000, 1)
    frame = blanked(whole, 0.4, 2)
    table = table_of(frame)
    share = pairs_seen(table)
    assert share == pytest.approx(0.36, abs=0.01)
    full = gain_on(gml.read(whole))
    without, having = (gml.fit(frame, dag("ab", arcs), missing="em") for arcs in ([], [("a", "b")]))
    promised = [gain_on(completed(net, table).rows) for net in (without, having)]
    assert promised[0] == pytest.approx(share**2 * full, rel=0.15)
    assert promised[1] == pytest.approx(full, rel=0.15)
    scores = gml.score(
        frame, [dag("ab", []), dag("ab", [("a", "b")])], missing="em", score="loglik"
    )
    values = scores.to_frame()["loglik"]
    assert abs(values[0] - values[1]) == pytest.approx(share * full, rel=0.15)


@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_seen_is_the_mean_over_pairs_that_rows_lack(weighted):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.integers(2, size=(50, 5)), columns=list("abcde")).astype(str)
    frame[["a", "b", "c"]] = blanked(frame[["a", "b", "c"]], 0.4, 4)
    table = table_of(frame)
    if weighted:
        counts = rng.integers(1, 4, size=50)
        frame = frame.loc[frame.index.repeat(counts)]
        table = replace(table, weights=counts)
    shares = [
        frame[[x, y]].notna().all(axis=1).mean()
        for x, y in itertools.combinations("abcde", 2)
        if frame[[x, y]].isna().any(axis=None)
    ]
    assert len(shares) == 9 and pairs_seen(table) == pytest.approx(np.mean(shares), rel=1e-12)
    assert pairs_seen(table_of(frame[["d", "e"]])) == 1.0


def network(seed, rows=400, n=7):
    """Labels that depend weakly on one or two before them."""
    rng = np.random.default_rng(seed)
    columns = []
    for k in range(n):
        own = rng.integers(2, size=rows)
        if k:
            first = columns[rng.integers(k)]
            second = columns[rng.integers(k)]
            told = np.where(rng.random(rows) < 0.5, first, first ^ second)
            own = np.where(rng.random(rows) < 0.7, told, own)
        columns.append(own)
    frame = pd.DataFrame(dict(zip("abcdefghij"[:n], columns, strict=True)))
    return frame.map(lambda code: f"L{code}")


def bic(rows):
    return gml.SCORES["bic"](gml.MemoryCounter(rows))


@pytest.fixture(scope="module")
def doubtful():
    """A DAG, the rows that its model completed, and the share of pairs seen."""
    frame = blanked(network(5), 0.4, 6)
    table = table_of(frame)
    graph = dag("abcdefg", [("a", "b"), ("c", "b"), ("d", "e"), ("g", "f")])
    net = gml.fit(frame, graph, missing="em")
    return graph, completed(net, table).rows, pairs_seen(table)


def test_doubtful_edges_are_those_that_gain_where_rows_count_more_or_less(doubtful):
    graph, rows, share = doubtful
    edges = SingleEdges(bic, knowledge=Knowledge(), max_parents=None)
    found = edges.in_doubt(graph, rows, share).changes
    arcs = {(e.source, e.target) for e in graph.edges}
    gains = {}
    for x, y in itertools.permutations("abcdefg", 2):
        if (y, x) in arcs:
            continue
        is_new = (x, y) not in arcs
        times = 1 / share if is_new else share
        try:
            other = dag("abcdefg", arcs ^ {(x, y)})
        except gml.GmlError:
            continue  # a cycle
        score = bic(counted_again(rows, times))
        gain = total(score, other) - total(score, graph)
        if gain > 0:
            gains[Change(x, y, is_new)] = gain / times
    assert len(gains) >= 4
    expected = sorted(gains, key=lambda change: (-gains[change], change))[:7]
    assert found == expected


def test_doubtful_edges_keep_to_what_is_known(doubtful):
    graph, rows, share = doubtful
    free = SingleEdges(bic, knowledge=Knowledge(), max_parents=None).in_doubt(graph, rows, share)
    first = free.changes[0]
    assert first.is_new
    known = Knowledge(forbid=((first.source, first.target),), require=(("a", "b"),))
    bound = SingleEdges(bic, knowledge=known, max_parents=1)
    found = bound.in_doubt(graph, rows, share).changes
    assert first not in found and Change("a", "b", False) not in found
    has_parent = {e.target for e in graph.edges}
    assert not any(change.is_new and change.target in has_parent for change in found)


def test_changes_that_others_made_impossible_are_left_out(doubtful):
    graph, rows, share = doubtful
    edges = SingleEdges(bic, knowledge=Knowledge(), max_parents=2)
    doubts = edges.in_doubt(graph, rows, share)
    changed = doubts.changed(graph, Change("a", "b", False))
    assert {(e.source, e.target) for e in changed.edges} == {
        ("c", "b"),
        ("d", "e"),
        ("g", "f"),
    }
    assert doubts.changed(graph, Change("d", "b", True)) is None  # a third parent
    assert doubts.changed(graph, Change("b", "a", True)) is None  # a cycle
    assert doubts.changed(graph, Change("b", "d", True)).n_edges == 5


def test_richer_rounds_and_single_edges_raise_the_score():
    """Whatever is taken after the plain rounds is better on what was observed."""
    kinds = set()
    for learner, seed in itertools.product((gml.hc, gml.ges), range(4)):
        frame = blanked(network(seed), 0.4, seed + 100)
        steps = []
        found = learner(frame, missing="em", trace=steps.append)
        about = found.graph.learning.written()["structural_em"]
        best = -math.inf
        for one in about["rounds"]:
            if one["taken"]:
                assert one["score"] > best
                best = one["score"]
                kinds.add(one["kind"])
        assert found.score == best
        value = gml.score(frame, found.dag, missing="em", score="bic").to_frame()["bic"][0]
        assert value == pytest.approx(found.score, rel=1e-8)
        single = [step for step in steps if step.phase == "single edges"]
        assert all(step.gain > 0 and step.move in ("add", "delete") for step in single)
        taken = [
            k for k, one in enumerate(about["rounds"], 1) if one["kind"] == "edges" and one["taken"]
        ]
        assert {step.round for step in single} == set(taken)
    assert kinds == {"plain", "richer", "edges"}


class Scripted:
    """Searches that find what a script says, and fits that have the scores of a script."""

    def __init__(self, frame, found, scores):
        self.frame, self.found, self.scores = frame, list(found), scores
        self.fitted = []

    def learn(self, rows, begin, *, start, round):
        graph = self.found.pop(0)
        return Learned(SearchResult(graph, graph, 0.0, 0), None)

    def roughly(self, graph, completed):
        arcs = frozenset(e.source + e.target for e in graph.edges)
        self.fitted.append("".join(sorted(arcs)))
        net = gml.fit(self.frame, graph, method="bayes", missing="available")
        return Fitted(net, self.scores[self.fitted[-1]], 0.0)

    def to_the_end(self, rough):
        return rough

    # What changes of single edges are asked for.
    def in_doubt(self, graph, rows, share):
        return self

    changes = (Change("b", "a", True), Change("c", "b", True))

    def changed(self, graph, change):
        return dag("abc", [(change.source, change.target)])

    def expected_score(self, graph, rows):
        return 0.0


def test_no_graph_is_fitted_twice():
    """Rounds, richer rounds and single edges pass by what was fitted, or one equivalent to it."""
    frame = blanked(network(1, n=3), 0.3, 2)
    one, two, three = ([("a", "b")], [("a", "b"), ("b", "c")], [("a", "c")])
    found = [dag("abc", arcs) for arcs in (one, two, one, three, one)]
    script = Scripted(
        frame, found, {"": -200.0, "ab": -100.0, "abbc": -90.0, "ac": -95.0, "cb": -99.0}
    )
    result = structural_em(
        table_of(frame),
        [lambda: dag("abc", [])],
        script.learn,
        script,
        shown=lambda graph: graph,
        edges=script,
    )
    # Of the single edges, b → a is a → b again.
    assert script.fitted == ["", "ab", "abbc", "ac", "cb"] and not script.found
    assert result.fitted.score == -90 and result.complete
    told = [(one.kind, one.score, one.taken) for one in result.rounds]
    assert told == [
        ("plain", -100.0, True),
        ("plain", -90.0, True),
        ("plain", -100.0, False),
        ("richer", -95.0, False),
        ("plain", -100.0, False),
        ("edges", -90.0, False),
    ]
