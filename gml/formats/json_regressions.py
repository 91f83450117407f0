"""Nodes of numbers in model JSON: one regression, or one per configuration of the labels.

"gaussian" is {"intercept", "coefficients", "sd"} and, where known, "n", "intervals" and "rows", and
"expected_n" where values were missing, with "available", such an object for the rows that have all
values. A node that has parents with levels has "regressions" instead, a list of such objects in the
order of the configurations of these parents, the last fastest; "coefficients" belong to the other
parents, in order. In a list where some have "n", one without it stands for a configuration never
seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gml.data.dataset import Variable
from gml.errors import GraphError, quote
from gml.formats.assembly import TableRoom
from gml.formats.foreign_nodes import NUMBER_KEYS
from gml.formats.json_numbers import bounds_array, finite
from gml.formats.json_regression_rows import rows_object, rows_of
from gml.model.configurations import described_row, turned_rows
from gml.model.regressions import ConditionalGaussian, LinearGaussian, NumberCpd


def node_order(parents: Sequence[Variable], position: Mapping[str, int]) -> list[int]:
    """Return the positions of parents in the order of the nodes of a file."""
    return sorted(range(len(parents)), key=lambda i: position[parents[i].name])


# ---------------------------------------------------------------------- writing


def regression_node(cpd: NumberCpd, position: Mapping[str, int]) -> dict[str, Any]:
    """Return the node of a file, whose nodes have these positions."""
    order = node_order(cpd.parents, position)
    node = {"id": cpd.variable.name, "parents": [cpd.parents[i].name for i in order]}
    if isinstance(cpd, LinearGaussian):
        return node | {"gaussian": _regression_object(cpd, order)}
    inner = node_order(cpd.number_parents, position)
    turned = turned_rows(cpd.label_parents, node_order(cpd.label_parents, position))
    return node | {"regressions": [_regression_object(cpd.regressions[k], inner) for k in turned]}


def _regression_object(line: LinearGaussian, order: Sequence[int]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "intercept": line.intercept,
        "coefficients": [line.coefficients[i] for i in order],
        "sd": line.sd,
    }
    if line.n is not None:
        found["n"] = line.n
    if line.expected_n is not None:
        found["expected_n"] = line.expected_n
    if line.intervals is not None:
        first, *middle, last = line.intervals
        bounds = [first, *(middle[i] for i in order), last]
        found["intervals"] = finite([list(pair) for pair in bounds])
    if line.rows is not None:
        found["rows"] = rows_object(line.rows, order)
    if line.available is not None:
        found["available"] = _regression_object(line.available, order)
    return found


# ---------------------------------------------------------------------- reading


def regression_of(
    variable: Variable, parents: tuple[Variable, ...], node: Mapping[str, Any], room: TableRoom
) -> NumberCpd:
    """Read the distribution of a node of numbers."""
    what = f"the regression of {quote(variable.name)}"
    if len(NUMBER_KEYS & node.keys()) > 1:
        raise GraphError(f'node {quote(variable.name)} has "gaussian" and "regressions" too')
    labels = tuple(parent for parent in parents if not parent.is_continuous)
    if "gaussian" in node:
        if labels:
            raise GraphError(
                f"node {quote(variable.name)} has the parent {quote(labels[0].name)}, which has "
                'levels, and so needs "regressions", one per configuration'
            )
        return _regression(variable, parents, node["gaussian"], what)
    given = node["regressions"]
    if not isinstance(given, list):
        raise GraphError(f'"regressions" of {quote(variable.name)} is not a list')
    if not labels:
        raise GraphError(
            f'node {quote(variable.name)} has "regressions" but no parent with levels: one '
            'regression is "gaussian"'
        )
    n_rows, _ = room.shape(variable, labels)
    if len(given) != n_rows:
        raise GraphError(
            f'"regressions" of {quote(variable.name)} are {len(given)}, not {n_rows}: one per '
            "configuration of its parents with levels"
        )
    numbers = tuple(parent for parent in parents if parent.is_continuous)
    lines = tuple(
        _regression(variable, numbers, one, what + described_row(labels, row))
        for row, one in enumerate(given)
    )
    return ConditionalGaussian(variable, parents, lines)


def _regression(
    variable: Variable, parents: tuple[Variable, ...], given: Any, what: str
) -> LinearGaussian:
    if not isinstance(given, dict):
        raise GraphError(f"{what} is not an object")
    terms = [given.get("intercept"), given.get("sd"), given.get("n", 0)]
    terms.append(given.get("expected_n", 0))
    coefficients = given.get("coefficients")
    if not isinstance(coefficients, list):
        raise GraphError(f'{what} has no list of "coefficients"')
    for number in (*terms, *coefficients):
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise GraphError(f"{what} lacks a number")
    if not 0 <= terms[-1] < math.inf:
        raise GraphError(f"{what} is expected of {terms[-1]} rows")
    intervals = given.get("intervals")
    bounds = (
        None
        if intervals is None
        else tuple(
            (float(low), float(high))
            for low, high in bounds_array(intervals, (len(parents) + 2, 2), variable.name)
        )
    )
    try:
        return LinearGaussian(
            variable,
            parents,
            float(terms[0]),
            tuple(map(float, coefficients)),
            float(terms[1]),
            given.get("n"),
            bounds,
            None if given.get("rows") is None else rows_of(given["rows"], len(parents), what),
            None if given.get("expected_n") is None else float(given["expected_n"]),
            _available(variable, parents, given, what),
        )
    except OverflowError:
        raise GraphError(f"{what} has a number that is too large") from None


def _available(
    variable: Variable, parents: tuple[Variable, ...], given: Mapping[str, Any], what: str
) -> LinearGaussian | None:
    """The regression of the rows that have all values, where one is beside that of all rows."""
    own = given.get("available")
    if own is None:
        return None
    if isinstance(own, dict) and "available" in own:
        raise GraphError(f'{what} has "available" within "available"')
    return _regression(variable, parents, own, f"{what}, where available,")
