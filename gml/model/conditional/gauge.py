"""The weights of a field in the sum-to-zero gauge, for people.

One-hot weights of the same field are not unique: what only depends on x cancels in p(y | x), and
what only depends on one target may be part of its bias or of any table that it is in. In this gauge
every table adds up to 0 along each of its axes, the rest is in the biases, and those add up to 0;
weights of numeric inputs add up to 0 over the levels of the target.
The weights that a file holds, and that were penalised, are the one-hot ones.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gml.model.conditional.terms import FieldTerms, Scope, Table


def in_sum_to_zero_gauge(terms: FieldTerms, tables: Mapping[Scope, Table]) -> dict[Scope, Table]:
    """Return the weights of the same field in the sum-to-zero gauge.

    Examples
    --------
    >>> from gml.data.dataset import Variable
    >>> y, x = (Variable(name, ("n", "y")) for name in "yx")
    >>> tables = {("y",): np.zeros(2), ("y", "x"): np.array([[0.0, 0.0], [0.0, 2.0]])}
    >>> found = in_sum_to_zero_gauge(FieldTerms.complete([y], [x]), tables)
    >>> found["y",].tolist(), found["y", "x"].tolist()
    ([-0.5, 0.5], [[0.5, -0.5], [-0.5, 0.5]])
    """
    targets = {target.name for target in terms.targets}
    found = {scope: np.array(table) for scope, table in tables.items()}
    for scope in terms.scopes:
        if len(scope) < 2:
            continue
        table = found[scope]
        if scope[1] in terms.scales:
            found[scope] = table - table.mean(axis=0)
            continue
        first = table.mean(axis=1, keepdims=True)
        second = table.mean(axis=0, keepdims=True)
        found[scope[:1]] += first[:, 0]
        if scope[1] in targets:
            found[scope[1:]] += second[0]
        found[scope] = table - first - second + table.mean()
    for target in terms.targets:
        found[target.name,] -= found[target.name,].mean()
    return found
