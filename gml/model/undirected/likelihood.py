"""ln Z and ln P(data) of an undirected model, from counts of its largest tables alone."""

from __future__ import annotations

import math

import numpy as np

from gml.counts.counter import Counter
from gml.errors import CannotAnswer
from gml.model.inference import Inference
from gml.model.model import LogLinearModel
from gml.model.undirected.observed import tables_over
from gml.model.undirected.terms import Terms
from gml.progress import reporter


def log_partition(net: LogLinearModel, *, max_memory: int | None = None) -> float:
    """Return ln Z: exact if the tables fit into the budget, otherwise that of the fit.

    Examples
    --------
    >>> import gml
    >>> from gml.model.markovnet import MarkovNet
    >>> from gml.model.undirected.potential import Potential
    >>> coin = gml.Variable("coin", ("head", "tail"))
    >>> round(log_partition(MarkovNet((coin,), (Potential((coin,), np.log([1.0, 2.0])),))), 12)
    1.098612288668
    """
    try:
        found = Inference(net, max_memory=max_memory).log_z
    except CannotAnswer as error:
        summary = net.summary
        if summary is None or summary.log_z is None:
            raise
        how = "that of the fit"
        if summary.log_z_error is not None:
            how += f", by annealing, with a standard error of {summary.log_z_error:.2g}"
        reporter().warn(f"ln Z is {how}: {error}")
        return summary.log_z
    if found == -math.inf:
        raise CannotAnswer("the factors exclude everything: their product is 0")
    return found + net.log_scale


def log_linear_likelihood(
    net: LogLinearModel, counter: Counter, *, max_memory: int | None = None
) -> float:
    """Return ln P(data); −infinity if a row is impossible. The columns are those of the model."""
    terms = Terms.of(net.variables, net.log_tables)
    counts = tables_over(counter, terms, terms.generators)
    parts = []
    for scope, cells in zip(terms.generators, counts, strict=True):
        table = net.log_tables[tuple(terms.names[k] for k in scope)]
        seen = cells > 0
        parts.append(float(np.sum(cells[seen] * table[seen])))
    total = math.fsum(parts)
    rows = float(counter.n * counter.unit)
    if total == -math.inf or rows == 0:
        return total
    return total - rows * log_partition(net, max_memory=max_memory)
