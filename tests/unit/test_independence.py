"""Independence tests: verdicts, degrees of freedom, insufficiency, invariance, adjustments."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gml
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer, DataError, UsageError
from gml.independence.base import DEPENDENT, INDEPENDENT, INSUFFICIENT
from gml.independence.multiplicity import adjust
from gml.independence.registry import ADJUSTMENTS as METHODS
from gml.independence.registry import TESTS

DISCRETE = ["g", "chi2", "mi-threshold", "bayes", "permutation"]


def dataset(columns, n_levels, names="xyzuvw", weights=None):
    variables = tuple(
        Variable(name, tuple(str(k) for k in range(r)))
        for name, r in zip(names, n_levels, strict=False)
    )
    return Dataset(variables, tuple(np.asarray(c, dtype=np.uint8) for c in columns), weights)


def numbers(columns, names="xyzuvw"):
    variables = tuple(Variable(name, None) for name, _ in zip(names, columns, strict=False))
    return Dataset(variables, tuple(np.asarray(c, dtype=np.float64) for c in columns))


def make(name, data, **options):
    return TESTS[name](gml.MemoryCounter(data, threads=1), **options)


@pytest.mark.parametrize("name", DISCRETE)
def test_verdicts_on_clear_cases(name):
    rng = np.random.default_rng(0)
    x, z = rng.integers(0, 2, 1000), rng.integers(0, 3, 1000)
    copy = x ^ (rng.random(1000) < 0.05)
    coin = rng.integers(0, 2, 1000)
    test = make(name, dataset([x, copy, coin, z], [2, 2, 2, 3]))
    assert test.verdict(test(0, 1), 0.01) == DEPENDENT
    assert test.verdict(test(0, 1, (3,)), 0.01) == DEPENDENT
    assert test.verdict(test(0, 2), 1e-3) == INDEPENDENT
    assert test.verdict(test(0, 2, (3,)), 1e-3) == INDEPENDENT


@pytest.mark.parametrize("name", DISCRETE)
def test_constant_column_is_independent_of_everything(name):
    data = dataset([[0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]], [1, 2, 2])
    test = make(name, data)
    for given_ in ((), (2,)):
        result = test(0, 1, given_)
        assert result.sufficient
        assert test.verdict(result, 0.05) == INDEPENDENT
        if name in ("g", "chi2", "permutation"):
            assert result.log_p == 0.0


@pytest.mark.parametrize("name", DISCRETE)
def test_no_stratum_with_both_varying_is_insufficient(name):
    """x is a function of z: adjusted df = 0 although both vary."""
    data = dataset([[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1]], [2, 2, 2])
    test = make(name, data)
    result = test(0, 1, (2,))
    assert not result.sufficient
    assert result.log_p is None
    assert test.verdict(result, 0.05) == INSUFFICIENT


def test_min_per_cell():
    data = dataset([[0, 0, 1, 1] * 5, [0, 1, 0, 1] * 5], [2, 2])
    for name in DISCRETE:
        assert make(name, data, min_per_cell=5)(0, 1).sufficient
        assert not make(name, data, min_per_cell=5.1)(0, 1).sufficient


def test_too_few_permutations_for_alpha():
    data = dataset([[0, 0, 1, 1] * 5, [0, 0, 1, 1] * 5], [2, 2])
    test = make("permutation", data, permutations=18)
    result = test(0, 1)
    assert test.verdict(result, 0.05) == INSUFFICIENT
    assert test.verdict(result, 0.06) == DEPENDENT
    assert result.log_p == pytest.approx(math.log(1 / 19))


def test_df_rules_by_hand():
    """x has 3 levels of which stratum 0 sees 2; z has 3 levels of which 2 are seen."""
    x = [0, 1, 0, 1, 0, 1, 2, 2]
    y = [0, 1, 1, 0, 0, 1, 0, 1]
    z = [0, 0, 0, 0, 2, 2, 2, 2]
    data = dataset([x, y, z], [3, 2, 3])
    assert make("g", data, df="full")(0, 1, (2,)).df == 2 * 1 * 2
    assert make("g", data, df="adjusted")(0, 1, (2,)).df == 1 * 1 + 2 * 1
    assert make("mi-threshold", data)(0, 1, (2,)).df == 4


def test_threshold_is_the_bic_difference():
    rng = np.random.default_rng(2)
    for _ in range(20):
        x = rng.integers(0, 3, 60)
        y = np.where(rng.random(60) < rng.random(), x % 2, rng.integers(0, 2, 60))
        test = make("mi-threshold", dataset([x, y], [3, 2]))
        result = test(0, 1)
        gain = result.n * result.mi - result.df * math.log(result.n) / 2
        assert test.verdict(result, 0.05) == (DEPENDENT if gain > 0 else INDEPENDENT)


def test_bayes_factor_against_closed_form():
    """2×2, ess 1: α = ¼ a cell."""
    data = dataset([[0, 0, 1, 1, 1], [0, 0, 1, 1, 0]], [2, 2])
    lg = math.lgamma

    def score(cells, alpha):
        return sum(lg(c + alpha) - lg(alpha) for c in cells)

    cells, rows, columns = [2, 0, 1, 2], [2, 3], [3, 2]
    expected = score(cells, 0.25) - score(rows, 0.5) - score(columns, 0.5) + score([5], 1.0)
    test = make("bayes", data)
    assert test(0, 1).statistic == pytest.approx(expected, rel=1e-12)
    assert make("bayes", data, log_bf=10).verdict(test(0, 1)) == INDEPENDENT
    with pytest.raises(UsageError):
        make("bayes", data, ess=0)


@pytest.mark.parametrize("name", DISCRETE)
def test_unseen_declared_levels_do_not_change_a_test(name):
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 2, 80), rng.integers(0, 3, 80), rng.integers(0, 2, 80)]
    tight, loose = dataset(columns, [2, 3, 2]), dataset(columns, [5, 6, 4])
    assert make(name, tight)(0, 1, (2,)) == make(name, loose)(0, 1, (2,))


@pytest.mark.parametrize("name", DISCRETE)
def test_weights_stand_for_repeated_rows(name):
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 2, 40), rng.integers(0, 3, 40), rng.integers(0, 2, 40)]
    weights = rng.integers(0, 4, 40)
    weighted = dataset(columns, [2, 3, 2], weights=weights)
    repeated = dataset([np.repeat(c, weights) for c in columns], [2, 3, 2])
    assert make(name, weighted)(0, 1, (2,)) == make(name, repeated)(0, 1, (2,))


@pytest.mark.parametrize("name", DISCRETE)
def test_available_rows_are_those_complete_in_the_table(name):
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 2, 200), rng.integers(0, 3, 200), rng.integers(0, 2, 200)]
    gaps = [np.where(rng.random(200) < 0.2, 255, c) for c in columns]
    data = dataset(gaps, [2, 3, 2])
    for given_ in ((), (2,)):
        used = [0, 1, *given_]
        complete = np.all([gaps[j] != 255 for j in used], axis=0)
        whole = dataset([c[complete] for c in columns], [2, 3, 2])
        assert make(name, data)(0, 1, given_) == make(name, whole)(0, 1, given_)


@pytest.mark.parametrize("name", [*DISCRETE, "fisher-z"])
def test_order_of_arguments_rows_and_columns_is_irrelevant(name):
    rng = np.random.default_rng(5)
    n = 300
    if name == "fisher-z":
        z = rng.normal(size=n)
        columns = [
            z + rng.normal(size=n),
            2 * z + rng.standard_cauchy(size=n),
            z,
            rng.normal(size=n),
        ]
        build = numbers
    else:
        columns = [rng.integers(0, 3, n) for _ in range(4)]
        build = lambda c, names: dataset(c, [3] * 4, names)  # noqa: E731
    rows = rng.permutation(n)
    one = make(name, build(columns, "xyzu"))
    two = make(name, build([columns[j][rows] for j in (2, 1, 3, 0)], "zyux"))
    expected = one(0, 1, (2, 3))
    assert one(1, 0, (3, 2)) == expected
    assert two(3, 1, (0, 2)) == expected
    assert two(1, 3, (2, 0)) == expected


def test_many_conditioning_variables_are_counted_over_what_is_seen():
    """4²⁰ configurations are possible; the table holds those of the rows."""
    rng = np.random.default_rng(0)
    n, k = 500, 20
    variables = tuple(Variable(f"v{j:02}", tuple("abcd")) for j in range(k + 2))
    columns = [rng.integers(0, 4, n).astype(np.uint8) for _ in range(k + 2)]
    for j in range(2, k + 2):
        columns[j] = columns[2]
    data = Dataset(variables, tuple(columns))
    test = make("g", data, df="adjusted")
    collapsed = test(0, 1, (2,))
    assert test(0, 1, tuple(range(2, k + 2))) == collapsed
    full = make("g", data)(0, 1, tuple(range(2, k + 2)))
    assert full.df == 9 * 4.0**20


def test_tables_over_the_budget_are_refused_before_they_are_made():
    rng = np.random.default_rng(0)
    levels = tuple(str(i) for i in range(60_000))
    column = rng.integers(0, 60_000, 100).astype(np.uint16)
    data = Dataset(
        (Variable("x", levels), Variable("y", levels), Variable("z", ("a",))),
        (column, column, np.zeros(100, np.uint8)),
    )
    counter = gml.MemoryCounter(data, max_memory=1 << 20)
    for name in ("g", "bayes"):
        with pytest.raises(
            CannotAnswer, match=r"the table of 'x', 'y' would take 26.8 GiB, more than"
        ):
            TESTS[name](counter)(0, 1)
    with pytest.raises(CannotAnswer, match="more than `max_memory`"):
        TESTS["g"](counter)(0, 1, (2,))


def test_continuous_columns_are_not_counted_and_labels_have_no_moments():
    data = numbers([[1.0, 2.0], [2.0, 3.0]])
    with pytest.raises(DataError, match="columns 'x', 'y' are numeric"):
        make("g", data)(0, 1)
    with pytest.raises(DataError, match="columns 'x', 'y' are categorical"):
        make("fisher-z", dataset([[0, 1], [0, 1]], [2, 2]))(0, 1)


# ------------------------------------------------------------------ Fisher's z


def test_fisher_z_against_scipy():
    from scipy import stats

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=50), rng.normal(size=50)
    result = make("fisher-z", numbers([x, y]))(0, 1)
    r = stats.pearsonr(x, y).statistic
    z = math.sqrt(47) * math.atanh(r)
    assert result.statistic == pytest.approx(z, rel=1e-12)
    assert math.exp(result.log_p) == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-10)
    assert result.mi == pytest.approx(-0.5 * math.log(1 - r * r), rel=1e-10)


def test_partial_correlation_against_least_squares():
    rng = np.random.default_rng(1)
    z = rng.normal(size=(80, 3))
    x, y = z @ [1, 2, 3] + rng.normal(size=80), z @ [1, 0, 1] + rng.normal(size=80)
    design = np.column_stack([np.ones(80), z])
    residual = [v - design @ np.linalg.lstsq(design, v, rcond=None)[0] for v in (x, y)]
    r = np.corrcoef(residual)[0, 1]
    result = make("fisher-z", numbers([x, y, *z.T]))(0, 1, (2, 3, 4))
    assert result.statistic == pytest.approx(math.sqrt(80 - 6) * math.atanh(r), rel=1e-10)


def test_fisher_z_edges():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=30), rng.normal(size=30)
    with pytest.raises(DataError, match=r"'x', 'y' are perfect"):
        make("fisher-z", numbers([x, 3 * x - 1]))(0, 1)
    with pytest.raises(DataError, match=r"'u', 'z' are perfect"):
        make("fisher-z", numbers([x, y, x + y, -2 * (x + y)]))(0, 1, (2, 3))
    with pytest.raises(DataError, match=r"'z', 'x' are perfect"):
        make("fisher-z", numbers([x, y, x * 2]))(0, 1, (2,))
    constant = make("fisher-z", numbers([x, np.full(30, 7.0), y]))
    assert constant(0, 1).log_p == 0.0
    assert constant(0, 2, (1,)).log_p is not None
    few = make("fisher-z", numbers([x[:4], y[:4], x[:4] ** 2]))
    assert not few(0, 1, (2,)).sufficient
    assert few(0, 1).sufficient


def test_fisher_z_of_large_offsets_and_scales():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=200), rng.normal(size=200)
    plain = make("fisher-z", numbers([x, y]))(0, 1).statistic
    moved = make("fisher-z", numbers([x * 2.0**40, y * 2.0**-60]))(0, 1).statistic
    assert moved == pytest.approx(plain, rel=1e-13)
    offset = make("fisher-z", numbers([x + 1e6, y - 1e6]))(0, 1).statistic
    assert offset == pytest.approx(plain, rel=1e-8)


def test_fisher_z_uses_available_rows_and_weights():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=60), rng.normal(size=60)
    gaps = x.copy()
    gaps[:10] = np.nan
    expected = make("fisher-z", numbers([x[10:], y[10:]]))(0, 1)
    assert make("fisher-z", numbers([gaps, y]))(0, 1) == expected
    weights = rng.integers(0, 3, 60)
    variables = (Variable("x", None), Variable("y", None))
    weighted = TESTS["fisher-z"](gml.MemoryCounter(Dataset(variables, (x, y), weights)))(0, 1)
    repeated = make("fisher-z", numbers([np.repeat(x, weights), np.repeat(y, weights)]))(0, 1)
    assert weighted == repeated


# ------------------------------------------------------------------ many tests


def by_definition(p, method):
    """Adjusted p-values by their definitions as minima and maxima."""
    m = len(p)
    order = sorted(range(m), key=lambda k: p[k])
    harmonic = sum(1 / i for i in range(1, m + 1))
    result = [0.0] * m
    for rank, k in enumerate(order, start=1):
        if method == "bonferroni":
            value = m * p[k]
        elif method == "holm":
            value = max((m - i + 1) * p[order[i - 1]] for i in range(1, rank + 1))
        else:
            factor = harmonic if method == "by" else 1
            value = min(factor * m / i * p[order[i - 1]] for i in range(rank, m + 1))
        result[k] = min(1.0, value)
    return result


@given(
    st.lists(st.floats(1e-12, 1), min_size=1, max_size=20),
    st.sampled_from([m for m in METHODS if m != "none"]),
)
def test_adjusted_p_values(p, method):
    found = adjust([math.log(v) for v in p], method)
    expected = by_definition(p, method)
    assert [math.exp(v) for v in found] == pytest.approx(expected, rel=1e-9)


def test_tests_without_a_p_value_are_not_in_the_family():
    assert adjust([math.log(0.01), None], "bonferroni")[0] == pytest.approx(math.log(0.01))
    assert adjust([None, None], "by") == [None, None]
    assert adjust([], "holm") == []


def test_adjusting_works_far_below_the_smallest_float():
    assert adjust([-1e6, -2e6], "holm") == pytest.approx([-1e6, -2e6 + math.log(2)])
