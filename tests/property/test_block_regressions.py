"""Regressions from one matrix: the kernel, its reference, exact elimination and definitions agree."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest

from gml import MemoryCounter, kernel
from gml.counts.block_regressions import BlockRegressions
from gml.counts.exact_moments import moments_of
from gml.counts.expanded_moments import expanded_moments_of, expanded_numbers
from gml.counts.integer_gram import IntegerColumn, integer_gram, limbs_needed
from gml.counts.residuals import residuals_from_moments
from gml.data.dataset import Dataset, Variable, fractional_weights
from gml.errors import CannotAnswer, DataError
from gml.kernel import reference

LEVELS = tuple("abcdef")


def mixed_table(seed: int, n: int = 400, weighted: bool = False) -> Dataset:
    """Three numbers of very different sizes and three labels, of which one has unseen levels."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 3, n)
    other = (label + rng.integers(0, 2, n)) % 4
    x = rng.normal(size=n) + label
    y = 1e9 + x + rng.normal(size=n)
    z = np.round(rng.normal(size=n) * 5 + other)
    columns = (
        x,
        label.astype(np.uint8) + 1,
        y,
        other.astype(np.uint8),
        z,
        rng.integers(0, 2, n).astype(np.uint8),
    )
    names = ("x", "label", "y", "other", "z", "coin")
    levels = (None, LEVELS, None, LEVELS[:4], None, LEVELS[:2])
    weights = rng.integers(0, 4, n) if weighted else None
    return Dataset(
        tuple(Variable(*pair) for pair in zip(names, levels, strict=True)), columns, weights
    )


def expanded(data: Dataset, columns: list[int]) -> np.ndarray:
    """The indicators and numbers of a table, as the docstring defines them."""
    found = []
    for j in sorted(columns, key=lambda j: data.variables[j].name):
        cells = data.columns[j]
        if data.variables[j].is_continuous:
            found.append(cells)
            continue
        counted = cells if data.weights is None else cells[data.weights > 0]
        found += [(cells == level).astype(float) for level in np.unique(counted)[1:]]
    return np.column_stack(found)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_expanded_moments_are_those_of_the_columns(seed: int, weighted: bool) -> None:
    data = mixed_table(seed, weighted=weighted)
    found = MemoryCounter(data).expanded_moments(range(6))
    columns = expanded(data, list(range(6)))
    weights = np.ones(data.n_rows) if data.weights is None else data.weights.astype(float)
    # Numbers near 10⁹ lose digits in float64; their differences do not.
    centred = columns - columns[0]
    covariance = np.cov(centred.T, fweights=weights.astype(int), bias=True)
    sd = np.sqrt(np.diag(covariance))
    assert found.n == int(weights.sum())
    assert found.size == len(covariance)
    assert np.allclose(found.correlation, covariance / np.outer(sd, sd), rtol=0, atol=1e-13)
    assert np.allclose(found.log_variances, np.log(np.diag(covariance)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_sums_do_not_depend_on_rows_columns_or_threads(seed: int) -> None:
    data = mixed_table(seed, n=9000)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(data.n_rows), rng.permutation(6)
    shuffled = Dataset(
        tuple(data.variables[j] for j in columns), tuple(data.columns[j][rows] for j in columns)
    )
    found = MemoryCounter(data, threads=1).expanded_moments(range(6))
    again = MemoryCounter(shuffled, threads=3).expanded_moments(range(6))
    assert np.array_equal(found.correlation, again.correlation)
    assert found.cross(range(found.size)) == again.cross(range(found.size))


@pytest.mark.parametrize("heaviest", [1, 3, 2000, 2**40])
def test_integer_gram_is_exact(heaviest: int) -> None:
    rng = np.random.default_rng(heaviest)
    columns = np.column_stack(
        [
            rng.integers(-(2**52), 2**52 + 1, 700),
            rng.integers(-(2**30), 2**30, 700),
            rng.integers(0, 2, 700),
            np.full(700, 2**52),
        ]
    )
    weights = rng.integers(0, heaviest + 1, 700)
    wanted = [
        IntegerColumn(np.ascontiguousarray(column), limbs_needed(int(np.abs(column).max())))
        for column in columns.T
    ]
    found = integer_gram(wanted, weights, 2).entries(range(4))
    whole = columns.astype(object)
    assert np.array_equal(found, whole.T @ (whole * weights.astype(object)[:, None]))


@pytest.mark.parametrize("n_limbs", [1, 2, 3, 4])
def test_limbs_add_up_to_the_integers(n_limbs: int) -> None:
    most = min((1 << (18 * n_limbs - 1)) - (1 << (18 * n_limbs - 18)), 2**53)
    values = np.random.default_rng(n_limbs).integers(-most, most, 1001)
    values[:3] = most, -most, 0
    found = {}
    for one in (kernel.active(), reference):
        limbs = np.full((n_limbs, 1010), np.nan)
        one.write_limbs(values, limbs)
        whole = sum(limb[:1001].astype(np.int64) << (18 * k) for k, limb in enumerate(limbs))
        assert np.array_equal(whole, values)
        assert np.abs(limbs[:, :1001]).max() <= 2**17
        found[one] = limbs
    assert np.array_equal(found[kernel.active()], found[reference], equal_nan=True)


@pytest.mark.parametrize("bits", [3, 20, 45, 62])
def test_cross_products_are_rounded_once(bits: int) -> None:
    """Sums of all sizes and both signs, among them such that lie halfway between two doubles."""
    rng = np.random.default_rng(bits)
    parts = rng.integers(-(2**bits), 2**bits, (5, 12, 12))
    parts[:, rng.random((12, 12)) < 0.3] = 0
    parts[3:, :, -1] = 0
    upper = np.triu(np.ones((12, 12), dtype=bool))
    parts = np.ascontiguousarray(np.where(upper, parts, parts.transpose(0, 2, 1)))
    for n in (1, 1000, 2**53 + 1, 2**62):
        found = kernel.active().centred_products(parts, n, 18)
        assert np.array_equal(found, reference.centred_products(parts, n, 18))
    tie = np.zeros((1, 3, 3), dtype=np.int64)
    tie[0, :2, :2] = 2**53 + 1, 2**53 + 3
    assert kernel.active().centred_products(tie, 1, 18)[0].tolist() == [2.0**53, 2.0**53 + 4]


@pytest.mark.parametrize("length", [1, 2, 5])
def test_pivots_of_families_are_those_of_their_rows(length: int) -> None:
    rng = np.random.default_rng(length)
    width = np.array([1, 3, 0, 2, 1, 4, 1])
    matrix = random_correlations(rng, int(width.sum()))
    ranks = rng.permutation(7)
    first = np.cumsum(width) - width
    blocks = np.array([first, width, ranks], dtype=np.int32)
    families = np.array([rng.permutation(7)[:length] for _ in range(30)], dtype=np.int32)
    shares, rows, least = kernel.active().family_pivots(matrix, blocks, families)
    others = reference.family_pivots(matrix, blocks, families)
    assert np.allclose(shares, others[0], rtol=0, atol=1e-12)
    assert np.array_equal(rows, others[1])
    assert np.allclose(least, others[2], rtol=0, atol=1e-12)
    end = 0
    for (child, *parents), smallest in zip(families.tolist(), least.tolist(), strict=True):
        ordered = [*sorted(parents, key=ranks.__getitem__), child]
        members = np.concatenate([np.arange(first[j], first[j] + width[j]) for j in ordered])
        starts = np.array([0, len(members)], dtype=np.int64)
        pivots = kernel.active().cholesky_pivots(matrix, members.astype(np.int32), starts, 0.0)
        start, end = end, end + width[child]
        assert np.array_equal(shares[start:end], pivots[len(pivots) - width[child] :])
        assert smallest == min([1.0, *pivots])
    assert end == len(shares) == len(rows)


@pytest.mark.parametrize("length", [1, 2, 4])
def test_families_of_children_without_rows_have_the_least_share_of_their_parents(
    length: int,
) -> None:
    """Whatever else is in the batch; also where no column has any row."""
    rng = np.random.default_rng(length)
    width = np.array([0, 1, 0, 3, 2, 0])
    blocks = np.array([np.cumsum(width) - width, width, rng.permutation(6)], dtype=np.int32)
    matrix = random_correlations(rng, 6)
    families = np.array(
        [[child, *rng.permutation([1, 3, 4, 2])[: length - 1]] for child in (0, 5, 0)],
        dtype=np.int32,
    )
    others = np.array([[1, *[0, 5, 2][: length - 1]], *families.tolist()], dtype=np.int32)
    nothing = np.zeros((0, 0))
    for one in (kernel.active(), reference):
        shares, rows, least = one.family_pivots(matrix, blocks, families)
        assert len(shares) == len(rows) == 0
        assert np.array_equal(least, one.family_pivots(matrix, blocks, others)[2][1:])
        assert np.allclose(least, reference.family_pivots(matrix, blocks, families)[2])
        assert (least < 1).all() == (length == 4)
        flat = one.family_pivots(nothing, np.zeros((3, 6), dtype=np.int32), families)
        assert [part.tolist() for part in flat] == [[], [], [1.0] * 3]


@pytest.mark.parametrize(
    ("blocks", "families", "said"),
    [
        ([[0, 1], [1, 1]], [[0]], "a first row, a number of rows and a rank"),
        ([[0, 1], [1, 2], [0, 1]], [[0]], "other rows than the matrix"),
        ([[-1, 1], [1, 1], [0, 1]], [[0]], "other rows than the matrix"),
        ([[0, 1], [1, 1], [0, 1]], [[0, 2]], "other columns"),
        ([[0, 1], [1, 1], [0, 1]], [[-1, 0]], "other columns"),
    ],
)
def test_families_of_columns_that_are_not_there_are_refused(
    blocks: list[list[int]], families: list[list[int]], said: str
) -> None:
    compiled = pytest.importorskip("gml.kernel._kernel")
    of, wanted = np.array(blocks, dtype=np.int32), np.array(families, dtype=np.int32)
    with pytest.raises(ValueError, match=said):
        compiled.family_pivots(np.eye(2), of, wanted)


def test_many_columns_have_the_moments_of_few() -> None:
    rng = np.random.default_rng(7)
    cells = tuple(rng.normal(size=500) * 10.0**k for k in range(9))
    data = Dataset(tuple(Variable(str(k), None) for k in range(9)), cells)
    of_all = moments_of(data, range(9), threads=2)
    for j in range(8):
        of_two = moments_of(data, [j, j + 1])
        assert of_all.cross[j][j + 1] == of_two.cross[0][1]
        assert of_all.means[j] == of_two.means[0]


def test_moments_of_numbers_alone_give_the_same_matrix() -> None:
    counter = MemoryCounter(mixed_table(4))
    found = counter.expanded_moments([4, 0, 2])
    other = expanded_numbers(counter.moments([0, 2, 4]), [0, 2, 4])
    assert np.array_equal(found.owners, other.owners)
    assert np.allclose(found.correlation, other.correlation, rtol=0, atol=1e-15)
    assert np.allclose(found.log_variances, other.log_variances, rtol=1e-14)


def random_correlations(rng: np.random.Generator, size: int) -> np.ndarray:
    rows = rng.normal(size=(size + 20, size)) @ (np.eye(size) + rng.normal(size=(size, size)))
    return np.ascontiguousarray(np.corrcoef(rows.T))


@pytest.mark.parametrize("seed", range(6))
def test_kernel_pivots_are_those_of_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = random_correlations(rng, 9)
    sets = [rng.permutation(9)[: rng.integers(1, 9)] for _ in range(40)]
    sets += [np.array([*sets[-1][:2], *[j for j in range(9) if j not in sets[-1][:2]]])]
    flat = np.concatenate(sets).astype(np.int32)
    starts = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    found = kernel.active().cholesky_pivots(matrix, flat, starts, 1e-9)
    assert np.allclose(found, reference.cholesky_pivots(matrix, flat, starts, 1e-9), atol=1e-12)
    for k, members in enumerate(sets):
        pivots = found[starts[k] : starts[k + 1]]
        assert math.isclose(
            np.log(pivots).sum(),
            np.linalg.slogdet(matrix[np.ix_(members, members)])[1],
            rel_tol=1e-9,
            abs_tol=1e-11,
        )


def test_nothing_is_regressed_on_what_is_determined() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(100, 4))
    rows[:, 1] = 2 * rows[:, 0]
    matrix = np.ascontiguousarray(np.corrcoef(rows.T))
    flat, starts = np.arange(4, dtype=np.int32), np.array([0, 4], dtype=np.int64)
    without = np.array([0, 2, 3], dtype=np.int32)
    for one in (kernel.active(), reference):
        pivots = one.cholesky_pivots(matrix, flat, starts, 1e-9)
        others = one.cholesky_pivots(matrix, without, np.array([0, 3], dtype=np.int64), 1e-9)
        assert pivots[1] < 1e-9
        assert np.allclose(pivots[[0, 2, 3]], others, rtol=0, atol=1e-14)


@pytest.mark.parametrize("length", [2, 3, 6])
def test_partial_slopes_are_those_of_the_inverse(length: int) -> None:
    rng = np.random.default_rng(length)
    matrix = random_correlations(rng, 8)
    sets = np.array([rng.permutation(8)[:length] for _ in range(50)], dtype=np.int32)
    slopes, least = kernel.active().partial_slopes(matrix, sets)
    others = reference.partial_slopes(matrix, sets)
    assert np.allclose(slopes, others[0], rtol=1e-10, atol=1e-12)
    assert np.allclose(least, others[1], rtol=1e-10, atol=1e-12)
    for members, slope in zip(sets, slopes, strict=True):
        inverse = np.linalg.inv(matrix[np.ix_(members, members)])
        r = -inverse[-1, -2] / math.sqrt(inverse[-1, -1] * inverse[-2, -2])
        assert math.isclose(slope, r / math.sqrt(1 - r * r), rel_tol=1e-8, abs_tol=1e-10)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weighted", [False, True])
def test_residuals_within_groups_agree(seed: int, weighted: bool) -> None:
    data = mixed_table(seed, n=900, weighted=weighted)
    counter = MemoryCounter(data)
    families = [(0, ()), (0, (1,)), (2, (0, 1, 3)), (4, (0, 2, 5)), (0, (4,)), (2, (1, 3, 5))]
    found = counter.residuals(families)
    for k, (child, parents) in enumerate(families):
        numbers, labels = counter.regressors(child, parents)
        exact = residuals_from_moments(counter.moments([*numbers, child], labels))
        assert math.isclose(found.log_sum[k], exact.log_sum, rel_tol=1e-12, abs_tol=1e-9)
        assert found.groups[k] == exact.n_groups
        assert found.fewest[k] == exact.fewest_rows
        assert found.n[k] == exact.n_rows == counter.n


@pytest.mark.parametrize("factor", [1e-250, 1e-30, 1e30, 1e250])
def test_tiny_and_huge_numbers(factor: float) -> None:
    data = mixed_table(2)
    columns = tuple(
        cells * factor if variable.name == "x" else cells
        for variable, cells in zip(data.variables, data.columns, strict=True)
    )
    scaled = MemoryCounter(Dataset(data.variables, columns))
    families = [(0, ()), (0, (1, 4)), (2, (0, 3))]
    found, plain = scaled.residuals(families), MemoryCounter(data).residuals(families)
    shift = 2 * data.n * math.log(factor)
    assert np.allclose(found.log_sum - [shift, shift, 0.0], plain.log_sum, rtol=1e-11)
    expected = MemoryCounter(data).expanded_moments(range(6)).correlation
    assert np.allclose(scaled.expanded_moments(range(6)).correlation, expected, atol=1e-13)


def test_residuals_are_those_of_least_squares() -> None:
    data = mixed_table(3)
    counter = MemoryCounter(data)
    found = counter.residuals([(0, (1, 4))])
    expected = 0.0
    for level in np.unique(data.columns[1]):
        rows = data.columns[1] == level
        design = np.column_stack([np.ones(rows.sum()), data.columns[4][rows]])
        _, sse, _, _ = np.linalg.lstsq(design, data.columns[0][rows], rcond=None)
        expected += rows.sum() * math.log(sse[0] / rows.sum())
    assert math.isclose(found.log_sum[0], expected, rel_tol=1e-12)
    assert found.sufficient[0]


@pytest.mark.parametrize("seed", range(3))
def test_kernel_residuals_are_those_of_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 5, 300).astype(np.int32)
    columns = [rng.integers(-(2**50), 2**50, 300) for _ in range(3)]
    weights = rng.integers(1, 9, 300)
    found = kernel.active().residuals_within(group, 6, columns, weights, 40)
    other = reference.residuals_within(group, 6, columns, weights, 40)
    assert found[2:] == other[2:]
    assert np.allclose(found[:2], other[:2], rtol=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_columns", [1, 2, 3, 5])
@pytest.mark.parametrize("kernels", [kernel.active(), reference], ids=["compiled", "reference"])
def test_residuals_follow_from_sums_of_parts(kernels: Any, n_columns: int, weighted: bool) -> None:
    rng = np.random.default_rng(n_columns)
    group = rng.integers(0, 5, 300).astype(np.int32)
    columns = [rng.integers(-(2**52), 2**51, 300) for _ in range(n_columns)]
    weights = rng.integers(0, 9, 300) if weighted else None
    cuts = [slice(0, 0), slice(0, 7), slice(7, 200), slice(200, 300)]
    counts, digits = np.zeros(6, dtype=np.int64), np.zeros((1, 1, 1), dtype=np.int64)
    for part in cuts:
        some = [np.ascontiguousarray(column[part]) for column in columns]
        of_part = kernels.sums_within(
            group[part], 6, some, None if weights is None else weights[part].copy()
        )
        counts, digits = counts + of_part[0], digits + of_part[1]
    found = kernels.residuals_of_sums(counts, digits, n_columns, 40)
    assert found == kernels.residuals_within(group, 6, columns, weights, 40)
    others = reference.sums_within(group, 6, columns, weights)
    assert counts.tolist() == others[0].tolist()
    powers = np.array([1, 1 << 42, 1 << 84], dtype=object)
    assert (digits.astype(object) @ powers).tolist() == (others[1] @ powers).tolist()


def test_small_groups_and_groups_without_variance_are_insufficient() -> None:
    x = np.array([1.0, 2.0, 3.0, 5.0, 4.0, 4.0, 4.0, 4.0])
    y = np.array([1.0, 2.0, 2.0, 4.0, 1.0, 2.0, 3.0, 5.0])
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1], dtype=np.uint8)
    names = (Variable("x", None), Variable("y", None), Variable("l", ("a", "b", "c")))
    found = MemoryCounter(Dataset(names, (x, y, labels))).residuals(
        [(0, ()), (0, (2,)), (1, (2,)), (1, (0, 2)), (1, (0,))]
    )
    assert found.sufficient.tolist() == [True, False, True, False, True]
    assert found.groups.tolist() == [1, 2, 2, 2, 1]


def test_block_regressions_are_quotients_of_determinants() -> None:
    data = mixed_table(1)
    counter = MemoryCounter(data)
    moments = counter.expanded_moments(range(6))
    blocks = BlockRegressions(moments, data.names, threads=2)
    found = blocks.residuals([((), (1,)), ((0, 3), (1,)), ((0, 3, 1), (2, 4))])
    for k, (given, targets) in enumerate([((), (1,)), ((0, 3), (1,)), ((0, 3, 1), (2, 4))]):
        rows, all_rows = moments.rows_of(given), moments.rows_of([*given, *targets])
        parts = [np.linalg.slogdet(moments.correlation[np.ix_(s, s)])[1] for s in (rows, all_rows)]
        assert math.isclose(found.log_left[k], parts[1] - parts[0], abs_tol=1e-11)
        assert found.given_rank[k] == len(rows)
        assert found.rank[k] == len(all_rows) - len(rows)
        growing = [all_rows[:end] for end in range(len(rows), len(all_rows) + 1)]
        shares = np.exp(
            np.diff([np.linalg.slogdet(moments.correlation[np.ix_(s, s)])[1] for s in growing])
        )
        assert math.isclose(found.least_left[k], shares.min(), rel_tol=1e-10)


def test_determined_labels_count_as_absent_and_numbers_are_named() -> None:
    rng = np.random.default_rng(5)
    fine = rng.integers(0, 4, 200).astype(np.uint8)
    coarse = (fine // 2).astype(np.uint8)
    number = fine.astype(float) * 2
    names = (Variable("coarse", ("a", "b")), Variable("fine", LEVELS), Variable("n", None))
    counter = MemoryCounter(Dataset(names, (coarse, fine, number)))
    blocks = BlockRegressions(counter.expanded_moments(range(3)), ["coarse", "fine", "n"])
    found = blocks.residuals([((1,), (0,)), ((0,), (1,))])
    assert found.rank.tolist() == [0, 2]
    assert found.determined.tolist() == [1, 1]
    with pytest.raises(DataError, match="'fine', 'n' are perfect"):
        blocks.residuals([((1,), (2,))])


def test_nearly_collinear_numbers_are_regressed_exactly() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=300)
    y = x + 1e-7 * rng.normal(size=300)
    names = (Variable("x", None), Variable("y", None))
    counter = MemoryCounter(Dataset(names, (x, y)))
    found = BlockRegressions(counter.expanded_moments([0, 1]), "xy").residuals([((0,), (1,))])
    (xx, xy), (_, yy) = counter.moments([0, 1]).cross
    assert found.log_left[0] == math.log((xx * yy - xy * xy) / (xx * yy))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["plain", "whole", "fractional"])
def test_the_memory_asked_for_is_what_the_matrix_takes(
    kind: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    n, n_columns = 9000 if kind == "plain" else 1200, 90
    weights, unit = {
        "plain": (None, 1.0),
        "whole": (rng.integers(1, 5, n), 1.0),
        "fractional": fractional_weights(rng.random(n) + 0.5),
    }[kind]
    names = tuple(Variable(f"{k:02d}", None) for k in range(n_columns))
    cells = tuple(rng.normal(size=n) for _ in names)
    data = Dataset(names, cells, weights, unit=unit)
    asked: list[int] = []
    monkeypatch.setattr(
        "gml.counts.expanded_moments.require_memory", lambda needed, *_: asked.append(needed)
    )
    tracemalloc.start()
    try:
        found = expanded_moments_of(data, range(n_columns), threads=threads)
        assert found.correlation.shape == (n_columns, n_columns)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert asked[0] < asked[1]
    assert peak <= asked[1] <= 1.6 * peak


def test_memory_is_asked_for_before_numbers_become_integers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []
    monkeypatch.setattr("gml.counts.expanded_moments.fixed_point", made.append)
    with pytest.raises(CannotAnswer, match="the correlations of 6 columns would take"):
        expanded_moments_of(mixed_table(1), range(6), budget=1000)
    assert not made
