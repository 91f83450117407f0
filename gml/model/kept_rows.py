"""Give the regressions of a fitted model what they keep of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gml.counts.counter import Counter
from gml.data.dataset import Dataset
from gml.model.network import LinearGaussian
from gml.model.regression_rows import (
    FitShare,
    FittedRows,
    Vector,
    errors_under,
    fitted_rows,
    order_of_rows,
    regression_rows,
)
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
    enough = all((cpd.n or 0) > len(cpd.parents) + 2 for cpd in cpds)
    total = None
    if complete and enough:
        by_name = sorted(cpds, key=lambda cpd: cpd.variable.name)
        total = np.zeros(len(order))
        with np.errstate(all="ignore"):
            for cpd in by_name:
                total += _at_rows(cpd, columns)[2].log_densities()
    return tuple(_with_rows(cpd, columns, total) for cpd in cpds)


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
    cpd: LinearGaussian, columns: dict[str, Vector]
) -> tuple[list[Vector], Vector, FittedRows]:
    """The parents in the order of their names, the variable, and the regression at their rows."""
    order = _by_name(cpd)
    members = [columns[cpd.parents[k].name] for k in order] + [columns[cpd.variable.name]]
    seen = ~np.logical_or.reduce([np.isnan(column) for column in members])
    members = [column[seen] for column in members]
    slopes = [cpd.coefficients[k] for k in order]
    return members[:-1], members[-1], fitted_rows(members[:-1], members[-1], slopes, cpd.sd)


def _with_rows(
    cpd: LinearGaussian, columns: dict[str, Vector], total: Vector | None
) -> LinearGaussian:
    if (cpd.n or 0) <= len(cpd.parents) + 2:
        return cpd
    with np.errstate(all="ignore"):
        parents, child, fitted = _at_rows(cpd, columns)
        share = None
        if total is not None:
            own = fitted.log_densities()
            mean = float(np.mean(own))
            share = FitShare(mean, float(np.mean((own - mean) * (total - np.mean(total)))))
        slopes = [cpd.coefficients[k] for k in _by_name(cpd)]
        errors = errors_under(cpd.intercept, slopes, cpd.sd, parents, child)
        kept = regression_rows(parents, child, fitted, errors, share)
    if not kept.is_finite:
        # Numbers near the ends of what floats can hold.
        return cpd
    # From the order of names to that of the regression.
    return replace(cpd, rows=kept.in_order(NameOrder([p.name for p in cpd.parents]).rank))
