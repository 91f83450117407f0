"""Refits of a network with numbers to samples of its rows, for the bootstrap.

A climb begins at the estimate of all rows, taken to the scales of the sample, with tables moved a
little off the boundary. A regression whose labels no row of a sample has is that of all rows there,
which says nothing about it: it has no estimate in that sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset
from gml.graph.graph import Graph
from gml.kernel.blas import one_blas_thread
from gml.model.bayesnet import CPT, BayesNet, ConditionalGaussian, LinearGaussian
from gml.model.em.boundary import off_boundary, where_expected
from gml.model.em.climbing import climb
from gml.model.em.number_families import Families, Parameters, Regressions
from gml.model.em.number_fitting import number_problem
from gml.model.em.number_intervals import zero_slopes
from gml.model.em.number_maximum import NumberProblem
from gml.model.em.number_network import configurations, parameters_of, tables_of
from gml.model.em.number_rows import NumberRows
from gml.model.network import Cpd
from gml.progress import Deadline

Array = NDArray[np.float64]


def refitted_numbers(
    net: BayesNet,
    graph: Graph,
    sample: Dataset,
    how: Mapping[str, Any],
    *,
    most_steps: int,
    deadline: Deadline,
) -> list[Array] | None:
    """The figures of each node in a sample: tables, or configurations × (terms, deviation).

    NaN where the sample says nothing; None where its likelihood has no bound. `how` are the priors
    and what else the problem takes.
    """
    with one_blas_thread():
        problem, data = number_problem(graph, sample, **how)
        own = _Figures(net, problem.families, data)
        start = own.parameters().vector()
        found = climb(problem, start, most_steps=most_steps, deadline=deadline)
        if found.flaw is not None:
            return None
        return own.of(problem, found.parameters)


def number_slopes(
    net: BayesNet, graph: Graph, rows: Dataset, how: Mapping[str, Any]
) -> dict[str, Array]:
    """How the objective changes where probabilities at 0 grow, by node; NaN for others."""
    with one_blas_thread():
        problem, data = number_problem(graph, rows, **how)
        families = problem.families
        slopes = zero_slopes(problem, parameters_of(net, families, data))
    found = {}
    for variable, family, own in zip(
        families.label_variables, families.labels, slopes, strict=True
    ):
        parents = net.cpt(variable.name).parents
        found[variable.name] = own[configurations(families, family, parents)]
    return found


def figures_of(cpd: LinearGaussian | ConditionalGaussian) -> Array:
    """Intercept, slopes and deviation of each regression of a node."""
    lines = cpd.regressions if isinstance(cpd, ConditionalGaussian) else (cpd,)
    return np.array([[one.intercept, *one.coefficients, one.sd] for one in lines])


class _Figures:
    """From the figures of a network to parameters on the scales of rows, and back."""

    def __init__(self, net: BayesNet, families: Families, data: NumberRows) -> None:
        self._net = net
        self._families = families
        self._scales = np.array(data.scales)
        self._shifts = np.array(data.shifts)
        self._n = data.n
        self._numbers = {v.name: k for k, v in enumerate(families.number_variables)}
        self._labels = {v.name: k for k, v in enumerate(families.label_variables)}

    def parameters(self) -> Parameters:
        """The parameters that the network has, tables moved off the boundary."""
        regressions: list[Regressions] = []
        for j in range(len(self._families.numbers)):
            cpd = self._net.cpd(self._families.number_variables[j].name)
            assert not isinstance(cpd, CPT)
            figures = figures_of(cpd)
            terms = np.empty((len(figures), figures.shape[1] - 1))
            log_sd = np.empty(len(figures))
            rows, columns = self._places(cpd)
            ratios, shifts = self._units(j)
            own = np.empty_like(terms)
            own[:, columns] = figures[:, :-1]
            terms[rows, 1:] = own[:, 1:] / ratios
            unit, shift = self._scales[j], self._shifts[j]
            terms[rows, 0] = (own[:, 0] + own[:, 1:] @ shifts - shift) / unit
            log_sd[rows] = np.log(figures[:, -1] / unit)
            regressions.append(Regressions(terms, log_sd))
        tables = map(off_boundary, tables_of(self._net, self._families))
        return Parameters(tuple(regressions), tuple(tables))

    def of(self, problem: NumberProblem, vector: Array) -> list[Array]:
        """The figures of all nodes, in the order and the units of the network."""
        at = self._families.parameters(vector)
        counts = problem.expectation(at).counts
        found = []
        for cpd in self._net.cpds:
            rows, columns = self._places(cpd)
            if isinstance(cpd, CPT):
                j = self._labels[cpd.variable.name]
                found.append(where_expected(at.tables[j], counts[j], self._n)[rows])
                continue
            j = self._numbers[cpd.variable.name]
            ratios, shifts = self._units(j)
            one = at.regressions[j]
            slopes = one.terms[:, 1:] * ratios
            intercepts = self._shifts[j] + self._scales[j] * one.terms[:, 0] - slopes @ shifts
            terms = np.column_stack([intercepts, slopes])
            figures = np.column_stack([terms[:, columns], self._scales[j] * np.exp(one.log_sd)])
            figures[~problem.estimated(j)] = np.nan
            found.append(figures[rows])
        return found

    def _units(self, j: int) -> tuple[Array, Array]:
        """What a slope on each parent is multiplied with, and where the parents are 0."""
        parents = list(self._families.numbers[j].numbers)
        return self._scales[j] / self._scales[parents], self._shifts[parents]

    def _places(self, cpd: Cpd) -> tuple[list[int], list[int]]:
        """Where the configurations and the terms of a node stand among the parameters."""
        labels = [p for p in cpd.parents if not p.is_continuous]
        if isinstance(cpd, CPT):
            table = self._families.labels[self._labels[cpd.variable.name]]
            return configurations(self._families, table, labels), []
        family = self._families.numbers[self._numbers[cpd.variable.name]]
        numbers = [self._numbers[p.name] for p in cpd.parents if p.is_continuous]
        columns = [0, *(1 + family.numbers.index(k) for k in numbers)]
        return configurations(self._families, family, labels), columns
