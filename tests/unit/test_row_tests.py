"""Tests that look at rows: published figures, definitions, invariance, levels, what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import gml
from gml.errors import CannotAnswer, UsageError
from gml.independence.base import INSUFFICIENT
from gml.resources import limited_to
from tests.row_data import asked, dataset, iris_sepals, mixed_table

ALL = ["hsic", "dcor", "kci", "rcit"]
CONDITIONAL = ["kci", "rcit"]
UNCONDITIONAL = ["hsic", "dcor"]


def iris():
    length, width = iris_sepals()
    return {"length": length, "width": width}


def test_hsic_of_irises_is_that_of_dhsic():
    result = asked("hsic", iris(), "length", "width", null="gamma")
    assert result.statistic == pytest.approx(2.79252535431, rel=1e-11)
    assert result.details["hsic"] == pytest.approx(0.0186168356954, rel=1e-11)
    assert result.details["bandwidth_x"] == pytest.approx(0.565685424949, rel=1e-11)
    assert result.details["bandwidth_y"] == pytest.approx(0.282842712475, rel=1e-11)
    assert math.exp(result.log_p) == pytest.approx(1.12463e-14, rel=1e-5)
    assert result.details["null"] == "gamma"
    assert result.n == 150


def test_distance_correlation_of_irises():
    result = asked("dcor", iris(), "length", "width")
    assert result.statistic == pytest.approx(0.310532564144, rel=1e-11)
    assert result.details["null"] == "permutation"


def gram_by_hand(values):
    values = np.asarray(values)
    if values.dtype.kind != "f":
        return (values[:, None] == values[None, :]).astype(float)
    squares = (values[:, None] - values[None, :]) ** 2
    pairs = squares[np.triu_indices(len(values), 1)]
    return np.exp(-squares / np.median(pairs[pairs > 0]))


def centred(matrix):
    n = len(matrix)
    centring = np.eye(n) - 1 / n
    return centring @ matrix @ centring


@pytest.mark.parametrize(("x", "y"), [("x", "y"), ("x", "kind"), ("group", "kind")])
def test_hsic_by_its_definition(x, y):
    columns = mixed_table(37)
    k, l = centred(gram_by_hand(columns[x])), centred(gram_by_hand(columns[y]))  # noqa: E741
    for test in ("hsic", "kci"):
        result = asked(test, columns, x, y)
        assert result.statistic == pytest.approx(np.trace(k @ l) / 37, rel=1e-10)


@pytest.mark.parametrize(("x", "y"), [("x", "y"), ("x", "kind"), ("group", "kind")])
def test_the_null_distribution_without_z_by_eigenvalues(x, y):
    columns = mixed_table(40)
    values = [np.linalg.eigvalsh(centred(gram_by_hand(columns[name]))) for name in (x, y)]
    weights = np.outer(*values).ravel() / (40 * 39)
    first, second, third = (np.sum(weights**power) for power in (1, 2, 3))
    df = second**3 / third**2
    scipy_stats = pytest.importorskip("scipy.stats")
    for test, options in (("kci", {}), ("hsic", {"null": "three-moment"})):
        result = asked(test, columns, x, y, **options)
        moved = (result.statistic - first) * math.sqrt(df / second) + df
        assert result.log_p == pytest.approx(scipy_stats.chi2.logsf(moved, df), abs=1e-6)


def distances(values):
    values = np.asarray(values)
    if values.dtype.kind == "f":
        return np.abs(values[:, None] - values[None, :])
    return (values[:, None] != values[None, :]).astype(float)


@pytest.mark.parametrize(
    ("x", "y"), [("x", "y"), ("x", "kind"), ("kind", "x"), ("group", "kind"), ("group", "y")]
)
def test_distance_correlation_by_its_definition(x, y):
    columns = mixed_table(41)
    a, b = centred(distances(columns[x])), centred(distances(columns[y]))
    expected = math.sqrt(np.mean(a * b) / math.sqrt(np.mean(a * a) * np.mean(b * b)))
    result = asked("dcor", columns, x, y)
    assert result.statistic == pytest.approx(expected, rel=1e-10)
    assert result.details["dcov"] == pytest.approx(math.sqrt(np.mean(a * b)), rel=1e-10)


@pytest.mark.parametrize(("x", "y"), [("x", "y"), ("y", "kind"), ("group", "kind")])
@pytest.mark.parametrize("test", UNCONDITIONAL)
def test_permutations_give_what_all_permutations_would(test, x, y):
    """Against permutations by another generator, on columns that are independent by shuffling."""
    columns = mixed_table(30, seed=5)
    kernel = {"hsic": gram_by_hand, "dcor": distances}[test]
    a, b = centred(kernel(columns[x])), centred(kernel(columns[y]))
    rng = np.random.default_rng(3)
    drawn = []
    for _ in range(4000):
        order = rng.permutation(30)
        drawn.append(np.sum(a * b[np.ix_(order, order)]))
    p = np.mean(np.array(drawn) >= np.sum(a * b) * (1 - 1e-9))
    found = math.exp(asked(test, columns, x, y, permutations=4000).log_p)
    assert abs(found - p) < 5 * math.sqrt(2 * max(p, 0.001) / 4000)


@pytest.mark.parametrize(
    ("test", "null"), [("hsic", "gamma"), ("hsic", "three-moment"), ("dcor", "three-moment")]
)
def test_the_formulas_are_near_the_permutations(test, null):
    rng = np.random.default_rng(8)
    columns = {"x": rng.normal(size=250), "y": rng.exponential(size=250)}
    by_formula = asked(test, columns, "x", "y", null=null).log_p
    by_draws = asked(test, columns, "x", "y", null="permutation", permutations=2000).log_p
    assert math.exp(by_formula) == pytest.approx(math.exp(by_draws), abs=0.04)


def test_where_a_p_value_is_from_depends_on_the_rows():
    few, many = (mixed_table(n) for n in (199, 200))
    for test, formula in (("hsic", "gamma"), ("dcor", "three-moment")):
        assert asked(test, few, "x", "y", permutations=19).details["null"] == "permutation"
        result = asked(test, many, "x", "y", permutations=19)
        assert result.details["null"] == formula
        assert result.details["permutations"] is None


def kci_by_hand(columns, x, y, given, details):
    """T and the null's power sums by the definition, with the bandwidths and regularisers found."""
    n = len(columns[x])
    points = np.column_stack([standardised(columns[name]) for name in given])
    squares = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
    pairs = squares[np.triu_indices(n, 1)]
    sigma = math.sqrt(np.median(pairs[pairs > 0]) / 2)

    def left(which):
        kernel = centred(np.exp(-squares / (2 * details[f"bandwidth_given_{which}"] ** 2)))
        penalty = details[f"regulariser_{which}"]
        return penalty * np.linalg.inv(kernel + penalty * np.eye(n))

    of_x = centred(gram_by_hand(columns[x]) * np.exp(-squares / 4 / (2 * sigma**2)))
    of_y = centred(gram_by_hand(columns[y]))
    r_x, r_y = left("x"), left("y")
    products = (r_x @ of_x @ r_x) * (r_y @ of_y @ r_y)
    centring = np.eye(n) - 1 / n
    white_x, white_y = centring @ r_x @ r_x, centring @ r_y @ r_y
    lost = np.trace(white_x @ white_y) / (np.diag(white_x) @ np.diag(white_y))
    eigenvalues = np.linalg.eigvalsh(products) * lost / n
    return products.sum() / n, [np.sum(eigenvalues**power) for power in (1, 2, 3)]


def standardised(values):
    values = np.asarray(values)
    if values.dtype.kind == "f":
        return ((values - values.mean()) / values.std())[:, None]
    indicators = (values[:, None] == np.unique(values)).astype(float)
    shares = indicators.mean(axis=0)
    return (indicators - shares) / math.sqrt(1 - np.sum(shares**2))


@pytest.mark.parametrize(
    ("x", "y", "given"),
    [
        ("x", "y", ["z"]),
        ("group", "y", ["z"]),
        ("x", "y", ["group", "z"]),
        ("group", "kind", ["y"]),
    ],
)
def test_kci_by_its_definition(x, y, given):
    columns = mixed_table(45)
    result = asked("kci", columns, x, y, given)
    statistic, (first, second, third) = kci_by_hand(columns, x, y, given, result.details)
    assert result.statistic == pytest.approx(statistic, rel=2e-3)
    df = second**3 / third**2
    scipy_stats = pytest.importorskip("scipy.stats")
    moved = (statistic - first) * math.sqrt(df / second) + df
    assert result.log_p == pytest.approx(scipy_stats.chi2.logsf(moved, df), abs=5e-3)


@pytest.mark.parametrize("test", ALL)
@pytest.mark.parametrize(("x", "y"), [("x", "y"), ("x", "group"), ("group", "kind")])
def test_rows_columns_threads_and_sides_change_nothing(test, x, y):
    given = ["z", "kind" if "kind" not in (x, y) else "y"] if test in CONDITIONAL else []
    columns = mixed_table(80)
    options = {"permutations": 99} if test in UNCONDITIONAL else {}
    first = asked(test, columns, x, y, given, **options)
    order = np.random.default_rng(1).permutation(80)
    shuffled = {name: columns[name][order] for name in reversed(columns)}
    again = asked(test, shuffled, x, y, given[::-1], threads=2, **options)
    assert (first.statistic, first.log_p, first.details) == (
        again.statistic,
        again.log_p,
        again.details,
    )
    other = asked(test, columns, y, x, given, **options)
    assert (other.statistic, other.log_p) == (first.statistic, first.log_p)
    for name, value in first.details.items():
        swapped = name[:-2] + {"_x": "_y", "_y": "_x"}.get(name[-2:], name[-2:])
        assert other.details[swapped] == value


@pytest.mark.parametrize("test", ALL)
def test_units_and_labels_do_not_matter(test):
    given = ["z"] if test in CONDITIONAL else []
    columns = mixed_table(60)
    options = {"permutations": 99} if test in UNCONDITIONAL else {}
    first = asked(test, columns, "x", "y", given, **options)
    # Features of −x are others than those of x, and permutations of other rows are others.
    scales = [(1e9, 0.0), (1.0, 2.0**20), (1e200, 0.0), (1e-200, 0.0)]
    scales += [] if test == "rcit" else [(-3.0, 0.0)]
    # The rows that an incomplete factor of the kernel of Z takes depend on their order.
    for scale, shift in scales:
        moved = {**columns, "x": columns["x"] * scale + shift}
        again = asked(test, moved, "x", "y", given, **options)
        assert again.statistic == pytest.approx(first.statistic, rel=1e-3)
        if test in CONDITIONAL:
            assert again.log_p == pytest.approx(first.log_p, abs=1e-2)


@pytest.mark.parametrize("test", ALL)
def test_weights_are_repeated_rows(test):
    given = ["z"] if test in CONDITIONAL else []
    columns = mixed_table(40)
    weights = np.random.default_rng(2).integers(0, 4, 40)
    repeated = {name: np.repeat(values, weights) for name, values in columns.items()}
    options = {"permutations": 99} if test in UNCONDITIONAL else {}
    weighted = asked(test, columns, "x", "kind", given, weights=weights, **options)
    plain = asked(test, repeated, "x", "kind", given, **options)
    assert (weighted.statistic, weighted.log_p, weighted.n) == (
        plain.statistic,
        plain.log_p,
        plain.n,
    )


def test_fractional_weights_are_refused():
    data = replace(dataset(mixed_table(30), weights=np.ones(30, dtype=np.int64)), unit=0.5)
    with pytest.raises(CannotAnswer, match="whole rows, and the weights are fractions"):
        gml.TESTS["hsic"](gml.MemoryCounter(data))(0, 1)


@pytest.mark.parametrize("test", ALL)
def test_rows_that_lack_a_value_are_left_out(test):
    columns = mixed_table(60)
    gaps = {**columns, "x": np.where(np.arange(60) < 20, np.nan, columns["x"])}
    rest = {name: values[20:] for name, values in columns.items()}
    options = {"permutations": 99} if test in UNCONDITIONAL else {}
    with_gaps = asked(test, gaps, "x", "y", **options)
    assert with_gaps.n == 40
    assert with_gaps.log_p == asked(test, rest, "x", "y", **options).log_p


@pytest.mark.parametrize("test", ALL)
def test_a_constant_column_is_independent_of_everything(test):
    columns = {**mixed_table(40), "same": np.full(40, 3.0), "one": np.zeros(40, dtype=int)}
    for name in ("same", "one"):
        result = asked(test, columns, "x", name)
        assert (result.statistic, result.log_p, result.varies) == (0.0, 0.0, False)
    if test in CONDITIONAL:
        given = asked(test, columns, "x", "y", ["z", "same", "one"])
        # Random features depend on the names of what is given.
        if test == "kci":
            assert given.log_p == asked(test, columns, "x", "y", ["z"]).log_p


@pytest.mark.parametrize(("test", "least"), [("hsic", 10), ("dcor", 10), ("kci", 20), ("rcit", 20)])
def test_too_few_rows_are_insufficient(test, least):
    columns = mixed_table(least - 1)
    assert not asked(test, columns, "x", "y").sufficient
    made = gml.TESTS[test](gml.MemoryCounter(dataset(columns)))
    assert made.verdict(made(0, 1), 0.05) == INSUFFICIENT
    assert asked(test, mixed_table(least), "x", "y").sufficient


def test_draws_that_cannot_reach_a_level_are_insufficient():
    made = gml.TESTS["dcor"](gml.MemoryCounter(dataset(mixed_table(50))), permutations=19)
    result = made.batch([(0, 1, ())])
    assert np.isnan(made.margins(result, 0.01)).all()
    assert made.verdict(result[0], 0.01) == INSUFFICIENT
    assert made.verdict(result[0], 0.05) != INSUFFICIENT


@pytest.mark.parametrize("test", UNCONDITIONAL)
def test_what_tests_two_columns_alone_is_refused_others(test):
    with pytest.raises(UsageError, match=r"others are given; use `test='kci'` or `test='rcit'`"):
        asked(test, mixed_table(30), "x", "y", ["z"])


@pytest.mark.parametrize("test", ["hsic", "kci"])
def test_matrices_over_the_budget_name_the_way_out(test):
    with (
        limited_to(1 << 20),
        pytest.raises(CannotAnswer, match=rf"{test} of 500 rows would take .*; use `test='rcit'`"),
    ):
        asked(test, mixed_table(500), "x", "y")


@pytest.mark.parametrize("test", CONDITIONAL)
def test_a_column_that_z_determines(test):
    z = np.random.default_rng(0).normal(size=60)
    result = asked(test, {"x": z.copy(), "y": z + 1.0, "z": z}, "x", "y", ["z"])
    assert math.isfinite(result.statistic)
    assert result.log_p <= 0


@pytest.mark.parametrize("test", CONDITIONAL)
def test_relations_that_correlation_does_not_see(test):
    rng = np.random.default_rng(7)
    z, e, f = rng.normal(size=(3, 400))
    columns = {
        "x": z + e,
        "square": z + e**2 + f,
        "spread": z + f * np.exp(e / 2),
        "sign": np.where(z > 0, e, -e) + f,
        "apart": z + f,
        "z": z,
    }
    for name in ("square", "spread", "sign"):
        assert asked(test, columns, "x", name, ["z"]).log_p < math.log(1e-3), name
    assert asked(test, columns, "x", "apart", ["z"]).log_p > math.log(0.01)
    assert asked(test, columns, "x", "apart").log_p < math.log(1e-3)


def test_what_three_columns_do_by_a_sine_is_not_taken_for_dependence():
    """A hundred random features of Z leave so much of it that five of the eight were rejected."""
    rejected = 0
    for seed in range(8):
        rng = np.random.default_rng([5, seed])
        z, (e, f) = rng.normal(size=(3, 1000)), rng.normal(size=(2, 1000))
        wave = np.sin(2 * z.sum(axis=0) / np.sqrt(3))
        columns = {"x": wave + e / 2, "y": wave + f / 2, **dict(zip("uvw", z, strict=True))}
        rejected += asked("rcit", columns, "x", "y", "uvw").log_p < math.log(0.01)
    assert rejected <= 1


@pytest.mark.parametrize("test", ALL)
@pytest.mark.parametrize("labels", [False, True])
def test_p_values_of_independent_columns_are_even(test, labels):
    """In 200 tables: a factor of two in the null distribution would show."""
    p = []
    for seed in range(200):
        rng = np.random.default_rng([11, seed])
        z = rng.normal(size=60)
        x = z + rng.normal(size=60)
        y = np.where(z + rng.normal(size=60) > 0, 1, 0) if labels else z**2 + rng.normal(size=60)
        if test in CONDITIONAL:
            result = asked(test, {"x": x, "y": y, "z": z}, "x", "y", ["z"])
        else:
            columns = {"x": x, "y": rng.permutation(y)}
            result = asked(test, columns, "x", "y", permutations=199)
        p.append(math.exp(result.log_p))
    p = np.sort(p)
    away = np.max(np.abs(p - (np.arange(200) + 0.5) / 200))
    assert away < 0.16
    assert np.mean(p <= 0.05) <= 0.11


def test_seeds_change_the_draws_of_rcit_and_nothing_else():
    columns = mixed_table(100)
    first, second = (asked("rcit", columns, "x", "y", ["z"], seed=seed) for seed in (0, 1))
    assert first.statistic != second.statistic
    assert first.statistic == asked("rcit", columns, "x", "y", ["z"], seed=0).statistic
    assert first.details["bandwidth_x"] == second.details["bandwidth_x"]


def test_more_labels_than_features():
    rng = np.random.default_rng(4)
    town = rng.integers(0, 40, 800)
    columns = {"town": town, "price": (town % 2) + rng.normal(size=800), "z": rng.normal(size=800)}
    assert asked("rcit", columns, "town", "price", ["z"]).log_p < math.log(1e-3)
    shuffled = {**columns, "town": rng.permutation(town)}
    assert asked("rcit", shuffled, "town", "price", ["z"]).log_p > math.log(1e-3)
