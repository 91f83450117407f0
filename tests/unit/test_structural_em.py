"""Structural EM: completed rows have the expected counts, and the observed score never falls."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import gml
from gml.counts.counter import TableSet
from gml.model.em.fitting import fit_em
from gml.scores.base import RESOLUTION
from gml.structural.completions import completed


def chain(seed, rows, share, levels=3):
    """a → b → c and d apart, each with gaps."""
    rng = np.random.default_rng(seed)
    a = rng.integers(levels, size=rows)
    b = np.where(rng.random(rows) < 0.75, a, rng.integers(levels, size=rows))
    c = np.where(rng.random(rows) < 0.75, b, rng.integers(levels, size=rows))
    d = rng.integers(2, size=rows)
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "d": d}).map(lambda code: f"L{code}")
    return frame.mask(rng.random(frame.shape) < share)


def network(frame, arcs):
    graph = gml.Graph.from_edges(list(frame), [(a, "-->", b) for a, b in arcs])
    return gml.fit(chain(99, 3000, 0.0), graph, method="bayes")


def expected_by_definition(net, frame, names):
    """Σ over rows of P(names | what the row has), from the joint distribution of all nodes."""
    levels = {v.name: v.levels for v in net.variables}
    table = dict.fromkeys(itertools.product(*(levels[name] for name in names)), 0.0)
    for _, row in frame.iterrows():
        weights = {}
        for state in itertools.product(*levels.values()):
            whole = dict(zip(levels, state, strict=True))
            if all(pd.isna(value) or whole[name] == value for name, value in row.items()):
                p = 1.0
                for cpd in net.cpds:
                    at = 0
                    for parent in cpd.parents:
                        at = at * len(parent.levels) + parent.levels.index(whole[parent.name])
                    p *= cpd.table[at, cpd.variable.levels.index(whole[cpd.variable.name])]
                key = tuple(whole[name] for name in names)
                weights[key] = weights.get(key, 0.0) + p
        total = sum(weights.values())
        for key, p in weights.items():
            table[key] += p / total
    return table


@pytest.mark.parametrize("arcs", [[("a", "b"), ("b", "c")], [("b", "a"), ("c", "a"), ("d", "c")]])
@pytest.mark.parametrize("names", [("a",), ("a", "c"), ("b", "d"), ("a", "b", "c")])
def test_completed_rows_have_the_expected_counts_of_any_family(arcs, names):
    frame = chain(1, 60, 0.35)
    net = network(frame, arcs)
    completion = completed(net, gml.read(frame, missing="available"), most_points=1000)
    assert completion.drawn == 0
    rows = completion.rows
    assert rows.n * rows.unit == pytest.approx(60, rel=1e-12)
    counter = gml.MemoryCounter(rows)
    at = [rows.index(name) for name in names]
    expected = expected_by_definition(net, frame, names)
    for counts in counter.tables([TableSet((at[-1],), tuple(at[:-1]))]):
        for config, cells in zip(counts.configs, counts.table, strict=True):
            given = [rows.variables[j].levels[code] for j, code in zip(at, config, strict=False)]
            for code, cell in enumerate(cells):
                key = (*given, rows.variables[at[-1]].levels[code])
                # States of probability below 1e-9 are left out.
                assert cell * rows.unit == pytest.approx(expected[key], abs=1e-6)


def test_neither_rows_nor_columns_matter():
    frame = chain(2, 200, 0.3)
    net = network(frame, [("a", "b"), ("b", "c")])
    table = gml.read(frame, missing="available")
    turned = gml.read(frame.sample(frac=1, random_state=0)[list("dcba")], missing="available")
    for most in (2, 64):
        one = completed(net, table, most_points=most).rows
        other = completed(net, turned, most_points=most).rows
        assert one.unit == other.unit and one.weights.tolist() == other.weights.tolist()
        assert all((x == y).all() for x, y in zip(one.columns, other.columns, strict=True))


def shares_of_levels(rows):
    """How many rows have each level of a, b and c."""
    frame, weight = rows.to_frame(), rows.weights * rows.unit
    return np.array(
        [weight[(frame[x] == f"L{k}").to_numpy()].sum() for x in "abc" for k in range(3)]
    )


def shares_of_pairs(rows, pair, keys):
    """How many rows have each pair of levels."""
    found = rows.to_frame()[list(pair)].apply(tuple, axis=1)
    weights = rows.weights * rows.unit
    return [float(weights[(found == key).to_numpy()].sum()) for key in keys]


def test_rows_of_many_states_are_draws_with_the_right_shares():
    frame = chain(3, 400, 0.5)
    net = network(frame, [("a", "b"), ("b", "c")])
    table = gml.read(frame, missing="available")
    right = shares_of_levels(completed(net, table, most_points=1000).rows)
    drawn = [completed(net, table, most_points=4, seed=seed) for seed in range(40)]
    assert all(0 < one.drawn < 400 for one in drawn)
    errors = np.array([shares_of_levels(one.rows) - right for one in drawn])
    assert (np.abs(errors.mean(axis=0)) < 4.5 * errors.std(axis=0) / math.sqrt(40)).all()
    # Rows that are alike are drawn together: four independent draws of each would vary by this.
    alike = frame.fillna("").value_counts().to_numpy()
    assert (errors.std(axis=0) < math.sqrt((alike**2).sum() / 4 / 4)).all()


@pytest.mark.parametrize("shares_a_plan", [True, False])
def test_rows_of_too_many_states_to_look_at_are_drawn_by_elimination(monkeypatch, shares_a_plan):
    """One plan for all rows, or one for each, draws from the distribution of what a row lacks."""
    monkeypatch.setattr("gml.structural.completions._MOST_STATES", 2)
    if not shares_a_plan:
        monkeypatch.setattr("gml.model.inference._SHARED_BYTES", 0)
    frame = chain(5, 80, 0.5)
    net = network(frame, [("a", "b"), ("b", "c")])
    table = gml.read(frame, missing="available")
    seeds = range(30)
    drawn = [completed(net, table, most_points=16, seed=seed) for seed in seeds]
    lack_two = (frame[list("abc")].isna().sum(axis=1) >= 2).sum()
    assert lack_two > 20 and all(one.drawn >= lack_two for one in drawn)
    alike = frame.fillna("").value_counts().to_numpy()
    assert all(one.rows.n * one.rows.unit == pytest.approx(80, rel=1e-12) for one in drawn)
    for pair in (("a", "b"), ("b", "c"), ("c", "d")):
        expected = expected_by_definition(net, frame, pair)
        found = np.array([shares_of_pairs(one.rows, pair, list(expected)) for one in drawn])
        errors = found - np.array(list(expected.values()))
        spread = errors.std(axis=0)
        # Rows that are alike share 16 draws, each right or wrong with a variance of at most 1/4.
        assert (spread <= math.sqrt((alike**2).sum() / 4 / 16)).all()
        assert (np.abs(errors.mean(axis=0)) <= 4.5 * spread / math.sqrt(len(seeds)) + 1e-12).all()


def test_numbers_become_points_with_the_right_moments():
    rng = np.random.default_rng(4)
    x = rng.normal(size=300)
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(size=300), "z": rng.normal(size=300)})
    frame["z"] += frame["y"]
    graph = gml.Graph.from_edges(list("xyz"), [("x", "-->", "y"), ("y", "-->", "z")])
    net = gml.fit(frame, graph, gaussian=True)
    gaps = frame.mask(rng.random(frame.shape) < 0.4)
    rows = completed(net, gml.read(gaps, numeric=list("xyz"), missing="available")).rows
    weight = rows.weights * rows.unit
    points = np.column_stack(rows.columns)
    second = (points * weight[:, None]).T @ points
    expected = np.zeros((3, 3))
    for _, row in gaps.iterrows():
        given = {k: v for k, v in row.items() if not pd.isna(v)}
        mean, cov = row.to_numpy(dtype=float).copy(), np.zeros((3, 3))
        holes = [k for k in range(3) if math.isnan(mean[k])]
        if holes:
            from gml.model.gaussian import gaussian_posterior

            found = gaussian_posterior(net, given, ["xyz"[k] for k in holes])
            mean[holes] = found.mean
            cov[np.ix_(holes, holes)] = found.factor @ found.factor.T
        expected += np.outer(mean, mean) + cov
    np.testing.assert_allclose(second, expected, rtol=1e-9)


def test_the_last_climb_ends_by_height_unless_the_score_moves_with_parameters(monkeypatch):
    enough = []

    def told(graph, rows, *, settings, **named):
        enough.append(settings.enough)
        return fit_em(graph, rows, settings=settings, **named)

    monkeypatch.setattr("gml.verbs.shared.structural_search.fit_em", told)
    for score, last in (("bic", 1e-10), ("bdeu", None)):
        gml.hc(chain(5, 300, 0.3), missing="em", score=score)
        assert enough[0] == 1e-7 and enough[-1] == last
        enough.clear()


@pytest.mark.parametrize("learner", [gml.hc, gml.ges])
@pytest.mark.parametrize("score", [None, "aic", "bdeu"])
def test_scores_rise_round_by_round_and_are_those_of_the_observed_data(learner, score):
    frame = chain(5, 300, 0.3)
    how = {} if score is None else {"score": score}
    found = learner(frame, missing="em", **how)
    rounds = found.graph.learning.written()["structural_em"]["rounds"]
    taken = [one["score"] for one in rounds if one["taken"]]
    assert taken == sorted(taken) and found.score == taken[-1]
    assert all(one["score"] <= taken[-1] + RESOLUTION for one in rounds)
    value = gml.score(frame, found.dag, missing="em", score=score or "bic").to_frame()
    assert value[score or "bic"][0] == pytest.approx(found.score, rel=1e-8)
    edges = {frozenset((e.source, e.target)) for e in found.graph.edges}
    assert {frozenset("ab"), frozenset("bc")} <= edges


def test_the_chain_is_found_where_few_rows_are_complete():
    """More than half of the cells are gone: some 4 % of the rows are complete."""
    found = gml.ges(chain(6, 400, 0.55), missing="em").graph
    edges = {frozenset((e.source, e.target)) for e in found.edges}
    assert {frozenset("ab"), frozenset("bc")} <= edges


def test_draws_have_a_seed_of_their_own():
    # Two chains: a row that lacks all but one of their cells has more than 64 ways to be complete.
    frame = pd.concat([chain(10, 150, 0.7), chain(11, 150, 0.7).rename(columns=str.upper)], axis=1)
    found = [gml.ges(frame, missing="em", seed=seed) for seed in (1, 1, 2)]
    assert found[0].score == found[1].score
    rounds = [some.graph.learning.written()["structural_em"]["rounds"] for some in found]
    assert all(one["drawn"] > 0 for one in rounds[0])
    expected = [[one["expected_score"] for one in some] for some in rounds]
    assert expected[0] == expected[1] != expected[2]
    with pytest.raises(gml.UsageError, match="restarts"):
        gml.ges(frame.dropna(), seed=1)


def test_without_gaps_it_is_the_ordinary_search():
    frame = chain(7, 200, 0.0)
    one, other = gml.hc(frame, missing="em"), gml.hc(frame)
    assert one.graph.marks.tolist() == other.graph.marks.tolist() and one.score == other.score


def test_knowledge_and_starts_are_kept():
    frame = chain(8, 200, 0.2)
    found = gml.hc(frame, missing="em", require=[("d", "a")], forbid=[("a", "b"), ("b", "a")])
    arcs = {(e.source, e.target) for e in found.graph.edges}
    assert ("d", "a") in arcs and not {("a", "b"), ("b", "a")} & arcs
    start = gml.Graph.from_edges(list("abcd"), [("c", "-->", "b"), ("b", "-->", "a")])
    assert (
        gml.hc(frame, missing="em", start=start).score <= gml.ges(frame, missing="em").score + 1e-6
    )


def test_numbers_and_mixed_tables_have_their_scores():
    rng = np.random.default_rng(9)
    x = rng.normal(size=250)
    frame = pd.DataFrame({"x": x, "y": 0.8 * x + rng.normal(size=250)})
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    found = gml.ges(frame, missing="em", numeric=["x", "y"])
    assert found.graph.n_edges == 1
    assert found.graph.learning.written()["settings"]["score"] == "bic-g"
    mixed = frame.assign(k=np.where(x > 0, "p", "q"))
    found = gml.hc(mixed, missing="em", numeric=["x", "y"])
    assert found.graph.learning.written()["settings"]["score"] == "bic-cg"
    with pytest.raises(gml.UsageError, match="no score by bic-dg"):
        gml.hc(mixed, missing="em", numeric=["x", "y"], score="bic-dg")


def test_the_example_of_bnlearn(shared):
    table = shared / "data" / "simulated" / "learning.test.csv"
    frame = pd.read_csv(table, dtype=str)
    frame.loc[:99, "A"] = None
    frame.loc[100:199, "B"] = None
    frame.loc[:199, "E"] = None
    for learner in (gml.hc, gml.ges):
        found = learner(frame, missing="em")
        skeleton = {frozenset((e.source, e.target)) for e in found.dag.edges}
        assert skeleton == {frozenset(pair) for pair in ("AB", "AD", "CD", "BE", "EF")}
        complete = gml.ges(pd.read_csv(table, dtype=str)).graph
        assert gml.compare(complete, found.graph).to_frame()["shd"][0] == 0
