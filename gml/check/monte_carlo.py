"""p-values by drawing, as far as a decision needs them (Besag & Clifford 1991, Biometrika 78:301).

Replicates are drawn in stages until enough of them reach the observed statistic, or until they
could tell a p-value well below the level at which a check fails: p = (1 + #{T* ≥ T})/(B + 1). An
early stop never gives a p-value that small, so that P(p ≤ level) ≤ level holds exactly. Where the
first thousand replicates (250 of huge tables) show that drawing is hopeless, p being thousands of
times below the level, or where drawing all of them would take too long, the tail of a gamma
distribution with their mean, variance and skewness (Pearson's type III) stands in; for G not below
that of χ² with their mean, since rare cells have tails that few draws do not show. A statistic that
takes few values has no such tail, and is drawn to the end.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gml import kernel

Draw = Callable[[tuple[int, int], int, int], NDArray[np.float64]]
"""Statistics of the replicates first..last-1 under a key of two words."""

MONTE_CARLO, TAIL_OF_DRAWS = "monte-carlo", "monte-carlo-tail"

_FIRST_STAGE = 1000
_GROWTH = 4
_CHUNK = 250
# With as many that reach the statistic p is above the level, however many more are drawn.
_ENOUGH = 8
# Replicates for one that may reach the statistic where p is at the level.
_RESOLUTION = 8
# Cells drawn at most for one p-value, about two seconds, and for all of a run.
_MOST_CELLS = 1e7
_MOST_CELLS_IN_ALL = 2e8
# Different values of a statistic among the first draws that make its tail a curve.
_MANY_VALUES = 100
# How far below the level, in ln p, drawing is hopeless.
_HOPELESS = 8.0
_SLACK = 1e-9
_LEAST_SKEWNESS = 1e-3


@dataclass(frozen=True)
class MonteCarlo:
    """Draws p-values that are to be compared with a level."""

    level: float
    seed: int = 0
    threads: int = 1
    spent: list[float] = field(default_factory=lambda: [0.0])
    """Cells drawn so far."""

    def log_p(
        self, name: str, draw: Draw, observed: float, size: int, *, of_g: bool = True
    ) -> tuple[float, str]:
        """Return ln p of an upper tail, and how it was had.

        The random numbers depend on the seed and on `name` alone; `size` is the number of cells
        that a replicate draws; `of_g` is false for a statistic that is not G.
        """
        key = _key(self.seed, name)
        most = max(_FIRST_STAGE, math.ceil(_RESOLUTION / self.level))
        threshold = observed - _SLACK
        drawn, reaching = 0, 0
        values = np.empty(0)
        # Most p-values are large, which a few replicates show.
        stage, informative = _CHUNK, min(_FIRST_STAGE, max(_CHUNK, int(_MOST_CELLS / size)))
        while True:
            values = np.concatenate([values, self._draw(draw, key, drawn, stage)])
            reaching += int(np.count_nonzero(values[drawn:] >= threshold))
            self.spent[0] += (stage - drawn) * size
            drawn = stage
            if reaching >= _ENOUGH or drawn == most:
                return math.log((1 + reaching) / (1 + drawn)), MONTE_CARLO
            stage = min(most, _GROWTH * drawn)
            too_few = drawn < informative
            if too_few or len(np.unique(values[:_FIRST_STAGE])) < _MANY_VALUES:
                continue
            tail = log_tail(values, observed)
            if of_g:
                tail = max(tail, log_chi2_tail(observed, float(values.mean())))
            too_long = (
                stage * size > _MOST_CELLS or self.spent[0] + stage * size > _MOST_CELLS_IN_ALL
            )
            if tail < math.log(self.level) - _HOPELESS or too_long:
                return tail, TAIL_OF_DRAWS

    def _draw(self, draw: Draw, key: tuple[int, int], first: int, last: int) -> NDArray[np.float64]:
        starts = range(first, last, _CHUNK)

        def chunk(start: int) -> NDArray[np.float64]:
            return draw(key, start, min(start + _CHUNK, last))

        if self.threads == 1 or len(starts) == 1:
            return np.concatenate([chunk(start) for start in starts])
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self.threads) as pool:
            return np.concatenate(list(pool.map(chunk, starts)))


def _key(seed: int, name: str) -> tuple[int, int]:
    digest = hashlib.sha256(f"{seed}\0{name}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")


def log_tail(values: NDArray[np.float64], observed: float) -> float:
    """ln P(T ≥ observed) of the gamma distribution with the moments of the values."""
    mean, deviation = float(values.mean()), float(values.std())
    if observed <= mean:
        return math.log(0.5)
    if deviation <= _SLACK:
        return -math.inf if observed > mean + _SLACK else 0.0
    skewness = float(np.mean(((values - mean) / deviation) ** 3))
    return log_skewed_tail((observed - mean) / deviation, skewness)


def log_skewed_tail(z: float, skewness: float) -> float:
    """ln P(Z ≥ z) of a standardised variable with some positive skewness; normal without any."""
    if skewness < _LEAST_SKEWNESS:
        return log_normal_tail(z)
    df = 8 / skewness**2
    return log_chi2_tail(df + z * math.sqrt(2 * df), df)


def log_normal_tail(z: float) -> float:
    """ln P(Z ≥ z) of a standard normal variable."""
    half = log_chi2_tail(z * z, 1.0) + math.log(0.5)
    return half if z >= 0 else math.log1p(-math.exp(half))


def log_chi2_tail(x: float, df: float) -> float:
    """ln of the upper tail of the χ² distribution."""
    if x <= 0:
        return 0.0
    statistic, freedom = np.array([x], dtype=np.float64), np.array([df], dtype=np.float64)
    return float(kernel.active().log_chi2_upper(statistic, freedom)[0])


def log_noncentral_tail(x: float, df: float, noncentrality: float) -> float:
    """ln of the upper tail of the noncentral χ² distribution, a Poisson mixture of central ones.

    Examples
    --------
    >>> round(math.exp(log_noncentral_tail(10.0, 3.0, 4.0)), 6)
    0.224078
    """
    half = noncentrality / 2
    if half == 0:
        return log_chi2_tail(x, df)
    if half > 1e5:
        return log_normal_tail((x - df - noncentrality) / math.sqrt(2 * df + 4 * noncentrality))
    reach = 12 * math.sqrt(half) + 40
    terms = np.arange(max(0, math.floor(half - reach)), math.ceil(half + reach))
    # Ratios of successive weights, which sum to 1: the logarithms of large factorials would cancel.
    log_weight = np.concatenate([[0.0], np.cumsum(np.log(half / terms[1:]))])
    log_weight -= log_weight.max()
    log_weight -= math.log(math.fsum(np.exp(log_weight).tolist()))
    tails = kernel.active().log_chi2_upper(np.full(len(terms), max(x, 0.0)), df + 2.0 * terms)
    return log_sum(log_weight + tails)


def log_sum(logs: NDArray[np.float64] | Sequence[float]) -> float:
    """ln Σ exp, at most 0 as that of probabilities."""
    largest = float(np.max(logs))
    if not math.isfinite(largest):
        return largest
    return min(0.0, largest + math.log(math.fsum(np.exp(np.asarray(logs) - largest).tolist())))
