"""Sums of floats without rounding: both kernels, beside sums of fractions."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gml import kernel
from gml.counts.float_sums import FloatSums
from gml.kernel import reference

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
LARGEST = math.ldexp(1 - 2.0**-53, 1024)
LEAST = 5e-324


def rounded(total):
    """The float next to a fraction."""
    try:
        return total.numerator / total.denominator
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def brute_force(values, times=None):
    counts = [1] * len(values) if times is None else times
    pairs = zip(values, counts, strict=True)
    return rounded(sum((Fraction(v) * int(n) for v, n in pairs), Fraction(0)))


def both_kernels(columns, pairs, times=None):
    """What the compiled kernel finds, which is what the reference finds."""
    first, second = np.array(pairs, dtype=np.int32).reshape(-1, 2).T.copy()
    words = reference.float_sums(columns, first, second, times)
    assert np.array_equal(kernel.active().float_sums(columns, first, second, times), words)
    return FloatSums(words)


@given(st.lists(FLOATS, max_size=20), st.data())
@example([LARGEST, LARGEST, -LARGEST], None)
@example([LEAST, -LEAST, LEAST], None)
@example([1e16, 1.0, -1e16], None)
def test_sums_are_those_of_fractions(values, data):
    column = np.array(values, dtype=np.float64)
    assert both_kernels([column], [(0, -1)]).rounded().tolist() == [brute_force(values)]
    if data is not None:
        counts = st.one_of(st.integers(0, 5), st.integers(0, 1 << 58))
        times = data.draw(st.lists(counts, min_size=len(values), max_size=len(values)))
        found = both_kernels([column], [(0, -1)], np.array(times, dtype=np.int64))
        assert found.rounded().tolist() == [brute_force(values, times)]


@pytest.mark.parametrize(
    "scale",
    [1.0, 1e-3, 1e280, 1e300, 5e-300, 1e-310, 0.0],
)
@pytest.mark.parametrize("spread", [0, 20, 300])
def test_whole_blocks_are_summed_like_single_values(scale, spread):
    rng = np.random.default_rng([7, spread])
    n = 512 * 9 + 77
    with np.errstate(all="ignore"):
        x = scale * rng.normal(size=n) * 2.0 ** rng.integers(-spread, spread + 1, n)
    x[~np.isfinite(x)] = 1.0
    x[100] = -0.0
    y = rng.uniform(-1, 1, size=n)
    times = rng.integers(0, 9, n)
    times[700] = 1 << 40
    for counts in (None, times):
        found = both_kernels([x, y], [(0, -1), (0, 1), (1, 1)], counts).rounded().tolist()
        assert found[0] == brute_force(x.tolist(), counts)
        assert found[1] == brute_force((x * y).tolist(), counts)
        assert found[2] == brute_force((y * y).tolist(), counts)


def test_vector_instructions_do_not_show(compiled):
    x = np.random.default_rng(3).standard_cauchy(5000)
    first, second = np.array([0], dtype=np.int32), np.array([-1], dtype=np.int32)
    found = FloatSums(compiled.float_sums([x], first, second, None))
    assert found.rounded().tolist() == [brute_force(x.tolist())]


@pytest.mark.parametrize("length", [3, 2000])
def test_what_is_not_finite_is_what_adding_up_gives(length):
    column = np.ones(length)
    above, below, undefined = column.copy(), column.copy(), column.copy()
    above[1], below[1], undefined[1] = np.inf, -np.inf, np.nan
    both = np.where(np.arange(length) == 2, -np.inf, above)
    pairs = [(k, -1) for k in range(5)]
    found = both_kernels([above, below, undefined, both, column], pairs).rounded().tolist()
    assert found[:2] == [math.inf, -math.inf]
    assert np.isnan(found[2:4]).all()
    assert found[4] == length
    never = np.ones(length, dtype=np.int64)
    never[1] = 0
    found = both_kernels([above, undefined], [(0, -1), (1, -1)], never).rounded().tolist()
    assert found == [length - 1, length - 1]


def test_products_that_are_too_large_are_infinite():
    column = np.full(600, 1e200)
    found = both_kernels([column], [(0, 0), (0, -1)]).rounded().tolist()
    assert found == [math.inf, brute_force(column.tolist())]


@given(st.lists(FLOATS, min_size=1, max_size=12), st.data())
def test_neither_order_nor_division_shows(values, data):
    column = np.array(values)
    cut = data.draw(st.integers(0, len(values)))
    turned = np.array(data.draw(st.permutations(values)))
    whole = FloatSums.of([column]).rounded()
    parts = FloatSums.of([turned[cut:]]).plus(FloatSums.of([turned[:cut]]))
    sent = pickle.loads(pickle.dumps(parts)).plus(FloatSums.none(1))
    assert sent.rounded().tobytes() == whole.tobytes()


def test_many_parts_add_up():
    part = FloatSums.of([np.array([-1e308, LEAST]), np.array([1.5, 2.5])])
    total = FloatSums.none(2)
    for _ in range(1000):
        total = total.plus(part)
    assert total.rounded().tolist() == [-math.inf, 4000.0]
    for _ in range(999):
        total = total.plus(FloatSums.of([np.array([1e308]), np.array([0.0])]))
    assert total.rounded()[0] == -1e308


def test_nothing_adds_up_to_nothing():
    empty = np.empty(0)
    assert both_kernels([empty], [(0, -1), (0, 0)]).rounded().tolist() == [0.0, 0.0]
    assert FloatSums.of([]).rounded().tolist() == []


@pytest.mark.parametrize(
    ("columns", "pair", "times"),
    [
        ([np.ones(3)], (1, -1), None),
        ([np.ones(3)], (0, 1), None),
        ([np.ones(3), np.ones(2)], (0, 1), None),
        ([np.ones(3)], (0, -1), np.ones(2, dtype=np.int64)),
    ],
)
def test_the_compiled_kernel_refuses_what_does_not_fit(columns, pair, times):
    compiled = pytest.importorskip("gml.kernel._kernel")
    first, second = (np.array([k], dtype=np.int32) for k in pair)
    with pytest.raises(ValueError, match="column|rows"):
        compiled.float_sums(columns, first, second, times)
