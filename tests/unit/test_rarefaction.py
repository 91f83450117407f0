"""Repeats of new rows against those of a model."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from gml.gate.rarefaction import OtherReasons, excess_repeats, rarefied, times_delivered
from gml.model.training import Repeats


def repeats(values):
    return Repeats.of(np.unique(values, return_counts=True)[1])


def by_enumeration(found, size):
    """The mean number of different rows over all parts of this size."""
    rows = [
        (times, k)
        for times, n in found.multiplicities.items()
        for k in range(n)
        for _ in range(times)
    ]
    parts = list(itertools.combinations(range(len(rows)), size))
    return Fraction(sum(len({rows[i] for i in part}) for part in parts), len(parts))


@pytest.mark.parametrize("found", [Repeats({1: 3, 2: 2}), Repeats({4: 1, 3: 1}), Repeats({1: 8})])
def test_rarefied_is_the_mean_over_all_parts(found):
    for size in range(1, found.n + 1):
        assert rarefied(found, size) == pytest.approx(float(by_enumeration(found, size)), abs=1e-12)


def test_rarefied_is_exact_where_numbers_are_large():
    found, size = Repeats({1: 10**8, 3: 10_000, 6000: 2}), 10**6
    n = found.n
    wanted = Fraction(0)
    for times, rows in found.multiplicities.items():
        absent = Fraction(1)
        for i in range(times):
            absent *= Fraction(n - size - i, n - i)
        wanted += rows * (1 - absent)
    assert rarefied(found, size) == pytest.approx(float(wanted), rel=1e-12)


def powers(exponent):
    p = 1 / np.arange(1, 50_001) ** exponent
    return p / p.sum()


POPULATIONS = {
    "a thousand": np.full(1000, 1e-3),
    "a hundred thousand": np.full(100_000, 1e-5),
    "zipf": powers(1.0),
    "zipf squared": powers(2.0),
    "one in two": np.concatenate([[0.5], np.full(50_000, 0.5 / 50_000)]),
}


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize(("old", "new"), [(400, 400), (2000, 400), (400, 2000)])
def test_no_more_alarms_than_promised(name, old, new):
    """At 0.05 fewer than 12 alarms of 100: 5 are expected at most, 12 or more once in 230 runs."""
    rng = np.random.default_rng([old, new, len(name)])
    below = np.cumsum(POPULATIONS[name])

    def drawn(n):
        return repeats(np.searchsorted(below, rng.random(n)))

    alarms = sum(excess_repeats(drawn(old), drawn(new)).log_p <= math.log(0.05) for _ in range(100))
    assert alarms < 12


def test_duplicates_are_seen_among_rows_that_hardly_repeat():
    old, new = Repeats({1: 5000}), Repeats({1: 980, 2: 10})
    assert excess_repeats(old, new).log_p < math.log(1e-5)
    assert excess_repeats(old, Repeats({1: 1000})).log_p == 0
    # Fewer repeats than before are no duplicates.
    assert excess_repeats(Repeats({1: 900, 2: 50}), Repeats({1: 1000})).log_p == 0


def test_one_pair_is_no_proof_and_the_larger_side_is_rarefied():
    assert excess_repeats(Repeats({1: 1000}), Repeats({1: 998, 2: 1})).log_p > math.log(0.05)
    # Ten times as many rows have a hundred times as many pairs by chance.
    assert excess_repeats(Repeats({1: 1000}), Repeats({1: 9980, 2: 10})).log_p > math.log(0.05)
    assert excess_repeats(Repeats({1: 9800, 2: 100}), Repeats({1: 998, 2: 1})).log_p > -3


def test_what_else_explains_repeats_is_left_aside():
    old, new = Repeats({1: 1000}), Repeats({1: 600, 2: 200})
    assert excess_repeats(old, new).log_p < -50
    assert excess_repeats(old, new, other=OtherReasons(left=0.8)).log_p == 0


def test_copies_that_the_model_has_too_are_expected_in_any_number_of_rows():
    """One row in fifty has a copy, in 5 000 rows and in 500."""
    old, new = Repeats({1: 4800, 2: 100}), Repeats({1: 480, 2: 10})
    assert excess_repeats(old, new).log_p < math.log(1e-4)
    assert excess_repeats(old, new, other=OtherReasons(copied=100)).log_p > math.log(0.1)
    more = Repeats({1: 400, 2: 50})
    assert excess_repeats(old, more, other=OtherReasons(copied=100)).log_p < math.log(1e-4)


def test_how_often_rows_were_delivered():
    once = Repeats({1: 40, 2: 5, 3: 2})
    thrice = Repeats({3: 40, 6: 5, 9: 2})
    times, log_accident = times_delivered(once, thrice)
    assert times == 3
    assert log_accident == pytest.approx(-45 * math.log(2))
    assert times_delivered(thrice, thrice) == (1, 0.0)
    assert times_delivered(thrice, Repeats({6: 47}))[0] == 2
    assert times_delivered(once, once) == (1, 0.0)
    # Two rows say nothing: 400 and 600 of two levels have a common factor by accident.
    assert times_delivered(once, Repeats({400: 1, 600: 1})) == (200, 0.0)


def test_multiples_are_an_accident_as_rarely_as_is_said():
    """Of 20 000 samples of six rows, all even in at most 2^-4 of them and not in far fewer."""
    rng = np.random.default_rng(5)
    counts = rng.multinomial(600, np.full(6, 1 / 6), size=20_000)
    accidents = np.mean(np.gcd.reduce(counts, axis=1) > 1)
    assert accidents <= 2**-4
    assert accidents >= 2**-6
