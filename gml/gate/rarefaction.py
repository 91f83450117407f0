"""Do new rows repeat each other more than the rows of a model do?

Large samples repeat more, so the larger one (N rows, f_k of them k times) is rarefied to the size s
of the smaller: a random part of it has E = Σ f_k (1 − C(N−k,s)/C(N,s)) different rows (Hurlbert
1971, Ecology 52:577). If nothing changed, the smaller one has as many on average. How far the two
differ by chance depends on how often each row occurs in truth. Rows of intensity λ per row of data
occur Poisson(λN) and Poisson(λs) times, so the number of rows of each intensity is estimated from
both samples by maximum likelihood (EM on a grid of λ; those that occur many times have the one that
they show). With a = λs, t = s/N and sums over all rows,

    Var(smaller) = Σ e^−a (1 − e^−a) − (Σ a e^−a)²/s
    Var(larger)  = Σ e^−2a (e^at − 1) − (Σ a e^−a)²/N

where the last terms are there as the sizes are fixed. Where repeats are rare, they are pairs by
chance, and so Poisson: the tail is that of a gamma distribution with the skewness of a Poisson
variable of this variance, half a row nearer, as rows are counted.

New rows that repeat for another reason enter this estimate, too. So where the larger sample hardly
repeats, the estimate is also made from it alone, with as many more pairs as it may lack with
probability γ, a twentieth of the level: r of them stand for up to r + √(2r ln 1/γ) + ln 1/γ. This
p-value is increased by γ (Berger & Boos 1994, J. Am. Stat. Assoc. 89:1012).

There, too, and if the new sample is not the larger one, groups of equal rows can be counted. Of c
equal rows, each new with probability v = n/(n₀+n), two or more are new and at most one is old, or
the reverse. Given that one of the two is so, it is the first with a probability of at most
v²(3−2v), that of c = 3. So the number of groups of new rows is at most binomial, given all groups.
Three times the smallest of the p-values counts.

A file delivered g times has multiplicities that all are multiples of g (`Repeats.log_accident`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.gate.tails import log_skewed_tail, log_sum
from gml.model.training import Repeats

# Rows that occur more often than this show their intensity well enough.
_OFTEN = 30
_PER_DECADE = 8
# Share of rows that repeat others up to which repeats are rare.
_HARDLY = 0.05
_STEPS = 300
# Expected pairs, over all rows, at the least intensity.
_HARDLY_ANY = 1e-3
_LEAST_VARIANCE = 1e-12
# What share of an excess is most of it, and how many samples vary if another reason is drawn.
_MOSTLY = 0.5
_DRAWS = 3
# Above this multiplicity logarithms of factorials are accurate enough.
_BY_PRODUCT = 4096


@dataclass(frozen=True)
class Excess:
    """How many different rows were expected and found among so many, and ln p."""

    rows: int
    expected: float
    found: float
    log_p: float

    @property
    def share(self) -> float:
        """How much larger the share of repeated rows is in the new data; 0 if it is not."""
        return max(0.0, self.expected - self.found) / self.rows


@dataclass(frozen=True)
class OtherReasons:
    """Why rows may repeat besides chance, as far as is known.

    `left` is what share of different rows a change of the tables leaves. `copied` is how many of
    the old rows seem to be copies: a smaller sample has its share of them, which rarefaction, that
    takes rows one by one, tears apart.
    """

    left: float = 1.0
    copied: float = 0.0


def excess_repeats(
    old: Repeats, new: Repeats, share: float = 1e-6, other: OtherReasons | None = None
) -> Excess:
    """Compare the repeats of new rows with old ones.

    `expected` is for the old rows and `found` for the new ones, one of them rarefied; `share` is γ.
    If a change of the tables is most of it, only the new rows tell how much the rest may vary, as
    may the two draws that the change was found by.

    Examples
    --------
    >>> found = excess_repeats(Repeats({1: 5000}), Repeats({1: 980, 2: 10}))
    >>> found.rows, round(found.expected, 9), found.found, found.log_p < -13
    (1000, 1000.0, 990.0, True)
    """
    size = min(old.n, new.n)
    before, found = rarefied(old, size), rarefied(new, size)
    other = other or OtherReasons()
    copies = other.copied * size / old.n
    expected = other.left * before - copies * (1 - size / old.n)
    larger, smaller = (old, new) if old.n >= new.n else (new, old)
    beyond = expected - found - 0.5
    if beyond <= 0:
        return Excess(size, expected, found, 0.0)
    of_copies = copies * (1 + size / old.n)
    if (1 - other.left) * before >= _MOSTLY * (before - found):
        drawn = _DRAWS * _variance(_intensities([new]), larger.n, size)
        return Excess(size, expected, found, _log_tail(beyond, drawn + of_copies))
    by_both = _log_tail(
        beyond, _variance(_intensities([larger, smaller]), larger.n, size) + of_copies
    )
    by_larger = by_groups = 0.0
    lacking = _with_more_pairs(larger, math.log(1 / share))
    if larger.n - lacking.distinct <= _HARDLY * larger.n:
        variance = max(
            _variance(_intensities([repeats]), larger.n, size) for repeats in (larger, lacking)
        )
        by_larger = _log_tail(beyond, variance + of_copies)
        by_larger = float(np.logaddexp(math.log(share), by_larger))
        by_groups = _log_p_of_groups(old, new, (1 - other.left) * before, other.copied > 0)
    log_p = min(0.0, math.log(3) + min(by_both, by_larger, by_groups))
    return Excess(size, expected, found, log_p)


def _log_p_of_groups(old: Repeats, new: Repeats, explained: float, has_copies: bool) -> float:
    """ln p of so many groups of equal new rows beside those of old rows."""
    share = new.n / (old.n + new.n)
    if share > 0.5:
        return 0.0
    # Copies come with their rows, so that their number grows as that of the rows does.
    chance = share if has_copies else share**2 * (3 - 2 * share)
    groups = new.distinct - new.multiplicities.get(1, 0) - math.ceil(explained)
    total = groups + old.distinct - old.multiplicities.get(1, 0)
    if groups <= 0:
        return 0.0
    k = np.arange(groups, total + 1)
    logs = [math.lgamma(total + 1) - math.lgamma(j + 1) - math.lgamma(total - j + 1) for j in k]
    return log_sum(np.array(logs) + k * math.log(chance) + (total - k) * math.log1p(-chance))


def _log_tail(beyond: float, variance: float) -> float:
    deviation = math.sqrt(max(variance, _LEAST_VARIANCE))
    return log_skewed_tail(beyond / deviation, 1 / deviation)


def _with_more_pairs(repeats: Repeats, log_odds: float) -> Repeats:
    """Repeats with as many more pairs as may be lacking by chance."""
    surplus = repeats.n - repeats.distinct
    more = math.ceil(math.sqrt(2 * surplus * log_odds) + log_odds)
    often = dict(repeats.multiplicities)
    more = min(more, often.get(1, 0) // 2)
    often[1], often[2] = often.get(1, 0) - 2 * more, often.get(2, 0) + more
    return Repeats({times: rows for times, rows in sorted(often.items()) if rows})


def rarefied(repeats: Repeats, size: int) -> float:
    """Return the expected number of different rows in a random part of this size.

    Examples
    --------
    >>> rarefied(Repeats({1: 2, 2: 1}), 2), round(rarefied(Repeats({1: 2, 2: 1}), 3), 12)
    (1.8333333333333333, 2.5)
    """
    n = repeats.n
    if size >= n:
        return float(repeats.distinct)
    often = sorted(repeats.multiplicities)
    last = min(often[-1], _BY_PRODUCT, n - size)
    logs = np.concatenate([[0.0], np.cumsum(np.log1p(-size / (n - np.arange(last))))])
    terms = []
    for times in often:
        if times > n - size:
            absent = 0.0
        elif times <= last:
            absent = math.exp(logs[times])
        else:
            absent = math.exp(
                math.lgamma(n - times + 1)
                - math.lgamma(n - times - size + 1)
                - math.lgamma(n + 1)
                + math.lgamma(n - size + 1)
            )
        terms.append(repeats.multiplicities[times] * (1 - absent))
    return math.fsum(terms)


def times_delivered(old: Repeats, new: Repeats) -> tuple[int, float]:
    """Return how often new rows were delivered, and ln of the chance that it only looks so.

    Examples
    --------
    >>> times_delivered(Repeats({1: 900, 2: 50}), Repeats({3: 200, 6: 2}))[0]
    3
    """
    common = new.common_factor
    times = common // math.gcd(common, old.common_factor) if common else 1
    return times, 0.0 if times == 1 else new.log_accident


def _variance(
    found: tuple[NDArray[np.float64], NDArray[np.float64]], larger: int, smaller: int
) -> float:
    """The variance of the difference between a sample and a larger one that is rarefied."""
    intensity, rows = found
    a, t = intensity * smaller, smaller / larger
    once = float(np.sum(rows * a * np.exp(-a)))
    total = float(np.sum(rows * a))
    of_smaller = float(np.sum(rows * np.exp(-a) * -np.expm1(-a))) - once**2 / total
    # e^at - 1, with t at most 1, in logarithms, as e^-2a may be too small for a float.
    within = np.exp(a * t - 2 * a + np.log(-np.expm1(-a * t)))
    of_larger = float(np.sum(rows * within)) - once**2 * t / total
    return max(0.0, of_smaller) + max(0.0, of_larger)


def _intensities(samples: Sequence[Repeats]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Intensities, and how many different rows have each; the largest sample comes first."""
    n = samples[0].n
    often = {k: rows for k, rows in samples[0].multiplicities.items() if k > _OFTEN}
    shown, fixed = np.array([k / n for k in often]), np.array([float(r) for r in often.values()])
    least, most = _HARDLY_ANY / (float(n) * n), 2 * _OFTEN / n
    points = max(2, math.ceil(_PER_DECADE * math.log10(most / least)))
    grid = np.geomspace(least, most, points)
    intensity = np.concatenate([grid, shown])
    seen = [
        (k, rows, sample.n)
        for sample in samples
        for k, rows in sample.multiplicities.items()
        if sample is not samples[0] or k not in often
    ]
    rows = np.concatenate([n / points / (grid * n), fixed])
    if not seen:
        return shown, fixed
    logs = np.array([k * np.log(intensity * size) - intensity * size for k, _, size in seen])
    chance = np.exp(logs - logs.max(axis=1, keepdims=True))
    counts = np.array([float(times) for _, times, _ in seen])
    visible = sum(-np.expm1(-grid * sample.n) for sample in samples)
    for _ in range(_STEPS):
        fitted = chance @ rows
        rows[:points] *= (chance[:, :points].T @ (counts / fitted)) / visible
    return intensity, rows
