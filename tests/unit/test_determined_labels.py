"""Degenerate Gaussian scores of labels that determine one another, and of families too wide."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from gml.data.dataset import Dataset, Variable, fractional_weights
from gml.errors import DataError
from gml.learners.exact import exact as best_dag
from gml.learners.ges import ges as greedy_classes
from gml.learners.hillclimb import hill_climb
from gml.scores.base import total
from tests.graphs import all_dags, as_graph, equivalent_dags, random_dag
from tests.mixed_tables import score_of

LOG_DENSITY = math.log(2 * math.pi) + 1


def labelled(name, codes):
    codes = np.asarray(codes, dtype=np.uint8)
    return Variable(name, tuple("abcdef"[: int(codes.max()) + 1])), codes


def table(*columns):
    variables, values = zip(*columns, strict=True)
    return Dataset(variables, tuple(np.ascontiguousarray(column) for column in values))


def with_rules(seed, n=300):
    """A label, a copy of it, a function of it, one that is unknown (0) along with it, a number."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, n)
    columns = [
        labelled("a", a),
        labelled("copy", rng.permutation(4)[a]),
        labelled("half", a // 2),
        labelled("with", np.where(a == 0, 0, rng.integers(1, 4, n))),
    ]
    rng.shuffle(columns)
    number = (a == 1) + rng.normal(size=n)
    # The order of names decides which of the indicators count as determined.
    return table(
        *((Variable(f"v0{j}", v.levels), column) for j, (v, column) in enumerate(columns)),
        (Variable("v04", None), number),
    )


def gates(seed, n=200):
    """Two bits, their exclusive or and their or: a + b + c = 2·d."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, n), rng.integers(0, 2, n)
    columns = rng.permutation([a, b, a ^ b, a | b])
    return table(
        *(labelled(f"v0{j}", column) for j, column in enumerate(columns)),
        (Variable("v04", None), a + rng.normal(size=n)),
    )


def log_volume(data, columns):
    """h of a set: ln of the determinant of what is independent in order, ln 1/n for the rest."""
    names = [variable.name for variable in data.variables]
    order = sorted(columns, key=lambda j: (data.variables[j].is_continuous, names[j]))
    kept, determined = [], 0
    for j in order:
        parts = [data.columns[j]]
        if not data.variables[j].is_continuous:
            parts = [data.columns[j] == code for code in sorted(set(data.columns[j].tolist()))[1:]]
        for part in parts:
            wider = [*kept, part.astype(float) - part.mean()]
            if np.linalg.matrix_rank(np.column_stack(wider)) == len(wider):
                kept = wider
            else:
                determined += 1
    found = -determined * math.log(data.n)
    if kept:
        x = np.column_stack(kept)
        found += np.linalg.slogdet(x.T @ x / data.n)[1]
    return found


@pytest.mark.parametrize("made", [with_rules, gates])
@pytest.mark.parametrize("seed", range(3))
def test_a_family_is_a_difference_of_volumes(made, seed):
    data = made(seed)
    score = score_of("loglik-dg", data)
    for child in range(5):
        others = [j for j in range(5) if j != child]
        for k in range(5):
            for given in itertools.combinations(others, k):
                left = log_volume(data, [child, *given]) - log_volume(data, given)
                width = len(set(data.columns[child].tolist())) - 1 if child < 4 else 1
                expected = -data.n / 2 * (left + width * LOG_DENSITY)
                assert score.local(child, given) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["loglik-dg", "bic-dg"])
@pytest.mark.parametrize("made", [with_rules, gates])
def test_equivalent_dags_have_equal_scores(name, made):
    rng = np.random.default_rng(8)
    several = 0
    for seed in range(16):
        data = made(seed)
        score = score_of(name, data)
        dags = list(equivalent_dags(random_dag(rng, 5, 0.6)))
        values = [total(score, as_graph(dag)) for dag in dags]
        several += len(dags) > 1
        assert np.isfinite(values).all()
        assert max(values) - min(values) <= 1e-10 * abs(values[0])
    assert several >= 5


def test_rows_and_columns_in_another_order_change_nothing():
    data = with_rules(5)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(data.n), rng.permutation(5)
    shuffled = Dataset(
        tuple(data.variables[j] for j in columns),
        tuple(np.ascontiguousarray(data.columns[j][rows]) for j in columns),
    )
    at = {int(j): k for k, j in enumerate(columns)}
    score, other = score_of("bic-dg", data), score_of("bic-dg", shuffled)
    for child in range(5):
        for parents in itertools.combinations([j for j in range(5) if j != child], 3):
            there = other.local(at[child], [at[j] for j in parents])
            assert there == score.local(child, parents)


def test_a_rule_is_worth_what_one_exception_is_and_the_variance_of_one_row():
    # A label with a share of ½, and a copy of it: what is left of the copy is 1/n of ¼.
    n = 1000
    half = np.arange(n) % 2
    exact = table(labelled("a", half), labelled("b", half))
    score = score_of("loglik-dg", exact)
    gain = score.local(1, (0,)) - score.local(1, ())
    assert gain == pytest.approx(n / 2 * math.log(n / 4), rel=1e-12)
    one_off = half.copy()
    one_off[0] = 1
    near = score_of("loglik-dg", table(labelled("a", half), labelled("b", one_off)))
    assert near.local(1, (0,)) == pytest.approx(score.local(1, (0,)), abs=2)


@pytest.mark.parametrize("made", [with_rules, gates])
def test_searches_find_one_of_the_best_dags_and_join_what_is_determined(made):
    for seed in range(2):
        data = made(seed)
        score = score_of("bic-dg", data)
        optimum = best_dag(score)
        four = Dataset(data.variables[:4], data.columns[:4])
        of_four = score_of("bic-dg", four)
        best = max(
            total(of_four, as_graph(np.array([[p >> x & 1 for p in parents] for x in range(4)])))
            for parents in all_dags(4).tolist()
        )
        assert best_dag(of_four).score == pytest.approx(best, rel=1e-12)
        for result in (greedy_classes(score), hill_climb(score, tabu=10, restarts=3), optimum):
            assert result.score == pytest.approx(total(score, result.dag), rel=1e-12)
            assert result.score <= optimum.score + 1e-6
            # All labels hang together.
            joined = {0}
            for _ in range(4):
                joined |= {
                    y
                    for x in joined
                    for y in range(5)
                    if y in result.dag.parents(x) or x in result.dag.parents(y)
                }
            assert {0, 1, 2, 3} <= joined


def test_one_of_two_copies_is_the_parent():
    rng = np.random.default_rng(3)
    a = rng.integers(0, 3, 500)
    data = table(
        labelled("a", a), labelled("b", a), (Variable("x", None), a + rng.normal(size=500))
    )
    for search in (greedy_classes, hill_climb, best_dag):
        dag = search(score_of("bic-dg", data)).dag
        assert dag.n_edges == 2
        assert bool(dag.parents(0)) != bool(dag.parents(1)) or not dag.parents(2)


def test_ceilings_hold():
    for made in (with_rules, gates):
        score = score_of("bic-dg", made(1))
        for child in range(5):
            may = [j for j in range(5) if j != child]
            sets = [s for k in range(5) for s in itertools.combinations(may, k)]
            values, ceilings = score.bounded_batch([(child, s) for s in sets])
            for (i, small), (k, large) in itertools.product(enumerate(sets), repeat=2):
                if set(small) <= set(large):
                    assert values[k] <= ceilings[i] + 1e-9


def test_ceilings_of_labels_of_many_levels_are_finite_unless_others_determine_them():
    """Little is left of all indicators together, though enough of each."""
    rng = np.random.default_rng(9)
    n = 1200
    a = np.arange(n) % 6
    # One row of a hundred of each level has the next one.
    b = np.where(np.arange(n) // 6 % 100 == 0, (a + 1) % 6, a)
    data = table(
        labelled("a", a),
        labelled("b", b),
        (Variable("x", None), (a == 2) + rng.normal(size=n)),
        labelled("half", b // 2),
    )
    three = Dataset(data.variables[:3], data.columns[:3])
    for some, bounded in [(three, {0, 1, 2}), (data, {0, 2})]:
        score = score_of("bic-dg", some)
        columns = range(len(some.variables))
        for child in columns:
            may = [j for j in columns if j != child]
            sets = [s for k in range(len(may) + 1) for s in itertools.combinations(may, k)]
            values, ceilings = score.bounded_batch([(child, s) for s in sets])
            assert np.isfinite(ceilings).all() == (child in bounded)
            for (i, small), (k, large) in itertools.product(enumerate(sets), repeat=2):
                if set(small) <= set(large):
                    assert values[k] <= ceilings[i] + 1e-9


def test_what_is_determined_is_said_once_by_its_smallest_families():
    data = table(labelled("a", [0, 1, 2, 0, 1, 2] * 4), labelled("b", [0, 1, 1] * 8))
    score = score_of("bic-dg", data)
    assert score.remarks() == []
    hill_climb(score)
    assert score.remarks() == [
        "bic-dg: some labels determine levels of others: 'a' given 'b', 'b' given 'a'; what is "
        "determined counts as if one row were left to explain"
    ]


def test_a_family_with_too_few_rows_is_worth_minus_infinity_in_every_order():
    rng = np.random.default_rng(2)
    n = 10
    data = table(
        labelled("a", np.arange(n) % 6),
        labelled("b", [0, 1, 2, 3, 0, 1, 1, 2, 3, 0]),
        (Variable("x", None), rng.normal(size=n)),
        (Variable("y", None), rng.normal(size=n)),
    )
    score = score_of("bic-dg", data)
    # 5 + 3 columns have ten rows, which are enough; with a number they are not.
    assert math.isfinite(score.local(1, (0,)))
    assert score.remarks() == []
    for child, parents in [(0, (1, 2)), (1, (0, 2)), (2, (0, 1)), (0, (1, 2, 3))]:
        assert score.local(child, parents) == -math.inf
    assert score.remarks() == [
        "bic-dg: families with too few rows are worth −∞: 'a' given 'b', 'x' (10 of 11 rows "
        "needed), 'b' given 'a', 'x' (10 of 11 rows needed), 'x' given 'a', 'b' (10 of 11 rows "
        "needed)"
    ]
    for search in (greedy_classes, hill_climb, best_dag):
        assert math.isfinite(search(score).score)


@pytest.mark.parametrize("ridge", [0.0, 0.01])
def test_a_label_of_one_level_is_worth_nothing_whatever_its_parents_and_its_batch(ridge):
    a = np.arange(12) % 6
    data = table(
        labelled("a", a),
        labelled("copy", a),
        labelled("one", np.zeros(12, dtype=int)),
        (Variable("x", None), np.arange(12.0) ** 2),
        (Variable("y", None), 2 * np.arange(12.0) ** 2),
    )
    score = score_of("bic-dg", data, ridge=ridge)
    # Copies, too few rows, and numbers that are functions of one another.
    given = [(), (0,), (1, 0), (0, 1, 3), (3, 4), (0, 3, 4)]
    for parents in given:
        values, ceilings = score.bounded_batch([(2, parents)])
        assert values.tolist() == ceilings.tolist() == [0.0]
    values = score.batch([(2, parents) for parents in given] + [(3, (0,))])
    assert values[:-1].tolist() == [0.0] * len(given) and values[-1] != 0
    assert score.remarks() == []


def with_weights(data, times, weight):
    """Each row so many times, with a fractional weight."""
    weights, unit = fractional_weights(np.full(data.n * times, weight))
    columns = tuple(np.repeat(column, times) for column in data.columns)
    return Dataset(data.variables, columns, weights, unit=unit)


@pytest.mark.parametrize(("times", "weight"), [(1, 1.0), (4, 0.25)])
@pytest.mark.parametrize("rows", [10, 60])
def test_rows_of_fractional_weights_count_as_what_they_add_up_to(times, weight, rows):
    rng = np.random.default_rng(6)
    a = np.arange(rows) % 6
    data = table(
        labelled("a", a),
        labelled("b", (a + np.arange(rows) // 3) % 4),
        labelled("half", a // 2),
        (Variable("x", None), rng.normal(size=rows)),
    )
    plain, weighted = (
        score_of("bic-dg", data),
        score_of("bic-dg", with_weights(data, times, weight)),
    )
    families = [
        (child, given)
        for child in range(4)
        for k in range(4)
        for given in itertools.combinations([j for j in range(4) if j != child], k)
    ]
    values, ceilings = plain.bounded_batch(families)
    assert (values == -math.inf).any() == (rows == 10)
    found, most = weighted.bounded_batch(families)
    np.testing.assert_allclose(found, values, rtol=1e-12)
    np.testing.assert_allclose(most, ceilings, rtol=1e-12)
    assert weighted.remarks() == plain.remarks()
    # Labels that are functions of others are told of, and below eleven rows what is too wide.
    assert len(plain.remarks()) == (2 if rows == 10 else 1)


def test_numbers_that_follow_from_labels_are_refused_unless_there_is_a_ridge():
    rng = np.random.default_rng(4)
    a = rng.integers(0, 3, 60)
    data = table(
        labelled("a", a),
        (Variable("years", None), np.array([8.0, 9.5, 16.0])[a]),
        (Variable("z", None), rng.normal(size=60)),
    )
    for child, parents in [(1, (0,)), (0, (1,)), (2, (0, 1))]:
        with pytest.raises(
            DataError, match="'a', 'years'.*leave one out, as by .*'years'.*, or give `ridge=1e-06`"
        ):
            score_of("bic-dg", data).local(child, parents)
    soft = score_of("bic-dg", data, ridge=0.01)
    assert soft.local(1, (0,)) > soft.local(1, ())
