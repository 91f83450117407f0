"""What a regression keeps of its rows, in model JSON: "rows" of the "gaussian" of a node.

    {"means": […], "sds": […], "correlations": [[…], …], "meat": [[…], …], "fourth": 2.9,
     "cuts": […], "counts": […], "error_cuts": […], "error_counts": […],
     "fit": {"mean": -1.4, "covariance": 0.5}}

`gml.model.regression_rows` says what they mean; "fit" is there where all nodes have the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from gml.errors import GraphError
from gml.model.regression_rows import FitShare, RegressionRows

_MOST_ROWS = 2**53


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
    return RegressionRows(
        numbers(given.get("means"), "means", size),
        sds,
        square("correlations"),
        square("meat"),
        _number(given.get("fourth"), "fourth", what),
        cuts,
        counts("counts", cuts),
        error_cuts,
        counts("error_counts", error_cuts) if error_cuts else (),
        None if given.get("fit") is None else _fit(given["fit"], what),
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
    return float(value)


def _count(value: float, what: str) -> int:
    if not 0 <= value < _MOST_ROWS or value != int(value):
        raise GraphError(f'"counts" of the rows of {what} has a number that is not a count')
    return int(value)
