"""Scores keep their promises: equivalence, order, priors, weights, and scores of users."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import gml
from gml.data.dataset import Dataset, Variable, fractional_weights
from gml.errors import CannotAnswer, DataError, GraphError, UsageError
from gml.scores.base import EdgePrior, as_score, families_of, rounded, total
from tests.graphs import as_graph, equivalent_dags, random_dag

EQUIVALENT = ["loglik", "aic", "bic", "ebic", "bdeu", "qnml"]
OTHERS = ["bd", "bds", "bdj", "k2", "fnml"]
GAUSSIAN = ["loglik-g", "aic-g", "bic-g", "bge"]


def ternary_data(seed, n=60, p=5):
    """Columns of three levels of which some are never seen, so that many cells are empty."""
    rng = np.random.default_rng(seed)
    columns = []
    for j in range(p):
        codes = rng.integers(0, 2 if j % 2 else 3, n)
        if j:
            codes = np.where(rng.random(n) < 0.5, columns[rng.integers(0, j)], codes)
        columns.append(codes.astype(np.uint8))
    variables = tuple(Variable(f"v{j}", ("a", "b", "c", "d")[: 3 + (j == 1)]) for j in range(p))
    return Dataset(variables, tuple(columns))


def numeric_data(seed, n=80, p=5):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, p))
    for j in range(1, p):
        values[:, j] += values[:, :j] @ rng.normal(size=j)
    variables = tuple(Variable(f"v{j}", None) for j in range(p))
    return Dataset(variables, tuple(np.ascontiguousarray(c) for c in values.T))


def score_of(name, data, graph, **options):
    return total(gml.SCORES[name](gml.MemoryCounter(data), **options), graph)


@pytest.mark.parametrize("name", [*EQUIVALENT, *GAUSSIAN])
def test_equivalent_dags_have_equal_scores(name):
    rng = np.random.default_rng(1)
    classes = 0
    for seed in range(12):
        matrix = random_dag(rng, 5, 0.5)
        dags = [as_graph(dag) for dag in equivalent_dags(matrix)]
        data = (numeric_data if name in GAUSSIAN else ternary_data)(seed)
        data = Dataset(
            tuple(
                Variable(n, v.levels) for n, v in zip(dags[0].names, data.variables, strict=True)
            ),
            data.columns,
        )
        score = gml.SCORES[name](gml.MemoryCounter(data))
        values = [total(score, dag) for dag in dags]
        classes += len(values) > 1
        assert max(values) - min(values) <= 1e-11 * abs(values[0])
    assert classes >= 6


@pytest.mark.parametrize("name", OTHERS)
def test_the_other_scores_tell_equivalent_dags_apart(name):
    data = ternary_data(3)
    score = gml.SCORES[name](gml.MemoryCounter(data))
    assert not score.equivalent
    there = gml.Graph.from_edges(data.names, [("v0", "-->", "v1")])
    back = gml.Graph.from_edges(data.names, [("v1", "-->", "v0")])
    assert abs(total(score, there) - total(score, back)) > 1e-3


@pytest.mark.parametrize("ess", [0.1, 1.0, 10.0])
def test_bdeu_is_a_product_of_predictions(ess):
    """P(D) = ∏ P(row i | rows before), each by the posterior mean of its cell."""
    data = ternary_data(7, n=40)
    child, parents = 2, (0, 1)
    levels = [len(v.levels) for v in data.variables]
    q = math.prod(levels[p] for p in parents)
    alpha = ess / (levels[child] * q)
    seen, log_p = {}, 0.0
    for i in range(data.n):
        config = tuple(int(data.columns[p][i]) for p in parents)
        cell = (*config, int(data.columns[child][i]))
        total_seen = sum(v for key, v in seen.items() if key[:-1] == config)
        log_p += math.log((seen.get(cell, 0) + alpha) / (total_seen + alpha * levels[child]))
        seen[cell] = seen.get(cell, 0) + 1
    score = gml.SCORES["bdeu"](gml.MemoryCounter(data), ess=ess)
    assert score.local(child, parents) == pytest.approx(log_p, rel=1e-12)


def test_k2_is_the_integral_over_all_tables():
    """∫∏ pₖ^nₖ dp over the simplex with the uniform density (r−1)!, by exact quadrature."""
    counts = [3, 1, 4]
    nodes, weights = np.polynomial.legendre.leggauss(12)
    nodes, weights = (nodes + 1) / 2, weights / 2
    integral = 0.0
    for (s, ws), (t, wt) in itertools.product(zip(nodes, weights, strict=True), repeat=2):
        # p = (s, (1−s)t, (1−s)(1−t)) has Jacobian 1 − s; polynomials are integrated exactly
        p = np.array([s, (1 - s) * t, (1 - s) * (1 - t)])
        integral += ws * wt * (1 - s) * float(np.prod(p**counts))
    codes = np.repeat([0, 1, 2], counts).astype(np.uint8)
    data = Dataset((Variable("x", ("a", "b", "c")),), (codes,))
    score = gml.SCORES["k2"](gml.MemoryCounter(data))
    assert score.local(0, ()) == pytest.approx(math.log(2 * integral), rel=1e-12)


def test_empty_cells_and_unseen_levels_count_in_the_dimension():
    data = ternary_data(1)
    bic = gml.SCORES["bic"](gml.MemoryCounter(data))
    assert bic.dimension(1, (0, 2)) == 3 * 3 * 3
    loglik = gml.SCORES["loglik"](gml.MemoryCounter(data))
    expected = loglik.local(1, (0, 2)) - 0.5 * math.log(data.n) * 27
    assert bic.local(1, (0, 2)) == pytest.approx(expected, rel=1e-14)
    ebic = gml.SCORES["ebic"](gml.MemoryCounter(data))
    assert ebic.local(1, (0, 2)) == pytest.approx(expected - 2 * math.log(5), rel=1e-14)


def test_bds_spreads_its_prior_over_what_was_seen():
    """With every configuration seen, bds is bdeu; otherwise bdeu over the seen ones."""
    columns = (np.array([0, 0, 1, 1, 0], np.uint8), np.array([0, 1, 1, 1, 0], np.uint8))
    two, three = ("a", "b"), ("a", "b", "c")
    narrow = Dataset((Variable("x", two), Variable("y", two)), columns)
    wide = Dataset((Variable("x", three), Variable("y", two)), columns)
    scores = {
        (rule, data): gml.SCORES[rule](gml.MemoryCounter(table), ess=2.0).local(1, (0,))
        for rule in ("bds", "bdeu")
        for data, table in (("narrow", narrow), ("wide", wide))
    }
    assert scores["bds", "narrow"] == scores["bdeu", "narrow"] == scores["bds", "wide"]
    assert scores["bdeu", "wide"] != scores["bdeu", "narrow"]


@pytest.mark.parametrize("name", [*EQUIVALENT, *OTHERS, *GAUSSIAN])
def test_neither_rows_nor_columns_have_an_order(name):
    """The last bit is the same for shuffled rows, shuffled columns and other thread counts."""
    data = (numeric_data if name in GAUSSIAN else ternary_data)(5, n=200)
    rng = np.random.default_rng(0)
    rows = rng.permutation(data.n)
    shuffled = Dataset(data.variables, tuple(np.ascontiguousarray(c[rows]) for c in data.columns))
    mixed = shuffled.select([data.names[j] for j in rng.permutation(5)])
    edges = [("v0", "-->", "v1"), ("v2", "-->", "v1"), ("v3", "-->", "v1"), ("v1", "-->", "v4")]
    values = set()
    for table in (data, shuffled, mixed):
        for threads in (1, 2):
            score = gml.SCORES[name](gml.MemoryCounter(table, threads=threads))
            values.add(total(score, gml.Graph.from_edges(table.names, edges)))
    assert len(values) == 1


def test_weights_are_rows_written_once():
    data = ternary_data(2, n=30)
    weights = np.arange(30, dtype=np.int64) % 4
    weighted = Dataset(data.variables, data.columns, weights)
    repeated = Dataset(data.variables, tuple(np.repeat(c, weights) for c in data.columns))
    for name in (*EQUIVALENT, *OTHERS):
        counters = gml.MemoryCounter(weighted), gml.MemoryCounter(repeated)
        values = [gml.SCORES[name](counter).local(1, (0, 2)) for counter in counters]
        assert values[0] == pytest.approx(values[1], rel=1e-13)


@pytest.mark.parametrize("name", ["loglik", "bic", "bdeu", "k2", "bic-g", "bge"])
def test_fractional_weights(name):
    data = (numeric_data if name in GAUSSIAN else ternary_data)(4, n=50)
    rng = np.random.default_rng(9)
    fractions = rng.random(50)
    whole, unit = fractional_weights(np.round(fractions * 10))
    exact = Dataset(data.variables, data.columns, whole, unit=unit)
    counted = Dataset(data.variables, data.columns, np.round(fractions * 10).astype(np.int64))
    score = gml.SCORES[name]
    assert score(gml.MemoryCounter(exact)).local(1, (0, 2)) == pytest.approx(
        score(gml.MemoryCounter(counted)).local(1, (0, 2)), rel=1e-12
    )
    weights, unit = fractional_weights(fractions)
    assert weights.sum() * unit == pytest.approx(fractions.sum(), rel=1e-14)
    rows = rng.permutation(50)
    values = {
        score(
            gml.MemoryCounter(
                Dataset(
                    data.variables,
                    tuple(np.ascontiguousarray(c[order]) for c in data.columns),
                    weights[order].copy(),
                    unit=unit,
                )
            )
        ).local(1, (0, 2))
        for order in (np.arange(50), rows)
    }
    assert len(values) == 1


def test_fractions_have_no_regret():
    weights, unit = fractional_weights(np.full(60, 0.5))
    data = ternary_data(1)
    counter = gml.MemoryCounter(Dataset(data.variables, data.columns, weights, unit=unit))
    with pytest.raises(UsageError, match="whole numbers"):
        gml.SCORES["qnml"](counter)


@pytest.mark.parametrize("bad", [[-1.0], [math.nan], [math.inf], [1e-300, 1e-300]])
def test_bad_fractional_weights(bad):
    with pytest.raises(DataError):
        fractional_weights(np.array(bad))


def test_gaussian_likelihood_is_the_regression():
    data = numeric_data(6)
    x = np.column_stack([np.ones(data.n), *(data.columns[j] for j in (0, 2, 3))])
    _, residual, *_ = np.linalg.lstsq(x, data.columns[1], rcond=None)
    variance = residual[0] / data.n
    expected = -0.5 * data.n * (math.log(2 * math.pi * variance) + 1)
    counter = gml.MemoryCounter(data)
    assert gml.SCORES["loglik-g"](counter).local(1, (3, 0, 2)) == pytest.approx(expected, rel=1e-12)
    bic = gml.SCORES["bic-g"](counter)
    assert bic.dimension(1, (3, 0, 2)) == 5


@pytest.mark.parametrize("size", [1e-150, 1.0, 1e6, 1e9, 1e200])
def test_bge_is_exact_for_columns_of_any_size(size):
    """Nearly collinear columns far from 1 against mpmath with sixty digits and more."""
    import mpmath

    rng = np.random.default_rng(2)
    x = rng.normal(size=60) * size
    y = x + rng.normal(size=60) * min(1.0, size)
    data = Dataset((Variable("x", None), Variable("y", None)), (x, y))
    score = gml.SCORES["bge"](gml.MemoryCounter(data))
    with mpmath.workdps(800):
        n, p = 60, 2
        columns = [[mpmath.mpf(float(v)) for v in column] for column in (x, y)]
        means = [sum(column) / n for column in columns]
        s = mpmath.matrix(2, 2)
        for i in range(2):
            for j in range(2):
                s[i, j] = sum(
                    (a - means[i]) * (b - means[j])
                    for a, b in zip(columns[i], columns[j], strict=True)
                ) + (mpmath.mpf("0.5") if i == j else 0)
        whole = s[0, 0] * s[1, 1] - s[0, 1] ** 2

        def local(l_parents, det_all, det_parents):
            prior = p + 2 - p + l_parents
            return (
                mpmath.log(mpmath.mpf(1) / (n + 1)) / 2
                + mpmath.loggamma(mpmath.mpf(n + prior + 1) / 2)
                - mpmath.loggamma(mpmath.mpf(prior + 1) / 2)
                - mpmath.mpf(n) / 2 * mpmath.log(mpmath.pi)
                + mpmath.mpf(prior + l_parents + 1) / 2 * mpmath.log(mpmath.mpf("0.5"))
                - mpmath.mpf(n + prior + 1) / 2 * mpmath.log(det_all)
                + mpmath.mpf(n + prior) / 2 * mpmath.log(det_parents)
            )

        expected = float(local(0, s[0, 0], mpmath.mpf(1)) + local(1, whole, s[0, 0]))
    found = score.local(0, ()) + score.local(1, (0,))
    # The columns themselves are kept to 52 bits of their range.
    assert found == pytest.approx(expected, rel=1e-9)


def test_the_command_line_knows_every_score():
    from gml.cli.main import cli

    (option,) = [p for p in cli.get_command(None, "score").params if "--score" in p.opts]
    named = option.help.removeprefix("One or more of ").rstrip(".")
    for other in ("; for numbers ", "; for both "):
        named = named.replace(other, ", ")
    assert named.split(", ") == list(gml.SCORES)
    assert [n for n in gml.SCORES if not gml.SCORES[n].equivalent] == [
        *OTHERS,
        "bic-glm",
        "nal",
        "pnal",
        "kernel",
    ]


def test_constant_and_collinear_numbers_are_refused():
    data = numeric_data(6)
    constant = Dataset(data.variables, (*data.columns[:-1], np.ones(data.n)))
    with pytest.raises(DataError, match="'v4' has only one value"):
        gml.SCORES["bge"](gml.MemoryCounter(constant))
    twin = Dataset(data.variables, (*data.columns[:-1], 2 * data.columns[0] + 1))
    with pytest.raises(DataError, match="'v0', 'v4'"):
        gml.SCORES["bic-g"](gml.MemoryCounter(twin)).local(4, (0,))


def test_edge_prior():
    data = ternary_data(0)
    score = gml.SCORES["bic"](gml.MemoryCounter(data))
    graph = gml.Graph.from_edges(data.names, [("v0", "-->", "v1"), ("v0", "-->", "v2")])
    assert total(EdgePrior(score, 1.5), graph) == pytest.approx(total(score, graph) - 3)
    assert EdgePrior(score, 1.5).local(1, (0, 2)) == score.local(1, (0, 2)) - 3


class FewParents:
    """A score of ten lines, as a user may write one."""

    names = ("a", "b", "c")

    def local(self, child, parents):
        return -float(len(parents)) - child


def test_a_user_written_score():
    graph = gml.Graph.from_edges("abc", [("a", "-->", "b"), ("b", "-->", "c")])
    assert total(FewParents(), graph) == -5
    assert as_score(FewParents()).batch(families_of(FewParents(), graph)).tolist() == [0, -2, -3]
    with pytest.raises(GraphError, match="column 'd' not found"):
        total(FewParents(), gml.Graph.from_edges("abd", []))
    with pytest.raises(GraphError, match="a DAG is needed"):
        total(FewParents(), gml.Graph.from_edges("abc", [("a", "---", "b")]))


def test_scores_need_the_same_rows():
    data = ternary_data(0)
    column = data.columns[0].copy()
    column[3] = 255
    gaps = Dataset(data.variables, (column, *data.columns[1:]))
    with pytest.raises(UsageError, match="different rows"):
        gml.SCORES["bic"](gml.MemoryCounter(gaps))


@pytest.mark.parametrize("name", ["bdeu", "bds"])
@pytest.mark.parametrize("ess", [0.0, -1.0, math.inf, math.nan])
def test_priors_have_rows(name, ess):
    with pytest.raises(UsageError, match="`ess` must be"):
        gml.SCORES[name](gml.MemoryCounter(ternary_data(0)), ess=ess)


def test_rounding():
    assert rounded(1e-7) == 0
    assert rounded(np.array([0.5, 1e-7])).tolist() == [0.5, 0.0]


def test_folds_are_parts_of_the_data():
    from gml.data.resampling import folds

    data = ternary_data(8, n=23)
    rng = np.random.default_rng(0)
    rows = rng.permutation(23)
    shuffled = Dataset(data.variables, tuple(np.ascontiguousarray(c[rows]) for c in data.columns))

    def counted(some):
        return [
            counts.table.tolist()
            for counts in gml.MemoryCounter(some).tables([gml.TableSet((0, 1), (2,))])
        ]

    whole = np.zeros(2)
    for (train, test), (train2, test2) in zip(
        folds(data, 4, seed=3), folds(shuffled, 4, seed=3), strict=True
    ):
        assert train.n + test.n == 23
        assert test.n in (5, 6)
        assert counted(test) == counted(test2)
        assert counted(train) == counted(train2)
        whole += [train.n, test.n]
    assert whole.tolist() == [69, 23]
    with pytest.raises(CannotAnswer):
        next(folds(data, 24))
