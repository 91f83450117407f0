"""The mutual information of every two columns, in nats.

Of columns of labels, I = G²/2n (Cover & Thomas 2006, equation 2.28, of the shares observed); of
columns of numbers, I = −½ ln(1 − r²), which is that of normal ones and infinite where one is a
linear function of the other. Of a column of labels and one of numbers, I = −½ ln(1 − η²), with the
correlation ratio η², the share of the variance that lies between the levels (Fisher 1925): what
−½ ln(1 − R²) is for a regression on indicators of levels, as in the test `dg`. It sees means alone,
and is infinite where numbers do not vary within levels. Two columns without a row in which both
have a value have none, nor have labels and numbers of an engine without rows: NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from gml.counts.answers import Moments
from gml.counts.counter import Counter, TableStatistics, pair_block
from gml.resources import require_memory
from gml.stopping import check_stopped

_BLOCK_PAIRS = 1 << 16
_MOST_AT_ONCE = 1000


def information(found: TableStatistics) -> NDArray[np.float64]:
    """Return the mutual information of the two variables of each table."""
    nats: NDArray[np.float64] = found.g / (2 * np.maximum(found.n, 1))
    return nats


def mutual_information(counter: Counter) -> NDArray[np.float64]:
    """Return the matrix of mutual information, columns as they are; its diagonal is 0.

    Examples
    --------
    >>> import gml
    >>> data = gml.read("sample_data/asia.csv", columns=("smoke", "lung", "either"))
    >>> mutual_information(gml.MemoryCounter(data)).round(3).tolist()
    [[0.0, 0.02, 0.016], [0.02, 0.0, 0.178], [0.016, 0.178, 0.0]]
    """
    n = len(counter.variables)
    require_memory(8 * n * n, None, f"the mutual information of {n} columns")
    numeric = np.array([variable.is_continuous for variable in counter.variables], dtype=bool)
    found = np.zeros((n, n))
    labels = np.flatnonzero(~numeric).astype(np.int32)
    n_pairs = len(labels) * (len(labels) - 1) // 2
    for start in range(0, n_pairs, _BLOCK_PAIRS):
        i, j = pair_block(len(labels), start, min(start + _BLOCK_PAIRS, n_pairs))
        one, other = labels[i], labels[j]
        statistics = counter.pair_statistics(np.column_stack([one, other]))
        nats = np.where(statistics.n > 0, information(statistics), np.nan)
        found[one, other] = found[other, one] = nats
    numbers = np.flatnonzero(numeric).tolist()
    # Where nothing is missing, all pairs are of the same rows, which are then read once.
    at_once = not counter.missing and 2 < len(numbers) <= _MOST_AT_ONCE
    of_all = counter.moments(numbers) if at_once else None
    for k, x in enumerate(numbers):
        check_stopped()
        for m, y in enumerate(numbers[:k]):
            if of_all is None:
                of_pair = _of_numbers(counter.moments((x, y)), 0, 1)
            else:
                of_pair = _of_numbers(of_all, k, m)
            found[x, y] = found[y, x] = of_pair
    together = [[x] for x in numbers] if counter.missing else [numbers] if numbers else []
    has_rows = bool(together) and counter.rows() is not None
    for label in labels.tolist():
        for some in together:
            check_stopped()
            if has_rows:
                found[label, some] = _of_levels_and_numbers(counter, label, some)
            else:
                found[label, some] = np.nan
            found[some, label] = found[label, some]
    return found


def _of_numbers(moments: Moments, k: int, m: int) -> float:
    """The information of two columns, from exact cross-products."""
    if not moments.n:
        return math.nan
    xx, xy, yy = moments.cross[k][k], moments.cross[k][m], moments.cross[m][m]
    if not xx or not yy:
        return 0.0
    rest = xx * yy - xy * xy
    return -0.5 * math.log(rest / (xx * yy)) if rest else math.inf


def _of_levels_and_numbers(counter: Counter, label: int, numbers: Sequence[int]) -> list[float]:
    """The information of a label and of each of some numbers, from exact sums."""
    moments = counter.expanded_moments([label, *numbers])
    levels = moments.blocks[label].tolist()
    if not moments.n:
        return [math.nan] * len(numbers)
    rows = [int(sum_) for sum_ in moments.gram.entries(levels, [moments.size])[:, 0]]
    rows.append(moments.n - sum(rows))
    found = []
    for x in numbers:
        own = moments.blocks[x].tolist()
        if not levels or not own:
            found.append(0.0)
            continue
        cross = moments.cross([*levels, *own])
        # The first level has no indicator; what all levels have together is 0.
        apart = [row[-1] for row in cross[:-1]]
        apart.append(-sum(apart))
        between = sum(Fraction(a * a, n) for a, n in zip(apart, rows, strict=True))
        found.append(information_of_share(between / (moments.n * cross[-1][-1])))
    return found


def information_of_share(share: Fraction | float) -> float:
    """Return −½ ln(1 − share) of an explained share of variance; infinite where nothing is left.

    Examples
    --------
    >>> information_of_share(0.75) == math.log(2), information_of_share(1.0)
    (True, inf)
    """
    left = 1 - share
    if left <= 0:
        return math.inf
    return -0.5 * (math.log(left) if share > 0.5 else math.log1p(-float(share)))
