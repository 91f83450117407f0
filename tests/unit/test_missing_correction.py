"""PC corrected for what makes values missing: the steps, the weights, and the graphs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gml
from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer, UsageError
from gml.independence.presence import (
    IncompleteRows,
    broken_lines,
    logistic_fit,
    presence,
)
from gml.independence.registry import TESTS
from gml.learners.missingness_causes import missingness_causes
from gml.learners.missingness_correction import CorrectedTest
from gml.progress import Deadline
from tests.rows_made_missing import EDGES, edges_of, label_rows, number_rows, shuffled

pytestmark = pytest.mark.filterwarnings("ignore::gml.errors.GmlWarning")

KINDS = {"labels": (label_rows, "auto"), "numbers": (number_rows, "fisher-z")}


def both(kind, n, seed, **how):
    """What PC finds without the correction and with it."""
    make, test = KINDS[kind]
    data = make(n, seed, **how)
    return [gml.pc(data, test=test, missing_correction=c, threads=1) for c in ("none", "mvpc")]


# ---------------------------------------------------------------------- what PC finds


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_an_edge_that_only_missing_values_make_is_removed(kind, seed):
    plain, corrected = both(kind, 6000, seed)
    assert edges_of(plain.graph) == sorted([*EDGES, ("x", "y")])
    assert edges_of(corrected.graph) == EDGES
    assert corrected.corrected.causes.of == {"y": ("k",)}
    assert corrected.corrected.removed == (("x", "y"),)
    # k is a collider again.
    arrows = {(t.x, t.k, t.y): t.collider for t in corrected.triples}
    assert arrows["x", "k", "y"]


@pytest.mark.parametrize("kind", KINDS)
def test_causes_that_are_missing_themselves(kind):
    plain, corrected = both(kind, 12000, 4, crosswise=True)
    assert ("x", "y") in edges_of(plain.graph)
    assert edges_of(corrected.graph) == EDGES
    assert corrected.corrected.causes.of == {"k": ("y",), "y": ("k",)}


@pytest.mark.parametrize("kind", KINDS)
def test_true_edges_stay(kind):
    _, found = both(kind, 6000, 5, effect=True)
    assert ("x", "y") in edges_of(found.graph)
    assert found.corrected.removed == ()
    assert found.corrected.tests > 0


@pytest.mark.parametrize("kind", KINDS)
def test_without_missing_values_nothing_changes(kind):
    make, test = KINDS[kind]
    data = make(2000, 1)
    whole = data.rows(~(data.columns[3] == 255) & ~(data.columns[3] != data.columns[3]))
    plain, corrected = (
        gml.pc(whole, test=test, missing_correction=c, threads=1) for c in ("none", "mvpc")
    )
    assert corrected.corrected is None
    assert (plain.tests, plain.collider_tests) == (corrected.tests, corrected.collider_tests)
    assert plain.sepsets == corrected.sepsets
    assert np.array_equal(plain.graph.marks, corrected.graph.marks)


@pytest.mark.parametrize("kind", KINDS)
def test_values_missing_by_chance_need_no_correction(kind):
    make, test = KINDS[kind]
    data = make(2000, 7)
    rng = np.random.default_rng(8)
    gap = 255 if kind == "labels" else np.nan
    x = np.where(rng.random(2000) < 0.3, gap, data.columns[2]).astype(data.columns[2].dtype)
    data = replace(data.select(["a", "x"]), columns=(data.columns[0], x))
    plain, corrected = (
        gml.pc(data, test=test, missing_correction=c, threads=1) for c in ("none", "mvpc")
    )
    assert corrected.corrected.causes.of == {"x": ()}
    assert (corrected.corrected.tests, plain.sepsets) == (0, corrected.sepsets)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_no_order_of_rows_or_columns_shows(kind, seed):
    make, test = KINDS[kind]
    data = make(3000, seed, crosswise=True)
    logs = [[], []]
    found = []
    for rows, log in zip((data, shuffled(data, seed)), logs, strict=True):
        log_file = _Log(log)
        found.append(
            gml.pc(rows, test=test, missing_correction="mvpc", threads=1, test_log=log_file)
        )
    # To the last bit, the tests included.
    assert logs[0] == logs[1]
    assert any(record.result.details for record in logs[0])
    assert found[0].corrected == found[1].corrected
    assert edges_of(found[0].graph) == edges_of(found[1].graph)
    assert found[0].sepsets == found[1].sepsets


class _Log:
    """Keeps tests instead of writing them."""

    def __init__(self, kept):
        self._kept = kept

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def begin(self, *run):
        pass

    def test(self, record):
        self._kept.append(record)

    def finish(self, result):
        pass


def test_counted_rows_are_rows():
    """Weights count rows: the same as rows that stand there as often."""
    data = label_rows(400, 9)
    weights = np.random.default_rng(9).integers(0, 12, 400)
    often = data.rows(np.ones(400, dtype=bool))
    often = replace(often, columns=tuple(np.repeat(c, weights) for c in data.columns))
    found = [
        gml.pc(rows, missing_correction="mvpc", threads=1)
        for rows in (replace(data, weights=weights), often)
    ]
    assert found[0].sepsets == found[1].sepsets
    assert found[0].corrected == found[1].corrected


def test_required_edges_are_not_tested_and_tiers_are_obeyed():
    data = label_rows(6000, 1)
    kept = gml.pc(data, missing_correction="mvpc", require=[("x", "y")], threads=1)
    assert ("x", "y") in edges_of(kept.graph)
    assert kept.corrected.removed == ()
    tiered = gml.pc(data, missing_correction="mvpc", tiers=[["a", "x", "y"], ["k"]], threads=1)
    assert edges_of(tiered.graph) == EDGES


def test_max_cond_holds_for_the_correction_too():
    logs = []
    gml.pc(label_rows(6000, 1), missing_correction="mvpc", max_cond=0, test_log=_Log(logs))
    assert max(record.level for record in logs) == 0
    assert "correction" in {record.phase for record in logs}


def test_rows_that_are_worth_too_little_remove_nothing():
    """A few rows have nearly all of the weight: the weighted tests cannot tell."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 4000))
    k = x + y + 0.5 * rng.normal(size=4000)
    y = np.where(rng.random(4000) < 1 / (1 + np.exp(-5 * k)), y, np.nan)
    data = Dataset(tuple(Variable(name, None) for name in "kxy"), (k, x, y))
    logs = []
    found = gml.pc(data, test="fisher-z", missing_correction="mvpc", test_log=_Log(logs))
    weighted = [record for record in logs if record.phase == "correction"]
    assert weighted
    assert {record.verdict for record in weighted} == {"insufficient"}
    assert all(r.result.details["effective_n"] < r.result.n / 10 for r in weighted)
    assert found.corrected.removed == ()


def test_when_time_is_over_the_edges_stay():
    found = gml.pc(label_rows(3000, 1), missing_correction="mvpc", max_seconds=1e-9)
    assert not found.complete
    assert found.corrected is None


def test_half_samples_are_corrected():
    data = label_rows(8000, 1)
    plain, corrected = (
        gml.pc(data, missing_correction=c, bootstrap=10, threads=1) for c in ("none", "mvpc")
    )
    assert ("x", "y") in edges_of(plain.graph)
    assert edges_of(corrected.graph) == EDGES
    averaged = gml.average(data, by="pc", bootstrap=10, missing_correction="mvpc", threads=1)
    assert np.array_equal(averaged.graph.marks, corrected.graph.marks)


# ---------------------------------------------------------------------- what is refused


def mixed_rows():
    data = label_rows(50, 1)
    return Dataset(
        (*data.variables, Variable("z", None)), (*data.columns, np.arange(50, dtype=np.float64))
    )


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (mixed_rows(), {}, "labels alone or numbers alone"),
        (label_rows(50, 1), {"test": "bayes"}, "no weighted form of `test='bayes'`"),
        (label_rows(50, 1), {"test": "permutation"}, "no weighted form"),
        (number_rows(50, 1), {"test": "kci"}, "no weighted form of `test='kci'`"),
        (number_rows(50, 1), {"test": "fisher-z", "transform": "rank"}, "`transform`"),
        (label_rows(50, 1), {"missing_correction": "mv"}, "must be one of none, mvpc"),
        ("sample_data/clinic.csv", {"missing": "drop"}, "give `missing='available'` too"),
        ("sample_data/clinic.csv", {}, "give `missing='available'` too"),
    ],
)
def test_refusals(data, options, message):
    with pytest.raises(UsageError, match=message):
        gml.pc(data, **{"missing_correction": "mvpc", **options})


def test_a_test_in_place_of_data_has_no_rows_to_weight():
    test = TESTS["auto"](MemoryCounter(label_rows(50, 1)))
    with pytest.raises(UsageError, match="missing_correction"):
        gml.pc(test, missing_correction="mvpc")


class _WithoutRows(MemoryCounter):
    def rows(self):
        return None


def test_an_engine_without_rows_cannot_answer():
    with pytest.raises(CannotAnswer, match="needs rows"):
        gml.pc(_WithoutRows(label_rows(500, 1)), missing_correction="mvpc")


# ---------------------------------------------------------------------- causes


def causes_of(data, test="auto", **how):
    found = missingness_causes(
        data,
        lambda counter: TESTS[test](counter, threads=1),
        alpha=0.01,
        on_insufficient="auto",
        max_cond=how.get("max_cond"),
        deadline=Deadline(),
    )
    assert found.complete
    return found.of


def test_what_is_only_related_to_a_cause_is_separated_from_it():
    data = label_rows(6000, 1)
    # Without conditioning, x is related to whether y is missing, through k.
    assert causes_of(data, max_cond=0) == {"y": ("a", "k", "x")}
    assert causes_of(data) == {"y": ("k",)}


def test_two_causes():
    rng = np.random.default_rng(3)
    a, b, c, d = (rng.integers(0, 2, 5000).astype(np.uint8) for _ in range(4))
    lacks = rng.random(5000) < 0.1 + 0.3 * a + 0.3 * b
    variables = tuple(Variable(name, ("0", "1")) for name in "abcd")
    data = Dataset(variables, (a, b, c, np.where(lacks, 255, d).astype(np.uint8)))
    assert causes_of(data) == {"d": ("a", "b")}


def test_names_like_those_of_indicators():
    data = label_rows(3000, 1)
    names = ["missing y", "k", "x", "y"]
    variables = tuple(
        Variable(name, variable.levels)
        for name, variable in zip(names, data.variables, strict=True)
    )
    assert causes_of(replace(data, variables=variables)) == {"y": ("k",)}


# ---------------------------------------------------------------------- which tests are biased


def corrected_test(causes, edges, names="abkxyz"):
    rng = np.random.default_rng(0)
    columns = []
    for name in names:
        column = rng.integers(0, 2, 200).astype(np.uint8)
        if name in causes:
            column[:50] = 255
        columns.append(column)
    data = Dataset(tuple(Variable(name, ("0", "1")) for name in names), tuple(columns))
    test = CorrectedTest(TESTS["auto"](MemoryCounter(data)), IncompleteRows(data), causes)
    for one, other in edges:
        i, j = names.index(one), names.index(other)
        test.adjacent[i, j] = test.adjacent[j, i] = True
    return lambda x, y, *given: test.is_biased([names.index(name) for name in (x, y, *given)])


def test_a_common_neighbour_that_makes_values_missing():
    biased = corrected_test({"y": ["k"]}, ["xk", "yk", "xy"])
    assert biased("x", "y")
    assert not biased("x", "y", "k")
    # Only x has a gap-making neighbour, and none is common.
    assert not biased("a", "x")
    assert not corrected_test({"y": ["k"]}, ["xk", "xy"])("x", "y")


def test_a_descendant_of_a_common_neighbour():
    biased = corrected_test({"y": ["b"]}, ["xk", "yk", "xy", "ka", "ab"])
    assert biased("x", "y")
    assert not biased("x", "y", "a")
    assert not biased("x", "y", "k")
    assert not corrected_test({"y": ["b"]}, ["xk", "yk", "xy", "ab"])("x", "y")


def test_missing_values_of_what_is_given():
    biased = corrected_test({"z": ["k"]}, ["xk", "yk", "xy", "xz"])
    assert biased("x", "y", "z")
    assert not biased("x", "y")


def test_an_indicator_with_both_as_causes():
    biased = corrected_test({"z": ["x", "y"]}, ["xy", "xz"])
    assert biased("x", "y", "z")
    assert not biased("x", "y")
    # The value of one of them alone is no harm.
    assert not corrected_test({"y": ["x"]}, ["xy"])("x", "y")


# ---------------------------------------------------------------------- weights


def counted_rows(names, table):
    """Rows of labels by their counts; None is missing."""
    levels = tuple(str(v) for v in range(1 + max(v for row in table for v in row if v is not None)))
    columns = [[255 if row[j] is None else row[j] for row in table] for j in range(len(names))]
    return Dataset(
        tuple(Variable(name, levels) for name in names),
        tuple(np.array(column, dtype=np.uint8) for column in columns),
        weights=np.array(list(table.values()), dtype=np.int64),
    )


def test_shares_of_values_that_are_there():
    rows = counted_rows("ky", {(0, 0): 3, (0, None): 9, (1, 1): 6, (1, None): 2, (None, 1): 7})
    found = IncompleteRows(rows)
    share = presence(found, 1, [0])
    k = found.columns[0]
    assert share[k == 0].tolist() == [0.25, 0.25]
    assert share[k == 1].tolist() == [0.75, 0.75]
    assert np.isnan(share[k == 255]).all()


def population(crosswise):
    """Expected rows of x, y, k: x and y independent, y missing by k, and k by y if crosswise."""
    table = {}

    def add(row, count):
        table[row] = table.get(row, 0) + count

    for x in (0, 1):
        for y in (0, 1):
            for k in (0, 1):
                # Of 1024 rows with each x and y.
                count = 1024 * (3 if k == (x & y) else 1) // 4
                seen_y = 3 if k else 1
                seen_k = (3 if y else 2) if crosswise else 4
                for there_y, y_share in ((True, seen_y), (False, 4 - seen_y)):
                    for there_k, k_share in ((True, seen_k), (False, 4 - seen_k)):
                        row = (k if there_k else None, x, y if there_y else None)
                        add(row, count * y_share * k_share // 16)
    return counted_rows("kxy", {row: count for row, count in table.items() if count})


@pytest.mark.parametrize("crosswise", [False, True])
def test_weights_give_the_whole_table_back(crosswise):
    """Rows exactly as expected: the weighted table has no trace of dependence."""
    data = population(crosswise)
    plain = TESTS["auto"](MemoryCounter(data))
    causes = {"y": ["k"], **({"k": ["y"]} if crosswise else {})}
    test = CorrectedTest(plain, IncompleteRows(data), causes)
    test.adjacent[:] = True
    assert plain(1, 2).log_p < -15
    found = test(1, 2)
    assert found.statistic < 1e-20
    assert found.log_p == 0.0 or found.log_p > -1e-9
    # That k is missing by y harms nothing: it is a function of y alone.
    assert found.details["corrected_for"] == ("k",)
    assert 0 < found.details["effective_n"] < found.n
    # The same from either side.
    assert test(2, 1) == found


def test_a_gap_in_every_row_of_a_configuration_is_told():
    data = counted_rows("kxy", {(0, 0, 0): 30, (0, 1, 1): 30, (1, 0, None): 30, (1, 1, None): 20})
    test = CorrectedTest(TESTS["auto"](MemoryCounter(data)), IncompleteRows(data), {"y": ["k"]})
    test.adjacent[:] = True
    test(1, 2)
    assert test.never_there == ("y",)


def test_harmless_factors_are_left_out_for_labels_only():
    """y is missing by x: given nothing else, no weights for labels, but for numbers."""
    for make, name, weighted in (
        (label_rows, "auto", ("k",)),
        (number_rows, "fisher-z", ("k", "x")),
    ):
        data = make(2000, 3)
        test = CorrectedTest(
            TESTS[name](MemoryCounter(data)), IncompleteRows(data), {"y": ["x"], "k": []}
        )
        test.adjacent[:] = True
        assert not test.is_biased([2, 3])
        a = replace(data, columns=(data.columns[3], *data.columns[1:]))
        test = CorrectedTest(
            TESTS[name](MemoryCounter(a)), IncompleteRows(a), {"y": ["x"], "a": ["k"]}
        )
        test.adjacent[:] = True
        assert test(2, 3, (0,)).details["corrected_for"] == weighted


# ---------------------------------------------------------------------- numbers that are causes


def test_the_regression_is_at_its_maximum():
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 4, 500).astype(float)
    causes = [rng.normal(size=500), rng.exponential(size=500)]
    features = broken_lines(causes, counts)
    assert features.shape == (500, 11)
    there = (rng.random(500) < 1 / (1 + np.exp(-causes[0]))).astype(float)
    found = logistic_fit(features, there, counts)
    logits = np.log(found / (1 - found))
    coefficients = np.linalg.lstsq(features, logits, rcond=None)[0]
    ridge = np.array([0.0] + [0.1] * 10)
    slope = features.T @ (counts * (there - found)) - ridge * coefficients
    assert np.abs(slope).max() < 1e-4


def test_counts_are_rows_in_the_regression():
    rng = np.random.default_rng(2)
    counts = rng.integers(1, 4, 300)
    cause = rng.normal(size=300)
    there = (rng.random(300) < 0.3 + 0.4 * (cause > 0)).astype(float)
    weighted = logistic_fit(
        broken_lines([cause], counts.astype(float)), there, counts.astype(float)
    )
    many = np.repeat(np.arange(300), counts)
    ones = np.ones(len(many))
    expanded = logistic_fit(broken_lines([cause[many]], ones), there[many], ones)
    assert np.allclose(weighted[many], expanded, rtol=1e-6, atol=0)


def test_causes_that_decide_everything_stay_finite():
    cause = np.linspace(-1, 1, 200)
    there = (cause > 0).astype(float)
    found = logistic_fit(broken_lines([cause], np.ones(200)), there, np.ones(200))
    assert ((found > 0) & (found < 1)).all()
    assert (found[there == 1] > 0.5).all()


def test_a_constant_cause_says_nothing():
    found = broken_lines([np.full(10, 3.0)], np.ones(10))
    assert found.tolist() == [[1.0]] * 10
