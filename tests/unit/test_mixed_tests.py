"""Tests of independence for numbers beside labels: dg, cg, ranks, and what auto picks."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import gml
from gml import MemoryCounter, kernel
from gml.counts.counter import TripleArray
from gml.counts.rank_correlations import midranks
from gml.data.dataset import Dataset, Variable
from gml.errors import DataError, UsageError
from gml.independence.automatic import described_picks, picked_for
from gml.independence.registry import PICKED, TESTS, make_test

NAMES = ("n1", "a", "n2", "b", "n3", "c")
TRIPLES = [
    (0, 1, ()),
    (1, 0, (2,)),
    (0, 2, (1, 3)),
    (0, 2, (4, 1)),
    (1, 3, (0,)),
    (1, 3, (5, 0, 2)),
    (1, 3, ()),
    (3, 1, (5,)),
    (0, 2, ()),
    (4, 2, (0,)),
    (5, 4, (1, 3)),
]


def table(seed=0, n=600, weighted=False, gaps=0.0) -> Dataset:
    """Three numbers and three labels; the last level of each label but c occurs nowhere."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.integers(0, 3, n), rng.integers(0, 2, n), rng.integers(0, 2, n)
    n1 = rng.normal(size=n) * (1 + b) + a
    n2 = 1e7 + 0.5 * n1 + c + rng.normal(size=n)
    n3 = np.round(3 * rng.normal(size=n) + b)
    numbers = [n1, n2, n3]
    labels = [part.astype(np.uint8) for part in (a, b, c)]
    if gaps:
        for part in numbers:
            part[rng.random(n) < gaps] = np.nan
        for part in labels:
            part[rng.random(n) < gaps] = 255
    columns = [cells for pair in zip(numbers, labels, strict=True) for cells in pair]
    levels = (None, tuple("pqrs"), None, tuple("uvw"), None, tuple("yz"))
    weights = rng.integers(0, 4, n) if weighted else None
    variables = tuple(Variable(*pair) for pair in zip(NAMES, levels, strict=True))
    return Dataset(variables, tuple(columns), weights)


def repeated(data: Dataset) -> Dataset:
    """The same rows as often as their weights say."""
    if data.weights is None:
        return data
    columns = tuple(np.repeat(cells, data.weights) for cells in data.columns)
    return Dataset(data.variables, columns)


def design(data: Dataset, columns) -> np.ndarray:
    """Numbers and indicators of all levels seen but one."""
    found = [np.empty((data.n_rows, 0))]
    for j in columns:
        cells = data.columns[j]
        if data.variables[j].is_continuous:
            found.append((cells - cells.mean())[:, None])
        else:
            found += [(cells == level)[:, None] for level in np.unique(cells)[1:]]
    return np.hstack(found).astype(float)


def dg_by_definition(data: Dataset, x, y, given) -> tuple[float, int]:
    """Wilks' Λ of residuals, by least squares and determinants."""
    z = np.column_stack([np.ones(data.n_rows), design(data, given)])
    blocks = [design(data, [x]), design(data, [y])]
    left = [part - z @ np.linalg.lstsq(z, part, rcond=None)[0] for part in blocks]
    a, b, q = blocks[0].shape[1], blocks[1].shape[1], z.shape[1] - 1
    whole = np.linalg.slogdet(np.hstack(left).T @ np.hstack(left))[1]
    log_wilks = whole - sum(np.linalg.slogdet(part.T @ part)[1] for part in left)
    return -(data.n_rows - 1 - q - (a + b + 1) / 2) * log_wilks, a * b


def cg_by_definition(data: Dataset, x, y, given) -> float:
    """Twice the log-likelihood ratio of regressions within groups."""

    def log_sum(child, parents):
        labels = [data.columns[j] for j in parents if not data.variables[j].is_continuous]
        numbers = [data.columns[j] for j in parents if data.variables[j].is_continuous]
        groups = np.unique(np.column_stack([*labels, np.zeros(data.n_rows)]), axis=0)
        total = 0.0
        for group in groups:
            rows = np.all([part == code for part, code in zip(labels, group, strict=False)], axis=0)
            rows = np.flatnonzero(np.broadcast_to(rows, data.n_rows))
            columns = [part[rows] - part[rows].mean() for part in numbers]
            columns.append(np.ones(len(rows)))
            response = data.columns[child][rows] - data.columns[child][rows].mean()
            coefficients = np.linalg.lstsq(np.column_stack(columns), response, rcond=None)[0]
            rest = response - np.column_stack(columns) @ coefficients
            total += len(rows) * math.log(rest @ rest / len(rows))
        return total

    if not data.variables[y].is_continuous:
        x, y = y, x
    return log_sum(y, given) - log_sum(y, (*given, x))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
def test_dg_is_wilks_test_of_residuals(seed, weighted):
    data = table(seed, weighted=weighted)
    results = make_test("dg", MemoryCounter(data)).batch(TRIPLES)
    rows = repeated(data)
    for (x, y, given), result in zip(TRIPLES, results, strict=True):
        statistic, df = dg_by_definition(rows, x, y, given)
        assert math.isclose(result.statistic, statistic, rel_tol=1e-8, abs_tol=1e-8)
        assert result.df == df and result.n == rows.n_rows
        tail = kernel.active().log_chi2_upper(np.array([result.statistic]), np.array([float(df)]))
        assert result.log_p == tail[0]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
def test_cg_is_a_likelihood_ratio_within_groups(seed, weighted):
    data = table(seed, weighted=weighted)
    triples = [t for t in TRIPLES if any(data.variables[j].is_continuous for j in t[:2])]
    results = make_test("cg", MemoryCounter(data)).batch(triples)
    rows = repeated(data)
    for (x, y, given), result in zip(triples, results, strict=True):
        expected = cg_by_definition(rows, x, y, given)
        assert math.isclose(result.statistic, expected, rel_tol=1e-9, abs_tol=1e-8)
        assert math.isclose(result.mi, result.statistic / (2 * rows.n_rows))
    assert [r.df for r in results][:4] == [4.0, 6.0, 6.0, 3.0]


def test_cg_of_labels_alone_is_the_g_test():
    data = table(1).select(["a", "b", "c"])
    for given in ((), (2,)):
        found = make_test("cg", MemoryCounter(data))(0, 1, given)
        other = make_test("g", MemoryCounter(data), df="full")(0, 1, given)
        assert (found.statistic, found.df, found.log_p) == (
            other.statistic,
            other.df,
            other.log_p,
        )


def test_cg_of_numbers_alone_is_the_gaussian_likelihood_ratio():
    data = table(2)
    found = make_test("cg", MemoryCounter(data))(0, 2, (4,))
    z = make_test("fisher-z", MemoryCounter(data.select(["n1", "n2", "n3"])))(0, 1, (2,))
    assert math.isclose(found.statistic, 2 * data.n_rows * z.mi, rel_tol=1e-10)
    assert found.df == 1


def test_two_labels_given_a_number_have_no_cg_test():
    test = make_test("cg", MemoryCounter(table()))
    with pytest.raises(UsageError, match="'a' and 'b', given numbers .'n1'.: use `test='auto'`"):
        test(1, 3, (0,))


@pytest.mark.parametrize("name", ["dg", "cg", "auto"])
def test_neither_order_nor_threads_matter(name):
    data = table(5)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(data.n_rows), rng.permutation(6)
    other = Dataset(
        tuple(data.variables[j] for j in columns), tuple(data.columns[j][rows] for j in columns)
    )
    place = np.argsort(columns)
    triples = [t for t in TRIPLES if name != "cg" or {*t[:2]} != {1, 3} or not {0, 2} & {*t[2]}]
    found = make_test(name, MemoryCounter(data, threads=1), threads=1).batch(triples)
    moved = [(place[y], place[x], tuple(place[list(z)][::-1])) for x, y, z in triples]
    again = make_test(name, MemoryCounter(other, threads=3), threads=3).batch(moved)
    assert list(found) == list(again)


@pytest.mark.parametrize("name", ["dg", "cg", "auto"])
def test_available_rows_are_those_complete_in_a_test(name):
    data = table(3, n=900, gaps=0.1)
    test = make_test(name, MemoryCounter(data))
    for x, y, given in TRIPLES:
        if name == "cg" and {x, y} == {1, 3} and {0, 2} & {*given}:
            continue
        complete = np.ones(data.n_rows, dtype=bool)
        for j in (x, y, *given):
            cells = data.columns[j]
            complete &= ~np.isnan(cells) if data.variables[j].is_continuous else cells != 255
        alone = make_test(name, MemoryCounter(data.select(NAMES).rows(complete)))
        found, expected = test(x, y, given), alone(x, y, given)
        assert found.n == expected.n == complete.sum()
        assert math.isclose(found.statistic, expected.statistic, rel_tol=1e-9, abs_tol=1e-9)
        assert found.df == expected.df and found.test == expected.test


def test_auto_picks_by_the_kinds_of_columns():
    data = table(4)
    counter = MemoryCounter(data)
    test = make_test("auto", counter)
    results = test.batch(TRIPLES)
    picked = [result.test for result in results]
    assert picked == ["dg"] * 6 + ["auto"] * 2 + ["fisher-z"] * 2 + ["dg"]
    labels = make_test("auto", MemoryCounter(data.select(["a", "b", "c"])))(0, 1, (2,))
    numbers = make_test("fisher-z", MemoryCounter(data.select(["n1", "n2", "n3"])))(2, 1, (0,))
    assert labels.test is None and results[7].statistic == labels.statistic
    assert results[9].statistic == numbers.statistic and results[9].df is None
    assert results[0].statistic == make_test("dg", counter)(0, 1).statistic
    pairs = TripleArray(np.array([[0, 1, 2], [1, 3, 5], [0, 2, 4]], dtype=np.int32))
    assert [result.test for result in test.batch(pairs)] == ["dg", "auto", "fisher-z"]


def test_what_auto_says_it_picks():
    variables = table().variables
    assert described_picks(picked_for(variables)) == (
        "auto picks fisher-z for numbers, dg where labels and numbers meet, and G or X² for labels"
    )
    assert described_picks(picked_for([variables[0], variables[2]])) == (
        "auto picks fisher-z for numbers"
    )
    assert picked_for([variables[1], variables[3]]) == {}
    shared = {"two labels given numbers": "dg", "a label and a number": "cg"}
    assert described_picks(shared) == (
        "auto picks dg for two labels given numbers, and cg for a label and a number"
    )


def extreme_table() -> Dataset:
    rng = np.random.default_rng(8)
    fine = rng.integers(0, 4, 300).astype(np.uint8)
    number = rng.normal(size=300)
    columns = (
        fine,
        (fine // 2).astype(np.uint8),
        number,
        3 * number - 1,
        np.full(300, 7.0),
        np.zeros(300, dtype=np.uint8),
    )
    levels = (tuple("abcd"), tuple("xy"), None, None, None, tuple("pq"))
    names = ("fine", "coarse", "x", "line", "constant", "same")
    return Dataset(tuple(Variable(*pair) for pair in zip(names, levels, strict=True)), columns)


@pytest.mark.parametrize("name", ["dg", "cg", "auto"])
def test_constant_columns_are_independent_of_everything(name):
    test = make_test(name, MemoryCounter(extreme_table()))
    for x, y, given in [(4, 2, ()), (4, 0, ()), (5, 2, (0,)), (2, 4, (0, 1)), (5, 4, ())]:
        result = test(x, y, given)
        assert (result.statistic, result.log_p) == (0.0, 0.0)
        assert result.sufficient
    # A constant that is given changes nothing.
    for given in ((4,), (5,), (4, 5)):
        assert test(2, 0, given).statistic == test(2, 0).statistic


def test_functions_of_others():
    counter = MemoryCounter(extreme_table())
    dg = make_test("dg", counter)
    assert not dg(1, 2, (0,)).sufficient  # coarse is a function of fine
    assert dg(0, 2, (1,)).df == 2
    perfect = dg(0, 1)
    assert (perfect.statistic, perfect.log_p, perfect.mi) == (math.inf, -math.inf, math.inf)
    assert dg.verdict(perfect, 1e-300) == "dependent"
    with pytest.raises(DataError, match="the correlations of 'line', 'x' are perfect"):
        dg(2, 3)
    with pytest.raises(DataError, match="the correlations of 'fine', 'line', 'x' are perfect"):
        dg(2, 3, (0,))
    assert not make_test("cg", counter)(2, 3, (0,)).sufficient


def test_small_groups_are_insufficient_under_cg():
    data = table(6, n=30)
    test = make_test("cg", MemoryCounter(data))
    assert not test(0, 2, (1, 3, 5)).sufficient
    assert test(0, 2).sufficient
    dg = make_test("dg", MemoryCounter(table(6, n=5)))
    assert not dg(1, 2, (0, 4)).sufficient


def test_what_is_left_of_a_label_is_told_from_nothing():
    """Given x, b follows from a but for noise of 1e-7; without the noise nothing is left."""
    rng = np.random.default_rng(12)
    a, noise = rng.integers(0, 2, 200), rng.normal(size=200)
    b = rng.integers(0, 2, 200)
    for size in (0.0, 1e-7):
        x = (b - a) + size * noise
        variables = (Variable("a", ("0", "1")), Variable("b", ("0", "1")), Variable("x", None))
        data = Dataset(variables, (a.astype(np.uint8), b.astype(np.uint8), x))
        found = make_test("dg", MemoryCounter(data))(0, 1, (2,))
        if not size:
            assert (found.statistic, found.log_p) == (math.inf, -math.inf)
            continue
        # ln Λ from what is left of the noise once a, b and the intercept are taken out of it.
        columns = np.column_stack([np.ones(200), x, a])
        left = b - columns @ np.linalg.lstsq(columns, b, rcond=None)[0]
        alone = b - columns[:, :2] @ np.linalg.lstsq(columns[:, :2], b, rcond=None)[0]
        expected = math.log((left @ left) / (alone @ alone))
        assert found.mi == pytest.approx(-0.5 * expected, rel=1e-6)
        assert found.statistic == pytest.approx(-(200 - 1 - 1 - 1.5) * expected, rel=1e-6)


def test_what_a_test_lacks_is_said():
    cg = make_test("cg", MemoryCounter(table(6, n=30)))
    said = cg.why_insufficient(0, 2, (1, 3, 5))
    assert re.fullmatch(r"\d of \d rows needed where .*=.* for the regression of '.*'", said), said
    dg = make_test("dg", MemoryCounter(table(6, n=5)))
    assert dg.why_insufficient(1, 2, (0, 4)).startswith("5 of up to ")
    coarse = make_test("dg", MemoryCounter(extreme_table()))
    assert coarse.why_insufficient(1, 2, (0,)).startswith("the columns given determine 'coarse'")
    still = make_test("cg", MemoryCounter(extreme_table()))
    assert "no variance left where " in still.why_insufficient(2, 3, (0,))
    auto = make_test("auto", MemoryCounter(extreme_table()))
    assert auto.why_insufficient(1, 2, (0,)) == coarse.why_insufficient(1, 2, (0,))


# ---------------------------------------------------------------------- ranks


def test_mid_ranks_are_those_of_scipy():
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(1).integers(0, 20, 100).astype(float)
    assert np.array_equal(midranks(values), stats.rankdata(values))
    weights = np.random.default_rng(2).integers(0, 4, 100)
    whole = np.repeat(values, weights)
    again = np.repeat(midranks(values, weights), weights)
    assert np.array_equal(again, stats.rankdata(whole))


def monotone(data: Dataset) -> Dataset:
    """The same ranks in other numbers."""
    columns = (np.exp(data.columns[0] / 3), -(data.columns[1] ** 3), np.arctan(data.columns[2]))
    return Dataset(data.variables, columns)


@pytest.mark.parametrize("transform", ["rank", "normal"])
def test_ranks_see_the_order_alone(transform):
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    cells = (x, x + rng.normal(size=200), x - rng.normal(size=200))
    data = Dataset(tuple(Variable(name, None) for name in "xyz"), cells)
    found, other = (
        make_test("fisher-z", MemoryCounter(part), transform=transform)
        for part in (data, monotone(data))
    )
    assert math.isclose(found(0, 2).statistic, other(0, 2).statistic, rel_tol=1e-12)
    assert math.isclose(found(0, 1, (2,)).statistic, -other(0, 1, (2,)).statistic, rel_tol=1e-9)
    ranks = np.array([stats.rankdata(part) for part in cells])
    matrix = np.corrcoef(ranks)
    if transform == "rank":
        matrix = 2 * np.sin(np.pi * matrix / 6)
    else:
        matrix = np.corrcoef(stats.norm.ppf(ranks / 201))
    r = matrix[0, 1]
    assert math.isclose(found(0, 1).statistic, math.sqrt(197) * math.atanh(r), rel_tol=1e-9)


def test_equal_ranks_are_named_and_an_indefinite_matrix_is_insufficient():
    rng = np.random.default_rng(4)
    x = rng.normal(size=50)
    data = Dataset(
        tuple(Variable(name, None) for name in "xyz"), (x, np.exp(x), x + rng.normal(size=50))
    )
    test = make_test("fisher-z", MemoryCounter(data), transform="rank")
    with pytest.raises(DataError, match="the correlations of 'x', 'y' are perfect"):
        test(0, 1)
    for seed in range(200):
        few = np.random.default_rng(seed)
        cells = tuple(few.permutation(9).astype(float) for _ in range(5))
        small = Dataset(tuple(Variable(name, None) for name in "abcde"), cells)
        result = make_test("fisher-z", MemoryCounter(small), transform="rank")(0, 1, (2, 3, 4))
        if not result.sufficient:
            assert result.log_p is None
            break
    else:
        pytest.fail("no matrix was indefinite")


def test_transforms_go_with_tests_of_numbers():
    counter = MemoryCounter(table())
    for name in ("dg", "cg", "auto"):
        with pytest.raises(UsageError, match="`transform='rank'` goes with numbers alone"):
            make_test(name, counter, transform="rank")
        assert make_test(name, counter, transform="normal")(0, 1).sufficient
    with pytest.raises(UsageError, match="all columns have labels"):
        make_test("auto", MemoryCounter(table().select(["a", "b"])), transform="normal")


# ---------------------------------------------------------------------- learners


def test_pc_learns_from_mixed_tables(tmp_path):
    rng = np.random.default_rng(9)
    n = 2000
    a, b = rng.integers(0, 2, n), rng.integers(0, 3, n)
    x = a + 0.0 + rng.normal(size=n)
    y = 0.8 * x + b + rng.normal(size=n)
    columns = (a.astype(np.uint8), b.astype(np.uint8), x, y)
    levels = (tuple("pq"), tuple("uvw"), None, None)
    names = ("a", "b", "x", "y")
    data = Dataset(tuple(Variable(*p) for p in zip(names, levels, strict=True)), columns)
    log = tmp_path / "log.jsonl"
    found = gml.pc(data, test_log=log)
    assert {(e.source, e.target, e.type) for e in found.graph.edges} == {
        ("a", "x", "---"),
        ("b", "y", "-->"),
        ("x", "y", "-->"),
    }
    assert found.graph.learning["settings"]["picked"]["numbers"] == "fisher-z"
    text = gml.explain(log, "a", "y")
    assert "−c ln Λ" in str(text)
    assert '"test":"dg"' in log.read_text().replace(" ", "")
    averaged = gml.pc(data, bootstrap=5)
    assert averaged.graph.learning["settings"]["picked"]["a label and a number"] == "dg"


def test_indtest_reports_what_was_picked():
    report = gml.indtest(table(), all_pairs=True)
    assert {(row["test"], row["df_rule"]) for row in report} == {
        ("auto", "auto"),
        ("dg", "columns"),
        ("fisher-z", None),
    }
    arcs = [("a", "-->", "n1"), ("n1", "-->", "n2"), ("b", "-->", "n3"), ("c", "-->", "n2")]
    implied = gml.indtest(table(), implied=gml.Graph.from_edges(NAMES, arcs, kind="dag"))
    assert {row["test"] for row in implied} == {"auto", "dg"}


def test_dg_blames_rows_and_not_columns_where_rows_are_too_few():
    def answer(n):
        test = make_test("dg", MemoryCounter(table(n=n)))
        return test.batch([(0, 2, (4, 1, 3)), (0, 2, ())])

    # Six columns: n1, n2, n3, two of a and one of b, and two rows more are needed.
    few, enough = answer(7), answer(8)
    assert few.sufficient.tolist() == [False, True]
    assert few.n.tolist() == [7, 7]
    assert enough.sufficient.tolist() == [True, True]
    data = table()
    twice = Dataset(
        (*data.variables, Variable("twice", None)), (*data.columns, 2 * data.columns[0])
    )
    with pytest.raises(DataError, match="linear function"):
        make_test("dg", MemoryCounter(twice)).batch([(0, 6, (1,))])


def test_the_entry_of_auto_says_what_is_picked():
    said = TESTS["auto"].summary + TESTS["auto"].formula
    assert all(test in said for test in PICKED.values() if test != "auto")
    assert set(PICKED) == {*picked_for(table().variables)}
