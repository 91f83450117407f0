"""Sampling: the kernels agree byte for byte, and rows do not depend on how they are cut up."""

from __future__ import annotations

import csv
import io

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gml.data.dataset import Variable, code_type
from gml.kernel import reference
from gml.kernel.plan import (
    CERTAIN,
    GaussianPlan,
    GaussianStep,
    TablePlan,
    TableStep,
    threshold,
    thresholds,
)
from gml.model.row_text import row_writer

compiled = pytest.importorskip("gml.kernel._kernel")
KERNELS = [reference, compiled]

MANY_ROWS = 2500  # more than two blocks of the compiled kernel


def random_keys(rng, n_columns):
    return rng.integers(0, 2**64, (n_columns, 2), dtype=np.uint64)


def random_plan(rng, *, levels=(1, 2, 3, 4, 5, 8, 9, 17), most_parents=4):
    """A plan in random order with some columns fixed and some levels of probability 0."""
    n_columns = int(rng.integers(1, 8))
    n_levels = tuple(int(r) for r in rng.choice(levels, n_columns))
    order = rng.permutation(n_columns).tolist()
    n_fixed = int(rng.integers(0, n_columns))
    fixed = {j: int(rng.integers(n_levels[j])) for j in order[:n_fixed]}
    steps = []
    for k in range(n_fixed, n_columns):
        room = 20_000 // n_levels[order[k]]
        parents = []
        for parent in rng.permutation(order[:k]).tolist()[:most_parents]:
            if n_levels[parent] <= room:
                parents.append(parent)
                room //= n_levels[parent]
        rows = int(np.prod([n_levels[j] for j in parents], dtype=np.int64))
        steps.append(
            TableStep(order[k], tuple(parents), random_table(rng, rows, n_levels[order[k]]))
        )
    return TablePlan(n_levels, tuple(steps), random_keys(rng, n_columns), fixed)


def random_table(rng, rows, levels):
    table = rng.random((rows, levels)) * (rng.random((rows, levels)) < 0.7)
    table[np.arange(rows), rng.integers(0, levels, rows)] += 0.1
    return table / table.sum(axis=1, keepdims=True)


def draw(kernel, plan, first_row, n_rows):
    columns = [np.empty(n_rows, code_type(levels)) for levels in plan.n_levels]
    kernel.TableSampler(plan).draw(first_row, columns)
    return columns


def assert_same(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 7, 1023, 1024, 1025, MANY_ROWS]))
def test_kernels_draw_the_same(seed, n_rows):
    rng = np.random.default_rng(seed)
    plan = random_plan(rng)
    first_row = int(rng.integers(0, 2**62))
    expected = draw(reference, plan, first_row, n_rows)
    assert_same(draw(compiled, plan, first_row, n_rows), expected)
    limit, keys = threshold(rng.random()), random_keys(rng, len(expected))
    blanked = [[column.copy() for column in expected] for _ in KERNELS]
    for kernel, columns in zip(KERNELS, blanked, strict=True):
        kernel.blank_cells(columns, keys, limit, first_row)
    assert_same(*blanked)


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_kernels_draw_the_same_of_many_levels(seed):
    rng = np.random.default_rng(seed)
    plan = random_plan(rng, levels=(2, 254, 255, 256, 257, 3000), most_parents=2)
    assert_same(draw(compiled, plan, 5, MANY_ROWS), draw(reference, plan, 5, MANY_ROWS))


def test_the_most_levels():
    table = np.zeros((1, 65535))
    table[0, [0, 255, 65534]] = 0.25, 0.25, 0.5
    plan = TablePlan((65535,), (TableStep(0, (), table),), np.zeros((1, 2), dtype=np.uint64))
    (found,) = draw(compiled, plan, 0, MANY_ROWS)
    assert np.unique(found).tolist() == [0, 255, 65534]
    assert_same([found], draw(reference, plan, 0, MANY_ROWS))


@pytest.mark.parametrize("kernel", KERNELS)
def test_any_rows_can_be_drawn_alone(kernel):
    rng = np.random.default_rng(11)
    for _ in range(20):
        plan = random_plan(rng)
        whole = draw(kernel, plan, 0, MANY_ROWS)
        start, end = sorted(rng.integers(0, MANY_ROWS, 2).tolist())
        part = draw(kernel, plan, start, end - start)
        assert_same(part, [column[start:end] for column in whole])


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_what_is_impossible_never_comes_up(seed):
    rng = np.random.default_rng(seed)
    plan = random_plan(rng)
    columns = draw(compiled, plan, 0, MANY_ROWS)
    for j, code in plan.fixed.items():
        assert (columns[j] == code).all()
    for step in plan.steps:
        configurations = np.zeros(MANY_ROWS, dtype=np.int64)
        for parent in step.parents:
            configurations = configurations * plan.n_levels[parent] + columns[parent]
        assert (step.table[configurations, columns[step.target]] > 0).all()


def test_thresholds_leave_nothing_to_rounding():
    # Ten times 0.1 adds up to less than 1 in floating point, and these sum to more.
    rows = [[0.0, *[0.1] * 10, 0.0], [0.7, 0.1, 0.2, 1e-17, *[0.0] * 8], [0.0, 1.0, *[0.0] * 10]]
    for row, ends in zip(np.array(rows), thresholds(np.array(rows)), strict=True):
        ends = [0, *ends.tolist(), CERTAIN]
        assert ends == sorted(ends)
        for k, p in enumerate(row):
            assert p > 0 or ends[k] == ends[k + 1]
    assert thresholds(np.array(rows))[2].tolist() == [0] + [CERTAIN] * 10
    never = thresholds(np.array([[0.0, 0.0, 0.0]]))
    assert never.tolist() == [[CERTAIN, CERTAIN]]
    assert (threshold(0.0), threshold(1.0)) == (0, CERTAIN)


def test_bits_are_fair():
    """Each of the upper bits is 1 half the time, and the keys' streams are not alike."""
    n = 100_000
    table = np.full((1, 256), 1 / 256)
    plan = TablePlan(
        (256, 256), (TableStep(0, (), table), TableStep(1, (), table)),
        np.array([[1, 2], [1, 3]], dtype=np.uint64),
    )  # fmt: skip
    a, b = draw(compiled, plan, 0, n)
    for bit in range(8):
        for stream in (a, b, a ^ b, a[1:] ^ a[:-1]):
            ones = np.count_nonzero(stream >> bit & 1)
            assert abs(ones - len(stream) / 2) < 5 * np.sqrt(n / 4)


def test_plans_in_the_wrong_order_are_refused():
    keys = np.zeros((2, 2), dtype=np.uint64)
    half = np.array([[0.5, 0.5]])
    first, second = TableStep(0, (), half), TableStep(1, (0,), np.vstack([half, half]))
    for steps, fixed in [
        ((second, first), {}), ((first,), {}), ((first, second), {0: 0}), ((second,), {0: 2}),
        ((first, TableStep(1, (0,), half)), {}),
    ]:  # fmt: skip
        with pytest.raises(ValueError):
            TablePlan((2, 2), steps, keys, fixed)
    TablePlan((2, 2), (second,), keys, {0: 1})


# ---------------------------------------------------------------------- numbers


def random_gaussian_plan(rng):
    n_columns = int(rng.integers(1, 7))
    order = rng.permutation(n_columns).tolist()
    n_fixed = int(rng.integers(0, n_columns))
    steps = []
    for k in range(n_fixed, n_columns):
        parents = tuple(j for j in order[:k] if rng.random() < 0.6)
        sd = float(rng.choice([0.0, 1.0, 2.5]))
        coefficients = tuple(rng.normal(size=len(parents)).tolist())
        steps.append(GaussianStep(order[k], parents, float(rng.normal()), coefficients, sd))
    fixed = {j: float(rng.normal()) for j in order[:n_fixed]}
    return GaussianPlan(n_columns, tuple(steps), random_keys(rng, n_columns), fixed)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_kernels_draw_the_same_numbers(seed):
    rng = np.random.default_rng(seed)
    plan = random_gaussian_plan(rng)
    limit, keys = threshold(0.3), random_keys(rng, plan.n_columns)
    found = []
    for kernel in KERNELS:
        columns = [np.empty(MANY_ROWS) for _ in range(plan.n_columns)]
        kernel.GaussianSampler(plan).draw(77, columns)
        part = [np.empty(100) for _ in range(plan.n_columns)]
        kernel.GaussianSampler(plan).draw(1077, part)
        assert_same(part, [column[1000:1100] for column in columns])
        kernel.blank_cells(columns, keys, limit, 77)
        found.append(columns)
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_normal_quantiles(kernel):
    tails = 10.0 ** -np.arange(1, 308, 7.0)
    p = np.concatenate([tails, np.linspace(0.001, 0.999, 101), [0.075, 0.925], 1 - tails[:2]])
    mpmath.mp.dps = 40
    exact = []
    for x, start in zip(p, kernel.normal_quantile(p), strict=True):
        if x == 0.5:
            exact.append(0.0)
            continue
        # Newton's method on ln of the tail, which is nearly a parabola.
        z = mpmath.mpf(-abs(start))
        tail = mpmath.mpf(x) if x < 0.5 else 1 - mpmath.mpf(x)
        for _ in range(6):
            value = mpmath.erfc(-z / mpmath.sqrt(2)) / 2
            z -= mpmath.log(value / tail) * value / mpmath.npdf(z)
        exact.append(float(z if x < 0.5 else -z))
    np.testing.assert_allclose(kernel.normal_quantile(p), exact, rtol=2e-15, atol=0)


# ---------------------------------------------------------------------- text

NASTY = ["", " ", "x", '"', '""', "a,b", "a\nb", "\r", "\r\n", "é" * 8, "x" * 15, "x" * 16, "x" * 17,
         "x" * 300, "0" * 14 + ",", "'", "\t", "\0", "NA", "=", "𝄞"]  # fmt: skip
labels = st.lists(
    st.one_of(st.sampled_from(NASTY), st.text(max_size=20).filter(lambda s: s.isascii() or _fits(s))),
    min_size=1, max_size=6, unique=True,
)  # fmt: skip


def _fits(text):
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


def written(kernel, monkeypatch, variables, columns):
    monkeypatch.setattr("gml.kernel.active", lambda: kernel)
    writer = row_writer(variables)
    buffer = writer.new_buffer(len(columns[0]))
    return writer.header + bytes(writer.text(columns, None, buffer))


def as_csv_writer_has_it(rows):
    out = io.StringIO(newline="")
    for row in rows:
        # With this line end, every version of the module quotes both of its characters.
        line = io.StringIO(newline="")
        csv.writer(line, lineterminator="\r\n").writerow(row)
        out.write(line.getvalue()[:-2] + "\n")
    return out.getvalue().encode()


@settings(max_examples=150)
@given(st.lists(labels, min_size=1, max_size=5), st.integers(0, 2**32 - 1), st.integers(0, 40))
def test_text_is_that_of_the_csv_module(levels, seed, n_rows):
    rng = np.random.default_rng(seed)
    variables = [Variable(f"{j}{seen[-1]}", tuple(seen)) for j, seen in enumerate(levels)]
    columns = [rng.integers(0, len(seen) + 1, n_rows).astype(np.uint8) for seen in levels]
    rows = [[variable.name for variable in variables]]
    for codes in zip(*columns, strict=True):
        rows.append([(*seen, "")[code] for seen, code in zip(levels, codes, strict=True)])
    for column, seen in zip(columns, levels, strict=True):
        column[column == len(seen)] = 255
    for kernel in KERNELS:
        with pytest.MonkeyPatch.context() as patch:
            assert written(kernel, patch, variables, columns) == as_csv_writer_has_it(rows)


def test_text_of_many_levels(monkeypatch):
    rng = np.random.default_rng(2)
    for n_levels in (255, 256, 1000):
        levels = tuple(f"level {'x' * (k % 40)}{k}" for k in range(n_levels))
        columns = [rng.integers(0, n_levels, 500).astype(code_type(n_levels)) for _ in range(2)]
        columns[0][::7] = np.iinfo(columns[0].dtype).max
        variables = [Variable("a", levels), Variable("b", levels)]
        found = {written(kernel, monkeypatch, variables, columns) for kernel in KERNELS}
        assert len(found) == 1
        lines = found.pop().decode().splitlines()
        assert lines[1] == f",{levels[columns[1][0]]}"
        assert lines[2] == f"{levels[columns[0][1]]},{levels[columns[1][1]]}"


def test_buffers_that_are_too_small_are_refused():
    writer = compiled.CsvWriter([[b"x\n", b"\n"]])
    with pytest.raises(ValueError):
        writer.write([np.zeros(10, dtype=np.uint8)], bytearray(20))
    with pytest.raises(ValueError):
        writer.write([np.zeros(10, dtype=np.uint16)], bytearray(200))
