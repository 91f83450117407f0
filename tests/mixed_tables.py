"""Tables of numbers beside labels, drawn at random."""

from __future__ import annotations

import numpy as np

import gml
from gml.data.dataset import Dataset, Variable


def mixed_data(seed, n=400, kinds="lnlnn"):
    """Columns v00, v01, … of labels (l) and numbers (n), each depending on some before it."""
    rng = np.random.default_rng(seed)
    columns, variables = [], []
    for j, kind in enumerate(kinds):
        before = [k for k in range(j) if rng.random() < 0.6]
        pull = sum((_standard(columns[k]) * rng.normal() for k in before), np.zeros(n))
        if kind == "n":
            spread = 1.0 + (columns[before[0]] > 0 if before else 0) * rng.random()
            columns.append(pull + spread * rng.normal(size=n))
            variables.append(Variable(f"v{j:02d}", None))
        else:
            levels = int(rng.integers(2, 4))
            codes = np.clip(np.floor(pull + levels * rng.random(n)), 0, levels - 1)
            columns.append(codes.astype(np.uint8))
            variables.append(Variable(f"v{j:02d}", tuple("abcd"[:levels])))
    return Dataset(tuple(variables), tuple(np.ascontiguousarray(column) for column in columns))


def _standard(column):
    values = column.astype(float)
    return (values - values.mean()) / (values.std() or 1.0)


def is_number(data):
    """Which columns are numbers."""
    return np.array([variable.is_continuous for variable in data.variables])


def score_of(name, data, **options):
    """A score by its name, over a dataset."""
    return gml.SCORES[name](gml.MemoryCounter(data), **options)
