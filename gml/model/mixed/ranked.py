"""A network of labels and numbers as inference reads it: arrays, nodes by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Variable
from gml.model.mixed.lines import Array, Line, picked
from gml.model.network import CPT, Network
from gml.model.regressions import NumberCpd
from gml.name_order import NameOrder


class Regression(NamedTuple):
    """A number given its parents: figures with one axis per label parent, these by rank."""

    labels: tuple[int, ...]
    numbers: tuple[int, ...]
    intercept: Array
    slopes: tuple[Array, ...]
    sd: Array


class Table(NamedTuple):
    """A label given its parents: one axis per parent, by rank, and a last one for the label."""

    labels: tuple[int, ...]
    table: Array


class RankedNetwork:
    """The distributions of a network, nodes numbered in the order of their names.

    Examples
    --------
    >>> from gml.model.regressions import ConditionalGaussian, LinearGaussian
    >>> sex, mass = Variable("sex", ("f", "m")), Variable("mass", None)
    >>> lines = tuple(LinearGaussian(mass, (), 60.0 + k, (), 3.0) for k in (0, 9))
    >>> table = CPT(sex, (), np.array([[0.5, 0.5]]))
    >>> ranked = RankedNetwork(Network((table, ConditionalGaussian(mass, (sex,), lines))))
    >>> ranked.names, ranked.numbers, ranked.regressions[0].intercept.tolist()
    (('mass', 'sex'), (0,), [60.0, 69.0])
    """

    def __init__(self, net: Network) -> None:
        order = NameOrder(net.names)
        self.names = order.names
        self.rank = {name: k for k, name in enumerate(order.names)}
        self.positions: list[int] = order.positions.tolist()
        """The position in the network of each node by rank."""
        variables = net.variables
        self.variables: tuple[Variable, ...] = tuple(variables[j] for j in self.positions)
        self.sizes = [len(v.levels) if v.levels is not None else 1 for v in self.variables]
        self.numbers = tuple(k for k, v in enumerate(self.variables) if v.is_continuous)
        self.labels = tuple(k for k, v in enumerate(self.variables) if not v.is_continuous)
        self.order = [order.rank[j] for j in net.order()]
        """The nodes, each after its parents."""
        self.regressions: dict[int, Regression] = {}
        self.tables: dict[int, Table] = {}
        for cpd in net.cpds:
            k = self.rank[cpd.variable.name]
            if isinstance(cpd, CPT):
                self.tables[k] = self._table(cpd)
            else:
                self.regressions[k] = self._regression(cpd)
        self.has_exact = any((line.sd == 0).any() for line in self.regressions.values())
        """Whether some number follows exactly from others."""

    def _by_rank(self, variables: Iterable[Variable]) -> tuple[list[int], list[int]]:
        """The ranks of variables, in order, and the places that they have among them."""
        ranks = [self.rank[variable.name] for variable in variables]
        places = sorted(range(len(ranks)), key=ranks.__getitem__)
        return [ranks[place] for place in places], places

    def _table(self, cpt: CPT) -> Table:
        labels, places = self._by_rank(cpt.parents)
        shape = [len(parent.levels or ()) for parent in cpt.parents]
        table = cpt.table.reshape([*shape, cpt.n_levels]).transpose([*places, len(places)])
        return Table(tuple(labels), np.ascontiguousarray(table))

    def _regression(self, cpd: NumberCpd) -> Regression:
        lines = cpd.regressions
        labels, places = self._by_rank(cpd.label_parents)
        on, order = self._by_rank(cpd.number_parents)
        shape = [len(parent.levels or ()) for parent in cpd.label_parents]

        def by_configuration(figures: Iterable[float]) -> Array:
            found = np.array(list(figures), dtype=np.float64)
            return found.reshape(shape).transpose(places).copy(order="C")

        return Regression(
            tuple(labels),
            tuple(on),
            by_configuration(line.intercept for line in lines),
            tuple(by_configuration(line.coefficients[k] for line in lines) for k in order),
            by_configuration(line.sd for line in lines),
        )

    def line(
        self, number: int, values: Mapping[int, Array], codes: Mapping[int, NDArray[np.int64]]
    ) -> Line:
        """Return the regression of a number given values of numbers and codes of labels."""
        own = self.regressions[number]
        labels, intercept = picked(own.intercept, own.labels, codes)
        size = np.abs(intercept)
        slopes = {}
        for k, slope in zip(own.numbers, own.slopes, strict=True):
            _, figures = picked(slope, own.labels, codes)
            if k in values:
                term = figures * along_rows(values[k], figures)
                intercept, size = intercept + term, size + np.abs(term)
            else:
                slopes[k] = figures
        return Line(labels, intercept, slopes, picked(own.sd, own.labels, codes)[1], size)

    def ancestors(self, nodes: Iterable[int]) -> set[int]:
        """Return nodes and all their ancestors."""
        found: set[int] = set()
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                waiting += self.parents(node)
        return found

    def parents(self, node: int) -> tuple[int, ...]:
        """Return the parents of a node, the labels first."""
        if node in self.tables:
            return self.tables[node].labels
        own = self.regressions[node]
        return (*own.labels, *own.numbers)


def along_rows(values: Array, like: Array) -> Array:
    """Return one value per row, with as many axes as an array over rows and labels."""
    return values.reshape(-1, *([1] * (like.ndim - 1)))
