"""Numbers to intervals.

k cut points make the k + 1 levels `[-inf,c1)`, `[c1,c2)`, …, `[ck,inf)`, so that every number has a
level, in this file and in the next. Quantile cuts are data values: quantile i of K, i < K, is the
smallest value v with #{rows ≤ v} > i·n/K, so that quantile 0 is the smallest value, below which
nothing need be cut. A value on which two or more quantiles fall is a mass point: it is cut off from
the next value seen too, and so has an interval of its own. As a mass point spares a quantile for
that, there are never more than K intervals; there are fewer where three quantiles fall on one
value, or two on the largest. Width cuts divide the range evenly. Both respect weights and ignore
row order. Where other columns have a say, `gml.data.chosen_cuts` finds the cut points.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import MAX_LEVELS
from gml.data.levels import NA_LEVEL
from gml.errors import UsageError
from gml.kernel.number import number_of

MDLP, HARTEMINK = BY_OTHERS = ("mdlp", "hartemink")
"""How other columns say where to cut: a class, or all of them."""
METHODS = ("quantile", "width", *BY_OTHERS)
"""How it is found where to cut."""
_COUNTED = ("quantile", "width")

_NUMBER = r"-?(?:inf|\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_INTERVAL = re.compile(rf"\[({_NUMBER}),({_NUMBER})\)")


@dataclass(frozen=True)
class Binning:
    """How to cut one column: into `bins` by quantile or width, or at given cuts.

    Cuts are given, or were found by what a column says of others.
    """

    method: str
    bins: int = 0
    cuts: tuple[float, ...] = ()

    def cut_points(
        self, values: NDArray[np.float64], counts: NDArray[np.int64]
    ) -> tuple[float, ...]:
        """Return the cut points for distinct sorted values with their counts."""
        if self.method not in _COUNTED:
            return self.cuts
        if len(values) == 0:
            return ()
        if self.method == "width":
            low, high = float(values[0]), float(values[-1])
            shares = [i / self.bins for i in range(1, self.bins)]
            edges = [low * (1 - share) + high * share for share in shares]
            return tuple(sorted({edge for edge in edges if low < edge <= high}))
        return self._quantile_cuts(values, counts)

    def _quantile_cuts(
        self, values: NDArray[np.float64], counts: NDArray[np.int64]
    ) -> tuple[float, ...]:
        below = np.cumsum(counts)
        n = int(below[-1])
        ranks = [i * n // self.bins for i in range(self.bins)]
        places, times = np.unique(np.searchsorted(below, ranks, "right"), return_counts=True)
        starts = {*places.tolist(), *(places[times > 1] + 1).tolist()}
        return tuple(float(values[k]) for k in sorted(starts) if 0 < k < len(values))


def parse_binning(text: str) -> Binning:
    """Read `quantile:5`, `width:4`, `mdlp` or `0,10,20`."""
    if text == MDLP:
        return Binning(MDLP)
    method, colon, number = text.partition(":")
    try:
        if colon:
            bins = int(number)
            if method not in _COUNTED or not 2 <= bins <= MAX_LEVELS:
                raise ValueError
            return Binning(method, bins)
        cuts = tuple(float(cut) for cut in text.split(","))
    except ValueError:
        raise UsageError(
            f"{text!r} is not a way to cut: write quantile:5, width:4, mdlp or cut points that "
            "increase, as in 0,10,20"
        ) from None
    if any(not low < high for low, high in itertools.pairwise(cuts)) or not all(np.isfinite(cuts)):
        raise UsageError(f"the cut points {text!r} are not strictly increasing")
    return Binning("cuts", cuts=cuts)


def interval_levels(cuts: Sequence[float]) -> tuple[str, ...]:
    """Name the intervals between cut points.

    Examples
    --------
    >>> interval_levels([0, 2.5])
    ('[-inf,0)', '[0,2.5)', '[2.5,inf)')
    """
    edges = ["-inf", *(_shortest(cut) for cut in cuts), "inf"]
    return tuple(f"[{low},{high})" for low, high in itertools.pairwise(edges))


def cuts_of_levels(levels: Sequence[str]) -> tuple[float, ...] | None:
    """Return the cut points of levels that are intervals (beside NA); None if they are not.

    Examples
    --------
    >>> cuts_of_levels(["[-inf,0)", "[0,2.5)", "[2.5,inf)"]), cuts_of_levels(["no", "yes"])
    ((0.0, 2.5), None)
    """
    edges: set[float] = set()
    labels = [level for level in levels if level != NA_LEVEL]
    for level in labels:
        match = _INTERVAL.fullmatch(level)
        if match is None:
            return None
        edges.update(map(float, match.groups()))
    cuts = tuple(sorted(edge for edge in edges if np.isfinite(edge)))
    return cuts if labels and set(labels) <= set(interval_levels(cuts)) else None


class Intervals:
    """Levels that are intervals, for looking up texts and numbers.

    Examples
    --------
    >>> intervals = Intervals(["[-inf,0)", "[0,2.5)", "[2.5,inf)"])
    >>> [intervals.code_of(text) for text in ("[0,2.5)", "1", "-7.5", "x")]
    [1, 1, 0, None]
    >>> [Intervals(["[-inf,0)", "[2.5,inf)"]).name_of(text) for text in ("7", "1", "x")]
    ['[2.5,inf)', '[0,2.5)', None]
    """

    def __init__(self, levels: Sequence[str]) -> None:
        cuts = cuts_of_levels(levels)
        assert cuts is not None
        self.cuts = np.array(cuts, dtype=np.float64)
        self._codes = {level: code for code, level in enumerate(levels)}
        self.names = interval_levels(cuts)
        """All intervals between the cuts; one that no row had may not be among the levels."""

    def places_of(self, numbers: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return, for each number, which of the intervals it lies in."""
        return np.searchsorted(self.cuts, numbers, side="right")

    def name_of(self, text: str, decimal: str = ".") -> str | None:
        """Return the interval that a text names, or that it lies in as a number."""
        if text in self._codes:
            return text
        number = number_of(text, decimal)
        return None if number is None else self.names[bisect.bisect_right(self.cuts, number)]

    def code_of(self, text: str, decimal: str = ".") -> int | None:
        """Return the code of that interval, if it is among the levels."""
        name = self.name_of(text, decimal)
        return None if name is None else self._codes.get(name)


def _shortest(number: float) -> str:
    text = repr(float(number))
    return text[:-2] if text.endswith(".0") else text
