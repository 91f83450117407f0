"""Objects of JSON files with known keys, each with values of known types."""

from __future__ import annotations

import math
from typing import Any

from gml.errors import GraphError, unknown_name
from gml.model.conditional.numeric_inputs import Scale


def checked(
    given: Any,
    keys: dict[str, tuple[type, ...]],
    what: str,
    maybe: dict[str, tuple[type, ...]] | None = None,
) -> dict[str, Any]:
    """Return an object with these keys, and maybe others; whatever is wrong with it is named."""
    if not isinstance(given, dict):
        raise GraphError(f"{what} is not an object")
    known = keys | (maybe or {})
    for key, value in given.items():
        if key not in known:
            raise GraphError(f"{what}: {unknown_name('key', key, known)}")
        if type(value) not in known[key]:
            sorts = " | ".join(sort.__name__ for sort in known[key])
            raise GraphError(f'"{key}" of {what} must be {sorts}')
    for key in keys:
        if key not in given:
            raise GraphError(f'{what} has no "{key}"')
    return dict(given)


def scale_of(given: Any, what: str) -> Scale:
    """Return the mean and sd of a numeric input of a conditional field."""
    found = checked(given, dict.fromkeys(Scale._fields, (int, float)), what)
    try:
        scale = Scale(float(found["mean"]), float(found["sd"]))
    except OverflowError:
        raise GraphError(f"{what} has a number that is too large") from None
    if not (math.isfinite(scale.mean) and math.isfinite(scale.sd) and scale.sd > 0):
        raise GraphError(f"{what} must have a finite mean, and an sd above 0")
    return scale
