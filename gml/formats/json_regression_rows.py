"""What a regression keeps of its rows, in model JSON: "rows" of the "gaussian" of a node.

    {"means": […], "sds": […], "correlations": [[…], …], "meat": [[…], …], "fourth": 2.9,
     "cuts": […], "counts": […], "error_cuts": […], "error_counts": […],
     "fit": {"mean": -1.4, "covariance": 0.5}}

`gml.model.regression_rows` says what they mean; "fit" is there where all nodes have the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from gml.errors import GraphError
from gml.model.regression_rows import FitShare, RegressionRows

_MOST_ROWS = 2**53
_ROUNDING = 1e-6


def rows_object(rows: RegressionRows, order: Sequence[int]) -> dict[str, Any]:
    """Return the JSON object, the parents in the order given."""
    turned = rows.in_order(order)
    found: dict[str, Any] = {
        "means": list(turned.means),
        "sds": list(turned.sds),
        "correlations": [list(row) for row in turned.correlations],
        "meat": [list(row) for row in turned.meat],
        "fourth": turned.fourth,
        "cuts": list(turned.cuts),
        "counts": list(turned.counts),
    }
    if turned.error_cuts:
        found["error_cuts"] = list(turned.error_cuts)
        found["error_counts"] = list(turned.error_counts)
    if turned.fit is not None:
        found["fit"] = {"mean": turned.fit.mean, "covariance": turned.fit.covariance}
    return found


def rows_of(given: Any, n_parents: int, what: str) -> RegressionRows:
    """Read the object of a regression with so many parents."""
    if not isinstance(given, dict):
        raise GraphError(f'"rows" of {what} is not an object')
    size = n_parents + 1

    def numbers(value: Any, name: str, length: int | None) -> tuple[float, ...]:
        if not isinstance(value, list) or (length is not None and len(value) != length):
            raise GraphError(f'"{name}" of the rows of {what} is not a list of {length} numbers')
        return tuple(_number(item, name, what) for item in value)

    def square(name: str) -> tuple[tuple[float, ...], ...]:
        value = given.get(name)
        if not isinstance(value, list) or len(value) != size:
            raise GraphError(f'"{name}" of the rows of {what} is not {size} x {size}')
        return tuple(numbers(row, name, size) for row in value)

    def counts(name: str, cuts: tuple[float, ...]) -> tuple[int, ...]:
        return tuple(_count(item, what) for item in numbers(given.get(name), name, len(cuts) + 1))

    cuts = numbers(given.get("cuts"), "cuts", None)
    error_cuts = numbers(given.get("error_cuts", []), "error_cuts", None)
    sds = numbers(given.get("sds"), "sds", size)
    rising = all(low < high for found in (cuts, error_cuts) for low, high in pairwise(found))
    if not rising or min(sds) <= 0:
        raise GraphError(f"the rows of {what} have cuts that do not rise, or no spread")
    correlations, meat = square("correlations"), square("meat")
    fourth = _number(given.get("fourth"), "fourth", what)
    if not (_are_moments(correlations, meat) and fourth >= 0):
        raise GraphError(f"the rows of {what} have moments that no rows can have")
    found = counts("counts", cuts)
    if not sum(found):
        raise GraphError(f'"counts" of the rows of {what} count no row')
    return RegressionRows(
        numbers(given.get("means"), "means", size),
        sds,
        correlations,
        meat,
        fourth,
        cuts,
        found,
        error_cuts,
        counts("error_counts", error_cuts) if error_cuts else (),
        None if given.get("fit") is None else _fit(given["fit"], what),
    )


def _are_moments(correlations: Sequence[Sequence[float]], meat: Sequence[Sequence[float]]) -> bool:
    """Whether matrices are symmetric, one with 1 on its diagonal and the other with no less than 0.

    Rounding aside.
    """
    size = len(correlations)
    return all(
        abs(correlations[i][j]) <= 1 + _ROUNDING
        and math.isclose(correlations[i][j], correlations[j][i], abs_tol=_ROUNDING)
        and math.isclose(meat[i][j], meat[j][i], rel_tol=1e-6, abs_tol=_ROUNDING)
        for i in range(size)
        for j in range(size)
    ) and all(
        math.isclose(correlations[i][i], 1.0, abs_tol=1e-6) and meat[i][i] >= 0 for i in range(size)
    )


def _fit(given: Any, what: str) -> FitShare:
    if not isinstance(given, dict):
        raise GraphError(f'"fit" of the rows of {what} is not an object')
    return FitShare(
        _number(given.get("mean"), "mean", what),
        _number(given.get("covariance"), "covariance", what),
    )


def _number(value: Any, name: str, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise GraphError(f'"{name}" of the rows of {what} has something that is not a number')
    try:
        return float(value)
    except OverflowError:
        raise GraphError(f'"{name}" of the rows of {what} has a number too large') from None


def _count(value: float, what: str) -> int:
    if not 0 <= value < _MOST_ROWS or value != int(value):
        raise GraphError(f'"counts" of the rows of {what} has a number that is not a count')
    return int(value)
