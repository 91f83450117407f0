"""p-values by drawing, as far as a decision needs them (Besag & Clifford 1991, Biometrika 78:301).

Replicates are drawn in stages until enough of them reach the observed statistic, or until they
could show a p-value well below the level at which a check fails: p = (1 + #{T* ≥ T})/(B + 1). An
early stop never gives a p-value that small, so P(p ≤ level) ≤ level holds exactly. Where the first
thousand replicates (250 of huge tables) show that drawing is hopeless, p being thousands of times
below the level, or where drawing all of them would take too long, the tail of a gamma distribution
with their mean, variance and skewness (Pearson's type III) is used instead; for G it is never below
that of χ² with their mean, since rare cells have tails that few draws do not show. A statistic that
takes few values has no such tail, and is drawn to the end.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gml.gate.tails import log_chi2_tail, log_skewed_tail
from gml.kernel.pool import in_order

Draw = Callable[[tuple[int, int], int, int], NDArray[np.float64]]
"""Statistics of the replicates first..last-1 under a key of two words."""

MONTE_CARLO, TAIL_OF_DRAWS = "monte-carlo", "monte-carlo-tail"

_FIRST_STAGE = 50
_FIRST_LOOK = 1000
_GROWTH = 4
_CHUNK = 250
# If this many reach the statistic, p is above the level, however many more are drawn.
_ENOUGH = 8
# Replicates per one that is expected to reach the statistic if p is at the level.
_RESOLUTION = 8
# The most cells drawn for one p-value (about two seconds), and for all that share a budget.
_MOST_CELLS = 1e7
_MOST_CELLS_IN_ALL = 1e8
# Distinct values of a statistic among the first draws from which its tail counts as a curve.
_MANY_VALUES = 100
# How far below the level, in ln p, drawing is hopeless.
_HOPELESS = 8.0
_SLACK = 1e-9


@dataclass(frozen=True)
class MonteCarlo:
    """Draws p-values that are to be compared with a level.

    `bound` is where no p-value decides any more: at what is above, one need not look closely.
    """

    level: float
    seed: int = 0
    threads: int = 1
    bound: float = 1.0
    spent: list[float] = field(default_factory=lambda: [0.0])
    """Cells drawn so far."""

    def log_p(
        self, name: str, draw: Draw, observed: float, size: int, *, of_g: bool = True
    ) -> tuple[float, str]:
        """Return ln p of an upper tail, and how it was obtained.

        The random numbers depend on the seed and on `name` alone; `size` is the number of cells
        that a replicate draws; `of_g` is false for a statistic that is not G.
        """
        key = _key(self.seed, name)
        most = max(_FIRST_LOOK, math.ceil(_RESOLUTION / self.level))
        threshold = observed - _SLACK
        drawn, reaching = 0, 0
        values = np.empty(0)
        # Most p-values are large, which a few replicates show.
        stage, informative = _FIRST_STAGE, min(_FIRST_LOOK, max(_CHUNK, int(_MOST_CELLS / size)))
        while True:
            values = np.concatenate([values, self._draw(draw, key, drawn, stage)])
            reaching += int(np.count_nonzero(values[drawn:] >= threshold))
            self.spent[0] += (stage - drawn) * size
            drawn = stage
            if reaching >= _ENOUGH or drawn == most:
                return math.log((1 + reaching) / (1 + drawn)), MONTE_CARLO
            stage = min(most, max(_GROWTH * drawn, _CHUNK))
            too_few = drawn < informative
            if too_few or len(set(values[:_FIRST_LOOK].tolist())) < _MANY_VALUES:
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

        return np.concatenate(list(in_order(chunk, starts, self.threads)))


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
