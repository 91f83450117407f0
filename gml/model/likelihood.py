"""ln P(data) under a model."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gml.counts.counter import Counter, Moments
from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset
from gml.data.options import ReadOptions
from gml.data.reading import read_dataset
from gml.data.row_groups import configurations_at
from gml.data.schema import Schema, with_levels
from gml.errors import DataError, UsageError, listing, quote
from gml.model.model import AskedModel, LogLinearModel
from gml.model.network import CPT, Network
from gml.model.regressions import ConditionalGaussian, LinearGaussian
from gml.model.undirected.likelihood import log_linear_likelihood

if TYPE_CHECKING:
    import pandas as pd


def log_likelihood(
    net: Network | LogLinearModel,
    data: str | os.PathLike[str] | pd.DataFrame | Dataset | Counter,
    *,
    max_memory: int | None = None,
) -> float:
    """Return ln P(data) under a model; −infinity if it gives a row probability 0.

    The data may have more columns than the model nodes, but no missing values in those of nodes. A
    path or a DataFrame is read with the levels of the model. ln Z of an undirected model is exact
    if its tables fit into `max_memory` bytes (by default half of what is free), otherwise that of
    its fit, with a warning.
    """
    counter = _checked(net, data)
    if not isinstance(net, Network):
        return log_linear_likelihood(net, counter, max_memory=max_memory)
    position = {variable.name: j for j, variable in enumerate(counter.variables)}
    families = [tuple(position[p.name] for p in cpd.parents) for cpd in net.cpds]
    columns = [position[name] for name in net.names]
    with_levels = [
        (cpd, (child, parents))
        for cpd, child, parents in zip(net.cpds, columns, families, strict=True)
        if isinstance(cpd, CPT)
    ]
    tables = counter.family_tables([family for _, family in with_levels])
    total = []
    for (cpt, _), cells in zip(with_levels, tables, strict=True):
        seen = cells > 0
        with np.errstate(divide="ignore"):
            total.append(float(np.sum(cells[seen] * np.log(cpt.table[seen]))))
    densities = [
        _log_density(cpd, counter.moments([*parents, child]), counter.unit)
        if isinstance(cpd, LinearGaussian)
        else _conditional_log_density(cpd, counter, child, parents)
        for cpd, child, parents in zip(net.cpds, columns, families, strict=True)
        if not isinstance(cpd, CPT)
    ]
    return _added([math.fsum(total) * counter.unit, *densities])


def _checked(
    net: AskedModel, data: str | os.PathLike[str] | pd.DataFrame | Dataset | Counter
) -> Counter:
    """Open data for counting, and see that they are what the model is about."""
    if not isinstance(data, Dataset | Counter):
        levels = {v.name: v.levels for v in net.variables if v.levels is not None}
        options = ReadOptions(
            columns=net.names,
            kinds="labels",
            levels=with_levels(Schema(), levels),
            numeric=tuple(v.name for v in net.variables if v.is_continuous),
        )
        data = read_dataset(data, options)
    counter = MemoryCounter(data) if isinstance(data, Dataset) else data
    position = {variable.name: j for j, variable in enumerate(counter.variables)}
    absent = [name for name in net.names if name not in position]
    if absent:
        raise UsageError(f"no column for {listing(absent)}")
    if counter.missing:
        raise DataError("the likelihood needs complete rows")
    for variable in net.variables:
        if counter.variables[position[variable.name]] != variable:
            raise DataError(f"the levels of {quote(variable.name)} are different in the data")
    return counter


def _added(parts: Sequence[float]) -> float:
    """Return the sum; where some row is impossible, nothing makes up for that."""
    return -math.inf if -math.inf in parts else math.fsum(parts)


def _conditional_log_density(
    cpd: ConditionalGaussian, counter: Counter, child: int, parents: tuple[int, ...]
) -> float:
    """The same of a number given labels too: the sum over the configurations that occur."""
    labels = [j for j in parents if not counter.variables[j].is_continuous]
    numbers = [j for j in parents if counter.variables[j].is_continuous]
    found = counter.moments([*numbers, child], labels)
    sizes = [len(parent.levels or ()) for parent in cpd.label_parents]
    at = configurations_at(sizes, list(found.configs.T), len(found.configs))
    return _added(
        [
            _log_density(cpd.regressions[row], moments, counter.unit)
            for row, moments in zip(at.tolist(), found.moments, strict=True)
        ]
    )


def _scaled(number: float, by: float, shift: int) -> float:
    """number / by · 2^shift, of which no part need be a float."""
    mantissa, exponent = math.frexp(number)
    return math.ldexp(mantissa / by, exponent + shift)


def _log_density(cpd: LinearGaussian, moments: Moments, unit: float) -> float:
    """Sum of ln of the normal density of a column; by moments, so row order has no effect."""
    n = moments.n
    slopes = [*(-c for c in cpd.coefficients), 1.0]
    # Squares of numbers of any size may be beyond floats; in standard deviations they are not.
    sd = cpd.sd or 1.0
    scaled = [
        _scaled(slope, sd, -scale) for slope, scale in zip(slopes, moments.scales, strict=True)
    ]
    try:
        # Σ (residual − its mean)², then the mean: both small where the model fits.
        spread = math.fsum(
            scaled[i] * (moments.cross[i][j] / n) * scaled[j]
            for i in range(len(slopes))
            for j in range(len(slopes))
        )
        mean = math.fsum(
            [*(slope * m for slope, m in zip(slopes, moments.means, strict=True)), -cpd.intercept]
        )
    except (OverflowError, ValueError):
        # Sums and differences beyond floats: rows as far from the model as can be.
        return -math.inf
    if cpd.sd == 0:
        return math.inf if spread + mean == 0 else -math.inf
    away = mean / sd
    square = max(0.0, spread) + n * away * away
    return -unit * (n * (0.5 * math.log(2 * math.pi) + math.log(sd)) + 0.5 * square)
