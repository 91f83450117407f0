"""Rows for pilots, whatever the data are: a file, a frame, a dataset or an engine with rows.

A file or a frame is sampled to small files, which the command reads as it would read the whole; of
rows that were read before, some are picked.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gml.counts.counter import Counter
from gml.data.dataset import Dataset
from gml.data.sample_size import TableSample, TableSize, scattered
from gml.data.table_sample import sample_table
from gml.errors import place
from gml.planning.watching import Watch, WatchedPath

if TYPE_CHECKING:
    import pandas as pd

_MOST_FRAME_CELLS = 4_000_000


class Source(ABC):
    """Data that pilots are made of; `name` is what messages call the table."""

    name = "the data"
    size: TableSize
    n_rows: int
    """Rows at hand."""
    is_read = False
    """Whether the rows were read before."""

    @abstractmethod
    def given(self, folder: Path, n_rows: int, watch: Watch) -> Any:
        """Return some rows as data for a verb, which is watched."""


class FileSource(Source):
    """A file."""

    def __init__(self, sample: TableSample, name: str) -> None:
        self._sample = sample
        self.name = name
        self.size, self.n_rows = sample.size, sample.n_rows

    def given(self, folder: Path, n_rows: int, watch: Watch) -> WatchedPath:
        path = str(self._sample.written(folder, n_rows))
        watch.began = time.process_time()
        return WatchedPath(path, watch, self.name)


class FrameSource(Source):
    """A frame, which is read as the CSV file that it would be written to."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame
        self.n_rows = max(1, min(len(frame), _MOST_FRAME_CELLS // max(1, frame.shape[1])))
        self.size = TableSize(int(frame.memory_usage().sum()), len(frame), True, None)

    def given(self, folder: Path, n_rows: int, watch: Watch) -> WatchedPath:
        path = folder / f"{n_rows}.csv"
        number = min(n_rows, self.n_rows)
        self._frame.iloc[scattered(range(len(self._frame)), number)].to_csv(path, index=False)
        watch.began = time.process_time()
        return WatchedPath(str(path), watch, self.name)


class RowsSource(Source):
    """Rows that are in memory."""

    is_read = True

    def __init__(self, rows: Dataset) -> None:
        self._rows = rows
        self.n_rows = rows.n_rows
        stored = sum(column.nbytes for column in rows.columns)
        self.size = TableSize(stored, rows.n_rows, True, None)

    def given(self, folder: Path, n_rows: int, watch: Watch) -> Counter:
        rows = self._rows
        if n_rows < rows.n_rows:
            kept = np.zeros(rows.n_rows, dtype=bool)
            kept[scattered(range(rows.n_rows), n_rows)] = True
            rows = rows.rows(kept)
        watch.began = time.process_time()
        return watch.engine_over(rows, threads=1)


def source_of(data: Any, *, delimiter: str | None, encoding: str | None) -> Source:
    """Return what pilots on some data are made of."""
    if isinstance(data, str | os.PathLike):
        sample = sample_table(data, delimiter=delimiter, encoding=encoding)
        return FileSource(sample, place(data))
    if isinstance(data, Dataset):
        return RowsSource(data)
    if isinstance(data, Counter):
        return RowsSource(data.require_rows("a plan"))
    return FrameSource(data)
