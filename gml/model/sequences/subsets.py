"""Some of the sequences of a table as a table of their own, and folds of them.

Sequences are in the order of their identifiers, so that folds do not depend on the order of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gml.data.sequences import SequenceRows
from gml.errors import CannotAnswer, counted

Integers = NDArray[np.int64]


def some_sequences(rows: SequenceRows, chosen: Integers) -> SequenceRows:
    """Return the rows of some sequences, by their numbers; they then follow one another.

    Examples
    --------
    >>> import pandas as pd
    >>> from gml.data.options import ReadOptions
    >>> from gml.data.sequences import read_sequences
    >>> frame = pd.DataFrame({"id": [2, 1, 2], "word": ["x", "y", "z"], "tag": ["N", "V", "N"]})
    >>> rows = read_sequences(frame, ReadOptions(), sequence="id", target="tag")
    >>> part = some_sequences(rows, np.array([1]))
    >>> part.names, part.n_rows, part.labels.tolist()
    (('2',), 2, [0, 0])
    """
    spans = [rows.order[rows.starts[k] : rows.starts[k + 1]] for k in chosen.tolist()]
    table_rows = np.concatenate([np.empty(0, dtype=np.int64), *spans])
    columns = tuple(np.ascontiguousarray(column[table_rows]) for column in rows.inputs.columns)
    return replace(
        rows,
        labels=rows.labels[table_rows],
        inputs=replace(rows.inputs, columns=columns, first_line=None),
        order=np.arange(len(table_rows)),
        starts=np.concatenate([[0], np.cumsum([len(span) for span in spans])]).astype(np.int64),
        names=tuple(rows.names[k] for k in chosen.tolist()),
    )


def fold_sequences(
    rows: SequenceRows, k: int, *, seed: int
) -> Iterator[tuple[SequenceRows, SequenceRows]]:
    """Yield the rest and the fold for each of k folds, whose sizes differ by at most a sequence."""
    n = rows.n_sequences
    if n < k:
        raise CannotAnswer(f"{counted(n, 'sequence')} cannot be split into {k} parts")
    order = np.random.default_rng(seed).permutation(n)
    for part in range(k):
        inside = np.zeros(n, dtype=np.bool_)
        inside[order[part::k]] = True
        yield (
            some_sequences(rows, np.flatnonzero(~inside)),
            some_sequences(rows, np.flatnonzero(inside)),
        )
