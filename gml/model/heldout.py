"""How well a graph predicts rows that its tables have not seen: mean −ln p a row.

Tables are fitted on some rows, under the Jeffreys prior (½ a cell) unless said otherwise, and the
others are predicted. Levels are those of all rows, so that no row has probability 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from gml.counts.counter import Counter
from gml.counts.memory import MemoryCounter
from gml.data.alignment import common_levels
from gml.data.dataset import Dataset
from gml.errors import DataError, UsageError, listing, quote
from gml.graph.graph import Graph
from gml.model.bayesnet import CPT, BayesNet, LinearGaussian
from gml.model.fit import fit
from gml.progress import reporter


def log_likelihood(net: BayesNet, data: Dataset | Counter) -> float:
    """Return ln P(data) under a network; −infinity if it gives a row probability 0.

    The data may have more columns than the network nodes, but no missing values in those of nodes.
    """
    counter = MemoryCounter(data) if isinstance(data, Dataset) else data
    position = {variable.name: j for j, variable in enumerate(counter.variables)}
    absent = [name for name in net.names if name not in position]
    if absent:
        raise UsageError(f"no column for {listing(absent)}")
    if counter.missing:
        raise DataError("the likelihood needs complete rows")
    for variable in net.variables:
        if counter.variables[position[variable.name]] != variable:
            raise DataError(f"the levels of {quote(variable.name)} are others in the data")
    families = [tuple(position[p.name] for p in cpd.parents) for cpd in net.cpds]
    columns = [position[name] for name in net.names]
    if net.is_gaussian:
        parts = [
            _log_density(cpd, counter, columns[k], families[k])
            for k, cpd in enumerate(net.cpds)
            if isinstance(cpd, LinearGaussian)
        ]
        return math.fsum(parts)
    tables = counter.family_tables(list(zip(columns, families, strict=True)))
    total = []
    for cpd, cells in zip(net.cpds, tables, strict=True):
        assert isinstance(cpd, CPT)
        seen = cells > 0
        with np.errstate(divide="ignore"):
            total.append(float(np.sum(cells[seen] * np.log(cpd.table[seen]))))
    return math.fsum(total) * counter.unit


def _log_density(
    cpd: LinearGaussian, counter: Counter, child: int, parents: tuple[int, ...]
) -> float:
    """Σ ln of the normal density of a column; by moments, so that no order of rows is seen."""
    moments = counter.moments([*parents, child])
    n, unit = moments.n, counter.unit
    slopes = [*(-c for c in cpd.coefficients), 1.0]
    scaled = [math.ldexp(1.0, -scale) for scale in moments.scales]
    # Σ (residual − its mean)², then the mean: both small where the model fits.
    spread = math.fsum(
        slopes[i] * slopes[j] * (moments.cross[i][j] / n) * scaled[i] * scaled[j]
        for i in range(len(slopes))
        for j in range(len(slopes))
    )
    mean = math.fsum(
        [*(slope * m for slope, m in zip(slopes, moments.means, strict=True)), -cpd.intercept]
    )
    if cpd.sd == 0:
        return math.inf if spread + mean == 0 else -math.inf
    square = (max(0.0, spread) + n * mean * mean) / cpd.sd**2
    return -0.5 * unit * (n * math.log(2 * math.pi * cpd.sd**2) + square)


def held_out_loss(
    graph: Graph,
    splits: Iterable[tuple[Dataset | Counter, Dataset | Counter]],
    *,
    prior: str = "jeffreys",
    ess: float = 1.0,
    threads: int | None = None,
    max_memory: int | None = None,
) -> float:
    """Return the mean −ln p of a row over all (fitted on, predicted) splits."""
    total, rows = [], 0.0
    for number, (train, test) in enumerate(splits):
        counter, predicted = (
            MemoryCounter(part, threads=threads, max_memory=max_memory)
            if isinstance(part, Dataset)
            else part
            for part in (train, test)
        )
        numeric = any(variable.is_continuous for variable in counter.variables)
        net = fit(
            graph,
            counter,
            method="mle" if numeric else "bayes",
            prior=prior,
            ess=ess,
            max_memory=max_memory,
        )
        total.append(log_likelihood(net, predicted))
        rows += predicted.n * predicted.unit
        reporter().advance("folds", number + 1, None)
    return -math.fsum(total) / rows


def with_common_levels(
    fitted: Counter, predicted: Counter, *, decimal: str = "."
) -> tuple[Counter, Counter]:
    """Give the columns of two engines the levels of both; `decimal` is how numbers are written."""
    mark = fitted.decimal or decimal
    levels = common_levels(fitted.variables, predicted.variables, decimal=mark)
    return fitted.with_levels(levels), predicted.with_levels(levels)
