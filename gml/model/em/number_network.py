"""The network at the end of EM: levels of hidden nodes in order, and figures in that of the graph.

Levels of a hidden node are numbered as `hidden_labels` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.graph.graph import Graph
from gml.graph.open_arrows import compelled_arrows
from gml.model.bayesnet import CPT, BayesNet, ConditionalGaussian, LinearGaussian
from gml.model.configurations import turned_rows
from gml.model.em.hidden_labels import order_of_levels
from gml.model.em.number_families import (
    Families,
    LabelFamily,
    NumberFamily,
    Parameters,
    Regressions,
    Statistics,
)
from gml.model.em.number_intervals import Intervals
from gml.model.em.number_rows import NumberRows
from gml.model.network import Cpd, Network

Array = NDArray[np.float64]


def numbered(
    families: Families, hidden: frozenset[int], at: Parameters, found: Statistics
) -> tuple[Parameters, Statistics]:
    """Put the levels of hidden labels in order, in parameters and in sums."""
    for node in sorted(hidden):
        sizes = found.counts[node].sum(axis=0)
        profiles = np.array([_profile(families, at, node, k) for k in range(len(sizes))])
        order = order_of_levels(sizes, profiles)
        at, found = _permuted(families, node, order, at, found)
    return at, found


def _configs(labels: Sequence[int], sizes: Sequence[int], node: int, order: list[int]) -> list[int]:
    """Which configuration goes where if the levels of a label are put in another order."""
    cells = np.arange(int(np.prod(sizes))).reshape(sizes)
    found: list[int] = np.take(cells, order, axis=labels.index(node)).reshape(-1).tolist()
    return found


def _profile(families: Families, at: Parameters, node: int, level: int) -> Array:
    parts = [at.tables[node][:, level]]
    for number, one in zip(families.numbers, at.regressions, strict=True):
        if node in number.labels:
            own = _configs(number.labels, number.sizes, node, [level])
            parts += [one.terms[own].reshape(-1), one.log_sd[own]]
    for label, table in zip(families.labels, at.tables, strict=True):
        if node in label.labels:
            parts.append(table[_configs(label.labels, label.sizes, node, [level])].reshape(-1))
    return np.concatenate(parts)


def _permuted(
    families: Families, node: int, order: list[int], at: Parameters, found: Statistics
) -> tuple[Parameters, Statistics]:
    regressions, products = list(at.regressions), list(found.products)
    for j, number in enumerate(families.numbers):
        if node in number.labels:
            rows = _configs(number.labels, number.sizes, node, order)
            one = regressions[j]
            regressions[j] = Regressions(one.terms[rows], one.log_sd[rows])
            products[j] = products[j][rows]
    tables, counts = list(at.tables), list(found.counts)
    for j, label in enumerate(families.labels):
        if node in label.labels:
            rows = _configs(label.labels, label.sizes, node, order)
            tables[j], counts[j] = tables[j][rows], counts[j][rows]
        if j == node:
            tables[j], counts[j] = tables[j][:, order], counts[j][:, order]
    return (
        Parameters(tuple(regressions), tuple(tables)),
        Statistics(products, counts, found.log_likelihood),
    )


def network(
    graph: Graph,
    families: Families,
    at: Parameters,
    expected: Statistics | None,
    available: Statistics,
    hidden: frozenset[int],
    unit: float,
) -> BayesNet:
    """Return the network with parents in the order of the graph, numbers on the scales of rows.

    Families seen whole are counted in `available`; expected rows are kept beside these.
    """
    number_place = {v.name: k for k, v in enumerate(families.number_variables)}
    label_place = {v.name: k for k, v in enumerate(families.label_variables)}
    variable = {v.name: v for v in (*families.number_variables, *families.label_variables)}
    cpds: list[Cpd] = []
    for name, parents in zip(graph.names, graph.parent_sets(), strict=True):
        given = tuple(variable[graph.names[i]] for i in parents)
        labels = [v for v in given if not v.is_continuous]
        if name in label_place:
            j = label_place[name]
            rows = configurations(families, families.labels[j], labels)
            seen = None
            if hidden.isdisjoint((j, *families.labels[j].labels)):
                seen = available.counts[j][rows]
                seen = np.rint(seen).astype(np.int64) if unit == 1 else seen
            cpds.append(
                CPT(
                    variable[name],
                    given,
                    at.tables[j][rows],
                    seen,
                    expected_counts=None if expected is None else expected.counts[j][rows],
                )
            )
            continue
        j = number_place[name]
        family = families.numbers[j]
        rows = configurations(families, family, labels)
        numbers = tuple(v for v in given if v.is_continuous)
        slopes = [1 + family.numbers.index(number_place[v.name]) for v in numbers]
        lines = tuple(
            LinearGaussian(
                variable[name],
                numbers,
                float(at.regressions[j].terms[row, 0]),
                tuple(at.regressions[j].terms[row, slopes].tolist()),
                float(np.exp(at.regressions[j].log_sd[row])),
                _rows(float(available.products[j][row, 0, 0]), unit),
                expected_n=None if expected is None else float(expected.products[j][row, 0, 0]),
            )
            for row in rows
        )
        cpds.append(ConditionalGaussian(variable[name], given, lines) if labels else lines[0])
    return BayesNet(tuple(cpds), compelled=compelled_arrows(graph))


def in_units(net: BayesNet, data: NumberRows) -> BayesNet:
    """Take regressions from the scales of the rows to the units of the columns."""
    place = {variable.name: k for k, variable in enumerate(data.numbers)}

    def line(one: LinearGaussian, config: int) -> LinearGaussian:
        child = place[one.variable.name]
        scale, shift = data.scales[child], data.shifts[child]
        parents = [place[parent.name] for parent in one.parents]
        slopes = [
            slope * (scale / data.scales[k])
            for slope, k in zip(one.coefficients, parents, strict=True)
        ]
        moved = [-slope * data.shifts[k] for slope, k in zip(slopes, parents, strict=True)]
        intercept = math.fsum([shift, scale * one.intercept, *moved])
        return replace(one, intercept=intercept, coefficients=tuple(slopes), sd=one.sd * scale)

    return _with_lines(net, line)


def parameters_of(net: Network, families: Families, data: NumberRows) -> Parameters:
    """The parameters of a network on the scales of some rows: `network` and `in_units` undone."""
    place = {v.name: k for k, v in enumerate(families.number_variables)}
    regressions = []
    for variable, family in zip(families.number_variables, families.numbers, strict=True):
        cpd = net.cpd(variable.name)
        assert not isinstance(cpd, CPT)
        rows = configurations(families, family, cpd.label_parents)
        order = np.argsort([place[parent.name] for parent in cpd.number_parents])
        scale, shift = data.scales[family.child], data.shifts[family.child]
        shifts = np.array([data.shifts[k] for k in family.numbers])
        scales = np.array([data.scales[k] for k in family.numbers])
        terms, log_sd = np.empty((family.n_configs, family.n_terms)), np.empty(family.n_configs)
        for row, line in zip(rows, cpd.regressions, strict=True):
            slopes = np.array(line.coefficients)[order]
            terms[row, 0] = math.fsum([line.intercept, -shift, *(slopes * shifts)]) / scale
            terms[row, 1:] = slopes * (scales / scale)
            log_sd[row] = math.log(line.sd) - math.log(scale)
        regressions.append(Regressions(terms, log_sd))
    return Parameters(tuple(regressions), tables_of(net, families))


def tables_of(net: Network, families: Families) -> tuple[Array, ...]:
    """The tables of a network, configurations in the order of families."""
    tables = []
    for variable, label in zip(families.label_variables, families.labels, strict=True):
        cpd = net.cpd(variable.name)
        assert isinstance(cpd, CPT)
        table = np.empty_like(cpd.table)
        table[configurations(families, label, cpd.parents)] = cpd.table
        tables.append(table)
    return tuple(tables)


def configurations(
    families: Families, family: NumberFamily | LabelFamily, wanted: Sequence[Variable]
) -> list[int]:
    """Which configuration of a family is which of labels in the order that is wanted."""
    own = [families.label_variables[k] for k in family.labels]
    return turned_rows(own, [own.index(one) for one in wanted])


def _with_lines(
    net: BayesNet, changed: Callable[[LinearGaussian, int], LinearGaussian]
) -> BayesNet:
    """The network with its regressions changed, each given with its place among its node's."""
    cpds: list[Cpd] = []
    for cpd in net.cpds:
        if isinstance(cpd, LinearGaussian):
            cpds.append(changed(cpd, 0))
        elif isinstance(cpd, ConditionalGaussian):
            lines = tuple(changed(one, k) for k, one in enumerate(cpd.regressions))
            cpds.append(replace(cpd, regressions=lines))
        else:
            cpds.append(cpd)
    return replace(net, cpds=tuple(cpds))


def with_intervals(net: BayesNet, families: Families, bounds: Intervals) -> BayesNet:
    """The network with intervals of its regressions and tables, where there are some."""
    number_place = {v.name: k for k, v in enumerate(families.number_variables)}
    label_place = {v.name: k for k, v in enumerate(families.label_variables)}

    def line(one: LinearGaussian, config: int) -> LinearGaussian:
        j = number_place[one.variable.name]
        labels = [p for p in net.cpd(one.variable.name).parents if not p.is_continuous]
        row = configurations(families, families.numbers[j], labels)[config]
        own = bounds.regressions[j][row]
        if np.isnan(own).any():
            return one
        members = families.numbers[j].numbers
        order = [0, *(1 + members.index(number_place[p.name]) for p in one.parents), -1]
        return replace(one, intervals=tuple(map(tuple, own[order].tolist())))

    cpds: list[Cpd] = []
    for cpd in _with_lines(net, line).cpds:
        if isinstance(cpd, CPT):
            j = label_place[cpd.variable.name]
            rows = configurations(families, families.labels[j], cpd.parents)
            own = bounds.tables[j][rows]
            # Where no row is expected, any probability may be.
            cpds.append(replace(cpd, intervals=np.where(np.isnan(own), [0.0, 1.0], own)))
        else:
            cpds.append(cpd)
    return replace(net, cpds=tuple(cpds))


def _rows(n: float, unit: float) -> int | float | None:
    if n == 0:
        return None
    return round(n) if unit == 1 else n
