"""Scores of numbers beside labels: definitions, equivalence, order, and groups without variance."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import gml
from gml.data.dataset import Dataset, Variable
from gml.errors import DataError, UsageError
from gml.graph.knowledge import Knowledge
from gml.learners.exact import exact as best_dag
from gml.learners.ges import ges as greedy_classes
from gml.learners.hillclimb import hill_climb
from gml.scores.base import total
from tests.graphs import all_dags, as_graph, equivalent_dags, random_dag
from tests.mixed_tables import is_number, mixed_data, score_of

DG = ["loglik-dg", "aic-dg", "bic-dg"]
CG = ["loglik-cg", "aic-cg", "bic-cg"]


def expanded(data, columns):
    """Numbers, and indicators of the levels but the first that occurs, by a loop over columns."""
    parts = []
    for j in columns:
        if data.variables[j].is_continuous:
            parts.append(data.columns[j])
        else:
            seen = sorted(set(data.columns[j].tolist()))
            parts += [(data.columns[j] == code).astype(float) for code in seen[1:]]
    return np.column_stack(parts) if parts else np.empty((data.n, 0))


def squares_left(y, x):
    design = np.column_stack([np.ones(len(y)), x])
    return float(((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum())


@pytest.mark.parametrize("seed", range(4))
def test_dg_is_a_chain_of_regressions(seed):
    data = mixed_data(seed)
    likelihood = score_of("loglik-dg", data)
    for child, parents in [(0, ()), (0, (1, 2)), (2, (0, 1, 3)), (4, (3, 2, 0)), (1, (2,))]:
        given, own = expanded(data, sorted(parents)), expanded(data, [child])
        value, size = 0.0, 0
        for column in own.T:
            variance = squares_left(column, given) / data.n
            value -= data.n / 2 * (math.log(2 * math.pi * variance) + 1)
            size += given.shape[1] + 2
            given = np.column_stack([given, column])
        assert likelihood.local(child, parents) == pytest.approx(value, rel=1e-11)
        assert likelihood.dimension(child, parents) == size


@pytest.mark.parametrize("seed", range(4))
def test_cg_is_a_regression_per_group(seed):
    data = mixed_data(seed, n=900)
    likelihood = score_of("loglik-cg", data)
    for child, parents in [(1, ()), (1, (0, 2)), (4, (3, 0)), (3, (1, 4)), (4, (0, 1, 2, 3))]:
        labels = [j for j in parents if not is_number(data)[j]]
        groups = {}
        for i, key in enumerate(zip(*(data.columns[j].tolist() for j in labels), strict=True)):
            groups.setdefault(key, []).append(i)
        value = 0.0
        for rows in groups.values() if labels else [list(range(data.n))]:
            x = expanded(data, [j for j in parents if is_number(data)[j]])[rows]
            variance = squares_left(data.columns[child][rows], x) / len(rows)
            value -= len(rows) / 2 * (math.log(2 * math.pi * variance) + 1)
        assert likelihood.local(child, parents) == pytest.approx(value, rel=1e-11)
        configurations = math.prod(len(data.variables[j].levels) for j in labels)
        assert likelihood.dimension(child, parents) == configurations * (
            len(parents) - len(labels) + 2
        )


@pytest.mark.parametrize("name", [*DG, *CG])
def test_equivalent_dags_have_equal_scores(name):
    rng = np.random.default_rng(3)
    classes = 0
    for seed in range(15):
        data = mixed_data(seed, n=800, kinds="lnnln")
        numbers = is_number(data)
        dags = list(equivalent_dags(random_dag(rng, 5, 0.5)))
        if name in CG:
            allowed = [dag for dag in dags if not dag[np.ix_(numbers, ~numbers)].any()]
            classes += len(allowed) > 1
        else:
            classes += len(dags) > 1
        if not dags:
            continue
        # Of cg this holds for all DAGs, as GES needs it; those that are allowed have the score.
        score = score_of(name, data)
        values = [total(score, as_graph(dag)) for dag in dags]
        finite = [value for value in values if value > -math.inf]
        assert not finite or max(finite) - min(finite) <= 1e-10 * abs(finite[0])
    assert classes >= 5


@pytest.mark.parametrize("kinds", ["lll", "nnn"])
@pytest.mark.parametrize("price", ["loglik", "aic", "bic"])
def test_one_kind_alone_has_the_scores_of_that_kind(kinds, price):
    data = mixed_data(5, kinds=kinds)
    plain = score_of(price if kinds == "lll" else f"{price}-g", data)
    others = [f"{price}-cg"] if kinds == "lll" else [f"{price}-cg", f"{price}-dg"]
    for name, parents in itertools.product(others, [(), (1,), (1, 2)]):
        score = score_of(name, data)
        assert score.local(0, parents) == pytest.approx(plain.local(0, parents), rel=1e-12)
        assert score.dimension(0, parents) == plain.dimension(0, parents)


@pytest.mark.parametrize("name", ["bic-dg", "bic-cg", "kernel"])
def test_neither_rows_nor_columns_nor_weights_nor_threads_matter(name):
    data = mixed_data(7, n=150)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(150), rng.permutation(5)
    shuffled = Dataset(
        tuple(data.variables[j] for j in columns),
        tuple(np.ascontiguousarray(data.columns[j][rows]) for j in columns),
    )
    at = {variable.name: j for j, variable in enumerate(shuffled.variables)}
    score, other = score_of(name, data), gml.SCORES[name](gml.MemoryCounter(shuffled, threads=3))
    doubled = Dataset(data.variables, data.columns, np.full(150, 2))
    twice = Dataset(data.variables, tuple(np.repeat(column, 2) for column in data.columns))
    for child, parents in [(4, (0, 1, 2)), (1, (3,)), (0, (2,)), (3, ())]:
        there = at[f"v{child:02d}"], tuple(at[f"v{j:02d}"] for j in parents)
        assert other.local(*there) == score.local(child, parents)
        assert score_of(name, doubled).local(child, parents) == pytest.approx(
            score_of(name, twice).local(child, parents), rel=1e-12
        )


@pytest.mark.parametrize("name", [*DG, *CG, "aic", "bic", "ebic", "aic-g", "bic-g"])
def test_a_penalty_multiplies_the_price_of_parameters(name):
    kinds = {"g": "nnn", "dg": "lnl", "cg": "lnn"}.get(name.partition("-")[2], "lll")
    if name.startswith("loglik"):
        with pytest.raises(UsageError, match="`penalty` does not go with"):
            gml.score(
                mixed_data(1, kinds=kinds), gml.Graph.from_edges(["v00"], []), score=name, penalty=2
            )
        return
    data = mixed_data(1, kinds=kinds)
    score, dear = score_of(name, data), score_of(name, data, penalty=3)
    likelihood = score_of(gml.SCORES[name].likelihood, data)
    for parents in [(), (0,), (0, 2)]:
        price = (1 if name.startswith("aic") else 0.5 * math.log(data.n)) * score.dimension(
            1, parents
        )
        of_edges = len(parents) * math.log(3) if name == "ebic" else 0.0
        expected = likelihood.local(1, parents) - price - of_edges
        assert score.local(1, parents) == pytest.approx(expected, rel=1e-12)
        assert dear.local(1, parents) == pytest.approx(expected - 2 * price, rel=1e-12)


def test_levels_that_do_not_occur_have_no_indicator():
    data = mixed_data(2)
    more = [Variable(v.name, v.levels and (*v.levels, "never")) for v in data.variables]
    plain, declared = (
        score_of("bic-dg", data),
        score_of("bic-dg", Dataset(tuple(more), data.columns)),
    )
    assert declared.local(1, (0, 2)) == plain.local(1, (0, 2))
    # Tables and groups count declared levels.
    tables = score_of("loglik-cg", Dataset(tuple(more), data.columns))
    levels = [len(data.variables[j].levels) + 1 for j in (0, 2)]
    assert tables.dimension(1, (0, 2)) == 2 * levels[0] * levels[1]


def test_groups_that_determine_nothing_are_worth_minus_infinity_and_named():
    codes = np.array([0] * 6 + [1] * 2, dtype=np.uint8)
    steps = np.array([0, 1, 0, 0, 1, 1, 0, 1], dtype=np.uint8)
    x = np.array([1.0, 2.0, 4.0, 4.5, 7.0, 7.5, 3.0, 9.0])
    data = Dataset(
        (Variable("a", ("k", "m")), Variable("b", ("p", "q", "r")), Variable("x", None)),
        (codes, steps, x),
    )
    score = score_of("bic-cg", data)
    assert math.isfinite(score.local(2, (1,)))
    assert score.remarks() == []
    assert score.local(2, (0,)) == -math.inf
    (remark,) = score.remarks()
    assert (
        "1 family is worth −∞" in remark
        and "'x' given 'a' (2 of 3 rows needed where a=m)" in remark
    )
    flat = Dataset(data.variables, (codes, steps, np.where(steps == 0, 5.0, x)))
    found = score_of("bic-cg", flat).batch([(2, ()), (2, (1,)), (2, (0, 1)), (1, (2,))])
    assert np.isfinite(found[0])
    assert (found[1:] == -math.inf).all()


def test_a_ridge_is_noise_of_each_column():
    data = mixed_data(4, kinds="lnn")
    copied = Dataset(
        (*data.variables, Variable("copy", data.variables[0].levels)),
        (*data.columns, data.columns[0].copy()),
    )
    soft = score_of("bic-dg", copied, ridge=0.01)
    assert soft.local(3, (0,)) > soft.local(3, ())
    correlations = np.atleast_2d(np.corrcoef(expanded(data, [0]).T))
    noisy = correlations + 0.01 * np.eye(len(correlations))
    left = noisy - correlations @ np.linalg.solve(noisy, correlations)
    gain = np.linalg.slogdet(noisy)[1] - np.linalg.slogdet(left)[1]
    plain = soft.local(3, (0,)) - soft.local(3, ())
    price = 0.5 * math.log(data.n) * (soft.dimension(3, (0,)) - soft.dimension(3, ()))
    assert plain + price == pytest.approx(data.n / 2 * gain, rel=1e-9)


def test_columns_that_nearly_coincide_are_computed_from_exact_sums():
    rng = np.random.default_rng(1)
    x, noise = rng.normal(size=500), rng.normal(size=500)
    variables = (Variable("x", None), Variable("y", None))
    for size in (1e-3, 1e-5, 1e-6):
        data = Dataset(variables, (x + 1e3, x + size * noise))
        found = score_of("loglik-dg", data).local(1, (0,))
        centred, shift = noise - noise.mean(), x - x.mean()
        left = (centred**2).sum() - (centred @ shift) ** 2 / (shift**2).sum()
        expected = -250 * (math.log(2 * math.pi * size**2 * left / 500) + 1)
        assert found == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("name", ["bic-dg", "bic-cg", "aic-cg"])
def test_the_optimum_and_greedy_classes_are_among_the_best_of_all_dags(name):
    for seed in range(6):
        data = mixed_data(seed, n=300, kinds="lnnl")
        numbers = is_number(data)
        score = score_of(name, data)
        best = -math.inf
        for parents in all_dags(4).tolist():
            dag = np.array([[given >> x & 1 for given in parents] for x in range(4)], dtype=bool)
            if name not in DG and dag[np.ix_(numbers, ~numbers)].any():
                continue
            best = max(best, total(score, as_graph(dag)))
        optimum = best_dag(score)
        assert optimum.score == pytest.approx(best, rel=1e-12)
        for result in (greedy_classes(score), hill_climb(score, tabu=10, restarts=3), optimum):
            assert result.score <= best + 1e-6
            assert result.score == pytest.approx(total(score, result.dag), rel=1e-12)
            backwards = [
                x for y in np.flatnonzero(~numbers) for x in result.dag.parents(y) if numbers[x]
            ]
            assert name in DG or not backwards
        assert greedy_classes(score).score == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("name", ["bic-dg", "loglik-cg", "bic-cg"])
def test_ceilings_hold(name):
    data = mixed_data(11, n=200)
    score = score_of(name, data)
    numbers = is_number(data)
    for child in range(5):
        may = [
            j for j in range(5) if j != child and (name in DG or numbers[child] or not numbers[j])
        ]
        sets = [s for k in range(len(may) + 1) for s in itertools.combinations(may, k)]
        values, ceilings = score.bounded_batch([(child, s) for s in sets])
        for (i, small), (k, large) in itertools.product(enumerate(sets), repeat=2):
            if set(small) <= set(large):
                assert values[k] <= ceilings[i] + 1e-9


def test_knowledge_is_joined_with_what_a_score_demands():
    data = mixed_data(1, kinds="lnnl")
    score = score_of("bic-cg", data)
    plain = score.limited(Knowledge())
    assert plain.tiers == (("v00", "v03"), ("v01", "v02"))
    told = score.limited(Knowledge(tiers=(("v01",), ("v02", "v03"))))
    assert told.tiers == (("v01",), ("v02", "v03"))
    assert set(told.forbid) == {("v01", "v00"), ("v02", "v00"), ("v01", "v03"), ("v02", "v03")}
    assert score.limited(told) == told
    assert score.with_edge_penalty(1.0).limited(Knowledge()) == plain
    with pytest.raises(DataError, match="contradictory knowledge: 'v01' -> 'v00' is required"):
        score.limited(Knowledge(require=(("v01", "v00"),)))


def test_a_column_of_one_number_is_refused_and_one_of_one_label_is_alone():
    data = mixed_data(1, kinds="lnl")
    flat = Dataset(data.variables, (data.columns[0], np.ones(data.n), data.columns[2]))
    for name in ("bic-dg", "bic-cg", "kernel"):
        with pytest.raises(DataError, match="'v01' has only one value"):
            score_of(name, flat)
    single = Dataset(
        data.variables, (np.zeros(data.n, dtype=np.uint8), data.columns[1], data.columns[2])
    )
    for name in ("bic-dg", "bic-cg", "kernel"):
        score = score_of(name, single)
        assert score.constants() == [0]
        assert not hill_climb(score).graph.parents(0)
