"""Independences of numbers by sums over rows: plain formulas, and that no division shows."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.stats

import gml
from gml.counts import chunked_rows
from gml.counts.chunked_rows import RowsInMemory
from gml.counts.number_rows import NumberReader
from gml.counts.row_sums import NumberTable, ask, together
from gml.data.dataset import Dataset, Variable
from gml.errors import CannotAnswer
from gml.gate import error_products, level_products, pair_design
from gml.gate.check import INSUFFICIENT, PASS
from gml.gate.check_ids import independence_id
from gml.gate.mixed_independences import mixed_independence
from gml.gate.mixed_structure import mixed_structure_checks
from gml.gate.monte_carlo import MonteCarlo
from gml.gate.structure_checks import INCREASE, PERMUTATION
from gml.model.baseline import Reference

SIZES = {"a": 3, "b": 2, "c": 14}
NUMBERS = "wxyz"


def rows(n, seed, *, weighted=False, gaps=False):
    """Labels that depend on each other, and numbers that depend on these and each other."""
    rng = np.random.default_rng(seed)
    a = rng.choice(3, n, p=[0.6, 0.35, 0.05])
    b = (rng.random(n) < 0.3 + 0.2 * (a == 1)).astype(int)
    # Some of its levels are rare.
    c = np.where(rng.random(n) < 0.3, a, rng.choice(14, n, p=rng.dirichlet(np.ones(14))))
    w = rng.normal(size=n)
    x = 1e3 + rng.standard_t(4, size=n) * (1 + b)
    y = x + w + rng.laplace(size=n) + 0.05 * c
    z = 1e-5 * (a + 0.3 * y + rng.normal(size=n))
    codes = [column.astype(np.uint8) for column in (a, b, c)]
    numbers = [w, x, y, z]
    if gaps:
        for column in codes:
            column[rng.random(n) < 0.04] = 255
        for column in numbers:
            column[rng.random(n) < 0.04] = np.nan
    # One level of each is in no row.
    variables = [
        Variable(name, tuple(f"{name}{k}" for k in range(size + 1))) for name, size in SIZES.items()
    ]
    variables += [Variable(name, None) for name in NUMBERS]
    weights = rng.integers(0, 4, n) if weighted else None
    return Dataset(tuple(variables), (*codes, *numbers), weights=weights)


def with_columns(data, **changed):
    """The same with other columns in the places of some."""
    columns = [changed.get(v.name, c) for v, c in zip(data.variables, data.columns, strict=True)]
    return replace(data, columns=tuple(columns))


class Cramped(RowsInMemory):
    """Rows that may not be brought into memory again."""

    budget = 1000


def table_of(data, kind=RowsInMemory, **options):
    labels = [variable.name for variable in data.variables if variable.levels is not None]
    found = kind(data, **{"threads": 1, **options})
    return NumberTable(found, NumberReader.of(data.variables, labels))


def asked(data, questions, kind=RowsInMemory, **options):
    table = table_of(data, kind, **options)
    found = together(table, (mixed_independence(table, SIZES, one, {}) for one in questions))
    return [question.check for question in found]


QUESTIONS = [
    ("w", "x", ()),
    ("x", "y", ("w",)),
    ("w", "z", ("x", "y")),
    ("x", "y", ("a",)),
    ("y", "z", ("a", "b")),
    ("w", "y", ("b", "x")),
    ("w", "z", ("a", "b", "x")),
    ("b", "x", ()),
    ("b", "y", ("a", "w")),
    ("a", "z", ("y",)),
    ("a", "x", ("b", "c", "w")),
    ("c", "x", ()),
    ("c", "y", ("a",)),
    ("c", "y", ("a", "w", "x")),
]

# ---------------------------------------------------------------------- plain formulas


def plain(data, number, other, given):
    """Rows, nats, ln p and columns by least squares, configuration by configuration."""
    chosen = [number, other, *given]
    times = np.ones(data.n_rows, dtype=int) if data.weights is None else data.weights
    columns = {}
    for name in chosen:
        column = data.columns[data.index(name)]
        missing = column == 255 if name in SIZES else np.isnan(column)
        columns[name] = np.repeat(np.where(missing, np.nan, column.astype(float)), times)
    seen = ~np.logical_or.reduce([np.isnan(column) for column in columns.values()])
    columns = {name: column[seen] for name, column in columns.items()}
    labels = [name for name in given if name in SIZES]
    numbers = [name for name in given if name not in SIZES]
    scaled = {name: (c - c.mean()) / c.std() for name, c in columns.items() if name not in SIZES}
    keys = list(zip(*(columns[name].tolist() for name in labels), strict=True))
    keys = keys or [()] * int(seen.sum())
    least = 10 * (len(numbers) + 1) if numbers else 2
    configurations = [key for key in sorted(set(keys)) if keys.count(key) >= least]
    used = np.array([key in configurations for key in keys])
    if other in SIZES:
        levels, counts = np.unique(columns[other][used], return_counts=True)
        sets = [{level} for level, n in zip(levels, counts, strict=True) if n >= 10]
        rare = {level for level, n in zip(levels, counts, strict=True) if n < 10}
        sets += [rare] if rare else []
        sizes = [int(np.isin(columns[other][used], list(one)).sum()) for one in sets]
        del sets[int(np.argmax(sizes))]
        targets = np.column_stack([np.isin(columns[other], list(one)) * 1.0 for one in sets])
    else:
        targets = scaled[other][:, None]
    parts, terms = [], 0
    for key in configurations:
        at = np.array([one == key for one in keys])
        design = np.column_stack([np.ones(at.sum()), *(scaled[name][at] for name in numbers)])
        both = np.column_stack([scaled[number][at], targets[at]])
        slopes, _, rank, _ = np.linalg.lstsq(design, both, rcond=None)
        leverage = np.diag(design @ np.linalg.pinv(design.T @ design) @ design.T)
        parts.append((both - design @ slopes, leverage))
        terms += int(rank)
        if numbers and leverage.max() > max(0.2, 10 * rank / len(leverage)):
            return None
    errors = np.concatenate([part for part, _ in parts])
    leverage = np.concatenate([part for _, part in parts])
    e, others = errors[:, 0], errors[:, 1:]
    n, size = others.shape
    share = np.linalg.lstsq(others, e, rcond=1e-9)[0]
    nats = -0.5 * math.log(1 - float(np.sum((others @ share) ** 2) / np.sum(e**2)))
    products = others * (e / (1 - leverage))[:, None]
    sums, spread = others.T @ e, products.T @ products
    rank = np.linalg.matrix_rank(others, tol=1e-6)
    wald = float(sums @ np.linalg.pinv(spread, rcond=1e-10, hermitian=True) @ sums)
    freedom = n - terms - size
    left = freedom - rank + 1
    p = scipy.stats.f.logsf(wald * left / (freedom * rank), rank, left)
    return int(seen.sum()), nats, p, size


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_answers_are_those_of_plain_formulas(seed, gaps, weighted):
    data = rows(500 + 300 * seed, seed, gaps=gaps, weighted=weighted)
    n_answered = 0
    for question, check in zip(QUESTIONS, asked(data, QUESTIONS), strict=True):
        u, v, given = question
        number, other = sorted((u, v), key=lambda name: (name in SIZES, name))
        found = plain(data, number, other, given)
        if found is None:
            assert check.status == INSUFFICIENT
            continue
        n, nats, log_p, size = found
        assert (check.rows_new, check.df) == (n, size)
        assert check.new["nats"] == pytest.approx(nats, rel=1e-9)
        assert check.log_p == pytest.approx(log_p, rel=1e-8)
        assert check.effect == pytest.approx(max(0.0, nats - size / (2 * n)), rel=1e-8, abs=1e-12)
        n_answered += 1
    assert n_answered >= len(QUESTIONS) - 4


def test_the_correlation_has_its_sign():
    data = rows(400, 9)
    w, y = (data.columns[data.index(name)] for name in "wy")
    (check,) = asked(data, [("w", "y", ())])
    assert check.new["r"] == pytest.approx(np.corrcoef(w, y)[0, 1], rel=1e-12)
    (check,) = asked(with_columns(data, w=-w), [("w", "y", ())])
    assert check.new["r"] == pytest.approx(-np.corrcoef(w, y)[0, 1], rel=1e-12)


@pytest.mark.parametrize("given", [(), ("a",), ("x",), ("a", "b", "x")])
def test_sums_by_level_are_those_of_pairs_of_columns(monkeypatch, given):
    data = rows(3000, 5, gaps=True, weighted=True)
    sizes = {name: SIZES[name] + 1 for name in given if name in SIZES}
    numbers = tuple(name for name in given if name not in SIZES)
    pair = pair_design.Pair("y", "c", SIZES["c"] + 1, sizes, numbers)
    found = []
    for most in (1, 100):
        monkeypatch.setattr(pair_design, "MOST_PAIRED", most)
        found.append(ask(table_of(data), error_products.error_products(pair)))
    (n, short), (other_n, long) = found
    assert n == other_n and short.freedom == long.freedom
    assert short.size == long.size > 8
    for name in ("square", "sums", "shared", "spread"):
        one, other = np.array(getattr(short, name)), np.array(getattr(long, name))
        assert one == pytest.approx(other, rel=1e-10, abs=1e-12 * np.abs(other).max())


def test_levels_that_follow_from_a_given_label_have_no_errors(monkeypatch):
    """Five levels of g are those of c, the others are spread over the other rows."""
    data = rows(3000, 6)
    c = data.columns[2]
    group = np.where(c < 5, c, 5 + (np.arange(3000) % 8)).astype(np.uint8)
    variables = (*data.variables, Variable("g", tuple("0123456789ABC")))
    wide = replace(data, variables=variables, columns=(*data.columns, group))
    pair = pair_design.Pair("y", "g", 13, {"c": 15}, ())
    found = []
    for most in (1, 100):
        monkeypatch.setattr(pair_design, "MOST_PAIRED", most)
        found.append(ask(table_of(wide), error_products.error_products(pair))[1])
    assert found[0].size == found[1].size == 8
    assert found[0].sums == pytest.approx(found[1].sums, rel=1e-9)


# ---------------------------------------------------------------------- what cannot be told


@pytest.mark.parametrize(
    "changed",
    [
        lambda x, w: np.full_like(x, 3.7),
        lambda x, w: 2 * w + 1,
        lambda x, w: w + 1e-13 * x,
        lambda x, w: np.where(np.arange(len(x)) == 5, np.inf, x),
        lambda x, w: np.where(np.arange(len(x)) < 2, [1e308, -1e308] * (len(x) // 2), x),
    ],
)
def test_columns_without_errors_of_their_own(changed):
    data = rows(300, 7)
    w, x = data.columns[3], data.columns[4] - 1e3
    bad = with_columns(data, x=changed(x, w))
    checks = asked(bad, [("x", "y", ("w",)), ("b", "x", ("w",)), ("c", "x", ("a", "w"))])
    assert {check.status for check in checks} == {INSUFFICIENT}


@pytest.mark.parametrize("scale", [1e-300, 1e-5, 1.0, 1e150, 1e300])
@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_units_do_not_show(scale, shift):
    data = rows(300, 8)
    columns = {name: data.columns[data.index(name)] for name in NUMBERS}
    moved = {name: scale * (c / c.std() + shift) for name, c in columns.items()}
    other = with_columns(data, **moved)
    questions = [("w", "x", ()), ("x", "y", ("w",)), ("b", "x", ("y",)), ("c", "w", ("a", "x"))]
    for one, same in zip(asked(data, questions), asked(other, questions), strict=True):
        assert one.status == same.status == PASS
        assert same.log_p == pytest.approx(one.log_p, rel=1e-5 if shift else 1e-9)


def test_a_row_with_much_leverage():
    data = rows(300, 10)
    data = with_columns(data, w=np.where(np.arange(300) == 17, 1e4, data.columns[3]))
    checks = asked(
        data, [("x", "y", ("w",)), ("b", "x", ("w",)), ("c", "x", ("w",)), ("w", "x", ())]
    )
    assert [check.status for check in checks] == [INSUFFICIENT] * 3 + [PASS]


def test_without_rows():
    for check in asked(rows(300, 11).rows(np.zeros(300, dtype=bool)), QUESTIONS):
        assert (check.status, check.rows_new) == (INSUFFICIENT, 0)


# ---------------------------------------------------------------------- no division shows


@dataclass(frozen=True)
class RowsElsewhere(RowsInMemory):
    """Rows that come twice, looked at by other processes."""

    times = 2

    @property
    def n(self):
        return self.data.n // 2

    def over(self, names, work):
        class Sent(type(work)):
            def of(self, chunk):
                found = pickle.loads(pickle.dumps(work)).of(chunk)
                return pickle.loads(pickle.dumps(found))

        return super().over(names, Sent(**vars(work)))


@pytest.mark.parametrize("seed", range(3))
def test_neither_order_nor_chunks_show(monkeypatch, seed):
    data = rows(700, seed, gaps=True, weighted=True)
    expected = asked(data, QUESTIONS)
    order = np.random.default_rng(seed).permutation(data.n_rows)

    def at(places):
        columns = tuple(column[places] for column in data.columns)
        return replace(data, columns=columns, weights=data.weights[places])

    for size in (5, 64, 300):
        monkeypatch.setattr(chunked_rows, "_BLOCK_ROWS", size)
        assert asked(at(order), QUESTIONS) == expected
    assert asked(at(order), QUESTIONS, threads=2) == expected
    assert asked(at(np.concatenate([order, order[::-1]])), QUESTIONS, RowsElsewhere) == expected
    # A row that counts twice is two rows.
    whole = replace(at(np.repeat(np.arange(700), data.weights)), weights=None)
    assert asked(whole, QUESTIONS) == expected


def test_exchanges_take_the_rows_in_an_order_of_their_own(monkeypatch):
    data = rows(400, 12, gaps=True)
    turned = replace(data, columns=tuple(column[::-1] for column in data.columns))
    questions = [("x", "z", ("y",)), ("b", "y", ("a", "x")), ("c", "z", ("a", "y"))]
    found = []
    for one in (data, turned):
        table = table_of(one)
        draw = MonteCarlo(0.001, 3)
        answers = together(table, (mixed_independence(table, SIZES, q, {}) for q in questions))
        found.append([question.settle(draw) for question in answers])
        monkeypatch.setattr(chunked_rows, "_BLOCK_ROWS", 17)
    assert found[0] == found[1]
    assert {how.split(":")[0] for _, how in found[0]} == {PERMUTATION}
    table = table_of(data, Cramped)
    for (u, v, _), question in zip(
        questions,
        together(table, (mixed_independence(table, SIZES, q, {}) for q in questions)),
        strict=True,
    ):
        assert question.check.status == PASS
        with pytest.raises(CannotAnswer, match=f"the independence of {u} and {v} is settled"):
            question.settle(MonteCarlo(0.001, 3))


@pytest.mark.parametrize("question", [("x", "y", ("w",)), ("b", "y", ("a",))])
def test_what_a_baseline_explains_takes_no_rows(question):
    data = rows(400, 15)
    table = table_of(data, Cramped)
    reference = {independence_id(*question): Reference(1e4, 1.0, 400)}
    found = ask(table, mixed_independence(table, SIZES, question, reference))
    draw = MonteCarlo(0.001, 3, bound=0.05)
    log_p, how = found.settle(draw)
    assert (how, log_p > math.log(0.05)) == (INCREASE, True)
    # What has grown is settled by rows.
    reference = {independence_id(*question): Reference(1.0, 1.0, 1 << 40)}
    for kind in (Cramped, RowsInMemory):
        table = table_of(data, kind)
        found = ask(table, mixed_independence(table, SIZES, question, reference))
        if kind is RowsInMemory:
            assert found.settle(replace(draw, bound=1.0))[1].startswith(PERMUTATION)
        else:
            with pytest.raises(CannotAnswer):
                found.settle(replace(draw, bound=1.0))


def test_pairs_are_asked_in_the_order_of_the_graph(monkeypatch):
    """As many at once as there is room for, which does not show."""
    data = rows(400, 13)
    edges = [("a", "-->", "c"), ("a", "-->", "x"), ("x", "-->", "y"), ("w", "-->", "y")]
    graph = gml.Graph.from_edges([*SIZES, *NUMBERS], edges, numeric=list(NUMBERS))
    found = []
    for room in (1 << 26, 1):
        monkeypatch.setattr("gml.counts.row_sums._AT_ONCE", room)
        table = table_of(data)
        asked_of = mixed_structure_checks(graph, table, [], list(SIZES), alpha=0.01, references={})
        found.append([question.check for question in asked_of])
    assert found[0] == found[1]
    assert len(found[0]) == 7 * 6 // 2 - len(edges) - 2
    without = table_of(data.select(["a", "c", "w", "x", "y"]))
    some = mixed_structure_checks(graph, without, [], list(SIZES), alpha=0.01, references={})
    names = {"a", "c", "w", "x", "y"}
    assert [q.check for q in some] == [
        check for check in found[0] if names.issuperset([*check.variables, *dict(check.given)])
    ]


def test_sums_are_no_more_than_was_said():
    data = rows(900, 14)
    names = {name: SIZES[name] + 1 for name in SIZES}
    for number, other, labels, numbers in [
        ("w", "x", (), ("y", "z")),
        ("w", "x", ("a", "b"), ("y",)),
        ("w", "a", ("b",), ("y", "z")),
        ("w", "c", ("a", "b"), ("y",)),
        ("w", "c", (), ()),
    ]:
        sizes = {name: names[name] for name in labels}
        pair = pair_design.Pair(number, other, names.get(other, 0), sizes, numbers)
        question = error_products.error_products(pair)
        table, found = table_of(data), None
        while True:
            try:
                wanted = question.send(found)
            except StopIteration:
                break
            found = table.sums(wanted)
            for one, of in zip(wanted, found, strict=True):
                n_sums = sum(len(sums.floats.words) for sums in of.values())
                assert n_sums <= one.n_sums
                assert sum(len(sums.counts) for sums in of.values()) <= one.n_counts
                assert len(of) <= one.n_groups
        assert isinstance(wanted[0], error_products.PairSums | level_products.LevelSums)
