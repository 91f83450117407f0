"""Tables of counts as data, and models over them."""

from __future__ import annotations

import string

import numpy as np

from gml.counts.memory import MemoryCounter
from gml.data.dataset import Dataset, Variable


def counter_of_table(table, names=string.ascii_uppercase):
    """Count a joint table, the first axis first, with the levels 0, 1, … of each variable."""
    table = np.asarray(table)
    cells = np.indices(table.shape).reshape(table.ndim, -1)
    variables = tuple(
        Variable(name, tuple(map(str, range(size))))
        for name, size in zip(names, table.shape, strict=False)
    )
    columns = tuple(codes.astype(np.uint8) for codes in cells)
    return MemoryCounter(Dataset(variables, columns, table.reshape(-1).astype(np.int64)))
