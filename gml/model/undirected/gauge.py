"""Between tables of generators and terms in a gauge.

A table over a generator is the sum of terms over its subsets: in the sum-to-zero gauge, λ_c is
found by inclusion and exclusion of averages (the analysis of variance of the table; Agresti 2013,
section 9.1). With coding 01, for two levels each, log p = Σ θ_c ∏ x_i − ln Z with x ∈ {0, 1}: the
terms are zero but where all variables have their second level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gml.errors import UsageError, listing, parameter
from gml.model.undirected.terms import Scope, Terms

SUM_TO_ZERO, ZERO_ONE = "sum-to-zero", "01"
CODINGS = (SUM_TO_ZERO, ZERO_ONE)

Table = NDArray[np.float64]

# What sums of numbers that others have rounded may differ from 0, per size of the largest.
_ROUNDING = 1e-4


def terms_of_tables(terms: Terms, tables: Mapping[Scope, Table]) -> list[Table]:
    """Return the sum-to-zero terms, in the order of `terms.all`, of a sum of tables.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> terms = Terms.of([Variable(name, ("n", "y")) for name in "AB"], [["A", "B"]])
    >>> found = terms_of_tables(terms, {(0, 1): np.array([[1.0, 2.0], [3.0, 8.0]])})
    >>> [table.tolist() for table in found]
    [[-2.0, 2.0], [-1.5, 1.5], [[1.0, -1.0], [-1.0, 1.0]]]
    """
    found = {scope: np.zeros(terms.shape(scope)) for scope in terms.all}
    for scope, table in tables.items():
        parts: list[tuple[Scope, Table]] = [((), table)]
        for axis, k in enumerate(scope):
            split = []
            for subset, part in parts:
                mean = part.mean(axis=axis, keepdims=True)
                split += [(subset, mean), ((*subset, k), part - mean)]
            parts = split
        for subset, part in parts:
            if subset:
                found[subset] += part.reshape(terms.shape(subset))
    return [found[scope] for scope in terms.all]


def tables_of_terms(terms: Terms, tables: Sequence[Table]) -> list[Table]:
    """Return one table per generator whose sum is that of the terms; each is in the first."""
    found = {scope: np.zeros(terms.shape(scope)) for scope in terms.generators}
    for scope, table in zip(terms.all, tables, strict=True):
        home = terms.generator_of(scope)
        shape = [terms.sizes[k] if k in scope else 1 for k in home]
        found[home] += table.reshape(shape)
    return [found[scope] for scope in terms.generators]


def zero_one(terms: Terms, tables: Sequence[Table]) -> list[Table]:
    """Return terms of two levels each in the coding 01.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> terms = Terms.of([Variable(name, ("n", "y")) for name in "AB"], [["A", "B"]])
    >>> plus_minus = np.array([-1.0, 1.0])
    >>> pair = np.outer(plus_minus, plus_minus)
    >>> found = zero_one(terms, [0.1 * plus_minus, 0 * plus_minus, pair])
    >>> [round(float(table.flat[-1]), 12) for table in found]
    [-1.8, -2.0, 4.0]
    """
    require_two_levels(terms)
    coefficients = dict.fromkeys(terms.all, 0.0)
    for scope, table in zip(terms.all, tables, strict=True):
        # x = ±1 is 2·{0, 1} − 1, and the last cell is the coefficient of the product of the x.
        value = float(table[(-1,) * len(scope)])
        for size in range(1, len(scope) + 1):
            for subset in combinations(scope, size):
                coefficients[subset] += value * 2.0**size * (-1.0) ** (len(scope) - size)
    found = []
    for scope in terms.all:
        table = np.zeros(terms.shape(scope))
        table[(-1,) * len(scope)] = coefficients[scope]
        found.append(table)
    return found


def is_in_gauge(table: Table, coding: str) -> bool:
    """Whether a term is in a gauge, up to rounding; zeros beside what is impossible are in any.

    Examples
    --------
    >>> is_in_gauge(np.array([[0.5, -0.5], [-0.5, 0.5]]), SUM_TO_ZERO)
    True
    >>> is_in_gauge(np.array([[0.0, 1.0], [2.0, 3.0]]), SUM_TO_ZERO)
    False
    """
    finite = np.isfinite(table)
    if not finite.all():
        return not table[finite].any()
    size = float(np.abs(table).max(initial=1.0))
    if coding == ZERO_ONE:
        return set(table.shape) <= {2} and not table.reshape(-1)[:-1].any()
    # Divided first, as sums of the largest doubles overflow.
    sums = [np.abs((table / size).sum(axis=axis)) for axis in range(table.ndim)]
    return all(float(found.max()) <= _ROUNDING for found in sums)


def require_two_levels(terms: Terms) -> None:
    """Refuse variables of more or fewer than two levels, which the coding 01 cannot have."""
    others = [v.name for v in terms.variables if len(v.levels or ()) != 2]
    if others:
        raise UsageError(
            f"{parameter('coding', ZERO_ONE)} is for two levels each, which {listing(others)} "
            f"{'does' if len(others) == 1 else 'do'} not have"
        )
