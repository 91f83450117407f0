"""Values of families: the compiled kernel, the reference and the definitions agree."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gml.kernel import reference
from gml.kernel.layout import DIRICHLET, LIKELIHOOD, OF_CELL, OF_SEEN, OF_TABLE, REGRET, FamilyRule

_kernel = pytest.importorskip("gml.kernel._kernel")

RULES = [
    FamilyRule(LIKELIHOOD),
    FamilyRule(DIRICHLET, OF_CELL, 1.0),
    FamilyRule(DIRICHLET, OF_CELL, 0.5),
    FamilyRule(DIRICHLET, OF_TABLE, 10.0),
    FamilyRule(DIRICHLET, OF_SEEN, 1.0),
    FamilyRule(DIRICHLET, OF_TABLE, 3.0, 0.25),
    FamilyRule(REGRET),
]


def by_definition(table, cells, rule, digits=40):
    """The value with mpmath, every stratum of the table seen or not."""
    with mpmath.workdps(digits):
        value = mpmath.mpf(0)
        r = table.shape[1]
        seen = int(table.any(axis=1).sum())
        prior = {
            OF_CELL: rule.prior,
            OF_TABLE: rule.prior / cells,
            OF_SEEN: rule.prior / (r * max(1, seen)),
        }[rule.share]
        a = mpmath.mpf(prior)
        for row in table:
            n = mpmath.mpf(int(row.sum())) * rule.unit
            if n == 0:
                continue
            counts = [mpmath.mpf(int(k)) * rule.unit for k in row]
            if rule.kind == LIKELIHOOD:
                value += sum(k * mpmath.log(k / n) for k in counts if k)
            elif rule.kind == DIRICHLET:
                value += mpmath.loggamma(r * a) - mpmath.loggamma(r * a + n)
                value += sum(mpmath.loggamma(a + k) - mpmath.loggamma(a) for k in counts)
            else:
                value += mpmath.log(regret_by_recurrence(int(n), r))
        return float(value)


def regret_by_recurrence(n, levels):
    """C(n, K+2) = C(n, K+1) + n/K · C(n, K) from the defining sum for two levels."""
    with mpmath.workdps(40):
        two = sum(
            mpmath.binomial(n, h) * (mpmath.mpf(h) / n) ** h * (mpmath.mpf(n - h) / n) ** (n - h)
            for h in range(n + 1)
        )
        before, now = mpmath.mpf(1), two
        if levels == 1:
            return before
        for k in range(1, levels - 1):
            before, now = now, now + mpmath.mpf(n) / k * before
        return now


tables = st.tuples(st.integers(1, 4), st.integers(1, 5)).flatmap(
    lambda shape: st.lists(
        st.lists(st.sampled_from([0, 0, 1, 2, 7, 40]), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)


@pytest.mark.parametrize("rule", RULES, ids=str)
@given(cells=tables)
@example(cells=[[0, 0, 0]])
@example(cells=[[0, 3, 0], [0, 0, 0], [1, 0, 0]])
def test_one_table(rule, cells):
    table = np.array(cells, dtype=np.int64)
    size = float(table.size)
    expected = by_definition(table, size, rule)
    for kernel in (_kernel, reference):
        assert kernel.family_value(table, size, rule) == pytest.approx(
            expected, rel=1e-12, abs=1e-11
        )


@pytest.mark.parametrize("share", [OF_CELL, OF_TABLE, OF_SEEN])
@pytest.mark.parametrize("prior", [1e-300, 1e-12, 1e-3, 30.0, 1e6, 1e12, 1e100, 1e290])
def test_priors_of_any_size(prior, share):
    """A prior that outweighs the rows by any factor, and one that they outweigh."""
    table = np.array([[3, 1, 0], [0, 0, 0], [50, 60, 400], [1, 0, 0]], dtype=np.int64)
    rule = FamilyRule(DIRICHLET, share, prior)
    # ln Γ of the prior is as large as the prior; the differences of a few hundred rows are not.
    expected = by_definition(table, 12.0, rule, digits=60 if prior < 1e13 else 340)
    for kernel in (_kernel, reference):
        assert kernel.family_value(table, 12.0, rule) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", [10**3, 10**6, 10**9])
def test_no_cancellation_in_large_tables(n):
    """The marginal likelihood of a nearly certain child keeps its digits, however many rows."""
    table = np.array([[n, 1], [3, 10 * n]], dtype=np.int64)
    rule = FamilyRule(DIRICHLET, OF_TABLE, 1.0)
    with mpmath.workdps(40):
        expected = by_definition(table, 4.0, rule)
    assert _kernel.family_value(table, 4.0, rule) == pytest.approx(expected, rel=1e-13)


def direct_regret(n, levels):
    """The sum of the maximised likelihood over all samples of n rows, by their counts."""
    total = 0.0
    for bars in itertools.combinations(range(n + levels - 1), levels - 1):
        edges = [-1, *bars, n + levels - 1]
        counts = [b - a - 1 for a, b in itertools.pairwise(edges)]
        ways = math.factorial(n) / math.prod(math.factorial(k) for k in counts)
        total += ways * math.prod((k / n) ** k for k in counts)
    return math.log(total)


@pytest.mark.parametrize("levels", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_regret_is_the_direct_sum(n, levels):
    expected = direct_regret(n, levels)
    assert _kernel.log_regret(n, levels) == pytest.approx(expected, rel=1e-13, abs=1e-14)
    assert reference.log_regret(n, levels) == pytest.approx(expected, rel=1e-13, abs=1e-14)


@pytest.mark.parametrize(("n", "levels"), [(300, 2), (1000, 50), (40, 3000), (2000, 7)])
def test_regret_of_larger_samples(n, levels):
    expected = float(mpmath.log(regret_by_recurrence(n, levels)))
    assert _kernel.log_regret(n, levels) == pytest.approx(expected, rel=1e-13)


def test_regret_of_astronomical_tables():
    """K ≫ n: nearly all samples have n different levels, C(n, K) → K^n / n^n."""
    assert _kernel.log_regret(20, 1e30) == pytest.approx(20 * math.log(1e30 / 20), rel=1e-14)
    assert _kernel.log_regret(0, 5) == 0


@st.composite
def coded(draw):
    n = draw(st.integers(0, 60))
    levels = draw(st.lists(st.sampled_from([1, 2, 3, 5, 300]), min_size=1, max_size=5))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    columns = []
    for size in levels:
        codes = rng.integers(0, size, n)
        codes = codes.astype(np.uint8 if size <= 255 else np.uint16)
        if draw(st.booleans()):
            codes[rng.random(n) < 0.1] = np.iinfo(codes.dtype).max
        columns.append(codes)
    weights = draw(st.sampled_from([None, "some"]))
    if weights is not None:
        weights = rng.integers(0, 4, n).astype(np.int64)
    families = [rng.permutation(len(levels))[: rng.integers(1, len(levels) + 1)] for _ in range(6)]
    return columns, levels, weights, families, draw(st.booleans())


@pytest.mark.parametrize("rule", RULES, ids=str)
@given(case=coded())
def test_batches(rule, case):
    """Counting and summing many families: dense tables, sparse ones, weights, missing values."""
    columns, levels, weights, families, remember = case
    flat = np.concatenate(families).astype(np.int32)
    starts = np.cumsum([0, *map(len, families)]).astype(np.int64)
    found = []
    for kernel in (_kernel, reference):
        data = kernel.CodedData([c.copy() for c in columns], levels, weights, 32)
        if remember:
            data.remember_pairs()
        found.append(data.family_values(flat, starts, rule))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-11, atol=1e-10)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_families_with_parents_in_common(rule, weights):
    """Configurations that are kept from family to family, and those too many to be."""
    rng = np.random.default_rng(2)
    levels = [2, 3, 250, 120, 250, 2, 90]
    rows = rng.integers(0, levels, (800, len(levels))) // rng.integers(1, 4, (800, 1))
    columns = [np.ascontiguousarray(column, dtype=np.uint8) for column in rows.T]
    counts = rng.integers(0, 4, 800) if weights else None
    families = [
        family
        for size in (5, 6, 7)
        for family in itertools.islice(itertools.permutations(range(7), size), 200, 280)
    ]
    flat = np.concatenate(families).astype(np.int32)
    starts = np.cumsum([0, *map(len, families)]).astype(np.int64)
    data = _kernel.CodedData(columns, levels, counts, 1 << 40)
    together = data.family_values(flat, starts, rule)
    alone = [
        data.family_values(np.array(f, dtype=np.int32), np.array([0, len(f)]), rule)[0]
        for f in families
    ]
    np.testing.assert_array_equal(together, alone)
    some = slice(0, None, 17)
    sizes = np.diff(starts)[some]
    chosen = np.concatenate(families[some]).astype(np.int32)
    expected = reference.CodedData(columns, levels, counts, 1 << 40).family_values(
        chosen, np.cumsum([0, *sizes]), rule
    )
    np.testing.assert_allclose(together[some], expected, rtol=1e-11, atol=1e-10)


def test_memory_of_configurations_is_bounded():
    """Rows of which nearly each has a configuration of its own, of a child of many levels."""
    code = """
import resource
import numpy as np
from gml.kernel import _kernel
from gml.kernel.layout import LIKELIHOOD, FamilyRule
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rng = np.random.default_rng(1)
columns = [rng.integers(0, 250, 200_000).astype(np.uint8) for _ in range(6)]
data = _kernel.CodedData(columns, [250] * 6, None, 1 << 40)
before = peak()
data.family_values(np.array([0, 1, 2, 3, 4, 0, 1, 2, 3, 5], dtype=np.int32),
                   np.array([0, 5, 10]), FamilyRule(LIKELIHOOD))
print(peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    assert int(done.stdout) < 40_000
