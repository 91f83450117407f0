"""Give the regressions of a fitted model what they keep of their rows.

Rows are gone through in passes, all regressions at once, wherever they are: means; standard
deviations; products of terms; errors at the fit; how densities vary together; and, beside these,
where the deciles of the variable and of the errors are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gml.counts.chunked_rows import chunked_rows
from gml.counts.counter import Counter
from gml.counts.number_rows import NumberReader
from gml.counts.row_sums import NumberTable, Steps, alongside, together
from gml.model.kept.deciles import ErrorsOfNode, VariableOfNode, deciles_of
from gml.model.kept.moments import FittedNode, fitted_node
from gml.model.kept.nodes import Node, has_enough
from gml.model.kept.shares import has_gaps, shares_of
from gml.model.network import CPT, Cpd
from gml.model.regression_rows import FitShare, RegressionRows, Vector
from gml.model.regressions import NumberCpd
from gml.name_order import NameOrder


def with_rows(
    cpds: Sequence[Cpd], counter: Counter, *, is_least_squares: bool = True
) -> tuple[Cpd, ...]:
    """Return the distributions, regressions with what they keep of their rows.

    Nothing is kept where there are no rows, where they count in part or are few, or where a prior
    had its say. Where rows lack values that some node needs, the nodes have different rows, and no
    share in a common fit. That is over the nodes of numbers; of a regression for one configuration
    of labels the share is an average over its rows.
    """
    numbers = [cpd for cpd in cpds if not isinstance(cpd, CPT)]
    rows = chunked_rows(counter) if numbers and is_least_squares and counter.unit == 1 else None
    if rows is None:
        return tuple(cpds)
    labels = [v.name for v in rows.variables if v.levels is not None]
    table = NumberTable(rows, NumberReader.of(rows.variables, labels, rows.decimal))
    nodes = [Node.of(cpd) for cpd in sorted(numbers, key=lambda cpd: cpd.variable.name)]
    used = {v.name for cpd in cpds for v in (cpd.variable, *cpd.parents)}
    shared = not (counter.missing and has_gaps(table, sorted(used))) and all(
        has_enough(line) for cpd in numbers for line in cpd.regressions if line.n is not None
    )
    fitted, kept = zip(*together(table, map(_kept, nodes)), strict=True)
    shares = shares_of(table, fitted) if shared else {}
    found = {node.name: of_node for node, of_node in zip(nodes, kept, strict=True)}
    return tuple(
        cpd
        if isinstance(cpd, CPT)
        else _with_rows(cpd, found[cpd.variable.name], shares.get(cpd.variable.name, {}))
        for cpd in cpds
    )


class _Kept(NamedTuple):
    """A node at its rows, and what its regressions keep of these but their share in the fit."""

    fitted: FittedNode
    rows: Mapping[int, RegressionRows]


def _kept(node: Node) -> Steps[_Kept]:
    fitted, values, errors = yield from alongside(
        fitted_node(node), deciles_of(VariableOfNode(node)), deciles_of(ErrorsOfNode(node))
    )
    rows = {
        place: RegressionRows(
            fitted.terms.means[place],
            fitted.terms.sds[place],
            _rows(line.correlations),
            _rows(line.meat),
            line.fourth,
            *values[place],
            *(errors[place] if node.parents else ()),
        )
        for place, line in fitted.lines.items()
        # There are no deciles where some number is infinite.
        if place in values and (place in errors or not node.parents)
    }
    return _Kept(fitted, rows)


def _with_rows(
    cpd: NumberCpd, rows: Mapping[int, RegressionRows], shares: Mapping[int, FitShare]
) -> NumberCpd:
    lines = []
    for place, line in enumerate(cpd.regressions):
        kept = rows.get(place)
        kept = None if kept is None else replace(kept, fit=shares.get(place))
        # Numbers near the ends of what floats can hold leave nothing to compare.
        if kept is not None and kept.is_finite:
            # From the order of names to that of the regression.
            rank = NameOrder([p.name for p in line.parents]).rank
            line = replace(line, rows=kept.in_order(rank))
        lines.append(line)
    return cpd.with_regressions(lines)


def _rows(matrix: Vector) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in matrix.tolist())
