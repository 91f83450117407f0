"""Give the regressions of a fitted model what they keep of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.counts.counter import Counter
from gml.data.dataset import Dataset, Variable, missing_mask
from gml.data.row_groups import configurations_at
from gml.errors import CannotAnswer
from gml.model.network import CPT, Cpd
from gml.model.regression_rows import (
    FitShare,
    RegressionRows,
    Vector,
    errors_under,
    fitted_rows,
    order_by_content,
    regression_rows,
)
from gml.model.regressions import LinearGaussian, NumberCpd
from gml.name_order import NameOrder
from gml.progress import reporter
from gml.resources import require_memory

# Rows that count several times are written out as far as this.
_MOST_REPEATED = 1 << 24
# The columns of a regression as they are, scaled, and orthogonalised.
_COPIES_OF_REGRESSION = 3
# Keys and the order of rows; errors, leverages, and sorted columns.
_OTHER_ARRAYS = 8


def with_rows(
    cpds: Sequence[Cpd], counter: Counter, *, is_least_squares: bool = True
) -> tuple[Cpd, ...]:
    """Return the distributions, regressions with what they keep of their rows.

    Nothing is kept where rows count in part, or are few, or where a prior had its say, nor where it
    would take too much memory: the regressions are the same without it, and a larger budget, under
    which rows come into memory at all, must not be refused where a smaller one is not. Where rows
    lack values that some node needs, the nodes have different rows, and no share in a common fit.
    That is over the nodes of numbers; of a regression for one configuration of labels the share is
    an average over its rows.
    """
    numbers = [cpd for cpd in cpds if not isinstance(cpd, CPT)]
    if not (is_least_squares and numbers) or counter.unit != 1:
        return tuple(cpds)
    rows = counter.rows()
    if rows is None:
        if counter.pass_rows:
            reporter().warn(
                "the rows are not in memory, so the model keeps nothing of those of its "
                "regressions, which checks would compare"
            )
        return tuple(cpds)
    if rows.n > max(rows.n_rows, _MOST_REPEATED):
        return tuple(cpds)
    try:
        _require_room(cpds, numbers, rows.n)
    except CannotAnswer as refused:
        reporter().warn(
            f"{refused}; so the model keeps nothing of these, which checks would compare"
        )
        return tuple(cpds)
    parents = [parent for cpd in numbers for parent in cpd.parents]
    used = {variable.name: variable for variable in (*(cpd.variable for cpd in cpds), *parents)}
    columns = _Columns(list(used.values()), rows)
    parts = {cpd.variable.name: _parts(cpd, columns) for cpd in numbers}
    shared = columns.complete and all(
        _has_enough(part.line) for some in parts.values() for part in some
    )
    kept: dict[str, dict[int, RegressionRows]] = {name: {} for name in parts}
    densities: dict[str, Vector] = {}
    with np.errstate(all="ignore"):
        for name in sorted(parts):
            if shared:
                densities[name] = np.zeros(columns.n)
            for part in filter(lambda part: _has_enough(part.line), parts[name]):
                found = _kept_of(part, columns, densities.get(name))
                kept[name][part.place] = found
        if shared:
            total = np.zeros(columns.n)
            for own in densities.values():
                total += own
            total -= np.mean(total)
            for name, own in densities.items():
                away = (own - np.mean(own)) * total
                for part in parts[name]:
                    at = part.rows
                    share = FitShare(float(np.mean(own[at])), float(np.mean(away[at])))
                    kept[name][part.place] = replace(kept[name][part.place], fit=share)
    return tuple(
        cpd if isinstance(cpd, CPT) else _with_rows(cpd, kept[cpd.variable.name]) for cpd in cpds
    )


def _require_room(cpds: Sequence[Cpd], numbers: Sequence[NumberCpd], n_rows: int) -> None:
    """Refuse what would not fit: densities, and one regression at its rows."""
    members = max(1 + len(cpd.number_parents) for cpd in numbers)
    arrays = len(numbers) + _COPIES_OF_REGRESSION * members + _OTHER_ARRAYS
    require_memory(8 * n_rows * arrays, None, "what a model keeps of the rows of its regressions")


class _Part(NamedTuple):
    """A regression, its place among those of its node, and the rows that it is of."""

    line: LinearGaussian
    place: int
    rows: NDArray[np.signedinteger[Any]] | slice


class _Columns:
    """Columns by name, in an order of rows that is their content's; labels as their codes.

    A row that counts several times is repeated. A column is copied when it is asked for.
    """

    def __init__(self, variables: Sequence[Variable], rows: Dataset) -> None:
        self._rows = rows
        self._place: NDArray[np.signedinteger[Any]] | None = None
        if rows.weights is not None:
            self._place = np.repeat(np.arange(rows.n_rows), rows.weights)
        order = order_by_content([variable.name for variable in variables], self.__getitem__)
        self._place = order if self._place is None else self._place[order]
        self.n = len(order)
        self.complete = not any(np.isnan(self[variable.name]).any() for variable in variables)

    def __getitem__(self, name: str) -> Vector:
        j = self._rows.index(name)
        column = self._rows.columns[j]
        if self._place is not None:
            column = column[self._place]
        if self._rows.variables[j].is_continuous:
            return column
        return np.where(missing_mask(column), np.nan, column.astype(np.float64))


def _parts(cpd: NumberCpd, columns: _Columns) -> list[_Part]:
    """The regressions of a node that rows are behind, with these rows, in order."""
    if not cpd.label_parents:
        return [_Part(cpd.regressions[0], 0, slice(None))]
    sizes = [len(parent.levels or ()) for parent in cpd.label_parents]
    codes = [columns[parent.name] for parent in cpd.label_parents]
    at = configurations_at(sizes, codes, len(codes[0]))
    return [
        _Part(line, place, np.flatnonzero(at == place))
        for place, line in enumerate(cpd.regressions)
        if line.n is not None
    ]


def _has_enough(cpd: LinearGaussian) -> bool:
    return (cpd.n or 0) > len(cpd.parents) + 2


def _by_name(cpd: LinearGaussian) -> list[int]:
    """The positions of the parents, in the order of their names."""
    found: list[int] = NameOrder([parent.name for parent in cpd.parents]).positions.tolist()
    return found


def _kept_of(part: _Part, columns: _Columns, densities: Vector | None) -> RegressionRows:
    """What a regression keeps; the ln densities of its rows are written down if they are asked."""
    line = part.line
    # In the order of names.
    order = _by_name(line)
    slopes = [line.coefficients[k] for k in order]
    members = _members([line.parents[k].name for k in order] + [line.variable.name], columns, part)
    parents, child = members[:-1], members[-1]
    fitted = fitted_rows(parents, child, slopes, line.sd)
    if densities is not None:
        densities[part.rows] = fitted.log_densities()
    errors = errors_under(line.intercept, slopes, line.sd, parents, child)
    return regression_rows(parents, child, fitted, errors)


def _members(names: Sequence[str], columns: _Columns, part: _Part) -> list[Vector]:
    """Columns in the rows of a regression that have them all."""
    if columns.complete:
        return [columns[name][part.rows] for name in names]
    seen = ~np.isnan(columns[names[0]][part.rows])
    for name in names[1:]:
        seen &= ~np.isnan(columns[name][part.rows])
    return [columns[name][part.rows][seen] for name in names]


def _with_rows(cpd: NumberCpd, kept: Mapping[int, RegressionRows]) -> NumberCpd:
    lines = [_line_with_rows(line, kept.get(place)) for place, line in enumerate(cpd.regressions)]
    return cpd.with_regressions(lines)


def _line_with_rows(line: LinearGaussian, kept: RegressionRows | None) -> LinearGaussian:
    if kept is None or not kept.is_finite:
        # Too few rows, or numbers near the ends of what floats can hold.
        return line
    # From the order of names to that of the regression.
    return replace(line, rows=kept.in_order(NameOrder([p.name for p in line.parents]).rank))
