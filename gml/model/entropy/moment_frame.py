"""Moments in a variable of the size of 1, and whether a distribution has them.

Moments exist where the Hankel matrices of them, and of them times what is positive on the support,
are positive semidefinite (Shohat & Tamarkin 1943; the criteria of Hamburger, Stieltjes and
Hausdorff). Where one is singular, only distributions on a few points have them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.errors import CannotAnswer, DataError
from gml.model.entropy.constraints import NumericMoments

Vector = NDArray[np.float64]

_SMALLEST, _LARGEST = 1e-20, 1e20
_SINGULAR = 1e-13
_NEAR, _NEAREST = 1 / 16, 1e-20
# The largest rounding of raw moments that may show in those about the mean.
_LOST = 1e-11


class Frame(NamedTuple):
    """The problem in u = (x − centre) / scale."""

    centre: float
    scale: float
    low: float
    high: float
    moments: dict[int, float]


def framed(given: NumericMoments, title: str) -> Frame:
    """Return the problem in numbers of the size of 1; refuse those whose powers are no doubles."""
    try:
        frame = _frame(given)
    except OverflowError:
        frame = None
    numbers = [] if frame is None else [frame.centre, *frame.moments.values()]
    if (
        frame is None
        or not _SMALLEST <= frame.scale <= _LARGEST
        or not all(abs(number) <= _LARGEST for number in numbers)
    ):
        raise CannotAnswer(
            f"{title}: powers of numbers of this size are beyond doubles; choose another unit"
        )
    return frame


def _frame(given: NumericMoments) -> Frame:
    """Choose u so that its numbers are of the size of 1."""
    low, high = given.support
    powers = sorted(given.moments)
    is_complete = powers == list(range(1, len(powers) + 1))
    raw = given.moments
    if not is_complete:
        # Powers that are missing would come back with a shift.
        centre = 0.0
        is_interval = math.isfinite(low) and math.isfinite(high)
        # Where x has both signs, odd moments do not say how large it is.
        says = [k for k in raw if not is_interval or k % 2 == 0 or low >= 0 or high <= 0]
        scale = max(
            (abs(raw[k]) ** (1 / k) for k in says if raw[k]),
            default=max(abs(low), abs(high)) if is_interval else 1.0,
        )
    elif math.isinf(low) or _has_deviation(given):
        # In any other frame the second moment of a narrow density loses its digits.
        centre = raw[1]
        scale = math.sqrt(max(_variance(given), 0.0))
    elif math.isfinite(high) and _is_next_to_an_end(given):
        # There the density is exponential, and as wide as the mean is far from the end.
        centre = low if raw[1] - low <= high - raw[1] else high
        scale = abs(raw[1] - centre)
    elif math.isfinite(high):
        centre, scale = low + (high - low) / 2, (high - low) / 2
    else:
        centre, scale = low, raw[1] - low
    if not scale > 0:
        scale = 1.0
    ends = ((low - centre) / scale, (high - centre) / scale)
    if is_complete:
        moments = _shifted(given, centre, scale)
    else:
        moments = {k: m / scale**k for k, m in raw.items()}
    return Frame(centre, scale, *ends, moments)


def _is_next_to_an_end(given: NumericMoments) -> bool:
    """Whether a mean, which is all that is known, is near an end of an interval."""
    low, high = given.support
    if list(given.moments) != [1]:
        return False
    mean = given.moments[1]
    return _NEAREST < min(mean - low, high - mean) / (high - low) < _NEAR


def _has_deviation(given: NumericMoments) -> bool:
    """Whether the standard deviation is known, and higher moments about the mean have digits."""
    if 2 not in given.moments or not _variance(given) > 0:
        return False
    highest = max(given.moments)
    if highest == 2 and given.variance is not None:
        return True
    deviations = abs(given.moments[1]) / math.sqrt(_variance(given))
    return bool(np.finfo(float).eps * max(1.0, deviations) ** highest <= _LOST)


def _variance(given: NumericMoments) -> float:
    if given.variance is not None:
        return given.variance
    return given.moments[2] - given.moments[1] ** 2


def _shifted(given: NumericMoments, centre: float, scale: float) -> dict[int, float]:
    """Return E uᵏ; the variance, where it was given, keeps its digits."""
    raw = {0: 1.0, **given.moments}
    found = {}
    for k in given.moments:
        if k == 2 and given.variance is not None:
            found[2] = (given.variance + (raw[1] - centre) ** 2) / scale**2
            continue
        found[k] = (
            math.fsum(math.comb(k, j) * raw[j] * (-centre) ** (k - j) for j in range(k + 1))
            / scale**k
        )
    return found


def require_moments(given: NumericMoments, frame: Frame, title: str, *, where: str) -> None:
    """Refuse moments that no distribution has, or only one on a few points."""
    powers = sorted(frame.moments)
    if powers != list(range(1, len(powers) + 1)):
        for k, value in frame.moments.items():
            if k % 2 == 0 and value <= 0:
                raise DataError(f"{title}: E x^{k} of a density is positive, not {_raw(given, k)}")
        return
    least = [min(map(_least_eigenvalue, _hankel_matrices(frame, top))) for top in powers]
    # The first that does not go with those below it is the last that has to be named.
    if bad := [top for top, value in zip(powers, least, strict=True) if value < -_SINGULAR]:
        said = moments_in_words(given, powers[: bad[0]])
        raise DataError(f"{title}: no distribution {where} has {said}{_limit(given, bad[0])}")
    if few := [top for top, value in zip(powers, least, strict=True) if value <= _SINGULAR]:
        raise CannotAnswer(
            f"{title}: only a distribution on a few points {where} has "
            f"{moments_in_words(given, powers[: few[0]])}, and it has no density"
        )


def moments_in_words(given: NumericMoments, powers: Iterable[int]) -> str:
    """Return what moments are, as they were given.

    Examples
    --------
    >>> moments_in_words(NumericMoments("x", (0.0, 1.0), {1: 0.5, 2: 0.55}, variance=0.3), [1, 2])
    'the mean 0.5 and the variance 0.3'
    """
    said = []
    for k in powers:
        if k == 1:
            said.append(f"the mean {given.moments[1]:g}")
        elif k == 2 and given.variance is not None:
            said.append(f"the variance {given.variance:g}")
        else:
            said.append(f"E x^{k} = {_raw(given, k)}")
    *first, last = said
    return f"{', '.join(first)} and {last}" if first else last


def _raw(given: NumericMoments, power: int) -> str:
    return f"{given.moments[power]:g}"


def _limit(given: NumericMoments, top: int) -> str:
    """Say what would do, where that is simple."""
    low, high = given.support
    if top == 1:
        return ": a mean lies within the support"
    if top > 2:
        return ""
    mean = given.moments[1]
    most = (high - mean) * (mean - low)
    if not given.moments[2] > mean * mean:
        return f": E x^2 is above the square of the mean, {mean * mean:g}"
    if given.variance is not None:
        return f": with this mean the variance is below {most:g}"
    return f": with this mean E x^2 is below {most + mean * mean:g}"


def _least_eigenvalue(matrix: Vector) -> float:
    size = np.sqrt(np.maximum(np.abs(np.diag(matrix)), np.finfo(float).tiny))
    return float(np.linalg.eigvalsh(matrix / np.outer(size, size)).min())


def _hankel_matrices(frame: Frame, top: int) -> list[Vector]:
    """The matrices of the moments up to one of them."""
    m = {0: 1.0, **frame.moments}
    low, high = frame.low, frame.high

    def hankel(weights: Mapping[int, float], size: int) -> Vector:
        """Of the moments of a polynomial with these coefficients times the distribution."""
        found = np.zeros((size, size))
        for i in range(size):
            for j in range(size):
                found[i, j] = math.fsum(w * m[i + j + d] for d, w in weights.items())
        return found

    if math.isinf(low) and math.isinf(high):
        return [hankel({0: 1.0}, top // 2 + 1)]
    if math.isinf(high):
        return [hankel({0: 1.0}, top // 2 + 1), hankel({1: 1.0, 0: -low}, (top + 1) // 2)]
    if top % 2 == 0:
        ends = {2: -1.0, 1: low + high, 0: -low * high}
        return [hankel({0: 1.0}, top // 2 + 1), *([hankel(ends, top // 2)] if top else [])]
    size = (top + 1) // 2
    return [hankel({1: 1.0, 0: -low}, size), hankel({1: -1.0, 0: high}, size)]
