"""Intervals of fits by EM from samples of the rows, drawn with replacement (Efron 1979).

Each sample is fitted again, and a bound is a quantile of the estimates of all samples (the
percentile method). Climbs begin at the estimate of all rows, tables moved a little off the
boundary, so that the levels of hidden nodes keep their numbers. A configuration of parents that a
sample does not speak of has no estimate in it. What is 0 in all rows is 0 in every sample: such a
probability, and one at 1, has at least the bound of `boundary`. A sample that cannot be fitted, as
it lacks all values of a column or enough rows for a regression, is left out, and not counted. Draws
are over the sorted distinct rows, so that their order does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gml.data.dataset import Dataset
from gml.data.resampling import bootstrap_samples
from gml.errors import CannotAnswer, DataError, counted, parameter
from gml.graph.graph import Graph
from gml.model.bayesnet import CPT, BayesNet, ConditionalGaussian, LinearGaussian
from gml.model.conditional_fit import NoEstimate
from gml.model.em.boundary import bound_at_zero, off_boundary, where_expected
from gml.model.em.climbing import MOST_STEPS, climb
from gml.model.em.information import zero_slopes
from gml.model.em.number_bootstrap import number_slopes, refitted_numbers
from gml.model.em.table_fitting import table_problem
from gml.model.network import Cpd
from gml.model.regression_prior import RegressionPrior
from gml.progress import Deadline, reporter
from gml.resources import require_memory

_LEAST_SAMPLES = 2

Array = NDArray[np.float64]


def with_bootstrap_intervals(
    net: BayesNet,
    graph: Graph,
    rows: Dataset,
    *,
    hidden: Mapping[str, int],
    alpha: tuple[str, float] | None,
    regression_prior: RegressionPrior | None = None,
    level: float,
    samples: int,
    seed: int = 0,
    most_steps: int = MOST_STEPS,
    deadline: Deadline | None = None,
    threads: int | None = None,
) -> tuple[BayesNet, int]:
    """Return a network with intervals, and the number of samples that there was time for.

    `alpha` is the prior of tables and its size, `regression_prior` that of regressions, or None.
    """
    if rows.unit != 1:
        raise CannotAnswer(
            f"a bootstrap draws whole rows, so {parameter('weights_fractional')} contradicts it"
        )
    cells = sum(cpd.table.size for cpd in net.cpds if isinstance(cpd, CPT))
    # The estimates, and a copy of them while their quantiles are found.
    require_memory(2 * 8 * samples * cells, None, f"the tables of {counted(samples, 'sample')}")
    limit = deadline or Deadline()
    how: dict[str, Any] = {"hidden": hidden, "alpha": alpha, "threads": threads}
    refit, slopes_of = refitted_tables, table_slopes
    if any(variable.is_continuous for variable in net.variables):
        refit, slopes_of = refitted_numbers, number_slopes
        how["regression_prior"] = regression_prior
    estimates: list[list[Array]] = []
    with reporter().counting("samples of the rows", samples) as count:
        for sample in bootstrap_samples(rows, samples, seed=seed):
            if limit.passed:
                break
            try:
                found = refit(net, graph, sample, how, most_steps=most_steps, deadline=limit)
            except (DataError, NoEstimate):
                # A column has no value in it, or some regression too few rows.
                continue
            if found is not None:
                estimates.append(found)
            count(len(estimates))
    if len(estimates) < _LEAST_SAMPLES:
        raise CannotAnswer(
            f"only {counted(len(estimates), 'sample')} of the rows could be fitted, too few for "
            "intervals"
        )
    slopes = slopes_of(net, graph, rows, how)
    cpds = [
        _with_bounds(cpd, [found[k] for found in estimates], slopes.get(cpd.variable.name), level)
        for k, cpd in enumerate(net.cpds)
    ]
    return replace(net, cpds=tuple(cpds)), len(estimates)


def refitted_tables(
    net: BayesNet,
    graph: Graph,
    sample: Dataset,
    how: Mapping[str, Any],
    *,
    most_steps: int,
    deadline: Deadline,
) -> list[Array] | None:
    """The tables of a sample, NaN where it says nothing."""
    problem = table_problem(graph, sample, **how)
    layout = problem.layout
    start = np.empty(layout.kernel.n_cells)
    for node, name in enumerate(layout.names):
        inside = off_boundary(net.cpt(name).table)
        layout.table(start, node)[:] = layout.in_name_order(node, inside)
    found = climb(problem, start, most_steps=most_steps, deadline=deadline).parameters
    _, counts = problem.expect(found)
    tables = []
    for name in net.names:
        node = layout.names.index(name)
        own = layout.table(found, node), layout.table(counts, node)
        tables.append(layout.in_graph_order(node, where_expected(*own, sample.n * sample.unit)))
    return tables


def table_slopes(
    net: BayesNet, graph: Graph, rows: Dataset, how: Mapping[str, Any]
) -> dict[str, Array]:
    """How the objective changes where probabilities at 0 grow, by node; NaN for others."""
    problem = table_problem(graph, rows, **how)
    layout = problem.layout
    at = np.empty(layout.kernel.n_cells)
    for node, name in enumerate(layout.names):
        layout.table(at, node)[:] = layout.in_name_order(node, net.cpt(name).table)
    found = zero_slopes(problem, at, problem.expect(at)[1] + problem.prior)
    return {
        name: layout.in_graph_order(node, layout.table(found, node))
        for node, name in enumerate(layout.names)
    }


def _with_bounds(cpd: Cpd, estimates: Sequence[Array], slopes: Array | None, level: float) -> Cpd:
    bounds = _quantiles(np.stack(estimates), level)
    untold = np.isnan(bounds[..., 0])
    if not isinstance(cpd, CPT):
        return _with_bounds_of_lines(cpd, bounds, [not any(row) for row in untold.tolist()])
    # A configuration that no sample speaks of may have any probabilities.
    bounds[untold] = 0.0, 1.0
    if slopes is not None:
        leave = bound_at_zero(-slopes, level)
        is_zero = np.isfinite(slopes)
        bounds[is_zero, 1] = np.maximum(bounds[is_zero, 1], leave[is_zero])
        for row in np.flatnonzero(is_zero.sum(axis=1) == is_zero.shape[1] - 1).tolist():
            sure = np.argmin(is_zero[row])
            bounds[row, sure, 0] = min(bounds[row, sure, 0], 1 - np.nanmax(leave[row]))
    # Samples start off the boundary, and may end a rounding error away from it.
    bounds[..., 0] = np.minimum(bounds[..., 0], cpd.table)
    bounds[..., 1] = np.maximum(bounds[..., 1], cpd.table)
    return replace(cpd, intervals=bounds)


def _quantiles(estimates: Array, level: float) -> Array:
    """The bounds of figures in the samples that have them; NaN if none has."""
    told = ~np.isnan(estimates).all(axis=0)
    bounds = np.full((*estimates.shape[1:], 2), np.nan)
    tail = (1 - level) / 2
    bounds[told] = np.nanquantile(estimates[:, told], [tail, 1 - tail], axis=0).T
    return bounds


def _with_bounds_of_lines(
    cpd: LinearGaussian | ConditionalGaussian, bounds: Array, told: Sequence[bool]
) -> LinearGaussian | ConditionalGaussian:
    """Regressions with intervals, where some sample has an estimate."""

    def line(one: LinearGaussian, config: int) -> LinearGaussian:
        if not told[config]:
            return one
        return replace(one, intervals=tuple(map(tuple, bounds[config].tolist())))

    if isinstance(cpd, LinearGaussian):
        return line(cpd, 0)
    lines = tuple(line(one, k) for k, one in enumerate(cpd.regressions))
    return replace(cpd, regressions=lines)
