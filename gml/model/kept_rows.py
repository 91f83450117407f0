"""Give the regressions of a fitted model what they keep of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gml.counts.counter import Counter
from gml.data.dataset import Dataset
from gml.model.regression_rows import (
    FitShare,
    FittedRows,
    RegressionRows,
    Vector,
    errors_under,
    fitted_rows,
    order_of_rows,
    regression_rows,
)
from gml.model.regressions import LinearGaussian
from gml.name_order import NameOrder

# Rows that count several times are written out as far as this.
_MOST_REPEATED = 1 << 24


def with_rows(cpds: Sequence[LinearGaussian], counter: Counter) -> tuple[LinearGaussian, ...]:
    """Return the regressions with what they keep; nothing where rows count in part, or are few.

    Where rows lack values that some node needs, the nodes have different rows, and no share in a
    common fit.
    """
    rows = counter.rows()
    if rows is None or counter.unit != 1 or rows.n > max(rows.n_rows, _MOST_REPEATED):
        return tuple(cpds)
    columns = _columns([cpd.variable.name for cpd in cpds], rows)
    order = order_of_rows(columns)
    columns = {name: column[order] for name, column in columns.items()}
    complete = not any(np.isnan(column).any() for column in columns.values())
    shared = complete and all(map(_has_enough, cpds))
    total = np.zeros(len(order))
    kept: dict[str, RegressionRows] = {}
    densities: dict[str, Vector] = {}
    with np.errstate(all="ignore"):
        for cpd in sorted(filter(_has_enough, cpds), key=lambda cpd: cpd.variable.name):
            parents, child, fitted = _at_rows(cpd, columns, complete)
            slopes = [cpd.coefficients[k] for k in _by_name(cpd)]
            errors = errors_under(cpd.intercept, slopes, cpd.sd, parents, child)
            name = cpd.variable.name
            kept[name] = regression_rows(parents, child, fitted, errors)
            if shared:
                densities[name] = fitted.log_densities()
                total += densities[name]
        if shared:
            total -= np.mean(total)
            kept = {n: replace(kept[n], fit=_share(own, total)) for n, own in densities.items()}
    return tuple(_with_rows(cpd, kept.get(cpd.variable.name)) for cpd in cpds)


def _has_enough(cpd: LinearGaussian) -> bool:
    return (cpd.n or 0) > len(cpd.parents) + 2


def _share(own: Vector, total: Vector) -> FitShare:
    """The part of a node, from its ln densities and those of all nodes less their mean."""
    mean = float(np.mean(own))
    return FitShare(mean, float(np.mean((own - mean) * total)))


def _columns(names: Sequence[str], rows: Dataset) -> dict[str, Vector]:
    """The columns by name; a row that counts several times stands there as often."""
    found = {}
    for name in names:
        column = rows.columns[rows.index(name)]
        found[name] = column if rows.weights is None else np.repeat(column, rows.weights)
    return found


def _by_name(cpd: LinearGaussian) -> list[int]:
    """The positions of the parents, in the order of their names."""
    found: list[int] = NameOrder([parent.name for parent in cpd.parents]).positions.tolist()
    return found


def _at_rows(
    cpd: LinearGaussian, columns: dict[str, Vector], complete: bool
) -> tuple[list[Vector], Vector, FittedRows]:
    """The parents in the order of their names, the variable, and the regression at their rows."""
    order = _by_name(cpd)
    members = [columns[cpd.parents[k].name] for k in order] + [columns[cpd.variable.name]]
    if not complete:
        seen = ~np.logical_or.reduce([np.isnan(column) for column in members])
        members = [column[seen] for column in members]
    slopes = [cpd.coefficients[k] for k in order]
    return members[:-1], members[-1], fitted_rows(members[:-1], members[-1], slopes, cpd.sd)


def _with_rows(cpd: LinearGaussian, kept: RegressionRows | None) -> LinearGaussian:
    if kept is None or not kept.is_finite:
        # Too few rows, or numbers near the ends of what floats can hold.
        return cpd
    # From the order of names to that of the regression.
    return replace(cpd, rows=kept.in_order(NameOrder([p.name for p in cpd.parents]).rank))
