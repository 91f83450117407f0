"""Tables too large to hold every possible configuration, counted over the observed ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from gml.counts.answers import Counts
from gml.counts.questions import TableSet
from gml.data.dataset import Dataset, missing_mask


def sparse_table(
    dataset: Dataset,
    wanted: TableSet,
    n_levels: Sequence[int],
    require: Callable[[int], None],
) -> Counts:
    """Number the observed configurations one conditioning column at a time, then count.

    `n_levels` covers all columns of the dataset; `require` refuses more bytes than the table may
    take.
    """
    given = [n_levels[j] for j in wanted.given]
    axes = [n_levels[j] for j in wanted.axes]
    columns = [dataset.columns[j] for j in (*wanted.given, *wanted.axes)]
    complete = np.ones(dataset.n_rows, dtype=bool)
    for column in columns:
        complete &= ~missing_mask(column)
    # Configurations of weight 0 were not seen.
    weights = dataset.weights
    if weights is not None:
        complete &= weights > 0
    rank = np.zeros(np.count_nonzero(complete), dtype=np.int64)
    configs = np.zeros((min(1, len(rank)), 0), dtype=np.int64)
    for column, size in zip(columns, given, strict=False):
        keys, rank = np.unique(rank * size + column[complete], return_inverse=True)
        configs = np.column_stack([configs[keys // size], keys % size])
    cells = math.prod(axes)
    require(8 * cells * max(1, len(configs)))
    index = rank
    for column, size in zip(columns[len(given) :], axes, strict=True):
        index = index * size + column[complete]
    if weights is None:
        flat = np.bincount(index, minlength=cells * len(configs)).astype(np.int64)
    else:
        flat = np.zeros(cells * len(configs), dtype=np.int64)
        np.add.at(flat, index, weights[complete])
    table = flat.reshape(len(configs), *axes)
    return Counts(table, configs, math.prod(given), int(flat.sum()))
