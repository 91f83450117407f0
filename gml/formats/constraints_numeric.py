"""The moments of one numeric variable, as a constraint file has them (see `constraints`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gml.errors import DataError
from gml.formats.constraint_keys import require_keys
from gml.model.entropy.constraints import NumericMoments
from gml.model.entropy.finite_numbers import require_number

_KEYS = ("name", "support", "mean", "variance", "moments")
_HINTS = {
    **dict.fromkeys(("sd", "std", "sigma", "deviation"), 'give its square as the "variance"'),
    **dict.fromkeys(("min", "max", "low", "high"), 'the "support" has both ends, [low, high]'),
}
HIGHEST_MOMENT = 12
"""Higher ones say more about rounding than about a distribution."""


def moments_of(given: Any, where: str) -> NumericMoments:
    """Return the moments of a numeric variable in JSON that was parsed.

    Examples
    --------
    >>> given = {"name": "wait", "support": [0, None], "mean": 2, "variance": 1.5}
    >>> moments_of(given, "here")
    NumericMoments(name='wait', support=(0.0, inf), moments={1: 2.0, 2: 5.5}, variance=1.5)
    """
    if not isinstance(given, Mapping):
        raise DataError(f"{where} must be an object")
    require_keys(given, _KEYS, where, _HINTS)
    name = given.get("name", "x")
    if not isinstance(name, str):
        raise DataError(f'{where}: the "name" must be text, not {name!r}')
    moments = _raw_moments(given, where)
    support = _support(given.get("support", [None, None]), where)
    variance = float(given["variance"]) if "variance" in given else None
    return NumericMoments(name, support, moments, variance)


def _support(given: Any, where: str) -> tuple[float, float]:
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise DataError(f'{where}: the "support" must be a list of its two ends, null for none')
    low, high = (
        infinite if end is None else require_number(end, f'{where}: an end of the "support"')
        for end, infinite in zip(given, (-math.inf, math.inf), strict=True)
    )
    if not low < high:
        raise DataError(f'{where}: the "support" ends at {high:g}, which is not above {low:g}')
    return low, high


def _raw_moments(given: Mapping[str, Any], where: str) -> dict[int, float]:
    further = given.get("moments", {})
    if not isinstance(further, Mapping):
        raise DataError(f'{where}: "moments" must be an object of numbers by power')
    found: dict[int, float] = {}
    for key, value in further.items():
        power = int(key) if str(key).isdecimal() and len(str(key)) < 4 else 0
        if not 1 <= power <= HIGHEST_MOMENT:
            raise DataError(
                f'{where}: a power of "moments" must be a whole number from 1 to '
                f"{HIGHEST_MOMENT}, not {key!r}"
            )
        if power in found:
            raise DataError(f'{where}: "moments" has the power {power} twice')
        found[power] = require_number(value, f"{where}: the moment {power}")
    if "mean" in given:
        mean = require_number(given["mean"], f'{where}: the "mean"')
        _add(found, 1, mean, "mean", where)
    if "variance" in given:
        if 1 not in found:
            raise DataError(f'{where}: a "variance" needs the "mean" beside it')
        variance = require_number(given["variance"], f'{where}: the "variance"')
        if variance < 0:
            raise DataError(f'{where}: the "variance" must not be negative: {variance:g}')
        _add(found, 2, variance + found[1] * found[1], "variance", where)
    return dict(sorted(found.items()))


def _add(found: dict[int, float], power: int, value: float, key: str, where: str) -> None:
    if power in found:
        raise DataError(f'{where}: "{key}" and the moment {power} say the same; give one of them')
    found[power] = value
