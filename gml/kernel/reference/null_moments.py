"""What G and X² are like under independence, over all tables with the margins of a stratum.

The third moment is that of Kazi-Aoual, Hitier, Sabatier & Lebreton (1995, Comput. Stat. Data Anal.
20:643) as they state it, for the projections on the levels of rows and of columns; of up to five
rows, where their formula has no value, it is that of all relabellings.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class NullMoments(NamedTuple):
    """Mean, variance and third central moment of X², and how far the mean of G is above df.

    The latter twice: to the order of 1/n (Williams 1976, Biometrika 63:33), and with Poisson cells.
    """

    x2_mean: float
    x2_variance: float
    x2_third: float
    g_excess: float
    poisson_g_excess: float


def moments_of_stratum(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NullMoments:
    """Moments under independence, given the margins of a stratum without empty levels."""
    n, df = int(rows.sum()), (len(rows) - 1) * (len(columns) - 1)
    by_row, by_column = n * float(np.sum(1 / rows)), n * float(np.sum(1 / columns))
    return NullMoments(
        df * n / (n - 1),
        _x2_variance(n, rows, columns),
        _x2_third(tuple(rows.tolist()), tuple(columns.tolist())),
        (by_row - 1) * (by_column - 1) / (6 * n),
        _poisson_g_excess(n, rows.astype(float), columns.astype(float)),
    )


def _x2_variance(n: int, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> float:
    """Variance of X² over all tables with these margins (Haldane 1940, Biometrika 31:346)."""
    r, c = len(rows), len(columns)
    if n <= 3:
        return 1.125 if (n, r, c) == (3, 2, 2) else 0.0
    v_rows, v_columns = (r - 1) * (n - r) / (n - 1), (c - 1) * (n - c) / (n - 1)
    w_rows = (n * float(np.sum(1 / rows)) - r * r) / (n - 2)
    w_columns = (n * float(np.sum(1 / columns)) - c * c) / (n - 2)
    return float(
        2 * n / (n - 3) * (v_rows - w_rows) * (v_columns - w_columns)
        + n * n / (n - 1) * w_rows * w_columns
    )


def _poisson_excess(m: NDArray[np.float64]) -> NDArray[np.float64]:
    """E[2(O ln(O/m) − O + m)] − 1 of a Poisson count O with mean m, within 0.02."""
    above: NDArray[np.float64] = (m / 6 + 0.253) * m - 0.17
    return above / (((m - 0.722) * m + 1.152) * m + 0.17)


def _poisson_g_excess(n: int, rows: NDArray[np.float64], columns: NDArray[np.float64]) -> float:
    """How far the mean of G is above df: the excess of the cells less that of the margins."""
    return float(
        _poisson_excess(np.outer(rows, columns) / n).sum()
        - _poisson_excess(rows).sum()
        - _poisson_excess(columns).sum()
        + _poisson_excess(np.array(float(n)))
    )


@lru_cache(maxsize=1 << 14)
def _x2_third(rows: tuple[int, ...], columns: tuple[int, ...]) -> float:
    if sum(rows) <= 5:
        return _third_of_relabellings(tuple(sorted(rows)), tuple(sorted(columns)))
    return float(_third_of_projections(rows, columns))


@lru_cache(maxsize=1 << 10)
def _third_of_relabellings(rows: tuple[int, ...], columns: tuple[int, ...]) -> float:
    n = sum(rows)
    x = [a for a, count in enumerate(rows) for _ in range(count)]
    y = [b for b, count in enumerate(columns) for _ in range(count)]
    values = []
    for relabelled in permutations(y):
        cells = list(zip(x, relabelled, strict=True))
        values.append(
            sum(
                Fraction(n * cells.count((a, b)) ** 2, rows[a] * columns[b])
                for a, b in dict.fromkeys(cells)
            )
        )
    mean = sum(values, Fraction(0)) / len(values)
    return float(sum(((value - mean) ** 3 for value in values), Fraction(0)) / len(values))


class _Sums(NamedTuple):
    """The sums of Kazi-Aoual et al. over the matrix A of a projection on the centred levels.

    T = tr A = tr A² = tr A³, S2 = Σ Aᵢᵢ², S3 = Σ Aᵢᵢ³, U = Σ Aᵢⱼ³, R = Σ Aᵢᵢ(A²)ᵢᵢ = S2 and
    B = Σ Aᵢᵢ Aᵢⱼ Aⱼⱼ.
    """

    t: Fraction
    s2: Fraction
    s3: Fraction
    u: Fraction
    b: Fraction


def _sums(totals: tuple[int, ...]) -> _Sums:
    n, r = sum(totals), len(totals)
    s1 = sum((Fraction(1, count) for count in totals), Fraction(0))
    s2 = s1 - Fraction(2 * r - 1, n)
    cubes = sum(
        (count * (Fraction(1, count) - Fraction(1, n)) ** 3 for count in totals), Fraction()
    )
    return _Sums(
        Fraction(r - 1), s2, cubes, s1 - Fraction(3 * r - 2, n), s2 - Fraction((r - 1) ** 2, n)
    )


def _third_of_projections(rows: tuple[int, ...], columns: tuple[int, ...]) -> Fraction:
    """Third central moment of X² = n·tr AB, exact; the terms in the order of the paper."""
    n, a, b = sum(rows), _sums(rows), _sums(columns)
    both = [(a, b), (b, a)]
    ts, tt = (
        [one.t * one.s2 for one in (a, b)],
        [one.t**3 + 6 * one.t**2 + 8 * one.t for one in (a, b)],
    )
    total = n**2 * (n + 1) * (n**2 + 15 * n - 4) * a.s3 * b.s3
    total += 4 * (n**4 - 8 * n**3 + 19 * n**2 - 4 * n - 16) * a.u * b.u
    total += 6 * (n**4 - 8 * n**3 + 21 * n**2 - 6 * n - 24) * a.b * b.b
    total += 12 * (n**4 - n**3 - 8 * n**2 + 36 * n - 48) * a.s2 * b.s2
    total += 3 * (n**4 - 4 * n**3 - 2 * n**2 + 9 * n - 12) * ts[0] * ts[1]
    total += a.t**3 * ((n**3 - 9 * n**2 + 23 * n - 14) * b.t**3 + 6 * (n - 4) * b.t**2 + 8 * b.t)
    total += (
        6
        * a.t**2
        * ((n - 4) * b.t**3 + (n**3 - 9 * n**2 + 24 * n - 14) * b.t**2 + 4 * (n - 3) * b.t)
    )
    total += 8 * a.t * (b.t**3 + 3 * (n - 3) * b.t**2 + (n**3 - 9 * n**2 + 26 * n - 22) * b.t)
    for (one, other), own, of_other in zip(both, ts, tt[::-1], strict=True):
        total += 24 * (n**2 - n - 4) * one.u * other.b
        total += 12 * (n**3 - 2 * n**2 + 9 * n - 12) * own * other.s2
        total += 24 * (n**3 - 3 * n**2 - 2 * n + 8) * one.s2 * other.u
        total += 24 * (n**3 - 2 * n**2 - 3 * n + 12) * one.s2 * other.b
        total += 12 * (n**2 - n + 4) * own * other.u
        total += 6 * (2 * n**3 - 7 * n**2 - 3 * n + 12) * own * other.b
        total -= 2 * n * (n - 1) * (n**2 - n + 4) * (2 * one.u + 3 * one.b) * other.s3
        total -= 3 * n * (n - 1) ** 2 * (n + 4) * (own + 4 * one.s2) * other.s3
        total += 2 * n * (n - 1) * (n - 2) * of_other * one.s3
        total -= 16 * other.t**3 * one.u + 12 * (n**2 - 5 * n + 8) * other.t**2 * one.u
        total -= 8 * (3 * n**2 - 15 * n + 16) * other.t * one.u
        total -= 6 * (n**2 - 5 * n + 4) * other.t**3 * one.b
        total -= 24 * (n**2 - 5 * n + 6) * other.t**2 * one.b
        total -= 24 * (n**2 - 5 * n + 8) * other.t * one.b
        rest = 24 * other.t**3 * one.s2 + 12 * (n**2 - 5 * n + 12) * other.t**2 * one.s2
        rest += 24 * (n**2 - 5 * n + 8) * other.t * one.s2
        rest += 3 * (n**2 - 5 * n + 2) * other.t**3 * own
        rest += 6 * (n**2 - 5 * n + 6) * other.t**2 * own + 48 * other.t * own
        total -= (n - 2) * rest
    raw = total * n**3 / (n * (n - 1) * (n - 2) * (n - 3) * (n - 4) * (n - 5))
    mean = n * a.t * b.t / (n - 1)
    v_rows, v_columns = (one.t * (n - 1 - one.t) / (n - 1) for one in (a, b))
    w_rows, w_columns = ((n * one.s2 - one.t**2) / (n - 2) for one in (a, b))
    variance = Fraction(2 * n, n - 3) * (v_rows - w_rows) * (v_columns - w_columns)
    variance += Fraction(n * n, n - 1) * w_rows * w_columns
    return raw - 3 * mean * variance - mean**3
