"""What two columns tell of one another where one at least is numeric: gains in log-likelihood.

A gain is what the maximised log-likelihood of both columns together exceeds that of each alone by,
in nats per row, and `df` the number of parameters that it takes. Variances have the divisor n:

- Two numeric columns are jointly normal: −½ ln(1 − r²), df 1.
- Given a categorical column with r levels, a numeric one is normal about the mean of each level,
  either with one variance, ½ (ln s² − ln s²_within), df r − 1, or with a variance in each level,
  ½ (ln s² − Σ pₖ ln sₖ²), df 2(r − 1) (Lauritzen & Wermuth 1989, Ann. Stat. 17:31; Edwards, de
  Abreu & Labouriau 2010, BMC Bioinformatics 11:18). The latter needs three rows that differ in
  every level. The better by BIC is taken, and of equal ones the former.

Given a class C, the rows of each of its levels c have parameters of their own. Log-likelihoods then
add up over the levels, and so does the gain: Σ p_c times the gain among the rows of c alone, as
I(x; y | C) is of tables. Its df is that of one level times the levels of C. Which form of variances
is taken is decided for all levels of C together. Only levels that occur in some row count.

Where nothing is left of a variance, in any level of C, one column determines the other, and the
gain is infinite. There is no gain where rows are fewer than coefficients, the intercept counted,
and two more, as for the regressions of `gml.counts.residuals`, or where nothing is left in some
levels of C but not in others, which chance does in few rows.

Sums are exact, and each logarithm is that of a ratio that is rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.counts.answers import Moments, StratifiedMoments
from gml.counts.counter import Counter
from gml.counts.exact_algebra import SINGULAR_BITS
from gml.counts.questions import Question
from gml.counts.residuals import SPARE_ROWS
from gml.stopping import check_stopped


class PairGains(NamedTuple):
    """Of each pair, the gain and its degrees of freedom, and what it lacks where it has none.

    `by_level` says whether each level has a variance of its own. A constant column tells nothing,
    and lacks nothing: df is 0.
    """

    mi: NDArray[np.float64]
    df: NDArray[np.int64]
    by_level: NDArray[np.bool_]
    lacks: list[str | None]


def bic_weights(
    mi: NDArray[np.float64], df: NDArray[np.float64] | NDArray[np.int64], n: int
) -> NDArray[np.float64]:
    """Return gains less their price by BIC, per row: mi − df·ln n / 2n."""
    weights: NDArray[np.float64] = mi - df * math.log(n) / (2 * n)
    return weights


class NumericGains:
    """The gains of pairs of columns, of which one at least is numeric, all over the same rows.

    Examples
    --------
    >>> import gml
    >>> rows = gml.read("sample_data/flats.csv", numeric=["size", "rent", "heating"])
    >>> found = NumericGains(gml.MemoryCounter(rows)).of([(0, 3), (3, 4), (4, 5)])
    >>> found.mi.round(3).tolist(), found.df.tolist()
    ([0.287, 0.02, 0.0], [4, 1, 1])
    """

    def __init__(self, counter: Counter, given: tuple[int, ...] = ()) -> None:
        self._counter = counter
        self._given = given
        self._is_number = [variable.is_continuous for variable in counter.variables]
        numbers = [j for j in counter.order.positions.tolist() if self._is_number[j]]
        self._place = {j: k for k, j in enumerate(numbers)}
        questions = [Question(tuple(numbers), some) for some in ((), given)[: 1 + bool(given)]]
        whole, *within = counter.many_moments(questions)
        assert isinstance(whole, Moments)
        self._n = whole.n
        self._varies = {j: whole.cross[k][k] > 0 for j, k in self._place.items()}
        self._parts = {(): _Part(whole, "")}
        for found in within:
            assert isinstance(found, StratifiedMoments)
            by_code = zip(map(tuple, found.configs.tolist()), found.moments, strict=True)
            self._parts = {code: _Part(part, self._where(code)) for code, part in by_code}

    def of(self, pairs: Sequence[tuple[int, int]]) -> PairGains:
        """Return the gains of pairs, the columns of each in any order."""
        found = [_NOTHING] * len(pairs)
        asked: list[tuple[int, int, Question]] = []
        for k, (x, y) in enumerate(pairs):
            x, y = (y, x) if self._is_number[x] and not self._is_number[y] else (x, y)
            if not self._varies[y]:
                continue
            if not self._is_number[x]:
                asked.append((k, y, Question((y,), (*self._given, x))))
            elif self._varies[x]:
                found[k] = self._of_numbers(self._place[x], self._place[y])
        # Without a question there is nothing to read rows for.
        questions = [question for _, _, question in asked]
        answers = self._counter.many_moments(questions) if questions else []
        for (k, y, _), answer in zip(asked, answers, strict=True):
            assert isinstance(answer, StratifiedMoments)
            found[k] = self._of_levels(self._place[y], answer)
        return PairGains(
            np.array([one.mi for one in found]),
            np.array([one.df for one in found], dtype=np.int64),
            np.array([one.by_level for one in found], dtype=bool),
            [one.lacks for one in found],
        )

    def _of_numbers(self, x: int, y: int) -> _Gain:
        check_stopped()
        total = _Total(self._n, len(self._parts))
        for part in self._parts.values():
            cross = part.moments.cross
            xx, xy, yy = cross[x][x], cross[x][y], cross[y][y]
            lacks = part.lacks(2, xx and yy)
            if lacks:
                return _Gain(lacks=lacks)
            total.add(part, _log_left(xx * yy - xy * xy, xx * yy))
        return total.gain(len(self._parts))

    def _of_levels(self, y: int, found: StratifiedMoments) -> _Gain:
        """The gain of a numeric column whose moments in the levels of another are these."""
        check_stopped()
        seen = len(set(found.configs[:, -1].tolist()))
        if seen < 2:
            return _NOTHING
        one, own = (_Total(self._n, len(self._parts)) for _ in range(2))
        has_own = True
        for part, levels in self._levels_of(found):
            whole = part.moments
            lacks = part.lacks(len(levels), whole.cross[y][y])
            if lacks:
                return _Gain(lacks=lacks)
            shares = [_share(level, whole, y) for level in levels]
            one.add(part, _log_of_sum(shares))
            has_own &= all(
                level.n >= 1 + SPARE_ROWS and left > 0
                for level, (left, _) in zip(levels, shares, strict=True)
            )
            if has_own:
                # The variance of a level, as a share of that of all of them.
                own.add(
                    part,
                    math.fsum(
                        level.n / whole.n * _log_ratio(left * whole.n, of_all * level.n)
                        for level, (left, of_all) in zip(levels, shares, strict=True)
                    ),
                )
        df = (seen - 1) * len(self._parts)
        common = one.gain(df)
        if not has_own or common.lacks or math.isinf(common.mi):
            return common
        by_level = own.gain(2 * df)._replace(by_level=True)
        weights = bic_weights(
            np.array([common.mi, by_level.mi]), np.array([common.df, by_level.df]), self._n
        )
        return by_level if weights[1] > weights[0] else common

    def _levels_of(self, found: StratifiedMoments) -> Iterator[tuple[_Part, list[Moments]]]:
        """The moments of the levels of a column, for each part of the rows."""
        levels: dict[tuple[int, ...], list[Moments]] = {code: [] for code in self._parts}
        for config, moments in zip(found.configs.tolist(), found.moments, strict=True):
            levels[tuple(config[:-1])].append(moments)
        for code, part in self._parts.items():
            yield part, levels[code]

    def _where(self, codes: Sequence[int]) -> str:
        levels = (
            f"{self._counter.variables[j].name}={(self._counter.variables[j].levels or ())[code]}"
            for j, code in zip(self._given, codes, strict=True)
        )
        return f" where {', '.join(levels)}"


class _Gain(NamedTuple):
    mi: float = 0.0
    df: int = 0
    by_level: bool = False
    lacks: str | None = None


_NOTHING = _Gain()


class _Part(NamedTuple):
    """The moments of all numeric columns among the rows of a level of C, or among all rows."""

    moments: Moments
    where: str

    def lacks(self, n_coefficients: int, varies: object) -> str | None:
        """Say what keeps these rows from telling a gain."""
        n, needed = self.moments.n, n_coefficients + SPARE_ROWS
        if n < needed:
            return f"{n} of {needed} rows needed{self.where}"
        return None if varies else f"no variance{self.where}"


class _Total:
    """A gain over all rows from the logarithms of what is left of a variance in each part."""

    def __init__(self, n: int, n_parts: int) -> None:
        self._n = n
        self._n_parts = n_parts
        self._terms: list[float] = []
        self._determined: list[str] = []

    def add(self, part: _Part, log_left: float) -> None:
        """Take in a part of the rows."""
        if log_left == -math.inf:
            self._determined.append(part.where)
        else:
            self._terms.append(part.moments.n / self._n * log_left)

    def gain(self, df: int) -> _Gain:
        """The gain, with so many degrees of freedom."""
        if len(self._determined) == self._n_parts:
            return _Gain(math.inf, df)
        if self._determined:
            return _Gain(lacks=f"no variance left{self._determined[0]}")
        # What rounding leaves of nothing is nothing.
        return _Gain(max(0.0, -0.5 * math.fsum(self._terms)), df)


def _share(level: Moments, whole: Moments, y: int) -> tuple[int, int]:
    """The sum of squares about the mean of a level, as a share of that of all, in two integers."""
    left, of_all = level.cross[0][0] * whole.n, whole.cross[y][y] * level.n
    shift = 2 * (whole.scales[y] - level.scales[0])
    return (left << shift, of_all) if shift >= 0 else (left, of_all << -shift)


def _log_of_sum(shares: Sequence[tuple[int, int]]) -> float:
    """ln of a sum of shares; −∞ where that is nothing."""
    total = math.fsum(left / of_all for left, of_all in shares)
    return math.log(total) if math.ldexp(total, SINGULAR_BITS) > 1 else -math.inf


def _log_left(left: int, whole: int) -> float:
    """ln of what is left of a whole; −∞ where that is nothing."""
    if left << SINGULAR_BITS <= whole:
        return -math.inf
    # Near 1, the ratio would lose what its logarithm is about.
    return math.log1p((left - whole) / whole) if 2 * left > whole else math.log(left / whole)


def _log_ratio(one: int, other: int) -> float:
    """ln of a ratio, which may be beyond what a float holds."""
    digits = one.bit_length() - other.bit_length()
    return math.log(one / other) if abs(digits) < 1000 else math.log(one) - math.log(other)
