"""How well a graph predicts rows that its tables have not seen: the mean −ln p per row.

Tables are fitted on some rows, under the Jeffreys prior (½ per cell) unless said otherwise, and the
others are predicted. Levels are those of all rows, so that no row has probability 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from gml.counts.counter import Counter
from gml.counts.memory import MemoryCounter
from gml.data.alignment import common_levels
from gml.data.dataset import Dataset
from gml.graph.graph import Graph
from gml.model.fit import fit
from gml.model.likelihood import log_likelihood
from gml.progress import reporter


def held_out_loss(
    graph: Graph,
    splits: Iterable[tuple[Dataset | Counter, Dataset | Counter]],
    *,
    prior: str = "jeffreys",
    ess: float = 1.0,
    threads: int | None = None,
    max_memory: int | None = None,
) -> float:
    """Return the mean −ln p per row over all (fitted on, predicted) splits."""
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
    """Give the columns of two engines the levels of both; `decimal` is the decimal mark."""
    mark = fitted.decimal or decimal
    levels = common_levels(fitted.variables, predicted.variables, decimal=mark)
    return fitted.with_levels(levels), predicted.with_levels(levels)
